"""Laplacian score: variation of a column along the edges of a graph of the rows, relative to its variance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.criteria.base import RowRelevance
from tamiz.exceptions import DataError
from tamiz.graphs.builder import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.k_nearest import resolve_builder
from tamiz.graphs.variation import Variation, as_row_major, rescale_columns
from tamiz.neighbors.row_encoders import describe_rows
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import ImputationNote, warn_user
from tamiz.sources.base import Source
from tamiz.sources.factory import as_source
from tamiz.sources.sparse import find_sparse_matrix
from tamiz.statistics.base import Floats
from tamiz.statistics.cross_products import LevelIndicators, design_matrix

# Values of a block of columns that is gathered into one matrix, where the table itself is not stored as a matrix.
_BLOCK_VALUES = 2**23
# Sums of squares below this are computed again after rescaling: their terms lose digits to underflow.
_MIN_TOTAL = 1e-300


class LaplacianScore(RowRelevance):
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

    supports_bootstrap: ClassVar[bool] = False

    def __init__(self, *, graph: GraphBuilder | Graph | None = None) -> None:
        self.graph = graph

    @property
    def needs_target(self) -> bool:  # type: ignore[override]  # the graph decides
        """Whether the graph is built from classes."""
        return isinstance(self.graph, GraphBuilder | Graph) and self.graph.needs_classes

    def score(self, source: Source) -> Floats:
        """Return the scores of the table's columns, after building the graph where it is not built yet."""
        graph = resolve_builder(self.graph, source).build(source, fill_missing=True)
        return 1.0 - _laplacian_ratio(_column_variation(source, graph))


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
            return _laplacian_ratio(_robust_variation(graph.build(rows), rows))
        source = as_source(X)
        return _laplacian_ratio(_column_variation(source, graph.build(source)))


def _laplacian_ratio(variation: Variation) -> Floats:
    """Return L: 2 for a constant column."""
    varies = ~variation.constant & (variation.total != 0)
    return np.divide(variation.along_edges, variation.total, out=np.full(len(varies), 2.0), where=varies)


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


def _robust_variation(graph: Graph, rows: Any, row_weight: Floats | None = None) -> Variation:
    """Return the variation of columns; columns whose squares overflow or underflow float64 are rescaled first."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = graph.variation(rows, row_weight)
        out = ~((found.total >= _MIN_TOTAL) & np.isfinite(found.total + found.along_edges))
    columns = np.flatnonzero(out & ~found.constant)
    if not columns.size:
        return found
    weight = np.ones(graph.n_samples) if row_weight is None else row_weight
    again = graph.variation(rescale_columns(rows[:, columns], weight * graph.dot(weight) > 0), row_weight)
    within, total = found.along_edges.copy(), found.total.copy()
    within[columns], total[columns] = again.along_edges, again.total
    return Variation(within, total, found.constant)


def _column_variation(source: Source, graph: Graph) -> Variation:
    """Return the variation of every source column, computed in blocks of columns."""
    schema = source.schema
    row_weight = (
        None if schema.weight is None else np.concatenate([block.weight_or_ones for block in source.blocks([])])
    )
    if (matrix := find_sparse_matrix(source)) is not None:
        return _robust_variation(graph, as_row_major(matrix), row_weight)
    within, total = np.zeros(schema.n_columns), np.zeros(schema.n_columns)
    constant = np.ones(schema.n_columns, dtype=bool)
    for owners, rows in _column_blocks(source, row_weight):
        found = _robust_variation(graph, rows, row_weight)
        np.add.at(within, owners, found.along_edges)
        np.add.at(total, owners, found.total)
        constant[owners[~found.constant]] = False
    return Variation(within, total, constant)


def _column_blocks(source: Source, weight: Floats | None) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """Yield blocks of mean-imputed columns, each with the source columns that they belong to."""
    schema = source.schema
    n_missing = sum(schema.columns[j].n_missing for j in schema.used.tolist())
    if n_missing:
        values = "missing value counts" if n_missing == 1 else "missing values count"
        text = f"LaplacianScore: {n_missing:,} {values} as the mean of the column."
        warn_user([ImputationNote(text, "the Laplacian score")])
    blocks = list(source.blocks())
    if len(blocks) == 1 and blocks[0].numeric_matrix is not None and not n_missing:
        yield np.array(schema.numeric, dtype=np.intp), blocks[0].matrix(schema.numeric)
        return
    n_per_block = max(1, _BLOCK_VALUES // schema.n_rows)
    for start, stop in parallel.block_ranges(len(schema.numeric), n_per_block):
        columns = schema.numeric[start:stop]
        yield (
            np.array(columns, dtype=np.intp),
            _impute_means([block.matrix(columns) for block in source.blocks(columns)], weight),
        )
    for j, n_levels in schema.n_levels.items():
        level = (LevelIndicators(j, n_levels),)
        rows = _impute_means([design_matrix(block, (), level) for block in source.blocks([j])], weight)
        # The mean of an indicator is the share of the level; mean imputation does not change it.
        share = np.average(rows, axis=0, weights=weight)
        yield np.full(n_levels, j), rows / np.sqrt(np.where(share > 0, share, 1.0))


def _impute_means(parts: list[Floats], weight: Floats | None) -> Floats:
    rows = np.ascontiguousarray(np.concatenate(parts) if len(parts) > 1 else parts[0])
    missing = np.isnan(rows)
    if not missing.any():
        return rows
    present_weight = np.where(missing, 0.0, (np.ones(len(rows)) if weight is None else weight)[:, None])
    total = present_weight.sum(axis=0)
    mean = (present_weight * np.where(missing, 0.0, rows)).sum(axis=0) / np.where(total > 0, total, 1.0)
    return np.where(missing, mean, rows)
