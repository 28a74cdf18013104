"""Sparse Cholesky factorisation of a symmetric positive definite matrix."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse
from scipy.linalg import blas, lapack

from tamiz.arrays import Floats
from tamiz.kernels.sparse_factorization import count_factor_entries, minimum_degree
from tamiz.kernels.supernodal_factorization import (
    assemble_panel,
    extend_add,
    fill_supernode_rows,
    find_supernodes,
    postorder,
    solve_supernodes,
)
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory


class SparseCholesky:
    """The factor L of A + s = L L' in a fill-reducing order, for a sparse symmetric matrix A and shifts s.

    The order and the structure of the factor are computed once, and `factorize` fills in its values for a shift.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Symmetric; both triangles are stored.

    Attributes
    ----------
    n_entries : int
        Stored numbers of the factor, with zeros that make its blocks dense.

    Raises
    ------
    MemoryError
        When the factor does not fit into memory.

    Notes
    -----
    Approximate minimum degree order, then the multifrontal method: all arithmetic of a front is dense. Rows of a curved surface
    with k neighbours each have a factor of O(k n log n) entries; rows without a low intrinsic dimension have nearly dense factors,
    which cost O(n^3).

    References
    ----------
    Duff and Reid (1983), The multifrontal solution of indefinite sparse symmetric linear equations, ACM Transactions on
    Mathematical Software 9; Davis (2006), Direct Methods for Sparse Linear Systems, SIAM.
    """

    def __init__(self, matrix: sparse.csr_array) -> None:
        n = matrix.shape[0]
        self._indptr = np.ascontiguousarray(matrix.indptr, dtype=np.int64)
        self._indices = np.ascontiguousarray(matrix.indices, dtype=np.int32)
        self._data = np.ascontiguousarray(matrix.data, dtype=np.float64)
        order = np.empty(n, dtype=np.int32)
        minimum_degree(self._indptr, self._indices, math.inf, order)
        parent, counts = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int64)
        count_factor_entries(self._indptr, self._indices, order, _inverse(order), parent, counts)
        after = np.empty(n, dtype=np.int32)
        postorder(parent, after)
        self._order = order[after]
        self._position = _inverse(self._order)
        parent = np.where(parent[after] >= 0, _inverse(after)[parent[after]], -1).astype(np.int32)
        counts = counts[after]
        starts = np.empty(n + 1, dtype=np.int32)
        number = find_supernodes(parent, counts, starts)
        self._starts = starts[: number + 1].copy()
        # The rows of a front: its own columns, and those below the last one.
        widths = np.diff(self._starts)
        n_rows = widths + counts[self._starts[1:] - 1]
        self._panel_starts = np.concatenate([[0], np.cumsum(n_rows * widths)])
        self.n_entries = int(self._panel_starts[-1])
        check_memory(
            12.0 * self.n_entries,
            f"The factor of {self.n_entries:,} numbers of a matrix of {n:,} rows",
            "Use fewer neighbours or fewer rows.",
        )
        self._row_starts = np.concatenate([[0], np.cumsum(n_rows)])
        self._rows = np.empty(self._row_starts[-1], dtype=np.int32)
        fill_supernode_rows(
            self._indptr, self._indices, self._order, self._position, self._starts, self._row_starts, self._rows
        )

    def factorize(self, shift: float) -> bool:
        """Compute the values of the factor; return whether A + shift is numerically positive definite."""
        self._factor = np.zeros(self.n_entries)
        local = np.empty(len(self._order), dtype=np.int32)
        # The update matrices that wait for their parent: in postorder those of its children are the last.
        waiting: list[tuple[np.ndarray, Floats]] = []
        for s in range(len(self._starts) - 1):
            start, stop = int(self._starts[s]), int(self._starts[s + 1])
            rows = self._rows[self._row_starts[s] : self._row_starts[s + 1]]
            width, n_rows = stop - start, len(rows)
            panel = self._factor[self._panel_starts[s] : self._panel_starts[s + 1]].reshape(width, n_rows)
            update = np.zeros((n_rows - width, n_rows - width))
            assemble_panel(
                self._indptr, self._indices, self._data, shift, self._order, self._position, start, stop, rows, local,
                panel,
            )  # fmt: skip
            while waiting and waiting[-1][0].min() < stop:
                below, child = waiting.pop()
                extend_add(below, local, child, panel, update)
            # The transposed views are stored by columns, as LAPACK needs them.
            top, info = lapack.dpotrf(panel[:, :width].T, lower=1, clean=1)
            if info:
                return False
            panel[:, :width] = top.T
            if n_rows > width:
                bottom = blas.dtrsm(1.0, top, panel[:, width:].T, side=1, lower=1, trans_a=1)
                panel[:, width:] = bottom.T
                update = blas.dsyrk(-1.0, bottom, beta=1.0, c=update.T, lower=1, overwrite_c=1).T
                waiting.append((rows[width:], update))
        return True

    def solve(self, X: Floats) -> Floats:
        """Return (A + shift)^-1 X."""
        out = np.empty(X.shape)

        def solve_columns(span: tuple[int, int]) -> None:
            columns = slice(*span)
            x = np.zeros((len(X), 4))
            x[:, : span[1] - span[0]] = X[self._order, columns]
            solve_supernodes(self._starts, self._row_starts, self._rows, self._panel_starts, self._factor, x)
            out[self._order, columns] = x[:, : span[1] - span[0]]

        parallel.run_blocks(solve_columns, parallel.block_ranges(X.shape[1], 4))
        return out


def _inverse(order: np.ndarray) -> np.ndarray:
    position = np.empty(len(order), dtype=np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    return position
