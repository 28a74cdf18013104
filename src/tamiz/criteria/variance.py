"""Variance of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tamiz.arrays import Floats, divide_or_zero
from tamiz.criteria.base import StatisticRelevance, StatisticsCache, gather_statistics
from tamiz.exceptions import DataError
from tamiz.statistics.base import Statistic
from tamiz.statistics.contingency import Coding, ContingencyTables, LevelCounts
from tamiz.statistics.moments import ClassMoments, Moments
from tamiz.table.factory import as_table
from tamiz.table.schema import Schema


class Completeness(StatisticRelevance):
    r"""Share of a column's values that are present, in [0, 1].

    .. math:: \sum_{i : x_{ij} \text{ present}} w_i / \sum_i w_i

    with the row weights :math:`w_i`. A constant column scores 0: its values are known without the table.

    Notes
    -----
    Cost O(n p). As a threshold it drops incomplete columns: `RankSelector(Completeness(), threshold=0.8)` keeps columns of which at
    least 80 % of the values are present.

    References
    ----------
    Little and Rubin (2019), Statistical Analysis with Missing Data, chapter 1.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import Completeness
    >>> X = np.array([[1.0, np.nan, 7.0], [2.0, 5.0, 7.0], [3.0, 6.0, 7.0], [5.0, 7.0, 7.0]])
    >>> RankSelector(Completeness()).fit(X).scores_
    array([1.  , 0.75, 0.  ])
    """

    needs_target: ClassVar[bool] = False
    used_by_default: ClassVar[bool] = False

    def _statistic(self, schema: Schema) -> LevelCounts:
        # Numeric columns are coded as one interval: a count of the present values, and one of the missing values.
        sizes = {**schema.n_levels, **dict.fromkeys(schema.numeric, 1)}
        coding = Coding(sizes, dict.fromkeys(schema.numeric, np.empty(0)))
        return LevelCounts(schema.used.tolist(), coding)

    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:
        """Return the counts of present and missing values."""
        return cache.pending([self._statistic(schema)])

    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:
        """Return the share of each column; columns that are left out have 0."""
        scores = np.zeros(schema.n_columns)
        filled = cache[self._statistic(schema)]
        for j, counts in zip(filled.columns, filled.counts, strict=True):
            total = counts.sum()
            if total > 0 and not schema.columns[j].constant:
                scores[j] = counts[:-1].sum() / total
        return scores


class FisherScore(StatisticRelevance):
    """Between-class variance of a column divided by its total variance (eta squared), in [0, 1].

    .. math:: \\frac{F}{1 + F}, \\qquad F = \\frac{\\sum_c n_c (\\mu_c - \\mu)^2}{\\sum_c n_c \\sigma_c^2}

    For a categorical column the sums run over the indicators of its levels, each divided by the square root of the
    level's share.

    Raises
    ------
    DataError
        When there is no target, or a numeric one.

    Notes
    -----
    Cost O(n p). Missing values are ignored. A constant column scores 0; a column that is constant within every class scores 1.

    References
    ----------
    Duda, Hart and Stork (2001), Pattern Classification; He, Cai and Niyogi (2005), Laplacian score for feature selection, NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import FisherScore
    >>> iris = load_iris(as_frame=True)
    >>> RankSelector(FisherScore()).fit(iris.data, iris.target).scores_.round(3)
    array([0.619, 0.401, 0.941, 0.929])
    """

    def check(self, schema: Schema) -> None:
        """Raise DataError for a table without classes."""
        super().check(schema)
        if not schema.has_classes:
            assert schema.target is not None
            raise DataError(
                f"FisherScore needs a target with classes; the target {schema.target.name!r} is numeric. "
                "Use Variance, or pass kinds={'<target>': 'categorical'}."
            )

    def _statistics(self, schema: Schema) -> tuple[ClassMoments, ContingencyTables]:
        coding = Coding({**schema.n_levels, schema.n_columns: schema.n_classes}, {})
        pairs = [(j, schema.n_columns) for j in schema.categorical]
        return ClassMoments(schema.numeric, schema.n_classes), ContingencyTables(pairs, coding)

    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:
        """Return the moments by class of numeric columns, and the contingency tables of categorical columns."""
        return cache.pending(self._statistics(schema))

    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:
        """Return F / (1 + F) of every column."""
        between, within = self._between_within_sums(cache, schema)
        total = between + within
        return divide_or_zero(between, total)

    def _between_within_sums(self, cache: StatisticsCache, schema: Schema) -> tuple[Floats, Floats]:
        moments, tables = (cache[wanted] for wanted in self._statistics(schema))
        between, within = np.zeros(schema.n_columns), np.zeros(schema.n_columns)
        weight = moments.weight.sum(axis=0)
        mean = divide_or_zero((moments.weight * moments.mean).sum(axis=0), weight)
        numeric = list(schema.numeric)
        between[numeric] = (moments.weight * (moments.mean - mean) ** 2).sum(axis=0)
        within[numeric] = moments.squared_deviations.sum(axis=0)
        # Rounding of the class means gives a constant column a small sum between the classes: it is set to 0.
        constant = moments.maximum.max(axis=0, initial=-np.inf) == moments.minimum.min(axis=0, initial=np.inf)
        between[np.array(numeric, dtype=np.intp)[constant]] = 0.0
        for j, table in zip(schema.categorical, tables.tables, strict=True):
            between[j], within[j] = _indicator_sums(table[:-1, :-1])
        return between, within


def _indicator_sums(table: Floats) -> tuple[float, float]:
    """Return the sums of squares of the scaled indicators between and within the classes; together n (levels - 1)."""
    table = table[table.sum(axis=1) > 0]
    total = table.sum()
    if len(table) < 2:
        return 0.0, 0.0
    rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    expected = rows * columns / total
    between = float(divide_or_zero((table - expected) ** 2, expected).sum())
    # With one level in each class the sum within the classes is exactly 0.
    one_level = bool(((table > 0).sum(axis=0) <= 1).all())
    return between, 0.0 if one_level else max((len(table) - 1) * total - between, 0.0)


def fisher_score(X: ArrayLike, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Floats:
    """Return the Fisher score F of every column, larger is better.

    .. math:: \\frac{F}{1 + F}, \\qquad F = \\frac{\\sum_c n_c (\\mu_c - \\mu)^2}{\\sum_c n_c \\sigma_c^2}

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_columns)
    y : array-like of shape (n_samples,)
        Classes.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    ndarray of shape (n_columns,)
        Sum of squares between the classes over that within the classes: 0 for a constant column and for a column excluded as an id
        or as text, infinite for a column that differs between classes and is constant within each.

    Notes
    -----
    Cost O(n p). `FisherScore` is F / (1 + F), which has the same order.

    References
    ----------
    Duda, Hart and Stork (2001), Pattern Classification; He, Cai and Niyogi (2005), Laplacian score for feature selection, NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.criteria import fisher_score
    >>> X, y = load_iris(return_X_y=True)
    >>> fisher_score(X, y).round(2)
    array([ 1.62,  0.67, 16.06, 13.06])
    """
    table = as_table(X, y, sample_weight)
    score = FisherScore()
    between, within = score._between_within_sums(gather_statistics([score], table.reduce, table.schema), table.schema)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(between > 0, between / within, 0.0)


class Variance(StatisticRelevance):
    """Variance of a column, in squared units of the column; no target is needed.

    .. math:: \\frac{1}{n - 1} \\sum_i (x_i - \\bar x)^2

    For a categorical column it is the sum of the variances of the indicators of its levels.

    Notes
    -----
    Cost O(n p). Missing values are ignored. A constant column and a column with fewer than two values score 0. The score depends on
    the unit of measurement: the ranking changes when a column is given in millimetres instead of metres.

    Examples
    --------
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import Variance
    >>> RankSelector(Variance()).fit([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0]]).scores_
    array([1., 0.])
    """

    needs_target: ClassVar[bool] = False
    unit: ClassVar[str] = "unit²"

    def _statistics(self, schema: Schema) -> tuple[Moments, LevelCounts]:
        coding = Coding(schema.n_levels, {})
        return Moments(schema.numeric), LevelCounts(schema.categorical, coding)

    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:
        """Return the moments of numeric columns and the level counts of categorical columns."""
        return cache.pending(self._statistics(schema))

    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:
        """Return the variance of every column."""
        moments, levels = (cache[wanted] for wanted in self._statistics(schema))
        scores = np.zeros(schema.n_columns)
        scores[list(schema.numeric)] = divide_or_zero(moments.squared_deviations[0], moments.weight[0] - 1)
        for j, counts in zip(schema.categorical, levels.counts, strict=True):
            total = counts[:-1].sum()
            squares = (counts[:-1] * (total - counts[:-1])).sum() / total if total > 0 else 0.0
            scores[j] = divide_or_zero(squares, total - 1)
        return scores
