"""Naive Bayes of what is there and what is not, without refits."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import BernoulliNB

from tamiz.wrappers.base import Task
from tamiz.wrappers.multinomial_nb import LinearWay


class BernoulliNBWay(LinearWay):
    """The logarithm of a row's likelihood in a class is a sum over columns: one term where a column is there, one where not."""

    kind: ClassVar[type] = BernoulliNB
    how: ClassVar[str] = "log-likelihoods of 0 and 1 are kept for every fold and class, and a column is added to them"
    signed: ClassVar[bool] = True

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if (threshold := task.estimator.binarize) is not None:
            self._tested = (self._tested > threshold).astype(np.float64)

    def _take(self, fold: int, here: NDArray[np.intp], model: Any) -> None:
        present = model.feature_log_prob_
        with np.errstate(divide="ignore", invalid="ignore"):
            absent = np.log(1 - np.exp(present))
        self._constant[fold, here] = absent
        self._slope[fold, here] = self._alone[fold, here] = present - absent
