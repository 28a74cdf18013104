"""The neighbour graph of the rows: edges, components, numbers of neighbours, and warnings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tamiz.display import figures
from tamiz.report.drawing import Chart
from tamiz.report.text import edges_text, format_count, format_number, format_percent, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from tamiz.graphs.description import NeighborCounts, Range
    from tamiz.report.records.maps import GraphRecord
    from tamiz.report.records.study import StudyRecord

# Below this recall of the true neighbours there is a warning.
_MIN_RECALL = 0.95


def collect_graph(result: StudyRecord) -> dict[str, Any] | None:
    """Return the facts, warnings, components, and the histogram of neighbours; None without a graph."""
    graph = result.graph
    if graph is None:
        return None
    sizes = graph.components.sizes
    several = len(sizes) > 1
    return {
        "lead": f"{edges_text(graph)}{'; it is complete, so it has no information on neighbours' if _is_complete(graph) else ''}.",
        "facts": list(_facts(graph, result.table.n_rows_used)),
        "cautions": list(_graph_warnings(graph, len(result.table.classes))),
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
