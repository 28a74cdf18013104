"""Sparse rows: most of their numbers are 0 and not stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.graphs.metrics.names import SPARSE
from tamiz.graphs.metrics.refusals import (
    refuse_no_direction,
    refuse_not_finite,
    refuse_other_columns,
    refuse_too_large,
)
from tamiz.graphs.points import Points
from tamiz.graphs.reading import array_of
from tamiz.kernels.sparse_rows import sparse_block, sparse_squares, sparse_unit
from tamiz.sources.kinds import LARGEST_NUMBER
from tamiz.sources.sparse import sparse_rows
from tamiz.statistics.base import Floats
from tamiz.validation import check_choice, check_memory

# A column stored in a larger share of the rows is added as a whole, which is faster than entry by entry.
_FULL_SHARE = 0.25
# Columns are counted in 32 bits.
_MOST_COLUMNS = 2**31 - 1


@dataclass(frozen=True)
class _ByColumn:
    """The entries column by column.

    Attributes
    ----------
    indptr, rows, data
        In CSC form.
    place : ndarray of shape (n_columns,), int32
        The row of `full` that holds a column, -1 for one that is not held whole.
    full : ndarray of shape (n_full, n_rows)
        The columns that are stored in many rows, their zeros among them.
    """

    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    data: Floats
    place: NDArray[np.int32]
    full: Floats


class SparseRows(Points):
    """Sparse rows at their Euclidean or cosine distances; nothing of size n_samples x n_columns is made.

    Parameters
    ----------
    matrix : sparse of shape (n_samples, n_columns)
        Any format; entries of one place are summed.
    metric : {"euclidean", "cosine"}, default="euclidean"

    Raises
    ------
    DataError
        When a number is NaN or infinite, or too large to be squared; for the cosine distance, when a row holds only zeros.

    Notes
    -----
    A query costs O(n + the entries of the columns that it has). |x|^2 + |y|^2 - 2 x.y is used where it keeps its digits;
    near rows are compared entry by entry, so that equal rows are at exactly 0 and near ones exact to about 1e-13. Under the
    cosine distance that is so of the rows at length 1.
    """

    def __init__(self, matrix: Any, *, metric: str = "euclidean") -> None:
        self.metric = check_choice("metric", metric, SPARSE)
        self.matrix = canonical(matrix)
        self.n_samples, self.n_columns = self.matrix.shape
        self._indptr = np.ascontiguousarray(self.matrix.indptr, dtype=np.int64)
        self._columns = np.ascontiguousarray(self.matrix.indices, dtype=np.int32)
        self._data = np.ascontiguousarray(self.matrix.data)
        refuse_numbers(self.matrix, metric)
        self._squares = np.empty(self.n_samples)
        if metric == "cosine":
            unit = np.empty_like(self._data)
            sparse_unit(self._indptr, self._data, unit)
            self._data = unit
        sparse_squares(self._indptr, self._data, self._squares)
        if metric == "cosine":
            refuse_no_direction(np.flatnonzero(self._squares == 0.0))

    @property
    def _rows(self) -> sparse.csr_array:
        """The rows as they are measured: at length 1 under the cosine distance."""
        return sparse.csr_array((self._data, self._columns, self.matrix.indptr), shape=self.matrix.shape)

    @cached_property
    def _by_column(self) -> _ByColumn:
        counts = np.bincount(self._columns, minlength=self.n_columns)
        whole = np.flatnonzero(counts > _FULL_SHARE * self.n_samples)
        check_memory(
            24.0 * len(self._data) + 20.0 * self.n_columns + 8.0 * self.n_samples * len(whole),
            f"{len(self._data):,} numbers of {self.n_columns:,} columns, held by column,",
            "Keep fewer columns first, or hash them into fewer.",
        )
        form = self._rows.tocsc()
        place = np.full(self.n_columns, -1, dtype=np.int32)
        place[whole] = np.arange(len(whole))
        full = np.zeros((len(whole), self.n_samples))
        for at, column in enumerate(whole.tolist()):
            entries = slice(form.indptr[column], form.indptr[column + 1])
            full[at, form.indices[entries]] = form.data[entries]
        indptr, rows = np.asarray(form.indptr, dtype=np.int64), np.asarray(form.indices, dtype=np.int32)
        return _ByColumn(indptr, rows, form.data, place, full)

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return distances."""
        out = np.empty((stop - start, self.n_samples))
        other = self._by_column
        sparse_block(
            (queries._indptr, queries._columns, queries._data, queries._squares),
            start,
            stop,
            (self._indptr, self._columns, self._data, self._squares),
            (other.indptr, other.rows, other.data, other.place, other.full),
            self.metric == "euclidean",
            out,
        )
        return out

    def row_keys(self, rows: NDArray[np.intp]) -> list[bytes]:
        """Return the bytes of the columns that are not 0 and of their numbers."""
        keys = []
        for row in rows:
            entries = slice(self._indptr[row], self._indptr[row + 1])
            data = self._data[entries]
            keys.append(self._columns[entries][data != 0.0].tobytes() + data[data != 0.0].tobytes())
        return keys

    def hashes(self) -> Floats:
        """Return the rows' places along one direction."""
        return np.asarray(self._rows @ np.random.default_rng(0).standard_normal(self.n_columns))

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the points."""
        return type(self)(self.matrix[rows], metric=self.metric)

    def like(self, rows: Any) -> Self:
        """Return new rows, sparse or dense."""
        points = type(self)(rows, metric=self.metric)
        refuse_other_columns(points.n_columns, self.n_columns)
        return points


def refuse_numbers(rows: sparse.csr_array, metric: str) -> None:
    """Refuse rows in which a number is not finite, or too large to be squared where it will be."""
    data = rows.data
    largest = max(data.max(initial=0.0), -data.min(initial=0.0))
    if largest <= LARGEST_NUMBER or (metric == "cosine" and largest < np.inf):
        return
    for refuse, odd in ((refuse_not_finite, ~np.isfinite(data)), (refuse_too_large, np.abs(data) > LARGEST_NUMBER)):
        refuse(np.unique(np.searchsorted(rows.indptr, np.flatnonzero(odd), side="right") - 1))


def canonical(matrix: Any) -> sparse.csr_array:
    """Return rows in CSR form, columns in order and once, as float64; the caller's matrix stays as it is."""
    given = sparse_rows(matrix)
    if given is None:
        given = array_of(matrix, "New rows beside sparse ones must be a sparse matrix or an array")
    if given.ndim != 2:
        raise ValueError(f"Expected 2D array, got {given.ndim}D array instead: a table has rows and columns.")
    if given.dtype.kind not in "fiub":
        raise TypeError(f"Sparse rows must hold real numbers, got {given.dtype}.")
    if given.shape[1] > _MOST_COLUMNS:
        raise DataError(
            f"Sparse rows may have {_MOST_COLUMNS:,} columns, got {given.shape[1]:,}. Hash them into fewer."
        )
    rows = sparse.csr_array(given.astype(np.float64, copy=False))
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows
