"""What no part of a set exceeds in a merit c'x / sqrt(x'Ax), whatever the columns' scales."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from tamiz.candidates import Masks
from tamiz.statistics.base import Floats

# The least eigenvalue of the matrix that bounds are made of, and what a bound has to spare for rounding, relative to it.
_MIN_EIGENVALUE, _ROUNDING_MARGIN = 1e-6, 1e-9


class ConeBound:
    """Upper bounds of c'x / sqrt(x'Ax) over the subsets x of a set, for A of numbers not below 0 with a diagonal above 0.

    With z_j = x_j sqrt(A_jj) the merit is r'z / sqrt(z'Rz), where R has a diagonal of 1: scales only say which z there are, and all
    z >= 0 are bounded in their place. B is R with what is beside the diagonal reduced as far as makes it positive definite, so
    z'Rz >= z'Bz. For any w >= r then r'z <= w'z <= sqrt(w'B^-1 w) sqrt(z'Bz) by Cauchy and Schwarz: sqrt(w'B^-1 w) is a bound. It
    is least for w = Bz at the z >= 0 that is nearest to B^-1 r, as non-negative least squares finds it.

    Parameters
    ----------
    c : ndarray of shape (n_columns,)
    A : ndarray of shape (n_columns, n_columns)
        A column of zeros is in no set.
    """

    def __init__(self, c: Floats, A: Floats) -> None:
        own = np.diagonal(A)
        root = np.sqrt(np.where(own > 0, own, 1.0))
        # R, and then B.
        matrix = A / np.outer(root, root)
        np.fill_diagonal(matrix, 1.0)
        least = float(np.linalg.eigvalsh(matrix)[0])
        matrix *= min(1.0, (1.0 - _MIN_EIGENVALUE) / max(1.0 - least, _MIN_EIGENVALUE))
        np.fill_diagonal(matrix, 1.0)
        self._B = matrix
        self._r = c / root

    def upper_bounds(self, masks: Masks) -> Floats:
        """Return the bound of every set."""
        return np.array([self._upper_bound(mask) for mask in masks])

    def _upper_bound(self, mask: Masks) -> float:
        if not mask.any():
            return 0.0
        B, r = self._B[np.ix_(mask, mask)], self._r[mask]
        L = np.linalg.cholesky(B)
        z, _ = nnls(L.T, solve_triangular(L, r, lower=True), maxiter=100 * len(r))
        w = np.maximum(B @ z, r)
        return float(np.linalg.norm(solve_triangular(L, w, lower=True))) * (1.0 + _ROUNDING_MARGIN)
