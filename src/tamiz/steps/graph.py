"""How the rows of a study are joined, and what came of it."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.graphs.graph import Graph
from tamiz.steps.joining import RowGraph

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
