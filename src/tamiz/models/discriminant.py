"""Fold backend for scikit-learn's LinearDiscriminantAnalysis, from column products within classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.fixes import parse_version

from tamiz.kernels import CandidateArrays, read_only
from tamiz.kernels.linear_models import DiscriminantFolds, discriminant_confusion
from tamiz.models.base import CVTask
from tamiz.models.gram import FoldProducts, FoldRange, ProductBackend, column_scale
from tamiz.models.score_functions import count_predictions
from tamiz.statistics.base import Floats
from tamiz.subsets.candidates import Candidates

# Work per thread: products that are summed, and (set, fold) pairs that are solved. Each takes about half a millisecond.
_TERMS_PER_THREAD = 100_000
_PAIRS_PER_THREAD = 500
_CLASS_FREEDOM = int(parse_version(sklearn.__version__) < parse_version("1.9"))
# The largest rounding error of the sum of the priors.
_PRIOR_TOLERANCE = 1e-12


class LinearDiscriminantBackend(ProductBackend[DiscriminantFolds]):
    """Solves for a set from its rows and columns of the within-class products.

    A refit predicts a fold in which rounding could change a prediction, or whose within-class covariance is nearly singular.
    """

    estimator_class: ClassVar[type] = LinearDiscriminantAnalysis
    method: ClassVar[str] = (
        "products of columns within classes are kept for every fold, and a set is solved from those of its columns"
    )

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        self._fold_products = FoldProducts(task, task.codes, len(task.classes), None, centred=True)

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return which parameter changes the within-class covariance or the priors, or which fold has too few rows."""
        model = task.estimator
        if model.solver != "svd" or model.shrinkage is not None or model.covariance_estimator is not None:
            return "its covariance is not that of solver='svd' without shrinkage"
        if model.n_components is not None:
            return "n_components may not fit every set"
        n_learned = [len(np.unique(task.codes[fold.train])) for fold in task.folds]
        if model.priors is not None and not _are_valid_priors(model.priors, set(n_learned)):
            return "priors are not positive shares of the training classes of every fold that sum to 1"
        if any(len(fold.train) <= n for fold, n in zip(task.folds, n_learned, strict=True)):
            return "a fold has no more training rows than classes"
        return None

    def evaluation_cost(self) -> float:
        """Return the approximate microseconds of solving for a few columns and predicting."""
        return 1.0 + 3.0 * len(self.task.folds) + 5e-3 * len(self.task.test_rows) * (len(self.task.classes) - 1)

    def confusion_counts(self, candidates: Candidates) -> Floats:
        """Return the weights of the test rows by true and predicted class."""
        n_classes = len(self.task.classes)
        pairs = max(1, _TERMS_PER_THREAD * len(self.task.folds) // (len(self.task.test_rows) * (n_classes - 1)))
        found, unsure = self.sum_over_folds(
            candidates, self._fill_counts, (n_classes, n_classes), min(pairs, _PAIRS_PER_THREAD)
        )

        def count(first: int, stop: int, counts: Floats, doubtful: NDArray[np.bool_]) -> None:
            counts[first:stop], doubtful[first:stop] = found[first:stop], unsure[first:stop]

        return count_predictions(self, candidates, count)

    def _fill_counts(
        self,
        arrays: DiscriminantFolds,
        sets: CandidateArrays,
        span: tuple[int, int],
        counts: Floats,
        doubtful: NDArray[np.bool_],
    ) -> None:
        discriminant_confusion(arrays, float(self.task.estimator.tol), sets, *span, counts, doubtful)

    def read_folds(self, first: int, stop: int) -> FoldRange[DiscriminantFolds]:
        """Compute the products, centres and test rows of some folds."""
        task = self.task
        n, width, n_classes = stop - first, task.matrix.n_coordinates, len(task.classes)
        gram, centres = np.empty((n, width, width)), np.zeros((n, n_classes, width))
        max_deviation, max_abs = np.empty((2, n, width))
        shares, max_rank = np.zeros((n, n_classes)), np.empty(n, dtype=np.int64)
        starts = task.test_starts[first : stop + 1] - task.test_starts[first]
        tested, weights = np.empty((width, starts[-1])), np.empty(starts[-1])
        bounds = np.empty((n, n_classes + 1), dtype=np.int64)
        # A NaN, or a value that is too large to be squared, makes the sum NaN or infinite: the refit then reports it.
        with np.errstate(invalid="ignore", over="ignore"):
            for f, (products, rows) in enumerate(self._fold_products.iter_folds(first, stop)):
                fold, begin, end = task.folds[first + f], starts[f], starts[f + 1]
                here = products.class_weight > 0
                shares[f, here] = products.class_weight[here] / products.class_weight.sum()
                centre = shares[f] @ products.mean
                if task.estimator.priors is not None:
                    shares[f, here] = task.estimator.priors
                scale = column_scale(products.scatter.diagonal())
                gram[f] = products.scatter / np.outer(scale, scale)
                # scikit-learn's solver divides by the number of rows, before version 1.9 less the number of classes.
                units = scale / np.sqrt(products.class_weight.sum() - _CLASS_FREEDOM * here.sum())
                centres[f, here] = (products.mean[here] - centre) / units
                left = (rows - centre) / units
                max_deviation[f] = np.abs(left).max(axis=0)
                max_abs[f] = np.maximum(products.max_abs, np.abs(rows).max(axis=0)) / units
                max_rank[f] = len(fold.train) - here.sum()
                order = np.argsort(task.codes[fold.test], kind="stable")
                bounds[f] = begin + np.searchsorted(task.codes[fold.test][order], np.arange(n_classes + 1))
                tested[:, begin:end], weights[begin:end] = left[order].T, task.weight_or_ones[fold.test][order]
        arrays = (gram, centres, shares, max_deviation, max_abs, max_rank, tested, weights, bounds)
        return FoldRange(first, stop, DiscriminantFolds(*map(read_only, arrays)))


def _are_valid_priors(priors: Any, class_numbers: set[int]) -> bool:
    """Return whether priors are positive, sum to 1, and match the number of training classes of every fold."""
    shares = np.asarray(priors)
    if shares.ndim != 1 or shares.dtype.kind not in "fiu" or class_numbers != {len(shares)}:
        return False
    return bool((shares > 0).all() and abs(shares.sum() - 1) < _PRIOR_TOLERANCE)
