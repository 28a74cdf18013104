"""The largest eigenvalues of a symmetric operator that is known by its products alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.runtime.random import make_rng
from tamiz.runtime.validation import check_memory
from tamiz.statistics.base import Floats

# No seed that anyone makes data with: noise of the same numbers would not look random to the start.
_SEED = 6_180_339_887
# Vectors beside those wanted, at least: the gap to the last of them is what a search lives on. Products take eight at a time.
_EXTRA_VECTORS, _BLOCK_MULTIPLE = 4, 8
# Products after which a search that has not come to its end is cut off.
_MAX_PRODUCTS = 200
# Products within which residuals are to halve.
_PATIENCE = 8
# Vectors of a basis, in blocks, after which it is taken together again.
_MAX_BLOCKS = 12
# A direction of which no more than this is left, next to what it was, lay in the basis already.
_DEPENDENCE_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Quadrature:
    """What random directions see of a spectrum: for each of them x' f(A) x is the sum of its weights times f of the nodes.

    Exact for polynomials of degree 2 s - 1 after s products; the mean over random unit vectors x of shape (n,), times n, is the
    sum of f over all eigenvalues.

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
        Orthonormal, one a row.
    residuals : ndarray of shape (k,)
        |A v - value v|.
    smallest_value : float
        The smallest Ritz value seen: no eigenvalue of A is known to lie lower.
    quadratures : tuple of Quadrature
        What the random start saw of the whole spectrum, at the last product but one and at the last; nothing where all is known.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    smallest_value: float
    quadratures: tuple[Quadrature, ...] = ()


def leading_eigenpairs(
    product: Callable[[Floats], Floats], n: int, k: int, *, tol: float = 1e-6, floor: float = 1.0, max_vectors: int = 0
) -> LeadingEigenpairs:
    """Return the k largest eigenpairs by block Krylov with Rayleigh and Ritz.

    Parameters
    ----------
    product : callable
        X A for X of shape (m, n), A symmetric of shape (n, n).
    n, k : int
    tol : float, default=1e-6
        Residuals, next to the largest absolute value, at which a pair is found: its value is then right to about their squares
        over its gap to the others, its vector to the residual over the gap.
    floor : float, default=1.0
        Measure a residual next to its own value, but at least next to this share of the largest absolute one.
    max_vectors : int, default=0
        Vectors that are kept before they are taken together; at least a dozen blocks, at most n and a block.

    Returns
    -------
    Leading
        Whatever was found after 200 products, or when all that is left is the rounding of the products: residuals that have not
        halved in the last eight, and that lie within the space as much as elsewhere. The residuals tell.

    Raises
    ------
    MemoryError
        When the vectors and what A makes of them do not fit.

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
    restarted, least = False, np.inf
    worst: list[float] = []
    for n_products in range(1, _MAX_PRODUCTS + 1):
        space.add(new)
        values, Y = space.ritz_pairs()
        least = min(least, float(values[-1]))
        if not restarted:
            seen = [*seen[-1:], Quadrature(values, Y[:width] ** 2)]
        vectors, images = Y[:, :k].T @ space.basis, Y[:, :k].T @ space.images
        left = images - vectors * values[:k, None]
        residuals = np.linalg.norm(left, axis=1)
        sizes = np.maximum(np.abs(values[:k]), floor * np.abs(values).max())
        if (residuals <= tol * sizes).all() or n_products == _MAX_PRODUCTS:
            break
        relative = residuals / sizes
        worst.append(float(relative.max()))
        is_slow = n_products > _PATIENCE and worst[-1] > worst[-1 - _PATIENCE] / 2
        if is_slow and _is_rounding_error(left[np.argmax(relative)], space.basis):
            break
        new = space.orthogonal_part(space.images[-len(new) :])
        if not len(new):
            break
        if space.size + len(new) > space.capacity:
            space.restrict_to(Y[:, : 2 * width])
            restarted = True
    unit = scaled.unit
    told = tuple(Quadrature(one.nodes * unit, one.weights) for one in (seen[0], seen[-1]))
    return LeadingEigenpairs(values[:k] * unit, vectors, residuals * unit, least * unit, told)


def power_of_two(size: float) -> float:
    """Return a power of two near a size, by which numbers are divided without a change of their digits; 1 for 0 and infinity."""
    return float(np.ldexp(1.0, int(np.frexp(size)[1]))) if 0.0 < size < np.inf else 1.0


class _ScaledOperator:
    """An operator in a unit of its own size, so that squares of what it gives stay finite and apart from 0.

    Attributes
    ----------
    unit : float
        Set by the first product.
    """

    def __init__(self, product: Callable[[Floats], Floats]) -> None:
        self._product = product
        self.unit = 0.0

    def __call__(self, X: Floats) -> Floats:
        """Return the product in the unit."""
        Y = self._product(X)
        self.unit = self.unit or power_of_two(float(np.abs(Y).max(initial=0.0)))
        return np.asarray(Y / self.unit)


def _is_rounding_error(residual: Floats, basis: Floats) -> bool:
    """Return whether what is left of a Ritz pair comes of the rounding of products.

    Exact products leave nothing within the space, rounding leaves as much there as anywhere.
    """
    m, n = basis.shape
    return float(np.linalg.norm(basis @ residual)) > 0.3 * float(np.sqrt(m / n)) * float(np.linalg.norm(residual))


class Subspace:
    """Orthonormal vectors, one a row, with what an operator makes of them.

    Parameters
    ----------
    n, capacity : int
        Length and most number of vectors.
    *operators : callable
        Symmetric operators; `images` and `projected` are those of the first.
    """

    def __init__(self, n: int, capacity: int, *operators: Callable[[Floats], Floats]) -> None:
        check_memory(
            8.0 * capacity * (n + len(operators) * (n + capacity)),
            f"A search by {capacity:,} vectors of {n:,} numbers",
            "Ask for fewer components, or pass a smaller table.",
        )
        self.size, self.capacity = 0, capacity
        self._operators = operators
        # Memory that nothing is written to costs nothing.
        self._basis = np.empty((capacity, n))
        self._images = [np.empty((capacity, n)) for _ in operators]
        self._projected = [np.empty((capacity, capacity)) for _ in operators]

    @property
    def basis(self) -> Floats:
        """The vectors, of shape (size, n)."""
        return self._basis[: self.size]

    @property
    def images(self) -> Floats:
        """What the first operator makes of them, of shape (size, n)."""
        return self.images_of(0)

    def images_of(self, at: int) -> Floats:
        """Return what an operator makes of the vectors, of shape (size, n)."""
        return self._images[at][: self.size]

    def projected(self, at: int) -> Floats:
        """Return an operator within the space, of shape (size, size)."""
        return self._projected[at][: self.size, : self.size]

    def add(self, new: Floats) -> None:
        """Take up vectors that are orthonormal and orthogonal to all that are there."""
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
        """Return the eigenvalues of the first operator within the space, descending, and their vectors as columns."""
        values, Y = linalg.eigh(self.projected(0))
        return values[::-1], Y[:, ::-1]

    def restrict_to(self, Y: Floats) -> None:
        """Keep the combinations that the columns of Y stand for, and nothing else."""
        size = Y.shape[1]
        for rows in (self._basis, *self._images):
            rows[:size] = Y.T @ rows[: self.size]
        for projected in self._projected:
            projected[:size, :size] = Y.T @ projected[: self.size, : self.size] @ Y
        self.size = size

    def orthogonal_part(self, new: Floats) -> Floats:
        """Return orthonormal vectors for what some have beside the space, none where they lie in it."""
        whole = np.linalg.norm(new, axis=1)
        for _ in range(2):
            new = new - (new @ self.basis.T) @ self.basis
        new = new[np.linalg.norm(new, axis=1) > _DEPENDENCE_TOLERANCE * whole]
        if not len(new):
            return new
        kept = orthonormalize(new, _DEPENDENCE_TOLERANCE * float(whole.max()))
        return orthonormalize(kept - (kept @ self.basis.T) @ self.basis) if len(kept) else kept


def random_orthonormal(n: int, width: int) -> Floats:
    """Return random orthonormal vectors, the same ones every time."""
    return orthonormalize(make_rng(_SEED).standard_normal((width, n)))


def orthonormalize(rows: Floats, tolerance: float = 0.0) -> Floats:
    """Return orthonormal rows that span some, without those of which no more than `tolerance` is left beside the ones before."""
    directions, lengths = linalg.qr(rows.T, mode="economic")
    return np.ascontiguousarray(directions.T[np.abs(np.diag(lengths)) > tolerance])
