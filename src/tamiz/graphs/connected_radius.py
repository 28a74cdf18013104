"""The graph of all rows within the smallest radius that connects them."""

from __future__ import annotations

from typing import Any

from tamiz.graphs.builder import ClassLabels, GraphBuilder, read_points
from tamiz.graphs.graph import EdgeGraph
from tamiz.graphs.radius import build_radius_graph
from tamiz.graphs.weights import Weight
from tamiz.neighbors.search_choice import choose_exact_search
from tamiz.neighbors.spanning_tree import longest_edge
from tamiz.runtime import parallel


class ConnectedRadius(GraphBuilder):
    """Join every row to all rows within the smallest radius for which the graph is connected.

    This radius is the length of the longest edge of the minimum spanning tree, computed exactly.

    Parameters
    ----------
    weight : Weight, default=None
        Weight of the edges; None is HeatKernel().
    metric : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed"}, default="euclidean"
        As in `KNearest`.

    Raises
    ------
    MemoryError
        When the edges do not fit into memory. This is checked before the search. One outlier makes the radius large and the
        graph dense.

    Notes
    -----
    Cost of the radius: one exact nearest-neighbour search, and the rounds of Boruvka's algorithm on its result.

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
        points, encoder = read_points(X, self.metric, fill_missing=fill_missing)
        index = choose_exact_search(points).fit(points)
        return build_radius_graph(self, index, encoder, longest_edge(index), classes)
