"""Share of a column's values that are present."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tamiz.criteria.base import Relevance, StatisticsCache
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats, Statistic


class Presence(Relevance):
    """Share of a column's values that are present, in [0, 1]."""

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
