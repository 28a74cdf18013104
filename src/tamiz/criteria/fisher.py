"""Fisher score: variance between the classes over variance within the classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tamiz.arrays import Floats, divide_or_zero
from tamiz.criteria.base import StatisticRelevance, StatisticsCache, gather_statistics
from tamiz.exceptions import DataError
from tamiz.statistics.base import Statistic
from tamiz.statistics.contingency import Coding, ContingencyTables
from tamiz.statistics.moments import ClassMoments
from tamiz.table.factory import as_table
from tamiz.table.schema import Schema


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
