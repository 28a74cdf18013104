"""Constants that make distances Euclidean: added to the squares (Lingoes) or to the distances (Cailliez)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.reduction.classical.inner_products import InnerProducts, SquaredDistances
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import Subspace, leading_eigenpairs, orthonormalize, random_orthonormal
from tamiz.statistics.base import Floats

# Residuals, next to the least eigenvalue of B, at which a constant is found: it is then right to about their squares.
RESIDUAL_TOLERANCE = 1e-5
# Eigenvalues are no smaller than this beside the largest, or they are rounding.
_EIGENVALUE_FLOOR = 1e-12
# Vectors that a product takes, and products after which a search is cut off.
_BLOCK_SIZE, _MAX_PRODUCTS = 8, 200
# The imaginary part of a real eigenvalue, next to it, is rounding.
_IMAGINARY_TOLERANCE = 1e-6


@dataclass(frozen=True)
class AdditiveConstant:
    """A constant and how far it is from its equation.

    Attributes
    ----------
    value : float
    residual, tolerance : float
        |B v|, with B of the corrected distances, for the unit vector v that it should take to 0, and what was to be reached; the
        first is 0 where B was decomposed whole.
    squared_distances : SquaredDistances
        The squared distances with it.
    """

    value: float
    residual: float
    tolerance: float
    squared_distances: SquaredDistances


def lingoes_constant(
    dissimilarities: Dissimilarities, B: InnerProducts, dense: bool, smallest_eigenvalue: float
) -> AdditiveConstant:
    """Return the least constant c >= 0 that makes d^2 + 2 c Euclidean: the least eigenvalue of B with its sign turned.

    Parameters
    ----------
    dissimilarities : Dissimilarities
    B : InnerProducts
        Of the distances as they are.
    dense : bool
        Decompose the whole matrix; else products alone.
    smallest_eigenvalue : float
        The least eigenvalue of B, or the smallest that was seen where not the whole was decomposed; below 0.

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
    """Return the least constant c >= 0 from which on d + c is Euclidean.

    It is the largest real c for which some centred v has v' B v + 2 c v' A v + c^2 / 2 = 0, with A made of distances as B is of
    their squares; the largest real eigenvalue of [[0, 2 B], [-I, -4 A]].

    Parameters
    ----------
    rows, B, whole, least
        As for `lingoes`.

    References
    ----------
    Cailliez (1983), The analytical solution of the additive constant problem, Psychometrika 48.
    """
    A = InnerProducts(dissimilarities, SquaredDistances.unsquared())
    wanted = RESIDUAL_TOLERANCE * abs(smallest_eigenvalue)
    value, residual = (_largest_root(B.to_dense(), A.to_dense()), 0.0) if dense else _cailliez_by_krylov(B, A, wanted)
    return AdditiveConstant(value, residual, wanted, SquaredDistances.cailliez_corrected(value))


def _basis_size(n: int) -> int:
    """Return how many vectors of length n are kept: a long basis needs fewer products, and a tenth of a matrix is little."""
    return min(max(n // 10, 12 * _BLOCK_SIZE), 80 * _BLOCK_SIZE)


def _largest_root(B: Floats, A: Floats) -> float:
    n = len(B)
    linear = np.block([[np.zeros((n, n)), 2.0 * B], [-np.eye(n), -4.0 * A]])
    found = linalg.eigvals(linear)
    real = found.real[np.abs(found.imag) <= _IMAGINARY_TOLERANCE * np.abs(found)]
    return max(float(real.max(initial=0.0)), 0.0)


def _cailliez_by_krylov(B: InnerProducts, A: InnerProducts, tol: float) -> tuple[float, float]:
    """Return the constant and its residual, by a space that grows along what is left of the corrected matrix's least pairs.

    The larger root c of v' B v + 2 c v' A v + c^2 / 2 is largest for the v that the corrected B takes to 0: it only grows with the
    space, and is right to the square of the vector's error.
    """
    room = _basis_size(B.n)
    space = Subspace(B.n, room + _BLOCK_SIZE, B, A)
    new = random_orthonormal(B.n, _BLOCK_SIZE)
    new = orthonormalize(new - new.mean(axis=1, keepdims=True))
    constant, residual = 0.0, np.inf
    for _ in range(_MAX_PRODUCTS):
        space.add(new)
        of_squares, of_distances = space.projected(0), space.projected(1)
        if space.size <= 8 * _BLOCK_SIZE:
            # The root of a space as a whole; later it is followed.
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
            space.restrict_to(Y[:, : room // 2])
    return constant, residual


def _refine_root(of_squares: Floats, of_distances: Floats, constant: float) -> tuple[float, Floats, Floats]:
    """Return the root above a constant within a space, and the eigenvalues and vectors of the corrected matrix there, ascending."""
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
