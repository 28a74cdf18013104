"""How much of a spectrum lies below 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz.reduction.krylov import Quadrature
from tamiz.statistics.base import Floats

# An eigenvalue below this share of the largest is 0 to rounding.
EIGENVALUE_ROUNDING = 1e-12


@dataclass(frozen=True)
class NegativeShare:
    """The sum of the negative eigenvalues over the sum of all, both without signs.

    Attributes
    ----------
    value : float
        In [0, 1].
    error : float
        Its standard error, 0 where all eigenvalues are known.
    absolute_sum : float
        The sum of all eigenvalues without signs.
    negative_error : float
        The standard error of the sum of the negative ones.
    """

    value: float
    error: float
    absolute_sum: float
    negative_error: float = 0.0

    @classmethod
    def exact(cls, values: Floats) -> NegativeShare:
        """Return it for all eigenvalues."""
        sizes = np.abs(values)
        sizes[sizes <= EIGENVALUE_ROUNDING * sizes.max()] = 0.0
        whole = float(sizes.sum())
        return cls(float(sizes[values < 0].sum()) / whole if whole else 0.0, 0.0, whole)

    @classmethod
    def estimate(cls, quadratures: tuple[Quadrature, ...], n: int, total: float) -> NegativeShare:
        """Return it from what random directions saw of n eigenvalues whose sum is known.

        The error is that of the mean over the directions, and what the last product changed: nodes are few around 0, where the
        sum has its bend.
        """
        before, last = (n * _negative_sums(quadrature) for quadrature in quadratures)
        negative = float(last.mean())
        # All sizes: the sum with signs, and the negative ones twice.
        whole = total + 2 * negative
        if not negative or whole <= 0:
            return cls(0.0, 0.0, total)
        error = np.hypot(last.std(ddof=1) / np.sqrt(len(last)), negative - before.mean())
        return cls(negative / whole, float(abs(total) / whole * (error / whole)), whole, float(error))


def _negative_sums(quadrature: Quadrature) -> Floats:
    """Return what each direction sees of the negative eigenvalues' sizes."""
    floor = EIGENVALUE_ROUNDING * np.abs(quadrature.nodes).max()
    return quadrature.weights @ np.where(quadrature.nodes < -floor, -quadrature.nodes, 0.0)
