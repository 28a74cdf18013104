"""Share of a column's values that are present."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tamiz.arrays import Floats
from tamiz.criteria.base import StatisticRelevance, StatisticsCache
from tamiz.statistics.base import Statistic
from tamiz.statistics.contingency import Coding, LevelCounts
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
