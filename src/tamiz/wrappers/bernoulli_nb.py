"""Naive Bayes of what is there and what is not, without refits."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import BernoulliNB

from tamiz.wrappers.base import CVTask
from tamiz.wrappers.multinomial_nb import LinearNBBackend


class BernoulliNBBackend(LinearNBBackend):
    """The logarithm of a row's likelihood in a class is a sum over columns: one term where a column is there, one where not."""

    estimator_class: ClassVar[type] = BernoulliNB
    method: ClassVar[str] = (
        "log-likelihoods of 0 and 1 are kept for every fold and class, and a column is added to them"
    )
    accepts_negative: ClassVar[bool] = True

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        if (threshold := task.estimator.binarize) is not None:
            self._test_values = (self._test_values > threshold).astype(np.float64)

    def _store_model(self, fold: int, class_codes: NDArray[np.intp], model: Any) -> None:
        present = model.feature_log_prob_
        with np.errstate(divide="ignore", invalid="ignore"):
            absent = np.log(1 - np.exp(present))
        self._constant[fold, class_codes] = absent
        self._slope[fold, class_codes] = self._single_slope[fold, class_codes] = present - absent
