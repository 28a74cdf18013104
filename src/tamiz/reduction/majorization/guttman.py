"""Stress and the Guttman transform V^+ B(X) X: evaluation of a configuration and solvers for the weight matrix V."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.reduction.majorization.pairs import CondensedPairs
from tamiz.reduction.majorization.transformations import Transformation

# Up to this many rows V is factored once, in n^3 / 3 operations; above, each solve takes a few products with V.
_MAX_CHOLESKY_ROWS = 1500
# Relative residual and largest number of conjugate gradient steps. An approximate Guttman transform lowers the stress too.
_CG_TOLERANCE, _MAX_CG_STEPS = 1e-3, 25


@dataclass(frozen=True)
class StressState:
    """A configuration at its best scale.

    Attributes
    ----------
    points : ndarray of shape (n_components, n)
        Centred.
    stress : float
        Squared Kruskal's stress-1: residual sum of squares over the sum of squares of the disparities.
    guttman_transform : ndarray of shape (n_components, n)
        The Guttman transform of the points, the minimum of their majorising function.
    gradient : ndarray of shape (n_components, n)
        Half the gradient of the residual sum of squares.
    """

    points: Floats
    stress: float
    guttman_transform: Floats
    gradient: Floats


class StressFunction:
    """Stress as a function of the configuration.

    Parameters
    ----------
    transformation : Transformation
    equal_rows : EqualRows
        Groups of equal rows, which have equal coordinates.
    """

    def __init__(self, transformation: Transformation, equal_rows: EqualRows) -> None:
        self.transformation = transformation
        self.pairs = transformation.pairs
        self._solve_weights = WeightMatrixSolver.create(self.pairs, equal_rows)

    def evaluate(self, points: Floats) -> StressState:
        """Return the state of a configuration at its best scale, in one pass over the pairs.

        With the weighted sums rho of disparity times distance and eta of squared distances, the residual sum of squares at scale b
        is total - 2 b rho + b^2 eta, minimal at b = rho / eta. The Guttman transform does not depend on the scale.
        """
        pairs = self.pairs
        centred = points - points.mean(axis=1, keepdims=True)
        typed = np.ascontiguousarray(centred, dtype=pairs.dtype)
        pulled, residual = self.transformation.update(typed)
        weighted = pairs.multiply_by_weight_matrix(centred)
        rho, eta = float(centred.ravel() @ pulled.ravel()), float(centred.ravel() @ weighted.ravel())
        # rho is 0 if no pair with a distance above 0 has a disparity above 0; then no positive scale is best.
        b = rho / eta if rho > 0 else 1.0
        residual += 2 * rho * (1 - b) - eta * (1 - b * b)
        scaled = b * centred
        return StressState(
            scaled,
            max(residual, 0.0) / self.transformation.total,
            self._solve_weights(pulled, scaled),
            b * weighted - pulled,
        )


class EqualRows:
    """Groups of equal rows.

    Parameters
    ----------
    first_occurrences : ndarray of shape (n,)
        For each row the number of the first row that is equal to it.
    """

    def __init__(self, first_occurrences: Indices) -> None:
        _, self._group = np.unique(first_occurrences, return_inverse=True)
        self._sizes = np.bincount(self._group)
        self.all_distinct = len(self._sizes) == len(first_occurrences)

    def sums(self, values: Floats) -> Floats:
        """Return the sums of columns over each group, of shape (m, n_groups)."""
        return np.stack([np.bincount(self._group, row) for row in values])

    def expand(self, values: Floats) -> Floats:
        """Return the column of its group for each row, of shape (m, n)."""
        return np.ascontiguousarray(values[:, self._group])

    def means(self, values: Floats) -> Floats:
        return values if self.all_distinct else self.expand(self.sums(values) / self._sizes)


class WeightMatrixSolver(ABC):
    """Solves V Y = sums for centred Y with equal columns for equal rows, by least squares in the norm of V."""

    @abstractmethod
    def __call__(self, sums: Floats, start: Floats) -> Floats:
        """Return Y for centred sums of shape (n_components, n); `start` is an approximation of Y."""

    @classmethod
    def create(cls, pairs: CondensedPairs, equal_rows: EqualRows) -> WeightMatrixSolver:
        if not pairs.is_weighted:
            return UnweightedSolver(pairs.n, equal_rows)
        return (
            CholeskySolver(pairs, equal_rows)
            if pairs.n <= _MAX_CHOLESKY_ROWS
            else ConjugateGradientSolver(pairs, equal_rows)
        )


class UnweightedSolver(WeightMatrixSolver):
    """Solver for equal weights: V = n I - 1 1'."""

    def __init__(self, n: int, equal_rows: EqualRows) -> None:
        self._n, self._equal_rows = n, equal_rows

    def __call__(self, sums: Floats, start: Floats) -> Floats:  # noqa: ARG002
        """Return sums / n, averaged over equal rows."""
        return self._equal_rows.means(sums / self._n)


class CholeskySolver(WeightMatrixSolver):
    """Solver by the Cholesky factor of V + c 1 1', positive definite for connected pairs; equal rows are summed."""

    def __init__(self, pairs: CondensedPairs, equal_rows: EqualRows) -> None:
        self._equal_rows = equal_rows
        matrix = -pairs.to_square(pairs.weights)
        if not equal_rows.all_distinct:
            matrix = equal_rows.sums(equal_rows.sums(matrix).T)
        np.fill_diagonal(matrix, 0.0)
        masses = -matrix.sum(axis=1)
        np.fill_diagonal(matrix, masses)
        # Any c > 0 is valid; this one has the magnitude of the entries of V.
        matrix += masses.mean() / len(matrix)
        try:
            self._factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True)
        except linalg.LinAlgError as error:
            raise DataError(
                "The weight matrix is numerically singular, because some rows are connected only by very small weights. "
                "Remove these pairs or increase their weights."
            ) from error

    def __call__(self, sums: Floats, start: Floats) -> Floats:  # noqa: ARG002
        right = sums if self._equal_rows.all_distinct else self._equal_rows.sums(sums)
        solved = np.ascontiguousarray(linalg.cho_solve(self._factor, right.T).T)
        if not self._equal_rows.all_distinct:
            solved = self._equal_rows.expand(solved)
        return solved - solved.mean(axis=1, keepdims=True)


class ConjugateGradientSolver(WeightMatrixSolver):
    """Solver by conjugate gradients with diagonal preconditioning, for all dimensions at once."""

    def __init__(self, pairs: CondensedPairs, equal_rows: EqualRows) -> None:
        self._pairs, self._equal_rows = pairs, equal_rows
        self._inverse_diagonal = 1.0 / equal_rows.means(pairs.row_weights()[None])

    def __call__(self, sums: Floats, start: Floats) -> Floats:
        Y = start.copy()
        residual = self._equal_rows.means(sums - self._pairs.multiply_by_weight_matrix(Y))
        scaled = residual * self._inverse_diagonal
        direction = scaled.copy()
        norms = (residual * scaled).sum(axis=1)
        targets = _CG_TOLERANCE**2 * norms
        for _ in range(_MAX_CG_STEPS):
            product = self._equal_rows.means(self._pairs.multiply_by_weight_matrix(direction))
            curvature = (direction * product).sum(axis=1)
            active = (norms > targets) & (curvature > 0)
            if not active.any():
                break
            step = np.divide(norms, curvature, out=np.zeros_like(norms), where=active)
            Y += step[:, None] * direction
            residual -= step[:, None] * product
            scaled = residual * self._inverse_diagonal
            before, norms = norms, np.where(active, (residual * scaled).sum(axis=1), norms)
            ratio = np.divide(norms, before, out=np.zeros_like(norms), where=active)
            direction = scaled + ratio[:, None] * direction
        return Y - Y.mean(axis=1, keepdims=True)
