"""Counts of predictions for many sets of columns: in parallel, and beyond doubt."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.candidates import Candidates
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import ColumnIndices, CVTask, FoldBackend
from tamiz.wrappers.failures import error_context

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
