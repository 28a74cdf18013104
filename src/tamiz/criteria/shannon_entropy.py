"""Shannon entropy of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tamiz.arrays import Floats
from tamiz.criteria.base import StatisticRelevance, StatisticsCache
from tamiz.criteria.discretization import ColumnCoder
from tamiz.criteria.entropy_relevance import MISSING_RULES, MissingRule
from tamiz.exceptions import DataError
from tamiz.runtime.validation import check_choice
from tamiz.statistics.base import Statistic
from tamiz.statistics.contingency import LevelCounts
from tamiz.statistics.cuts import Discretization, EqualWidth
from tamiz.table.in_memory import code_vector, weight_vector
from tamiz.table.schema import Schema


class Entropy(StatisticRelevance):
    """Shannon entropy of a column, in bits; no target is needed.

    .. math:: H(X) = -\\sum_x p(x) \\log_2 p(x)

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Count present values only, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numbers are cut into intervals; None is EqualWidth(10). MDL needs a target with classes; with EqualFrequency all columns
        without ties have about the same score.

    Notes
    -----
    Cost O(n p), and O(n log n) for each numeric column. A constant column scores 0.

    References
    ----------
    Shannon (1948), A mathematical theory of communication, Bell System Technical Journal 27.

    Examples
    --------
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import Entropy
    >>> RankSelector(Entropy()).fit([[0, 0, 5], [1, 0, 5], [2, 1, 5], [3, 1, 5]]).scores_
    array([2., 1., 0.])
    """

    needs_target: ClassVar[bool] = False
    unit: ClassVar[str] = "bits"

    def __init__(self, *, missing: MissingRule = "distribute", discretization: Discretization | None = None) -> None:
        self.missing = missing
        self.discretization = discretization

    def check(self, schema: Schema) -> None:
        """Raise DataError for a discretization that needs classes where there are none."""
        check_choice("missing", self.missing, MISSING_RULES)
        self._coder(schema)

    def _coder(self, schema: Schema) -> ColumnCoder:
        return ColumnCoder(self.discretization or EqualWidth(10), schema, with_target=False, caller="Entropy")

    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:
        """Return the cut points, then the counts of values."""
        coder = self._coder(schema)
        return coder.requires(cache) or cache.pending([self._level_counts(coder, cache, schema)])

    def _level_counts(self, coder: ColumnCoder, cache: StatisticsCache, schema: Schema) -> LevelCounts:
        return LevelCounts(schema.used.tolist(), coder.coding(cache))

    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:
        """Return the entropy of every column."""
        counts = cache[self._level_counts(self._coder(schema), cache, schema)].counts
        scores = np.zeros(schema.n_columns)
        scores[schema.used] = [_entropy_bits(c if self.missing == "category" else c[:-1]) for c in counts]
        return scores


def _entropy_bits(counts: Floats) -> float:
    total = counts.sum()
    present = counts[counts > 0]
    return float((present * np.log2(total / present)).sum() / total) if total > 0 else 0.0


def entropy(values: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the Shannon entropy of one categorical column, in bits; None and NaN are ignored.

    .. math:: H(X) = -\\sum_x p(x) \\log_2 p(x)

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Values of any type, each a category.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    float

    Notes
    -----
    Cost O(n).

    References
    ----------
    Shannon (1948), A mathematical theory of communication, Bell System Technical Journal 27.

    Examples
    --------
    >>> from tamiz.criteria import entropy
    >>> entropy(["heads", "tails"])
    1.0
    """
    codes, size = code_vector(values, "values")
    if len(codes) == 0:
        raise DataError("entropy needs at least 1 value, got none.")
    present = codes >= 0
    return _entropy_bits(
        np.bincount(codes[present], weight_vector(sample_weight, len(codes))[present], size).astype(np.float64)
    )
