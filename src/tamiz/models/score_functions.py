"""Scores as functions of sums: of the weights by class and predicted class, or of squared errors.

Each is what scikit-learn's scorer of that name says, for many sets of columns and folds at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tamiz.exceptions import DataError
from tamiz.models.base import ColumnIndices, CVTask, FoldBackend
from tamiz.models.fit_errors import error_context
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats
from tamiz.subsets.candidates import Candidates

# MERGED: Counts of predictions for many sets of columns: in parallel, and beyond doubt.
# Terms that one thread adds up before another is worth waking: half a millisecond or so.
_TERMS_PER_THREAD = 1_000_000

# count(first, stop, counts, doubtful) fills the counts of the candidates first .. stop, and which of them rounding may decide.
CountFunction = Callable[[int, int, Floats, NDArray[np.bool_]], None]


def count_predictions(backend: FoldBackend, candidates: Candidates, fill_counts: CountFunction) -> Floats:
    """Return the weights of tested rows by class and predicted class, of shape (n_candidates, n_folds, n_classes, n_classes).

    A fold of a candidate in which two classes are as near to each other as rounding is predicted by a refit: what rounding decides
    is decided as the refit decides it, whatever order terms are added in.
    """
    task = backend.task
    n_folds, n_classes = len(task.folds), len(task.classes)
    counts = np.zeros((len(candidates), n_folds, n_classes, n_classes))
    doubtful = np.zeros((len(candidates), n_folds), dtype=bool)
    size = max(1, _TERMS_PER_THREAD // (len(task.test_rows) * n_classes))

    def work(span: tuple[int, int]) -> None:
        fill_counts(*span, counts, doubtful)

    for _ in parallel.map_blocks(work, parallel.block_ranges(len(candidates), size)):
        pass
    if doubtful.any():
        masks = candidates.masks()
        refits = [(np.flatnonzero(masks[c]), fold) for c, fold in np.argwhere(doubtful).tolist()]
        counts[doubtful] = list(parallel.map_blocks(lambda item: _refit_counts(backend, *item), refits))
    return counts


def _refit_counts(backend: FoldBackend, columns: ColumnIndices, fold: int) -> Floats:
    task = backend.task
    rows = task.folds[fold].test
    with task.fit_warnings.record_fit(), error_context(task, columns, fold, task.label):
        fitted = backend.fit_fold(columns, fold)
        predicted = np.searchsorted(task.classes, fitted.estimator.predict(fitted.test_rows))
    counts = np.zeros((len(task.classes), len(task.classes)))
    np.add.at(counts, (task.codes[rows], predicted), task.weight_or_ones[rows])
    return counts


def baseline_confusion(task: CVTask) -> Floats:
    """Return the weights of the tested rows by class and predicted class: the most frequent one, the first of equals."""
    n = len(task.classes)
    counts = np.zeros((len(task.folds), n, n))
    for f, fold in enumerate(task.folds):
        shares = np.bincount(task.codes[fold.train], task.weight_or_ones[fold.train], n)
        counts[f, :, int(shares.argmax())] = np.bincount(task.codes[fold.test], task.weight_or_ones[fold.test], n)
    return counts


def baseline_squared_errors(task: CVTask) -> Floats:
    """Return the weighted sum of the tested rows' squared errors where the mean is predicted, a number a fold."""
    squares = np.empty(len(task.folds))
    for f, fold in enumerate(task.folds):
        mean = np.average(task.target[fold.train], weights=task.weight_or_ones[fold.train])
        squares[f] = task.weight_or_ones[fold.test] @ (task.target[fold.test] - mean) ** 2
    return squares


# MERGED: Scores of probabilities from logarithms of joint likelihoods: log loss, and the area under a ROC curve.
# MERGED:
# MERGED: Each is what scikit-learn's scorer says of a refit, and None where only the refit can tell: where two rows of different classes have
# MERGED: probabilities as near to each other as rounding, their order is that of the last bits.
_EPS = float(np.finfo(np.float64).eps)
# Units in the last place that a likelihood may be off by: rows are some standard deviations from a mean, means up to a hundred from
# 0, and there are as many terms as columns.
_MAX_ROUNDINGS = 1024
# What they are off by on average, and what a loss may be off by, in proportion.
_MEAN_ROUNDINGS, _LOSS_TOLERANCE = 32, 1e-10

# score(way, columns, fold): None where a refit is to be asked.
LikelihoodScore = Callable[[FoldBackend, ColumnIndices, int], float | None]


def likelihood_scorer(task: CVTask) -> LikelihoodScore | None:
    """Return the score of the task as a function of joint likelihoods, None where it is none."""
    if not task.scoring.is_sklearn or not task.has_classes or task.is_multioutput:
        return None
    return _LIKELIHOOD_SCORES.get(task.scoring.name)


def _log_loss(backend: FoldBackend, columns: ColumnIndices, fold: int) -> float | None:
    task = backend.task
    part = task.folds[fold]
    codes, weight = task.codes[part.test], task.weight_or_ones[part.test]
    learned = np.unique(task.codes[part.train])
    # Of a class that is not tested, or was not learned, scikit-learn has a sentence of its own.
    if not np.array_equal(np.unique(codes), learned):
        return None
    joint = backend.joint_log_likelihood(columns, fold)
    if joint is None or _has_no_likelihood(joint):
        return None
    chances = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    noise = _EPS * (1 + np.abs(joint).max(axis=1))
    if len(learned) == 2:
        # Of two classes scikit-learn takes the second one's probability, and what it lacks to 1 as the other's: with its rounding.
        chances[:, 0] = 1 - chances[:, 1]
    own = np.clip(chances[np.arange(len(codes)), np.searchsorted(learned, codes)], _EPS, 1 - _EPS)
    if len(learned) == 2:
        noise *= np.where(codes == learned[0], chances[:, 1] / own, 1.0)
    score = float(np.average(np.log(own), weights=weight))
    # A loss of almost nothing is rounding itself.
    return score if float(np.average(noise, weights=weight)) * _MEAN_ROUNDINGS <= _LOSS_TOLERANCE * abs(score) else None


def _roc_auc(backend: FoldBackend, columns: ColumnIndices, fold: int) -> float | None:
    task = backend.task
    part = task.folds[fold]
    positive, weight = task.codes[part.test] == 1, task.weight_or_ones[part.test]
    if len(task.classes) != 2 or positive.all() or not positive.any():
        return None
    joint = backend.joint_log_likelihood(columns, fold)
    if joint is None or joint.shape[1] != 2 or _has_no_likelihood(joint):
        return None
    total = logsumexp(joint, axis=1)
    chance = np.exp(joint[:, 1] - total)
    noise = _MAX_ROUNDINGS * _EPS * chance * (1 + np.abs(joint).max(axis=1))
    return _roc_area(chance, noise, positive, weight, lambda rows: backend.test_values(columns, fold)[rows])


def _has_no_likelihood(joint: Floats) -> bool:
    """Whether a row is so far from every class that no likelihood is a number: what is made of that is the estimator's."""
    return not bool(np.isfinite(joint.max(axis=1)).all())


def _roc_area(
    probability: Floats,
    noise: Floats,
    positive: NDArray[np.bool_],
    weight: Floats,
    values: Callable[[NDArray[np.intp]], Floats],
) -> float | None:
    """Return the area under the curve; None where rows of both classes are within rounding, and are not the same row twice."""
    order = np.argsort(probability, kind="stable")
    probability, noise, positive, weight = probability[order], noise[order], positive[order], weight[order]
    near = np.diff(probability) <= noise[1:] + noise[:-1]
    group = np.concatenate([[0], np.cumsum(~near)])
    n = int(group[-1]) + 1
    above = np.bincount(group, weight * positive, n)
    below = np.bincount(group, weight * ~positive, n)
    mixed = np.flatnonzero((above > 0) & (below > 0))
    if len(mixed):
        inside = np.isin(group, mixed)
        rows = values(order[inside])
        same = (np.diff(rows, axis=0) == 0).all(axis=1) | (np.diff(group[inside]) > 0)
        # Equal rows have equal probabilities; other rows have an order that only the refit knows.
        if not same.all():
            return None
    earlier = np.concatenate([[0.0], np.cumsum(below)[:-1]])
    return float((above * (earlier + below / 2)).sum() / (above.sum() * below.sum()))


_LIKELIHOOD_SCORES: dict[str, LikelihoodScore] = {"neg_log_loss": _log_loss, "roc_auc": _roc_auc}


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
