"""The smallest eigenpairs of a sparse symmetric positive semidefinite matrix that maps constant vectors to 0.

Such matrices are those of locally linear embedding. Their small eigenvalues are 1e-6 to 1e-13 of the largest, which only solutions
with the matrix resolve: a block Krylov space of the inverse, from a Cholesky factorisation with a shift at the level of rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from tamiz.arrays import Floats
from tamiz.runtime.random import make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_memory
from tamiz.spectral.cholesky import SparseCholesky
from tamiz.statistics.eigenvector_signs import eigenvector_signs

_EPSILON = float(np.finfo(np.float64).eps)
# The dense solver is fastest up to this many rows, or if more than 1 / 6 of all pairs are wanted.
_MAX_DENSE_ROWS = 200
_DENSE_DIVISOR = 6
# Rounding errors of a matrix, of a factor and of products, as a multiple of the unit roundoff times the norm.
_ROUNDING = 16.0
# Factor by which the shift grows if the factorisation finds a pivot that is not positive, and the largest number of shifts.
_SHIFT_GROWTH = 8.0
_MAX_SHIFTS = 12
# Relative residual of the inverse at which a pair has converged, and with which it is accepted if rounding prevents a smaller one.
_TOLERANCE = 1e-9
_MAX_TOLERANCE = 1e-4
# That of the next pair, which only has to show where it is.
_NEXT_TOLERANCE = 1e-2
# Relative residuals that count as converged, and those above which the factorisation is repeated with a larger shift: ordinary
# matrices leave less, and beside a pair that is 0 to rounding it depends on the processor's kernels how much is left.
_MAX_RESIDUAL, _USUAL_RESIDUAL = 1e-6, 1e-9
# The search stops after this many rounds in which accepted residuals have not decreased by this ratio.
_STALL_ROUNDS = 2
_STALL_RATIO = 0.5
# Columns of a solution, and the largest number of blocks in the basis.
_BLOCK = 4
_MAX_ROUNDS = 60
# Blocks that a search needs, with a margin: most need four.
_USUAL_ROUNDS = 12


@dataclass(frozen=True)
class SemidefiniteSpectrum:
    """The smallest eigenpairs besides the constant vector.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Ascending, at least 0.
    vectors : ndarray of shape (n, m)
        Orthonormal and orthogonal to constant vectors; the largest absolute entry of each is positive.
    residuals : ndarray of shape (m,)
        |M y - lambda y|.
    next_value : float
        Estimate of the following eigenvalue, infinite if there is none.
    rounding : float
        Error that rounding may cause in eigenvalues and residuals.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    next_value: float
    rounding: float

    @property
    def determined(self) -> bool:
        """Whether the space of the vectors is determined: rounding could not exchange the last vector and the following one."""
        return self.next_value - self.values[-1] > self.rounding


def smallest_semidefinite_eigenpairs(matrix: sparse.csr_array, n_eigenpairs: int) -> SemidefiniteSpectrum:
    """Return the smallest eigenpairs of a matrix besides its null vector, which is constant.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Symmetric and positive semidefinite up to rounding; its rows sum to 0.
    n_eigenpairs : int
        Number of pairs, from 1 to n - 1.

    Returns
    -------
    SemidefiniteSpectrum
        Its bits do not depend on the number of threads.

    Warns
    -----
    ConvergenceWarning
        When a residual is above 1e-6 times its eigenvalue and above the level of rounding.

    Raises
    ------
    MemoryError
        When the factor does not fit into memory.

    Notes
    -----
    Up to 200 rows, or if more than a sixth of all pairs are wanted, by a dense solver; else by a block Krylov space of
    :math:`(M + s)^{-1}` on the complement of the constant vector, with the smallest s at which the factorisation succeeds; again
    with the largest wanted eigenvalue as s if a residual is too large. An eigenvalue is the Rayleigh quotient of its vector; its
    error is about that of rounding.

    Examples
    --------
    >>> from scipy import sparse
    >>> from tamiz.spectral.semidefinite import smallest_semidefinite_eigenpairs
    >>> path = sparse.csr_array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    >>> smallest_semidefinite_eigenpairs(path, 2).values.round(12)
    array([1., 3.])
    """
    n = matrix.shape[0]
    # The largest row sum bounds the norm.
    norm = float(abs(matrix).sum(axis=1).max())
    rounding = _ROUNDING * _EPSILON * norm
    if n <= _MAX_DENSE_ROWS or _DENSE_DIVISOR * n_eigenpairs > n:
        vectors, next_value, converged = _solve_dense(matrix, n_eigenpairs, norm)
    else:
        vectors, next_value, converged = _solve_by_inverse(matrix, n_eigenpairs, rounding)
        values, residuals = _rayleigh_quotients(matrix, vectors)
        if not converged or (residuals > _max_residuals(values, rounding, _USUAL_RESIDUAL)).any():
            # Beside a pair that is 0 to rounding, solutions have errors of its size in the other pairs. A shift of the size of the
            # largest wanted value keeps them small.
            vectors, next_value, converged = _solve_by_inverse(matrix, n_eigenpairs, float(values.max()))
    vectors = vectors * eigenvector_signs(vectors)
    values, residuals = _rayleigh_quotients(matrix, vectors)
    _warn_unconverged(values, residuals, rounding, converged=converged)
    return SemidefiniteSpectrum(values, vectors, residuals, next_value, rounding)


def _rayleigh_quotients(matrix: sparse.csr_array, vectors: Floats) -> tuple[Floats, Floats]:
    """Return the Rayleigh quotients of vectors, at least 0, and their residuals."""
    products = matrix @ vectors
    values = np.maximum(np.einsum("ij,ij->j", vectors, products), 0.0)
    return values, np.linalg.norm(products - vectors * values, axis=0)


def _max_residuals(values: Floats, rounding: float, share: float) -> Floats:
    """Return the largest residuals at a share of the eigenvalues, rounding errors aside."""
    return share * values + 4.0 * rounding


def _warn_unconverged(values: Floats, residuals: Floats, rounding: float, *, converged: bool) -> None:
    if not converged or (residuals > _max_residuals(values, rounding, _MAX_RESIDUAL)).any():
        worst = int(np.argmax(residuals))
        warn(
            "TZ501",
            f"An eigenvector has the residual {residuals[worst]:.2g} at the eigenvalue {values[worst]:.3g}: it has not "
            "converged, and the map is approximate.",
        )


def _solve_dense(matrix: sparse.csr_array, m: int, norm: float) -> tuple[Floats, float, bool]:
    n = matrix.shape[0]
    check_memory(24.0 * n * n, f"The dense matrix of {n:,} rows", "Request fewer eigenvectors.")
    # The constant vector is moved above the spectrum.
    dense = matrix.toarray() + (2.0 * norm + 1.0) / n
    values, vectors = linalg.eigh(dense, subset_by_index=(0, min(m, n - 1)), check_finite=False)
    # With all pairs wanted the last one is the constant vector.
    return np.ascontiguousarray(vectors[:, :m]), max(float(values[m]), 0.0) if m < n - 1 else np.inf, True


def _solve_by_inverse(matrix: sparse.csr_array, m: int, least_shift: float) -> tuple[Floats, float, bool]:
    """Return the wanted vectors, the value after them, and whether they have converged, by an inverse of at least this shift."""
    n = matrix.shape[0]
    block = -(-(m + 1) // _BLOCK) * _BLOCK
    factor = SparseCholesky(matrix)
    shift = _factorize_shifted(factor, least_shift)
    capacity = block * min(_MAX_ROUNDS, (n - 1) // block)
    check_memory(
        16.0 * n * min(capacity, _USUAL_ROUNDS * block),
        f"The search of {m:,} eigenvectors of {n:,} rows",
        "Request fewer eigenvectors.",
    )
    # The basis, its images (M + s)^-1 basis, as rows, and the projected inverse. Memory is used as the basis grows.
    basis, images = np.empty((2, capacity, n))
    projected = np.zeros((capacity, capacity))
    size = 0
    new = make_rng(0).uniform(-1.0, 1.0, size=(n, block))
    best, stalled = np.inf, 0
    while True:
        new = _orthonormalize(new, basis[:size])
        start, size = size, size + new.shape[1]
        basis[start:size] = new.T
        new = factor.solve(new)
        new -= new.mean(axis=0)
        images[start:size] = new.T
        projected[:size, start:size] = basis[:size] @ new
        projected[start:size, :start] = projected[:start, start:size].T
        inverse_values, Y = linalg.eigh((projected[:size, :size] + projected[:size, :size].T) / 2, check_finite=False)
        inverse_values, Y = inverse_values[::-1][: m + 1], Y[:, ::-1][:, : m + 1]
        errors = np.linalg.norm(Y.T @ images[:size] / inverse_values[:, None] - Y.T @ basis[:size], axis=1)
        worst, next_error = float(errors[:m].max()), float(errors[-1])
        # Rounding may prevent smaller residuals than the best so far.
        stalled = stalled + 1 if _STALL_RATIO * best <= worst <= _MAX_TOLERANCE else 0
        best = min(best, worst)
        converged = worst <= _TOLERANCE and next_error <= _NEXT_TOLERANCE
        if converged or stalled >= _STALL_ROUNDS or size + block > capacity:
            # Two more inverse iterations: a small error would be large in products with the matrix, and images of vectors that
            # are not orthogonal to a much smaller pair have its rounding errors.
            vectors = np.linalg.qr((Y[:, :m].T @ images[:size]).T)[0]
            vectors = factor.solve(vectors)
            vectors = np.linalg.qr(vectors - vectors.mean(axis=0))[0]
            return vectors, max(1.0 / float(inverse_values[m]) - shift, 0.0), worst <= _MAX_TOLERANCE


def _factorize_shifted(factor: SparseCholesky, least_shift: float) -> float:
    """Factorise with the smallest multiple of the least shift that succeeds, and return it."""
    shift = least_shift
    for _ in range(_MAX_SHIFTS):
        if factor.factorize(shift):
            return shift
        shift *= _SHIFT_GROWTH
    raise ValueError(
        f"The matrix is not positive semidefinite: a shift of {shift / _SHIFT_GROWTH:.3g} does not make it positive definite."
    )


def _orthonormalize(new: Floats, basis: Floats) -> Floats:
    """Return orthonormal columns that span new ones, without the span of the basis, whose vectors are rows, and constants."""
    for _ in range(2):
        new = new - new.mean(axis=0)
        new -= basis.T @ (basis @ new)
        new = np.linalg.qr(new)[0]
    return new
