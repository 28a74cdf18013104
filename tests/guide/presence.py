"""Share of a column's values that are present."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tamiz.arrays import Floats
from tamiz.criteria.base import StatisticRelevance, StatisticsCache
from tamiz.statistics.base import Statistic
from tamiz.table.schema import Schema


class Presence(StatisticRelevance):
    r"""Share of a column's values that are present, in [0, 1].

    .. math:: 1 - m_j / n

    with :math:`m_j` missing values of column j in n rows. A column that is left out scores 0.

    Notes
    -----
    Cost O(p): the numbers of missing values are part of the schema.

    References
    ----------
    Little and Rubin (2019), Statistical Analysis with Missing Data, chapter 1.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import Presence
    >>> X = np.array([[1.0, np.nan], [2.0, 5.0], [3.0, 6.0], [5.0, 7.0]])
    >>> RankSelector(Presence()).fit(X).scores_
    array([1.  , 0.75])
    """

    needs_target: ClassVar[bool] = False

    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:
        """Return no statistics: the schema already has the number of missing values."""
        return ()

    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:
        """Return the share of each column; columns that are left out have 0."""
        scores = np.zeros(schema.n_columns)
        for j in schema.used:
            scores[j] = 1 - schema.columns[j].n_missing / schema.n_rows
        return scores
