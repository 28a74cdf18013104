"""Eigenpairs by a Krylov space of the inverse of a sparse matrix, and those of the matrices of locally linear embedding.

The small eigenvalues of these matrices are 1e-6 to 1e-13 of the largest, which only solutions with the matrix resolve: by a
factorisation with a shift at the level of rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from tamiz.arrays import Floats, eigenvector_signs
from tamiz.runtime.random import make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_memory

_EPSILON = float(np.finfo(np.float64).eps)
# The dense solver is fastest up to this many rows, or if more than 1 / 6 of all pairs are wanted.
MAX_DENSE_ROWS, DENSE_DIVISOR = 200, 6
# A matrix whose band has more than this share of all columns has a nearly dense factor, which LAPACK computes faster.
_MAX_BAND_SHARE = 0.25
# Rounding errors of a matrix, of a factor and of products, as a multiple of the unit roundoff times the norm.
_ROUNDING = 16.0
# Factor by which the shift grows if the factorisation finds a pivot that is not positive, and the largest number of shifts.
_SHIFT_GROWTH, _MAX_SHIFTS = 8.0, 12
# Relative residual of the inverse at which a pair has converged, and with which it is accepted if rounding prevents a smaller one.
_TOLERANCE, _MAX_TOLERANCE = 1e-9, 1e-4
# That of the next pair, which only has to show where it is.
_NEXT_TOLERANCE = 1e-2
# Relative residuals that count as converged, and those above which the factorisation is repeated with a larger shift: ordinary
# matrices leave less, and beside a pair that is 0 to rounding it depends on the processor's kernels how much is left.
_MAX_RESIDUAL, _USUAL_RESIDUAL = 1e-6, 1e-9
# The search stops after this many rounds in which accepted residuals have not decreased by this ratio.
_STALL_ROUNDS, _STALL_RATIO = 2, 0.5
# The largest number of blocks in the basis, and how many a search needs, with a margin: most need four.
_MAX_ROUNDS, _USUAL_ROUNDS = 60, 12

# Multiplies columns by a matrix.
Solve = Callable[[Floats], Floats]


def bandwidth(matrix: sparse.csr_array) -> int:
    """Return the largest distance of an entry from the diagonal in reverse Cuthill-McKee order."""
    n = matrix.shape[0]
    place = np.empty(n, dtype=np.int64)
    place[reverse_cuthill_mckee(sparse.csr_matrix(matrix), symmetric_mode=True)] = np.arange(n)
    return int(np.abs(np.repeat(place, np.diff(matrix.indptr)) - place[matrix.indices]).max(initial=0))


def factorize(matrix: sparse.csr_array, width: int) -> Solve | None:
    """Return the product with the inverse of a symmetric matrix of this bandwidth; None unless it is positive definite."""
    n = matrix.shape[0]
    if width > _MAX_BAND_SHARE * n:
        check_memory(16.0 * n * n, f"The dense factor of a matrix of {n:,} rows", "Use fewer neighbours or fewer rows.")
        try:
            dense = linalg.cho_factor(matrix.toarray(), lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        return lambda X: np.asarray(linalg.cho_solve(dense, X, check_finite=False))
    check_memory(12.0 * n * width, f"The factor of a matrix of {n:,} rows", "Use fewer neighbours or fewer rows.")
    try:
        factor = splu(
            sparse.csc_array(matrix),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # exactly singular
        return None
    return factor.solve if (factor.U.diagonal() > 0).all() else None


@dataclass(frozen=True)
class InversePairs:
    """The leading eigenvectors of an inverse, its eigenvalues with the following one, and whether the vectors have converged."""

    vectors: Floats
    inverse_values: Floats
    converged: bool


def inverse_pairs(solve: Solve, remove_null_space: Callable[[Floats], None], start: Floats, m: int) -> InversePairs:
    """Return the m leading eigenpairs of an inverse from the block Krylov space of `start`, of at least m columns."""
    n, block = start.shape
    capacity = block * min(_MAX_ROUNDS, (n - 1) // block)
    check_memory(
        16.0 * n * min(capacity, _USUAL_ROUNDS * block),
        f"The search of {m:,} eigenvectors of {n:,} rows",
        "Request fewer eigenvectors.",
    )

    def orthonormalize(new: Floats, basis: Floats) -> Floats:
        """Return orthonormal columns that span new ones, without the span of the basis, whose vectors are rows."""
        for _ in range(2):
            remove_null_space(new)
            new -= basis.T @ (basis @ new)
            new = np.ascontiguousarray(np.linalg.qr(new)[0])
        return new

    # The basis, its images, as rows, and the projected inverse. Memory is used as the basis grows.
    basis, images = np.empty((2, capacity, n))
    projected = np.zeros((capacity, capacity))
    size, new = 0, start
    best, stalled = np.inf, 0
    while True:
        new = orthonormalize(new, basis[:size])
        first, size = size, size + block
        basis[first:size] = new.T
        new = np.ascontiguousarray(solve(new))
        remove_null_space(new)
        images[first:size] = new.T
        projected[:size, first:size] = basis[:size] @ new
        projected[first:size, :first] = projected[:first, first:size].T
        values, Y = linalg.eigh((projected[:size, :size] + projected[:size, :size].T) / 2, check_finite=False)
        values, Y = values[::-1][: m + 1], Y[:, ::-1][:, : m + 1]
        errors = np.linalg.norm(Y.T @ images[:size] / values[:, None] - Y.T @ basis[:size], axis=1)
        worst, next_error = float(errors[:m].max()), float(errors[-1])
        # Rounding may prevent smaller residuals than the best so far.
        stalled = stalled + 1 if _STALL_RATIO * best <= worst <= _MAX_TOLERANCE else 0
        best = min(best, worst)
        converged = worst <= _TOLERANCE and next_error <= _NEXT_TOLERANCE
        if converged or stalled >= _STALL_ROUNDS or size + block > capacity:
            # Two more inverse iterations: a small error would be large in products with the matrix, and images of vectors that
            # are not orthogonal to a much smaller pair have its rounding errors.
            vectors = np.linalg.qr((Y[:, :m].T @ images[:size]).T)[0]
            vectors = np.ascontiguousarray(solve(vectors))
            remove_null_space(vectors)
            return InversePairs(np.linalg.qr(vectors)[0], values, worst <= _MAX_TOLERANCE)


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
    """Return the smallest eigenpairs besides the constant null vector of a positive semidefinite matrix whose rows sum to 0.

    Up to 200 rows, or if more than a sixth of all pairs are wanted, by a dense solver; else by a block Krylov space of
    (M + s)^-1 on the complement of the constant vector, with the smallest s at which the factorisation succeeds; again with the
    largest wanted eigenvalue as s if a residual is too large. An eigenvalue is the Rayleigh quotient of its vector; its error is
    about that of rounding. A residual above 1e-6 times its eigenvalue and above the level of rounding is reported in a warning.
    """
    n = matrix.shape[0]
    # The largest row sum bounds the norm.
    norm = float(abs(matrix).sum(axis=1).max())
    rounding = _ROUNDING * _EPSILON * norm
    if n <= MAX_DENSE_ROWS or DENSE_DIVISOR * n_eigenpairs > n:
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
    if not converged or (residuals > _max_residuals(values, rounding, _MAX_RESIDUAL)).any():
        worst = int(np.argmax(residuals))
        warn(
            "TZ501",
            f"An eigenvector has the residual {residuals[worst]:.2g} at the eigenvalue {values[worst]:.3g}: it has not "
            "converged, and the map is approximate.",
        )
    return SemidefiniteSpectrum(values, vectors, residuals, next_value, rounding)


def _rayleigh_quotients(matrix: sparse.csr_array, vectors: Floats) -> tuple[Floats, Floats]:
    """Return the Rayleigh quotients of vectors, at least 0, and their residuals."""
    products = matrix @ vectors
    values = np.maximum(np.einsum("ij,ij->j", vectors, products), 0.0)
    return values, np.linalg.norm(products - vectors * values, axis=0)


def _max_residuals(values: Floats, rounding: float, share: float) -> Floats:
    """Return the largest residuals at a share of the eigenvalues, rounding errors aside."""
    return share * values + 4.0 * rounding


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
    n, width = matrix.shape[0], bandwidth(matrix)
    for shift in least_shift * _SHIFT_GROWTH ** np.arange(_MAX_SHIFTS):
        solve = factorize(sparse.csr_array(matrix + shift * sparse.eye_array(n)), width)
        if solve is not None:
            break
    else:
        raise ValueError(
            f"The matrix is not positive semidefinite: a shift of {shift:.3g} does not make it positive definite."
        )

    def remove_constant(X: Floats) -> None:
        X -= X.mean(axis=0)

    start = make_rng(0).uniform(-1.0, 1.0, size=(n, -(-(m + 1) // 4) * 4))
    found = inverse_pairs(solve, remove_constant, start, m)
    return found.vectors, max(1.0 / float(found.inverse_values[m]) - shift, 0.0), found.converged
