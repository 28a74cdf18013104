"""Constants that make distances Euclidean: added to the squares (Lingoes) or to the distances (Cailliez)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.inner_products import InnerProducts, Squares
from tamiz.reduction.krylov import Subspace, leading, orthonormal, start
from tamiz.statistics.base import Floats

# Residuals, next to the least eigenvalue of B, at which a constant is found: it is then right to about their squares.
TOL = 1e-5
# Eigenvalues are no smaller than this beside the largest, or they are rounding.
_FLOOR = 1e-12
# Vectors that a product takes, and products after which a search is cut off.
_WIDTH, _MOST = 8, 200
# The imaginary part of a real eigenvalue, next to it, is rounding.
_REAL = 1e-6


@dataclass(frozen=True)
class Constant:
    """A constant and how far it is from its equation.

    Attributes
    ----------
    value : float
    residual, wanted : float
        |B v|, with B of the corrected distances, for the unit vector v that it should take to 0, and what was to be reached; the
        first is 0 where B was decomposed whole.
    squares : Squares
        The squared distances with it.
    """

    value: float
    residual: float
    wanted: float
    squares: Squares


def lingoes(rows: Dissimilarities, B: InnerProducts, whole: bool, least: float) -> Constant:
    """Return the least constant c >= 0 that makes d^2 + 2 c Euclidean: the least eigenvalue of B with its sign turned.

    Parameters
    ----------
    rows : Dissimilarities
    B : InnerProducts
        Of the distances as they are.
    whole : bool
        Decompose the whole matrix; else products alone.
    least : float
        The least eigenvalue of B, or the smallest that was seen where not the whole was decomposed; below 0.

    References
    ----------
    Lingoes (1971), Some boundary conditions for a monotone analysis of symmetric matrices, Psychometrika 36.
    """
    if whole:
        value, residual = -least, 0.0
    else:
        found = leading(lambda X: -B(X), B.n, 1, tol=TOL, floor=_FLOOR, room=_room(B.n))
        value, residual = float(found.values[0]), float(found.residuals[0])
    return Constant(value, residual, TOL * value, Squares.lifted(rows, value))


def cailliez(rows: Dissimilarities, B: InnerProducts, whole: bool, least: float) -> Constant:
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
    A = InnerProducts(rows, Squares.plain_distances())
    wanted = TOL * abs(least)
    value, residual = (_largest_root(B.dense(), A.dense()), 0.0) if whole else _by_products(B, A, wanted)
    return Constant(value, residual, wanted, Squares.farther(value))


def _room(n: int) -> int:
    """Return how many vectors of length n are kept: a long basis needs fewer products, and a tenth of a matrix is little."""
    return min(max(n // 10, 12 * _WIDTH), 80 * _WIDTH)


def _largest_root(B: Floats, A: Floats) -> float:
    n = len(B)
    linear = np.block([[np.zeros((n, n)), 2.0 * B], [-np.eye(n), -4.0 * A]])
    found = linalg.eigvals(linear)
    real = found.real[np.abs(found.imag) <= _REAL * np.abs(found)]
    return max(float(real.max(initial=0.0)), 0.0)


def _by_products(B: InnerProducts, A: InnerProducts, tol: float) -> tuple[float, float]:
    """Return the constant and its residual, by a space that grows along what is left of the corrected matrix's least pairs.

    The larger root c of v' B v + 2 c v' A v + c^2 / 2 is largest for the v that the corrected B takes to 0: it only grows with the
    space, and is right to the square of the vector's error.
    """
    room = _room(B.n)
    space = Subspace(B.n, room + _WIDTH, B, A)
    new = start(B.n, _WIDTH)
    new = orthonormal(new - new.mean(axis=1, keepdims=True))
    constant, residual = 0.0, np.inf
    for _ in range(_MOST):
        space.add(new)
        of_squares, of_distances = space.projected(0), space.projected(1)
        if space.size <= 8 * _WIDTH:
            # The root of a space as a whole; later it is followed.
            constant = max(constant, _largest_root(of_squares, of_distances))
        constant, values, Y = _followed(of_squares, of_distances, constant)
        least = Y[:, :_WIDTH].T
        vectors = least @ space.basis
        images = least @ space.images_of(0) + 2 * constant * (least @ space.images_of(1)) + constant**2 / 2 * vectors
        residual = float(np.linalg.norm(images[0]))
        if residual <= tol:
            break
        new = space.beside(images - values[:_WIDTH, None] * vectors)
        if not len(new):
            break
        if space.size + len(new) > space.room:
            space.keep(Y[:, : room // 2])
    return constant, residual


def _followed(of_squares: Floats, of_distances: Floats, constant: float) -> tuple[float, Floats, Floats]:
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


CORRECTIONS: dict[str, Callable[[Dissimilarities, InnerProducts, bool, float], Constant]] = {
    "lingoes": lingoes,
    "cailliez": cailliez,
}
