"""Fold backend for scikit-learn's LinearDiscriminantAnalysis, from column products within classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.fixes import parse_version

from tamiz.arrays import Floats, Indices, Masks
from tamiz.kernels import CandidateArrays, read_only
from tamiz.kernels.linear_models import DiscriminantFolds, discriminant_confusion
from tamiz.models.base import CVTask, candidate_arrays
from tamiz.models.design_matrix import MatrixEncoder
from tamiz.models.gram import FoldProducts, FoldRange, ProductBackend, column_scale
from tamiz.models.score_functions import count_in_passes, count_predictions
from tamiz.statistics.base import Block
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
        if self.task.reads_in_passes:
            return self._count_in_passes(candidates)
        n_classes = len(self.task.classes)
        pairs = max(1, _TERMS_PER_THREAD * len(self.task.folds) // (len(self.task.test_rows) * (n_classes - 1)))
        found, unsure = self.sum_over_folds(
            candidates, self._fill_counts, (n_classes, n_classes), min(pairs, _PAIRS_PER_THREAD)
        )

        def count(first: int, stop: int, counts: Floats, doubtful: Masks) -> None:
            counts[first:stop], doubtful[first:stop] = found[first:stop], unsure[first:stop]

        return count_predictions(self, candidates, count)

    def _count_in_passes(self, candidates: Candidates) -> Floats:
        task, encoder = self.task, self.task.encoder
        columns = np.flatnonzero(candidates.masks().any(axis=0))
        at = encoder.coordinates_of(columns)
        arrays, (centres, units) = self._all_folds.arrays, self._units
        square = np.ix_(np.arange(len(task.folds)), at, at)
        part = arrays._replace(gram=arrays.gram[square], centres=arrays.centres[:, :, at])
        part = part._replace(largest_centred=part.largest_centred[:, at], largest_raw=part.largest_raw[:, at])
        small = encoder.for_columns(columns)
        sets = candidate_arrays(small.to_coordinates(candidates))
        predict = _RowPredictor(part, centres[:, at], units[:, at], small, sets, float(task.estimator.tol))
        return count_in_passes(self, candidates, columns, predict)

    def _fill_counts(
        self,
        arrays: DiscriminantFolds,
        sets: CandidateArrays,
        span: tuple[int, int],
        counts: Floats,
        doubtful: Masks,
    ) -> None:
        discriminant_confusion(arrays, float(self.task.estimator.tol), sets, *span, counts, doubtful)

    def read_folds(self, first: int, stop: int) -> FoldRange[DiscriminantFolds]:
        """Compute the products, centres and test rows of some folds."""
        task = self.task
        n, width, n_classes = stop - first, task.encoder.n_coordinates, len(task.classes)
        gram, centres = np.empty((n, width, width)), np.zeros((n, n_classes, width))
        max_deviation, max_abs = np.empty((2, n, width))
        shares, max_rank = np.zeros((n, n_classes)), np.empty(n, dtype=np.int64)
        self._units = np.empty((2, n, width))
        tested: list[tuple[Floats, Floats]] = []
        bounds = np.zeros((n, n_classes + 1), dtype=np.int64)
        done = 0
        # A NaN, or a value that is too large to be squared, makes the sum NaN or infinite: the refit then reports it.
        with np.errstate(invalid="ignore", over="ignore"):
            for f, (train, test, rows) in enumerate(self._fold_products.iter_folds(first, stop)):
                fold = task.folds[first + f]
                here = train.class_weight > 0
                shares[f, here] = train.class_weight[here] / train.class_weight.sum()
                centre = shares[f] @ train.mean
                if task.estimator.priors is not None:
                    shares[f, here] = task.estimator.priors
                scale = column_scale(train.scatter.diagonal())
                gram[f] = train.scatter / np.outer(scale, scale)
                # scikit-learn's solver divides by the number of rows, before version 1.9 less the number of classes.
                units = scale / np.sqrt(train.class_weight.sum() - _CLASS_FREEDOM * here.sum())
                centres[f, here] = (train.mean[here] - centre) / units
                max_deviation[f] = np.maximum(np.abs(test.lowest - centre), np.abs(test.highest - centre)) / units
                max_abs[f] = np.maximum(train.max_abs, test.max_abs) / units
                max_rank[f] = len(fold.train) - here.sum()
                self._units[:, f] = centre, units
                at = fold.test[: len(rows)]
                order, bounds[f] = _sort_by_class(task.codes[at], n_classes, done)
                tested.append((((rows - centre) / units)[order].T, task.weight_or_ones[at][order]))
                done += len(rows)
        stored = [np.ascontiguousarray(np.concatenate(one, axis=-1)) for one in zip(*tested, strict=True)]
        arrays = (gram, centres, shares, max_deviation, max_abs, max_rank, *stored, bounds)
        return FoldRange(first, stop, DiscriminantFolds(*map(read_only, arrays)))


def _sort_by_class(codes: NDArray[np.int64], n_classes: int, start: int) -> tuple[Indices, NDArray[np.int64]]:
    """Return the order of rows by class, and where each class then begins, from `start` on."""
    order = np.argsort(codes, kind="stable")
    return order, start + np.searchsorted(codes[order], np.arange(n_classes + 1))


@dataclass(frozen=True)
class _RowPredictor:
    """Predicts the test rows of a block, on a worker too (`tamiz.models.fold_sums.Predict`).

    Attributes
    ----------
    arrays : DiscriminantFolds
        Of all folds, without test rows.
    centres, units : ndarray of shape (n_folds, n_coordinates)
    encoder : MatrixEncoder
    sets : CandidateArrays
        Of coordinates.
    tolerance : float
    """

    arrays: DiscriminantFolds
    centres: Floats
    units: Floats
    encoder: MatrixEncoder
    sets: CandidateArrays
    tolerance: float

    def __call__(
        self,
        block: Block,
        test_rows: list[Indices],
        codes: NDArray[np.int64],
        counts: Floats,
        doubtful: Masks,
    ) -> None:
        values, weights = self.encoder.values(block), block.weight_or_ones
        tested, bounds, done = [], np.empty((len(test_rows), counts.shape[-1] + 1), dtype=np.int64), 0
        for fold, rows in enumerate(test_rows):
            order, bounds[fold] = _sort_by_class(codes[rows], counts.shape[-1], done)
            left = (self.encoder.encode(values[rows[order]], fold) - self.centres[fold]) / self.units[fold]
            tested.append((left.T, weights[rows[order]]))
            done += len(rows)
        stored = [np.concatenate(one, axis=-1) for one in zip(*tested, strict=True)]
        arrays = (np.ascontiguousarray(one) for one in (*self.arrays[:-3], *stored, bounds))
        sets = CandidateArrays(*map(read_only, self.sets))
        folds = DiscriminantFolds(*map(read_only, arrays))
        discriminant_confusion(folds, self.tolerance, sets, 0, len(counts), counts, doubtful)


def _are_valid_priors(priors: Any, class_numbers: set[int]) -> bool:
    """Return whether priors are positive, sum to 1, and match the number of training classes of every fold."""
    shares = np.asarray(priors)
    if shares.ndim != 1 or shares.dtype.kind not in "fiu" or class_numbers != {len(shares)}:
        return False
    return bool((shares > 0).all() and abs(shares.sum() - 1) < _PRIOR_TOLERANCE)
