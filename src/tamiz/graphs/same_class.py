"""The graph in which all rows of a class are joined."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.exceptions import DataError
from tamiz.graphs.builder import ClassLabels, GraphBuilder, read_points
from tamiz.graphs.class_graph import ClassGraph, format_n_classes
from tamiz.graphs.edge_graph import Edges, NeighborRule
from tamiz.graphs.graph import Graph
from tamiz.graphs.points import Points
from tamiz.graphs.search.exact import BruteForce
from tamiz.graphs.weights import InverseClassSize, Weight
from tamiz.validation import check_memory

# A pair's rows, other rows and lengths, found and put together, in order, and its weight.
_BYTES_PER_PAIR = 80


class SameClass(GraphBuilder):
    """Every row joined to all rows of its class, itself among them.

    Parameters
    ----------
    weight : Weight, default=None
        None is ClassShare(): with it every row has the degree 1, and the Laplacian score L of a column is 1 / (1 + F) for its
        Fisher score F. Binary() joins all with the weight 1, HeatKernel() by their distance.

    Raises
    ------
    ValueError
        When there are no classes, a row has none, or no class has two rows.

    Notes
    -----
    With ClassShare and Binary no edge is ever made: sums over the classes do their work, in O(n) for a column. HeatKernel makes
    the edges of all pairs, O(n^2 p).

    References
    ----------
    He, Cai and Niyogi (2005), Laplacian score for feature selection, NIPS.

    Examples
    --------
    >>> from tamiz.graphs import SameClass
    >>> graph = SameClass().build([[1.0], [2.0], [4.0]], ["a", "a", "b"])
    >>> graph.degrees
    array([1., 1., 1.])
    """

    def __init__(self, *, weight: Weight | None = None) -> None:
        self.weight = weight

    @property
    def needs_classes(self) -> bool:
        """Yes."""
        return True

    def _build(self, X: Any, classes: ClassLabels | None, *, fill_missing: bool) -> Graph:
        assert classes is not None
        if classes.sizes.max() < 2:
            raise DataError(
                f"No class has two rows: y names {format_n_classes(len(classes.names))} for {len(classes.labels):,} rows, and no two "
                "rows are joined. Pass classes of at least 2 rows."
            )
        weight = InverseClassSize() if self.weight is None else self.weight
        if not weight.needs_lengths:
            return ClassGraph(np.ascontiguousarray(classes.labels), len(classes.names), weight)
        check_memory(
            _BYTES_PER_PAIR * float((classes.sizes**2).sum()),
            f"The edges of {format_n_classes(len(classes.names))} of up to {int(classes.sizes.max()):,} rows",
            "ClassShare() and Binary() need no edges.",
        )
        points, reading = read_points(X, "euclidean", fill_missing=fill_missing)
        return self.build_weighted_graph(
            _within_class_edges(points, classes), NeighborRule.from_index(BruteForce().fit(points), reading), classes
        )


def _within_class_edges(points: Points, classes: ClassLabels) -> Edges:
    """Return every pair of rows of a class with its distance, and every row with itself."""
    n = points.n_samples
    rows, others, lengths = [np.arange(n)], [np.arange(n)], [np.zeros(n)]
    for number in range(len(classes.names)):
        members = np.flatnonzero(classes.labels == number)
        if len(members) > 1:
            near = BruteForce().fit(points.take(members)).query(len(members) - 1)
            rows.append(members[near.rows])
            others.append(members[near.indices])
            lengths.append(near.distances)
    row, other, length = (np.concatenate(parts) for parts in (rows, others, lengths))
    order = np.lexsort((other, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))]).astype(np.int64)
    return Edges(indptr, other[order].astype(np.int32), length[order].astype(np.float64))
