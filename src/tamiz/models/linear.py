"""Fold backends for linear least squares, ridge regression and linear discriminant analysis, from products of columns.

The products (Gram matrices) of the training rows of every fold are kept; a kernel factorises those of the columns of a set. Where
every row is tested once, the products of a fold's training rows are merged from those of the other folds, so that each row is read
once.

`SweepOperators` serve ridge regression on additions to one large parent set, as in a forward search. A factor of s coordinates
needs s^3 / 3 operations for every candidate and fold, and indicators that sum to a constant widen its error bound so far that
refits have to decide. After the coordinates of the parent are swept out of the products of all p coordinates, a candidate that adds
b coordinates needs b^3 operations, and a step of a forward search p^2 b. A forward search for 15 of 73 columns with 290 coordinates
(the Ames housing table) takes 2.6 s instead of 22 s.

With J the added coordinates, G the penalised products of the training rows, c their products with the target, and E, r, q the
products of the residuals of the test columns and test target after the parent:

    gamma = G_JJ^-1 c_J                                the coefficients of J beside those of the parent
    error = q - 2 gamma' r_J + gamma' E_JJ gamma       the squared error of the test rows

Source: Goodnight (1979), A tutorial on the SWEEP operator, The American Statistician 33.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.utils.fixes import parse_version

from tamiz.arrays import Floats, Indices, Masks
from tamiz.kernels import CandidateArrays, read_only
from tamiz.kernels.linear_models import (
    DiscriminantFolds,
    LeastSquaresFolds,
    discriminant_confusion,
    linear_squared_errors,
)
from tamiz.models.backends import (
    CountsPredictions,
    MatrixBackend,
    SharesProducts,
    SumsErrors,
    candidate_arrays,
    count_in_passes,
    refit_doubtful,
)
from tamiz.models.design_matrix import ColumnProducts, DesignEncoder, FoldProductSums, leave_one_out
from tamiz.models.folds import Fold
from tamiz.models.task import CVTask
from tamiz.runtime import parallel
from tamiz.search.base import Candidates
from tamiz.statistics.base import Block

CoordinateIndices = NDArray[np.integer]

# Folds whose products need more memory are processed in ranges.
_MAX_PRODUCT_BYTES = 2**28
# Square matrices per fold while the products are computed.
_MATRICES_PER_FOLD = 4
# For smaller parents the kernel that factorises every set is as fast, and its bits depend on the set alone.
MIN_SWEPT_COORDINATES = 32
# The smallest pivot, relative to the sum of squares of a coordinate: below it rounding may decide.
_MIN_PIVOT = 1e-6
# The smallest squared error, relative to the sum of squares of the test target: below it too much has cancelled.
_MIN_RESIDUAL_SHARE = 1e-6
# Work per thread: (set, fold) pairs that are solved, and products that are summed. Each takes about half a millisecond.
_PAIRS_PER_THREAD = 500
_TERMS_PER_THREAD = 100_000
# Test rows per fold from which on the products of columns are faster than the rows.
_MANY_ROWS = 64
# Solvers of Ridge that are not iterative.
_DIRECT_SOLVERS = ("auto", "cholesky", "svd")
_CLASS_FREEDOM = int(parse_version(sklearn.__version__) < parse_version("1.9"))
# The largest rounding error of the sum of the priors.
_PRIOR_TOLERANCE = 1e-12


class ProductBackend(MatrixBackend):
    """Keeps the products of columns of every fold, and solves a set from its rows and columns of them.

    Products are about the means in classes; a target is appended as the last columns.
    """

    def __init__(
        self, task: CVTask, codes: NDArray[np.int64], n_classes: int, target: Floats | None, *, centred: bool
    ) -> None:
        super().__init__(task)
        self._codes, self._n_classes, self._target, self._centred = codes, n_classes, target, centred

    @abstractmethod
    def read_folds(self, first: int, stop: int) -> Any:
        """Return the record of arrays of some folds that the kernel reads."""

    def max_bytes(self) -> float:
        """Return the bytes of the products and rows of one range of folds."""
        first, stop = self._fold_ranges[0]
        width = self.task.encoder.n_coordinates
        n_rows = sum(len(fold.test) for fold in self.task.folds[first:stop])
        return 8.0 * width * (_MATRICES_PER_FOLD * (stop - first) * width + 2 * n_rows)

    @cached_property
    def _fold_ranges(self) -> list[tuple[int, int]]:
        if self.task.reads_in_passes:
            return [(0, len(self.task.folds))]
        matrix = 8 * (self.task.encoder.n_coordinates + 1) ** 2
        return parallel.block_ranges(len(self.task.folds), max(1, _MAX_PRODUCT_BYTES // (_MATRICES_PER_FOLD * matrix)))

    @cached_property
    def _all_folds(self) -> Any:
        return self.read_folds(*self._fold_ranges[0])

    def sum_over_folds(
        self,
        candidates: Candidates,
        fill: Callable[[Any, CandidateArrays, tuple[int, int], Floats, Masks], None],
        shape: tuple[int, ...],
        n_pairs: int,
        doubtful_shape: tuple[int, ...] = (),
    ) -> tuple[Floats, Masks]:
        """Return sums of a shape for every candidate and fold, and which of them need a refit because of rounding.

        `fill` fills the sums of a range of candidates, for the folds of some arrays; a thread gets about `n_pairs` (candidate,
        fold) pairs. `doubtful_shape` is the shape of the parts of a sum that are refitted one by one. All folds are kept if they
        fit in memory; else ranges of folds are computed again at every call.
        """
        sets = candidate_arrays(self.task.encoder.to_coordinates(candidates))
        m, n_folds = len(candidates), len(self.task.folds)
        sums, doubtful = np.zeros((m, n_folds, *shape)), np.ones((m, n_folds, *doubtful_shape), dtype=bool)
        for first, stop in self._fold_ranges:
            arrays = self._all_folds if len(self._fold_ranges) == 1 else self.read_folds(first, stop)
            found, unsure = np.zeros((m, stop - first, *shape)), np.ones((m, stop - first, *doubtful_shape), dtype=bool)

            def work(span: tuple[int, int], arrays: Any = arrays, out: tuple[Floats, Masks] = (found, unsure)) -> None:
                fill(arrays, sets, span, *out)

            parallel.run_blocks(work, parallel.block_ranges(m, max(1, n_pairs // (stop - first))))
            sums[:, first:stop], doubtful[:, first:stop] = found, unsure
        return sums, doubtful

    def _iter_folds(self, first: int, stop: int) -> Iterator[tuple[ColumnProducts, ColumnProducts, Floats]]:
        """Yield the products of the training rows and of the test rows of some folds, and their test rows.

        A task that reads its table in passes has no test rows.
        """
        task, folds = self.task, self.task.folds
        if task.reads_in_passes:
            none = np.empty((0, task.encoder.n_coordinates + (0 if self._target is None else self._target.shape[1])))
            yield from ((self._sums.train[f], self._sums.test[f], none) for f in range(first, stop))
            return
        if task.is_encoded or not _is_partition(folds, len(task.target)):
            for fold in folds[first:stop]:
                rows = self._with_target(task.matrix.train_rows(fold), fold.train)
                own = self._test_rows(fold)
                yield self._products(rows, fold.train), self._products(own, fold.test), own
            return
        # The training rows of a fold are the test rows of the others: each row is read once.
        outside = [fold for f, fold in enumerate(folds) if not first <= f < stop]
        outside_products = None
        if outside:
            rows = np.concatenate([self._test_rows(fold) for fold in outside])
            outside_products = self._products(rows, np.concatenate([fold.test for fold in outside]))
        tested = [self._test_rows(fold) for fold in folds[first:stop]]
        inside = [self._products(rows, fold.test) for rows, fold in zip(tested, folds[first:stop], strict=True)]
        yield from zip(leave_one_out(inside, outside_products), inside, tested, strict=True)

    @cached_property
    def _sums(self) -> FoldProductSums:
        """The products of all folds, from one pass over the table."""
        task = self.task
        targets = () if self._target is None else np.ascontiguousarray(self._target.T)
        roles = task.row_roles.with_values(task.table, (self._codes, *targets))
        (sums,) = task.table.reduce(FoldProductSums(task.encoder, roles, self._n_classes, centred=self._centred))
        return sums

    def _test_rows(self, fold: Fold) -> Floats:
        return self._with_target(self.task.matrix.test_rows(fold), fold.test)

    def _products(self, values: Floats, rows: Indices) -> ColumnProducts:
        codes, weights = self._codes[rows], self.task.weight_or_ones[rows]
        return ColumnProducts.from_rows(values, codes, weights, self._n_classes, centred=self._centred)

    def _with_target(self, values: Floats, rows: Indices) -> Floats:
        return values if self._target is None else np.column_stack([values, self._target[rows]])


def _is_partition(folds: Sequence[Fold], n_rows: int) -> bool:
    """Return whether every row is tested once, and is a training row of every other fold."""
    tested = np.concatenate([fold.test for fold in folds])
    if len(tested) != n_rows or len(np.unique(tested)) != n_rows:
        return False
    # With as many rows as the complement, ascending and none of them tested, the training rows are the complement.
    return all(
        len(fold.train) == n_rows - len(fold.test)
        and (np.diff(fold.train) > 0).all()
        and not np.isin(fold.train, fold.test).any()
        for fold in folds
    )


def _column_scale(squares: Floats) -> Floats:
    """Return the square roots of sums of squares, 1 for a column of zeros."""
    return np.where(squares > 0, np.sqrt(np.maximum(squares, 0.0)), 1.0)


@dataclass
class _SweptFold:
    """The products of one fold, with the coordinates of a parent swept out."""

    gram: Floats
    cross: Floats
    residual_products: Floats
    residual_cross: Floats
    error: float

    @classmethod
    def of(cls, gram: Floats, cross: Floats, form: Floats) -> _SweptFold:
        return cls(gram.copy(), cross.copy(), form[:-1, :-1].copy(), form[-1, :-1].copy(), float(form[-1, -1]))

    def sweep(self, added: CoordinateIndices) -> None:
        own, rows = self.gram[np.ix_(added, added)], self.gram[added]
        slopes = np.linalg.solve(own, rows)
        gamma = np.linalg.solve(own, self.cross[added])
        inner = self.residual_products[np.ix_(added, added)]
        between = self.residual_products[added]
        self.error += float(gamma @ inner @ gamma - 2 * gamma @ self.residual_cross[added])
        self.residual_cross = (
            self.residual_cross - slopes.T @ self.residual_cross[added] - gamma @ between + (gamma @ inner) @ slopes
        )
        mixed = between.T @ slopes
        self.residual_products = self.residual_products - mixed - mixed.T + slopes.T @ inner @ slopes
        self.cross = self.cross - slopes.T @ self.cross[added]
        self.gram = self.gram - rows.T @ slopes

    def errors(self, blocks: NDArray[np.integer]) -> Floats:
        """Return the squared errors after adding each of some blocks of equal width, NaN where rounding may matter."""
        own = self.gram[blocks[:, :, None], blocks[:, None, :]]
        cross, left_cross = self.cross[blocks], self.residual_cross[blocks]
        # The share of each coordinate that the parent and the rest of its block do not explain.
        pivots = np.array([_smallest_pivot(one) for one in own]) if blocks.shape[1] > 1 else own[:, 0, 0]
        is_regular = pivots > _MIN_PIVOT
        own[~is_regular] = np.eye(blocks.shape[1])
        gamma = np.linalg.solve(own, cross[:, :, None])[:, :, 0]
        inner = self.residual_products[blocks[:, :, None], blocks[:, None, :]]
        change = np.einsum("ma,mab,mb->m", gamma, inner, gamma) - 2 * np.einsum("ma,ma->m", gamma, left_cross)
        return np.where(is_regular, self.error + change, np.nan)


class SweepOperators:
    """The products of every fold (gram, cross, and tested_gram of `LeastSquaresFolds`), swept by the latest candidates' parent."""

    def __init__(self, gram: Floats, cross: Floats, form: Floats) -> None:
        self._initial_products = (gram, cross, form)
        self._parent: Masks | None = None
        self._folds: list[_SweptFold] = []

    def squared_errors(self, candidates: Candidates) -> Floats | None:
        """Return the squared errors of shape (n_candidates, n_folds), NaN where a factorisation is needed; None if unsupported.

        Supported are sets of coordinates that add to one parent of at least `MIN_SWEPT_COORDINATES`.
        """
        if len(candidates.parents) != 1 or not len(candidates) or not candidates.starts[-1]:
            return None
        parent = candidates.parents[0]
        if parent.sum() < MIN_SWEPT_COORDINATES or parent[candidates.flipped].any():
            return None
        self._sweep_to(parent)
        squares = np.full((len(candidates), len(self._folds)), np.nan)
        for where, blocks in candidates.flips_by_width(0):
            if blocks.shape[1]:
                for f, fold in enumerate(self._folds):
                    squares[where, f] = fold.errors(blocks)
        total = self._initial_products[2][:, -1, -1]
        squares[~(squares > _MIN_RESIDUAL_SHARE * total)] = np.nan
        return squares

    def _sweep_to(self, parent: Masks) -> None:
        """Sweep the products by a parent, starting from the latest parent if it is a subset of this one."""
        if self._parent is None or (self._parent & ~parent).any():
            self._parent = np.zeros_like(parent)
            self._folds = [_SweptFold.of(*arrays) for arrays in zip(*self._initial_products, strict=True)]
        added = np.flatnonzero(parent & ~self._parent)
        if len(added):
            for fold in self._folds:
                fold.sweep(added)
            self._parent = parent.copy()


def _smallest_pivot(matrix: Floats) -> float:
    """Return the smallest pivot of a symmetric matrix, 0 if it has no Cholesky factor."""
    try:
        return float((np.linalg.cholesky(matrix).diagonal() ** 2).min())
    except np.linalg.LinAlgError:
        return 0.0


class _LeastSquaresBackend(ProductBackend, SumsErrors, SharesProducts):
    """Sums of squared errors from Gram matrices.

    Products of the columns are the same for all targets: where several backends share them, the leader computes those of all, and
    the others ask it for the same candidates.
    """

    method: ClassVar[str] = "products of columns are kept for every fold, and a set is solved from those of its columns"

    def __init__(
        self, task: CVTask, *, penalty: float = 0.0, rank_tolerance: float = 0.0, rounds_by_norm: bool = True
    ) -> None:
        no_class = np.zeros(len(task.target), dtype=np.int64)
        super().__init__(task, no_class, 1, task.target[:, None], centred=bool(task.estimator.fit_intercept))
        # What is added to the diagonal of the Gram matrix, the relative singular value below which the refit drops a direction
        # (0 if it drops none), and whether the rounding error of the refit scales with its largest columns.
        self._penalty, self._rank_tolerance, self._rounds_by_norm = penalty, rank_tolerance, rounds_by_norm
        self._leader, self._number = self, 0
        self._latest: tuple[Candidates, Floats, Masks] | None = None

    def share_products(self, others: Sequence[_LeastSquaresBackend]) -> None:
        for number, other in enumerate(others, start=1):
            other._leader, other._number = self, number
        self._target = np.column_stack([one.task.target for one in (self, *others)])

    def max_bytes(self) -> float:
        """Return the bytes of the products and rows; none if another backend computes them."""
        return super().max_bytes() if self._leader is self else 0.0

    def evaluation_cost(self) -> float:
        """Return the approximate microseconds of solving for a few columns."""
        return 1.0 + 2.0 * len(self.task.folds)

    def squared_errors(self, candidates: Candidates) -> Floats:
        swept = self._swept_errors(candidates)
        if swept is None:
            squares, doubtful = self._solved_errors(candidates)
        else:
            squares, doubtful = swept, np.isnan(swept)
            if (unsure := np.flatnonzero(doubtful.any(axis=1))).size:
                squares[unsure], doubtful[unsure] = self._solved_errors(candidates[unsure])
        return refit_doubtful(self, candidates, squares, doubtful)

    def _swept_errors(self, candidates: Candidates) -> Floats | None:
        """Return the squared errors from sweep operators, None if they do not apply."""
        if self._sweep_operators is None:
            return None
        return self._sweep_operators.squared_errors(self.task.encoder.to_coordinates(candidates))

    def _solved_errors(self, candidates: Candidates) -> tuple[Floats, Masks]:
        """Return the squared errors from factorisations, and which of them need a refit."""
        leader = self._leader
        if leader._latest is None or leader._latest[0] is not candidates:
            assert leader._target is not None
            shape = leader._target.shape[1:]
            found = leader.sum_over_folds(candidates, leader._fill_squares, shape, _PAIRS_PER_THREAD, shape)
            leader._latest = (candidates, *found)
        _, squares, doubtful = leader._latest
        return squares[:, :, self._number].copy(), doubtful[:, :, self._number]

    @cached_property
    def _sweep_operators(self) -> SweepOperators | None:
        """Sweep operators of all folds; None without a penalty, with few rows, or if the products do not fit in memory."""
        if not self._penalty or len(self._fold_ranges) > 1 or self.task.encoder.n_coordinates <= MIN_SWEPT_COORDINATES:
            return None
        arrays: LeastSquaresFolds = self._leader._all_folds
        width = self.task.encoder.n_coordinates
        own = [*range(width), width + self._number]
        gram, form = arrays.gram, arrays.tested_gram[:, own][:, :, own]
        is_finite = len(form) and np.isfinite(gram).all() and np.isfinite(form).all()
        return SweepOperators(gram, arrays.cross[:, self._number], form) if is_finite else None

    def _fill_squares(
        self, arrays: LeastSquaresFolds, sets: CandidateArrays, span: tuple[int, int], squares: Floats, doubtful: Masks
    ) -> None:
        linear_squared_errors(arrays, self._rank_tolerance, self._rounds_by_norm, sets, *span, squares, doubtful)

    def read_folds(self, first: int, stop: int) -> LeastSquaresFolds:
        """Compute the products and test rows of some folds."""
        task = self.task
        assert self._target is not None
        n, width, n_targets = stop - first, task.encoder.n_coordinates, self._target.shape[1]
        gram, cross = np.empty((n, width, width)), np.empty((n, n_targets, width))
        scale, test_squares = np.empty((2, n, width))
        max_abs, norms = np.empty((n, width + n_targets)), np.empty((n, 3 + n_targets))
        many = len(task.test_rows) >= _MANY_ROWS * len(task.folds) or task.reads_in_passes
        form = np.empty((n if many else 0, width + n_targets, width + n_targets))
        tested, starts = [], [0]
        # A NaN, or a value that is too large to be squared, makes the sum NaN or infinite: the refit then reports it.
        with np.errstate(invalid="ignore", over="ignore"):
            for f, (train, test, rows) in enumerate(self._iter_folds(first, stop)):
                fold = task.folds[first + f]
                squares = train.scatter.diagonal()[:width] + self._penalty
                scale[f] = _column_scale(squares)
                gram[f] = train.scatter[:width, :width] / np.outer(scale[f], scale[f])
                np.fill_diagonal(gram[f], squares / scale[f] ** 2)
                cross[f] = train.scatter[width:, :width] / scale[f]
                units = np.append(scale[f], np.ones(n_targets))
                shift = test.mean[0] - train.mean[0]
                here = (test.scatter + test.class_weight[0] * np.outer(shift, shift)) / np.outer(units, units)
                test_squares[f] = here.diagonal()[:width]
                max_abs[f] = np.maximum(train.max_abs, test.max_abs) / units
                roots = np.sqrt([test.class_weight[0], train.class_weight[0], *train.scatter.diagonal()[width:]])
                norms[f] = len(fold.train) - self._centred, *roots
                if many:
                    form[f] = here
                weights = task.weight_or_ones[fold.test[: len(rows)]]
                tested.append(((rows - train.mean[0]) / units * np.sqrt(weights)[:, None]).T)
                starts.append(starts[-1] + len(rows))
        stored = np.ascontiguousarray(np.concatenate(tested, axis=1)), np.array(starts, dtype=np.int64)
        arrays = (gram, cross, scale, test_squares, max_abs, norms, form, *stored)
        return LeastSquaresFolds(*map(read_only, arrays))


class LinearRegressionBackend(_LeastSquaresBackend):
    """Ordinary least squares; linearly dependent columns need a refit."""

    estimator_class: ClassVar[type] = LinearRegression

    def __init__(self, task: CVTask) -> None:
        super().__init__(task, rank_tolerance=float(max(task.estimator.tol, np.finfo(np.float64).eps)))

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return which parameter is not supported."""
        model = task.estimator
        if not isinstance(model.tol, Real):
            return "tol is not a number"
        return "positive=True has no closed form" if model.positive else None


class RidgeBackend(_LeastSquaresBackend):
    estimator_class: ClassVar[type] = Ridge

    def __init__(self, task: CVTask) -> None:
        # The singular value decomposition rounds by the norm.
        super().__init__(task, penalty=float(task.estimator.alpha), rounds_by_norm=task.estimator.solver == "svd")

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return which parameter is not supported."""
        model = task.estimator
        if model.positive or model.solver not in _DIRECT_SOLVERS:
            return f"solver={model.solver!r} with positive={model.positive} is iterative"
        if not isinstance(model.alpha, Real) or not 0 <= float(model.alpha) < np.inf:
            return "alpha is not one number of at least 0"
        return None


class LinearDiscriminantBackend(ProductBackend, CountsPredictions):
    """Solves for a set from its rows and columns of the within-class products.

    A refit predicts a fold in which rounding could change a prediction, or whose within-class covariance is nearly singular.
    """

    estimator_class: ClassVar[type] = LinearDiscriminantAnalysis
    method: ClassVar[str] = (
        "products of columns within classes are kept for every fold, and a set is solved from those of its columns"
    )

    def __init__(self, task: CVTask) -> None:
        super().__init__(task, task.codes, len(task.classes), None, centred=True)

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
        if self.task.reads_in_passes:
            return self._count_in_passes(candidates)
        n_classes = len(self.task.classes)
        pairs = max(1, _TERMS_PER_THREAD * len(self.task.folds) // (len(self.task.test_rows) * (n_classes - 1)))
        shape = (n_classes, n_classes)
        found = self.sum_over_folds(candidates, self._fill_counts, shape, min(pairs, _PAIRS_PER_THREAD))
        return refit_doubtful(self, candidates, *found)

    def _count_in_passes(self, candidates: Candidates) -> Floats:
        task, encoder = self.task, self.task.encoder
        columns = np.flatnonzero(candidates.masks().any(axis=0))
        at = encoder.coordinates_of(columns)
        arrays, (centres, units) = self._all_folds, self._units
        square = np.ix_(np.arange(len(task.folds)), at, at)
        part = arrays._replace(gram=arrays.gram[square], centres=arrays.centres[:, :, at])
        part = part._replace(largest_centred=part.largest_centred[:, at], largest_raw=part.largest_raw[:, at])
        small = encoder.for_columns(columns)
        sets = candidate_arrays(small.to_coordinates(candidates))
        predict = _RowPredictor(part, centres[:, at], units[:, at], small, sets, float(task.estimator.tol))
        return count_in_passes(self, candidates, columns, predict)

    def _fill_counts(
        self, arrays: DiscriminantFolds, sets: CandidateArrays, span: tuple[int, int], counts: Floats, doubtful: Masks
    ) -> None:
        discriminant_confusion(arrays, float(self.task.estimator.tol), sets, *span, counts, doubtful)

    def read_folds(self, first: int, stop: int) -> DiscriminantFolds:
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
            for f, (train, test, rows) in enumerate(self._iter_folds(first, stop)):
                fold = task.folds[first + f]
                here = train.class_weight > 0
                shares[f, here] = train.class_weight[here] / train.class_weight.sum()
                centre = shares[f] @ train.mean
                if task.estimator.priors is not None:
                    shares[f, here] = task.estimator.priors
                scale = _column_scale(train.scatter.diagonal())
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
        return DiscriminantFolds(*map(read_only, arrays))


def _sort_by_class(codes: NDArray[np.int64], n_classes: int, start: int) -> tuple[Indices, NDArray[np.int64]]:
    """Return the order of rows by class, and where each class then begins, from `start` on."""
    order = np.argsort(codes, kind="stable")
    return order, start + np.searchsorted(codes[order], np.arange(n_classes + 1))


@dataclass(frozen=True)
class _RowPredictor:
    """Predicts the test rows of a block, on a worker too (`tamiz.models.design_matrix.Predict`).

    `arrays` are those of all folds without test rows, `centres` and `units` have the shape (n_folds, n_coordinates), and `sets` has
    coordinates.
    """

    arrays: DiscriminantFolds
    centres: Floats
    units: Floats
    encoder: DesignEncoder
    sets: CandidateArrays
    tolerance: float

    def __call__(
        self, block: Block, test_rows: list[Indices], codes: NDArray[np.int64], counts: Floats, doubtful: Masks
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
