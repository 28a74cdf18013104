"""Relevances that compare columns with a graph of the rows: Laplacian score, SPEC and MCFS."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from tamiz.arrays import Floats, Indices
from tamiz.criteria.base import RowRelevance
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder, resolve_builder
from tamiz.graphs.graph import Graph
from tamiz.graphs.laplacian import Laplacian
from tamiz.graphs.variation import Variation, as_row_major, rescale_columns, total_variation
from tamiz.runtime import parallel, progress
from tamiz.runtime.user_warnings import ImputationNote, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_memory
from tamiz.statistics.cross_products import LevelIndicators, design_matrix
from tamiz.table.base import Table, weight_array
from tamiz.table.encode import describe_rows
from tamiz.table.factory import as_table, find_sparse_matrix
from tamiz.table.views import map_columns

# Values of a block of columns that is gathered into one matrix, where the table itself is not stored as a matrix.
_BLOCK_VALUES = 2**23
# Sums of squares below this are computed again after rescaling: their terms lose digits to underflow.
_MIN_TOTAL = 1e-300
# The relevances in the words of a study.
_READERS = {"LaplacianScore": "the Laplacian score", "MCFS": "MCFS", "SPEC": "SPEC"}


def laplacian_ratio(variation: Variation) -> Floats:
    """Return L: 2 for a constant column."""
    varies = ~variation.constant & (variation.total != 0)
    return np.divide(variation.along_edges, variation.total, out=np.full(len(varies), 2.0), where=varies)


def robust_variation(graph: Graph, rows: Any, row_weight: Floats | None = None) -> Variation:
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


def column_variation(table: Table, graph: Graph, reader: str) -> Variation:
    """Return the variation of every column, computed in blocks of columns; `reader` is named in a note on missing values."""
    if (matrix := find_sparse_matrix(table)) is not None:
        return robust_variation(graph, as_row_major(matrix), weight_array(table))
    _warn_of_missing_values(table, reader)
    n = table.schema.n_columns
    found = Variation(np.zeros(n), np.zeros(n), np.ones(n, dtype=bool))
    for part in map_columns(table, partial(_part_variation, graph)):
        within, total = found.along_edges + part.along_edges, found.total + part.total
        found = Variation(within, total, found.constant & part.constant)
    return found


def _part_variation(graph: Graph, table: Table) -> Variation:
    schema, row_weight = table.schema, weight_array(table)
    within, total = np.zeros(schema.n_columns), np.zeros(schema.n_columns)
    constant = np.ones(schema.n_columns, dtype=bool)
    for owners, rows in _blocks_of_columns(table, row_weight):
        found = robust_variation(graph, rows, row_weight)
        np.add.at(within, owners, found.along_edges)
        np.add.at(total, owners, found.total)
        constant[owners[~found.constant]] = False
    return Variation(within, total, constant)


def column_blocks(table: Table, weight: Floats | None, reader: str) -> Iterator[tuple[Indices, Floats]]:
    """Yield blocks of mean-imputed columns, each with the columns of the table that they belong to."""
    _warn_of_missing_values(table, reader)
    yield from _blocks_of_columns(table, weight)


def _warn_of_missing_values(table: Table, reader: str) -> None:
    n_missing = table.schema.n_missing
    if n_missing:
        values = "missing value counts" if n_missing == 1 else "missing values count"
        text = f"{reader}: {n_missing:,} {values} as the mean of the column."
        warn_user([ImputationNote(text, _READERS[reader])])


def _blocks_of_columns(table: Table, weight: Floats | None) -> Iterator[tuple[Indices, Floats]]:
    schema, n_missing = table.schema, table.schema.n_missing
    blocks = list(table.blocks())
    if len(blocks) == 1 and blocks[0].numeric_matrix is not None and not n_missing:
        yield np.array(schema.numeric, dtype=np.intp), blocks[0].matrix(schema.numeric)
        return
    n_per_block = max(1, _BLOCK_VALUES // schema.n_rows)
    for start, stop in parallel.block_ranges(len(schema.numeric), n_per_block):
        columns = schema.numeric[start:stop]
        yield (
            np.array(columns, dtype=np.intp),
            _impute_means([block.matrix(columns) for block in table.blocks(columns)], weight),
        )
    for j, n_levels in schema.n_levels.items():
        level = (LevelIndicators(j, n_levels),)
        rows = _impute_means([design_matrix(block, (), level) for block in table.blocks([j])], weight)
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


class GraphRelevance(RowRelevance):
    """A relevance that reads a graph of the rows.

    Parameters
    ----------
    graph : GraphBuilder or Graph, default=None
        The graph of the rows. None is KNearest(15) on the Euclidean distances over all columns. SameClass() needs a target with
        classes and makes the criterion supervised.
    """

    supports_bootstrap: ClassVar[bool] = False

    graph: GraphBuilder | Graph | None

    @property
    def needs_target(self) -> bool:  # type: ignore[override]  # the graph decides
        """Whether the graph is built from classes."""
        return isinstance(self.graph, GraphBuilder | Graph) and self.graph.needs_classes

    def _build_graph(self, table: Table) -> Graph:
        """Return the graph of the rows, built where it is not built yet."""
        return resolve_builder(self.graph, table).build(table, fill_missing=True)


@dataclass(frozen=True)
class RowEigenvectors:
    """Solutions of L y = lambda D y with the smallest eigenvalues.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Ascending, in [0, 2], 0 for each component of the rows with edges.
    vectors : ndarray of shape (n_samples, m)
        Of mean square 1 and orthogonal, with the degrees as weights; 0 for rows without edges. With several components the first
        ones are constant on one component and 0 on the others.
    n_components : int
        Number of components of the rows with edges.
    """

    values: Floats
    vectors: Floats
    n_components: int


def degree_shares(graph: Graph, row_weight: Floats | None) -> Floats | None:
    """Return the degree of every row as a share of their sum, None if there are no edges; an edge counts w_i w_j times."""
    degrees = graph.degrees if row_weight is None else row_weight * graph.dot(row_weight)
    total = degrees.sum()
    return np.asarray(degrees / total) if total > 0 else None


def row_eigenvectors(graph: Graph, n_pairs: int, row_weight: Floats | None) -> RowEigenvectors | None:
    """Return the smallest eigenpairs, at least one per component; None if there are no edges.

    There are fewer than `n_pairs` if the graph has fewer rows with edges. The edge of rows i and j counts w_i w_j times.
    """
    # Imported late: importing the solvers of scipy takes 60 ms, and `LaplacianScore` needs no eigenvectors.
    from tamiz.graphs.laplacian import smallest_eigenpairs

    shares = degree_shares(graph, row_weight)
    if shares is None:
        return None
    rows = np.flatnonzero(shares > 0)
    laplacian = graph.laplacian("random_walk", None if len(rows) == graph.n_samples else rows)
    if row_weight is not None:
        scale = sparse.diags_array(row_weight[rows])
        laplacian = Laplacian(sparse.csr_array(scale @ laplacian.adjacency @ scale), "random_walk")
    n_components = len(laplacian.components)
    found = smallest_eigenpairs(laplacian, min(max(n_pairs, n_components), len(rows)))
    vectors = np.zeros((graph.n_samples, len(found.values)))
    vectors[rows] = found.vectors * np.sqrt(laplacian.degrees.sum())
    return RowEigenvectors(found.values, vectors, n_components)


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
    {graph}

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


# The default number of coefficients is half of the columns, up to this one.
_MAX_DEFAULT_NONZERO = 100
# Columns whose standardised values are equal to so many decimals are one column of the regressions.
_DECIMALS = 9
# Coefficients below this share of the largest are 0.
_ROUNDING = 1e-12


class MCFS(GraphRelevance):
    r"""Largest absolute coefficient of a column in sparse regressions of the cluster indicators of a graph of the rows.

    .. math:: \mathrm{MCFS}(j) = \max_k |a_{kj}|, \qquad
        a_k = \arg\min_a |y_k - X a|^2 + \beta_k |a|_1, \qquad L y_k = \lambda_k D y_k

    for the eigenvectors :math:`y_k` of the smallest eigenvalues above 0, which are relaxed indicators of the clusters of rows.
    :math:`\beta_k` is the largest value at which `n_nonzero` coefficients are not 0.

    Parameters
    ----------
    n_clusters : int, default=5
        Number of eigenvectors, about the number of clusters; fewer for a table of fewer rows.
    n_nonzero : int, default=None
        Number of nonzero coefficients of each regression, the number of columns that are to be selected. None is half of the
        columns, rounded up, and at most 100. Columns that are in no regression score 0.
    {graph}

    Raises
    ------
    DataError
        When the graph has another number of rows, or needs classes and there are none.
    TypeError
        When `graph` is neither a Graph nor a GraphBuilder.

    Notes
    -----
    The columns are standardised, so that scores do not depend on units; in the paper they are used as they are. The eigenvectors
    have mean square 1 with the degrees as weights, which makes a coefficient comparable with a correlation. In a graph with several
    components the first eigenvectors are the indicators of all components.

    A categorical column is an indicator for every level, and scores the largest absolute coefficient of these. Columns that are
    equal after standardisation, up to their sign, are one column of the regressions and score equally. A constant column scores 0.
    A missing value counts as the mean of its column.

    With row weights w an edge counts w_i w_j times and a row of the regressions w_i times, which equals repeated rows where the
    eigenvalues are below 1.

    Cost that of the eigenvectors, as in `LaplacianEigenmaps`, and O(n p d) for d nonzero coefficients of each eigenvector; the
    table is in memory as a dense matrix.

    References
    ----------
    Cai, Zhang and He (2010), Unsupervised feature selection for multi-cluster data, KDD; Efron, Hastie, Johnstone and Tibshirani
    (2004), Least angle regression, Annals of Statistics 32.

    Examples
    --------
    Two columns that separate three clusters together, and four of noise:

    >>> import numpy as np
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import MCFS
    >>> rng = np.random.default_rng(0)
    >>> cluster = np.arange(90) % 3
    >>> noise = rng.normal(size=(90, 6))
    >>> noise[:, 1] += 5 * (cluster == 1)
    >>> noise[:, 4] += 5 * (cluster == 2)
    >>> sorted(RankSelector(MCFS(3), n_features=2).fit(noise).get_support(indices=True).tolist())
    [1, 4]
    """

    used_by_default: ClassVar[bool] = False

    def __init__(
        self, n_clusters: int = 5, *, n_nonzero: int | None = None, graph: GraphBuilder | Graph | None = None
    ) -> None:
        self.n_clusters = n_clusters
        self.n_nonzero = n_nonzero
        self.graph = graph

    def score(self, table: Table) -> Floats:
        """Return the scores of the table's columns, after building the graph where it is not built yet."""
        n_clusters = check_integer("n_clusters", self.n_clusters, low=1)
        if self.n_nonzero is not None:
            check_integer("n_nonzero", self.n_nonzero, low=1)
        graph = self._build_graph(table)
        weight = weight_array(table)
        scores = np.zeros(table.schema.n_columns)
        pairs = row_eigenvectors(graph, n_clusters + 1, weight)
        if pairs is None:
            return scores
        # The null vector of a connected graph is constant.
        targets = pairs.vectors[:, 1:] if pairs.n_components == 1 else pairs.vectors
        row_weight = np.ones(graph.n_samples) if weight is None else weight
        owners, columns = _standardized_columns(table, weight, row_weight)
        if not len(owners):
            return scores
        # One item of bytes per column: equal columns are found, and the order of the columns has no effect.
        items = columns.view(np.dtype((np.void, columns.itemsize * columns.shape[1]))).ravel()
        _, first, number = np.unique(items, return_index=True, return_inverse=True)
        distinct = columns[first]
        n_varied = len(np.unique(owners))
        n_nonzero = self.n_nonzero or min(-(-n_varied // 2), _MAX_DEFAULT_NONZERO)
        largest = _largest_coefficients(distinct, targets, row_weight, min(n_nonzero, len(distinct)))
        np.maximum.at(scores, owners, largest[number])
        return scores


def _standardized_columns(table: Table, weight: Floats | None, row_weight: Floats) -> tuple[Indices, Floats]:
    """Return the columns that vary, of shape (n_columns, n_rows), and the column of the table of each.

    They have mean 0 and mean square 1. The first value that is not 0 is positive, and values are rounded, so that equal
    columns have equal bytes.
    """
    n_coordinates = len(table.schema.numeric) + sum(table.schema.n_levels.values())
    check_memory(
        24.0 * len(row_weight) * n_coordinates,
        f"{n_coordinates:,} standardised columns of {len(row_weight):,} rows",
        "Keep fewer columns first, with RankSelector.",
    )
    share = row_weight / row_weight.sum()
    owners: list[Indices] = []
    parts: list[Floats] = []
    for owner, rows in column_blocks(table, weight, "MCFS"):
        columns = rows.T[:, row_weight > 0]
        varies = (columns != columns[:, :1]).any(axis=1)
        columns, owner = columns[varies], owner[varies]
        # By powers of two, so that no square overflows or underflows.
        columns = np.ldexp(columns, -np.frexp(np.abs(columns).max(axis=1, initial=0.0))[1][:, None])
        columns -= (columns @ share[row_weight > 0])[:, None]
        columns = np.ldexp(columns, -np.frexp(np.abs(columns).max(axis=1, initial=0.0))[1][:, None])
        deviation = np.sqrt(columns**2 @ share[row_weight > 0])
        # Rows of tiny weight may not count.
        owner, columns, deviation = (values[deviation > 0] for values in (owner, columns, deviation))
        columns = np.round(columns / deviation[:, None], _DECIMALS)
        first = columns[np.arange(len(columns)), np.argmax(columns != 0, axis=1)]
        owners.append(owner)
        # Adding 0 makes -0 equal to 0 to the bit.
        parts.append(columns * np.sign(first)[:, None] + 0.0)
    if not owners:
        return np.zeros(0, dtype=np.intp), np.zeros((0, 0))
    return np.concatenate(owners), np.ascontiguousarray(np.concatenate(parts))


def _largest_coefficients(columns: Floats, targets: Floats, row_weight: Floats, n_nonzero: int) -> Floats:
    included = row_weight > 0
    root = np.sqrt(row_weight[included])
    X = columns.T * root[:, None]
    gram = X.T @ X if X.shape[0] > X.shape[1] else None
    largest = np.zeros(len(columns))
    for target in progress.track_progress("Eigenvectors", targets.T, targets.shape[1]):
        y = (target[included] - np.average(target[included], weights=root**2)) * root
        np.maximum(largest, np.abs(_sparse_coefficients(X, y, gram, n_nonzero)), out=largest)
    return largest


def _sparse_coefficients(X: Floats, y: Floats, gram: Floats | None, n_nonzero: int) -> Floats:
    """Return the coefficients at the first point of the lasso path with `n_nonzero` of them, or at its end."""
    max_iter = n_nonzero
    while True:
        with warnings.catch_warnings():
            # The path ends, or leaves out a column, where columns depend linearly on others.
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, _, path, n_iter = lars_path(
                X, y, Gram=gram, Xy=X.T @ y, max_iter=max_iter, method="lasso", return_n_iter=True
            )
        # A coefficient that has returned to 0 may be off by rounding.
        counts = (np.abs(path) > _ROUNDING * np.abs(path).max(axis=0)).sum(axis=0)
        if counts.max() >= n_nonzero:
            return np.asarray(path[:, np.argmax(counts >= n_nonzero)])
        if n_iter < max_iter:
            return np.asarray(path[:, -1])
        # Coefficients that returned to 0 need more steps.
        max_iter *= 2
