"""Linear regression without refits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, Ridge

from tamiz.kernels.linear_models import linear_squared_errors
from tamiz.models.base import ColumnIndices, CVTask
from tamiz.models.fit_errors import error_context
from tamiz.models.gram import FoldProducts, FoldRange, ProductBackend, column_scale
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats
from tamiz.subsets.candidates import Candidates, Masks

# MERGED: Ridge regression on a large set and one more column, for every column: sweeps of Gram matrices in place of a factor a set.
# MERGED:
# MERGED: A factor of s coordinates takes s^3 / 3 operations for every candidate and fold, and indicators that add up to a constant make its
# MERGED: error bound so wide that refits have to decide. Once the coordinates of the parent are swept out of the products of all p, a
# MERGED: candidate that adds b coordinates takes b^3 operations, and a step of a forward search p^2 b to sweep the column that was added. A
# MERGED: forward search for 15 of 73 columns, 290 indicators and numbers (the Ames housing table), takes 2.6 s in place of 22.
# MERGED:
# MERGED: With J the coordinates added, G the penalised products of the rows learned from, c those with the target, and E, r, q the products
# MERGED: of what the parent leaves unexplained in the tested columns and target:
# MERGED:
# MERGED:     gamma = G_JJ^-1 c_J                      the coefficients of J beside the parent's
# MERGED:     error = q - 2 gamma' r_J + gamma' E_JJ gamma   the squared error of the tested rows
# MERGED:
# MERGED: (Goodnight 1979, A tutorial on the SWEEP operator, The American Statistician 33).
CoordinateIndices = NDArray[np.integer]

# Parents of fewer coordinates: the kernel that factorises every set is as fast, and its bits depend on the set alone.
MIN_SWEPT_COORDINATES = 32
# What others leave of a coordinate's square, as a share: below it rounding may decide.
_MIN_PIVOT = 1e-6
# What is left of the tested squares, as a share: below it too much has cancelled.
_MIN_RESIDUAL_SHARE = 1e-6


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
        """Explain coordinates and target by some more coordinates."""
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
        """Return the squared errors with each of some blocks of one width added, NaN where rounding may show."""
        own = self.gram[blocks[:, :, None], blocks[:, None, :]]
        cross, left_cross = self.cross[blocks], self.residual_cross[blocks]
        # What a coordinate has left beside the parent and the others of its block.
        pivots = np.array([_smallest_pivot(one) for one in own]) if blocks.shape[1] > 1 else own[:, 0, 0]
        sound = pivots > _MIN_PIVOT
        own[~sound] = np.eye(blocks.shape[1])
        gamma = np.linalg.solve(own, cross[:, :, None])[:, :, 0]
        inner = self.residual_products[blocks[:, :, None], blocks[:, None, :]]
        change = np.einsum("ma,mab,mb->m", gamma, inner, gamma) - 2 * np.einsum("ma,ma->m", gamma, left_cross)
        return np.where(sound, self.error + change, np.nan)


class SweepOperators:
    """The products of every fold, swept by the parent of the last candidates.

    Parameters
    ----------
    gram, cross, form : ndarray
        As `tamiz.kernels.linear_models.linear_squared_errors` takes them, with an entry in `form` for every fold.
    """

    def __init__(self, gram: Floats, cross: Floats, form: Floats) -> None:
        self._initial_products = (gram, cross, form)
        self._parent: Masks | None = None
        self._folds: list[_SweptFold] = []

    def squared_errors(self, candidates: Candidates) -> Floats | None:
        """Return the squared errors, of shape (n_candidates, n_folds), NaN where a factor has to tell; None for other candidates.

        Parameters
        ----------
        candidates : Candidates
            Of coordinates: one parent of at least `MIN_SWEPT_COORDINATES`, and additions to it.
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
        whole = self._initial_products[2][:, -1, -1]
        squares[~(squares > _MIN_RESIDUAL_SHARE * whole)] = np.nan
        return squares

    def _sweep_to(self, parent: Masks) -> None:
        """Sweep the products by a parent, on from those of the last one where it is a part of this."""
        if self._parent is None or (self._parent & ~parent).any():
            self._parent = np.zeros_like(parent)
            self._folds = [_SweptFold.of(*arrays) for arrays in zip(*self._initial_products, strict=True)]
        added = np.flatnonzero(parent & ~self._parent)
        if len(added):
            for fold in self._folds:
                fold.sweep(added)
            self._parent = parent.copy()


def _smallest_pivot(matrix: Floats) -> float:
    """Return the least pivot of a symmetric matrix, at most 0 where it has no Cholesky factor."""
    try:
        return float((np.linalg.cholesky(matrix).diagonal() ** 2).min())
    except np.linalg.LinAlgError:
        return 0.0


# Sets and folds that one thread takes before another is worth waking: half a millisecond or so.
_PAIRS_PER_THREAD = 500
# Tested rows of a fold from which on products of columns take less time than the rows.
_MANY_ROWS = 64
# Solvers of Ridge that solve for the coefficients, and do not near them step by step.
_DIRECT_SOLVERS = ("auto", "cholesky", "svd")


class _LeastSquaresBackend(ProductBackend):
    """The refit decides where rounding would show: nearly collinear columns, units far apart, hardly any error."""

    method: ClassVar[str] = "products of columns are kept for every fold, and a set is solved from those of its columns"

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        no_class = np.zeros(len(task.target), dtype=np.int64)
        self._fold_products = FoldProducts(task, no_class, 1, task.target, centred=bool(task.estimator.fit_intercept))

    def penalty(self) -> float:
        """Return what is added to the squares of every column."""
        return 0.0

    def rank_tolerance(self) -> float:
        """Return the length of directions, as a share of the longest, that the refit leaves out; 0 where it leaves out none."""
        return 0.0

    def rounds_by_norm(self) -> bool:
        """Return whether the refit's rounding is that of its largest columns."""
        return True

    def evaluation_cost(self) -> float:
        """Return the microseconds or so of solving for a few columns."""
        return 1.0 + 2.0 * len(self.task.folds)

    def squared_errors(self, candidates: Candidates) -> Floats:
        """Return the weighted sums of squared errors."""
        swept = self._swept_errors(candidates)
        if swept is None:
            squares, doubtful = self.sum_over_folds(candidates, self._fill_squares, (), _PAIRS_PER_THREAD)
        else:
            squares, doubtful = swept, np.isnan(swept)
            if (unsure := np.flatnonzero(doubtful.any(axis=1))).size:
                squares[unsure], doubtful[unsure] = self.sum_over_folds(
                    candidates[unsure], self._fill_squares, (), _PAIRS_PER_THREAD
                )
        if doubtful.any():
            masks = candidates.masks()
            refits = [(np.flatnonzero(masks[c]), fold) for c, fold in np.argwhere(doubtful).tolist()]
            squares[doubtful] = list(parallel.map_blocks(self._refit_error, refits))
        return squares

    def _swept_errors(self, candidates: Candidates) -> Floats | None:
        """Return what sweeps tell of additions to one large set, None where they are not of use."""
        if self._sweep_operators is None:
            return None
        return self._sweep_operators.squared_errors(self.task.matrix.to_coordinates(candidates))

    @cached_property
    def _sweep_operators(self) -> SweepOperators | None:
        """Sweeps of all folds; None without a penalty, where rows are few, or where the products do not fit in memory."""
        if not self.penalty() or len(self._fold_ranges) > 1 or self.task.matrix.n_coordinates <= MIN_SWEPT_COORDINATES:
            return None
        gram, cross, _, _, _, _, form, _, _ = self._all_folds.arrays
        return (
            SweepOperators(gram, cross, form)
            if len(form) and np.isfinite(gram).all() and np.isfinite(form).all()
            else None
        )

    def _fill_squares(
        self,
        fold_range: FoldRange,
        flips: Candidates,
        span: tuple[int, int],
        squares: Floats,
        doubtful: NDArray[np.bool_],
    ) -> None:
        linear_squared_errors(
            *fold_range.arrays,
            self.rank_tolerance(),
            self.rounds_by_norm(),
            flips.parents,
            flips.parent_index,
            flips.starts,
            flips.flipped,
            *span,
            squares,
            doubtful,
        )

    def read_folds(self, first: int, stop: int) -> FoldRange:
        """Read some folds."""
        task = self.task
        n, width = stop - first, task.matrix.n_coordinates
        gram = np.empty((n, width, width))
        cross, scale, spread = np.empty((3, n, width))
        loud, facts = np.empty((n, width + 1)), np.empty((n, 4))
        many = len(task.test_rows) >= _MANY_ROWS * len(task.folds)
        form = np.empty((n if many else 0, width + 1, width + 1))
        starts = task.test_starts[first : stop + 1] - task.test_starts[first]
        tested = np.empty((width + 1, starts[-1]))
        # A value that is no number, or too large to be squared, makes a sum that is none: the refit then says so.
        with np.errstate(invalid="ignore", over="ignore"):
            for f, (products, rows) in enumerate(self._fold_products.iter_folds(first, stop)):
                fold = task.folds[first + f]
                squares = products.scatter.diagonal()[:-1] + self.penalty()
                scale[f] = column_scale(squares)
                gram[f] = products.scatter[:-1, :-1] / np.outer(scale[f], scale[f])
                np.fill_diagonal(gram[f], squares / scale[f] ** 2)
                cross[f] = products.scatter[-1, :-1] / scale[f]
                units, weights = np.append(scale[f], 1.0), task.weight_or_ones[fold.test]
                left = (rows - products.mean[0]) / units * np.sqrt(weights)[:, None]
                spread[f] = (left[:, :-1] ** 2).sum(axis=0)
                loud[f] = np.maximum(products.max_abs, np.abs(rows).max(axis=0)) / units
                norms = np.sqrt([products.scatter[-1, -1], weights.sum(), products.class_weight[0]])
                facts[f] = len(fold.train) - self._fold_products.centred, *norms
                if many:
                    form[f] = left.T @ left
                tested[:, starts[f] : starts[f + 1]] = left.T
        return FoldRange(first, stop, (gram, cross, scale, spread, loud, facts, form, tested, starts))

    def _refit_error(self, set_and_fold: tuple[ColumnIndices, int]) -> float:
        rows = self.task.folds[set_and_fold[1]].test
        with self.task.fit_warnings.record_fit(), error_context(self.task, *set_and_fold, self.task.label):
            fitted = self.fit_fold(*set_and_fold)
            apart = self.task.target[rows] - fitted.estimator.predict(fitted.test_rows)
        return float(self.task.weight_or_ones[rows] @ (apart * apart))


class LinearRegressionBackend(_LeastSquaresBackend):
    """Ordinary least squares; columns that depend on each other are left to the refit."""

    estimator_class: ClassVar[type] = LinearRegression

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return why the regression is not one of plain least squares."""
        model = task.estimator
        if not isinstance(model.tol, Real):
            return "tol is no number"
        return "positive=True is no sum" if model.positive else None

    def rank_tolerance(self) -> float:
        """Return the share of the longest direction below which others count as dependent."""
        return float(max(self.task.estimator.tol, np.finfo(np.float64).eps))


class RidgeBackend(_LeastSquaresBackend):
    """Least squares with alpha added to the squares of every column."""

    estimator_class: ClassVar[type] = Ridge

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return why the coefficients are found in another way than by solving for them."""
        model = task.estimator
        if model.positive or model.solver not in _DIRECT_SOLVERS:
            return f"solver={model.solver!r} with positive={model.positive} does not solve for the coefficients at once"
        if not isinstance(model.alpha, Real) or not 0 <= float(model.alpha) < np.inf:
            return "alpha is not one number from 0 on"
        return None

    def penalty(self) -> float:
        """Return alpha."""
        return float(self.task.estimator.alpha)

    def rounds_by_norm(self) -> bool:
        """Return whether the model is found by the singular values of the rows."""
        return bool(self.task.estimator.solver == "svd")
