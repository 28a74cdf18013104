"""New directions for the smallest eigenvectors by Chebyshev polynomial filters of the matrix."""

from __future__ import annotations

import math

import numpy as np

from tamiz.arrays import Floats
from tamiz.runtime.random import make_rng
from tamiz.spectral.pencil import Pencil
from tamiz.spectral.rayleigh_ritz import RitzPairs

# Ratio of the polynomial at the lowest value to its maximum above the cut. A larger gain makes the directions nearly dependent.
FILTER_GAIN = 20.0
# The Ritz values above the block are used only once the residual of the block's largest value is below this share of the value.
_MAX_RELATIVE_RESIDUAL = 0.3
# Position of the Ritz value that is then used as the cut.
_CUT_POSITION = 12
_MAX_CUT_RATIO = 3.0
_MIN_DEGREE, _MAX_DEGREE = 3, 2000
_MIN_GROWTH = 1e-9
_LANCZOS_STEPS = 8


class ChebyshevFilter:
    """Polynomials of M that are at most 1 from a cut to the top of the spectrum and grow steeply below the cut.

    The degree depends on the Ritz values: the closer the wanted eigenvalues are to the cut, the more products are needed.

    Parameters
    ----------
    pencil : Pencil

    References
    ----------
    Zhou and Saad (2007), A Chebyshev-Davidson algorithm for large symmetric eigenproblems, SIAM J. Matrix Anal. Appl. 29.
    """

    def __init__(self, pencil: Pencil) -> None:
        self._pencil = pencil
        self.upper_bound = min(pencil.eigenvalue_bound, 1.01 * _bound_largest_eigenvalue(pencil))
        self._largest_degree = 0

    @property
    def description(self) -> str:
        return (
            f"Chebyshev polynomials of degree up to {self._largest_degree}"
            if self._largest_degree
            else "a Chebyshev polynomial"
        )

    def start_directions(self, X: Floats) -> Floats:
        """Return start directions: filtered random columns."""
        return self._apply(X, self._pencil.multiply(X), 0.4 * self.upper_bound, 6)

    def choose_polynomial(self, ritz: RitzPairs) -> tuple[float, int]:
        """Return the cut and the degree for the next polynomial, from the current Ritz values."""
        # The polynomial amplifies directions above the upper bound, so a bound that is too low is detected here and raised.
        highest = float(ritz.higher_values.max(initial=ritz.values[-1]))
        if highest > self.upper_bound:
            self.upper_bound = min(self._pencil.eigenvalue_bound, 1.02 * highest)
        lowest, largest = max(float(ritz.values[np.argmax(ritz.unconverged)]), 0.0), float(ritz.values[-1])
        self.upper_bound = max(self.upper_bound, 1.01 * lowest)
        if ritz.residuals[-1] > _MAX_RELATIVE_RESIDUAL * largest:
            cut = largest
        else:
            n_higher = max(_CUT_POSITION, 3 * len(ritz.values) // 2) - len(ritz.values)
            cut = min(float(ritz.higher_values[:n_higher].max(initial=largest)), _MAX_CUT_RATIO * largest)
        cut = min(max(cut, 1.05 * lowest), (lowest + self.upper_bound) / 2)
        growth = math.acosh(1 + 2 * (cut - lowest) / (self.upper_bound - cut))
        return cut, max(_MIN_DEGREE, math.ceil(math.acosh(FILTER_GAIN) / max(growth, _MIN_GROWTH)))

    def directions(self, ritz: RitzPairs) -> Floats:
        """Return p(M) X for the vectors that have not converged."""
        cut, degree = self.choose_polynomial(ritz)
        degree = min(degree, _MAX_DEGREE)
        self._largest_degree = max(self._largest_degree, degree)
        active = ritz.active_indices
        return self._apply(np.take(ritz.vectors, active, axis=1), np.take(ritz.products, active, axis=1), cut, degree)

    def _apply(self, X: Floats, products: Floats, cut: float, degree: int) -> Floats:
        pencil = self._pencil
        half, middle = (self.upper_bound - cut) / 2, (self.upper_bound + cut) / 2
        out = np.empty(X.shape)
        for columns, x in pencil.panels(X):
            width = columns.stop - columns.start
            # The polynomial is scaled to 1 at 0, which avoids overflow.
            scale = ratio = half / -middle
            before, y = x, pencil.scratch_panel(x.shape[1], 2)
            y[:, width:] = 0.0
            np.multiply(products[:, columns], pencil.inverse_sqrt_b[:, None], out=y[:, :width])
            y -= middle * before
            y *= scale / half
            for _ in range(degree - 1):
                following = 1 / (2 / scale - ratio)
                pencil.recurrence_step(y, before, 2 * following / half, middle, ratio * following)
                before, y, ratio = y, before, following
            np.multiply(y[:, :width], pencil.sqrt_b[:, None], out=out[:, columns])
        return out


def _bound_largest_eigenvalue(pencil: Pencil) -> float:
    """Return a close upper bound of the largest eigenvalue, from a few Lanczos steps."""
    v = make_rng(0).uniform(-1.0, 1.0, size=(pencil.n, 1))
    v /= np.linalg.norm(v)
    before, beta = np.zeros_like(v), 0.0
    diagonal, off_diagonal = [], []
    for _ in range(min(_LANCZOS_STEPS, pencil.n)):
        w = pencil.multiply(v)
        alpha = float(v[:, 0] @ w[:, 0])
        w -= alpha * v
        w -= beta * before
        beta = float(np.linalg.norm(w))
        diagonal.append(alpha)
        off_diagonal.append(beta)
        if beta < 1e-12 * pencil.eigenvalue_bound:
            break
        w /= beta
        before, v = v, w
    values, Y = np.linalg.eigh(np.diag(diagonal) + np.diag(off_diagonal[:-1], 1) + np.diag(off_diagonal[:-1], -1))
    return float(values[-1] + abs(off_diagonal[-1] * Y[-1, -1]))
