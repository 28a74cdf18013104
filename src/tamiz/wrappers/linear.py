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
from tamiz.kernels.factors import linear_squares
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import Columns, Task
from tamiz.wrappers.failures import named
from tamiz.wrappers.gram import Reading, column_scale
from tamiz.wrappers.solved import Part, Solved
from tamiz.wrappers.sweeps import FEWEST, Sweeps

# Sets and folds that one thread takes before another is worth waking: half a millisecond or so.
_PAIRS = 500
# Tested rows of a fold from which on products of columns take less time than the rows.
_MANY_ROWS = 64
# Solvers of Ridge that solve for the coefficients, and do not near them step by step.
_EXACT = ("auto", "cholesky", "svd")


class _LeastSquares(Solved):
    """The refit decides where rounding would show: nearly collinear columns, units far apart, hardly any error."""

    how: ClassVar[str] = "products of columns are kept for every fold, and a set is solved from those of its columns"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        no_class = np.zeros(len(task.labels), dtype=np.int64)
        self._reading = Reading(task, no_class, 1, task.labels, centred=bool(task.estimator.fit_intercept))

    def penalty(self) -> float:
        """Return what is added to the squares of every column."""
        return 0.0

    def least(self) -> float:
        """Return the length of directions, as a share of the longest, that the refit leaves out; 0 where it leaves out none."""
        return 0.0

    def by_norm(self) -> bool:
        """Return whether the refit's rounding is that of its largest columns."""
        return True

    def effort(self) -> float:
        """Return the microseconds or so of solving for a few columns."""
        return 1.0 + 2.0 * len(self.task.folds)

    def squares(self, candidates: Candidates) -> Floats:
        """Return the weighted sums of squared errors."""
        swept = self._swept(candidates)
        if swept is None:
            squares, doubtful = self.over_folds(candidates, self._fill, (), _PAIRS)
        else:
            squares, doubtful = swept, np.isnan(swept)
            if (unsure := np.flatnonzero(doubtful.any(axis=1))).size:
                squares[unsure], doubtful[unsure] = self.over_folds(candidates[unsure], self._fill, (), _PAIRS)
        if doubtful.any():
            masks = candidates.masks()
            refits = [(np.flatnonzero(masks[c]), fold) for c, fold in np.argwhere(doubtful).tolist()]
            squares[doubtful] = list(parallel.map_blocks(self._refitted, refits))
        return squares

    def _swept(self, candidates: Candidates) -> Floats | None:
        """Return what sweeps tell of additions to one large set, None where they are not of use."""
        if self._sweeps is None:
            return None
        return self._sweeps.squares(self.task.points.translated(candidates))

    @cached_property
    def _sweeps(self) -> Sweeps | None:
        """Sweeps of all folds; None without a penalty, where rows are few, or where the products do not fit in memory."""
        if not self.penalty() or len(self._ranges) > 1 or self.task.points.n_coordinates <= FEWEST:
            return None
        gram, cross, _, _, _, _, form, _, _ = self._all.arrays
        return Sweeps(gram, cross, form) if len(form) and np.isfinite(gram).all() and np.isfinite(form).all() else None

    def _fill(
        self, part: Part, flips: Candidates, span: tuple[int, int], squares: Floats, doubtful: NDArray[np.bool_]
    ) -> None:
        linear_squares(
            *part.arrays,
            self.least(),
            self.by_norm(),
            flips.parents,
            flips.parent,
            flips.starts,
            flips.flipped,
            *span,
            squares,
            doubtful,
        )

    def part(self, first: int, stop: int) -> Part:
        """Read some folds."""
        task = self.task
        n, width = stop - first, task.points.n_coordinates
        gram = np.empty((n, width, width))
        cross, scale, spread = np.empty((3, n, width))
        loud, facts = np.empty((n, width + 1)), np.empty((n, 4))
        many = len(task.tested) >= _MANY_ROWS * len(task.folds)
        form = np.empty((n if many else 0, width + 1, width + 1))
        starts = task.starts[first : stop + 1] - task.starts[first]
        tested = np.empty((width + 1, starts[-1]))
        # A value that is no number, or too large to be squared, makes a sum that is none: the refit then says so.
        with np.errstate(invalid="ignore", over="ignore"):
            for f, (products, rows) in enumerate(self._reading.folds(first, stop)):
                fold = task.folds[first + f]
                squares = products.scatter.diagonal()[:-1] + self.penalty()
                scale[f] = column_scale(squares)
                gram[f] = products.scatter[:-1, :-1] / np.outer(scale[f], scale[f])
                np.fill_diagonal(gram[f], squares / scale[f] ** 2)
                cross[f] = products.scatter[-1, :-1] / scale[f]
                units, weights = np.append(scale[f], 1.0), task.weights[fold.test]
                left = (rows - products.mean[0]) / units * np.sqrt(weights)[:, None]
                spread[f] = (left[:, :-1] ** 2).sum(axis=0)
                loud[f] = np.maximum(products.largest, np.abs(rows).max(axis=0)) / units
                norms = np.sqrt([products.scatter[-1, -1], weights.sum(), products.total[0]])
                facts[f] = len(fold.train) - self._reading.centred, *norms
                if many:
                    form[f] = left.T @ left
                tested[:, starts[f] : starts[f + 1]] = left.T
        return Part(first, stop, (gram, cross, scale, spread, loud, facts, form, tested, starts))

    def _refitted(self, item: tuple[Columns, int]) -> float:
        rows = self.task.folds[item[1]].test
        with self.task.warned.refit(), named(self.task, *item, self.task.label):
            fitted = self.fitted(*item)
            apart = self.task.labels[rows] - fitted.estimator.predict(fitted.rows)
        return float(self.task.weights[rows] @ (apart * apart))


class LinearRegressionWay(_LeastSquares):
    """Ordinary least squares; columns that depend on each other are left to the refit."""

    kind: ClassVar[type] = LinearRegression

    @classmethod
    def declines(cls, task: Task) -> str | None:
        """Return why the regression is not one of plain least squares."""
        model = task.estimator
        if not isinstance(model.tol, Real):
            return "tol is no number"
        return "positive=True is no sum" if model.positive else None

    def least(self) -> float:
        """Return the share of the longest direction below which others count as dependent."""
        return float(max(self.task.estimator.tol, np.finfo(np.float64).eps))


class RidgeWay(_LeastSquares):
    """Least squares with alpha added to the squares of every column."""

    kind: ClassVar[type] = Ridge

    @classmethod
    def declines(cls, task: Task) -> str | None:
        """Return why the coefficients are found in another way than by solving for them."""
        model = task.estimator
        if model.positive or model.solver not in _EXACT:
            return f"solver={model.solver!r} with positive={model.positive} does not solve for the coefficients at once"
        if not isinstance(model.alpha, Real) or not 0 <= float(model.alpha) < np.inf:
            return "alpha is not one number from 0 on"
        return None

    def penalty(self) -> float:
        """Return alpha."""
        return float(self.task.estimator.alpha)

    def by_norm(self) -> bool:
        """Return whether the model is found by the singular values of the rows."""
        return bool(self.task.estimator.solver == "svd")
