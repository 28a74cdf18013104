"""Radius graphs: every row is joined to all rows within a given radius, or within the smallest one that connects the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.exceptions import DataError
from tamiz.graphs.builder import ClassLabels, GraphBuilder, read_points
from tamiz.graphs.edges import NeighborRule, directed_edges
from tamiz.graphs.graph import EdgeGraph
from tamiz.graphs.weights import Weight
from tamiz.neighbors.base import NeighborIndex
from tamiz.neighbors.kd_tree import choose_exact_search
from tamiz.neighbors.spanning_tree import longest_edge
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_real
from tamiz.table.encode import RowEncoder


class Radius(GraphBuilder):
    """Join every row to all rows within a radius.

    Parameters
    ----------
    radius : float
        Largest distance of two rows that are joined, in the unit of the columns. Distances above it by at most 2^-26, or 1.5e-8, of
        it are joined too, so that rounding errors remove no edge.
    weight : Weight, default=None
        Weight of the edges; None is HeatKernel().
    metric : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed"}, default="euclidean"
        As in `KNearest`.

    Raises
    ------
    ValueError
        When no two rows are within the radius.
    MemoryError
        When the edges do not fit into memory. This is checked before the search.

    Notes
    -----
    Cost O(n^2 p), less in few columns, where a k-d tree is used. The number of edges can be up to n^2 / 2.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15.

    Examples
    --------
    >>> from tamiz.graphs import Radius
    >>> Radius(1.0).build([[0.0], [1.0], [1.5]]).n_edges
    2
    """

    def __init__(self, radius: float, *, weight: Weight | None = None, metric: str = "euclidean") -> None:
        self.radius = radius
        self.weight = weight
        self.metric = metric

    def _joined_rows(self) -> str:
        return f"All rows within the distance {self.radius:,.4g}"

    def _build(self, X: Any, classes: ClassLabels | None, *, fill_missing: bool) -> EdgeGraph:
        radius = check_real("radius", self.radius, low=0.0)
        points, encoder = read_points(X, self.metric, fill_missing=fill_missing)
        index = choose_exact_search(points).fit(points)
        return _build_radius_graph(self, index, encoder, radius, classes)


class ConnectedRadius(GraphBuilder):
    """Join every row to all rows within the smallest radius for which the graph is connected.

    This radius is the length of the longest edge of the minimum spanning tree, computed exactly. In other units, `Radius` of the
    radius in these units joins the same rows.

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

    def _joined_rows(self) -> str:
        return "All rows within the smallest distance that connects the graph"

    def _build(self, X: Any, classes: ClassLabels | None, *, fill_missing: bool) -> EdgeGraph:
        points, encoder = read_points(X, self.metric, fill_missing=fill_missing)
        index = choose_exact_search(points).fit(points)
        return _build_radius_graph(self, index, encoder, longest_edge(index), classes)


def _build_radius_graph(
    builder: GraphBuilder, index: NeighborIndex, row_encoder: RowEncoder, radius: float, classes: ClassLabels | None
) -> EdgeGraph:
    neighbors = index.query_radius(radius)
    if not len(neighbors.indices):
        nearest = float(np.min(index.query(1).distances))
        raise DataError(
            f"radius={radius:g} joins no two rows: the nearest two are {nearest:.6g} apart. Use a larger radius; "
            "ConnectedRadius() (--graph connected-radius) computes the smallest one that connects all rows."
        )
    rule = NeighborRule.from_index(index, row_encoder, radius=radius)
    return builder.build_weighted_graph(directed_edges(neighbors), rule, classes, radius=radius)
