"""The maps: the rows as points in two dimensions, coloured by any column, and what the two dimensions hold."""

from __future__ import annotations

import math
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
    """Return what the section shows: each map with its points, spectrum and loadings, and the columns that colour them.

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
        "points": _points(len(drawn[0]["rows"]), result["table"]["n_rows_used"]) if drawn else None,
        "maps": [_map(reduced, index) for index, reduced in enumerate(result["maps"])],
        "colors": [_color(column, column["name"] == result["table"]["target"]) for column in result["colors"]],
        # The points of every map are the same rows.
        "rows": drawn[0]["rows"] if drawn else [],
    }


def _map(reduced: Mapping[str, Any], index: int) -> dict[str, Any]:
    spectrum, points, axes = reduced["spectrum"], reduced["points"], reduced["axes"]
    n_axes = len(axes)
    if n_axes == 1:
        # One coordinate is drawn against the order of the rows, since a line of points hides how many there are.
        axes = [*axes, "Row"]
        points = points and [[x, row + 1] for (x,), row in zip(points, reduced["rows"], strict=True)]
    shares, held = ["", ""], ""
    if _are_shares(spectrum) and len(spectrum["values"]) >= 2:
        shares = [f" ({percent(value)})" for value in spectrum["values"][:2]]
        held = f"{axes[0]} and {axes[1]} hold {percent(spectrum['cumulative'][1])} of {_whole(spectrum)}."
    one_scale = reduced["common_unit"] and points is not None and charts.equal_scales(points)
    near = _near(reduced) if held else ""
    return {
        "key": f"map-{index + 1}",
        "label": reduced["label"],
        "notes": reduced["notes"],
        "lead": held or reduced["nearness"],
        "near": " ".join(filter(None, [near, "One unit is as long on both axes." if one_scale else ""])),
        "chart": charts.scatter(points, axes[:2], shares, one_scale=one_scale) if points is not None else None,
        "spectrum": _spectrum(spectrum),
        "loadings": _loadings(reduced["loadings"], axes[: min(n_axes, 2)]) if reduced["loadings"] is not None else [],
    }


def _points(n_points: int, n_rows: int) -> str:
    all_rows = f"Each point is one of the {counted(n_rows, 'row')}"
    some = f"Each point is a row: {n_points:,} of the {n_rows:,} are drawn"
    return f"{some if n_points < n_rows else all_rows}. Row 1 is the first row of the table."


def _near(reduced: Mapping[str, Any]) -> str:
    """Return what nearness on the map means; two axes that hold little of the whole must not be read as the whole."""
    spectrum = reduced["spectrum"]
    if spectrum["cumulative"][1] < 0.5:
        held = percent(spectrum["cumulative"][1])
        return f"Both axes together hold only {held} of {_whole(spectrum)}: rows that look near may be far apart."
    return str(reduced["nearness"])


def _are_shares(spectrum: Mapping[str, Any] | None) -> bool:
    return spectrum is not None and bool(spectrum["cumulative"])


def _whole(spectrum: Mapping[str, Any]) -> str:
    """Return what the shares of a spectrum are shares of, in the words of its own label."""
    return shortened(spectrum["label"], 60).removeprefix("Share of ")


def _spectrum(spectrum: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the chart of a map's spectrum, with a title that says what it shows."""
    if spectrum is None or not spectrum["values"]:
        return None
    total = len(spectrum["values"])
    n_shown = min(total, _COMPONENTS_SHOWN)
    drawn = f"The first {n_shown} of {total:,} are drawn." if total > n_shown else ""
    note = " ".join(filter(None, [spectrum["note"], drawn]))
    if not _are_shares(spectrum):
        title = f"{_first_values(spectrum)}{_residuals(spectrum['residuals'])}"
        told = "The value of each coordinate."
        return {"title": title, "note": note, "chart": charts.eigenvalues(dict(spectrum), n_shown), "described": told}
    cumulative = spectrum["cumulative"]
    enough = next((i + 1 for i, held in enumerate(cumulative) if held >= 0.8), total)
    held = percent(cumulative[enough - 1])
    verb = "holds" if enough == 1 else "hold"
    title = f"{counted(enough, 'component')} of {total:,} {verb} {held} of {_whole(spectrum)}"
    names = [f"Component {i + 1}" for i in range(n_shown)]
    told = "The share of each component, and of all up to it."
    return {"title": title, "note": note, "chart": charts.scree(dict(spectrum), names), "described": told}


def _first_values(spectrum: Mapping[str, Any]) -> str:
    name = shortened(spectrum["label"], 60).lower()
    # A power of ten is not broken over two lines.
    told = [number(value, digits=2).replace(" ", "\u00a0") for value in spectrum["values"][:2]]
    return f"The first two {name}s are {told[0]} and {told[1]}" if len(told) == 2 else f"The {name} is {told[0]}"


def _residuals(residuals: Sequence[float]) -> str:
    """Return how well the values solve their equation: the power of ten that no residual reaches."""
    if not any(residuals):
        return "; residuals 0" if residuals else ""
    bound = number(10.0 ** (math.floor(math.log10(max(residuals))) + 1))
    return f"; residuals below {bound.removeprefix('1 × ')}"


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
