"""How the rows of a study are joined, and what came of it."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from tamiz._study.budget import DEFAULT_BUDGET, Budget
from tamiz._study.sampling import sample_including
from tamiz.exceptions import DataError
from tamiz.graphs.builder import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.k_nearest import default_builder
from tamiz.graphs.weights import Binary
from tamiz.runtime.user_warnings import warn_user
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import RowNumbers, select_rows

# MERGED: The one graph of a study: of all rows of the table, or of a sample of a very long one.
GraphMethod = TypeVar("GraphMethod", bound=BaseEstimator)

# Rows that are joined where nobody said how, and the seconds that their neighbours may take.
_MAX_GRAPH_ROWS, _MAX_GRAPH_SECONDS = 100_000, 25.0
# Numbers of the rows that are joined, an indicator for every level among them: of 20 bytes each.
_MAX_GRAPH_VALUES = 3e7
# Seconds of two cores: for a pair of rows and for each of its numbers where all distances are measured, and for a row and each
# of its numbers by descent.
_SECONDS_PER_PAIR, _SECONDS_PER_PAIR_VALUE, _SECONDS_PER_ROW, _SECONDS_PER_ROW_VALUE = 1e-9, 2.5e-11, 2e-5, 1.9e-6


@dataclass(frozen=True)
class RowGraph:
    """The table of a study and the graph of its rows, where it has one.

    Attributes
    ----------
    table : Source
    builder : GraphBuilder, Graph or None
        What the graph was built by, or itself where it was given.
    graph : Graph or None
    connected_graph : Graph or None
        The graph in one piece, by the shortest edges that join its components, for maps; None where nothing can join them.
    graph_source : Source or None
        The rows that are joined: the table, or a sample of it.
    sample : ndarray of shape (n_joined,) or None
        Their numbers in the table; None where it is all of them.
    """

    table: Source
    builder: GraphBuilder | Graph | None = None
    graph: Graph | None = None
    connected_graph: Graph | None = None
    graph_source: Source | None = None
    sample: RowNumbers | None = None

    def with_graph(self, method: GraphMethod) -> GraphMethod:
        """Return a part that takes a graph and was given none with this one, any other part itself."""
        return clone(method).set_params(graph=self.graph) if needs_graph(method) else method

    def with_connected_graph(self, method: GraphMethod) -> GraphMethod:
        """Return what `with_graph` does, with the graph in one piece where it can be joined."""
        return clone(method).set_params(graph=self.connected_graph or self.graph) if needs_graph(method) else method

    def source_for(self, method: BaseEstimator) -> Source:
        """Return the rows that a part reads: those joined where it lives on this graph, else the table."""
        graph = method.get_params(deep=False).get("graph")
        lives_on_it = graph is not None and (graph is self.graph or graph is self.connected_graph)
        return self.graph_source if lives_on_it and self.graph_source is not None else self.table

    def row_positions(self, rows: RowNumbers, source: Source) -> RowNumbers:
        """Return some rows of the table by their numbers in what a part reads."""
        if self.sample is None or source is self.table:
            return rows
        return np.searchsorted(self.sample, rows)


def needs_graph(method: BaseEstimator) -> bool:
    """Whether a part takes a graph and was given none."""
    parameters = method.get_params(deep=False)
    return "graph" in parameters and parameters["graph"] is None


def study_graph_builder(n_rows: int) -> GraphBuilder:
    """Return what rows are joined by where nobody said: 15 nearest neighbours, by standardised columns, every edge of weight 1.

    Rows far from all others, of which most tables have some, would hang on a heat kernel's graph by next to nothing and be all
    that its map shows.
    """
    return default_builder(n_rows).set_params(metric="seuclidean", weight=Binary())


def graph_seconds(n_rows: int, n_coordinates: int) -> float:
    """Return what finding the neighbours of so many rows takes, by all distances or by descent."""
    every, descent = (
        n_rows**2 * (_SECONDS_PER_PAIR + _SECONDS_PER_PAIR_VALUE * n_coordinates),
        n_rows * (_SECONDS_PER_ROW + _SECONDS_PER_ROW_VALUE * n_coordinates),
    )
    return min(every, descent)


def max_graph_rows(schema: Schema, n_shown: int, budget: Budget) -> int:
    """Return how many rows are joined at most where nobody said how."""
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
    source: Source,
    requested: GraphBuilder | Graph | None,
    shown_rows: RowNumbers,
    rng: np.random.Generator,
    budget: Budget = DEFAULT_BUDGET,
) -> RowGraph:
    """Build the graph of a study.

    Parameters
    ----------
    source : Source
    requested : GraphBuilder, Graph or None
        Of all rows where it is given; else the usual one, of a sample of a very long table.
    shown_rows : ndarray of row numbers, ascending
        The rows that maps show, to be among the sample.
    rng : Generator
        Draws the rest of the sample.
    budget : Budget
    """
    n, n_seen = source.schema.n_rows, source.schema.n_coordinates
    most = max_graph_rows(source.schema, len(shown_rows), budget)
    sample, joined = None, source
    if requested is None and n > most:
        sample = sample_including(shown_rows, n, most, rng)
        joined = select_rows(source, sample)
        wide = most < budget.scale_linear(_MAX_GRAPH_ROWS, n)
        why = f": a row has {n_seen:,} numbers, an indicator for every level among them" if wide else ""
        warn_user(
            [
                f"The graph joins {most:,} of the {n:,} rows, drawn at random{why}. One that is asked for (graph=, --graph) joins "
                "all."
            ]
        )
    builder = study_graph_builder(joined.schema.n_rows) if requested is None else requested
    graph = builder.build(joined, fill_missing=True)
    whole: Graph | None = None
    try:
        whole = graph.connect_components()
    except DataError as error:
        warn_user([f"No map is drawn on the graph: {error}"])
    return RowGraph(source, builder, graph, whole, joined, sample)


# Components sized, bars of a histogram: what a reader can still take in.
_MAX_COMPONENTS = 10
_MAX_BARS = 40


def describe_graph(row_graph: RowGraph, label: dict[str, str]) -> dict[str, Any] | None:
    """Return how the rows are joined and what came of it, None where they are not."""
    graph, source = row_graph.graph, row_graph.graph_source
    if graph is None or source is None:
        return None
    given = row_graph.builder is graph
    counts = _neighbor_counts(graph)
    return {
        **({"id": "given", "label": "A graph that was given"} if given else label),
        "parameters": "" if given else _parameters(row_graph.builder),
        "by_class": row_graph.builder is not None and row_graph.builder.needs_classes,
        "n_rows": graph.n_samples,
        "n_edges": graph.n_edges,
        "components": {
            "n": len(graph.components),
            "sizes": np.sort(graph.components.sizes)[::-1][:_MAX_COMPONENTS].tolist(),
        },
        "joining": None if row_graph.connected_graph is None else row_graph.connected_graph.n_edges - graph.n_edges,
        "neighbors": {**_range_summary(counts), "histogram": _histogram(counts)},
        "degrees": _range_summary(graph.degrees),
        "radius": graph.radius,
        "t": graph.t if graph.t is not None and np.isfinite(graph.t) else None,
        "unweighted": bool((graph.degrees == counts).all()),
        "search": graph.search_description,
        "recall": graph.recall,
    }


def _neighbor_counts(graph: Graph) -> NDArray[np.int64]:
    """Return how many others every row is joined to."""
    sizes = graph.components.sizes.astype(np.int64)
    if graph.search_description is None and graph.n_edges == int((sizes * (sizes - 1) // 2).sum()):
        # All pairs of every component: they are known without being written out.
        return (sizes - 1)[graph.components.labels]
    adjacency = graph.adjacency
    return np.diff(adjacency.indptr).astype(np.int64) - (adjacency.diagonal() != 0)


def _range_summary(values: NDArray[Any]) -> dict[str, float]:
    return {"min": float(values.min()), "median": float(np.median(values)), "max": float(values.max())}


def _histogram(counts: NDArray[np.int64]) -> dict[str, Any]:
    """Return how many rows have so many neighbours, in bins of equal width, one a number where there is room."""
    least, most = int(counts.min()), int(counts.max())
    width = -(-(most - least + 1) // _MAX_BARS)
    return {"start": least, "width": width, "rows": np.bincount((counts - least) // width).tolist()}


def _parameters(method: Any) -> str:
    """Return what a part was made with, as Python takes it; what it would be without a word is left out."""
    given = method.get_params(deep=False)
    signature = inspect.signature(type(method)).parameters.values()
    told = [p.name for p in signature if p.kind is not p.KEYWORD_ONLY or given[p.name] != p.default]
    return ", ".join(f"{name}={given[name]!r}" for name in told)
