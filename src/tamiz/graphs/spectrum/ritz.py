"""Approximate eigenpairs, as far as they have come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz.graphs.spectrum.pencil import Pencil
from tamiz.statistics.base import Floats

# Pairs that are worked on at a time: with more, the lowest have converged before the others needed it.
_MAX_ACTIVE = 16
# Pairs are worked on until they are this far below target, for the sake of those above them.
_TARGET_SHARE = 0.3
# Values closer than this share of the tolerance are one eigenvalue: vectors turned into each other keep their residuals.
_TIE_SHARE = 0.01


@dataclass(frozen=True)
class RitzPairs:
    """The lowest Ritz pairs of a basis.

    Attributes
    ----------
    values, residuals : ndarray of shape (block,)
        Ascending values, and |M x - value x| of each.
    vectors, products : ndarray of shape (n, block)
        X and M X.
    residual_targets, tie_tolerances : ndarray of shape (block,)
        What the residuals are to come down to, and the distance within which a value is equal to its neighbour.
    higher_values : ndarray of shape (size of the basis - block,)
        The values of the pairs above these.
    """

    values: Floats
    residuals: Floats
    vectors: Floats
    products: Floats
    residual_targets: Floats
    tie_tolerances: Floats
    higher_values: Floats

    @classmethod
    def from_vectors(cls, pencil: Pencil, X: Floats, values: Floats, tol: float) -> RitzPairs:
        """Return orthonormal vectors with their residuals, for the values of all pairs."""
        products = pencil.multiply(X)
        own = values[: X.shape[1]]
        rest = X * own
        np.subtract(products, rest, out=rest)
        return cls(
            own,
            np.sqrt(np.einsum("ij,ij->j", rest, rest)),
            X,
            products,
            tol * own + pencil.rounding_residual,
            _TIE_SHARE * tol * own + pencil.rounding_residual,
            values[X.shape[1] :],
        )

    @property
    def unconverged(self) -> NDArray[np.bool_]:
        """Which pairs are still to be worked on."""
        return self.residuals > _TARGET_SHARE * self.residual_targets

    @property
    def active_indices(self) -> NDArray[np.intp]:
        """The lowest open pairs, as many as are worked on at a time, and as many of the highest others as fill the registers."""
        lowest = np.flatnonzero(self.unconverged)[:_MAX_ACTIVE]
        closed = np.setdiff1d(np.arange(len(self.values)), lowest)
        return np.sort(np.concatenate([lowest, closed[len(closed) - min(-len(lowest) % 4, len(closed)) :]]))

    def digits_over_target(self, n_wanted: int) -> float:
        """Return the digits by which the residuals of the wanted pairs are over target."""
        over = self.residuals[:n_wanted] / np.maximum(self.residual_targets[:n_wanted], np.finfo(np.float64).tiny)
        return float(np.log10(max(1.0, over.max(initial=1.0))))

    def multiplet_end(self, n_wanted: int) -> tuple[int, bool]:
        """Return how many pairs there are up to the last that equals the last one wanted, and whether that is known for sure."""
        end = n_wanted
        while end < len(self.values) and self.values[end] - self.values[end - 1] <= self.tie_tolerances[end]:
            if self.residuals[end] > self.residual_targets[end]:
                return end, False
            end += 1
        if end == len(self.values):
            return end, True
        return end, bool(self.values[end] - self.residuals[end] > self.values[end - 1] + self.tie_tolerances[end])
