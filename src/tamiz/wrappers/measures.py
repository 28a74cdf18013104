"""Scores as functions of sums: of the weights by class and predicted class, or of squared errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamiz.statistics.base import Floats
from tamiz.wrappers.base import Task


def _accuracy(counts: Floats) -> Floats:
    return np.trace(counts, axis1=-2, axis2=-1) / counts.sum(axis=(-2, -1))


# Each takes counts of shape (..., n_classes, n_classes), the true class first.
OF_COUNTS: dict[str, Callable[[Floats], Floats]] = {"accuracy": _accuracy}


def _r2(squares: Floats, task: Task) -> Floats:
    spread = np.empty(len(task.folds))
    for f, fold in enumerate(task.folds):
        y, weight = task.labels[fold.test].astype(np.float64), task.weights[fold.test]
        spread[f] = weight @ (y - np.average(y, weights=weight)) ** 2
    # As scikit-learn has it: without any variation, 1 for predictions without an error and 0 for others.
    constant = np.where(squares == 0, 1.0, 0.0)
    return np.where(spread > 0, 1 - squares / np.where(spread > 0, spread, 1.0), constant)


def _mean(squares: Floats, task: Task) -> Floats:
    return squares / np.array([task.weights[fold.test].sum() for fold in task.folds])


# Each takes the sums of shape (n_candidates, n_folds).
OF_SQUARES: dict[str, Callable[[Floats, Task], Floats]] = {
    "r2": _r2,
    "neg_mean_squared_error": lambda squares, task: -_mean(squares, task),
    "neg_root_mean_squared_error": lambda squares, task: -np.sqrt(_mean(squares, task)),
}
