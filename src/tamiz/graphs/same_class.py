"""The graph in which all rows of a class are joined."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.exceptions import DataError
from tamiz.graphs.builder import Classes, GraphBuilder, read_points
from tamiz.graphs.class_graph import ClassGraph, told_classes
from tamiz.graphs.edge_graph import Edges, Origin
from tamiz.graphs.graph import Graph
from tamiz.graphs.points import Points
from tamiz.graphs.search.exact import Exact
from tamiz.graphs.weights import ClassShare, Weight
from tamiz.validation import check_memory

# A pair's rows, other rows and lengths, found and put together, in order, and its weight.
_BYTES_A_PAIR = 80


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

    def _build(self, X: Any, classes: Classes | None, *, fill: bool) -> Graph:
        assert classes is not None
        if classes.sizes.max() < 2:
            raise DataError(
                f"No class has two rows: y names {told_classes(len(classes.names))} for {len(classes.labels):,} rows, and no two "
                "rows are joined. Pass classes of at least 2 rows."
            )
        weight = ClassShare() if self.weight is None else self.weight
        if not weight.needs_lengths:
            return ClassGraph(np.ascontiguousarray(classes.labels), len(classes.names), weight)
        check_memory(
            _BYTES_A_PAIR * float((classes.sizes**2).sum()),
            f"The edges of {told_classes(len(classes.names))} of up to {int(classes.sizes.max()):,} rows",
            "ClassShare() and Binary() need no edges.",
        )
        points, reading = read_points(X, "euclidean", fill=fill)
        return self.weighed(_pairs(points, classes), Origin.of(Exact().fit(points), reading), classes)


def _pairs(points: Points, classes: Classes) -> Edges:
    """Return every pair of rows of a class with its distance, and every row with itself."""
    n = points.n_samples
    rows, others, lengths = [np.arange(n)], [np.arange(n)], [np.zeros(n)]
    for number in range(len(classes.names)):
        members = np.flatnonzero(classes.labels == number)
        if len(members) > 1:
            near = Exact().fit(points.take(members)).query(len(members) - 1)
            rows.append(members[near.rows])
            others.append(members[near.indices])
            lengths.append(near.distances)
    row, other, length = (np.concatenate(parts) for parts in (rows, others, lengths))
    order = np.lexsort((other, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))]).astype(np.int64)
    return Edges(indptr, other[order].astype(np.int32), length[order].astype(np.float64))
