"""The graph of all rows within the smallest radius that connects them."""

from __future__ import annotations

from typing import Any

from tamiz.graphs.builder import ClassLabels, GraphBuilder, read_points
from tamiz.graphs.edge_graph import EdgeGraph
from tamiz.graphs.radius import build_radius_graph
from tamiz.graphs.weights import Weight
from tamiz.neighbors.search_choice import choose_exact_search
from tamiz.neighbors.spanning_tree import longest_edge
from tamiz.runtime import parallel


class ConnectedRadius(GraphBuilder):
    """Rows joined to all rows within the smallest radius whose graph is connected.

    It is the longest edge of the minimum spanning tree of the rows, found exactly.

    Parameters
    ----------
    weight : Weight, default=None
        None is HeatKernel().
    metric : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed"}, default="euclidean"
        As in `KNearest`.

    Raises
    ------
    MemoryError
        When there are more edges than memory for them, before they are looked for: one far row makes the radius large, and the
        graph dense.

    Notes
    -----
    Cost of the radius: that of an exact search of neighbours, and Boruvka's rounds over what it found.

    References
    ----------
    Boruvka (1926), O jistem problemu minimalnim, Prace moravske prirodovedecke spolecnosti 3; Belkin and Niyogi (2003),
    Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15.

    Examples
    --------
    >>> from tamiz.graphs import ConnectedRadius
    >>> ConnectedRadius().radius([[0.0], [1.0], [3.5]])
    2.5
    """

    def __init__(self, *, weight: Weight | None = None, metric: str = "euclidean") -> None:
        self.weight = weight
        self.metric = metric

    def radius(self, X: Any, *, fill_missing: bool = False) -> float:
        """Return the smallest radius whose graph of the rows of X is connected."""
        with parallel.thread_session():
            points, _ = read_points(X, self.metric, fill_missing=fill_missing)
            return longest_edge(choose_exact_search(points).fit(points))

    def _build(self, X: Any, classes: ClassLabels | None, *, fill_missing: bool) -> EdgeGraph:
        points, reading = read_points(X, self.metric, fill_missing=fill_missing)
        index = choose_exact_search(points).fit(points)
        return build_radius_graph(self, index, reading, longest_edge(index), classes)
