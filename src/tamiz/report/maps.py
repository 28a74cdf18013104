"""The maps: the rows as points in two dimensions, their colours, spectra, the columns that explain the axes, and the clusters."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from tamiz.display import figures
from tamiz.display.embedding import EmbeddingDisplay, biplot_arrows, frequent_classes
from tamiz.display.quality import EigenvalueDisplay
from tamiz.report import drawing
from tamiz.report.drawing import Chart
from tamiz.report.score_text import chance_rows_text, most_trusted_map, trust_text
from tamiz.report.text import (
    count_with_noun,
    edges_text,
    format_count,
    format_number,
    format_percent,
    join_column_names,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from matplotlib.axes import Axes

    from tamiz.graphs.description import NeighborCounts, Range
    from tamiz.reduction.description import ClusterRule, Loadings, MapSpectrum, RuleCondition
    from tamiz.report.records import (
        AxisCorrelationsRecord,
        ColorColumn,
        GraphRecord,
        MapClustersRecord,
        MapRecord,
        QualityRecord,
        StudyRecord,
    )


# Below this recall of the true neighbours there is a warning.
_MIN_RECALL = 0.95


def collect_graph(record: StudyRecord) -> dict[str, Any] | None:
    """Return the facts, warnings, components, and the histogram of neighbours; None without a graph."""
    graph = record.graph
    if graph is None:
        return None
    sizes = graph.components.sizes
    several = len(sizes) > 1
    return {
        "folded": True,
        "lead": f"{edges_text(graph)}{'; it is complete, so it has no information on neighbours' if _is_complete(graph) else ''}.",
        "facts": list(_facts(graph, record.table.n_rows_used)),
        "cautions": list(_graph_warnings(graph, len(record.table.classes))),
        "components": [(f"{i + 1:,}", f"{size:,}", format_percent(size / graph.n_rows)) for i, size in enumerate(sizes)]
        if several
        else [],
        "more": graph.components.n - len(sizes),
        **_histogram(graph.neighbors),
    }


def _is_complete(graph: GraphRecord) -> bool:
    n = graph.n_rows
    return bool(graph.unweighted and n > 2 and graph.n_edges == n * (n - 1) // 2)


def _facts(graph: GraphRecord, n_rows: int) -> Iterator[tuple[str, str]]:
    parameters = f" ({shorten(graph.parameters, 200)})" if graph.parameters else ""
    yield "Built by", graph.description or f"{graph.label}{parameters}"
    if graph.n_rows < n_rows:
        yield "Rows joined", f"{format_count(graph.n_rows)} of {format_count(n_rows)}, drawn at random"
    yield "Neighbours of a row", _range_text(graph.neighbors)
    if graph.radius is not None:
        yield "Radius", format_number(graph.radius)
    if graph.unweighted:
        yield "Weight of an edge", "1"
    elif graph.t is not None:
        yield "Weight of an edge", f"exp(−d² / t) at the distance d, t = {format_number(graph.t)}"
    if not graph.unweighted:
        yield "Weights of a row, summed", _range_text(graph.degrees)
    if graph.search is not None:
        found = graph.search
        if graph.recall is not None and graph.recall != 1:
            found = f"{found}: {_recall_text(graph.recall)} of the true ones"
        yield "Search for neighbours", found


def _range_text(summary: Range) -> str:
    least, median, most = map(format_number, (summary.min, summary.median, summary.max))
    return least if least == most else f"{least} to {most}, median {median}"


def _recall_text(recall: float) -> str:
    """Return the recall as a percentage, rounded down so that it is never shown as 100 % when it is less."""
    return f"{math.floor(1000 * recall) / 10:.1f}%"


def _graph_warnings(graph: GraphRecord, n_classes: int) -> Iterator[str]:
    n = graph.components.n
    if _is_complete(graph):
        yield (
            "Every row is joined to every other, so neither the graph nor the maps and scores computed on it show which rows are "
            "near each other."
        )
    if n > (n_classes if graph.by_class else 1):
        if graph.n_joining_edges is None:
            yield f"The {n:,} components of the graph cannot be joined, so no map uses the graph."
        else:
            edges = "edge" if graph.n_joining_edges == 1 else f"{format_count(graph.n_joining_edges)} edges"
            yield (
                f"The graph has {n:,} components. For maps that need a connected graph they are joined by the shortest "
                f"possible {edges}. On such a map a component may shrink to almost a point, and distances between components "
                "have no meaning."
            )
        yield "With more neighbours there are fewer components; with --graph connected-radius there is always one."
    if graph.recall is not None and graph.recall < _MIN_RECALL:
        yield (
            f"Only {_recall_text(graph.recall)} of the true neighbours were found, so scores and maps may differ from those of the "
            "exact graph; KNearest(search=BruteForce()) finds all of them."
        )


def _histogram(neighbours: NeighborCounts) -> dict[str, Any]:
    """Return the histogram of the numbers of neighbours and its title; none if all rows have the same number."""
    if neighbours.min == neighbours.max:
        return {"chart": None, "title": ""}
    median, most = format_number(neighbours.median), format_number(neighbours.max)
    title = f"The median number of neighbours is {median}, the maximum {most}"
    bins = neighbours.histogram

    def draw(axes: Axes) -> None:
        starts = [bins.start - 0.5 + bins.width * k for k in range(len(bins.rows))]
        axes.bar(starts, bins.rows, 0.92 * bins.width, align="edge", color=figures.STRONG)
        for axis in (axes.xaxis, axes.yaxis):
            figures.use_integer_ticks(axis)
        axes.set(xlabel="Neighbours of a row", ylabel="Rows")

    return {"chart": Chart("neighbours", draw, "Bars: how many rows have how many neighbours."), "title": title}


_COMPONENTS_SHOWN = 30
_NUMBERS = ("numeric", "date")
# Columns listed for an axis. A column explains an axis from this correlation on, if it is also this many times the chance level.
_COLUMNS_SHOWN, MIN_CORRELATION, _MIN_CHANCE_RATIO = 4, 0.3, 1.5
# Clusters listed. Beside the map are the rules of those with at least this share of the rows, of which they cover at least this.
_CLUSTERS_SHOWN, _CONDITION_WIDTH, _MIN_SHARE, _MIN_COVERAGE = 12, 80, 0.05, 0.8
# Relative tolerance for equal eigenvalues, and for shares that add up to 1.
_ROUNDING = 1e-9


def collect_maps(record: StudyRecord) -> dict[str, Any] | None:
    """Return each map with its points, spectrum and axes, and the colourings; None without maps."""
    if not record.maps:
        return None
    drawn = [reduced for reduced in record.maps if reduced.points is not None]
    best = most_trusted_map(record) or 0
    first = next(iter(record.colors), None)
    years = {column.name for column in record.table.columns if column.has_years}
    maps = [_map_context(record, index, first) | {"open": index == best} for index in range(len(record.maps))]
    shown = [one["drawn"] for one in maps]
    colors = [_coloring(column, index) | {"years": column.name in years} for index, column in enumerate(record.colors)]
    return {
        "points": _points_text(record, len(drawn[0].rows)) if any(shown) else None,
        "maps": maps,
        "legend": _legend(first),
        "has_arrows": any(one["arrows"] for one in maps),
        "about": {"maps": shown, "colors": [*colors, *(_row_colorings(record.quality) if drawn else ())]},
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


def _map_context(record: StudyRecord, index: int, color: ColorColumn | None) -> dict[str, Any]:
    fitted_map = record.maps[index]
    head = {
        "key": _key(index),
        "label": fitted_map.label,
        "notes": fitted_map.notes,
        "chart": _map_chart(fitted_map, index, color),
        "trust": trust_text(record.quality, index),
        "chance_rows": chance_rows_text(record.quality, index),
    }
    if single_point := _single_point_note(fitted_map):
        nothing = dict.fromkeys(("near", "arrows", "drawn", "picture", "spectrum", "axes", "clusters", "left_out"))
        return {**head, **nothing, "lead": single_point, "galleries": ()}
    spectrum, points, axes = fitted_map.spectrum, fitted_map.points, fitted_map.axes
    n_axes = len(axes)
    if n_axes == 1:
        # A single coordinate is drawn against the row number, because points on a line would overlap.
        axes = (*axes, "Row")
        points = points and tuple((x, row + 1) for (x,), row in zip(points, fitted_map.rows, strict=True))
    shares, explained = ["", ""], ""
    if spectrum.cumulative and len(spectrum.values) >= 2:
        shares = [f" ({format_percent(value)})" for value in spectrum.values[:2]]
        share = format_percent(spectrum.cumulative[1])
        explained = f"{axes[0]} and {axes[1]} account for {share} of {_total_name(spectrum)}."
    one_scale = fitted_map.comparable_axes and points is not None and figures.can_share_scale(points)
    near = _distance_note(fitted_map) if explained else ""
    any_axes = _equal_eigenvalues_note(spectrum)
    # Pixels have no meaningful names: a gallery explains the axes instead of arrows.
    over = _arrows(fitted_map.loadings, points, one_scale) if n_axes > 1 and not fitted_map.galleries else []
    return {
        **head,
        "lead": any_axes or explained or fitted_map.proximity_note,
        "near": " ".join(filter(None, [near, "Both axes have the same scale." if one_scale else ""])),
        "arrows": _arrows_text(len(over), fitted_map.loadings, {column.name for column in record.table.columns}),
        "drawn": None
        if points is None
        else {
            "axes": [f"{shorten(axis, 40)}{share}" for axis, share in zip(axes, shares, strict=False)],
            "one_scale": one_scale,
            "extent": (extent := drawing.map_extent(points)),
            "beyond": _beyond_text(points, extent),
            "arrows": over,
            "clusters": cluster_centers(fitted_map),
        },
        "picture": None if points is None else drawing.map_picture(points, color, one_scale=one_scale),
        "spectrum": _spectrum(spectrum, f"{_key(index)}-spectrum"),
        "axes": None if any_axes else collect_axes(fitted_map),
        "clusters": None if any_axes else collect_clusters(fitted_map.clusters, record.map_columns),
        "galleries": fitted_map.galleries,
        "left_out": points is None,
    }


def _beyond_text(points: Sequence[Sequence[float]], extent: Sequence[tuple[float, float]]) -> str:
    """Return how many points are beyond the edges of a map, "" if none is."""
    (left, right), (low, high) = extent
    n = sum(not (left <= x <= right and low <= y <= high) for x, y in points)
    are = "is" if n == 1 else "are"
    return f"{count_with_noun(n, 'row')} far from the others {are} beyond the edges; − shows all." if n else ""


def _single_point_note(fitted_map: MapRecord) -> str:
    """Return a note if all rows of a map have the same coordinates, else ""."""
    spectrum, points = fitted_map.spectrum, fitted_map.points
    if spectrum.cumulative and spectrum.cumulative[-1] == 0:
        return "All rows have the same coordinates: no column of this map varies."
    if points and all(point == points[0] for point in points):
        return "All rows that would be shown have the same coordinates."
    return ""


def _equal_eigenvalues_note(spectrum: MapSpectrum) -> str:
    """Return a note if all eigenvalues are equal within rounding, so that the axes are arbitrary; else ""."""
    values = () if spectrum.cumulative else spectrum.values
    if len(values) < 3 or max(values) - min(values) > _ROUNDING * max(map(abs, values)):
        return ""
    return "All eigenvalues are equal, as for a complete graph: this map does not show which rows are similar."


def _arrows(loadings: Loadings, points: Sequence[Sequence[float]] | None, one_scale: bool) -> list[dict[str, Any]]:
    """Return the biplot arrows, each with the name and the loadings of its column."""
    if not points or any(len(row) < 2 for row in loadings.values):
        return []

    drawn = biplot_arrows(points, [row[:2] for row in loadings.values], one_scale=one_scale)
    texts = [" and ".join(map(format_number, loadings.values[one.column][:2])) for one in drawn]
    return [
        {"x": one.x, "y": one.y, "name": shorten(loadings.columns[one.column], 24), "text": f"loadings {text}"}
        for one, text in zip(drawn, texts, strict=True)
    ]


def _arrows_text(n_arrows: int, loadings: Loadings, columns: set[str]) -> str:
    if not n_arrows:
        return ""
    n = len(loadings.columns)
    what, larger = "column", "larger values"
    if not columns.issuperset(loadings.columns):
        what, larger = "numeric column or a level of a category", "larger values, or have that level more often"
    which = f" Of {n:,} arrows, the {n_arrows} with the largest loadings are shown." if n_arrows < n else ""
    return f"Each arrow is a {what}: rows further along it have {larger}.{which}"


def _points_text(record: StudyRecord, n_points: int) -> str:
    """Return which rows the maps show, and which columns they use unless these are all."""
    n_rows, used = record.table.n_rows_used, record.map_columns
    which = f"{n_points:,}" if n_points < n_rows else "each"
    text = f"A map shows {which} of the {count_with_noun(n_rows, 'row')} as a point in two dimensions."
    if used is None:
        return text
    numeric = {column.name for column in record.table.columns if column.kind in _NUMBERS}
    columns = count_with_noun(len(used), "numeric column" if numeric.issuperset(used) else "column")
    return f"{text} The maps use {columns}; the others are colours (--map-columns all uses them)."


def _distance_note(fitted_map: MapRecord) -> str:
    """Return the meaning of proximity on the map, with a caution if two axes account for less than half of the total."""
    share, total = fitted_map.spectrum.cumulative[1], _total_name(fitted_map.spectrum)
    if share >= 0.5:
        return fitted_map.proximity_note
    return f"The two axes account for only {format_percent(share)} of {total}: rows that look near may be far apart."


def _total_name(spectrum: MapSpectrum) -> str:
    """Return the total that the shares of a spectrum refer to, from its label."""
    return shorten(spectrum.label, 60).removeprefix("Share of ")


def _key(index: int) -> str:
    return f"map-{index + 1}"


def _spectrum(spectrum: MapSpectrum, key: str) -> dict[str, Any] | None:
    """Return the chart of the spectrum of a map, with a title that states the finding."""
    total, n_shown = len(spectrum.values), min(len(spectrum.values), _COMPONENTS_SHOWN)
    if not total:
        return None
    notes = [spectrum.note, f"The first {n_shown} of {total:,} are shown." if total > n_shown else ""]
    if not spectrum.cumulative:
        number, described, title = "Coordinate", "The eigenvalue of each coordinate.", _first_eigenvalues_text(spectrum)
        notes.append(_residuals_text(spectrum.residuals))
    else:
        number, described, title = "Component", "The share of each component.", _components_for_80_percent(spectrum)
        if spectrum.reference:
            described = "The share of each component beside its share by chance (parallel analysis)."
            notes = [spectrum.chance_note, f"{title}.", *notes]
            title = shorten(spectrum.chance_title, 200)
    display = EigenvalueDisplay(
        spectrum.values[:n_shown],
        reference=spectrum.reference[:n_shown] or None,
        value_label=shorten(spectrum.label, 40),
        number_label=number,
    )
    return {"title": title, "note": " ".join(filter(None, notes)), "chart": Chart(key, display.plot, described)}


def _components_for_80_percent(spectrum: MapSpectrum) -> str:
    cumulative, total = spectrum.cumulative, len(spectrum.values)
    n = next((i + 1 for i, share in enumerate(cumulative) if share >= 0.8), total)
    verb = "accounts for" if n == 1 else "account for"
    known = "The first component" if n == 1 else f"The first {n:,} components"
    # Unless the shares add up to 1, some components were not computed.
    of = f" of {total:,}" if total > 1 and cumulative[-1] >= 1 - _ROUNDING else ""
    return f"{known}{of} {verb} {format_percent(cumulative[n - 1])} of {_total_name(spectrum)}"


def _first_eigenvalues_text(spectrum: MapSpectrum) -> str:
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


def _row_colorings(quality: QualityRecord | None) -> list[dict[str, Any]]:
    """Return the colourings by the trust and by the stress of each row, each on one scale for all maps."""
    if quality is None:
        return []
    found = []
    for source, option in (("trust", "trust of each row (trustworthiness)"), ("stress", "error of each row (stress)")):
        per_map = [getattr(one, source) for one in quality.maps if one is not None]
        known = [value for values in per_map for value in values if value is not None]
        if known:
            title = f"{source} of the row"
            # On a scale up to the maximum, one outlier would make all others look equal.
            ends = [min(known), 1.0] if source == "trust" else [0, sorted(known)[int(0.98 * (len(known) - 1))]]
            labels = {"option": option, "title": title, "missing_label": "not evaluated", "source": source}
            found.append({**labels, "kind": "numeric", "column": None, "range": ends})
    return found


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
    common = frequent_classes(counts, drawing.N_COLORS)
    groups = [shorten(column.levels[code], 40) for code in common]
    if len(common) < len(counts):
        groups.append(f"other ({len(counts) - len(common):,} levels)")
    group = {code: common.index(code) if code in common else len(common) for code in counts}
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


def collect_axes(fitted_map: MapRecord) -> dict[str, Any] | None:
    """Return for each of the two axes a title and the columns that explain it, best first; None if no column was compared."""
    explanation = fitted_map.explanation
    if not explanation.columns:
        return None
    return {
        "sides": [_axis(explanation, axis, name) for axis, name in enumerate(fitted_map.axes[:2])],
        "sample": _sample_text(explanation),
    }


def _sample_text(part: AxisCorrelationsRecord | MapClustersRecord) -> str:
    """Return on how many rows a part was computed, "" if on all."""
    n, of = part.n_rows, part.n_mapped
    return f"Computed on {format_count(n)} of the {format_count(of)} rows, drawn at random." if n < of else ""


def _axis(explanation: AxisCorrelationsRecord, axis: int, name: str) -> dict[str, Any]:
    columns = zip(
        explanation.columns,
        explanation.kinds,
        (row[axis] for row in explanation.values),
        explanation.chance,
        strict=True,
    )
    large = sorted((one for one in columns if abs(one[2]) >= MIN_CORRELATION), key=lambda one: -abs(one[2]))
    found = [one for one in large if abs(one[2]) >= _MIN_CHANCE_RATIO * one[3]]
    by_chance = [one[0] for one in large if one not in found]
    return {
        "title": _axis_title(shorten(name, 40), *found[0][:3])
        if found
        else f"No column reaches a correlation of {MIN_CORRELATION} with {shorten(name, 40)}{' beyond chance' * bool(by_chance)}",
        "columns": [
            {"name": column, "text": f"{'' if kind in _NUMBERS else 'η '}{value:.2f}".replace("-", "−")}
            for column, kind, value, _ in found[:_COLUMNS_SHOWN]
        ],
        "more": max(len(found) - _COLUMNS_SHOWN, 0),
        "note": f"The correlation of {join_column_names(by_chance)} is near the chance level." if by_chance else "",
    }


def _axis_title(axis: str, best: str, kind: str, value: float) -> str:
    if kind not in _NUMBERS:
        return f"{axis} separates the levels of {shorten(best, 40)}"
    return f"{axis} rises with {shorten(best, 40)}" if value > 0 else f"{axis} falls as {shorten(best, 40)} rises"


def collect_clusters(
    clusters: MapClustersRecord | None, columns: Collection[str] | None = None
) -> dict[str, Any] | None:
    """Return a line for each cluster, and notes on rows and on the columns of the map (None is all); None without columns."""
    if clusters is None:
        return None
    rules, n_outside = clusters.rules, clusters.n_outside
    shown = rules[:_CLUSTERS_SHOWN]
    notes = []
    if len(rules) > len(shown):
        notes.append(f"The other {count_with_noun(len(rules) - len(shown), 'cluster')} are smaller.")
    if rules and n_outside:
        notes.append(f"{count_with_noun(n_outside, 'row')} {'belongs' if n_outside == 1 else 'belong'} to no cluster.")
    notes.append(_sample_text(clusters))
    if rules and clusters.n_considered < clusters.n_columns:
        of = f"Of {format_count(clusters.n_columns)} columns"
        notes.append(f"{of}, the {clusters.n_considered} with the largest correlations with an axis were considered.")
    if any(_imputed(condition, columns) for one in shown for condition in one.conditions):
        notes.append(
            "Rows with imputed values may be alike only because these are equal; Gower's dissimilarity (--dissimilarity gower) "
            "compares two rows in the columns in which both have a value."
        )
    return {
        "rules": [
            _describe_rule(one, columns) | {"name": f"Cluster {k}", "is_clear": _is_clear(one, clusters.n_rows)}
            for k, one in enumerate(shown, start=1)
        ],
        "note": " ".join(filter(None, notes)),
    }


def _is_clear(rule: ClusterRule, n_rows: int) -> bool:
    return rule.n_rows >= _MIN_SHARE * n_rows and (rule.coverage or 0.0) >= _MIN_COVERAGE


def cluster_centers(fitted_map: MapRecord) -> list[tuple[float, ...]]:
    """Return the centres of the clusters that are listed; none on a map of one axis."""
    if fitted_map.clusters is None or len(fitted_map.axes) < 2:
        return []
    return [one.center for one in fitted_map.clusters.rules[:_CLUSTERS_SHOWN]]


def _imputed(condition: RuleCondition, columns: Collection[str] | None) -> bool:
    """Whether rows fulfil a condition because their value is missing, and the map used an imputed one."""
    return condition.kind == "missing" and (columns is None or condition.column in columns)


def _describe_rule(rule: ClusterRule, columns: Collection[str] | None) -> dict[str, Any]:
    size = count_with_noun(rule.n_rows, "row")
    if rule.precision is None or rule.coverage is None:
        return {"size": size, "conditions": [], "shares": "", "measured": ""}
    of_cluster, of_rule = format_percent(rule.coverage), format_percent(rule.precision)
    return {
        "size": size,
        "conditions": [
            f"{shorten(one.text, _CONDITION_WIDTH)}{' (imputed)' if _imputed(one, columns) else ''}"
            for one in rule.conditions
        ],
        "shares": f"Covers {of_cluster} of the cluster; {of_rule} of the rows with these values are in it.",
        "measured": f"Measured on {count_with_noun(rule.n_test, 'row')} of the cluster and "
        f"{count_with_noun(rule.n_fulfilling, 'row')} with these values",
    }
