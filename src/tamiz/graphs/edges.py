"""The edges of a graph with their lengths, and the edges between rows and their neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.kernels.sparse_graphs import merge_edges, transpose_edges
from tamiz.neighbors.base import Neighbors
from tamiz.statistics.base import Floats


@dataclass(frozen=True)
class Edges:
    """Edges in CSR form. An undirected edge is stored in both directions; the edges of a row are sorted by their other end.

    Attributes
    ----------
    indptr : ndarray of shape (n_samples + 1,), int64
    indices : ndarray of shape (n_pairs,), int32
        The edges of row i end at the rows `indices[indptr[i] : indptr[i + 1]]`.
    lengths : ndarray of shape (n_pairs,)
        Length of each entry of `indices`.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    lengths: Floats

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of every entry of `indices`."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))

    @property
    def upper_triangle(self) -> NDArray[np.bool_]:
        """Mask of the entries above the diagonal, which contain every undirected edge once."""
        return self.rows < self.indices

    def length_matrix(self) -> sparse.csr_array:
        """Return the lengths as a sparse matrix, which stores those of 0 too; sums with other sparse matrices drop them."""
        n = len(self.indptr) - 1
        return sparse.csr_array((self.lengths, self.indices, self.indptr), shape=(n, n))

    def select(self, mask: NDArray[np.bool_]) -> Edges:
        """Return the edges of the entries in the mask."""
        indptr = np.concatenate([[0], np.cumsum(mask)])[self.indptr]
        return Edges(indptr, self.indices[mask], self.lengths[mask])


def undirected_edges(neighbors: Neighbors, *, mutual: bool = False) -> Edges:
    """Return an edge for each pair that are neighbours in at least one direction, or with `mutual` in both."""
    n, m = neighbors.n_rows, len(neighbors.indices)
    transposed = _transpose_csr(neighbors.indptr, neighbors.indices, neighbors.distances, n)
    # Transposing twice sorts the neighbours of every row by their row number.
    ordered = _transpose_csr(*transposed, n)
    out = np.empty(n + 1, dtype=np.int64), np.empty(2 * m, dtype=np.int32), np.empty(2 * m)
    filled = merge_edges(*ordered, *transposed, mutual, *out)
    return Edges(out[0], out[1][:filled].copy(), out[2][:filled].copy())


def directed_edges(neighbors: Neighbors) -> Edges:
    """Return a directed edge from every row to each of its neighbours, sorted by row number."""
    n = neighbors.n_rows
    return Edges(*_transpose_csr(*_transpose_csr(neighbors.indptr, neighbors.indices, neighbors.distances, n), n))


def _transpose_csr(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], lengths: Floats, n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
    out = np.empty(n + 1, dtype=np.int64), np.empty(len(indices), dtype=np.int32), np.empty(len(indices))
    transpose_edges(indptr, indices, np.ascontiguousarray(lengths), *out)
    return out
