"""Naive Bayes of counts without refits."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import MultinomialNB

from tamiz.candidates import Candidates
from tamiz.kernels.coded_bayes import linear_counts
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import Task
from tamiz.wrappers.counting import counted
from tamiz.wrappers.discrete_nb import DiscreteWay, sets


class LinearWay(DiscreteWay):
    """A class's sum is the prior, and for every column a slope times the value and a constant."""

    def __init__(self, task: Task) -> None:
        shape = (len(task.folds), len(task.classes), task.points.n_coordinates)
        # Per class: the slope, the constant, the part in what the class's counts add up to, and the slope of the column by itself.
        self._slope, self._constant, self._mass, self._alone = np.zeros((4, *shape))
        super().__init__(task)

    def confusion(self, candidates: Candidates) -> Floats:
        """Return the weights of the tested rows by class and predicted class."""
        flips = sets(self.task.points.translated(candidates))
        known = (self._slope, self._constant, self._mass, self._alone, self._prior, self._present)
        of_rows = (self._classes, self._weights, self.task.starts)

        def count(first: int, stop: int, counts: Floats, doubtful: NDArray[np.bool_]) -> None:
            linear_counts(self._tested, *known, *of_rows, *flips, first, stop, counts, doubtful)

        return counted(self, candidates, count)


class MultinomialNBWay(LinearWay):
    """What a count says of a class is its part in all the class's counts, those of the set's columns.

    .. math:: \\sum_j x_j \\log(n_{kj} + \\alpha) - \\sum_j x_j \\log \\sum_j (n_{kj} + \\alpha)

    Three sums over columns; the last logarithm is that of the set.
    """

    kind: ClassVar[type] = MultinomialNB
    how: ClassVar[str] = (
        "sums of counts and their logarithms are kept for every row, fold and class, and a column is added to them"
    )

    def _take(self, fold: int, here: NDArray[np.intp], model: Any) -> None:
        mass = model.feature_count_ + model.alpha
        # Absent classes have the logarithm of 1, and are never predicted.
        self._mass[fold] = 1.0
        self._mass[fold, here] = mass
        with np.errstate(divide="ignore", invalid="ignore"):
            self._slope[fold, here] = np.log(mass)
            # As scikit-learn has it for an only column.
            self._alone[fold, here] = np.log(mass) - np.log(mass)
