"""Variance of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tamiz.arrays import Floats, divide_or_zero
from tamiz.criteria.base import StatisticRelevance, StatisticsCache
from tamiz.statistics.base import Statistic
from tamiz.statistics.contingency import Coding, LevelCounts
from tamiz.statistics.moments import Moments
from tamiz.table.schema import Schema


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
