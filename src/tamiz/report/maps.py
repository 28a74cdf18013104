"""The maps: the rows as points in two dimensions, coloured by any column, and what the two dimensions hold."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tamiz.report import charts
from tamiz.report.text import counted, label, number, percent, rounded, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LEVELS_SHOWN = len(charts.SHAPES)
_COMPONENTS_SHOWN = 30
_LOADINGS_SHOWN = 10


def collect_maps(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the section shows: each map with its points, curve and loadings, and the columns that colour them.

    Parameters
    ----------
    result : mapping
        A result as `Result.to_dict` gives it.

    Returns
    -------
    dict or None
        The template's names; None where no map was made.
    """
    if not result["maps"]:
        return None
    drawn = [reduced for reduced in result["maps"] if reduced["points"] is not None]
    return {
        "maps": [_map(reduced, index, result["table"]["n_rows_used"]) for index, reduced in enumerate(result["maps"])],
        "colors": [_color(column, column["name"] == result["table"]["target"]) for column in result["colors"]],
        # The points of every map are the same rows.
        "rows": drawn[0]["rows"] if drawn else [],
    }


def _map(reduced: Mapping[str, Any], index: int, n_rows: int) -> dict[str, Any]:
    spectrum, points, axes = reduced["spectrum"], reduced["points"], reduced["axes"]
    n_axes = len(axes)
    if n_axes == 1:
        # One coordinate is drawn against the order of the rows, since a line of points hides how many there are.
        axes = [*axes, "Row"]
        points = points and [[x, row + 1] for (x,), row in zip(points, reduced["rows"], strict=True)]
    shares = ["", ""]
    held = ""
    if spectrum is not None and len(spectrum["values"]) >= 2:
        shares = [f" ({percent(value)})" for value in spectrum["values"][:2]]
        held = f"{axes[0]} and {axes[1]} hold {percent(spectrum['cumulative'][1])} of {_whole(spectrum)}"
    return {
        "key": f"map-{index + 1}",
        "label": reduced["label"],
        "notes": reduced["notes"],
        "lead": f"{held}." if held else f"The rows by {reduced['label']}.",
        "title": _points_title(len(points), n_rows) if points is not None else None,
        "near": _near(spectrum, points or []),
        "chart": charts.scatter(points, axes[:2], shares) if points is not None else None,
        "scree": _scree(spectrum),
        "loadings": _loadings(reduced["loadings"], axes[: min(n_axes, 2)]) if reduced["loadings"] is not None else [],
    }


def _points_title(n_points: int, n_rows: int) -> str:
    if n_points < n_rows:
        return f"Each point is a row: {n_points:,} of the {n_rows:,} are drawn"
    return f"Each point is one of the {counted(n_points, 'row')}"


def _near(spectrum: Mapping[str, Any] | None, points: Sequence[Sequence[float]]) -> str:
    """Return what nearness on the map means; two axes that hold little of the whole must not be read as the whole."""
    words = "Points near each other are rows with like values."
    if spectrum is not None and len(spectrum["values"]) >= 2 and spectrum["cumulative"][1] < 0.5:
        held = percent(spectrum["cumulative"][1])
        words = f"Both axes together hold only {held} of {_whole(spectrum)}: rows that look near may be far apart."
    return f"{words} One unit is as long on both axes." if points and charts.equal_scales(points) else words


def _whole(spectrum: Mapping[str, Any]) -> str:
    """Return what the shares of a spectrum are shares of, in the words of its own label."""
    return shortened(spectrum["label"], 60).removeprefix("Share of ")


def _scree(spectrum: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if spectrum is None or not spectrum["values"]:
        return None
    cumulative = spectrum["cumulative"]
    total = len(cumulative)
    enough = next((i + 1 for i, held in enumerate(cumulative) if held >= 0.8), total)
    held = percent(cumulative[enough - 1])
    verb = "holds" if enough == 1 else "hold"
    title = f"{counted(enough, 'component')} of {total:,} {verb} {held} of {_whole(spectrum)}"
    names = [f"Component {i + 1}" for i in range(min(total, _COMPONENTS_SHOWN))]
    note = f"The first {_COMPONENTS_SHOWN} of {total:,} are drawn." if total > _COMPONENTS_SHOWN else None
    return {"title": title, "note": note, "chart": charts.scree(dict(spectrum), names)}


def _loadings(loadings: Mapping[str, Any], axes: Sequence[str]) -> list[dict[str, Any]]:
    """Return, for either axis, the columns that weigh most in it, with the sign and the size of each as a bar."""
    tables = []
    for axis, axis_name in enumerate(axes):
        weights = [row[axis] if axis < len(row) else None for row in loadings["values"]]
        known = [(name, w) for name, w in zip(loadings["columns"], weights, strict=True) if w is not None]
        ordered = sorted(known, key=lambda pair: -abs(pair[1]))[:_LOADINGS_SHOWN]
        if not ordered:
            continue
        top = max(abs(w) for _, w in ordered) or 1.0
        rows = [
            {"name": name, "text": number(w), "percent": f"{50 * abs(w) / top:.1f}", "negative": w < 0}
            for name, w in ordered
        ]
        title = f"{shortened(ordered[0][0], 40)} weighs most in {axis_name}"
        note = f"The {len(ordered)} largest of {len(known):,}." if len(known) > len(ordered) else None
        tables.append({"title": title, "axis": axis_name, "rows": rows, "note": note})
    return tables


def _color(column: Mapping[str, Any], is_target: bool) -> dict[str, Any]:
    """Return one colouring of the points: a number each, or a group each with the rarest levels put together."""
    name = column["name"]
    option = f"{shortened(name, 60)}{' (target)' if is_target else ''}"
    if column["kind"] == "numeric":
        values = [None if value is None else rounded(value) for value in column["values"]]
        return {"option": option, "spec": {"kind": "numeric", "title": label(name), "values": values}}
    codes = column["values"]
    counts = Counter(code for code in codes if code is not None)
    present = sorted(counts)
    common = present
    if len(present) > _LEVELS_SHOWN:
        common = sorted(sorted(present, key=lambda code: (-counts[code], code))[: _LEVELS_SHOWN - 1])
    groups = [label(column["levels"][code]) for code in common]
    if len(common) < len(present):
        groups.append(f"other ({len(present) - len(common):,} levels)")
    group = {code: common.index(code) if code in common else len(common) for code in present}
    return {
        "option": option,
        "spec": {
            "kind": "categorical",
            "title": label(name),
            "values": codes,
            "levels": [label(level, 60) for level in column["levels"]],
            "group": [group.get(code, -1) for code in range(len(column["levels"]))],
            "groups": groups,
        },
    }
