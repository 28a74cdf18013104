"""Rules of the clusters of a map: a few conditions on columns that describe the rows of each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import hypergeom
from sklearn.utils.validation import check_array, column_or_1d

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.reduction.axes import correlate_columns, read_columns
from tamiz.reduction.clusters import ClusterNumbers, find_clusters, number_by_size
from tamiz.reduction.description import ClusterRule
from tamiz.reduction.rule_search import Mask, RuleSearch, select_rows_of_rule
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_integer
from tamiz.table.base import Table
from tamiz.table.encode import check_has_features
from tamiz.table.factory import as_table
from tamiz.table.in_memory import from_array_api
from tamiz.table.schema import Column
from tamiz.table.views import weight_array

# Of wider tables, the columns with the largest correlations with the axes are considered, relative to the chance level.
MAX_COLUMNS = 30
# A rule is found and measured on at most so many rows.
_MAX_ROWS = 20_000
# A rule is reported if its F1 score on the held-out rows is at least this and larger than that of all rows, and if Fisher's exact
# test of "fulfils the rule" and "is in the cluster" has at most this p-value.
_MIN_F1, _MAX_P_VALUE = 0.5, 0.01


@dataclass(frozen=True)
class ClusterRules:
    """The clusters of a map and their rules.

    Attributes
    ----------
    rules : tuple of ClusterRule
        One for each cluster, the largest first; empty if the map shows no separate clusters.
    numbers : ndarray of shape (n_rows,)
        The number of the cluster of each row; 0 for rows that belong to none.
    columns : list of str
        The columns that were considered.
    """

    rules: tuple[ClusterRule, ...]
    numbers: ClusterNumbers
    columns: list[str]


def cluster_rules(
    X: Any,
    embedding: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    max_conditions: int = 3,
    random_state: Seed = 0,
) -> ClusterRules:
    """Rules of the clusters of a map: for each, the few conditions on columns that describe its rows best.

    Parameters
    ----------
    X : array, data frame or Table
        The rows of the map, with any columns. The target, weights and groups of a Table are not used in conditions.
    embedding : array-like of shape (n_samples, n_axes)
        The coordinates of the rows on the map, from any method. All axes are used, in one unit.
    clusters : array-like of shape (n_samples,), default=None
        A label for every row, numbers or text; negative numbers and missing labels are rows of no cluster. None finds the visible
        clusters of the map.
    max_conditions : int, default=3
        Most conditions of a rule.
    random_state : int, Generator or None, default=0
        Draws the halves of the rows, and samples of many rows.

    Returns
    -------
    ClusterRules
        `rules`, a record for each cluster with its conditions, precision and coverage; `numbers`, the cluster of each row; and
        `columns`, those considered.

    Raises
    ------
    DataError
        When there is not one row of coordinates, or one label, for every row of the table.

    Notes
    -----
    Clusters are found by HDBSCAN with at least 2 % of the rows and 10 rows, 10 to 20 neighbours (up to 60 on one axis), and a
    single cluster allowed, on at most 5,000 rows; other rows are in the cluster of the nearest of them. One cloud has no separate
    clusters, nor has a map where most rows are in none. Of 344 rows of two independent lognormal columns, a strongly skewed cloud,
    clusters are found in 1 of 13 samples.

    A rule is a conjunction of conditions: a number is above, below or between thresholds, a category has one of at most three
    levels, or a value is missing. A missing value fulfils no other condition. Beam search maximises the F1 score, the harmonic mean
    of precision and coverage, less 0.02 for every threshold and level of the rule. It uses one half of the rows, drawn at random
    within each cluster (whole groups, if the table has groups); precision and coverage are those of the other half, of at most
    20,000 rows in all. On that half, a rule must have an F1 score of at least 0.5 that exceeds that of all rows, and Fisher's exact
    test must reject independence at 1 %; otherwise there is no simple rule. Thresholds have the fewest digits that do not change
    the rows of the rule. Of more than 30 columns, those with the largest correlations with the axes are considered. A cluster that
    was found on the map depends on the columns of the map: that a rule describes it is no evidence for separate groups of rows.

    Cost O(n p) for each of at most 13 rules that are extended, for each cluster, with n rows of the half and p columns.

    References
    ----------
    Campello, Moulavi and Sander (2013), Density-based clustering based on hierarchical density estimates, PAKDD; Herrera, Carmona,
    Gonzalez and del Jesus (2011), An overview on subgroup discovery, Knowledge and Information Systems 29.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.reduction import PCA, cluster_rules
    >>> X = load_iris(as_frame=True).data
    >>> found = cluster_rules(X, PCA(2).fit_transform(X))
    >>> for rule in found.rules:
    ...     print(f"{rule.n_rows} rows: {rule.text} (precision {rule.precision:.2f}, coverage {rule.coverage:.2f})")
    100 rows: petal length (cm) > 2 (precision 1.00, coverage 1.00)
    50 rows: petal length (cm) ≤ 2 (precision 1.00, coverage 1.00)
    """
    max_conditions = check_integer("max_conditions", max_conditions, low=1)
    rng = make_rng(random_state)
    with parallel.thread_session():
        table = as_table(X)
        n = table.schema.n_rows
        points = check_array(from_array_api(embedding), dtype=np.float64)
        if len(points) != n:
            raise DataError(
                f"embedding has {len(points):,} rows and X has {n:,}; give the coordinates of the rows of X."
            )
        check_has_features(table.schema)
        if clusters is None:
            numbers, labels = find_clusters(points, rng), None
        else:
            numbers, labels = _number_labels(clusters, n)
        columns = table.schema.used
        if len(columns) > MAX_COLUMNS and numbers.any():
            correlations = correlate_columns(table, points)
            columns = columns[most_correlated_columns(correlations.values, correlations.chance_level)]
        found = describe_clusters(
            table, points, numbers, rng, columns=columns.tolist(), labels=labels, max_conditions=max_conditions
        )
    warn_user(table.schema.excluded_column_notes)
    return found


def _number_labels(clusters: ArrayLike, n_rows: int) -> tuple[ClusterNumbers, list[str]]:
    """Return the number of the cluster of each row, 0 for none, and the labels in the order of the numbers."""
    values = column_or_1d(np.asarray(clusters), warn=False)
    if len(values) != n_rows:
        raise DataError(f"clusters has {len(values):,} labels and X has {n_rows:,} rows; give one label for each row.")
    none = np.array([one is None or one != one or (not isinstance(one, str) and one < 0) for one in values.tolist()])
    codes = np.full(n_rows, -1)
    names, codes[~none] = np.unique(
        values[~none].astype(str if values.dtype.kind == "O" else values.dtype), return_inverse=True
    )
    numbers = number_by_size(codes)
    order = {int(number): str(names[code]) for number, code in zip(numbers, codes, strict=True) if code >= 0}
    return numbers, [order[k] for k in sorted(order)]


def describe_clusters(
    table: Table,
    points: Floats,
    numbers: ClusterNumbers,
    rng: np.random.Generator,
    *,
    rows: Indices | None = None,
    columns: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
    max_conditions: int = 3,
) -> ClusterRules:
    """Return the rules of the clusters of some rows of a table, in ascending order (None is all).

    `points` and `numbers` have the coordinates and the cluster of each of these rows, from 1 on, and 0 for none. None of `columns`
    considers all that are used; None of `labels` names the clusters by their numbers.
    """
    schema = table.schema
    columns = schema.used.tolist() if columns is None else list(columns)
    described, names = [schema.columns[j] for j in columns], [schema.columns[j].name for j in columns]
    sizes = np.bincount(numbers)[1:].tolist()
    if not sizes:
        return ClusterRules((), numbers, names)
    all_rows, weight = np.arange(schema.n_rows) if rows is None else rows, weight_array(table)
    sample = np.arange(len(numbers))
    if len(numbers) > _MAX_ROWS:
        sample = np.sort(rng.choice(len(numbers), _MAX_ROWS, replace=False))
    weight = np.ones(len(sample)) if weight is None else weight[all_rows[sample]]
    # A row of weight 0 counts as no row. The largest weight is 1, so that sums do not overflow.
    sample, weight = sample[weight > 0], weight[weight > 0] / weight.max(initial=0.0)
    values = [column for _, column in read_columns(table, columns, all_rows[sample])]
    groups = None if table.groups is None else table.groups[all_rows[sample]]
    half = _draw_half(numbers[sample], groups, rng)
    halved = _HalvedTable(values, described, weight, numbers[sample], half)
    return ClusterRules(
        tuple(
            halved.describe(
                ClusterRule(
                    cluster=k,
                    label=str(k) if labels is None else labels[k - 1],
                    n_rows=size,
                    center=tuple(np.median(points[numbers == k], axis=0).tolist()),
                    n_test=halved.count(k),
                ),
                max_conditions,
            )
            for k, size in enumerate(sizes, start=1)
        ),
        numbers,
        names,
    )


def most_correlated_columns(correlations: Floats, chance_level: Floats) -> Indices:
    """Return the positions of at most MAX_COLUMNS columns, ascending: those with the largest correlation with an axis.

    Correlations are relative to the chance level, because it is large for categories of many levels.
    """
    strength = np.abs(correlations).max(axis=1, initial=0.0) / chance_level
    return np.sort(np.argsort(-strength, kind="stable")[:MAX_COLUMNS])


def _draw_half(numbers: ClusterNumbers, groups: NDArray[Any] | None, rng: np.random.Generator) -> Mask:
    """Return the rows on which rules are found: half of every cluster, or half of the groups."""
    half = np.zeros(len(numbers), dtype=bool)
    if groups is not None:
        some = rng.permutation(np.unique(groups))
        return np.isin(groups, some[: (len(some) + 1) // 2])
    for number in np.unique(numbers):
        rows = rng.permutation(np.flatnonzero(numbers == number))
        half[rows[: (len(rows) + 1) // 2]] = True
    return half


class _HalvedTable:
    """The rows on which rules are found, and the held-out rows on which they are measured."""

    def __init__(
        self, values: list[NDArray[Any]], columns: list[Column], weight: Floats, numbers: ClusterNumbers, half: Mask
    ) -> None:
        self._columns = columns
        self._search = RuleSearch([column[half] for column in values], columns, weight[half])
        self._search_numbers = numbers[half]
        self._test_columns = [column[~half] for column in values]
        self._weight, self._numbers = weight[~half], numbers[~half]

    def count(self, number: int) -> int:
        """Return the number of held-out rows of a cluster."""
        return int(np.count_nonzero(self._numbers == number))

    def describe(self, cluster: ClusterRule, max_conditions: int) -> ClusterRule:
        """Return a cluster with its rule if that describes the held-out rows, else the cluster."""
        inside = self._numbers == cluster.cluster
        conditions = self._search.find_rule(self._search_numbers == cluster.cluster, max_conditions)
        fulfilling = select_rows_of_rule(conditions, self._test_columns, len(inside))
        if not conditions or not self._is_confirmed(fulfilling, inside):
            return cluster
        hits = float(self._weight[inside & fulfilling].sum())
        return replace(
            cluster,
            conditions=tuple(one.describe(self._columns[one.column]) for one in conditions),
            precision=hits / float(self._weight[fulfilling].sum()),
            coverage=hits / float(self._weight[inside].sum()),
            n_fulfilling=int(fulfilling.sum()),
        )

    def _is_confirmed(self, fulfilling: Mask, inside: Mask) -> bool:
        """Whether the held-out rows that fulfil a rule are in the cluster more often than others, and agree with it."""
        weight = self._weight
        total, covered = float(weight[inside].sum()), float(weight[fulfilling].sum())
        if covered == 0 or total == 0:
            return False
        f1 = 2 * float(weight[inside & fulfilling].sum()) / (total + covered)
        if f1 < _MIN_F1 or f1 <= 2 * total / (total + float(weight.sum())):
            return False
        hits, n = int((inside & fulfilling).sum()), len(inside)
        return bool(hypergeom.sf(hits - 1, n, int(inside.sum()), int(fulfilling.sum())) <= _MAX_P_VALUE)
