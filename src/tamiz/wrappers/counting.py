"""Counts of predictions for many sets of columns: in parallel, and beyond doubt."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.candidates import Candidates
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import Columns, Task, Way
from tamiz.wrappers.failures import named

# Terms that one thread adds up before another is worth waking: half a millisecond or so.
_TERMS = 1_000_000

# count(first, stop, counts, doubtful) fills the counts of the candidates first .. stop, and which of them rounding may decide.
Count = Callable[[int, int, Floats, NDArray[np.bool_]], None]


def counted(way: Way, candidates: Candidates, count: Count) -> Floats:
    """Return the weights of tested rows by class and predicted class, of shape (n_candidates, n_folds, n_classes, n_classes).

    A fold of a candidate in which two classes are as near to each other as rounding is predicted by a refit: what rounding decides
    is decided as the refit decides it, whatever order terms are added in.
    """
    task = way.task
    n_folds, n_classes = len(task.folds), len(task.classes)
    counts = np.zeros((len(candidates), n_folds, n_classes, n_classes))
    doubtful = np.zeros((len(candidates), n_folds), dtype=bool)
    size = max(1, _TERMS // (len(task.tested) * n_classes))

    def work(span: tuple[int, int]) -> None:
        count(*span, counts, doubtful)

    for _ in parallel.map_blocks(work, parallel.spans(len(candidates), size)):
        pass
    if doubtful.any():
        masks = candidates.masks()
        refits = [(np.flatnonzero(masks[c]), fold) for c, fold in np.argwhere(doubtful).tolist()]
        counts[doubtful] = list(parallel.map_blocks(lambda item: _refitted(way, *item), refits))
    return counts


def _refitted(way: Way, columns: Columns, fold: int) -> Floats:
    task = way.task
    rows = task.folds[fold].test
    with task.warned.refit(), named(task, columns, fold, task.label):
        fitted = way.fitted(columns, fold)
        predicted = np.searchsorted(task.classes, fitted.estimator.predict(fitted.rows))
    counts = np.zeros((len(task.classes), len(task.classes)))
    np.add.at(counts, (task.codes[rows], predicted), task.weights[rows])
    return counts


def counts_of_no_column(task: Task) -> Floats:
    """Return the weights of the tested rows by class and predicted class: the most frequent one, the first of equals."""
    n = len(task.classes)
    counts = np.zeros((len(task.folds), n, n))
    for f, fold in enumerate(task.folds):
        shares = np.bincount(task.codes[fold.train], task.weights[fold.train], n)
        counts[f, :, int(shares.argmax())] = np.bincount(task.codes[fold.test], task.weights[fold.test], n)
    return counts


def squares_of_no_column(task: Task) -> Floats:
    """Return the weighted sum of the tested rows' squared errors where the mean is predicted, a number a fold."""
    squares = np.empty(len(task.folds))
    for f, fold in enumerate(task.folds):
        mean = np.average(task.labels[fold.train], weights=task.weights[fold.train])
        squares[f] = task.weights[fold.test] @ (task.labels[fold.test] - mean) ** 2
    return squares
