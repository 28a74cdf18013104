"""Fold backends for scikit-learn's LinearRegression and Ridge, from Gram matrices.

Two methods compute squared errors. A kernel factorises the Gram matrix of every set. `SweepOperators` serve ridge regression on
additions to one large parent set, as in a forward search. A factor of s coordinates needs s^3 / 3 operations for every candidate
and fold, and indicators that sum to a constant widen its error bound so far that refits have to decide. After the coordinates of
the parent are swept out of the products of all p coordinates, a candidate that adds b coordinates needs b^3 operations, and a step
of a forward search p^2 b. A forward search for 15 of 73 columns with 290 coordinates (the Ames housing table) takes 2.6 s instead
of 22 s.

With J the added coordinates, G the penalised products of the training rows, c their products with the target, and E, r, q the
products of the residuals of the test columns and test target after the parent:

    gamma = G_JJ^-1 c_J                                the coefficients of J beside those of the parent
    error = q - 2 gamma' r_J + gamma' E_JJ gamma       the squared error of the test rows

Source: Goodnight (1979), A tutorial on the SWEEP operator, The American Statistician 33.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, Ridge

from tamiz.arrays import Floats, Indices, Masks
from tamiz.kernels import CandidateArrays, read_only
from tamiz.kernels.linear_models import LeastSquaresFolds, linear_squared_errors
from tamiz.models.base import CVTask
from tamiz.models.fit_errors import error_context
from tamiz.models.gram import FoldProducts, FoldRange, ProductBackend, column_scale
from tamiz.runtime import parallel
from tamiz.subsets.candidates import Candidates

CoordinateIndices = NDArray[np.integer]

# For smaller parents the kernel that factorises every set is as fast, and its bits depend on the set alone.
MIN_SWEPT_COORDINATES = 32
# The smallest pivot, relative to the sum of squares of a coordinate: below it rounding may decide.
_MIN_PIVOT = 1e-6
# The smallest squared error, relative to the sum of squares of the test target: below it too much has cancelled.
_MIN_RESIDUAL_SHARE = 1e-6
# (Set, fold) pairs per thread: about half a millisecond.
_PAIRS_PER_THREAD = 500
# Test rows per fold from which on the products of columns are faster than the rows.
_MANY_ROWS = 64
# Solvers of Ridge that are not iterative.
_DIRECT_SOLVERS = ("auto", "cholesky", "svd")


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
    """The products of every fold, swept by the parent of the latest candidates.

    Parameters
    ----------
    gram, cross, form : ndarray
        Products of `tamiz.kernels.linear_models.LeastSquaresFolds`: gram, cross, and tested_gram with an entry for every fold.
    """

    def __init__(self, gram: Floats, cross: Floats, form: Floats) -> None:
        self._initial_products = (gram, cross, form)
        self._parent: Masks | None = None
        self._folds: list[_SweptFold] = []

    def squared_errors(self, candidates: Candidates) -> Floats | None:
        """Return the squared errors of shape (n_candidates, n_folds), NaN where a factorisation is needed; None if unsupported.

        Parameters
        ----------
        candidates : Candidates
            Coordinates: additions to one parent of at least `MIN_SWEPT_COORDINATES`; others are unsupported.
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


class _LeastSquaresBackend(ProductBackend[LeastSquaresFolds]):
    """Squared errors from Gram matrices; a refit is used for nearly collinear columns, very different units and tiny errors."""

    method: ClassVar[str] = "products of columns are kept for every fold, and a set is solved from those of its columns"

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        # The backend that computes for this one, the number of this target among its targets, and its latest result.
        self._leader, self._number = self, 0
        self._latest: tuple[Candidates, Floats, Masks] | None = None
        self._read_targets([self])

    def share_products(self, others: Sequence[_LeastSquaresBackend]) -> None:
        """Compute for backends of other targets too: products and factors of the columns are the same for all targets.

        The tasks must be equal except for their targets. The other backends then ask this one for the same candidates.
        """
        for number, other in enumerate(others, start=1):
            other._leader, other._number = self, number
        self._read_targets([self, *others])

    def _read_targets(self, backends: Sequence[_LeastSquaresBackend]) -> None:
        task, self._n_targets = self.task, len(backends)
        target = np.column_stack([one.task.target for one in backends])
        no_class = np.zeros(len(target), dtype=np.int64)
        self._fold_products = FoldProducts(task, no_class, 1, target, centred=bool(task.estimator.fit_intercept))

    def max_bytes(self) -> float:
        """Return the bytes of the products and rows; none if another backend computes them."""
        return super().max_bytes() if self._leader is self else 0.0

    def penalty(self) -> float:
        """Return the value that is added to the diagonal of the Gram matrix."""
        return 0.0

    def rank_tolerance(self) -> float:
        """Return the relative singular value below which the refit drops a direction; 0 if it drops none."""
        return 0.0

    def rounds_by_norm(self) -> bool:
        """Return whether the rounding error of the refit scales with its largest columns."""
        return True

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
        if doubtful.any():
            masks = candidates.masks()
            refits = [(np.flatnonzero(masks[c]), fold) for c, fold in np.argwhere(doubtful).tolist()]
            squares[doubtful] = list(parallel.map_blocks(self._refit_error, refits))
        return squares

    def _solved_errors(self, candidates: Candidates) -> tuple[Floats, Masks]:
        """Return the squared errors from factorisations, and which of them need a refit."""
        leader = self._leader
        if leader._latest is None or leader._latest[0] is not candidates:
            shape = (leader._n_targets,)
            found = leader.sum_over_folds(candidates, leader._fill_squares, shape, _PAIRS_PER_THREAD, shape)
            leader._latest = (candidates, *found)
        _, squares, doubtful = leader._latest
        return squares[:, :, self._number].copy(), doubtful[:, :, self._number]

    def _swept_errors(self, candidates: Candidates) -> Floats | None:
        """Return the squared errors from sweep operators, None if they do not apply."""
        if self._sweep_operators is None:
            return None
        return self._sweep_operators.squared_errors(self.task.encoder.to_coordinates(candidates))

    @cached_property
    def _sweep_operators(self) -> SweepOperators | None:
        """Sweep operators of all folds; None without a penalty, with few rows, or if the products do not fit in memory."""
        if not self.penalty() or len(self._fold_ranges) > 1 or self.task.encoder.n_coordinates <= MIN_SWEPT_COORDINATES:
            return None
        arrays = self._leader._all_folds.arrays
        width = self.task.encoder.n_coordinates
        own = [*range(width), width + self._number]
        gram, form = arrays.gram, arrays.tested_gram[:, own][:, :, own]
        is_finite = len(form) and np.isfinite(gram).all() and np.isfinite(form).all()
        return SweepOperators(gram, arrays.cross[:, self._number], form) if is_finite else None

    def _fill_squares(
        self,
        arrays: LeastSquaresFolds,
        sets: CandidateArrays,
        span: tuple[int, int],
        squares: Floats,
        doubtful: Masks,
    ) -> None:
        linear_squared_errors(arrays, self.rank_tolerance(), self.rounds_by_norm(), sets, *span, squares, doubtful)

    def read_folds(self, first: int, stop: int) -> FoldRange[LeastSquaresFolds]:
        """Compute the products and test rows of some folds."""
        task = self.task
        n, width, n_targets = stop - first, task.encoder.n_coordinates, self._n_targets
        gram, cross = np.empty((n, width, width)), np.empty((n, n_targets, width))
        scale, test_squares = np.empty((2, n, width))
        max_abs, norms = np.empty((n, width + n_targets)), np.empty((n, 3 + n_targets))
        many = len(task.test_rows) >= _MANY_ROWS * len(task.folds) or task.reads_in_passes
        form = np.empty((n if many else 0, width + n_targets, width + n_targets))
        tested, starts = [], [0]
        # A NaN, or a value that is too large to be squared, makes the sum NaN or infinite: the refit then reports it.
        with np.errstate(invalid="ignore", over="ignore"):
            for f, (train, test, rows) in enumerate(self._fold_products.iter_folds(first, stop)):
                fold = task.folds[first + f]
                squares = train.scatter.diagonal()[:width] + self.penalty()
                scale[f] = column_scale(squares)
                gram[f] = train.scatter[:width, :width] / np.outer(scale[f], scale[f])
                np.fill_diagonal(gram[f], squares / scale[f] ** 2)
                cross[f] = train.scatter[width:, :width] / scale[f]
                units = np.append(scale[f], np.ones(n_targets))
                shift = test.mean[0] - train.mean[0]
                here = (test.scatter + test.class_weight[0] * np.outer(shift, shift)) / np.outer(units, units)
                test_squares[f] = here.diagonal()[:width]
                max_abs[f] = np.maximum(train.max_abs, test.max_abs) / units
                roots = np.sqrt([test.class_weight[0], train.class_weight[0], *train.scatter.diagonal()[width:]])
                norms[f] = len(fold.train) - self._fold_products.centred, *roots
                if many:
                    form[f] = here
                weights = task.weight_or_ones[fold.test[: len(rows)]]
                tested.append(((rows - train.mean[0]) / units * np.sqrt(weights)[:, None]).T)
                starts.append(starts[-1] + len(rows))
        stored = np.ascontiguousarray(np.concatenate(tested, axis=1)), np.array(starts, dtype=np.int64)
        arrays = (gram, cross, scale, test_squares, max_abs, norms, form, *stored)
        return FoldRange(first, stop, LeastSquaresFolds(*map(read_only, arrays)))

    def _refit_error(self, set_and_fold: tuple[Indices, int]) -> float:
        rows = self.task.folds[set_and_fold[1]].test
        with self.task.fit_warnings.record_fit(), error_context(self.task, *set_and_fold, self.task.label):
            fitted = self.fit_fold(*set_and_fold)
            errors = self.task.target[rows] - fitted.estimator.predict(fitted.test_rows)
        return float(self.task.weight_or_ones[rows] @ (errors * errors))


class LinearRegressionBackend(_LeastSquaresBackend):
    """Ordinary least squares; linearly dependent columns need a refit."""

    estimator_class: ClassVar[type] = LinearRegression

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return which parameter is not supported."""
        model = task.estimator
        if not isinstance(model.tol, Real):
            return "tol is not a number"
        return "positive=True has no closed form" if model.positive else None

    def rank_tolerance(self) -> float:
        """Return the relative singular value below which a direction counts as dependent."""
        return float(max(self.task.estimator.tol, np.finfo(np.float64).eps))


class RidgeBackend(_LeastSquaresBackend):
    estimator_class: ClassVar[type] = Ridge

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return which parameter is not supported."""
        model = task.estimator
        if model.positive or model.solver not in _DIRECT_SOLVERS:
            return f"solver={model.solver!r} with positive={model.positive} is iterative"
        if not isinstance(model.alpha, Real) or not 0 <= float(model.alpha) < np.inf:
            return "alpha is not one number of at least 0"
        return None

    def penalty(self) -> float:
        return float(self.task.estimator.alpha)

    def rounds_by_norm(self) -> bool:
        """Return whether the solver is a singular value decomposition."""
        return bool(self.task.estimator.solver == "svd")
