"""Spectral feature selection (SPEC): how smooth a column is on a graph of the rows, in the spectrum of the graph's Laplacian."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.criteria.column_variation import column_blocks, column_variation, laplacian_ratio, robust_variation
from tamiz.criteria.graph_relevance import GraphRelevance, degree_shares, row_eigenvectors
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.variation import as_row_major, total_variation
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.table.base import Table
from tamiz.table.sparse import find_sparse_matrix
from tamiz.table.views import weight_array

_STYLES = ("phi1", "phi2", "phi3")


class SPEC(GraphRelevance):
    r"""Smoothness of a column in the spectrum of a graph of the rows, by a ranking function of SPEC; larger is better.

    With :math:`\hat f = D^{1/2} f / |D^{1/2} f|`, the eigenpairs :math:`\lambda_j, \xi_j` of the normalised Laplacian
    :math:`\hat L = D^{-1/2} L D^{-1/2}`, ascending, and :math:`\alpha_j = \hat f^T \xi_j`:

    .. math::
        \varphi_1 = \hat f^T \hat L \hat f = \sum_j \alpha_j^2 \lambda_j, \qquad
        \varphi_2 = \frac{\varphi_1}{1 - \alpha_1^2}, \qquad
        \varphi_3 = \sum_{j=2}^{k} (2 - \lambda_j) \alpha_j^2

    Smaller values of the first two functions are better, so their scores are :math:`1 - \varphi_1` and :math:`1 - \varphi_2`; the
    score of the third is :math:`\varphi_3`. For a categorical column numerator and denominator are sums over the indicators of its
    levels, each divided by the square root of the level's share.

    Parameters
    ----------
    style : {"phi1", "phi2", "phi3"}, default="phi3"
        The ranking function. "phi2" is the Laplacian score L, so its scores are those of `LaplacianScore`.
    n_eigenpairs : int, default=5
        The k of "phi3", about the number of clusters, at least 2: the first eigenvector, which is constant but for the degrees,
        counts nothing. Of a graph with more components all their null vectors are used. The other styles use the whole spectrum.
    graph : GraphBuilder or Graph, default=None
        The graph of the rows. None is KNearest(15) on the Euclidean distances over all columns. SameClass() needs a target with
        classes and makes the criterion supervised.

    Raises
    ------
    DataError
        When the graph has another number of rows, or needs classes and there are none.
    TypeError
        When `graph` is neither a Graph nor a GraphBuilder.

    Notes
    -----
    The matrix function of the paper is the identity: :math:`\gamma(\lambda) = \lambda`. "phi1" and "phi3" divide by the norm of the
    column itself, so they depend on its origin: a mean that is large relative to the standard deviation makes both almost 0. "phi2"
    does not depend on it.

    Cost O((n + edges) p) beside the graph, and for "phi3" that of the eigenvectors, as in `LaplacianEigenmaps`. A constant column
    scores -1 with "phi1" and "phi2", and 0 with "phi3", the least possible. A missing value counts as the mean of its column. With
    row weights w an edge counts w_i w_j times; for "phi3" this equals repeated rows where the k eigenvalues are below 1.

    References
    ----------
    Zhao and Liu (2007), Spectral feature selection for supervised and unsupervised learning, ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import SPEC
    >>> from tamiz.graphs import KNearest
    >>> iris = load_iris(as_frame=True)
    >>> RankSelector(SPEC("phi2", graph=KNearest(50))).fit(iris.data).ranking_
    array([2, 3, 0, 1])
    """

    used_by_default: ClassVar[bool] = False

    def __init__(
        self, style: str = "phi3", *, n_eigenpairs: int = 5, graph: GraphBuilder | Graph | None = None
    ) -> None:
        self.style = style
        self.n_eigenpairs = n_eigenpairs
        self.graph = graph

    def score(self, table: Table) -> Floats:
        """Return the scores of the table's columns, after building the graph where it is not built yet."""
        style = check_choice("style", self.style, _STYLES)
        n_eigenpairs = check_integer("n_eigenpairs", self.n_eigenpairs, low=2)
        graph = self._build_graph(table)
        if style == "phi2":
            return 1.0 - laplacian_ratio(column_variation(table, graph, "SPEC"))
        weight = weight_array(table)
        shares = degree_shares(graph, weight)
        smoothness, norm = np.zeros((2, table.schema.n_columns))
        constant = np.ones(table.schema.n_columns, dtype=bool)
        if shares is not None:
            pairs = row_eigenvectors(graph, n_eigenpairs, weight) if style == "phi3" else None
            for owners, rows in _scaled_blocks(table, weight):
                variance, same = total_variation(rows, shares)
                variance[same] = 0.0
                mean = np.asarray(rows.T @ shares)
                if pairs is None:
                    values = laplacian_ratio(robust_variation(graph, rows, weight)) * variance
                else:
                    # Centred columns have no component along the first eigenvector.
                    weighted = shares[:, None] * pairs.vectors
                    alphas = np.asarray(rows.T @ weighted) - np.outer(mean, weighted.sum(axis=0))
                    values = np.where(same, 0.0, alphas**2 @ (2.0 - pairs.values))
                np.add.at(smoothness, owners, values)
                np.add.at(norm, owners, variance + mean**2)
                constant[owners[~same]] = False
        varies = ~constant & (norm > 0)
        ratio = np.divide(smoothness, norm, out=np.full(len(norm), 2.0 if style == "phi1" else 0.0), where=varies)
        return 1.0 - ratio if style == "phi1" else ratio


def _scaled_blocks(table: Table, weight: Floats | None) -> Iterator[tuple[Indices, Any]]:
    """Yield blocks of columns; numeric ones are divided by powers of two, so that no square overflows or underflows."""
    matrix = find_sparse_matrix(table)
    if matrix is not None:
        rows = as_row_major(matrix)
        exponents = np.frexp(abs(rows).max(axis=0).toarray().ravel())[1]
        scaled = sparse.csr_array(
            (np.ldexp(rows.data, -exponents[rows.indices]), rows.indices, rows.indptr), rows.shape
        )
        yield np.arange(rows.shape[1]), scaled
        return
    for owners, rows in column_blocks(table, weight, "SPEC"):
        if len(owners) and table.schema.columns[owners[0]].is_number:
            exponents = np.frexp(np.maximum(rows.max(axis=0), -rows.min(axis=0)))[1]
            yield owners, as_row_major(np.ldexp(rows, -exponents))
        elif len(owners):
            yield owners, rows
