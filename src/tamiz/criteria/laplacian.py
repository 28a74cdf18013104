"""Laplacian score: how well a column keeps to a graph of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.criteria.base import PrecomputedScores, Relevance, RowRelevance, StatisticsCache
from tamiz.exceptions import DataError
from tamiz.graphs.builder import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.k_nearest import resolve_builder
from tamiz.graphs.variation import Variation, as_row_major, rescale_columns
from tamiz.neighbors.row_encoders import describe_rows
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn_user
from tamiz.sources.base import Source
from tamiz.sources.factory import as_source
from tamiz.sources.schema import Schema
from tamiz.sources.sparse import find_sparse_matrix
from tamiz.statistics.base import Floats, Statistic
from tamiz.statistics.cross_products import LevelIndicators, design_matrix

# Values of columns that are held side by side, where the table does not hold them so itself.
_BLOCK_VALUES = 2**23
# Sums of squares below this lose digits: their terms underflow.
_MIN_TOTAL = 1e-300


class LaplacianScore(RowRelevance):
    """Share of a column's variation that does not run along the edges of a graph, 1 - L; at most 1, larger is better.

    .. math:: L = \\frac{f^T L f}{f^T D f} = \\frac{\\sum_{i<j} S_{ij} (f_i - f_j)^2}{\\sum_i D_i (f_i - \\bar f)^2}

    with the mean weighted by the degrees D. For a categorical column both sums run over the indicators of its levels, each
    divided by the square root of the level's share.

    Parameters
    ----------
    graph : GraphBuilder or Graph, default=None
        How rows are joined; None is KNearest(15), of all columns at their Euclidean distances. With SameClass() it needs classes,
        and ranks as the Fisher score does.

    Raises
    ------
    DataError
        When the graph is of another number of rows, or needs classes that are not there.
    TypeError
        When the graph is neither a Graph nor what builds one.

    Notes
    -----
    Cost O((n + edges) p) with the graph given, in memory O(n + edges) beyond the rows. A constant column scores -1, L = 2. A
    missing value counts as the mean of its column. With weights of rows an edge counts w_i w_j times.

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
        """Whether the graph is made of classes."""
        return isinstance(self.graph, GraphBuilder | Graph) and self.graph.needs_classes

    def bind(self, source: Source) -> Relevance:
        """Return the scores of a table's columns, its graph built where it is not given."""
        graph = resolve_builder(self.graph, source).build(source, fill_missing=True)
        return PrecomputedScores(1.0 - _laplacian_ratio(_column_variation(source, graph)))

    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:  # noqa: ARG002
        """Refuse: rows are joined to rows, and no sum over rows one by one will do."""
        raise TypeError("LaplacianScore reads rows: call ready(source) first.")


def laplacian_score(X: Any, graph: Graph) -> Floats:
    """Return the Laplacian score L of every column, smaller is better.

    .. math:: L = \\frac{\\sum_{i<j} S_{ij} (f_i - f_j)^2}{\\sum_i D_i (f_i - \\bar f)^2}

    with the weights S of the edges, the degrees D, and the mean weighted by the degrees.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_columns)
    graph : Graph
        Of the same rows, such as `KNearest(5).build(X)`.

    Returns
    -------
    ndarray of shape (n_columns,)
        Between 0, for a column that differs between components only, and 2; 2 for a constant column, and for one left out as
        an id or as text.

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
        raise TypeError(f"graph must be a Graph, got {graph!r}: build it, such as KNearest(5).build(X).")
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
    named = np.unique(np.searchsorted(rows.indptr, bad, side="right") - 1)
    where = f"{'' if len(named) == 1 else 'the first '}in column {rows.indices[bad[0]]}"
    raise DataError(
        f"{describe_rows(named)} a NaN or an infinite value, {where}; the Laplacian score needs finite ones. "
        "Fill such values in or leave such rows out."
    )


def _robust_variation(graph: Graph, rows: Any, row_weight: Floats | None = None) -> Variation:
    """Return the variation of columns, that of one whose squares leave the range of float64 in another unit."""
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
    """Return the variation of every source column, a group of columns at a time."""
    schema = source.schema
    row_weight = (
        None if schema.weight is None else np.concatenate([block.weight_or_ones for block in source.blocks([])])
    )
    if (held := find_sparse_matrix(source)) is not None:
        return _robust_variation(graph, as_row_major(held), row_weight)
    within, total = np.zeros(schema.n_columns), np.zeros(schema.n_columns)
    constant = np.ones(schema.n_columns, dtype=bool)
    for owners, rows in _column_blocks(source, row_weight):
        found = _robust_variation(graph, rows, row_weight)
        np.add.at(within, owners, found.along_edges)
        np.add.at(total, owners, found.total)
        constant[owners[~found.constant]] = False
    return Variation(within, total, constant)


def _column_blocks(source: Source, weight: Floats | None) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """Yield columns side by side with the source column of each; gaps are filled with the mean of the column."""
    schema = source.schema
    n_missing = sum(schema.columns[j].n_missing for j in schema.used.tolist())
    if n_missing:
        values = "missing value counts" if n_missing == 1 else "missing values count"
        warn_user([f"LaplacianScore: {n_missing:,} {values} as the mean of the column."])
    blocks = list(source.blocks())
    if len(blocks) == 1 and blocks[0].numeric_matrix is not None and not n_missing:
        yield np.array(schema.numeric, dtype=np.intp), blocks[0].matrix(schema.numeric)
        return
    at_once = max(1, _BLOCK_VALUES // schema.n_rows)
    for start, stop in parallel.block_ranges(len(schema.numeric), at_once):
        columns = schema.numeric[start:stop]
        yield (
            np.array(columns, dtype=np.intp),
            _impute_means([block.matrix(columns) for block in source.blocks(columns)], weight),
        )
    for j, n_levels in schema.n_levels.items():
        level = (LevelIndicators(j, n_levels),)
        rows = _impute_means([design_matrix(block, (), level) for block in source.blocks([j])], weight)
        # The mean of an indicator is the level's share, and gaps filled with it leave it as it is.
        share = np.average(rows, axis=0, weights=weight)
        yield np.full(n_levels, j), rows / np.sqrt(np.where(share > 0, share, 1.0))


def _impute_means(parts: list[Floats], weight: Floats | None) -> Floats:
    rows = np.ascontiguousarray(np.concatenate(parts) if len(parts) > 1 else parts[0])
    gaps = np.isnan(rows)
    if not gaps.any():
        return rows
    present = np.where(gaps, 0.0, (np.ones(len(rows)) if weight is None else weight)[:, None])
    held = present.sum(axis=0)
    mean = (present * np.where(gaps, 0.0, rows)).sum(axis=0) / np.where(held > 0, held, 1.0)
    return np.where(gaps, mean, rows)
