"""Ridge regression on the indicators of classes: a linear merit for classes that no imbalance hides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from tamiz.models.base import CVTask
from tamiz.models.evaluator import WrapperEvaluator
from tamiz.models.refits import choose_backend
from tamiz.models.scoring import resolve_scoring
from tamiz.statistics.base import Floats
from tamiz.subsets.candidates import Candidates, Masks
from tamiz.subsets.evaluator import Evaluator


class ClassIndicatorEvaluator(Evaluator):
    """The share of the class indicators' variance that ridge regression explains on rows that it has not seen.

    .. math:: R^2_f = 1 - \\frac{\\sum_k \\sum_{i \\in f} (z_{ik} - \\hat z_{ik})^2}
        {\\sum_k \\sum_{i \\in f} (z_{ik} - \\bar z_{fk})^2}

    for the indicators :math:`z_{ik}` of the classes k in the rows i that fold f tests; the merit is the mean over the folds. The
    predictions are the decision values of scikit-learn's RidgeClassifier, so this is the model that it fits, judged by squared
    error and not by the class that it predicts: where 1 row of 20 is of a class, accuracy is the same for columns that say much of
    it and for none.

    Parameters
    ----------
    task : Task
        Cross-validation of a RidgeClassifier.

    References
    ----------
    Hastie, Tibshirani and Buja (1994), Flexible discriminant analysis by optimal scoring, JASA 89.
    """

    def __init__(self, task: CVTask) -> None:
        self.task = task
        # Of two classes one indicator is the other's complement.
        codes = range(len(task.classes)) if len(task.classes) > 2 else [1]
        tasks = [_indicator_task(task, code) for code in codes]
        self._evaluators = [WrapperEvaluator(one, *choose_backend(one)) for one in tasks]
        self._total_squares = np.array([_total_squares(one) for one in tasks])

    @property
    def name(self) -> str:
        """What the merit is called."""
        return "R2 of ridge regression on the classes"

    @property
    def method(self) -> str:
        """How a score is found."""
        return self._evaluators[0].method

    @property
    def evaluation_cost(self) -> float:
        """How much work a set is."""
        return sum(part.evaluation_cost for part in self._evaluators)

    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the mean over the folds for every candidate."""
        return self.fold_scores(candidates).mean(axis=1)

    def fold_scores(self, candidates: Candidates) -> Floats:
        """Return the score of every candidate in every fold, of shape (n_candidates, n_folds)."""
        errors = sum(
            (1 - part.fold_scores(candidates)) * spread
            for part, spread in zip(self._evaluators, self._total_squares, strict=True)
        )
        whole = self._total_squares.sum(axis=0)
        return 1 - np.divide(errors, whole, out=np.zeros((len(candidates), len(whole))), where=whole > 0)

    def max_bytes(self) -> float:
        """Return what the regressions hold in memory."""
        return sum(part.max_bytes() for part in self._evaluators)

    def identity_fields(self) -> dict[str, Any]:
        """Return what the scores depend on beyond the columns and the data."""
        return self._evaluators[0].identity_fields()

    def notes(self) -> list[str]:
        """Return what refits warned of, and what was done to the rows."""
        return list(dict.fromkeys(note for part in self._evaluators for note in part.notes()))

    def subset_notes(self, mask: Masks) -> list[str]:
        """Return what the regressions have to say of a set."""
        return self._evaluators[0].subset_notes(mask)


def _indicator_task(task: CVTask, code: int) -> CVTask:
    """Return the regression on the indicator of a class."""
    made = replace(
        task,
        estimator=Ridge(task.estimator.alpha),
        target=(task.codes == code).astype(np.float64),
        scoring=resolve_scoring("r2", has_classes=False),
    )
    # The rows as points are the same for every class.
    vars(made)["matrix"] = task.matrix
    return made


def _total_squares(task: CVTask) -> list[float]:
    """Return the weighted sum of squares of the indicator about its mean in every fold's tested rows."""
    tested = [(task.target[fold.test], task.weight_or_ones[fold.test]) for fold in task.folds]
    return [float(weight @ (y - np.average(y, weights=weight)) ** 2) for y, weight in tested]
