"""Tables in memory: data frames of every library that narwhals supports, arrays, and sparse matrices, whose columns are made dense
one at a time; single vectors as codes and weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Number
from typing import Any
from weakref import WeakKeyDictionary

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.kernels.moments import add_deviations
from tamiz.runtime import parallel
from tamiz.table.base import EncodedTable, Table, frame_columns_at, is_every_row
from tamiz.table.build import (
    ColumnSource,
    Features,
    OpenOptions,
    Roles,
    assemble_table,
    build_table,
    feature_names,
    read_roles,
)
from tamiz.table.column_storage import LazyColumn
from tamiz.table.kinds import (
    LARGEST_EXACT_INTEGER,
    LARGEST_NUMBER,
    SMALLEST_SPREAD,
    Numbers,
    RawColumn,
    check_finite,
    encode_target,
    level_text,
    numeric_column,
    small_spread,
    to_numbers,
)
from tamiz.table.roles import to_row_numbers
from tamiz.table.schema import Column, Kind
from tamiz.table.text_values import as_exact_integers

# Rows from which is inferred whether a column of Python objects has repeated words.
_HEAD_ROWS = 2**9
# Number of values of a piece of work.
_MAX_PIECE_VALUES = 2**18


# The rows of Arrow streams, most of which can be read only once, while the streams exist.
_stream_tables: WeakKeyDictionary[Any, pa.Table] = WeakKeyDictionary()


def is_frame(data: Any) -> bool:
    """Return whether the data is a data frame of a library that narwhals supports, or an Arrow stream."""
    return as_frame(data) is not None


def as_frame(data: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """Return a data frame of any library, or an Arrow stream, as a narwhals frame; None for other data."""
    try:
        frame = nw.from_native(data, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:
        raise DataError(f"Column {_first_duplicate(data)!r} occurs twice; rename one of them.") from None
    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return frame
    if isinstance(frame, nw.Series) or not hasattr(data, "__arrow_c_stream__"):
        return None
    table = pa.table(data)
    # Only a record batch has no hash; it can be read again. A stream that was read before has no rows.
    if isinstance(data, Hashable):
        table = table if len(table) else _stream_tables.get(data, table)
        _stream_tables[data] = table
    return as_frame(table)


def _first_duplicate(data: Any) -> str:
    """Return the first column name that occurs twice in a pandas or Arrow frame."""
    seen: set[str] = set()
    for name in map(str, getattr(data, "column_names", data.columns)):
        if name in seen:
            return name
        seen.add(name)
    return ""


def to_raw_column(values: Any, name: str) -> RawColumn:
    """Convert a vector that was passed beside the table, such as a target or weights, to a raw column."""
    series = nw.from_native(values, pass_through=True, allow_series=True)
    if isinstance(series, nw.DataFrame):
        if len(series.columns) != 1:
            raise DataError(f"The {name} must be one column, got {len(series.columns)}; pass one of them.")
        series = series[series.columns[0]]
    if isinstance(series, nw.Series):
        series_name = str(series.name) if series.name not in (None, "") else name
        if series.implementation.is_pandas():
            return _from_pandas(series_name, series.to_native())
        return _from_series(series_name, series)
    array = _unmasked(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"The {name} must be one column, got an array of shape {array.shape}; pass one of them.")
    raw = raw_from_array(name, array)
    # The labels of classes keep the integer type, which has no value for missing.
    return replace(raw, original=np.ma.getdata(values).ravel()) if isinstance(values, np.ma.MaskedArray) else raw


def eager_frame(data: Any) -> nw.DataFrame[Any]:
    """Return a data frame of any library as a narwhals frame; a lazy frame is collected."""
    frame = as_frame(data)
    assert frame is not None
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def column_loader(data: Any) -> tuple[list[str], Callable[[str], RawColumn]]:
    """Return the names of the columns of a frame or an array, and a function that returns a column by name."""
    if is_frame(data):
        frame = eager_frame(data)
        check_shape(len(frame), len(frame.columns))
        names = [str(name) for name in frame.columns]
        positions = {name: j for j, name in enumerate(names)}
        # Indexing a frame by position takes longer the more columns it has; iterating over all columns does not.
        if not frame.implementation.is_pandas():
            columns = list(frame.iter_columns())
            return names, lambda name: _from_series(name, columns[positions[name]])
        native = [series for _, series in frame.to_native().items()]
        return names, lambda name: _from_pandas(name, native[positions[name]])
    array = check_matrix(data)
    return default_names(array.shape[1]), lambda name: raw_from_array(name, array[:, int(name[1:])])


def load_column(table: Table, j: int) -> RawColumn:
    """Return a column of a table as it was read, an excluded one too."""
    names, load = column_loader(table.frame([j]))
    # An array has lost the names of its columns.
    return load(names[0])


def default_names(n_columns: int) -> list[str]:
    return [f"x{j}" for j in range(n_columns)]


def check_matrix(data: Any) -> NDArray[Any]:
    """Return data as an array of two dimensions; raise an error for anything that is not a table."""
    if isinstance(data, str | Mapping):
        advice = "use open_table to read a file" if isinstance(data, str) else "convert it with pandas.DataFrame(data)"
        raise TypeError(f"A table must be an array or a data frame, got a {type(data).__name__}; {advice}.")
    if isinstance(nw.from_native(data, pass_through=True, allow_series=True), nw.Series):
        raise ValueError("Expected a table, got a Series, which is one column; convert it with to_frame().")
    array = _unmasked(data)
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: shape {array.shape}. Reshape your data: a table has "
            "rows and columns, array.reshape(-1, 1) is one column, array.reshape(1, -1) one row."
        )
    check_shape(*array.shape)
    if np.iscomplexobj(array):
        raise ValueError("Complex data not supported: a column must be numbers, classes or text.")
    return array


def check_two_dimensions(matrix: Any) -> None:
    """Raise a ValueError for a sparse array of another number of dimensions."""
    if matrix.ndim != 2:
        raise ValueError(f"Expected 2D array, got {matrix.ndim}D array instead: a table has rows and columns.")


def to_matrix(X: Any) -> NDArray[Any]:
    """Return a data frame or an array as an array of two dimensions."""
    return check_matrix(eager_frame(X).to_numpy() if is_frame(X) else X)


def to_numpy(data: Any) -> NDArray[Any]:
    """Convert an array of any library to numpy; raise a TypeError for one that numpy cannot read, such as one on a GPU."""
    try:
        # Libraries of the array API standard need not define __array__; np.asarray would make one object of such an array.
        by_dlpack = hasattr(data, "__dlpack__") and not hasattr(data, "__array__")
        return np.from_dlpack(data) if by_dlpack else np.asarray(data)
    except (TypeError, RuntimeError, BufferError) as error:
        if not hasattr(data, "__dlpack__"):
            raise
        array_type = type(data)
        raise TypeError(
            f"numpy cannot read this {array_type.__module__}.{array_type.__qualname__}: {str(error).rstrip('.')}. Convert it to a "
            "numpy array, a torch tensor with X.detach().cpu().numpy()."
        ) from error


def from_array_api(values: Any) -> Any:
    """Return an array of another library as one of numpy, and everything else as it is.

    Where `array_api_dispatch` is on, scikit-learn's checks would return arrays of that library.
    """
    return to_numpy(values) if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray) else values


def _unmasked(data: Any) -> NDArray[Any]:
    """Return data as a plain array; masked values are missing."""
    if not isinstance(data, np.ma.MaskedArray):
        array = to_numpy(data)
        if (
            array.dtype.kind == "f"
            and isinstance(data, list | tuple)
            and (np.abs(array) >= LARGEST_EXACT_INTEGER).any()
        ):
            # numpy converted integers to floats, because they exceed 64 bits or because one is missing.
            return np.asarray(data, dtype=object)
        return array
    if data.dtype.kind == "f" or (data.dtype.kind in "iu" and not _is_beyond_float(np.ma.getdata(data))):
        return np.where(np.ma.getmaskarray(data), np.nan, np.ma.getdata(data).astype(np.float64))
    values = np.array(np.ma.getdata(data), dtype=object)
    values[np.ma.getmaskarray(data)] = None
    return values


def open_frame(data: Any, options: OpenOptions) -> EncodedTable:
    frame = eager_frame(data)
    names, load = column_loader(frame)
    positions = {name: j for j, name in enumerate(names)}
    frame_data = frame if options.frame_data is None else eager_frame(options.frame_data)

    def make_frame(wanted: Sequence[str], rows: Indices) -> Any:
        # By position, because the names of a frame need not be text.
        part = eager_frame(frame_columns_at(frame_data.to_native(), [positions[name] for name in wanted]))
        return (part if is_every_row(rows, len(part)) else part[rows.tolist(), :]).to_native()

    return build_table(ColumnSource(names, len(frame), load, make_frame), options)


def open_array(data: Any, options: OpenOptions) -> EncodedTable:
    """Open an array of two dimensions; its columns are named x0, x1, ..."""
    array = check_matrix(data)
    names, load = column_loader(array)

    def make_frame(wanted: Sequence[str], rows: Indices) -> Any:
        original = data if isinstance(data, np.ndarray) else array
        original = original if options.frame_data is None else options.frame_data
        return original[:, [int(name[1:]) for name in wanted]][rows]

    source = ColumnSource(names, len(array), load, make_frame, has_names=False)
    if options.kinds is None and not options.role_by_column and options.reader is None and _is_plain(array):
        roles = read_roles(source, options)
        return assemble_table(source, options, roles, _describe_matrix(array, names, roles))
    return build_table(source, options)


def _is_plain(array: NDArray[Any]) -> bool:
    """Whether a matrix has numbers that float64 represents."""
    return array.dtype.kind == "f" or (array.dtype.kind in "iu" and not _is_beyond_float(array))


def _describe_matrix(array: NDArray[Any], names: list[str], roles: Roles) -> Features:
    """Return the columns of a matrix of numbers, without a copy unless its type must change or rows are left out."""
    numbers = np.asarray(array, dtype=to_float_type(array.dtype))
    if roles.rows is not None:
        numbers = numbers[roles.rows]
    deviations = _deviations_from_first(numbers)
    columns: list[Column] = []
    for j, name in enumerate(names):
        # A finite sum: no value is missing or infinite.
        if deviations[j] <= LARGEST_NUMBER:
            columns.append(Column(name, "numeric", constant=not deviations[j]))
            continue
        n_missing = check_finite(numbers[:, j], name, lambda at: f"row {roles.row_number(at)}")
        columns.append(numeric_column(name, "numeric", numbers[:, j], n_missing, inferred=False))
    # Where no value is missing, the sum of the deviations bounds the spread.
    suspects = np.flatnonzero((deviations != 0) & ~(deviations >= len(numbers) * SMALLEST_SPREAD)).tolist()
    spreads = {names[j]: small_spread(numbers[:, j]) for j in suspects}
    values = {j: numbers[:, j] for j, column in enumerate(columns) if column.exclusion_reason is None}
    return Features(columns, values, spreads=spreads, matrix=numbers if len(values) == len(columns) else None)


def to_float_type(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """Return the type in which numbers are stored: float32 for float32, float64 for all other types."""
    return np.float32 if dtype == np.float32 else np.float64


def _deviations_from_first(numbers: Numbers) -> Numbers:
    """Return the sum of absolute deviations of each column's values from its first; NaN if a column has missing values.

    The matrix is read row by row, the order in which most matrices are stored.
    """
    spans = parallel.block_ranges(len(numbers), max(1, _MAX_PIECE_VALUES // numbers.shape[1]))
    first = np.ascontiguousarray(numbers[0])

    def sum_deviations(span: tuple[int, int]) -> Numbers:
        total = np.zeros_like(first)
        add_deviations(np.ascontiguousarray(numbers[slice(*span)]), first, total)
        return total

    with np.errstate(over="ignore", invalid="ignore"):
        total: Numbers = np.sum(list(parallel.map_blocks(sum_deviations, spans)), axis=0)
    return np.where(np.abs(first) <= LARGEST_NUMBER, total, np.nan)


@dataclass(eq=False)
class SparseColumn(LazyColumn):
    """A column of a sparse matrix in canonical form (row indices sorted and without duplicates), made dense when it is read."""

    matrix: sparse.csc_array
    column: int
    rows: range

    @property
    def dtype(self) -> Any:
        return self.matrix.dtype

    def read(self) -> NDArray[Any]:
        start, stop = self.matrix.indptr[self.column : self.column + 2]
        rows, data = self.matrix.indices[start:stop], self.matrix.data[start:stop]
        if len(self.rows) < self.matrix.shape[0]:
            first, end = np.searchsorted(rows, [self.rows.start, self.rows.stop])
            rows, data = rows[first:end] - self.rows.start, data[first:end]
        values = np.zeros(len(self.rows), self.dtype)
        values[rows] = data
        return values


class SparseTable:
    """A sparse matrix as columns x0, x1, ...

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n_rows, n_columns)
    """

    def __init__(self, matrix: Any) -> None:
        check_two_dimensions(matrix)
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


def mask_infinite(data: Any) -> tuple[Any, bytes]:
    """Return an array or a frame with missing in place of infinite values, and a hash of the positions of these.

    Without infinite values the data is returned as it is, with an empty hash.
    """
    if isinstance(data, np.ndarray):
        infinite = np.isinf(data) if data.dtype.kind == "f" else np.zeros(0, dtype=bool)
        return (np.where(infinite, np.nan, data), _position_digest(infinite, data)) if infinite.any() else (data, b"")
    if not is_frame(data):
        return data, b""
    frame, digest = eager_frame(data), b""
    for j, dtype in enumerate(frame.schema.values()):
        if not dtype.is_float():
            continue
        series = frame[:, j]
        values = series.to_numpy().astype(np.float64, copy=False)
        infinite = np.isinf(values)
        if infinite.any():
            digest += str(j).encode() + _position_digest(infinite, values)
            masked = nw.new_series(series.name, np.where(infinite, np.nan, values), backend=frame.implementation)
            frame = frame.with_columns(masked)
    return (frame.to_native(), digest) if digest else (data, b"")


def _position_digest(infinite: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> bytes:
    at = np.flatnonzero(infinite)
    return hashlib.sha256(at.tobytes() + np.signbit(values.ravel()[at]).tobytes()).digest()


def check_shape(n_rows: int, n_columns: int) -> None:
    if n_rows == 0:
        raise DataError(f"The table has 0 sample(s) (shape=({n_rows}, {n_columns})) while a minimum of 1 is required.")
    if n_columns == 0:
        raise DataError(f"0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required.")


def _from_series(name: str, series: nw.Series[Any]) -> RawColumn:
    return replace(_series_values(name, series), original=series.to_native())


def _series_values(name: str, series: nw.Series[Any]) -> RawColumn:
    dtype = series.dtype
    if isinstance(dtype, nw.Int128 | nw.UInt128):
        raise DataError(f"Column {name}: values of type {dtype} are not supported; cast the column to another type.")
    if dtype.is_float():
        values = series.to_numpy()
        return RawColumn(name, np.asarray(values, dtype=to_float_type(values.dtype)))
    if isinstance(dtype, nw.Categorical | nw.Enum):
        values = _combine_chunks(series.to_arrow())
        return RawColumn(name, values, "categorical", ordered=isinstance(dtype, nw.Enum) or values.type.ordered)
    if isinstance(dtype, nw.Object | nw.Unknown):
        return raw_from_array(name, series.to_numpy())
    try:
        return raw_from_arrow(name, _combine_chunks(series.to_arrow()))
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # narwhals infers the type of Python objects from the first of them.
        return raw_from_array(name, series.to_numpy())


def _from_pandas(name: str, series: Any) -> RawColumn:
    """Convert a pandas series to a raw column.

    Codes, float64 values and text in Arrow's format are used without a copy, which is ten times faster than a conversion by
    narwhals and Arrow.
    """
    codes = getattr(series.array, "codes", None)
    if codes is not None:
        words = tuple(map(level_text, series.array.categories.tolist()))
        return RawColumn(name, codes, "categorical", words, series.array.ordered, series)
    if series.dtype == np.float64 and isinstance(series.dtype, np.dtype):
        return RawColumn(name, series.to_numpy(), original=series)
    if getattr(series.dtype, "storage", None) == "pyarrow":
        return replace(raw_from_arrow(name, _combine_chunks(pa.array(series.array))), original=series)
    if series.dtype == object and (encoded := _encode_text(series)) is not None:
        return RawColumn(name, encoded, original=series)
    return _from_series(name, nw.from_native(series, series_only=True))


def _encode_text(series: Any) -> pa.DictionaryArray | None:
    """Dictionary-encode a pandas series of Python strings, None if a value is not text or if most values differ.

    Hashing a Python string, which stores its hash, takes a third of the time of copying it to Arrow and hashing the copy.
    """
    head = series.iloc[:_HEAD_ROWS].tolist()
    if sum(type(value) is str for value in head) <= 2 * len({value for value in head if type(value) is str}):
        return None
    try:
        codes, words = series.factorize()
    except TypeError:
        return None
    if not all(type(word) is str for word in words):
        return None
    return pa.DictionaryArray.from_arrays(
        pa.array(codes.astype(np.int32), mask=codes < 0), pa.array(words, pa.string())
    )


def _combine_chunks(values: Any) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def raw_from_array(name: str, array: NDArray[Any]) -> RawColumn:
    return replace(_array_values(name, array), original=array)


def _array_values(name: str, array: NDArray[Any]) -> RawColumn:
    if array.dtype.kind in "iu" and _is_beyond_float(array):
        return RawColumn(name, pa.array(array.astype(array.dtype.newbyteorder("="))))
    if array.dtype.kind in "fiu":
        return RawColumn(name, np.ascontiguousarray(array, dtype=to_float_type(array.dtype)))
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: a column must be numbers, classes or text.")
    if array.dtype.kind in "mM":
        return raw_from_arrow(name, pa.array(array.astype(f"{array.dtype.kind}8[{_arrow_unit(array.dtype)}]")))
    values = array if array.dtype.kind != "O" else [None if _is_missing(v) else v for v in array.tolist()]
    try:
        return raw_from_arrow(name, pa.array(values))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        if all(v is None or (isinstance(v, Number) and not isinstance(v, bool | complex)) for v in values):
            return RawColumn(name, _exact_numbers(list(values)))
        return RawColumn(name, pa.array([None if v is None else str(v) for v in values], pa.string()))


def _arrow_unit(dtype: np.dtype[Any]) -> str:
    """Return the unit of Arrow that represents dates or durations of a type of numpy: seconds for units of minutes or more."""
    unit, _ = np.datetime_data(dtype)
    return unit if unit in ("ms", "us", "ns") else "ns" if unit in ("ps", "fs", "as") else "s"


def _exact_numbers(values: Sequence[Any]) -> Any:
    """Return numbers of several types, None for missing: as exact integers if all are whole, otherwise as float64."""
    whole = as_exact_integers(pa.array([None if v is None else str(v) for v in values], pa.string()))
    return np.array([np.nan if v is None else float(v) for v in values]) if whole is None else whole


def _is_beyond_float(array: NDArray[Any]) -> bool:
    """Whether integers are so large that float64 does not represent them exactly."""
    return array.itemsize == 8 and array.size > 0 and max(int(array.max()), -int(array.min())) > LARGEST_EXACT_INTEGER


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.generic) and bool(value != value)


def raw_from_arrow(name: str, values: pa.Array) -> RawColumn:
    """Convert an Arrow array to a raw column; a dictionary array is declared categorical."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return RawColumn(name, values, "categorical", ordered=kind.ordered)
    if pa.types.is_string_view(kind):
        values = values.cast(pa.string())
    return RawColumn(name, values)


def _describe_value(at: int) -> str:
    return f"value {at}"


def code_vector(values: ArrayLike, name: str) -> tuple[NDArray[np.int32], int]:
    """Return the values as codes, -1 for missing values, and the number of distinct values."""
    encoded = encode_target(to_raw_column(values, name), "categorical", _describe_value)
    if encoded.values is None:
        return np.full(encoded.column.n_missing, -1, dtype=np.int32), 0
    return np.ascontiguousarray(encoded.values, dtype=np.int32), len(encoded.column.levels)


def read_target_vector(values: ArrayLike, name: str) -> tuple[NDArray[Any], bool]:
    """Return a target as numbers, NaN for missing values, or as codes of classes, -1 for these, and whether it is a number."""
    encoded = encode_target(to_raw_column(values, name), None, _describe_value)
    if encoded.values is None:
        return np.full(encoded.column.n_missing, -1, dtype=np.int32), False
    return encoded.values, encoded.column.is_number


def weight_vector(sample_weight: ArrayLike | None, n: int) -> Floats:
    """Return the weights of n values, ones by default; raise a DataError for invalid weights."""
    if sample_weight is None:
        return np.ones(n)
    weight = to_numbers(to_raw_column(sample_weight, "sample_weight"), _describe_value)
    if len(weight) != n:
        raise DataError(f"sample_weight has {len(weight)} values for {n}: inconsistent numbers of samples.")
    return to_row_numbers(weight, None, _describe_value)[0]
