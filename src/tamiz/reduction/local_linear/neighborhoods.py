"""Neighbourhoods of rows: the inner products of the differences between a row and its neighbours, and the weights from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.kernels.local_neighborhoods import barycentric_weights, local_grams
from tamiz.neighbors.points import Points
from tamiz.neighbors.precomputed import PrecomputedDistances
from tamiz.neighbors.sparse_points import SparsePoints
from tamiz.runtime import parallel

# Numbers in the matrices of a block of rows.
_BLOCK_NUMBERS = 2**17

# Returns the Gram matrices of some query rows, given their row numbers and the numbers of their neighbours, one row for each query.
GramFunction = Callable[[NDArray[np.int64], NDArray[np.int32]], Floats]


def gram_function(points: Points, queries: Points) -> GramFunction:
    """Return the function of the Gram matrices of the differences between queries and their neighbours among points.

    Each matrix has an arbitrary positive factor, on which neither weights nor local coordinates depend.

    Raises
    ------
    DataError
        When the metric has no inner products.
    """
    values = points.euclidean_values()
    if values is not None:
        query_values = queries.euclidean_values()
        assert query_values is not None
        return lambda rows, neighbors: _dense_grams(query_values, values, rows, neighbors)
    if isinstance(points, SparsePoints) and isinstance(queries, SparsePoints):
        some, others = _sparse_rows(queries), _sparse_rows(points)
        return lambda rows, neighbors: _sparse_grams(some, others, rows, neighbors)
    if isinstance(points, PrecomputedDistances) and isinstance(queries, PrecomputedDistances):
        to_points = points.block_view(queries, 0, queries.n_samples)
        between = points.block_view(points, 0, points.n_samples)
        return lambda rows, neighbors: _distance_grams(to_points, between, rows, neighbors)
    raise DataError(
        f"metric={points.metric!r} has no inner products, which locally linear embedding needs. Use metric='euclidean', "
        "'seuclidean', 'cosine', or 'precomputed' with a dense matrix of Euclidean distances."
    )


def _dense_grams(queries: Floats, values: Floats, rows: NDArray[np.int64], neighbors: NDArray[np.int32]) -> Floats:
    grams = np.empty((*neighbors.shape, neighbors.shape[1]))
    local_grams(queries, values, rows, neighbors, grams)
    return grams


def _sparse_rows(points: SparsePoints) -> sparse.csr_array:
    """Return the rows whose Euclidean distances are searched: unit rows for the cosine distance."""
    if points.metric == "euclidean":
        return points.matrix
    lengths = np.sqrt(points.matrix.multiply(points.matrix).sum(axis=1))
    return sparse.csr_array(sparse.diags_array(1.0 / lengths) @ points.matrix)


def _sparse_grams(
    queries: sparse.csr_array, values: sparse.csr_array, rows: NDArray[np.int64], neighbors: NDArray[np.int32]
) -> Floats:
    m, k = neighbors.shape
    differences = values[neighbors.ravel()] - queries[rows.repeat(k)]
    # Pairs of neighbours of one row.
    a, b = (index.ravel() for index in np.broadcast_arrays(np.arange(k)[:, None], np.arange(k)))
    starts = k * np.arange(m)[:, None]
    products = differences[(starts + a).ravel()].multiply(differences[(starts + b).ravel()])
    return np.asarray(products.sum(axis=1)).reshape(m, k, k)


def _distance_grams(
    to_points: Floats, between: Floats, rows: NDArray[np.int64], neighbors: NDArray[np.int32]
) -> Floats:
    """Return inner products by the law of cosines; negative eigenvalues, of distances that are not Euclidean, are set to 0."""
    near, among = to_points[rows[:, None], neighbors], between[neighbors[:, :, None], neighbors[:, None, :]]
    # No square overflows or underflows.
    scale = np.maximum(np.maximum(near.max(axis=1), among.max(axis=(1, 2))), np.finfo(np.float64).tiny)[:, None]
    squares = (near / scale) ** 2
    values, vectors = np.linalg.eigh(
        (squares[:, :, None] + squares[:, None, :] - (among / scale[:, :, None]) ** 2) / 2.0
    )
    return (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)


def neighborhood_blocks(counts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield blocks of rows that have equally many neighbours, at least one; rows without neighbours are left out."""
    for count in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == count)
        for start, stop in parallel.block_ranges(len(rows), max(1, _BLOCK_NUMBERS // count**2)):
            yield rows[start:stop]


def reconstruction_weights(
    grams: GramFunction, indptr: NDArray[np.int64], indices: NDArray[np.int32], regularization: float
) -> Floats:
    """Return the weights with which the neighbours of each row, a list in CSR form, reconstruct it; they sum to 1."""
    weights = np.empty(len(indices))

    def fill(rows: NDArray[np.int64]) -> None:
        at = indptr[rows][:, None] + np.arange(indptr[rows[0] + 1] - indptr[rows[0]])
        block = np.empty(at.shape)
        barycentric_weights(grams(rows, indices[at]), regularization, block)
        weights[at] = block

    parallel.run_blocks(fill, neighborhood_blocks(np.diff(indptr)))
    return weights
