"""Multi-cluster feature selection (MCFS): sparse regressions of the eigenvectors of a graph of the rows on the columns."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from tamiz.arrays import Floats, Indices
from tamiz.criteria.column_variation import column_blocks
from tamiz.criteria.graph_relevance import GraphRelevance, row_eigenvectors
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.runtime import progress
from tamiz.runtime.validation import check_integer, check_memory
from tamiz.table.base import Table
from tamiz.table.views import weight_array

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
