"""Scores on the rows tested in every fold, and how far their mean may be off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import get_scorer, get_scorer_names

from tamiz.assessment.estimators import accepts_weights
from tamiz.assessment.labels import labels_of
from tamiz.assessment.predictors import Learned
from tamiz.exceptions import DataError
from tamiz.registry import suggestion
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import weight_of
from tamiz.statistics.base import Floats


@dataclass(frozen=True)
class FoldScores:
    """The scores of one way to predict, larger is better.

    Attributes
    ----------
    values : ndarray of shape (n_folds,)
    inflation : float
        The variance of their mean over the variance of one of them.
    """

    values: Floats
    inflation: float

    @property
    def n_folds(self) -> int:
        """How many there are."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """Over the folds."""
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean, corrected for folds that learn from the same rows.

        The variance of the scores times 1 / J + n_test / n_train, for J folds (Nadeau and Bengio 2003, Inference for the
        generalization error, Machine Learning 52): the plain variance over J takes them for independent, and is too small.
        """
        return float(np.sqrt(self.inflation * self.values.var(ddof=1)))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean, by Student's t with one degree of freedom fewer than folds."""
        half = float(stats.t.ppf(0.975, self.n_folds - 1)) * self.standard_error
        return self.mean - half, self.mean + half

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as JSON knows them."""
        return {
            "mean": self.mean,
            "standard_error": self.standard_error,
            "interval": list(self.interval),
            "folds": self.values.tolist(),
        }


@dataclass(frozen=True)
class Scoring:
    """A number for predictions.

    Attributes
    ----------
    name : str
    scorer : callable
        scorer(estimator, rows, y), larger is better.
    """

    name: str
    scorer: Callable[..., Any]

    def check(self, schema: Schema) -> None:
        """Refuse rows with weights for a score that takes none."""
        # A scorer of scikit-learn's takes weights and hands them to the function that it is made of, which may not.
        if schema.weight is not None and not accepts_weights(getattr(self.scorer, "_score_func", self.scorer)):
            raise DataError(f"{self.name} takes no sample_weight, and the rows have weights; leave them out.")

    def score(self, learned: Learned, test: Source) -> float:
        """Return the score of what was learned on other rows."""
        weight = weight_of(test)
        given = {} if weight is None else {"sample_weight": weight}
        value = float(self.scorer(learned.estimator, learned.rows(test), labels_of(test), **given))
        if not np.isfinite(value):
            raise DataError(
                f"{self.name} is {value} on the {test.schema.n_rows:,} rows tested; a score must be a number."
            )
        return value


def read_scoring(scoring: Any, schema: Schema) -> Scoring:
    """Return the number that was asked for: accuracy, or R2 for a target that is a number, unless something else was."""
    if scoring is None:
        scoring = "accuracy" if schema.has_classes else "r2"
    if callable(scoring):
        return Scoring(getattr(scoring, "__name__", None) or type(scoring).__name__, scoring)
    names = get_scorer_names()
    if not isinstance(scoring, str) or scoring not in names:
        meant = suggestion(scoring, names) if isinstance(scoring, str) else ""
        raise ValueError(
            "scoring must be the name of a scorer of scikit-learn's such as 'accuracy' or 'r2', or a callable, got "
            f"{scoring!r}{meant}."
        )
    return Scoring(scoring, get_scorer(scoring))
