"""Directions towards the smallest eigenvalues by an algebraic multigrid."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from tamiz.spectral.pencil import Pencil
from tamiz.spectral.rayleigh_ritz import RitzPairs
from tamiz.statistics.base import Floats

# Jacobi's weight, under which errors along differences become smooth.
_JACOBI_WEIGHT = 2.0 / 3.0
_STRENGTH_THRESHOLD = 0.25
_MAX_COARSEST_ROWS = 300
# Coarser levels with more entries in all than this next to the graph, or one with nearly as many rows as that above it, cost more
# than they bring.
_MAX_ENTRY_RATIO = 5
_MAX_ROW_RATIO = 0.8


@dataclass(frozen=True)
class _Level:
    """A matrix, and how its rows hang on those of the next coarser one."""

    multiply: Callable[[Floats], Floats]
    smoother: Floats
    prolongation: sparse.csr_array
    restriction: sparse.csr_array


class Multigrid:
    """A V-cycle of Ruge and Stuben's hierarchy on the residuals: L^-1 for what is smooth, Jacobi for the rest.

    Parameters
    ----------
    pencil : Pencil

    Attributes
    ----------
    useful : bool
        Whether the levels shrink down to one that is small enough to be inverted.

    References
    ----------
    Ruge and Stuben (1987), Algebraic multigrid, in McCormick (ed.), Multigrid methods; Knyazev (2001), Toward the optimal
    preconditioned eigensolver, SIAM J. Sci. Comput. 23.
    """

    def __init__(self, pencil: Pencil) -> None:
        self._pencil = pencil
        self._levels: list[_Level] = []
        ones = np.ones(pencil.n)
        matrix = sparse.csr_matrix(pencil.matrix())
        product: Callable[[Floats], Floats] = lambda x: pencil.laplacian_product.multiply(ones, x)  # noqa: E731
        n_entries = 0
        while matrix.shape[0] > _MAX_COARSEST_ROWS:
            prolongation = _interpolation_matrix(matrix)
            restriction = sparse.csr_array(prolongation.T)
            coarse = sparse.csr_matrix(restriction @ (matrix @ prolongation))
            n_entries += coarse.nnz
            self.useful = (
                n_entries <= _MAX_ENTRY_RATIO * pencil.n_entries and coarse.shape[0] <= _MAX_ROW_RATIO * matrix.shape[0]
            )
            if not self.useful:
                return
            diagonal = matrix.diagonal()[:, None]
            smoother = np.divide(_JACOBI_WEIGHT, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
            self._levels.append(_Level(product, smoother, prolongation, restriction))
            matrix, product = coarse, sparse.csr_array(coarse).__matmul__
        self._coarsest = linalg.pinvh(matrix.toarray())
        self.useful = True

    @property
    def description(self) -> str:
        """What was done, in words."""
        return f"algebraic multigrid of {len(self._levels) + 1} levels"

    def directions(self, ritz: RitzPairs) -> Floats:
        """Return the answers to the residuals that are over target."""
        active = ritz.active_indices
        residuals = np.take(ritz.products, active, axis=1)
        residuals -= np.take(ritz.vectors, active, axis=1) * ritz.values[active]
        root = self._pencil.sqrt_b[:, None]
        answers = self._cycle(0, residuals * root)
        answers *= root
        return answers

    def _cycle(self, depth: int, b: Floats) -> Floats:
        if depth == len(self._levels):
            return np.asarray(self._coarsest @ b)
        level = self._levels[depth]
        x = level.smoother * b
        x += level.prolongation @ self._cycle(depth + 1, level.restriction @ (b - level.multiply(x)))
        x += level.smoother * (b - level.multiply(x))
        return x


def _interpolation_matrix(matrix: sparse.csr_matrix) -> sparse.csr_array:
    """Return what the rows of a matrix are, in terms of those that stay in the next coarser one."""
    # Its import takes a sixth of a second, and must not leave changed filters of warnings behind.
    with warnings.catch_warnings():
        from pyamg.classical import split
        from pyamg.classical.interpolate import direct_interpolation
        from pyamg.strength import classical_strength_of_connection

    strength = classical_strength_of_connection(matrix, theta=_STRENGTH_THRESHOLD)
    return sparse.csr_array(direct_interpolation(matrix, strength, split.RS(strength)))
