"""Linear discriminant analysis without refits."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from tamiz.candidates import Candidates
from tamiz.kernels.factors import discriminant_counts
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import Task
from tamiz.wrappers.counting import counted
from tamiz.wrappers.gram import Reading, column_scale
from tamiz.wrappers.solved import Part, Solved

# Products that one thread adds up, and sets and folds that it solves for, before another is worth waking: half a millisecond or so.
_TERMS = 100_000
_PAIRS = 500
# How far from 1 the sum of priors may be by rounding.
_EXACT = 1e-12


class DiscriminantWay(Solved):
    """Discriminants of a set come of its rows and columns of the columns' products within classes.

    Where rounding would decide a prediction, or the covariance within classes is nearly singular, the refit decides.
    """

    kind: ClassVar[type] = LinearDiscriminantAnalysis
    how: ClassVar[str] = (
        "products of columns within classes are kept for every fold, and a set is solved from those of its columns"
    )

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._reading = Reading(task, task.codes, len(task.classes), None, centred=True)

    @classmethod
    def declines(cls, task: Task) -> str | None:
        """Return why the discriminants are not those of the covariance within classes as it is."""
        model = task.estimator
        if model.solver != "svd" or model.shrinkage is not None or model.covariance_estimator is not None:
            return "its covariance is not the plain one of solver='svd'"
        if model.n_components is not None:
            return "n_components may not fit every set"
        n_learned = [len(np.unique(task.codes[fold.train])) for fold in task.folds]
        if model.priors is not None and not _are_priors(model.priors, set(n_learned)):
            return "priors are not the positive shares, 1 in all, of the classes that every fold learns"
        if any(len(fold.train) <= n for fold, n in zip(task.folds, n_learned, strict=True)):
            return "a fold learns from no more rows than classes"
        return None

    def effort(self) -> float:
        """Return the microseconds or so of solving for a few columns, and of predicting."""
        return 1.0 + 3.0 * len(self.task.folds) + 5e-3 * len(self.task.tested) * (len(self.task.classes) - 1)

    def confusion(self, candidates: Candidates) -> Floats:
        """Return the weights of the tested rows by class and predicted class."""
        n_classes = len(self.task.classes)
        pairs = max(1, _TERMS * len(self.task.folds) // (len(self.task.tested) * (n_classes - 1)))
        found, unsure = self.over_folds(candidates, self._fill, (n_classes, n_classes), min(pairs, _PAIRS))

        def count(first: int, stop: int, counts: Floats, doubtful: NDArray[np.bool_]) -> None:
            counts[first:stop], doubtful[first:stop] = found[first:stop], unsure[first:stop]

        return counted(self, candidates, count)

    def _fill(
        self, part: Part, flips: Candidates, span: tuple[int, int], counts: Floats, doubtful: NDArray[np.bool_]
    ) -> None:
        discriminant_counts(
            *part.arrays,
            float(self.task.estimator.tol),
            flips.parents,
            flips.parent,
            flips.starts,
            flips.flipped,
            *span,
            counts,
            doubtful,
        )

    def part(self, first: int, stop: int) -> Part:
        """Read some folds."""
        task = self.task
        n, width, n_classes = stop - first, task.points.n_coordinates, len(task.classes)
        gram, centres = np.empty((n, width, width)), np.zeros((n, n_classes, width))
        reach, loud = np.empty((2, n, width))
        shares, most = np.zeros((n, n_classes)), np.empty(n, dtype=np.int64)
        starts = task.starts[first : stop + 1] - task.starts[first]
        tested, weights = np.empty((width, starts[-1])), np.empty(starts[-1])
        bounds = np.empty((n, n_classes + 1), dtype=np.int64)
        # A value that is no number, or too large to be squared, makes a sum that is none: the refit then says so.
        with np.errstate(invalid="ignore", over="ignore"):
            for f, (products, rows) in enumerate(self._reading.folds(first, stop)):
                fold, begin, end = task.folds[first + f], starts[f], starts[f + 1]
                here = products.total > 0
                shares[f, here] = products.total[here] / products.total.sum()
                centre = shares[f] @ products.mean
                if task.estimator.priors is not None:
                    shares[f, here] = task.estimator.priors
                scale = column_scale(products.scatter.diagonal())
                gram[f] = products.scatter / np.outer(scale, scale)
                # The solver's covariance divides by the number of rows.
                units = scale / np.sqrt(products.total.sum())
                centres[f, here] = (products.mean[here] - centre) / units
                left = (rows - centre) / units
                reach[f] = np.abs(left).max(axis=0)
                loud[f] = np.maximum(products.largest, np.abs(rows).max(axis=0)) / units
                most[f] = len(fold.train) - here.sum()
                order = np.argsort(task.codes[fold.test], kind="stable")
                bounds[f] = begin + np.searchsorted(task.codes[fold.test][order], np.arange(n_classes + 1))
                tested[:, begin:end], weights[begin:end] = left[order].T, task.weights[fold.test][order]
        return Part(first, stop, (gram, centres, shares, reach, loud, most, tested, weights, bounds))


def _are_priors(priors: Any, learned: set[int]) -> bool:
    """Return whether priors are those of as many classes as every fold learns."""
    shares = np.asarray(priors)
    if shares.ndim != 1 or shares.dtype.kind not in "fiu" or learned != {len(shares)}:
        return False
    return bool((shares > 0).all() and abs(shares.sum() - 1) < _EXACT)
