"""The maps: the rows as points in two dimensions, their colours, and the spectrum of each map."""

from __future__ import annotations

import base64
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from tamiz.display.arrows import Arrow, biplot_arrows
from tamiz.display.eigenvalues import EigenvalueDisplay
from tamiz.display.embedding import EmbeddingDisplay
from tamiz.report import marks
from tamiz.report.drawing import Chart
from tamiz.report.map_axes import collect_axes
from tamiz.report.map_clusters import cluster_centers, collect_clusters
from tamiz.report.map_trust import chance_rows_text, most_trusted_map, trust_text
from tamiz.report.text import (
    count_with_noun,
    format_count,
    format_number,
    format_percent,
    join_names,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tamiz.report.records.columns import ColumnSummary
    from tamiz.report.records.maps import (
        ColorColumn,
        ImageSetRecord,
        Loadings,
        MapRecord,
        QualityRecord,
        SpectrumRecord,
    )
    from tamiz.report.records.study import StudyRecord

_COMPONENTS_SHOWN = 30
# Relative tolerance for equal eigenvalues, and for shares that add up to 1.
_ROUNDING = 1e-9


def collect_maps(result: StudyRecord) -> dict[str, Any] | None:
    """Return the context of the section: each map with its points, spectrum and axes, and the colourings.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.

    Returns
    -------
    dict or None
        The variables of the template; None without maps.
    """
    if not result.maps:
        return None
    drawn = [reduced for reduced in result.maps if reduced.points is not None]
    best = most_trusted_map(result) or 0
    first = next(iter(result.colors), None)
    years = {column.name for column in result.table.columns if column.has_years}
    maps = [
        _map_context(reduced, index, result.table.columns, first, result.map_columns)
        | {
            "chart": _map_chart(reduced, index, first),
            "trust": trust_text(result.quality, index),
            "chance_rows": chance_rows_text(result.quality, index),
            "open": index == best,
        }
        for index, reduced in enumerate(result.maps)
    ]
    return {
        "lead": _lead(maps),
        "points": " ".join(
            filter(None, [_points_text(len(drawn[0].rows), result.table.n_rows_used), _columns_text(result)])
        )
        if any(one["drawn"] for one in maps)
        else None,
        "maps": maps,
        "legend": _legend(first),
        "has_clusters": any(one["clusters"] for one in maps),
        "has_arrows": any(one["arrows"] for one in maps),
        "about": {
            "maps": [one["drawn"] for one in maps],
            "colors": [
                *(
                    _coloring(column, index) | {"years": column.name in years}
                    for index, column in enumerate(result.colors)
                ),
                *_row_colorings(result.quality, len(drawn)),
            ],
        },
    }


def _legend(color: ColorColumn | None) -> list[tuple[str, str]]:
    """Return the class and the text of each level of the first colouring, which have their room before the page draws them."""
    if color is None or color.kind != "categorical":
        return []
    drawn = _coloring(color, 0)
    counts = Counter(-1 if code is None else drawn["group"][int(code)] for code in color.values)
    names = [(-1, "none", drawn["missing_label"]), *((k, f"c{k}", name) for k, name in enumerate(drawn["groups"]))]
    return [(css, f"{name} ({counts[k]:,})") for k, css, name in names if counts[k]]


def _map_chart(reduced: MapRecord, index: int, color: ColorColumn | None) -> Chart | None:
    """Return a map in the colours of a column as a chart; the page draws it on a canvas."""
    if reduced.points is None:
        return None
    values: list[Any] | None = None
    if color is not None and color.kind == "categorical":
        values = [None if code is None else color.levels[int(code)] for code in color.values]
    elif color is not None:
        values = [math.nan if value is None else value for value in color.values]
    display = EmbeddingDisplay(
        reduced.points,
        color=values,
        color_label=None if color is None else color.name,
        names=[shorten(axis, 40) for axis in reduced.axes[:2]],
    )
    return Chart(f"{_key(index)}-points", display.plot, f"The rows as points by {reduced.label}.", 480, 320)


def _lead(maps: Sequence[Mapping[str, Any]]) -> str:
    """Return the lead of the only map, or the list of maps with the lead of the first."""
    if len(maps) == 1:
        return str(maps[0]["lead"])
    labels, first = join_names([one["label"] for one in maps], limit=9), maps[0]["lead"]
    return f"{len(maps)} maps of the same rows: {labels}. On the first, {_continue_sentence(first)}"


def _continue_sentence(sentence: str) -> str:
    """Return a sentence with a lower-case start for use after a comma; the name of an axis keeps its capital."""
    return sentence[0].lower() + sentence[1:] if sentence.startswith(("Points", "All")) else sentence


def _map_context(
    fitted_map: MapRecord,
    index: int,
    columns: Sequence[ColumnSummary],
    color: ColorColumn | None,
    map_columns: Sequence[str] | None,
) -> dict[str, Any]:
    single_point = _single_point_note(fitted_map)
    if single_point:
        nothing: dict[str, Any] = {
            "near": "",
            "arrows": "",
            "drawn": None,
            "picture": None,
            "spectrum": None,
            "axes": None,
            "clusters": None,
            "galleries": [],
        }
        head = {"key": _key(index), "label": fitted_map.label, "notes": fitted_map.notes, "lead": single_point}
        return {**head, **nothing, "left_out": False}
    spectrum, points, axes = fitted_map.spectrum, fitted_map.points, fitted_map.axes
    n_axes = len(axes)
    if n_axes == 1:
        # A single coordinate is drawn against the row number, because points on a line would overlap.
        axes = (*axes, "Row")
        points = points and tuple((x, row + 1) for (x,), row in zip(points, fitted_map.rows, strict=True))
    shares, explained = ["", ""], ""
    if _has_shares(spectrum) and len(spectrum.values) >= 2:
        shares = [f" ({format_percent(value)})" for value in spectrum.values[:2]]
        share = format_percent(spectrum.cumulative[1])
        explained = f"{axes[0]} and {axes[1]} account for {share} of {_total_name(spectrum)}."
    one_scale = fitted_map.comparable_axes and points is not None and marks.can_share_scale(points)
    near = _distance_note(fitted_map) if explained else ""
    any_axes = _equal_eigenvalues_note(spectrum)
    # Pixels have no meaningful names: a gallery explains the axes instead of arrows.
    over = _arrows(fitted_map.loadings, points, one_scale) if n_axes > 1 and not fitted_map.galleries else []
    return {
        "key": _key(index),
        "label": fitted_map.label,
        "notes": fitted_map.notes,
        "lead": any_axes or explained or fitted_map.proximity_note,
        "near": " ".join(filter(None, [near, "Both axes have the same scale." if one_scale else ""])),
        "arrows": _arrows_text(
            len(over),
            fitted_map.loadings,
            not {column.name for column in columns}.issuperset(fitted_map.loadings.columns),
        ),
        "drawn": None
        if points is None
        else {
            "axes": [f"{shorten(axis, 40)}{share}" for axis, share in zip(axes, shares, strict=False)],
            "one_scale": one_scale,
            "extent": (extent := marks.map_extent(points)),
            "beyond": _beyond_text(points, extent),
            "arrows": over,
            "clusters": cluster_centers(fitted_map),
        },
        "picture": None if points is None else marks.map_picture(points, color, one_scale=one_scale),
        "spectrum": _spectrum(spectrum, f"{_key(index)}-spectrum"),
        "axes": None if any_axes else collect_axes(fitted_map),
        "clusters": None if any_axes else collect_clusters(fitted_map.clusters, map_columns),
        "galleries": [_image_set(shown) for shown in fitted_map.galleries],
        "left_out": points is None,
    }


def _beyond_text(points: Sequence[Sequence[float]], extent: Sequence[tuple[float, float]]) -> str:
    """Return how many points are beyond the edges of a map, "" if none is."""
    n = sum(
        not all(low <= value <= high for value, (low, high) in zip(point, extent, strict=False)) for point in points
    )
    return (
        f"{count_with_noun(n, 'row')} far from the others {'is' if n == 1 else 'are'} beyond the edges; − shows all."
        if n
        else ""
    )


def _single_point_note(fitted_map: MapRecord) -> str:
    """Return a note if all rows of a map have the same coordinates, else ""."""
    spectrum, points = fitted_map.spectrum, fitted_map.points
    if _has_shares(spectrum) and spectrum.cumulative[-1] == 0:
        return "All rows have the same coordinates: no column of this map varies."
    if points and all(point == points[0] for point in points):
        return "All rows that would be shown have the same coordinates."
    return ""


def _equal_eigenvalues_note(spectrum: SpectrumRecord) -> str:
    """Return a note if all eigenvalues are equal within rounding, so that the axes are arbitrary; else ""."""
    values = () if _has_shares(spectrum) else spectrum.values
    if len(values) < 3 or max(values) - min(values) > _ROUNDING * max(map(abs, values)):
        return ""
    return "All eigenvalues are equal, as for a complete graph: this map does not show which rows are similar."


def _key(index: int) -> str:
    return f"map-{index + 1}"


def _arrows(loadings: Loadings, points: Sequence[Sequence[float]] | None, one_scale: bool) -> list[dict[str, Any]]:
    """Return the biplot arrows, each with the name and the loadings of its column."""
    if not points or any(len(row) < 2 for row in loadings.values):
        return []

    def describe(arrow: Arrow) -> dict[str, Any]:
        name, (x, y) = loadings.columns[arrow.column], loadings.values[arrow.column][:2]
        return {
            "x": arrow.x,
            "y": arrow.y,
            "name": shorten(name, 24),
            "text": f"loadings {format_number(x)} and {format_number(y)}",
        }

    return [
        describe(arrow) for arrow in biplot_arrows(points, [row[:2] for row in loadings.values], one_scale=one_scale)
    ]


def _arrows_text(n_arrows: int, loadings: Loadings, names_levels: bool) -> str:
    if not n_arrows:
        return ""
    n = len(loadings.columns)
    which = f" Of {n:,} arrows, the {n_arrows} with the largest loadings are shown." if n_arrows < n else ""
    if names_levels:
        return (
            "Each arrow is a numeric column or a level of a category: rows further along it have larger values, or have that level "
            f"more often.{which}"
        )
    return f"Each arrow is a column: rows further along it have larger values.{which}"


def _image_set(gallery: ImageSetRecord) -> dict[str, Any]:
    images, n = gallery.images, gallery.n_images
    drawn = f"The first {len(images)} of {format_count(n)} are shown." if len(images) < n else ""
    return {
        "title": gallery.title,
        "note": " ".join(filter(None, [gallery.note, drawn])),
        "images": [
            {
                "name": image.name,
                "height": image.height,
                "width": image.width,
                "pixels": base64.b64encode(image.pixels).decode("ascii"),
                "range": f"{format_number(image.low)} to {format_number(image.high)}",
            }
            for image in images
        ],
    }


def _columns_text(result: StudyRecord) -> str:
    """Return which columns the maps use, "" if these are all."""
    if result.map_columns is None:
        return ""
    n, all_numeric = len(result.map_columns), {c.name for c in result.table.columns if c.kind in ("numeric", "date")}
    what = "numeric column" if all_numeric.issuperset(result.map_columns) else "column"
    return f"The maps use {count_with_noun(n, what)}; the others are colours (--map-columns all uses them)."


def _points_text(n_points: int, n_rows: int) -> str:
    if n_points < n_rows:
        return (
            f"A map shows rows of the table as points in two dimensions: {n_points:,} of the {n_rows:,} rows are shown."
        )
    return f"A map shows each of the {count_with_noun(n_rows, 'row')} as a point in two dimensions."


def _distance_note(fitted_map: MapRecord) -> str:
    """Return the meaning of proximity on the map, with a caution if two axes account for less than half of the total."""
    spectrum = fitted_map.spectrum
    if spectrum.cumulative[1] < 0.5:
        share = format_percent(spectrum.cumulative[1])
        return (
            f"The two axes account for only {share} of {_total_name(spectrum)}: rows that look near may be far apart."
        )
    return fitted_map.proximity_note


def _has_shares(spectrum: SpectrumRecord) -> bool:
    return bool(spectrum.cumulative)


def _total_name(spectrum: SpectrumRecord) -> str:
    """Return the total that the shares of a spectrum refer to, from its label."""
    return shorten(spectrum.label, 60).removeprefix("Share of ")


def _spectrum(spectrum: SpectrumRecord, key: str) -> dict[str, Any] | None:
    """Return the chart of the spectrum of a map, with a title that states the finding."""
    if not spectrum.values:
        return None
    total = len(spectrum.values)
    n_shown = min(total, _COMPONENTS_SHOWN)
    drawn = f"The first {n_shown} of {total:,} are shown." if total > n_shown else ""
    note = " ".join(filter(None, [spectrum.note, drawn]))
    if not _has_shares(spectrum):
        return {
            "title": _first_eigenvalues_text(spectrum),
            "note": " ".join(filter(None, [note, _residuals_text(spectrum.residuals)])),
            "chart": _spectrum_chart(key, spectrum, n_shown, "Coordinate", "The eigenvalue of each coordinate."),
        }
    finding = _components_for_80_percent(spectrum)
    if not spectrum.reference:
        return {
            "title": finding,
            "note": note,
            "chart": _spectrum_chart(key, spectrum, n_shown, "Component", "The share of each component."),
        }
    note = " ".join(filter(None, [spectrum.chance_note, f"{finding}.", note]))
    return {
        "title": shorten(spectrum.chance_title, 200),
        "note": note,
        "chart": _spectrum_chart(
            key,
            spectrum,
            n_shown,
            "Component",
            "The share of each component beside its share by chance (parallel analysis).",
        ),
    }


def _spectrum_chart(key: str, spectrum: SpectrumRecord, n_shown: int, number_label: str, described: str) -> Chart:
    display = EigenvalueDisplay(
        spectrum.values[:n_shown],
        reference=spectrum.reference[:n_shown] or None,
        value_label=shorten(spectrum.label, 40),
        number_label=number_label,
    )
    return Chart(key, display.plot, described)


def _includes_all_shares(spectrum: SpectrumRecord) -> bool:
    """Whether the shares add up to 1, so that no component was left uncomputed."""
    return bool(spectrum.cumulative[-1] >= 1 - _ROUNDING)


def _components_for_80_percent(spectrum: SpectrumRecord) -> str:
    cumulative, total = spectrum.cumulative, len(spectrum.values)
    n = next((i + 1 for i, share in enumerate(cumulative) if share >= 0.8), total)
    verb = "accounts for" if n == 1 else "account for"
    if _includes_all_shares(spectrum):
        known = "The only component" if total == 1 else f"{count_with_noun(n, 'component')} of {total:,}"
    else:
        known = "The first component" if n == 1 else f"The first {n:,} components"
    return f"{known} {verb} {format_percent(cumulative[n - 1])} of {_total_name(spectrum)}"


def _first_eigenvalues_text(spectrum: SpectrumRecord) -> str:
    name = shorten(spectrum.label, 60).lower()
    # No line break inside a power of ten.
    first = [format_number(value, digits=2).replace(" ", "\u00a0") for value in spectrum.values[:2]]
    return f"The first two {name}s are {first[0]} and {first[1]}" if len(first) == 2 else f"The {name} is {first[0]}"


def _residuals_text(residuals: Sequence[float]) -> str:
    """Return the power of ten that bounds the residuals of the eigenvalues."""
    if not any(residuals):
        return "The residuals of the eigenvalues are 0." if residuals else ""
    bound = format_number(10.0 ** (math.floor(math.log10(max(residuals))) + 1))
    return f"The residuals of the eigenvalues are below {bound.removeprefix('1 × ')}."


def _row_colorings(quality: QualityRecord | None, n_maps: int) -> list[dict[str, Any]]:
    """Return the colourings by the trust and by the stress of each row, each on one scale for all maps."""
    if quality is None or n_maps == 0:
        return []
    found = []
    for source, per_map, option, title in (
        ("trust", quality.trust_per_point, "trust of each row (trustworthiness)", "trust of the row"),
        ("stress", quality.stress_per_point, "error of each row (stress)", "stress of the row"),
    ):
        known = [value for values in per_map for value in values or [] if value is not None]
        if known:
            labels = {"option": option, "title": title, "missing_label": "not evaluated", "source": source}
            ends = [min(known), 1.0] if source == "trust" else [0, _percentile_98(known)]
            found.append({**labels, "kind": "numeric", "column": None, "range": ends})
    return found


def _percentile_98(values: list[float]) -> float:
    """Return the 98th percentile: on a scale up to the maximum, one outlier would make all others look equal."""
    return sorted(values)[int(0.98 * (len(values) - 1))]


def _coloring(column: ColorColumn, index: int) -> dict[str, Any]:
    """Return one colouring of the points: by numbers, or by levels with the rarest ones merged."""
    name = column.name
    labels = {
        "name": name,
        "option": f"{shorten(name, 60)}{_role_text(column)}",
        "title": shorten(name, 40),
        "kind": column.kind,
        "missing_label": "missing",
        "column": index,
        "target": column.role == "target",
    }
    if column.kind != "categorical":
        return labels
    counts = Counter(int(code) for code in column.values if code is not None)
    present = sorted(counts)
    common = present
    if len(present) > marks.N_COLORS:
        common = sorted(sorted(present, key=lambda code: (-counts[code], code))[: marks.N_COLORS - 1])
    groups = [shorten(column.levels[code], 40) for code in common]
    if len(common) < len(present):
        groups.append(f"other ({len(present) - len(common):,} levels)")
    group = {code: common.index(code) if code in common else len(common) for code in present}
    return {
        **labels,
        "levels": [shorten(level, 60) for level in column.levels],
        "group": [group.get(code, -1) for code in range(len(column.levels))],
        "groups": groups,
    }


def _role_text(column: ColorColumn) -> str:
    """Return the suffix of a colouring: "(target)", or the mean silhouette of clusters."""
    if column.role == "cluster":
        return f" (K = {len(column.levels)}, mean silhouette {format_number(column.silhouette, digits=2)})"
    return " (target)" if column.role == "target" else ""
