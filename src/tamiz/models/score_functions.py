"""Scores as functions of sums over the test rows: of confusion counts, squared errors, or joint log-likelihoods.

Each function returns the value of the scikit-learn scorer of that name, for many column sets and folds at once. `confusion_scorer`,
`squared_error_scorer` and `likelihood_scorer` return the function for a task. `count_predictions` counts predictions in parallel,
with refits where rounding could change one. A likelihood score is None where only a refit is exact: where the predicted
probabilities of two rows of different classes differ by no more than rounding errors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.models.base import CVTask, FoldBackend
from tamiz.models.fit_errors import error_context
from tamiz.models.fold_sums import Predict, PredictionCounts
from tamiz.runtime import parallel
from tamiz.subsets.candidates import Candidates

# Terms that one thread sums: about half a millisecond.
_TERMS_PER_THREAD = 1_000_000
_EPS = float(np.finfo(np.float64).eps)
# Largest error of a log-likelihood in units in the last place: values are several standard deviations from a mean, means up to a
# hundred from 0, and there is a term per column.
_MAX_ROUNDINGS = 1024
# The average error in these units, and the largest relative error of a loss.
_MEAN_ROUNDINGS, _LOSS_TOLERANCE = 32, 1e-10

# count(first, stop, counts, doubtful) fills the counts of candidates first .. stop, and whether rounding could change a prediction.
CountFunction = Callable[[int, int, Floats, Masks], None]
# score(backend, columns, fold): None where a refit is needed.
LikelihoodScore = Callable[[FoldBackend, Indices, int], float | None]


def count_predictions(backend: FoldBackend, candidates: Candidates, fill_counts: CountFunction) -> Floats:
    """Return the weights of test rows by true and predicted class, of shape (n_candidates, n_folds, n_classes, n_classes).

    A fold of a candidate in which the best two classes of a row differ by no more than rounding errors is predicted by a refit, so
    that counts do not depend on the order of summation.
    """
    task = backend.task
    n_folds, n_classes = len(task.folds), len(task.classes)
    counts = np.zeros((len(candidates), n_folds, n_classes, n_classes))
    doubtful = np.zeros((len(candidates), n_folds), dtype=bool)
    size = max(1, _TERMS_PER_THREAD // (len(task.test_rows) * n_classes))

    def work(span: tuple[int, int]) -> None:
        fill_counts(*span, counts, doubtful)

    parallel.run_blocks(work, parallel.block_ranges(len(candidates), size))
    return _refit_doubtful(backend, candidates, counts, doubtful)


def count_in_passes(backend: FoldBackend, candidates: Candidates, columns: Indices, predict: Predict) -> Floats:
    """Return the same from a pass over some columns of the table."""
    task = backend.task
    n_classes = len(task.classes)
    roles = task.row_roles.with_values(task.table, [task.codes.astype(np.int32)])
    shape = len(candidates), len(task.folds), n_classes, n_classes
    (found,) = task.table.reduce(PredictionCounts(columns.tolist(), roles, predict, shape))
    return _refit_doubtful(backend, candidates, found.counts, found.doubtful)


def _refit_doubtful(backend: FoldBackend, candidates: Candidates, counts: Floats, doubtful: Masks) -> Floats:
    """Return counts with those of refits where rounding could change a prediction."""
    if doubtful.any():
        masks = candidates.masks()
        refits = [(np.flatnonzero(masks[c]), fold) for c, fold in np.argwhere(doubtful).tolist()]
        counts[doubtful] = list(parallel.map_blocks(lambda item: _refit_counts(backend, *item), refits))
    return counts


def _refit_counts(backend: FoldBackend, columns: Indices, fold: int) -> Floats:
    task = backend.task
    rows = task.folds[fold].test
    with task.fit_warnings.record_fit(), error_context(task, columns, fold, task.label):
        fitted = backend.fit_fold(columns, fold)
        predicted = np.searchsorted(task.classes, fitted.estimator.predict(fitted.test_rows))
    counts = np.zeros((len(task.classes), len(task.classes)))
    np.add.at(counts, (task.codes[rows], predicted), task.weight_or_ones[rows])
    return counts


def baseline_confusion(task: CVTask) -> Floats:
    """Return confusion counts of predicting the most frequent training class, of equally frequent classes the first."""
    n = len(task.classes)
    counts = np.zeros((len(task.folds), n, n))
    for f, fold in enumerate(task.folds):
        shares = np.bincount(task.codes[fold.train], task.weight_or_ones[fold.train], n)
        counts[f, :, int(shares.argmax())] = np.bincount(task.codes[fold.test], task.weight_or_ones[fold.test], n)
    return counts


def baseline_squared_errors(task: CVTask) -> Floats:
    """Return the weighted sum of squared errors of predicting the training mean, for every fold."""
    squares = np.empty(len(task.folds))
    for f, fold in enumerate(task.folds):
        mean = np.average(task.target[fold.train], weights=task.weight_or_ones[fold.train])
        squares[f] = task.weight_or_ones[fold.test] @ (task.target[fold.test] - mean) ** 2
    return squares


def likelihood_scorer(task: CVTask) -> LikelihoodScore | None:
    """Return the score of the task as a function of joint log-likelihoods, None if there is no such function."""
    if not task.scoring.is_sklearn or not task.has_classes or task.is_multioutput:
        return None
    return _LIKELIHOOD_SCORES.get(task.scoring.name)


def _log_loss(backend: FoldBackend, columns: Indices, fold: int) -> float | None:
    task = backend.task
    part = task.folds[fold]
    codes, weight = task.codes[part.test], task.weight_or_ones[part.test]
    train_classes = np.unique(task.codes[part.train])
    # For different classes in training and test rows, the refit raises scikit-learn's own error.
    if not np.array_equal(np.unique(codes), train_classes):
        return None
    joint = backend.joint_log_likelihood(columns, fold)
    if joint is None or _has_no_likelihood(joint):
        return None
    probabilities = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    noise = _EPS * (1 + np.abs(joint).max(axis=1))
    if len(train_classes) == 2:
        # With two classes scikit-learn computes the first probability as 1 minus the second, with the rounding of that.
        probabilities[:, 0] = 1 - probabilities[:, 1]
    own = np.clip(probabilities[np.arange(len(codes)), np.searchsorted(train_classes, codes)], _EPS, 1 - _EPS)
    if len(train_classes) == 2:
        noise *= np.where(codes == train_classes[0], probabilities[:, 1] / own, 1.0)
    score = float(np.average(np.log(own), weights=weight))
    # A loss near 0 consists of rounding errors.
    return score if float(np.average(noise, weights=weight)) * _MEAN_ROUNDINGS <= _LOSS_TOLERANCE * abs(score) else None


def _roc_auc(backend: FoldBackend, columns: Indices, fold: int) -> float | None:
    task = backend.task
    part = task.folds[fold]
    positive, weight = task.codes[part.test] == 1, task.weight_or_ones[part.test]
    if len(task.classes) != 2 or positive.all() or not positive.any():
        return None
    joint = backend.joint_log_likelihood(columns, fold)
    if joint is None or joint.shape[1] != 2 or _has_no_likelihood(joint):
        return None
    probability = np.exp(joint[:, 1] - np.logaddexp.reduce(joint, axis=1))
    if backend.exact_likelihoods:
        return _roc_area(probability, np.zeros_like(probability), positive, weight, None)
    noise = _MAX_ROUNDINGS * _EPS * probability * (1 + np.abs(joint).max(axis=1))
    return _roc_area(probability, noise, positive, weight, lambda rows: backend.test_values(columns, fold)[rows])


def _has_no_likelihood(joint: Floats) -> bool:
    """Return whether all likelihoods of a row underflow; the estimator then decides its probabilities."""
    return not bool(np.isfinite(joint.max(axis=1)).all())


def _roc_area(
    probability: Floats,
    noise: Floats,
    positive: Masks,
    weight: Floats,
    values: Callable[[Indices], Floats] | None,
) -> float | None:
    """Return the area under the ROC curve; None if unequal rows of both classes differ by no more than rounding errors.

    `values` returns rows; None means that the probabilities are those of a refit.
    """
    order = np.argsort(probability, kind="stable")
    probability, noise, positive, weight = probability[order], noise[order], positive[order], weight[order]
    near = np.diff(probability) <= noise[1:] + noise[:-1]
    group = np.concatenate([[0], np.cumsum(~near)])
    n = int(group[-1]) + 1
    above = np.bincount(group, weight * positive, n)
    below = np.bincount(group, weight * ~positive, n)
    mixed = np.flatnonzero((above > 0) & (below > 0))
    if values is not None and len(mixed):
        inside = np.isin(group, mixed)
        rows = values(order[inside])
        same = (np.diff(rows, axis=0) == 0).all(axis=1) | (np.diff(group[inside]) > 0)
        # Equal rows have equal probabilities; the order of other rows needs the refit.
        if not same.all():
            return None
    return float(_area_of_groups(above, below))


def _area_of_groups(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Return the area under the ROC curve from weights of both classes at ascending values, which are on the last axis."""
    through = below.cumsum(axis=-1)
    return np.asarray((above * (through - below / 2)).sum(axis=-1) / (above.sum(axis=-1) * through[..., -1]))


def roc_areas(values: Floats, positive: Floats, negative: Floats) -> Floats:
    """Return the area under the ROC curve of each row of values, of shape (n_rankings, n_rows).

    `positive` and `negative` are the weights of the rows of both classes, 0 for those of the other class.
    """
    order = np.argsort(values, axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    # Equal values are one group, numbered over all rankings; groups of weight 0 fill the rest.
    is_new = np.ones(values.shape, dtype=bool)
    is_new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    group = is_new.cumsum(axis=1) - 1 + np.arange(len(values))[:, None] * values.shape[1]
    above, below = (
        np.bincount(group.ravel(), weight[order].ravel(), values.size).reshape(values.shape)
        for weight in (positive, negative)
    )
    return _area_of_groups(above, below)


_LIKELIHOOD_SCORES: dict[str, LikelihoodScore] = {"neg_log_loss": _log_loss, "roc_auc": _roc_auc}


def confusion_scorer(task: CVTask) -> Callable[[Floats], Floats] | None:
    """Return the score as a function of confusion counts, None if there is no such function.

    Counts have the shape (..., n_classes, n_classes), true class before predicted class.
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
        # scikit-learn's positive class is 1; without it the refit raises scikit-learn's own error.
        return None
    return partial(_average_score, _CLASS_SCORES[kind], _AVERAGES[average])


def squared_error_scorer(task: CVTask) -> Callable[[Floats], Floats] | None:
    """Return the score as a function of squared errors of shape (n_candidates, n_folds), None if there is no such function."""
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


# A class that does not occur, or is never predicted, scores 0.
def _precision(counts: Floats) -> Floats:
    return divide_or_zero(_correct(counts), counts.sum(axis=-2))


def _recall(counts: Floats) -> Floats:
    return divide_or_zero(_correct(counts), counts.sum(axis=-1))


def _f1(counts: Floats) -> Floats:
    return divide_or_zero(2 * _correct(counts), counts.sum(axis=-1) + counts.sum(axis=-2))


def _average_score(
    score: Callable[[Floats], Floats], average: Callable[[Floats, Floats], Floats], counts: Floats
) -> Floats:
    return average(score(counts), counts)


def _macro(values: Floats, counts: Floats) -> Floats:
    """Return the mean over the classes that occur or are predicted."""
    occurs = (counts.sum(axis=-1) > 0) | (counts.sum(axis=-2) > 0)
    return np.where(occurs, values, 0.0).sum(axis=-1) / occurs.sum(axis=-1)


def _weighted(values: Floats, counts: Floats) -> Floats:
    true = counts.sum(axis=-1)
    return (values * true).sum(axis=-1) / true.sum(axis=-1)


def _r2(task: CVTask, squares: Floats) -> Floats:
    total = np.empty(len(task.folds))
    for f, fold in enumerate(task.folds):
        if len(fold.test) < 2:
            raise DataError(
                f"R2 is undefined for the 1 test row of fold {f + 1} of {len(task.folds)}; use fewer folds, or "
                "scoring='neg_mean_squared_error'."
            )
        y, weight = task.target[fold.test].astype(np.float64), task.weight_or_ones[fold.test]
        total[f] = weight @ (y - np.average(y, weights=weight)) ** 2
    # scikit-learn's convention for a constant test target: 1 for predictions without error, else 0.
    constant = np.where(squares == 0, 1.0, 0.0)
    return np.where(total > 0, 1 - squares / np.where(total > 0, total, 1.0), constant)


def _neg_mean_squared_error(task: CVTask, squares: Floats) -> Floats:
    return -squares / np.array([task.weight_or_ones[fold.test].sum() for fold in task.folds])


def _neg_root_mean_squared_error(task: CVTask, squares: Floats) -> Floats:
    return -np.sqrt(-_neg_mean_squared_error(task, squares))


_CONFUSION_SCORES: dict[str, Callable[[Floats], Floats]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
}
# Scores of every class, and their averages.
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
