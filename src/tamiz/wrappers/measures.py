"""Scores as functions of sums: of the weights by class and predicted class, or of squared errors.

Each is what scikit-learn's scorer of that name says, for many sets of columns and folds at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tamiz.exceptions import DataError
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import CVTask


def confusion_scorer(task: CVTask) -> Callable[[Floats], Floats] | None:
    """Return the score as a function of counts, None where it is none.

    Counts are of shape (..., n_classes, n_classes), the true class before the predicted one.
    """
    if not task.scoring.is_sklearn or task.is_multioutput:
        return None
    name = task.scoring.name
    if name in _CONFUSION_SCORES:
        return _CONFUSION_SCORES[name]
    kind, _, average = name.partition("_")
    if kind not in _CLASS_SCORES or average not in _AVERAGES:
        return None
    if not average and (len(task.classes) != 2 or task.classes[1] != 1):
        # The class that scikit-learn calls positive is 1; where there is none its own sentence says so.
        return None
    return partial(_average_score, _CLASS_SCORES[kind], _AVERAGES[average])


def squared_error_scorer(task: CVTask) -> Callable[[Floats], Floats] | None:
    """Return the score as a function of sums of squares of shape (n_candidates, n_folds), None where it is none."""
    found = (
        _SQUARED_ERROR_SCORES.get(task.scoring.name) if task.scoring.is_sklearn and not task.is_multioutput else None
    )
    return None if found is None else partial(found, task)


def _accuracy(counts: Floats) -> Floats:
    return np.trace(counts, axis1=-2, axis2=-1) / counts.sum(axis=(-2, -1))


def _balanced_accuracy(counts: Floats) -> Floats:
    true = counts.sum(axis=-1)
    return _recall(counts).sum(axis=-1) / (true > 0).sum(axis=-1)


def _correct(counts: Floats) -> Floats:
    return np.diagonal(counts, axis1=-2, axis2=-1)


def _quotient(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient, 0 where it is 0 / 0: of a class that does not occur, or is never predicted."""
    return np.divide(numerator, denominator, out=np.zeros_like(denominator), where=denominator > 0)


def _precision(counts: Floats) -> Floats:
    return _quotient(_correct(counts), counts.sum(axis=-2))


def _recall(counts: Floats) -> Floats:
    return _quotient(_correct(counts), counts.sum(axis=-1))


def _f1(counts: Floats) -> Floats:
    return _quotient(2 * _correct(counts), counts.sum(axis=-1) + counts.sum(axis=-2))


def _average_score(
    score: Callable[[Floats], Floats], average: Callable[[Floats, Floats], Floats], counts: Floats
) -> Floats:
    return average(score(counts), counts)


def _macro(values: Floats, counts: Floats) -> Floats:
    """Return the mean over the classes that occur or are predicted."""
    seen = (counts.sum(axis=-1) > 0) | (counts.sum(axis=-2) > 0)
    return np.where(seen, values, 0.0).sum(axis=-1) / seen.sum(axis=-1)


def _weighted(values: Floats, counts: Floats) -> Floats:
    true = counts.sum(axis=-1)
    return (values * true).sum(axis=-1) / true.sum(axis=-1)


def _r2(task: CVTask, squares: Floats) -> Floats:
    spread = np.empty(len(task.folds))
    for f, fold in enumerate(task.folds):
        if len(fold.test) < 2:
            raise DataError(
                f"R2 has no meaning on the 1 row that fold {f + 1} of {len(task.folds)} tests; take fewer folds, or "
                "scoring='neg_mean_squared_error'."
            )
        y, weight = task.target[fold.test].astype(np.float64), task.weight_or_ones[fold.test]
        spread[f] = weight @ (y - np.average(y, weights=weight)) ** 2
    # As scikit-learn has it: where nothing varies, 1 for predictions without an error and 0 for others.
    constant = np.where(squares == 0, 1.0, 0.0)
    return np.where(spread > 0, 1 - squares / np.where(spread > 0, spread, 1.0), constant)


def _neg_mean_squared_error(task: CVTask, squares: Floats) -> Floats:
    return -squares / np.array([task.weight_or_ones[fold.test].sum() for fold in task.folds])


def _neg_root_mean_squared_error(task: CVTask, squares: Floats) -> Floats:
    return -np.sqrt(-_neg_mean_squared_error(task, squares))


_CONFUSION_SCORES: dict[str, Callable[[Floats], Floats]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
}
# A number for every class, and what becomes of them.
_CLASS_SCORES: dict[str, Callable[[Floats], Floats]] = {"precision": _precision, "recall": _recall, "f1": _f1}
_AVERAGES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "": lambda values, _: values[..., 1],
    "macro": _macro,
    "micro": lambda _, counts: _accuracy(counts),
    "weighted": _weighted,
}
_SQUARED_ERROR_SCORES: dict[str, Callable[[CVTask, Floats], Floats]] = {
    "r2": _r2,
    "neg_mean_squared_error": _neg_mean_squared_error,
    "neg_root_mean_squared_error": _neg_root_mean_squared_error,
}
