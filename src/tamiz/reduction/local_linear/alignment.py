"""The matrix M whose smallest eigenvectors are the coordinates: M = (I - W)'(I - W), or a sum of local matrices.

A patch is a row with its neighbours. The local matrix of a patch measures how far coordinates of its rows are from being an affine
function of local coordinates ("ltsa"), from having no curvature ("hessian"), or from being reconstructed by several sets of
weights ("modified"). All of it is sparse: two rows share an entry of M if they share a patch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats
from tamiz.kernels.local_neighborhoods import count_patch_entries, sum_patches
from tamiz.reduction.local_linear.neighborhoods import GramFunction, neighborhood_blocks, reconstruction_weights
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory

METHODS = ("standard", "modified", "hessian", "ltsa")

# Eigenvalues below this share of the largest are 0 up to rounding: the patch has no extent in their directions.
_MIN_EIGENVALUE = 1e-13
# A local function is left out if orthogonalisation leaves at most this share of its length.
_MIN_REMAINING = 1e-10
# The largest alpha, in "modified", whose quotient u / alpha would be rounding error.
_MIN_ALPHA = 1e-8
_ROWS_PER_TASK = 2048


def least_neighbors(method: str, n_components: int) -> int:
    return {
        "standard": 1,
        "modified": n_components,
        "hessian": n_components * (n_components + 3) // 2 + 1,
        "ltsa": n_components + 1,
    }[method]


def alignment_matrix(
    method: str,
    grams: GramFunction,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    n_components: int,
    regularization: float,
) -> sparse.csr_array:
    """Return M of shape (n_samples, n_samples), positive semidefinite, with the row sums 0.

    Parameters
    ----------
    method : {"standard", "modified", "hessian", "ltsa"}
    grams : callable
        Gram matrices of the neighbourhoods.
    indptr, indices : ndarray
        The neighbours of every row in CSR form.
    n_components : int
        Dimension of the surface.
    regularization : float
        Share of the trace of a Gram matrix that is added to its diagonal.
    """
    counts = np.diff(indptr)
    if method == "standard":
        n = len(counts)
        weights = reconstruction_weights(grams, indptr, indices, regularization)
        # A row without neighbours is a component of its own, and its row of I - W is 0.
        W = sparse.csr_array((weights, indices, indptr), shape=(n, n))
        rest = sparse.csr_array(sparse.diags_array((counts > 0).astype(np.float64)) - W)
        return sparse.csr_array(rest.T @ rest)
    check_memory(
        20.0 * float(((counts + 1.0) ** 2).sum()),
        f"The local matrices of {len(counts):,} rows with up to {counts.max():,} neighbours",
        "Use fewer neighbours.",
    )
    if method == "modified":
        local = _modified_matrices(grams, indptr, indices, n_components, regularization)
    else:
        local = _tangent_matrices(grams, indptr, indices, n_components, hessian=method == "hessian")
    return _sum_local_matrices(local, indptr, indices)


def _tangent_matrices(
    grams: GramFunction, indptr: NDArray[np.int64], indices: NDArray[np.int32], d: int, *, hessian: bool
) -> Floats:
    """Return the local matrices of "hessian" and "ltsa" of all rows, one after the other."""
    local = _PatchMatrices(np.diff(indptr))

    def fill(rows: NDArray[np.int64]) -> None:
        neighbors = indices[indptr[rows][:, None] + np.arange(indptr[rows[0] + 1] - indptr[rows[0]])]
        tangents = _tangent_coordinates(grams(rows, neighbors), d)
        local.set(rows, _hessian_matrices(tangents) if hessian else _alignment_matrices(tangents))

    parallel.run_blocks(fill, neighborhood_blocks(np.diff(indptr)))
    return local.values


def _tangent_coordinates(grams: Floats, d: int) -> Floats:
    """Return the first d principal coordinates of every patch as orthonormal columns; 0 where the patch has no extent."""
    m, k, _ = grams.shape
    centred = np.zeros((m, k + 1, k + 1))
    centred[:, 1:, 1:] = grams
    centred -= centred.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=2, keepdims=True)
    values, vectors = np.linalg.eigh(centred)
    values, vectors = values[:, : -d - 1 : -1], vectors[:, :, : -d - 1 : -1]
    return vectors * (values > _MIN_EIGENVALUE * np.maximum(values[:, :1], 0.0))[:, None, :]


def _alignment_matrices(tangents: Floats) -> Floats:
    """Return the projections onto the complement of affine functions of the tangent coordinates."""
    affine = _orthonormal_functions(tangents)
    return np.eye(tangents.shape[1]) - affine @ affine.transpose(0, 2, 1)


def _hessian_matrices(tangents: Floats) -> Floats:
    """Return H H' of every patch: H is the part of the quadratic functions that is orthogonal to affine ones."""
    d = tangents.shape[2]
    a, b = np.triu_indices(d)
    products = tangents[:, :, a] * tangents[:, :, b]
    quadratic = _orthonormal_functions(np.concatenate([tangents, products], axis=2))[:, :, d + 1 :]
    return quadratic @ quadratic.transpose(0, 2, 1)


def _orthonormal_functions(columns: Floats) -> Floats:
    """Return orthonormal columns that span 1 and the columns of every patch, in their order; 0 for a dependent column.

    Orthogonal to 1 also where rounding has left a mean in the tangent coordinates, as in a patch with an outlier.
    """
    m, size, n_columns = columns.shape
    functions = np.empty((m, size, 1 + n_columns))
    functions[:, :, 0] = size**-0.5
    for j in range(n_columns):
        column, before = columns[:, :, j], functions[:, :, : 1 + j]
        length = np.linalg.norm(column, axis=1)
        # Twice, because the first pass leaves rounding errors of the length of the column.
        for _ in range(2):
            column = column - (before @ (before.transpose(0, 2, 1) @ column[:, :, None]))[:, :, 0]
        remaining = np.linalg.norm(column, axis=1)
        independent = remaining > _MIN_REMAINING * length
        functions[:, :, 1 + j] = column * (independent / np.where(independent, remaining, 1.0))[:, None]
    return functions


class _Decomposition(NamedTuple):
    """Eigenpairs of the Gram matrices of a block of rows, descending, and the trace of each."""

    rows: NDArray[np.int64]
    values: Floats
    vectors: Floats


def _modified_matrices(
    grams: GramFunction, indptr: NDArray[np.int64], indices: NDArray[np.int32], d: int, regularization: float
) -> Floats:
    """Return the local matrices of "modified" of all rows, one after the other."""
    counts = np.diff(indptr)
    local = _PatchMatrices(counts)

    def decompose(rows: NDArray[np.int64]) -> _Decomposition:
        neighbors = indices[indptr[rows][:, None] + np.arange(indptr[rows[0] + 1] - indptr[rows[0]])]
        values, vectors = np.linalg.eigh(grams(rows, neighbors))
        values = values[:, ::-1]
        return _Decomposition(
            rows, np.where(values > _MIN_EIGENVALUE * values[:, :1], values, 0.0), vectors[:, :, ::-1]
        )

    blocks = list(parallel.map_blocks(decompose, neighborhood_blocks(counts)))
    # The share of a neighbourhood's extent outside its d main directions; the median over the rows separates noise from extent.
    shares = np.concatenate([_tail_ratios(block.values)[:, max(block.values.shape[1] - d, 0)] for block in blocks])
    noise = float(np.median(shares))
    parallel.run_blocks(
        lambda block: local.set(block.rows, _weight_set_matrices(block, d, noise, regularization)), blocks
    )
    return local.values


def _tail_ratios(values: Floats) -> Floats:
    """Return for l = 0 .. k - 1 the sum of the l smallest of the k values of a row divided by the sum of the others."""
    heads = np.cumsum(values, axis=1)[:, ::-1]
    tails = np.cumsum(values[:, ::-1], axis=1) - values[:, ::-1]
    return np.divide(tails, heads, out=np.zeros(values.shape), where=heads > 0)


def _weight_set_matrices(block: _Decomposition, d: int, noise: float, regularization: float) -> Floats:
    """Return the sums over s sets of weights of (e - w)(e - w)', with e for the row itself.

    The sets are the columns of (1 - alpha) w 1' + V H, with the regularised weights w, the s smallest eigenvectors V and the
    Householder matrix H for which the columns sum to 1 (equations 2.5 and 3.1 of the paper). Their sums depend on the projection
    P = V V' and on u = P 1 alone: V H 1 = u / alpha with alpha = |u| / sqrt(s).
    """
    m, k = block.values.shape
    ratios = _tail_ratios(block.values)[:, 1 : max(k - d, 0) + 1]
    n_zero = (block.values == 0.0).sum(axis=1)
    s = np.maximum(np.maximum((ratios < noise).sum(axis=1), n_zero), 1)[:, None]
    main = block.vectors * (np.arange(k) < k - s)[:, None, :]
    projection = np.eye(k) - main @ main.transpose(0, 2, 1)
    u = projection.sum(axis=2)
    trace = block.values.sum(axis=1, keepdims=True)
    # Without regularisation a value of 0 would be divided by.
    divisor = np.where(trace > 0, np.maximum(block.values + regularization * trace, 1e-30 * trace), 1.0)
    w = (block.vectors @ (block.vectors.sum(axis=1) / divisor)[:, :, None])[:, :, 0]
    w /= w.sum(axis=1, keepdims=True)
    alpha = np.linalg.norm(u, axis=1, keepdims=True) / np.sqrt(s)
    # With alpha = 0 the eigenvectors sum to 0, and every set is w plus an eigenvector.
    direction = np.divide(u, alpha, out=np.zeros(u.shape), where=alpha > _MIN_ALPHA)
    cross = (1.0 - alpha)[:, :, None] * direction[:, :, None] * w[:, None, :]
    total = direction + (1.0 - alpha) * s * w
    matrices = np.empty((m, k + 1, k + 1))
    matrices[:, 0, 0] = s[:, 0]
    matrices[:, 0, 1:] = matrices[:, 1:, 0] = -total
    matrices[:, 1:, 1:] = projection + cross + cross.transpose(0, 2, 1)
    matrices[:, 1:, 1:] += ((1.0 - alpha) ** 2 * s)[:, :, None] * w[:, :, None] * w[:, None, :]
    # Rows sum to 0, but for the rounding error of u / alpha.
    matrices -= matrices.mean(axis=1, keepdims=True)
    matrices -= matrices.mean(axis=2, keepdims=True)
    return matrices


class _PatchMatrices:
    """One square matrix for each row, over the row and its neighbours, stored one after the other."""

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self._starts = np.concatenate([[0], np.cumsum((counts + 1) ** 2)])
        self.values = np.zeros(self._starts[-1])

    def set(self, rows: NDArray[np.int64], matrices: Floats) -> None:
        """Store the matrices of some rows, all of one size."""
        size = matrices.shape[1] ** 2
        self.values[self._starts[rows][:, None] + np.arange(size)] = matrices.reshape(len(rows), size)


def _sum_local_matrices(local: Floats, indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> sparse.csr_array:
    """Return the sum of the local matrices, each in the rows and columns of its patch."""
    n = len(indptr) - 1
    counts = np.diff(indptr)
    patch_starts = indptr + np.arange(n + 1)
    members = np.insert(indices, indptr[:-1], np.arange(n, dtype=np.int32))
    matrix_starts = np.concatenate([[0], np.cumsum((counts + 1) ** 2)])
    memberships = sparse.csr_array((np.ones(len(members), dtype=np.int8), members, patch_starts), shape=(n, n)).tocsc()
    row_starts, patches = memberships.indptr.astype(np.int64), memberships.indices.astype(np.int32)
    totals = np.empty(n, dtype=np.int64)
    spans = parallel.block_ranges(n, _ROWS_PER_TASK)
    parallel.run_blocks(
        lambda span: count_patch_entries(patch_starts, members, row_starts, patches, *span, totals), spans
    )
    starts = np.concatenate([[0], np.cumsum(totals)])
    columns, data = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1])
    parallel.run_blocks(
        lambda span: sum_patches(
            patch_starts, members, matrix_starts, local, row_starts, patches, *span, starts, columns, data
        ),
        spans,
    )
    # With int64 limits scipy would copy the columns to int64 too.
    limits = starts if starts[-1] > np.iinfo(np.int32).max else starts.astype(np.int32)
    return sparse.csr_array((data, columns, limits), shape=(n, n))
