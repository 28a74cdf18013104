"""The rows of a table in the user's own type (array, sparse matrix or data frame), for estimators without encoding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.runtime.validation import check_memory
from tamiz.table.base import Table
from tamiz.table.schema import Column


class NativeTable:
    """A table for estimators: an array stays an array, and a frame stays a frame of its library, with its dtypes.

    A sparse matrix stays sparse if the estimator accepts it, and becomes an array otherwise. Files and Arrow tables, which
    estimators do not accept, become a pandas frame: numbers as float64, dates as seconds, booleans as bool (with missing values as
    0, 1 and NaN), levels as pandas categories. Without pandas they become a matrix of numbers.

    Parameters
    ----------
    table : Table
    accepts_sparse : bool
    """

    def __init__(self, table: Table, *, accepts_sparse: bool) -> None:
        self._table = table
        self._accepts_sparse = accepts_sparse

    @cached_property
    def needs_conversion(self) -> bool:
        """Whether the columns come from a file or an Arrow table and must be converted."""
        return isinstance(self._first_row, pa.Table)

    @property
    def _first_row(self) -> Any:
        return self._table.frame(self._table.schema.used[:1].tolist(), np.zeros(1, dtype=np.intp))

    @cached_property
    def n_bytes(self) -> float:
        schema = self._table.schema
        if self._accepts_sparse and sparse.issparse(self._first_row):
            rows = self._table.frame()
            return float(rows.data.nbytes + rows.indices.nbytes)
        return 8.0 * schema.n_rows * len(schema.used)

    def take_rows(self, rows: Indices, columns: Indices) -> NativeRows:
        """Return rows of some columns, in the order of the columns."""
        if not self.needs_conversion:
            return NativeRows(self._table.frame(columns.tolist(), rows), columns, accepts_sparse=self._accepts_sparse)
        part = _wrap_rows(self._converted_table)
        at = np.searchsorted(self._table.schema.used, columns)
        return NativeRows(part[np.ix_(rows, at)] if isinstance(part, np.ndarray) else part[rows, at.tolist()], columns)

    @cached_property
    def _converted_table(self) -> Any:
        schema, used = self._table.schema, self._table.schema.used.tolist()
        check_memory(
            8.0 * schema.n_rows * len(used),
            f"A table of {schema.n_rows:,} rows and {len(used):,} columns for an estimator",
            "Leave columns out with kinds, or rows.",
        )
        columns = {j: self._table.column(j) for j in used}
        if find_spec("pandas") is not None:
            return _pandas_frame(schema.columns, columns)
        for j in schema.categorical:
            if schema.columns[j].kind != "boolean":
                raise DataError(
                    f"Column {schema.columns[j].name!r} contains text, which needs pandas for an estimator: pass encode=True, or "
                    "install pandas."
                )
        return np.column_stack([column_to_floats(schema.columns[j], values) for j, values in columns.items()])


class NativeRows:
    """Rows of some columns, from which subsets of the columns are selected.

    Parameters
    ----------
    rows : array or frame
    columns : ndarray
        The numbers of the columns in the table, ascending.
    accepts_sparse : bool, default=False
        Whether sparse rows stay sparse.
    """

    def __init__(self, rows: Any, columns: Indices, *, accepts_sparse: bool = False) -> None:
        self._rows = _wrap_rows(rows)
        self._columns = columns
        self._accepts_sparse = accepts_sparse

    def __getstate__(self) -> dict[str, Any]:
        """Return a picklable state: a frame of its library instead of narwhals."""
        return {**self.__dict__, "_rows": nw.to_native(self._rows, pass_through=True)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._rows = _wrap_rows(self._rows)

    def select(self, columns: Indices) -> Any:
        """Return some of the columns as a copy, into which an estimator may write."""
        at = np.searchsorted(self._columns, columns)
        if isinstance(self._rows, np.ndarray):
            # C order, as in an array sliced by scikit-learn: sums then have the same last bits.
            return np.take(self._rows, at, axis=1)
        if sparse.issparse(self._rows):
            selected = self._rows[:, at]
            return selected.tocsr() if self._accepts_sparse else selected.toarray()
        return self._rows[:, at.tolist()].to_native()


def column_to_floats(column: Column, values: NDArray[Any]) -> Floats:
    """Return a column as float64: False and True as 0 and 1, text of digits as numbers, missing values as NaN."""
    if values.dtype.kind == "f":
        return values.astype(np.float64, copy=False)
    numbers = np.array([0.0, 1.0] if column.kind == "boolean" else [float(level) for level in column.levels])
    if column.kind == "boolean" and len(column.levels) == 1:
        numbers = numbers[[int(column.levels == ("True",))]]
    return np.append(numbers, np.nan)[values]


def is_number_like(column: Column) -> bool:
    """Return whether all values of a column are numbers, booleans or text of digits."""
    return column.is_number or column.kind == "boolean" or all(map(_is_number_text, column.levels))


def _is_number_text(level: str) -> bool:
    try:
        float(level)
    except ValueError:
        return False
    return True


def _wrap_rows(rows: Any) -> Any:
    """Return an array as it is, a masked array with NaN, a sparse matrix as CSC, and a frame wrapped by narwhals."""
    if sparse.issparse(rows):
        return rows.tocsc()
    if isinstance(rows, np.ma.MaskedArray):
        return np.ma.filled(rows.astype(np.float64), np.nan)
    return rows if isinstance(rows, np.ndarray) else nw.from_native(rows, eager_only=True)


def _pandas_frame(schema: Sequence[Column], columns: dict[int, NDArray[Any]]) -> Any:
    pd = import_module("pandas")

    def series(column: Column, values: NDArray[Any]) -> Any:
        if values.dtype.kind == "f":
            return values
        if column.kind != "boolean":
            return pd.Categorical.from_codes(values, list(column.levels))
        numbers = column_to_floats(column, values)
        return numbers if column.n_missing else numbers.astype(bool)

    return pd.DataFrame({schema[j].name: series(schema[j], values) for j, values in columns.items()})
