"""The record of the neighbour graph of a study, for the report."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.graphs.graph import Graph
from tamiz.graphs.k_nearest import KNearest
from tamiz.graphs.radius import ConnectedRadius, Radius
from tamiz.graphs.row_graph import RowGraph
from tamiz.graphs.same_class import SameClass
from tamiz.graphs.weights import HeatKernel, InverseClassSize, Weight
from tamiz.report.records.codec import Named
from tamiz.report.records.maps import ComponentsRecord, GraphRecord, Histogram, NeighborCounts, Range
from tamiz.report.text import count_with_noun, format_number

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
