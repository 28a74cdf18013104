"""The Guttman transform's division by V, the weights' own matrix, on configurations whose equal rows share a place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tamiz.exceptions import DataError
from tamiz.reduction.majorization.pairs import CondensedPairs
from tamiz.reduction.majorization.transformations import Transformation
from tamiz.statistics.base import Floats


# MERGED: The stress of a configuration, and where its majorising function is least.
@dataclass(frozen=True)
class StressState:
    """A configuration at its best scale.

    Attributes
    ----------
    points : ndarray of shape (n_components, n)
        Centred.
    stress : float
        The squares left over, next to the squares of the disparities: the square of Kruskal's stress-1.
    guttman_transform : ndarray of shape (n_components, n)
        The Guttman transform of the points, where their majorising function is least.
    gradient : ndarray of shape (n_components, n)
        Half the derivative of the squares left over by the points.
    """

    points: Floats
    stress: float
    guttman_transform: Floats
    gradient: Floats


class StressFunction:
    """Distances that are to be near disparities.

    Parameters
    ----------
    transformation : Transformation
    equal_rows : EqualRows
        Rows that are equal, and share a place.
    """

    def __init__(self, transformation: Transformation, equal_rows: EqualRows) -> None:
        self.transformation = transformation
        self.pairs = transformation.pairs
        self._solve_weights = WeightMatrixSolver.create(self.pairs, equal_rows)

    def evaluate(self, points: Floats) -> StressState:
        """Return the state of points: their stress at the best scale, which is found without another reading of the pairs.

        With rho the weighted sum of disparities times distances and eta that of squared distances, the squares left over at the
        scale b are total - 2 b rho + b^2 eta, least at b = rho / eta; the Guttman transform does not depend on the scale.
        """
        pairs = self.pairs
        centred = points - points.mean(axis=1, keepdims=True)
        given = np.ascontiguousarray(centred, dtype=pairs.dtype)
        turned, left = self.transformation.update(given)
        weighed = pairs.multiply_by_weight_matrix(centred)
        rho, eta = float(centred.ravel() @ turned.ravel()), float(centred.ravel() @ weighed.ravel())
        # Where no pair that is apart is wanted apart there is no best scale above 0.
        b = rho / eta if rho > 0 else 1.0
        left += 2 * rho * (1 - b) - eta * (1 - b * b)
        scaled = b * centred
        return StressState(
            scaled,
            max(left, 0.0) / self.transformation.total,
            self._solve_weights(turned, scaled),
            b * weighed - turned,
        )


# Up to so many rows V is factored once, in n^3 / 3 operations; beyond, every division is a few products with it.
_MAX_CHOLESKY_ROWS = 1500
# What is left of an equation, next to what there was, when steps towards its solution end, and the most steps. A step towards
# the transform lowers the stress too, so it need not be reached.
_CG_TOLERANCE, _MAX_CG_STEPS = 1e-3, 25


class EqualRows:
    """Rows that are equal to each other.

    Parameters
    ----------
    first_occurrences : ndarray of shape (n,)
        For each row the first that is equal to it.
    """

    def __init__(self, first_occurrences: NDArray[np.intp]) -> None:
        _, self._group = np.unique(first_occurrences, return_inverse=True)
        self._sizes = np.bincount(self._group)
        self.all_distinct = len(self._sizes) == len(first_occurrences)

    def sums(self, values: Floats) -> Floats:
        """Return the sums of columns over each group, of shape (m, n_groups)."""
        return np.stack([np.bincount(self._group, row) for row in values])

    def expand(self, values: Floats) -> Floats:
        """Return the columns of groups for each of their rows, of shape (m, n)."""
        return np.ascontiguousarray(values[:, self._group])

    def means(self, values: Floats) -> Floats:
        """Return each column as the mean over its group."""
        return values if self.all_distinct else self.expand(self.sums(values) / self._sizes)


class WeightMatrixSolver(ABC):
    """What solves V Y = sums in the least squares of V, for Y whose equal rows are equal and whose rows sum to 0."""

    @abstractmethod
    def __call__(self, sums: Floats, start: Floats) -> Floats:
        """Return Y for sums of shape (n_components, n) that add up to 0, and something near Y."""

    @classmethod
    def create(cls, pairs: CondensedPairs, equal_rows: EqualRows) -> WeightMatrixSolver:
        """Return the one that suits the pairs."""
        if not pairs.is_weighted:
            return UnweightedSolver(pairs.n, equal_rows)
        return (
            CholeskySolver(pairs, equal_rows)
            if pairs.n <= _MAX_CHOLESKY_ROWS
            else ConjugateGradientSolver(pairs, equal_rows)
        )


class UnweightedSolver(WeightMatrixSolver):
    """Pairs that all count as much: V = n I - 1 1'."""

    def __init__(self, n: int, equal_rows: EqualRows) -> None:
        self._n, self._equal_rows = n, equal_rows

    def __call__(self, sums: Floats, start: Floats) -> Floats:  # noqa: ARG002
        """Return sums / n, the means over equal rows."""
        return self._equal_rows.means(sums / self._n)


class CholeskySolver(WeightMatrixSolver):
    """V + 1 1' / n, which is positive definite where the pairs hang together, as its Cholesky factor; equal rows are added up."""

    def __init__(self, pairs: CondensedPairs, equal_rows: EqualRows) -> None:
        self._equal_rows = equal_rows
        matrix = -pairs.to_square(pairs.weights)
        if not equal_rows.all_distinct:
            matrix = equal_rows.sums(equal_rows.sums(matrix).T)
        np.fill_diagonal(matrix, 0.0)
        masses = -matrix.sum(axis=1)
        np.fill_diagonal(matrix, masses)
        # Any number in the place of 1 / n does; this one is of the size of the entries of V.
        matrix += masses.mean() / len(matrix)
        try:
            self._factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True)
        except linalg.LinAlgError as error:
            raise DataError(
                "The weights differ by so much that rows hang together by next to nothing. Leave out pairs of small weight."
            ) from error

    def __call__(self, sums: Floats, start: Floats) -> Floats:  # noqa: ARG002
        """Solve."""
        given = sums if self._equal_rows.all_distinct else self._equal_rows.sums(sums)
        solved = np.ascontiguousarray(linalg.cho_solve(self._factor, given.T).T)
        if not self._equal_rows.all_distinct:
            solved = self._equal_rows.expand(solved)
        return solved - solved.mean(axis=1, keepdims=True)


class ConjugateGradientSolver(WeightMatrixSolver):
    """Conjugate gradients, scaled by the diagonal of V, all columns beside each other."""

    def __init__(self, pairs: CondensedPairs, equal_rows: EqualRows) -> None:
        self._pairs, self._equal_rows = pairs, equal_rows
        self._inverse_diagonal = 1.0 / equal_rows.means(pairs.row_weights()[None])

    def __call__(self, sums: Floats, start: Floats) -> Floats:
        """Return what is near enough to the solution, and nearer than the start."""
        Y = start.copy()
        left = self._equal_rows.means(sums - self._pairs.multiply_by_weight_matrix(Y))
        scaled = left * self._inverse_diagonal
        direction = scaled.copy()
        sizes = (left * scaled).sum(axis=1)
        ends = _CG_TOLERANCE**2 * sizes
        for _ in range(_MAX_CG_STEPS):
            turned = self._equal_rows.means(self._pairs.multiply_by_weight_matrix(direction))
            curvature = (direction * turned).sum(axis=1)
            moving = (sizes > ends) & (curvature > 0)
            if not moving.any():
                break
            step = np.divide(sizes, curvature, out=np.zeros_like(sizes), where=moving)
            Y += step[:, None] * direction
            left -= step[:, None] * turned
            scaled = left * self._inverse_diagonal
            before, sizes = sizes, np.where(moving, (left * scaled).sum(axis=1), sizes)
            ratio = np.divide(sizes, before, out=np.zeros_like(sizes), where=moving)
            direction = scaled + ratio[:, None] * direction
        return Y - Y.mean(axis=1, keepdims=True)
