"""New directions for the smallest eigenvectors by an algebraic multigrid preconditioner."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from tamiz.arrays import Floats
from tamiz.runtime.optional_imports import import_optional
from tamiz.spectral.pencil import Pencil
from tamiz.spectral.rayleigh_ritz import RitzPairs

MIN_PYAMG = "5.2"
# Damping of the Jacobi smoother, which reduces high-frequency errors.
_JACOBI_WEIGHT = 2.0 / 3.0
_STRENGTH_THRESHOLD = 0.25
_MAX_COARSEST_ROWS = 300
# Multigrid is not worth its cost if the coarse levels together have more entries than this multiple of the graph's, or if a level
# has nearly as many rows as the level above it.
_MAX_ENTRY_RATIO = 5
_MAX_ROW_RATIO = 0.8


@dataclass(frozen=True)
class _Level:
    """One level of the hierarchy, and its interpolation to and from the next coarser level."""

    multiply: Callable[[Floats], Floats]
    smoother: Floats
    prolongation: sparse.csr_array
    restriction: sparse.csr_array


class Multigrid:
    """A V-cycle of Ruge and Stuben's algebraic multigrid, an approximate L^-1 applied to the residuals.

    Parameters
    ----------
    pencil : Pencil

    Attributes
    ----------
    useful : bool
        Whether the levels shrink quickly enough to one that is small enough to be inverted.

    Raises
    ------
    ImportError
        When pyamg, which is optional, is not installed.

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
        return f"algebraic multigrid of {len(self._levels) + 1} levels"

    def directions(self, ritz: RitzPairs) -> Floats:
        """Return the V-cycle applied to the residuals of the active vectors."""
        active = ritz.active_indices
        residuals = np.take(ritz.products, active, axis=1)
        residuals -= np.take(ritz.vectors, active, axis=1) * ritz.values[active]
        root = self._pencil.sqrt_b[:, None]
        corrections = self._cycle(0, residuals * root)
        corrections *= root
        return corrections

    def _cycle(self, depth: int, b: Floats) -> Floats:
        if depth == len(self._levels):
            return np.asarray(self._coarsest @ b)
        level = self._levels[depth]
        x = level.smoother * b
        x += level.prolongation @ self._cycle(depth + 1, level.restriction @ (b - level.multiply(x)))
        x += level.smoother * (b - level.multiply(x))
        return x


def _interpolation_matrix(matrix: sparse.csr_matrix) -> sparse.csr_array:
    """Return the interpolation from the next coarser level to the rows of a matrix."""
    # Imported here because pyamg needs 1/6 s to import, and it changes the warning filters.
    with warnings.catch_warnings():
        classical, strengths = (
            import_optional(
                f"pyamg.{name}",
                feature="Algebraic multigrid",
                package="pyamg",
                min_version=MIN_PYAMG,
                extra="multigrid",
            )
            for name in ("classical", "strength")
        )
    strength = strengths.classical_strength_of_connection(matrix, theta=_STRENGTH_THRESHOLD)
    return sparse.csr_array(classical.interpolate.direct_interpolation(matrix, strength, classical.split.RS(strength)))
