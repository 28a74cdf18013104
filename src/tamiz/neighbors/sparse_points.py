"""Sparse rows as points, and the choice between sparse and dense points for a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.kernels.distance_blocks import normalize_sparse_rows, sparse_distance_block, sparse_squared_norms
from tamiz.neighbors.points import CosinePoints, EuclideanPoints, Points
from tamiz.runtime.validation import check_choice, check_memory
from tamiz.storage.invariants import Integer, Invariants, OneOf
from tamiz.table.encode import IdentityEncoder, RowEncoder, refuse_not_finite, refuse_too_large, refuse_zero_rows
from tamiz.table.factory import check_n_columns
from tamiz.table.kinds import LARGEST_NUMBER
from tamiz.table.matrix_rows import canonical_csr

# Metrics that are computed on sparse rows without making them dense.
SPARSE_METRICS = ("euclidean", "cosine")
# Sparse rows are made dense only up to this size.
MAX_DENSE_BYTES = 2**28
# With more rows, comparing all pairs is slow, and the other searches require dense rows.
MAX_BRUTE_FORCE_ROWS = 50_000
# A column stored in a larger share of the rows is processed as a dense column, which is faster than entry by entry.
_DENSE_SHARE = 0.25


@dataclass(frozen=True)
class DenseEncoder(RowEncoder):
    n_columns: int
    metric: str

    invariants: ClassVar[Invariants] = {"n_columns": Integer(low=1), "metric": OneOf(*SPARSE_METRICS)}

    @property
    def n_coordinates(self) -> int:
        return self.n_columns

    def encode(self, X: Any) -> Floats:
        """Return new rows, sparse or dense, as dense ones."""
        rows = canonical_csr(X)
        check_n_columns(rows.shape[1], self.n_columns)
        check_number_range(rows, self.metric)
        return np.asarray(rows.toarray())


def choose_sparse_points(matrix: Any, metric: str) -> tuple[Points, RowEncoder]:
    """Return a sparse matrix as points and their encoder: dense points if they are small and faster to search, else sparse ones.

    The rows are made dense if this needs at most 256 MB and one of two conditions is satisfied: dense products are estimated to
    cost less than sparse ones, or there are more than 50,000 rows, which need a k-d tree or nearest-neighbour descent.
    """
    check_choice("metric", metric, SPARSE_METRICS)
    rows = canonical_csr(matrix)
    n_rows, n_columns = rows.shape
    share = np.bincount(rows.indices, minlength=n_columns) / max(n_rows, 1)
    # Measured nanoseconds per pair: an entry that both rows store, a value of a dense column, a value of a dense product.
    sparse_work = 1.0 + float(np.minimum(1.2 * share**2, 0.25 * share).sum())
    dense_work = 0.5 + 0.025 * n_columns
    if 8.0 * n_rows * n_columns > MAX_DENSE_BYTES or (dense_work > sparse_work and n_rows <= MAX_BRUTE_FORCE_ROWS):
        return SparsePoints(rows, metric=metric), IdentityEncoder()
    check_number_range(rows, metric)
    dense = rows.toarray()
    return CosinePoints(dense) if metric == "cosine" else EuclideanPoints(dense), DenseEncoder(n_columns, metric)


@dataclass(frozen=True)
class _ColumnEntries:
    """The entries of sparse rows in CSC form; columns with entries in many rows are also rows of `dense_columns`, with their
    zeros.

    `dense_position` is the row of `dense_columns` that contains a column, -1 for a column that is not stored dense.
    """

    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    data: Floats
    dense_position: NDArray[np.int32]
    dense_columns: Floats


class SparsePoints(Points):
    """Sparse rows under the Euclidean or cosine distance, without any dense array of size n_samples x n_columns.

    A number that is NaN, infinite or too large to be squared raises DataError, as does a row of zeros for the cosine distance.
    A query costs O(n + the number of entries in its columns). The distance is computed as |x|^2 + |y|^2 - 2 x.y where this
    keeps its digits. Near rows are compared entry by entry, so equal rows are at exactly 0 and the relative error is about
    1e-13. The cosine distance is computed in the same way from rows normalised to length 1.
    """

    def __init__(self, matrix: Any, *, metric: str = "euclidean") -> None:
        self.metric = check_choice("metric", metric, SPARSE_METRICS)
        self.matrix = canonical_csr(matrix)
        self.n_samples, self.n_columns = self.matrix.shape
        self._indptr = np.ascontiguousarray(self.matrix.indptr, dtype=np.int64)
        self._columns = np.ascontiguousarray(self.matrix.indices, dtype=np.int32)
        self._data = np.ascontiguousarray(self.matrix.data)
        check_number_range(self.matrix, metric)
        self._squares = np.empty(self.n_samples)
        if metric == "cosine":
            unit = np.empty_like(self._data)
            normalize_sparse_rows(self._indptr, self._data, unit)
            self._data = unit
        sparse_squared_norms(self._indptr, self._data, self._squares)
        if metric == "cosine":
            refuse_zero_rows(np.flatnonzero(self._squares == 0.0))

    @property
    def _scaled_matrix(self) -> sparse.csr_array:
        """The rows whose Euclidean distances are computed: normalised to length 1 for the cosine distance."""
        return sparse.csr_array((self._data, self._columns, self.matrix.indptr), shape=self.matrix.shape)

    @cached_property
    def _column_entries(self) -> _ColumnEntries:
        counts = np.bincount(self._columns, minlength=self.n_columns)
        dense = np.flatnonzero(counts > _DENSE_SHARE * self.n_samples)
        check_memory(
            24.0 * len(self._data) + 20.0 * self.n_columns + 8.0 * self.n_samples * len(dense),
            f"A copy by column of {len(self._data):,} numbers of {self.n_columns:,} columns",
            "Keep fewer columns first, or hash them into fewer.",
        )
        csc = self._scaled_matrix.tocsc()
        dense_position = np.full(self.n_columns, -1, dtype=np.int32)
        dense_position[dense] = np.arange(len(dense))
        dense_columns = np.zeros((len(dense), self.n_samples))
        for at, column in enumerate(dense.tolist()):
            entries = slice(csc.indptr[column], csc.indptr[column + 1])
            dense_columns[at, csc.indices[entries]] = csc.data[entries]
        indptr, rows = np.asarray(csc.indptr, dtype=np.int64), np.asarray(csc.indices, dtype=np.int32)
        return _ColumnEntries(indptr, rows, csc.data, dense_position, dense_columns)

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        out = np.empty((stop - start, self.n_samples))
        other = self._column_entries
        sparse_distance_block(
            (queries._indptr, queries._columns, queries._data, queries._squares),
            start,
            stop,
            (self._indptr, self._columns, self._data, self._squares),
            (other.indptr, other.rows, other.data, other.dense_position, other.dense_columns),
            self.metric == "euclidean",
            out,
        )
        return out

    def row_keys(self, rows: Indices) -> list[bytes]:
        """Return the bytes of the column numbers and values of the nonzero entries."""
        keys = []
        for row in rows:
            entries = slice(self._indptr[row], self._indptr[row + 1])
            data = self._data[entries]
            keys.append(self._columns[entries][data != 0.0].tobytes() + data[data != 0.0].tobytes())
        return keys

    def row_hashes(self) -> Floats:
        return np.asarray(self._scaled_matrix @ np.random.default_rng(0).standard_normal(self.n_columns))

    def take(self, rows: Indices) -> Self:
        return type(self)(self.matrix[rows], metric=self.metric)

    def new_points(self, rows: Any) -> Self:
        points = type(self)(rows, metric=self.metric)
        check_n_columns(points.n_columns, self.n_columns)
        return points


def check_number_range(rows: sparse.csr_array, metric: str) -> None:
    """Raise DataError if a number is not finite, or too large to be squared under the Euclidean distance."""
    data = rows.data
    largest = max(data.max(initial=0.0), -data.min(initial=0.0))
    if largest <= LARGEST_NUMBER or (metric == "cosine" and largest < np.inf):
        return
    for refuse, odd in ((refuse_not_finite, ~np.isfinite(data)), (refuse_too_large, np.abs(data) > LARGEST_NUMBER)):
        refuse(np.unique(np.searchsorted(rows.indptr, np.flatnonzero(odd), side="right") - 1))
