"""The neighbour graph of a study: built once, on all rows or a sample, shared by every method, and described for the report."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from tamiz._study.budget import DEFAULT_BUDGET, Budget
from tamiz._study.sampling import sample_including, sample_shown_rows
from tamiz.exceptions import DataError
from tamiz.graphs.builder import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.k_nearest import KNearest, default_builder
from tamiz.graphs.radius import ConnectedRadius, Radius
from tamiz.graphs.same_class import SameClass
from tamiz.graphs.weights import Binary, HeatKernel, InverseClassSize, Weight
from tamiz.report.records.maps import ComponentsRecord, GraphRecord, Histogram, NeighborCounts, Range
from tamiz.report.text import count_with_noun, format_number
from tamiz.runtime.codec import Named
from tamiz.runtime.user_warnings import capture_warnings, warn
from tamiz.table.base import Table
from tamiz.table.schema import MAP_REASON, Schema
from tamiz.table.views import RowNumbers, select_columns, select_rows

GraphMethod = TypeVar("GraphMethod", bound=BaseEstimator)

# Limits of the default graph: its rows, and the seconds of the neighbour search.
_MAX_GRAPH_ROWS, _MAX_GRAPH_SECONDS = 100_000, 25.0
# Its rows times coordinates, with an indicator for every level: 20 bytes each.
_MAX_GRAPH_VALUES = 3e7
# Seconds on two cores: per pair of rows, and per pair and coordinate, for brute force; per row, and per row and coordinate, for
# NN-descent.
_SECONDS_PER_PAIR, _SECONDS_PER_PAIR_VALUE, _SECONDS_PER_ROW, _SECONDS_PER_ROW_VALUE = 1e-9, 2.5e-11, 2e-5, 1.9e-6


@dataclass(frozen=True)
class RowGraph:
    """The table of a study and the graph of its rows, if there is one.

    Attributes
    ----------
    table : Table
    builder : GraphBuilder, Graph or None
        The builder of the graph; the graph itself if `study` was passed a built one.
    graph : Graph or None
    connected_graph : Graph or None
        The graph with its components joined by the shortest possible edges, for maps; None if they cannot be joined.
    graph_source : Table or None
        The rows of the graph: the table, or a sample of it.
    sample : ndarray of shape (n_joined,) or None
        The row numbers of the sample in the table; None if the graph has all rows.
    map_columns : list of int or None
        The columns that the graph and the maps use; None is all.
    """

    table: Table
    builder: GraphBuilder | Graph | None = None
    graph: Graph | None = None
    connected_graph: Graph | None = None
    graph_table: Table | None = None
    sample: RowNumbers | None = None
    map_columns: list[int] | None = None

    def with_graph(self, method: GraphMethod) -> GraphMethod:
        """Return a clone with `graph` set to this graph if the method needs one; any other method unchanged."""
        return clone(method).set_params(graph=self.graph) if needs_graph(method) else method

    def with_connected_graph(self, method: GraphMethod) -> GraphMethod:
        """Return the same as `with_graph`, with the connected graph if there is one and the method needs it."""
        if not needs_connected_graph(method):
            return self.with_graph(method)
        return clone(method).set_params(graph=self.connected_graph or self.graph)

    def table_for(self, method: BaseEstimator) -> Table:
        """Return the rows that a method reads: those of the graph if it uses this graph, else the table."""
        graph = method.get_params(deep=False).get("graph")
        uses_graph = graph is not None and (graph is self.graph or graph is self.connected_graph)
        return self.graph_table if uses_graph and self.graph_table is not None else self.table

    def with_map_columns(self, table: Table) -> Table:
        """Return some rows with the columns of the maps only."""
        return restrict_to_map_columns(table, self.map_columns)

    def row_positions(self, rows: RowNumbers, table: Table) -> RowNumbers:
        """Return the positions of some rows of the table in a table that `source_for` returned."""
        if self.sample is None or table is self.table:
            return rows
        return np.searchsorted(self.sample, rows)


def restrict_to_map_columns(table: Table, columns: list[int] | None) -> Table:
    """Return a table with some columns only; None is all."""
    return table if columns is None else select_columns(table, columns, MAP_REASON)


def needs_graph(method: BaseEstimator) -> bool:
    """Whether a method has a parameter `graph` that is None."""
    parameters = method.get_params(deep=False)
    return "graph" in parameters and parameters["graph"] is None


def needs_connected_graph(method: BaseEstimator) -> bool:
    """Whether a method needs a graph and computes no coordinates of each component, for which added edges would be neighbours."""
    return needs_graph(method) and method.get_params(deep=False).get("disconnected") != "per_component"


def study_graph_builder(n_rows: int) -> GraphBuilder:
    """Return the default builder: 15 nearest neighbours in standardised columns, with every edge of weight 1.

    With heat-kernel weights, rows far from all others, which most tables have, are joined by weights near 0, and an eigenmap shows
    little but these rows.
    """
    return default_builder(n_rows).set_params(metric="seuclidean", weight=Binary())


def graph_seconds(n_rows: int, n_coordinates: int) -> float:
    """Return the seconds of the neighbour search, by brute force or by NN-descent, whichever is faster."""
    every, descent = (
        n_rows**2 * (_SECONDS_PER_PAIR + _SECONDS_PER_PAIR_VALUE * n_coordinates),
        n_rows * (_SECONDS_PER_ROW + _SECONDS_PER_ROW_VALUE * n_coordinates),
    )
    return min(every, descent)


def max_graph_rows(schema: Schema, n_shown: int, budget: Budget) -> int:
    """Return the most rows of the default graph."""
    n, n_seen = schema.n_rows, max(schema.n_coordinates, 1)
    seconds = budget.scale * _MAX_GRAPH_SECONDS
    by_time = max(
        math.sqrt(seconds / (_SECONDS_PER_PAIR + _SECONDS_PER_PAIR_VALUE * n_seen)),
        seconds / (_SECONDS_PER_ROW + _SECONDS_PER_ROW_VALUE * n_seen),
    )
    return min(
        n,
        budget.scale_linear(_MAX_GRAPH_ROWS, n),
        max(n_shown, int(min(by_time, budget.scale * _MAX_GRAPH_VALUES / n_seen, n))),
    )


def build_row_graph(
    table: Table,
    requested: GraphBuilder | Graph | None,
    shown_rows: RowNumbers,
    rng: np.random.Generator,
    budget: Budget = DEFAULT_BUDGET,
    *,
    connect: bool = True,
    columns: list[int] | None = None,
) -> RowGraph:
    """Build the graph of a study.

    Parameters
    ----------
    table : Table
    requested : GraphBuilder, Graph or None
        Joins all rows. None is the default builder, on a sample of a very long table.
    shown_rows : ndarray of row numbers, ascending
        The rows that maps show; the sample contains them.
    rng : Generator
        Draws the rest of the sample.
    budget : Budget
    connect : bool, default=True
        Whether some map needs a connected graph.
    columns : list of int or None, default=None
        The columns that distances are measured in; None is all.
    """
    seen = restrict_to_map_columns(table, columns).schema
    sample = _draw_graph_rows(seen, shown_rows, rng, budget) if requested is None else None
    joined = table if sample is None else select_rows(table, sample)
    builder = study_graph_builder(joined.schema.n_rows) if requested is None else requested
    graph = builder.build_quietly(restrict_to_map_columns(joined, columns), fill_missing=True)
    connected = _connect_components(graph, joined.row_numbers) if connect else None
    return RowGraph(table, builder, graph, connected, joined, sample, columns)


def _draw_graph_rows(
    schema: Schema, shown_rows: RowNumbers, rng: np.random.Generator, budget: Budget
) -> RowNumbers | None:
    """Return the rows that the default graph joins, with a warning; None for all rows."""
    n, n_seen = schema.n_rows, schema.n_coordinates
    most = max_graph_rows(schema, len(shown_rows), budget)
    if n <= most:
        return None
    wide = most < budget.scale_linear(_MAX_GRAPH_ROWS, n)
    why = f": a row has {n_seen:,} numbers, an indicator for every level among them" if wide else ""
    warn(
        "TZ502",
        f"The graph joins {most:,} of the {n:,} rows, drawn at random{why}. A graph that is requested (graph=, --graph) "
        "joins all rows.",
    )
    return sample_including(shown_rows, n, most, rng)


def sample_graph_rows(table: Table) -> Table:
    """Return the rows of a ranking by the default graph: the table, or of a long one a random sample, with a warning."""
    rng = np.random.default_rng(0)
    shown_rows = sample_shown_rows(table.schema.n_rows, None, rng)
    sample = _draw_graph_rows(table.schema, shown_rows, rng, DEFAULT_BUDGET)
    return table if sample is None else select_rows(table, sample)


def _connect_components(graph: Graph, row_numbers: NDArray[np.intp] | None) -> Graph | None:
    """Return the connected graph, None if it cannot be connected; one note describes the components and the added edges."""
    try:
        with capture_warnings() as added:
            whole = graph.connect_components()
    except DataError as error:
        warn("TZ503", f"No map is drawn on the graph: {error}")
        return None
    if added:
        described = f"The graph of {graph.n_samples:,} rows falls into {graph.components.describe(row_numbers)}."
        warn("TZ401", " ".join([described, *(f"For maps that need a connected graph, {note}" for note in added)]))
    return whole


# Components listed, and bars of the histogram.
_MAX_COMPONENTS = 10
_MAX_BARS = 40


def describe_graph(row_graph: RowGraph, label: Named) -> GraphRecord | None:
    """Return the record of the graph for the report; None without a graph."""
    graph, table = row_graph.graph, row_graph.graph_table
    if graph is None or table is None:
        return None
    prebuilt = row_graph.builder is graph
    counts = _neighbor_counts(graph)
    unweighted = bool((graph.degrees == counts).all())
    connected = row_graph.connected_graph
    return GraphRecord(
        id="given" if prebuilt else label.id,
        label="A prebuilt graph" if prebuilt else label.label,
        parameters="" if prebuilt else _parameters(row_graph.builder),
        description="" if prebuilt else _describe_builder(row_graph.builder, unweighted=unweighted),
        by_class=row_graph.builder is not None and row_graph.builder.needs_classes,
        n_rows=graph.n_samples,
        n_edges=graph.n_edges,
        components=ComponentsRecord(
            n=len(graph.components),
            sizes=tuple(np.sort(graph.components.sizes)[::-1][:_MAX_COMPONENTS].tolist()),
        ),
        n_joining_edges=None if connected is None else connected.n_edges - graph.n_edges,
        neighbors=NeighborCounts(**_range_summary(counts), histogram=_histogram(counts)),
        degrees=Range(**_range_summary(graph.degrees)),
        radius=graph.radius,
        t=graph.t if graph.t is not None and np.isfinite(graph.t) else None,
        unweighted=unweighted,
        search=graph.search_description,
        recall=graph.recall,
    )


def _neighbor_counts(graph: Graph) -> NDArray[np.int64]:
    """Return the number of neighbours of every row."""
    sizes = graph.components.sizes.astype(np.int64)
    if graph.search_description is None and graph.n_edges == int((sizes * (sizes - 1) // 2).sum()):
        # Every component is complete: no need to build the adjacency matrix, which may be dense.
        return (sizes - 1)[graph.components.labels]
    adjacency = graph.adjacency
    return np.diff(adjacency.indptr).astype(np.int64) - (adjacency.diagonal() != 0)


def _range_summary(values: NDArray[Any]) -> dict[str, float]:
    return {"min": float(values.min()), "median": float(np.median(values)), "max": float(values.max())}


def _histogram(counts: NDArray[np.int64]) -> Histogram:
    """Return the histogram of the numbers of neighbours, in at most 40 bins of equal whole width."""
    least, most = int(counts.min()), int(counts.max())
    width = -(-(most - least + 1) // _MAX_BARS)
    return Histogram(start=least, width=width, rows=tuple(np.bincount((counts - least) // width).tolist()))


def _parameters(method: Any) -> str:
    """Return the parameters of a builder as Python arguments, without keyword-only ones at their default."""
    values = method.get_params(deep=False)
    signature = inspect.signature(type(method)).parameters.values()
    names = [p.name for p in signature if p.kind is not p.KEYWORD_ONLY or values[p.name] != p.default]
    return ", ".join(f"{name}={values[name]!r}" for name in names)


_METRICS = {
    "euclidean": "Euclidean distance",
    "seuclidean": "Euclidean distance of standardised columns",
    "cityblock": "city-block distance",
    "cosine": "cosine distance",
    "gower": "Gower's dissimilarity",
    "precomputed": "precomputed distances",
}
# What joins two rows by nearest neighbours, and why the number of a row may differ from that of the search.
_SYMMETRIES = {
    "or": " (a row is joined also to the rows that have it among their nearest)",
    "mutual": ", mutual ones only",
    "directed": ", with directed edges",
}


def _describe_builder(builder: Any, *, unweighted: bool) -> str:
    """Return a builder of this package in words: its rows, the distance and the weights; "" for any other."""
    kind, weight = type(builder), getattr(builder, "weight", None)
    if kind is KNearest:
        within = " of the same class" if builder.within_class else ""
        joined = f"{count_with_noun(builder.n_neighbors, 'nearest neighbour')}{within}{_SYMMETRIES[builder.symmetry]}"
    elif kind is Radius:
        joined = f"All rows within the distance {format_number(builder.radius)}"
    elif kind is ConnectedRadius:
        joined = "All rows within the smallest distance that connects the graph"
    elif kind is SameClass:
        joined, weight = "All rows of the same class", weight or InverseClassSize()
    else:
        return ""
    weight = weight or HeatKernel()
    uses_distances = kind is not SameClass or weight.needs_lengths
    distance = [_METRICS[builder.get_params(deep=False).get("metric", "euclidean")]] if uses_distances else []
    return ", ".join([joined, *distance, "unweighted edges" if unweighted else _describe_weight(weight)])


def _describe_weight(weight: Weight) -> str:
    """Return the weights of the edges in words."""
    kind = type(weight)
    if kind is HeatKernel:
        return "edges weighted by a heat kernel"
    if kind is InverseClassSize:
        return "edges weighted by the inverse of the class size"
    return f"edges weighted by {weight!r}"
