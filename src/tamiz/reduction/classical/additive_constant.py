"""Additive constants that make distances Euclidean: for squared distances (Lingoes) and for distances (Cailliez)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.arrays import Floats
from tamiz.reduction.classical.inner_products import InnerProducts, SquaredDistances
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import Subspace, leading_eigenpairs, orthonormalize, random_orthonormal

# Residual norm at convergence, relative to the smallest eigenvalue of B; the constant then has about the squared relative error.
RESIDUAL_TOLERANCE = 1e-5
# Eigenvalues below this share of the largest are rounding errors.
_EIGENVALUE_FLOOR = 1e-12
# Vectors of one product, and largest number of products.
_BLOCK_SIZE, _MAX_PRODUCTS = 8, 200
# Relative imaginary part below which an eigenvalue counts as real.
_IMAGINARY_TOLERANCE = 1e-6


@dataclass(frozen=True)
class AdditiveConstant:
    """An additive constant with its residual.

    Attributes
    ----------
    value : float
    residual, tolerance : float
        |B v| for the unit vector v of the smallest eigenvalue, with B of the corrected distances, which should be 0, and the
        tolerance. The residual is 0 after a dense decomposition.
    squared_distances : SquaredDistances
        The corrected squared distances.
    """

    value: float
    residual: float
    tolerance: float
    squared_distances: SquaredDistances


def lingoes_constant(
    dissimilarities: Dissimilarities, B: InnerProducts, dense: bool, smallest_eigenvalue: float
) -> AdditiveConstant:
    """Return the smallest c >= 0 that makes d^2 + 2 c Euclidean: minus the smallest eigenvalue of B.

    Parameters
    ----------
    dissimilarities : Dissimilarities
    B : InnerProducts
        Inner products of the uncorrected distances.
    dense : bool
        Decompose the matrix; else use only products with it.
    smallest_eigenvalue : float
        The smallest eigenvalue of B, or its estimate without a dense decomposition; below 0.

    References
    ----------
    Lingoes (1971), Some boundary conditions for a monotone analysis of symmetric matrices, Psychometrika 36.
    """
    if dense:
        value, residual = -smallest_eigenvalue, 0.0
    else:
        found = leading_eigenpairs(
            lambda X: -B(X), B.n, 1, tol=RESIDUAL_TOLERANCE, floor=_EIGENVALUE_FLOOR, max_vectors=_basis_size(B.n)
        )
        value, residual = float(found.values[0]), float(found.residuals[0])
    return AdditiveConstant(
        value, residual, RESIDUAL_TOLERANCE * value, SquaredDistances.lingoes_corrected(dissimilarities, value)
    )


def cailliez_constant(
    dissimilarities: Dissimilarities, B: InnerProducts, dense: bool, smallest_eigenvalue: float
) -> AdditiveConstant:
    """Return the smallest c >= 0 such that d + c' is Euclidean for all c' >= c.

    It is the largest real c for which some centred unit vector v satisfies v' B v + 2 c v' A v + c^2 / 2 = 0, with A computed from
    distances as B is from squared distances: the largest real eigenvalue of [[0, 2 B], [-I, -4 A]].

    Parameters
    ----------
    dissimilarities, B, dense, smallest_eigenvalue
        As for `lingoes_constant`.

    References
    ----------
    Cailliez (1983), The analytical solution of the additive constant problem, Psychometrika 48.
    """
    A = InnerProducts(dissimilarities, SquaredDistances.unsquared())
    tol = RESIDUAL_TOLERANCE * abs(smallest_eigenvalue)
    value, residual = (_largest_root(B.to_dense(), A.to_dense()), 0.0) if dense else _cailliez_by_krylov(B, A, tol)
    return AdditiveConstant(value, residual, tol, SquaredDistances.cailliez_corrected(value))


def _basis_size(n: int) -> int:
    """Return the size of the basis: a larger one needs fewer products; n / 10 vectors use a tenth of the memory of B."""
    return min(max(n // 10, 12 * _BLOCK_SIZE), 80 * _BLOCK_SIZE)


def _largest_root(B: Floats, A: Floats) -> float:
    n = len(B)
    linear = np.block([[np.zeros((n, n)), 2.0 * B], [-np.eye(n), -4.0 * A]])
    found = linalg.eigvals(linear)
    real = found.real[np.abs(found.imag) <= _IMAGINARY_TOLERANCE * np.abs(found)]
    return max(float(real.max(initial=0.0)), 0.0)


def _cailliez_by_krylov(B: InnerProducts, A: InnerProducts, tol: float) -> tuple[float, float]:
    """Return the constant and its residual, from a subspace that is extended by the residuals of the smallest eigenpairs.

    The larger root c of v' B v + 2 c v' A v + c^2 / 2 is maximal for the null vector v of the corrected B. The maximum over a
    subspace grows with the subspace, and its error is the square of the error of the vector.
    """
    basis_size = _basis_size(B.n)
    space = Subspace(B.n, basis_size + _BLOCK_SIZE, B, A)
    new = random_orthonormal(B.n, _BLOCK_SIZE)
    new = orthonormalize(new - new.mean(axis=1, keepdims=True))
    constant, residual = 0.0, np.inf
    for _ in range(_MAX_PRODUCTS):
        space.add(new)
        of_squares, of_distances = space.projected(0), space.projected(1)
        if space.size <= 8 * _BLOCK_SIZE:
            # Global search while the subspace is small; later only local refinement.
            constant = max(constant, _largest_root(of_squares, of_distances))
        constant, values, Y = _refine_root(of_squares, of_distances, constant)
        least = Y[:, :_BLOCK_SIZE].T
        vectors = least @ space.basis
        images = least @ space.images_of(0) + 2 * constant * (least @ space.images_of(1)) + constant**2 / 2 * vectors
        residual = float(np.linalg.norm(images[0]))
        if residual <= tol:
            break
        new = space.orthogonal_part(images - values[:_BLOCK_SIZE, None] * vectors)
        if not len(new):
            break
        if space.size + len(new) > space.capacity:
            space.restrict_to(Y[:, : basis_size // 2])
    return constant, residual


def _refine_root(of_squares: Floats, of_distances: Floats, constant: float) -> tuple[float, Floats, Floats]:
    """Refine the constant within a subspace; also return the eigenpairs of the corrected matrix there, ascending."""
    for _ in range(50):
        values, Y = linalg.eigh(of_squares + 2 * constant * of_distances + constant**2 / 2 * np.eye(len(of_squares)))
        v = Y[:, 0]
        b, b_1 = float(v @ of_squares @ v), float(v @ of_distances @ v)
        if 4 * b_1**2 < 2 * b:
            break
        raised = -2 * b_1 + np.sqrt(4 * b_1**2 - 2 * b)
        if raised <= constant * (1 + 1e-13):
            break
        constant = raised
    return constant, values, Y


CORRECTIONS: dict[str, Callable[[Dissimilarities, InnerProducts, bool, float], AdditiveConstant]] = {
    "lingoes": lingoes_constant,
    "cailliez": cailliez_constant,
}
