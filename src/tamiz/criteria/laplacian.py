"""Laplacian score: variation of a column along the edges of a graph of the rows, relative to its variance."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamiz.arrays import Floats
from tamiz.criteria.column_variation import column_variation, laplacian_ratio, robust_variation
from tamiz.criteria.graph_relevance import GraphRelevance
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.variation import as_row_major
from tamiz.runtime import parallel
from tamiz.table.base import Table
from tamiz.table.encode import describe_rows
from tamiz.table.factory import as_table


class LaplacianScore(GraphRelevance):
    """1 minus the Laplacian score L of the paper, the variation of a column along a graph of rows, so that larger is better.

    .. math:: L = \\frac{f^T L f}{f^T D f} = \\frac{\\sum_{i<j} S_{ij} (f_i - f_j)^2}{\\sum_i D_i (f_i - \\bar f)^2}

    with the mean weighted by the degrees D. For a categorical column both sums run over the indicators of its levels, each
    divided by the square root of the level's share. The score is at most 1.

    Parameters
    ----------
    graph : GraphBuilder or Graph, default=None
        The graph of the rows. None is KNearest(15) on the Euclidean distances over all columns. SameClass() needs a target with
        classes and gives the ranking of the Fisher score.

    Raises
    ------
    DataError
        When the graph has another number of rows, or needs classes and there are none.
    TypeError
        When `graph` is neither a Graph nor a GraphBuilder.

    Notes
    -----
    Cost O((n + edges) p) beside the graph, memory O(n + edges) beyond the rows. A constant column scores -1 (L = 2). A missing
    value counts as the mean of its column. With row weights w an edge counts w_i w_j times.

    References
    ----------
    He, Cai and Niyogi (2005), Laplacian score for feature selection, NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import LaplacianScore
    >>> from tamiz.graphs import KNearest
    >>> iris = load_iris(as_frame=True)
    >>> RankSelector(LaplacianScore(graph=KNearest(50))).fit(iris.data).ranking_
    array([2, 3, 0, 1])
    """

    def __init__(self, *, graph: GraphBuilder | Graph | None = None) -> None:
        self.graph = graph

    def score(self, table: Table) -> Floats:
        """Return the scores of the table's columns, after building the graph where it is not built yet."""
        graph = self._build_graph(table)
        return 1.0 - laplacian_ratio(column_variation(table, graph, "LaplacianScore"))


def laplacian_score(X: Any, graph: Graph) -> Floats:
    """Return the Laplacian score L of every column, smaller is better.

    .. math:: L = \\frac{\\sum_{i<j} S_{ij} (f_i - f_j)^2}{\\sum_i D_i (f_i - \\bar f)^2}

    with the edge weights S, the degrees D, and the mean weighted by the degrees.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_columns)
    graph : Graph
        A graph of the same rows, such as `KNearest(5).build(X)`.

    Returns
    -------
    ndarray of shape (n_columns,)
        From 0, for a column that differs only between connected components, to 2; a constant column, and a column excluded as an id
        or as text, have 2.

    Raises
    ------
    DataError
        When a value of a sparse matrix is NaN or infinite.

    Notes
    -----
    Cost O((n + edges) p). `LaplacianScore` is 1 - L, larger is better.

    References
    ----------
    He, Cai and Niyogi (2005), Laplacian score for feature selection, NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.criteria import laplacian_score
    >>> from tamiz.graphs import KNearest
    >>> X, _ = load_iris(return_X_y=True)
    >>> laplacian_score(X, KNearest(50).build(X)).round(3)
    array([0.172, 0.414, 0.029, 0.072])
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"graph must be a Graph, got {graph!r}: build one, such as KNearest(5).build(X).")
    with parallel.thread_session():
        if sparse.issparse(X):
            rows = as_row_major(X)
            _check_finite(rows)
            return laplacian_ratio(robust_variation(graph.build(rows), rows))
        table = as_table(X)
        return laplacian_ratio(column_variation(table, graph.build(table), "LaplacianScore"))


def _check_finite(rows: sparse.csr_array) -> None:
    bad = np.flatnonzero(~np.isfinite(rows.data))
    if not bad.size:
        return
    bad_rows = np.unique(np.searchsorted(rows.indptr, bad, side="right") - 1)
    where = f"{'' if len(bad_rows) == 1 else 'the first '}in column {rows.indices[bad[0]]}"
    raise DataError(
        f"{describe_rows(bad_rows)} a NaN or an infinite value, {where}; the Laplacian score needs finite values. "
        "Replace such values or remove such rows."
    )
