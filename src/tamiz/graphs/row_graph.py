"""The graph of the rows of a table: built once, on all rows or a sample, and shared by every method that needs one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from tamiz.arrays import Indices
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder, default_builder
from tamiz.graphs.edges import Binary
from tamiz.graphs.graph import Graph
from tamiz.runtime.random import sample_including, sample_rows
from tamiz.runtime.user_warnings import capture_warnings, warn
from tamiz.table.base import Table
from tamiz.table.schema import MAP_REASON, Schema
from tamiz.table.views import select_columns, select_rows

GraphMethod = TypeVar("GraphMethod", bound=BaseEstimator)

# Points of a map by default: rows that a sample for a graph contains.
MAX_SHOWN_ROWS = 2000
# Limits of the default graph: its rows, and the seconds of the neighbour search.
_MAX_GRAPH_ROWS, _MAX_GRAPH_SECONDS = 100_000, 25.0
# Its rows times coordinates, with an indicator for every level: 20 bytes each.
_MAX_GRAPH_VALUES = 3e7
# Seconds on two cores: per pair of rows, and per pair and coordinate, for brute force; per row, and per row and coordinate, for
# NN-descent.
_SECONDS_PER_PAIR, _SECONDS_PER_PAIR_VALUE, _SECONDS_PER_ROW, _SECONDS_PER_ROW_VALUE = 1e-9, 2.5e-11, 2e-5, 1.9e-6


@dataclass(frozen=True)
class RowGraph:
    """A table and the graph of its rows, if there is one.

    `connected_graph` is the graph with its components joined by the shortest edges, None if they cannot be joined. `graph_table`
    has the rows of the graph: the table, or its rows `sample`. `map_columns` are those that the graph and the maps use.
    """

    table: Table
    builder: GraphBuilder | Graph | None = None
    graph: Graph | None = None
    connected_graph: Graph | None = None
    graph_table: Table | None = None
    sample: Indices | None = None
    map_columns: list[int] | None = None

    def with_graph(self, method: GraphMethod, *, connected: bool = False) -> GraphMethod:
        """Return a clone of a method that needs a graph with this one, the connected one if it needs that; else the method."""
        if not needs_graph(method):
            return method
        joined = self.connected_graph if connected and needs_connected_graph(method) else None
        return clone(method).set_params(graph=joined or self.graph)

    def table_for(self, method: BaseEstimator) -> Table:
        """Return the rows that a method reads: those of the graph if it uses this graph, else the table."""
        graph = method.get_params(deep=False).get("graph")
        uses_graph = graph is not None and (graph is self.graph or graph is self.connected_graph)
        return self.graph_table if uses_graph and self.graph_table is not None else self.table

    def with_map_columns(self, table: Table) -> Table:
        return restrict_to_map_columns(table, self.map_columns)

    def row_positions(self, rows: Indices, table: Table) -> Indices:
        """Return the positions of some rows of the table in a table that `table_for` returned."""
        if self.sample is None or table is self.table:
            return rows
        return np.searchsorted(self.sample, rows)


def restrict_to_map_columns(table: Table, columns: list[int] | None) -> Table:
    return table if columns is None else select_columns(table, columns, MAP_REASON)


def needs_graph(method: BaseEstimator) -> bool:
    """Whether a method has a parameter `graph` that is None."""
    parameters = method.get_params(deep=False)
    return "graph" in parameters and parameters["graph"] is None


def needs_connected_graph(method: BaseEstimator) -> bool:
    """Whether a method needs a graph and computes no coordinates of each component, for which added edges would be neighbours."""
    return needs_graph(method) and method.get_params(deep=False).get("disconnected") != "per_component"


def standardized_builder(n_rows: int) -> GraphBuilder:
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


def max_graph_rows(schema: Schema, n_shown: int, scale: float) -> int:
    """Return the most rows of the default graph; `scale` multiplies its seconds and its limits."""
    n, n_seen = schema.n_rows, max(schema.n_coordinates, 1)
    seconds = scale * _MAX_GRAPH_SECONDS
    by_time = max(
        math.sqrt(seconds / (_SECONDS_PER_PAIR + _SECONDS_PER_PAIR_VALUE * n_seen)),
        seconds / (_SECONDS_PER_ROW + _SECONDS_PER_ROW_VALUE * n_seen),
    )
    return min(
        n,
        int(min(scale * _MAX_GRAPH_ROWS, n)),
        max(n_shown, int(min(by_time, scale * _MAX_GRAPH_VALUES / n_seen, n))),
    )


def build_row_graph(
    table: Table,
    requested: GraphBuilder | Graph | None,
    shown_rows: Indices,
    rng: np.random.Generator,
    scale: float = 1.0,
    *,
    connect: bool = True,
    columns: list[int] | None = None,
) -> RowGraph:
    """Build the graph of the rows of a table, by the default builder on a sample of a very long one, which contains the shown rows.

    `scale` is as in `max_graph_rows`, and `columns` are those that distances are measured in.
    """
    seen = restrict_to_map_columns(table, columns).schema
    sample = _draw_graph_rows(seen, shown_rows, rng, scale) if requested is None else None
    joined = table if sample is None else select_rows(table, sample)
    builder = standardized_builder(joined.schema.n_rows) if requested is None else requested
    graph = builder.build(restrict_to_map_columns(joined, columns), fill_missing=True, warn_components=False)
    connected = _connect_components(graph, joined.row_numbers) if connect else None
    return RowGraph(table, builder, graph, connected, joined, sample, columns)


def _draw_graph_rows(schema: Schema, shown_rows: Indices, rng: np.random.Generator, scale: float) -> Indices | None:
    """Return the rows that the default graph joins, with a warning; None for all rows."""
    n, n_seen = schema.n_rows, schema.n_coordinates
    most = max_graph_rows(schema, len(shown_rows), scale)
    if n <= most:
        return None
    wide = most < int(min(scale * _MAX_GRAPH_ROWS, n))
    why = f": a row has {n_seen:,} numbers, an indicator for every level among them" if wide else ""
    warn(
        "TZ502",
        f"The graph joins {most:,} of the {n:,} rows, drawn at random{why}. A graph that is requested (graph=, --graph) "
        "joins all rows.",
    )
    return sample_including(shown_rows, n, most, rng)


def with_default_graph(method: GraphMethod, table: Table) -> tuple[GraphMethod, Table]:
    """Return a clone with the default builder as its graph, and its rows: the table, or of a long one a sample, with a warning.

    A method that needs no graph, and its table, are returned unchanged.
    """
    if not needs_graph(method):
        return method, table
    rng, n = np.random.default_rng(0), table.schema.n_rows
    sample = _draw_graph_rows(table.schema, sample_rows(n, MAX_SHOWN_ROWS, rng), rng, 1.0)
    rows = table if sample is None else select_rows(table, sample)
    return clone(method).set_params(graph=standardized_builder(rows.schema.n_rows)), rows


def _connect_components(graph: Graph, row_numbers: Indices | None) -> Graph | None:
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
