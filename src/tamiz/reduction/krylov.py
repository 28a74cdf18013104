"""The largest eigenvalues of a symmetric operator by block Krylov iteration with Rayleigh-Ritz, from products alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.arrays import Floats
from tamiz.runtime.random import make_rng
from tamiz.runtime.validation import check_memory

# An unusual seed: data generated with the same seed would not be independent of the random start.
_SEED = 6_180_339_887
# Extra vectors, at least: convergence depends on the ratio to the last Ritz value. Products process vectors in eights.
_EXTRA_VECTORS, _BLOCK_MULTIPLE = 4, 8
# Largest number of products.
_MAX_PRODUCTS = 200
# The iteration counts as slow if residuals do not halve within this many products.
_PATIENCE = 8
# Blocks of a basis after which the iteration restarts with its best combinations.
_MAX_BLOCKS = 12
# Relative norm of the orthogonal part below which a vector counts as linearly dependent on the basis.
_DEPENDENCE_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Quadrature:
    """Gauss quadrature of the spectrum from random vectors x: x' f(A) x is approximated by sum(weights * f(nodes)).

    After s products it is exact for polynomials of degree 2 s - 1. The mean over random unit vectors, times n, estimates the sum
    of f over all eigenvalues.

    Attributes
    ----------
    nodes : ndarray of shape (m,)
    weights : ndarray of shape (n_directions, m)
        Each row sums to 1.

    References
    ----------
    Golub and Meurant (2010), Matrices, Moments and Quadrature with Applications, chapter 6.
    """

    nodes: Floats
    weights: Floats


@dataclass(frozen=True)
class LeadingEigenpairs:
    """Eigenpairs of the largest eigenvalues, descending.

    Attributes
    ----------
    values : ndarray of shape (k,)
    vectors : ndarray of shape (k, n)
        Orthonormal rows.
    residuals : ndarray of shape (k,)
        |A v - value v|.
    smallest_value : float
        The smallest Ritz value, an upper bound of the smallest eigenvalue of A.
    quadratures : tuple of Quadrature
        Quadratures from the random start after the last but one and the last product; empty if all eigenvalues are computed.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    smallest_value: float
    quadratures: tuple[Quadrature, ...] = ()


def leading_eigenpairs(
    product: Callable[[Floats], Floats], n: int, k: int, *, tol: float = 1e-6, floor: float = 1.0, max_vectors: int = 0
) -> LeadingEigenpairs:
    """Return the k largest eigenpairs by block Krylov iteration with Rayleigh-Ritz.

    Parameters
    ----------
    product : callable
        Returns X A for X of shape (m, n), with A symmetric of shape (n, n).
    n, k : int
    tol : float, default=1e-6
        Residual norm at convergence, relative to the largest absolute eigenvalue. The error of an eigenvalue is about the squared
        residual divided by its distance to the others, the error of an eigenvector the residual divided by that distance.
    floor : float, default=1.0
        Residuals are relative to their own eigenvalue, but at least to this share of the largest absolute one.
    max_vectors : int, default=0
        Size of the basis before a restart; at least a dozen blocks, at most n plus one block.

    Returns
    -------
    LeadingEigenpairs
        The iteration also stops without convergence: after 200 products, or when the residuals are rounding errors (they did not
        halve within eight products and are not orthogonal to the basis). Check `residuals`.

    Raises
    ------
    MemoryError
        When the basis and its products do not fit in memory.

    References
    ----------
    Musco and Musco (2015), Randomized block Krylov methods for stronger and faster approximate singular value decomposition, NIPS.
    """
    width = min(-(-(k + _EXTRA_VECTORS) // _BLOCK_MULTIPLE) * _BLOCK_MULTIPLE, n)
    scaled = _ScaledOperator(product)
    space = Subspace(n, min(max(_MAX_BLOCKS * width, 4 * k, max_vectors), n) + width, scaled)
    new = random_orthonormal(n, width)
    width = len(new)
    seen: list[Quadrature] = []
    restarted, smallest = False, np.inf
    worst: list[float] = []
    for n_products in range(1, _MAX_PRODUCTS + 1):
        space.add(new)
        values, Y = space.ritz_pairs()
        smallest = min(smallest, float(values[-1]))
        if not restarted:
            seen = [*seen[-1:], Quadrature(values, Y[:width] ** 2)]
        vectors, images = Y[:, :k].T @ space.basis, Y[:, :k].T @ space.images
        residual_vectors = images - vectors * values[:k, None]
        residuals = np.linalg.norm(residual_vectors, axis=1)
        sizes = np.maximum(np.abs(values[:k]), floor * np.abs(values).max())
        if (residuals <= tol * sizes).all() or n_products == _MAX_PRODUCTS:
            break
        relative = residuals / sizes
        worst.append(float(relative.max()))
        is_slow = n_products > _PATIENCE and worst[-1] > worst[-1 - _PATIENCE] / 2
        if is_slow and _is_rounding_error(residual_vectors[np.argmax(relative)], space.basis):
            break
        new = space.orthogonal_part(space.images[-len(new) :])
        if not len(new):
            break
        if space.size + len(new) > space.capacity:
            space.restrict_to(Y[:, : 2 * width])
            restarted = True
    unit = scaled.unit
    quadratures = tuple(Quadrature(one.nodes * unit, one.weights) for one in (seen[0], seen[-1]))
    return LeadingEigenpairs(values[:k] * unit, vectors, residuals * unit, smallest * unit, quadratures)


def power_of_two(size: float) -> float:
    """Return a power of two near `size`, by which numbers can be divided without rounding; 1 for 0 and infinity."""
    return float(np.ldexp(1.0, int(np.frexp(size)[1]))) if 0.0 < size < np.inf else 1.0


class _ScaledOperator:
    """An operator divided by a power of two near its norm, so that squares of its products neither overflow nor vanish.

    Attributes
    ----------
    unit : float
        The power of two, set by the first product.
    """

    def __init__(self, product: Callable[[Floats], Floats]) -> None:
        self._product = product
        self.unit = 0.0

    def __call__(self, X: Floats) -> Floats:
        Y = self._product(X)
        self.unit = self.unit or power_of_two(float(np.abs(Y).max(initial=0.0)))
        return np.asarray(Y / self.unit)


def _is_rounding_error(residual: Floats, basis: Floats) -> bool:
    """Return whether the residual of a Ritz pair is a rounding error.

    An exact residual is orthogonal to the basis; rounding errors have components in all directions.
    """
    m, n = basis.shape
    return float(np.linalg.norm(basis @ residual)) > 0.3 * float(np.sqrt(m / n)) * float(np.linalg.norm(residual))


class Subspace:
    """Orthonormal basis vectors (rows) with their products with one or more operators.

    Parameters
    ----------
    n, capacity : int
        Length of the vectors and largest number of vectors.
    *operators : callable
        Symmetric operators; `images` belongs to the first.
    """

    def __init__(self, n: int, capacity: int, *operators: Callable[[Floats], Floats]) -> None:
        check_memory(
            8.0 * capacity * (n + len(operators) * (n + capacity)),
            f"A search by {capacity:,} vectors of {n:,} numbers",
            "Ask for fewer components, or pass a smaller table.",
        )
        self.size, self.capacity = 0, capacity
        self._operators = operators
        # np.empty uses no memory until rows are written.
        self._basis = np.empty((capacity, n))
        self._images = [np.empty((capacity, n)) for _ in operators]
        self._projected = [np.empty((capacity, capacity)) for _ in operators]

    @property
    def basis(self) -> Floats:
        """The vectors, of shape (size, n)."""
        return self._basis[: self.size]

    @property
    def images(self) -> Floats:
        """Products of the first operator with the vectors, of shape (size, n)."""
        return self.images_of(0)

    def images_of(self, at: int) -> Floats:
        """Return the products of an operator with the vectors, of shape (size, n)."""
        return self._images[at][: self.size]

    def projected(self, at: int) -> Floats:
        """Return an operator projected onto the subspace, of shape (size, size)."""
        return self._projected[at][: self.size, : self.size]

    def add(self, new: Floats) -> None:
        """Append orthonormal vectors that are orthogonal to the basis."""
        old, size = self.size, self.size + len(new)
        self.size = size
        self._basis[old:size] = new
        for product, images, projected in zip(self._operators, self._images, self._projected, strict=True):
            images[old:size] = product(new)
            beside = self.basis @ images[old:size].T
            projected[:size, old:size] = beside
            projected[old:size, :old] = beside[:old].T
            corner = projected[old:size, old:size]
            corner[:] = (corner + corner.T) / 2

    def ritz_pairs(self) -> tuple[Floats, Floats]:
        """Return the Ritz values of the first operator, descending, and their vectors as columns."""
        values, Y = linalg.eigh(self.projected(0))
        return values[::-1], Y[:, ::-1]

    def restrict_to(self, Y: Floats) -> None:
        """Replace the basis by its linear combinations with the columns of Y."""
        size = Y.shape[1]
        for rows in (self._basis, *self._images):
            rows[:size] = Y.T @ rows[: self.size]
        for projected in self._projected:
            projected[:size, :size] = Y.T @ projected[: self.size, : self.size] @ Y
        self.size = size

    def orthogonal_part(self, new: Floats) -> Floats:
        """Return an orthonormal basis of the parts of `new` orthogonal to the subspace; empty if there are none."""
        norms = np.linalg.norm(new, axis=1)
        for _ in range(2):
            new = new - (new @ self.basis.T) @ self.basis
        new = new[np.linalg.norm(new, axis=1) > _DEPENDENCE_TOLERANCE * norms]
        if not len(new):
            return new
        kept = orthonormalize(new, _DEPENDENCE_TOLERANCE * float(norms.max()))
        return orthonormalize(kept - (kept @ self.basis.T) @ self.basis) if len(kept) else kept


def random_orthonormal(n: int, width: int) -> Floats:
    """Return random orthonormal rows from a fixed seed."""
    return orthonormalize(make_rng(_SEED).standard_normal((width, n)))


def orthonormalize(rows: Floats, tolerance: float = 0.0) -> Floats:
    """Return orthonormal rows with the same span; rows whose orthogonal part is at most `tolerance` are dropped."""
    directions, lengths = linalg.qr(rows.T, mode="economic")
    return np.ascontiguousarray(directions.T[np.abs(np.diag(lengths)) > tolerance])
