"""Fold backend for scikit-learn's GaussianNB, from sums of log-likelihoods."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np
from sklearn.naive_bayes import GaussianNB

from tamiz.arrays import Floats, Indices, Masks
from tamiz.kernels import read_only
from tamiz.kernels.gaussian_bayes import GaussianModel, fold_class_moments, gaussian_confusion
from tamiz.models.base import CVTask, MatrixBackend, candidate_arrays, column_cost
from tamiz.models.score_functions import count_predictions
from tamiz.subsets.candidates import Candidates

# The largest |mean| / standard deviation of a column for which squared deviations are accurate to nine digits.
_MAX_MEAN_RATIO = 100.0


class GaussianNBBackend(MatrixBackend):
    """Sums of log-likelihoods over columns.

    scikit-learn adds `var_smoothing` times the largest variance of a column to every variance, so the terms depend on the set. The
    sums of a set are those of its parent plus the new terms only if both have the same largest variance.
    """

    estimator_class: ClassVar[type] = GaussianNB
    has_likelihoods: ClassVar[bool] = True
    method: ClassVar[str] = "log-likelihoods are kept for every row, fold and class, and a column is added to them"

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        matrix, n_folds, n_classes = task.matrix, len(task.folds), len(task.classes)
        total = np.zeros((n_folds, n_classes))
        self._mean, self._variance = np.zeros((2, n_folds, n_classes, matrix.n_coordinates))
        self._total_variance = np.zeros((n_folds, matrix.n_coordinates))
        values = matrix.transposed_values()
        for f, fold in enumerate(task.folds):
            own = np.ascontiguousarray(matrix.train_rows(fold).T) if values is None else values
            order = np.argsort(task.codes[fold.train], kind="stable")
            codes, weights = task.codes[fold.train[order]], task.weight_or_ones[fold.train[order]]
            ends = np.searchsorted(codes, np.arange(n_classes + 1))
            rows = order if values is None else fold.train[order]
            fold_class_moments(
                own, rows, ends, weights, total[f], self._mean[f], self._variance[f], self._total_variance[f]
            )
        smallest = (self._variance + task.estimator.var_smoothing * self._total_variance[:, None]).min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            self._mean_ratio = np.nan_to_num(np.abs(self._mean).max(axis=1) / np.sqrt(smallest), nan=0.0)
        self._log_prior = _log_priors(task, total)
        if values is None:
            self._test_values = np.ascontiguousarray(np.concatenate([matrix.test_rows(fold) for fold in task.folds]).T)
        else:
            self._test_values = np.ascontiguousarray(values[:, task.test_rows])

    @cached_property
    def _model(self) -> GaussianModel:
        variances = (self._variance, self._total_variance)
        return GaussianModel(*map(read_only, (self._mean, *variances, self._mean_ratio, self._log_prior)))

    def joint_log_likelihood(self, columns: Indices, fold: int) -> Floats | None:
        """Return log prior plus log likelihood; None where only a refit has the right last bits."""
        at = self.task.matrix.coordinates_of(columns)
        known = np.flatnonzero(np.isfinite(self._log_prior[fold]))
        tested = self._test_values[at, self.task.test_starts[fold] : self.task.test_starts[fold + 1]]
        mean = self._mean[fold][np.ix_(known, at)]
        smoothing = self.task.estimator.var_smoothing * self._total_variance[fold, at].max()
        variance = self._variance[fold][np.ix_(known, at)] + smoothing
        # As for the counts: a variance of 0 or NaN, or means that are large against the variance, need the refit.
        if not variance.min() > 0 or self._mean_ratio[fold, at].max() > _MAX_MEAN_RATIO:
            return None
        squares = (((tested - mean[:, :, None]) ** 2) / variance[:, :, None]).sum(axis=1)
        logs = np.log(2 * np.pi * variance).sum(axis=1)
        return (self._log_prior[fold, known, None] - 0.5 * (logs[:, None] + squares)).T

    def max_bytes(self) -> float:
        return float(self._test_values.nbytes)

    def evaluation_cost(self) -> float:
        return column_cost(self.task)

    def confusion_counts(self, candidates: Candidates) -> Floats:
        """Return the weights of the test rows by true and predicted class."""
        smoothing, rows = float(self.task.estimator.var_smoothing), self.task.labelled_test_rows
        sets = candidate_arrays(self.task.matrix.to_coordinates(candidates))

        def count(first: int, stop: int, counts: Floats, doubtful: Masks) -> None:
            gaussian_confusion(self._test_values, self._model, smoothing, rows, sets, first, stop, counts, doubtful)

        return count_predictions(self, candidates, count)


def _log_priors(task: CVTask, total: Floats) -> Floats:
    """Return the log prior of every class in every fold, minus infinity for a class without training rows."""
    priors = np.zeros_like(total)
    for f, weight in enumerate(total):
        present = weight > 0
        fixed = task.estimator.priors
        priors[f, present] = weight[present] / weight.sum() if fixed is None else fixed
    with np.errstate(divide="ignore"):
        return np.log(priors)
