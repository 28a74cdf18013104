"""Sparse matrices of scipy as tables of numbers; columns are made dense one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Indices
from tamiz.table.base import EncodedTable, is_every_row
from tamiz.table.build import (
    ColumnSource,
    Features,
    OpenOptions,
    assemble_table,
    build_table,
    feature_names,
    read_roles,
)
from tamiz.table.column_storage import LazyColumn
from tamiz.table.in_memory import check_shape, raw_from_array, to_float_type
from tamiz.table.kinds import LARGEST_NUMBER, SMALLEST_SPREAD, RawColumn, check_finite
from tamiz.table.schema import Column, Kind


class SparseColumn(LazyColumn):
    """A column of a sparse matrix, made dense when it is read.

    Parameters
    ----------
    matrix : csc_array
        In canonical form: row indices sorted and without duplicates.
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
        return SparseColumn(self._matrix, self._column, self._rows[rows])

    def read(self) -> NDArray[Any]:
        start, stop = self._matrix.indptr[self._column : self._column + 2]
        rows, data = self._matrix.indices[start:stop], self._matrix.data[start:stop]
        if len(self._rows) < self._matrix.shape[0]:
            first, end = np.searchsorted(rows, [self._rows.start, self._rows.stop])
            rows, data = rows[first:end] - self._rows.start, data[first:end]
        values = np.zeros(len(self._rows), self.dtype)
        values[rows] = data
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
        columns = sparse.csc_array(matrix)
        if not columns.has_canonical_format:
            columns = columns.copy()
            columns.sum_duplicates()
        self._matrix = columns
        self.n_rows, n_columns = columns.shape
        self.names = [f"x{j}" for j in range(n_columns)]

    def raw_column(self, name: str) -> RawColumn:
        return raw_from_array(name, SparseColumn(self._matrix, int(name[1:]), range(self.n_rows)).read())

    def as_floats(self) -> SparseTable:
        """Return the table with float32 or float64 values."""
        return SparseTable(self._matrix.astype(to_float_type(self._matrix.dtype), copy=False))

    def take_rows(self, rows: Indices) -> SparseTable:
        return SparseTable(self._matrix.tocsr()[rows])

    def lazy_columns(self, columns: Iterable[int]) -> dict[int, Any]:
        """Return columns that are made dense when they are used."""
        return {j: SparseColumn(self._matrix, j, range(self.n_rows)) for j in columns}

    def describe_columns(self, describe_row: Callable[[int], str]) -> list[Column]:
        """Return the descriptions of the columns; raise a DataError for infinite or too large numbers.

        `describe_row` turns the position of a row into words of the message.
        """
        data, starts = self._matrix.data, self._matrix.indptr
        if (too_large := np.flatnonzero(np.abs(data) > LARGEST_NUMBER)).size:
            j = int(np.searchsorted(starts, too_large[0], side="right")) - 1
            check_finite(np.asarray(self.lazy_columns([j])[j]), self.names[j], describe_row)
        columns_of_missing = np.searchsorted(starts, np.flatnonzero(np.isnan(data)), side="right") - 1
        counts = np.bincount(columns_of_missing, minlength=len(self.names))
        smallest, largest = self._extremes
        are_constant = (smallest == largest) & (counts == 0)
        return [
            Column(name, "numeric", n_missing=n_missing, constant=True, exclusion_reason="no value is present")
            if n_missing == self.n_rows
            else Column(name, "numeric", n_missing=n_missing, constant=constant)
            for name, n_missing, constant in zip(self.names, counts.tolist(), are_constant.tolist(), strict=True)
        ]

    def small_spreads(self, columns: Iterable[int]) -> dict[str, float | None]:
        """Return the spreads of those columns in which the squares of differences underflow, by name."""
        smallest, largest = self._extremes
        spreads = largest - smallest
        small = (spreads > 0) & (spreads < SMALLEST_SPREAD)
        return {self.names[j]: float(spreads[j]) for j in columns if small[j]}

    @cached_property
    def _extremes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The smallest and the largest present value of each column; both NaN where no value is present."""
        smallest, largest = self._matrix.nanmin(axis=0), self._matrix.nanmax(axis=0)
        return smallest.toarray().ravel(), largest.toarray().ravel()


def open_sparse(data: Any, options: OpenOptions) -> EncodedTable:
    """Open a sparse matrix; its columns are named x0, x1, ...

    Numbers remain sparse. `build_table` encodes dense columns for booleans, for columns of another kind than numeric, and for new
    rows that are read with a schema.
    """
    table = SparseTable(data)

    def make_frame(wanted: Sequence[str], rows: Indices) -> Any:
        matrix = data.tocsr()
        part = matrix if is_every_row(rows, table.n_rows) else matrix[rows]
        return part if list(wanted) == table.names else part[:, [int(name[1:]) for name in wanted]]

    source = ColumnSource(table.names, table.n_rows, table.raw_column, make_frame, has_names=False)
    if data.dtype.kind == "b" or options.reader is not None or not _all_numeric(table.names, options.kinds):
        return build_table(source, options)
    roles = read_roles(source, options)
    features = [int(name[1:]) for name in feature_names(source, options)]
    numbers = (table if roles.rows is None else table.take_rows(roles.rows)).as_floats()
    described = numbers.describe_columns(lambda at: f"row {roles.row_number(at)}")
    columns, lazy_columns = [described[j] for j in features], numbers.lazy_columns(features)
    values = {k: lazy_columns[j] for k, j in enumerate(features) if columns[k].exclusion_reason is None}
    found = Features(columns, values, spreads=numbers.small_spreads(features))
    return assemble_table(source, options, roles, found)


def _all_numeric(names: Sequence[str], kinds: Mapping[str, Kind] | Kind | None) -> bool:
    if isinstance(kinds, Mapping):
        return set(kinds.values()) <= {"numeric"} and set(names).issuperset(kinds)
    return kinds in (None, "numeric")
