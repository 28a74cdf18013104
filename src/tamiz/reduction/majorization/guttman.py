"""The Guttman transform's division by V, the weights' own matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy import linalg

from tamiz.reduction.majorization.pairs import Pairs
from tamiz.statistics.base import Floats

# Up to so many rows V is factored once, in n^3 / 3 operations; beyond, every division is a few products with it.
_FACTORED_ROWS = 1500
# What is left of an equation, next to what there was, when steps towards its solution end, and the most steps. A step towards
# the transform lowers the stress too, so it need not be reached.
_LEFT, _MOST_STEPS = 1e-3, 25


class Division(ABC):
    """What solves V Y = sums, for rows that sum to 0."""

    @abstractmethod
    def __call__(self, sums: Floats, start: Floats) -> Floats:
        """Return Y, rows that sum to 0, for sums of shape (n_components, n) and something near Y."""

    @classmethod
    def of(cls, pairs: Pairs) -> Division:
        """Return the one that suits the pairs."""
        if not pairs.is_weighted:
            return ByNumber(pairs.n)
        return Factored(pairs) if pairs.n <= _FACTORED_ROWS else Stepwise(pairs)


class ByNumber(Division):
    """Pairs that all count as much: V = n I - 1 1'."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __call__(self, sums: Floats, start: Floats) -> Floats:  # noqa: ARG002
        """Return sums / n."""
        return sums / self._n


class Factored(Division):
    """V + 1 1' / n, which is positive definite where the pairs hang together, as its Cholesky factor."""

    def __init__(self, pairs: Pairs) -> None:
        matrix = -pairs.square(pairs.weights)
        masses = -matrix.sum(axis=1)
        np.fill_diagonal(matrix, masses)
        # Any number in the place of 1 / n does; this one is of the size of the entries of V.
        matrix += masses.mean() / pairs.n
        self._factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True)

    def __call__(self, sums: Floats, start: Floats) -> Floats:  # noqa: ARG002
        """Solve."""
        return np.ascontiguousarray(linalg.cho_solve(self._factor, sums.T).T)


class Stepwise(Division):
    """Conjugate gradients, scaled by the diagonal of V, all columns beside each other."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        self._inverse = 1.0 / pairs.masses()

    def __call__(self, sums: Floats, start: Floats) -> Floats:
        """Return what is near enough to the solution, and nearer than the start."""
        Y = start.copy()
        left = sums - self._pairs.weighed(Y)
        scaled = left * self._inverse
        direction = scaled.copy()
        sizes = (left * scaled).sum(axis=1)
        ends = _LEFT**2 * sizes
        for _ in range(_MOST_STEPS):
            turned = self._pairs.weighed(direction)
            curvature = (direction * turned).sum(axis=1)
            moving = (sizes > ends) & (curvature > 0)
            if not moving.any():
                break
            step = np.divide(sizes, curvature, out=np.zeros_like(sizes), where=moving)
            Y += step[:, None] * direction
            left -= step[:, None] * turned
            scaled = left * self._inverse
            before, sizes = sizes, np.where(moving, (left * scaled).sum(axis=1), sizes)
            ratio = np.divide(sizes, before, out=np.zeros_like(sizes), where=moving)
            direction = scaled + ratio[:, None] * direction
        return Y - Y.mean(axis=1, keepdims=True)
