"""Naive Bayes of counts without refits."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import MultinomialNB

from tamiz.candidates import Candidates
from tamiz.kernels.coded_bayes import linear_confusion
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import CVTask
from tamiz.wrappers.counting import count_predictions
from tamiz.wrappers.discrete_nb import DiscreteNBBackend, kernel_arguments


class LinearNBBackend(DiscreteNBBackend):
    """A class's sum is the prior, and for every column a slope times the value and a constant."""

    def __init__(self, task: CVTask) -> None:
        shape = (len(task.folds), len(task.classes), task.matrix.n_coordinates)
        # Per class: the slope, the constant, the part in what the class's counts add up to, and the slope of the column by itself.
        self._slope, self._constant, self._mass, self._single_slope = np.zeros((4, *shape))
        super().__init__(task)

    def confusion_counts(self, candidates: Candidates) -> Floats:
        """Return the weights of the tested rows by class and predicted class."""
        flips = kernel_arguments(self.task.matrix.to_coordinates(candidates))
        known = (self._slope, self._constant, self._mass, self._single_slope, self._log_prior, self._has_class)
        of_rows = (self._test_codes, self._test_weights, self.task.test_starts)

        def count(first: int, stop: int, counts: Floats, doubtful: NDArray[np.bool_]) -> None:
            linear_confusion(self._test_values, *known, *of_rows, *flips, first, stop, counts, doubtful)

        return count_predictions(self, candidates, count)


class MultinomialNBBackend(LinearNBBackend):
    """What a count says of a class is its part in all the class's counts, those of the set's columns.

    .. math:: \\sum_j x_j \\log(n_{kj} + \\alpha) - \\sum_j x_j \\log \\sum_j (n_{kj} + \\alpha)

    Three sums over columns; the last logarithm is that of the set.
    """

    estimator_class: ClassVar[type] = MultinomialNB
    method: ClassVar[str] = (
        "sums of counts and their logarithms are kept for every row, fold and class, and a column is added to them"
    )

    def _store_model(self, fold: int, class_codes: NDArray[np.intp], model: Any) -> None:
        mass = model.feature_count_ + model.alpha
        # Absent classes have the logarithm of 1, and are never predicted.
        self._mass[fold] = 1.0
        self._mass[fold, class_codes] = mass
        with np.errstate(divide="ignore", invalid="ignore"):
            self._slope[fold, class_codes] = np.log(mass)
            # As scikit-learn has it for an only column.
            self._single_slope[fold, class_codes] = np.log(mass) - np.log(mass)
