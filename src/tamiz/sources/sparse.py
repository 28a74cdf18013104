"""Sparse matrices of scipy: a table of numbers whose zeros take no memory, read column by column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.column_storage import LazyColumn
from tamiz.sources.in_memory import check_shape, raw_from_array, to_float_type
from tamiz.sources.kinds import LARGEST_NUMBER, check_finite
from tamiz.sources.raw_column import RawColumn
from tamiz.sources.schema import Column, Kind
from tamiz.sources.table import OpenOptions, TableSource, build_table, check_names, is_every_row


class SparseColumn(LazyColumn):
    """A column of a sparse matrix, its zeros written out when it is read.

    Parameters
    ----------
    matrix : csc_array
        In canonical form: rows ascending, none twice.
    column : int
    rows : range
    """

    def __init__(self, matrix: sparse.csc_array, column: int, rows: range) -> None:
        self._matrix = matrix
        self._column = column
        self._rows = rows
        self.dtype = matrix.dtype

    def __len__(self) -> int:
        return len(self._rows)

    def slice_rows(self, rows: slice) -> SparseColumn:
        """Return some rows in a row."""
        return SparseColumn(self._matrix, self._column, self._rows[rows])

    def read(self) -> NDArray[Any]:
        """Return the values."""
        start, stop = self._matrix.indptr[self._column : self._column + 2]
        at, held = self._matrix.indices[start:stop], self._matrix.data[start:stop]
        if len(self._rows) < self._matrix.shape[0]:
            first, end = np.searchsorted(at, [self._rows.start, self._rows.stop])
            at, held = at[first:end] - self._rows.start, held[first:end]
        values = np.zeros(len(self._rows), self.dtype)
        values[at] = held
        return values


class SparseTable:
    """A sparse matrix as columns x0, x1, ...

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n_rows, n_columns)
    """

    def __init__(self, matrix: Any) -> None:
        if matrix.ndim != 2:
            raise ValueError(f"Expected 2D array, got {matrix.ndim}D array instead: a table has rows and columns.")
        if matrix.dtype.kind == "c":
            raise ValueError("Complex data not supported: a column must be numbers, classes or text.")
        check_shape(*matrix.shape)
        held = sparse.csc_array(matrix)
        if not held.has_canonical_format:
            held = held.copy()
            held.sum_duplicates()
        self._matrix = held
        self.n_rows, n_columns = held.shape
        self.names = [f"x{j}" for j in range(n_columns)]

    def raw_column(self, name: str) -> RawColumn:
        """Return a column, its zeros written out."""
        return raw_from_array(name, SparseColumn(self._matrix, int(name[1:]), range(self.n_rows)).read())

    def as_floats(self) -> SparseTable:
        """Return the table with values that columns of numbers hold."""
        return SparseTable(self._matrix.astype(to_float_type(self._matrix.dtype), copy=False))

    def take_rows(self, rows: NDArray[np.intp]) -> SparseTable:
        """Return some of the rows."""
        return SparseTable(self._matrix.tocsr()[rows])

    def lazy_columns(self, columns: Iterable[int]) -> dict[int, Any]:
        """Return columns that are read when they are used."""
        return {j: SparseColumn(self._matrix, j, range(self.n_rows)) for j in columns}

    def describe_columns(self, describe_row: Callable[[int], str]) -> list[Column]:
        """Return what the columns are, as numbers; refuse those too large, `describe_row` wording a row of the user's table."""
        data, starts = self._matrix.data, self._matrix.indptr
        if (odd := np.flatnonzero(np.abs(data) > LARGEST_NUMBER)).size:
            j = int(np.searchsorted(starts, odd[0], side="right")) - 1
            check_finite(np.asarray(self.lazy_columns([j])[j]), self.names[j], describe_row)
        owners = np.searchsorted(starts, np.flatnonzero(np.isnan(data)), side="right") - 1
        n_missing = np.bincount(owners, minlength=len(self.names))
        least, most = (found.toarray().ravel() for found in (self._matrix.min(axis=0), self._matrix.max(axis=0)))
        return [
            Column(name, "numeric", n_missing=gaps, constant=True, exclusion_reason="no value is present")
            if gaps == self.n_rows
            else Column(name, "numeric", n_missing=gaps, constant=same)
            for name, gaps, same in zip(self.names, n_missing.tolist(), (least == most).tolist(), strict=True)
        ]


def open_sparse(data: Any, options: OpenOptions) -> TableSource:
    """Open a sparse matrix; its columns are called x0, x1, ...

    Numbers stay sparse. Booleans, columns that are given another kind, and new rows of a fit take the general road.
    """
    table = SparseTable(data)

    def frame_of(wanted: Sequence[str], rows: NDArray[np.intp]) -> Any:
        held = data.tocsr()
        part = held if is_every_row(rows, table.n_rows) else held[rows]
        return part if list(wanted) == table.names else part[:, [int(name[1:]) for name in wanted]]

    if data.dtype.kind == "b" or options.reader is not None or not _all_numeric(table.names, options.kinds):
        return build_table(table.names, table.raw_column, options, frame_of, has_names=False)
    check_names(table.names, options)
    features = [j for j, name in enumerate(table.names) if name not in options.role_by_column]
    if not features:
        raise DataError("The table has no column beside the target; at least 1 feature is needed.")
    # The target and other roles take the general road, over a table of one column that stands for the others.
    stand_in = RawColumn("", np.arange(table.n_rows, dtype=np.float64)[::-1])
    loaded = {"": stand_in, **{name: table.raw_column(name) for name in options.role_by_column}}
    frame = build_table(list(loaded), loaded.__getitem__, replace(options, kinds=None), frame_of)
    numbers = (table.take_rows(frame.row_numbers) if frame.schema.n_dropped else table).as_floats()
    described = numbers.describe_columns(lambda at: f"row {int(frame.row_numbers[at])}")
    schema = replace(frame.schema, columns=tuple(described[j] for j in features))
    (block,) = frame.blocks()
    taken = (k for k, column in enumerate(schema.columns) if column.exclusion_reason is None)
    held = numbers.lazy_columns(features)
    values = {k: held[features[k]] for k in taken}
    source = TableSource(schema, values, block.y, block.weight, frame.row_numbers, frame_of, column_names=table.names)
    source.class_labels = frame.class_labels
    source.groups, source.group_names, source.time = frame.groups, frame.group_names, frame.time
    return source


def find_sparse_matrix(X: Any) -> Any:
    """Return a sparse matrix as it is, and that of a table whose columns are all present numbers; None where there is none."""
    if not isinstance(X, Source):
        return X if sparse.issparse(X) else None
    if any(not column.is_number or column.n_missing or column.exclusion_reason for column in X.schema.columns):
        return None
    first = X.frame([0], np.zeros(1, dtype=np.intp))
    return X.frame() if sparse.issparse(first) else None


def _all_numeric(names: Sequence[str], kinds: Mapping[str, Kind] | Kind | None) -> bool:
    """Whether no column is said to be anything but a number."""
    if isinstance(kinds, Mapping):
        return set(kinds.values()) <= {"numeric"} and set(names).issuperset(kinds)
    return kinds in (None, "numeric")
