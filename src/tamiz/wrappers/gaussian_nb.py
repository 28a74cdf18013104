"""Gaussian naive Bayes without refits."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import GaussianNB

from tamiz.candidates import Candidates
from tamiz.kernels.naive_bayes import class_moments, gaussian_counts
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import Columns, OnPoints, Task, effort_of
from tamiz.wrappers.counting import counted

# How many standard deviations from 0 the mean of a column may be whose squares are to be known to nine digits.
_ROUGH = 100.0


class GaussianNBWay(OnPoints):
    """The logarithm of a row's likelihood in a class is a sum over columns.

    What scikit-learn adds to every variance, `var_smoothing` times the largest variance of a column, depends on the set: a set's
    sums come of its parent's where both have the same largest variance.
    """

    kind: ClassVar[type] = GaussianNB
    knows_likelihoods: ClassVar[bool] = True
    how: ClassVar[str] = "log-likelihoods are kept for every row, fold and class, and a column is added to them"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        points, n_folds, n_classes = task.points, len(task.folds), len(task.classes)
        total = np.zeros((n_folds, n_classes))
        self._mean, self._variance = np.zeros((2, n_folds, n_classes, points.n_coordinates))
        self._spread = np.zeros((n_folds, points.n_coordinates))
        values = points.by_column()
        for f, fold in enumerate(task.folds):
            own = np.ascontiguousarray(points.train(fold).T) if values is None else values
            order = np.argsort(task.codes[fold.train], kind="stable")
            codes, weights = task.codes[fold.train[order]], task.weights[fold.train[order]]
            ends = np.searchsorted(codes, np.arange(n_classes + 1))
            rows = order if values is None else fold.train[order]
            class_moments(own, rows, ends, weights, total[f], self._mean[f], self._variance[f], self._spread[f])
        least = (self._variance + task.estimator.var_smoothing * self._spread[:, None]).min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            self._rough = np.nan_to_num(np.abs(self._mean).max(axis=1) / np.sqrt(least), nan=0.0)
        self._prior = _log_priors(task, total)
        if values is None:
            self._tested = np.ascontiguousarray(np.concatenate([points.test(fold) for fold in task.folds]).T)
        else:
            self._tested = np.ascontiguousarray(values[:, task.tested])

    def joint(self, columns: Columns, fold: int) -> Floats | None:
        """Return the logarithms of prior times likelihood."""
        at = self.task.points.coordinates_of(columns)
        known = np.flatnonzero(np.isfinite(self._prior[fold]))
        tested = self._tested[at, self.task.starts[fold] : self.task.starts[fold + 1]]
        mean = self._mean[fold][np.ix_(known, at)]
        more = self.task.estimator.var_smoothing * self._spread[fold, at].max()
        variance = self._variance[fold][np.ix_(known, at)] + more
        # As in the counts: of a density that is no number only the refit knows what becomes, and of large numbers their last bits.
        if not variance.min() > 0 or self._rough[fold, at].max() > _ROUGH:
            return None
        squares = (((tested - mean[:, :, None]) ** 2) / variance[:, :, None]).sum(axis=1)
        logs = np.log(2 * np.pi * variance).sum(axis=1)
        return (self._prior[fold, known, None] - 0.5 * (logs[:, None] + squares)).T

    def most_bytes(self) -> float:
        """Return the bytes of the rows tested."""
        return float(self._tested.nbytes)

    def effort(self) -> float:
        """Return the microseconds or so of adding a column."""
        return effort_of(self.task)

    def confusion(self, candidates: Candidates) -> Floats:
        """Return the weights of the tested rows by class and predicted class."""
        part = self.task.points.translated(candidates)
        codes, weights = self.task.codes[self.task.tested], self.task.weights[self.task.tested]

        def count(first: int, stop: int, counts: Floats, doubtful: NDArray[np.bool_]) -> None:
            gaussian_counts(
                self._tested,
                self._mean,
                self._variance,
                self._spread,
                self._rough,
                float(self.task.estimator.var_smoothing),
                self._prior,
                codes,
                weights,
                self.task.starts,
                part.parents,
                part.parent,
                part.starts,
                part.flipped,
                first,
                stop,
                counts,
                doubtful,
            )

        return counted(self, candidates, count)


def _log_priors(task: Task, total: Floats) -> Floats:
    """Return the logarithm of every class's share in every fold, minus infinity where it does not occur."""
    priors = np.zeros_like(total)
    for f, weight in enumerate(total):
        present = weight > 0
        given = task.estimator.priors
        priors[f, present] = weight[present] / weight.sum() if given is None else given
    with np.errstate(divide="ignore"):
        return np.log(priors)
