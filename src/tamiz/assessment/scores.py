"""Scores on the rows tested in every fold, and how far their mean may be off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from tamiz.statistics.base import Floats


@dataclass(frozen=True)
class FoldScores:
    """The scores of one way to predict, larger is better.

    Attributes
    ----------
    values : ndarray of shape (n_folds,)
    variance_factor : float
        The variance of their mean over the variance of one of them.
    """

    values: Floats
    variance_factor: float

    @property
    def n_folds(self) -> int:
        """How many there are."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """Over the folds."""
        return float(self.values.mean())

    @property
    def standard_deviation(self) -> float:
        """Of the folds' scores about their mean."""
        return float(self.values.std(ddof=1))

    @property
    def standard_error(self) -> float:
        """Of the mean, corrected for folds that learn from the same rows.

        The variance of the scores times 1 / J + n_test / n_train, for J folds (Nadeau and Bengio 2003, Inference for the
        generalization error, Machine Learning 52): the plain variance over J takes them for independent, and is too small.
        """
        return float(np.sqrt(self.variance_factor * self.values.var(ddof=1)))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean, by Student's t with one degree of freedom fewer than folds."""
        half = float(stats.t.ppf(0.975, self.n_folds - 1)) * self.standard_error
        return self.mean - half, self.mean + half

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as JSON knows them."""
        return {
            "mean": self.mean,
            "standard_deviation": self.standard_deviation,
            "standard_error": self.standard_error,
            "interval": list(self.interval),
            "folds": self.values.tolist(),
        }
