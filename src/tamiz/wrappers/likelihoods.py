"""Scores of probabilities from logarithms of joint likelihoods: log loss, and the area under a ROC curve.

Each is what scikit-learn's scorer says of a refit, and None where only the refit can tell: where two rows of different classes have
probabilities as near to each other as rounding, their order is that of the last bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tamiz.statistics.base import Floats
from tamiz.wrappers.base import ColumnIndices, CVTask, FoldBackend

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
