"""Linear regression without refits."""

from __future__ import annotations

from functools import cached_property
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, Ridge

from tamiz import parallel
from tamiz.candidates import Candidates
from tamiz.kernels.factors import linear_squared_errors
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import ColumnIndices, CVTask
from tamiz.wrappers.failures import error_context
from tamiz.wrappers.gram import FoldProducts, column_scale
from tamiz.wrappers.solved import FoldRange, ProductBackend
from tamiz.wrappers.sweeps import MIN_SWEPT_COORDINATES, SweepOperators

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
