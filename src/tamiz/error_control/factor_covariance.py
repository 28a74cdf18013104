"""Covariance matrices of more columns than rows: a diagonal and a factor with one column for each row.

The correlations of n rows have rank n. Shrunk to the identity, they are :math:`D + U U^T` with U of shape (p, n), whose inverse,
conditional distributions and knockoffs cost O(p n^2) instead of O(p^3), by Woodbury's formula.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tamiz.arrays import Floats

_MAX_SWEEPS, _TOLERANCE = 200, 1e-7
# s is at most this share of twice the diagonal, so that the noise of knockoffs is a diagonal and a factor, too.
_MAX_SHARE = 0.999


@dataclass(frozen=True)
class FactorCovariance:
    """The matrix D + U U'.

    Attributes
    ----------
    diagonal : ndarray of shape (p,)
        D, positive.
    factor : ndarray of shape (p, r)
        U.
    """

    diagonal: Floats
    factor: Floats

    def __len__(self) -> int:
        return len(self.diagonal)

    def to_array(self) -> Floats:
        """Return the matrix, of shape (p, p)."""
        return np.diag(self.diagonal) + self.factor @ self.factor.T

    @cached_property
    def inverse_factor(self) -> Floats:
        """V of the inverse, which is 1 / D - V V'."""
        scaled = self.factor / self.diagonal[:, None]
        root = np.linalg.cholesky(np.eye(self.factor.shape[1]) + self.factor.T @ scaled)
        return np.asarray(np.linalg.solve(root, scaled.T).T)

    def conditional(self, q: int) -> tuple[FactorCovariance, Floats]:
        """Return the covariance of the first q columns given the others, and the coefficients of their regression on these."""
        rest = FactorCovariance(self.diagonal[q:], self.factor[q:])
        coefficients = np.linalg.solve(rest.to_array(), rest.factor)
        left = np.eye(self.factor.shape[1]) - rest.factor.T @ coefficients
        eigenvalues, vectors = np.linalg.eigh((left + left.T) / 2)
        root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        return FactorCovariance(self.diagonal[:q], self.factor[:q] @ root), coefficients @ self.factor[:q].T

    def knockoff_variances(self, method: str, check: Callable[[], None] = lambda: None) -> Floats:
        """Return the vector s of a method, as `tamiz.error_control.knockoff_variances` does, with s below twice the diagonal."""
        variances = self.diagonal + (self.factor**2).sum(axis=1)
        scaled = FactorCovariance(self.diagonal / variances, self.factor / np.sqrt(variances)[:, None])
        # With fewer factors than columns the smallest eigenvalue is at least the smallest of the diagonal.
        s = np.full(len(self), min(2 * _MAX_SHARE * float(scaled.diagonal.min(initial=1.0)), 1.0))
        if method != "equicorrelated":
            s /= 2
            for _ in range(_MAX_SWEEPS):
                check()
                if scaled._sweep(s) <= _TOLERANCE:
                    break
        return s * variances

    def _sweep(self, s: Floats) -> float:
        """Minimise tr(G^-1) over each s in turn, as in `mvr`; return the largest relative change.

        With d = 2 D - s, the inverse of 2 (D + U U') - S is 1 / d - U M U' / d^2 with M = (I / 2 + U' U / d)^-1.
        """
        factor, largest = self.factor, 0.0
        remainder = 2 * self.diagonal - s
        squares = factor.T @ (factor / remainder[:, None] ** 2)
        middle = np.linalg.inv(np.eye(factor.shape[1]) / 2 + factor.T @ (factor / remainder[:, None]))
        for j, row in enumerate(factor):
            d, image = remainder[j], middle @ row
            explained = row @ image
            entry = 1 / d - explained / d**2
            norm = np.sqrt(max(1 / d**2 - 2 * explained / d**3 + image @ squares @ image / d**2, 0.0))
            found = min(s[j] + (1 - norm * s[j]) / (norm + entry), 2 * _MAX_SHARE * self.diagonal[j])
            largest = max(largest, abs(found - s[j]) / s[j])
            s[j], remainder[j] = found, 2 * self.diagonal[j] - found
            change = 1 / remainder[j] - 1 / d
            middle -= np.outer(image, image) * (change / (1 + change * explained))
            squares += np.outer(row, row) * (1 / remainder[j] ** 2 - 1 / d**2)
        return largest
