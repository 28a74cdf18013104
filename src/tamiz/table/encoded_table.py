"""`EncodedTable`, a table of encoded columns, and `build_table`, by which all readers create it from raw columns.

`build_table` reads the columns with a role (target, weight, groups, time), leaves out rows without a target, infers the kinds of
the features and encodes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from tamiz.arrays import Codes, Floats, Indices, Masks, is_missing
from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.executors import Shared, Workers
from tamiz.runtime.parallel import MemoryGate
from tamiz.runtime.registry import suggestion
from tamiz.runtime.user_warnings import list_names, warn_user
from tamiz.runtime.validation import check_choice
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.table.base import Table
from tamiz.table.kinds import (
    EncodedColumn,
    LevelCodes,
    RawColumn,
    check_finite,
    encode_column,
    encode_target,
    match_levels,
    missing_codes,
    small_spread_warnings,
    to_numbers,
)
from tamiz.table.schema import KINDS, Column, Kind, Schema, WeightKind
from tamiz.table.text_values import as_dates, as_numbers, try_cast

_READ_AS_MISSING = "these values are treated as missing"
_ABSENT_ADVICE = "Columns are matched by name: rename columns with other names, or add an empty column."


@dataclass(frozen=True)
class SchemaReader:
    """Options for reading new rows.

    Attributes
    ----------
    schema : Schema
        The columns of fit. Used columns are read; excluded columns may be absent.
    fill_absent : bool
        Whether an absent column is filled with missing values; otherwise it raises a DataError.
    unknown_effect : str
        How values that are not among the levels are treated, for the warning about them.
    advice : str
        A sentence of advice for the error about absent columns.
    """

    schema: Schema
    fill_absent: bool = False
    unknown_effect: str = _READ_AS_MISSING
    advice: str = _ABSENT_ADVICE

    def kind_of(self, name: str) -> Kind | None:
        """Return the kind of a used column or of the target; None for other columns."""
        known = [c for c in self.schema.columns if c.exclusion_reason is None]
        target = [] if self.schema.target is None else [self.schema.target]
        return next((column.kind for column in (*known, *target) if column.name == name), None)

    def read(self, source: ColumnSource) -> tuple[Schema, dict[int, NDArray[Any]]]:
        """Return the schema of the new rows and the values of the used columns."""
        columns, used = list(self.schema.columns), self.schema.used.tolist()
        available = set(source.names)
        absent = [columns[j].name for j in used if columns[j].name not in available]
        if absent and not self.fill_absent:
            known = set(self.schema.names)
            others = [name for name in source.names if name not in known]
            raise DataError(_absent_message(absent, others, self.advice))
        memory_gate = MemoryGate()

        def read(j: int) -> tuple[Column, NDArray[Any], list[Verdict]]:
            with memory_gate.reserve(
                source.column_memory, f"Reading column {columns[j].name}", "A column is read whole."
            ):
                column, values, column_warnings = encode_known_column(
                    columns[j], source.load(columns[j].name), source.describe_row, self.unknown_effect
                )
                return column, source.store(values), column_warnings

        values: dict[int, NDArray[Any]] = {}
        warnings: list[Verdict] = []
        present = [j for j in used if columns[j].name not in absent]
        with parallel.thread_session():
            for j, (column, stored, column_warnings) in zip(present, parallel.map_blocks(read, present), strict=True):
                columns[j], values[j] = column, stored
                warnings += column_warnings
                progress.report_progress("Reading columns", len(values), len(present))
        n_rows = len(values[present[0]]) if present else len(source.load(source.names[0]))
        for j in set(used).difference(present):
            values[j] = source.store(_missing_column(columns[j], n_rows))
            columns[j] = replace(columns[j], n_missing=n_rows)
        if absent:
            warnings.append(_filled_message(absent, n_rows))
        warn_user(warnings)
        return Schema(tuple(columns), n_rows), {j: values[j] for j in used}


def encode_known_column(
    column: Column, raw: RawColumn, describe_row: Callable[[int], str], unknown_effect: str = _READ_AS_MISSING
) -> tuple[Column, NDArray[Any], list[Verdict]]:
    """Encode new values of a column of fit.

    Parameters
    ----------
    column : Column
        A used column of the schema of fit.
    raw : RawColumn
    describe_row : callable
        Turns the position of a row into words of a message.
    unknown_effect : str
        How values that are not among the levels are treated, for the warning about them.

    Returns
    -------
    column : Column
        With the number of missing values of the new rows.
    values : ndarray
    warnings : list of Verdict
    """
    if column.is_number:
        numbers = to_numbers(raw, describe_row, column.kind)
        n_missing = check_finite(numbers, column.name, describe_row)
        return replace(column, n_missing=n_missing), numbers, []
    known = match_levels(raw, column.levels)
    n_missing = int(np.count_nonzero(known.codes < 0))
    return (
        replace(column, n_missing=n_missing),
        known.codes,
        _unknown_level_warnings(column.name, known, unknown_effect),
    )


def _missing_column(column: Column, n_rows: int) -> NDArray[Any]:
    return np.full(n_rows, np.nan) if column.is_number else missing_codes(n_rows, column.levels)


def _absent_message(absent: Sequence[str], others: Sequence[str], advice: str) -> str:
    """Return an error message that lists the absent columns, with suggestions from the columns that fit did not have."""
    listed = list_names(absent, as_text=lambda name: f"{name!r}{suggestion(name, others)}")
    if len(absent) == 1:
        return f"There is no column {listed}, which fit had. {advice}"
    return f"{len(absent):,} columns of fit are absent: {listed}. {advice}"


def _filled_message(absent: Sequence[str], n_rows: int) -> Verdict:
    """Return a warning that lists the absent columns, which are filled with missing values."""
    columns, rows = ("column is", "columns are")[len(absent) > 1], ("rows", "row")[n_rows == 1]
    listed = list_names(absent, as_text=repr)
    sentence = f"{len(absent):,} {columns} absent and filled with missing values in all {n_rows:,} {rows}: {listed}."
    return Verdict("TZ205", sentence, absent)


def _unknown_level_warnings(name: str, known: LevelCodes, unknown_effect: str) -> list[Verdict]:
    """Return a warning that lists the values of a column which are not among its levels; an empty list if there are none."""
    n = len(known.unknown)
    if not n:
        return []
    levels, rows = ("level", "levels")[n > 1], ("row", "rows")[known.n_unknown > 1]
    sentence = (
        f"Column {name}: {n:,} {levels} in {known.n_unknown:,} {rows} {'was' if n == 1 else 'were'} not present in fit: "
        f"{list_names(known.unknown, as_text=repr)}; {unknown_effect}."
    )
    return [Verdict("TZ205", sentence, [name])]


Times = Floats | NDArray[np.int64]

_LARGEST_INT64 = 2**63 - 1
# Months, quarters and weeks of a year sort by time as text: 2024-03, 2024-Q1, 2024-W07.
_PERIOD_PATTERNS = (r"^\d{4}-\d{2}$", r"^\d{4}-?Q\d$", r"^\d{4}-?W\d{2}$")
_ADVICE = "Fill it in, or leave the row out."


def class_labels(raw: RawColumn, codes: NDArray[Any], levels: Sequence[str]) -> NDArray[Any]:
    """Return the original value of each level of the target, in the order of the codes.

    Values in memory keep their type, as scikit-learn's estimators see them. Values of a file have the type that the file declares;
    numbers in text are integers if all are whole.

    Parameters
    ----------
    raw : RawColumn
        The target as it was read.
    codes : ndarray of shape (n_rows,)
        The code of each row, -1 where the target is missing; every level occurs.
    levels : sequence of str
    """
    present = np.flatnonzero(codes >= 0)[::-1]
    rows = np.empty(len(levels), dtype=np.intp)
    # Reversed, because the last of several assignments to an element is kept: this is the first row of each level.
    rows[codes[present]] = present
    if raw.original is not None and _is_typed(labels := _original_labels(raw.original, rows)):
        return labels
    if isinstance(raw.values, pa.Array) and _is_typed(labels := _arrow_labels(raw.values, rows)):
        return labels
    return _parse_labels(levels)


def _original_labels(original: Any, rows: Indices) -> NDArray[Any]:
    if isinstance(original, np.ndarray):
        return original[rows]
    selected = nw.from_native(original, series_only=True)[rows.tolist()].to_native()
    # As scikit-learn reads a series: pandas' nullable integers and booleans become float64.
    return np.asarray(column_or_1d(selected))


def _arrow_labels(values: pa.Array, rows: Indices) -> NDArray[Any]:
    selected = values.take(pa.array(rows))
    selected = selected.dictionary_decode() if pa.types.is_dictionary(selected.type) else selected
    labels = selected.to_numpy(zero_copy_only=False)
    return np.array(labels.tolist()) if _is_text(labels) else labels


def _is_typed(labels: NDArray[Any]) -> bool:
    """Whether the values have one type; objects of several types cannot be sorted."""
    return labels.dtype.kind != "O" or _is_text(labels)


def _is_text(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind == "O" and all(isinstance(value, str) for value in labels.tolist())


def _parse_labels(levels: Sequence[str]) -> NDArray[Any]:
    """Return integers if all levels are integers, floats if all are numbers, text otherwise; "01" is text."""
    if all(map(_is_integer_text, levels)):
        return np.array([int(level) for level in levels], dtype=np.int64)
    if all(_is_integer_text(level) or _is_float_text(level) for level in levels):
        return np.array([float(level) for level in levels])
    return np.array(levels)


def _is_integer_text(level: str) -> bool:
    try:
        return str(int(level)) == level and abs(int(level)) <= _LARGEST_INT64
    except ValueError:
        return False


def _is_float_text(level: str) -> bool:
    try:
        return repr(float(level)) == level and np.isfinite(float(level))
    except ValueError:
        return False


def group_codes(raw: RawColumn, describe_row: Callable[[int], str]) -> tuple[Codes, tuple[str, ...]]:
    """Return the group of each row as a code, and the names of the groups in code order; raise a DataError if one is missing."""
    encoded = encode_target(raw, "categorical", describe_row)
    codes = np.full(len(raw), -1) if encoded.values is None else encoded.values
    _check_no_missing(codes < 0, "group", describe_row)
    return np.ascontiguousarray(codes, dtype=np.int32), encoded.column.levels


def time_values(raw: RawColumn, describe_row: Callable[[int], str]) -> Times:
    """Return numbers that sort the rows by time; raise a DataError if a time is missing.

    Numbers and dates keep their unit. Text may be numbers, dates, or years with a month, a quarter or a week.
    """
    values = raw.values
    if raw.categories is not None:
        values = pa.DictionaryArray.from_arrays(
            pa.array(values, mask=values < 0), pa.array(raw.categories, pa.string())
        )
    if isinstance(values, np.ndarray):
        values = pa.array(values, from_pandas=True)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    _check_no_missing(np.asarray(values.is_null()), "time", describe_row)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = _parse_times(raw.name, values, describe_row)
    return _plain_times(values)


def _plain_times(values: Any) -> Times:
    if pa.types.is_temporal(values.type):
        narrow = pa.types.is_date32(values.type) or pa.types.is_time32(values.type)
        values = values.cast(pa.int32()) if narrow else values
        return np.asarray(values.cast(pa.int64()), dtype=np.int64)
    if pa.types.is_integer(values.type) or (pa.types.is_decimal(values.type) and not values.type.scale):
        whole = try_cast(values, pa.int64())
        # Integers beyond int64 are replaced by their ranks, since float64 would merge several times.
        return np.asarray(pc.rank(values, tiebreaker="dense") if whole is None else whole, dtype=np.int64)
    return np.asarray(values.cast(pa.float64(), safe=False), dtype=np.float64)


def _parse_times(name: str, text: Any, describe_row: Callable[[int], str]) -> Any:
    """Parse text as numbers, as dates, or as periods, which are replaced by their ranks."""
    text = pc.utf8_trim_whitespace(text)
    parsers: list[Callable[[Any], Any]] = [
        _parse_integers,
        _parse_floats,
        as_dates,
        *(partial(_parse_periods, form) for form in _PERIOD_PATTERNS),
    ]
    for parse in parsers:
        if (times := parse(text)) is not None:
            return times
    first = [parse for parse in parsers if parse(text[:1]) is not None]
    at = next(at for at in range(len(text)) if not first or first[0](text[at : at + 1]) is None)
    raise DataError(
        f"{describe_row(at)}, column {name}: {text[at].as_py()!r} is not a time in the format of the others; times are numbers, "
        "dates (YYYY-MM-DD), or all of the form YYYY-MM, YYYY-Q1 or YYYY-W01."
    )


def _parse_integers(text: Any) -> Any:
    return try_cast(text, pa.int64())


def _parse_floats(text: Any) -> Any:
    return as_numbers(text, decimal_comma=False)


def _parse_periods(pattern: str, text: Any) -> Any:
    if not pc.all(pc.match_substring_regex(text, pattern)).as_py():
        return None
    _, order = np.unique(np.asarray(text), return_inverse=True)
    return pa.array(order)


def _check_no_missing(missing: Masks, role: str, describe_row: Callable[[int], str]) -> None:
    if missing.any():
        at = int(np.flatnonzero(missing)[0])
        raise DataError(f"{describe_row(at)}: the {role} is missing, but every row needs one. {_ADVICE}")


MakeFrame = Callable[[Sequence[str], Indices], Any]

# Number of values that a thread encodes at a time.
_TASK_VALUES = 2**18
# The same for a task of a worker.
_WORKER_TASK_VALUES = 2**24
_WHOLE_COLUMN_ADVICE = "A column is read whole, because its kind is inferred from all of its values."
_MIN_ROWS = 2
# Fewer whole numbers, such as 0, 1 and 2, are most often codes of classes.
_MIN_NUMBERED_CLASSES = 5
# Within these limits, squares and products of sums of weights neither overflow nor underflow.
_MIN_WEIGHT_SUM, _MAX_WEIGHT_SUM = 1e-100, 1e100


class EncodedTable(Table):
    """A table of encoded columns in one block. Columns share the user's memory if possible; they may be stored on disk.

    Parameters
    ----------
    schema : Schema
    values : mapping of int to ndarray or LazyColumn
        The used columns.
    y : ndarray of shape (n_rows,) or None
    weight : ndarray of shape (n_rows,) or None
    rows : ndarray of shape (n_rows,) or None
        The position of each row in the user's table; None if no row was left out.
    make_frame : callable
        Returns columns of the user's table by their names and the positions of rows.
    numeric_matrix : ndarray of shape (n_rows, n_columns), default=None
        The matrix whose columns are the used columns, if there is one.
    column_names : sequence of str, default=None
        The columns of the user's table, including columns with a role and excluded columns; by default those of the schema.
    """

    def __init__(
        self,
        schema: Schema,
        values: Mapping[int, NDArray[Any]],
        y: NDArray[Any] | None,
        weight: Floats | None,
        rows: Indices | None,
        make_frame: MakeFrame,
        numeric_matrix: NDArray[Any] | None = None,
        column_names: Sequence[str] | None = None,
    ) -> None:
        self.schema = schema
        self.column_names = tuple(schema.names if column_names is None else column_names)
        self._block = Block(range(schema.n_rows), values, y, weight, numeric_matrix)
        self._rows = rows
        self._make_frame = make_frame

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        yield self._block if columns is None else self._block.select_columns(columns)

    def frame_by_name(self, names: Sequence[str], rows: Indices | None = None) -> Any:
        """Return columns of the user's table by name, with their original types."""
        row_numbers = self.row_numbers if rows is None else self.row_numbers[rows]
        if names:
            return self._make_frame(names, row_numbers)
        # A frame without columns still has a number of rows, which only a column can provide: one is read and dropped.
        return frame_columns_at(self._make_frame(self.column_names[:1], row_numbers), [])

    @property
    def row_numbers(self) -> Indices:
        """The position of each row in the user's table."""
        return np.arange(self.schema.n_rows) if self._rows is None else self._rows

    def with_features(
        self,
        columns: Sequence[Column],
        values: Mapping[int, NDArray[Any]],
        names: Sequence[str],
        matrix: NDArray[Any] | None = None,
    ) -> EncodedTable:
        """Return a table with the target, weights, groups and times of this one, and other features of the same rows."""
        schema, block = replace(self.schema, columns=tuple(columns)), self._block
        table = EncodedTable(schema, values, block.y, block.weight, self._rows, self._make_frame, matrix, names)
        table.copy_roles(self)
        return table


def frame_columns_at(table: Any, positions: Sequence[int]) -> Any:
    """Return columns of an array or an eager data frame by position; without positions, a table of as many rows and no columns."""
    frame = nw.from_native(table, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return table[:, list(positions)]
    if not positions:
        # In narwhals, selecting no columns also removes the rows; dropping all columns keeps them.
        return frame.drop(frame.columns).to_native()
    # polars names a column "column_0" that has no name and is selected by position; the names of pandas need not be text.
    by_name = frame.implementation.is_polars()
    return (frame.select(frame.columns[j] for j in positions) if by_name else frame[:, list(positions)]).to_native()


@dataclass(frozen=True)
class OpenOptions:
    """Options for opening a table.

    Attributes
    ----------
    target, weight, groups, time : str, RawColumn or None
        The name of a column, or values that were passed beside the table.
    weights : {"frequency", "sampling"} or None
        What the weights are; None decides from their values.
    kinds : mapping of column name to kind, or one kind for every column but the target, or None
    is_head : bool
        Whether the table consists of the first rows of a longer table and only its schema is needed: a constant target and weights
        of 0 are then accepted, since the longer table may be sorted by class.
    is_batch : bool
        Whether the table is a batch of the training rows: 1 row then suffices.
    reader : SchemaReader or None
        If given, new rows are read with its schema: roles are not read, and the table may be without rows.
    header : bool or None
        Whether the first row of a text file contains the column names; None infers it.
    expected_columns : tuple of str
        Further names of columns that the table contains.
    allow_infinite : bool
        Whether infinite values of an array or a frame are treated as missing, while `Table.frame` returns them unchanged.
    frame_data : array or frame or None
        The table of which `Table.frame` returns rows, if it is not the table that is read.
    executor : concurrent.futures.Executor or None
        Whose workers read the table and compute its statistics.
    """

    target: str | RawColumn | None = None
    weight: str | RawColumn | None = None
    kinds: Mapping[str, Kind] | Kind | None = None
    groups: str | RawColumn | None = None
    time: str | RawColumn | None = None
    is_head: bool = False
    is_batch: bool = False
    reader: SchemaReader | None = None
    header: bool | None = None
    expected_columns: tuple[str, ...] = ()
    allow_infinite: bool = False
    frame_data: Any = None
    weights: WeightKind | None = None
    executor: Executor | None = None

    @property
    def known_columns(self) -> list[str]:
        """Names of columns that the table is expected to contain."""
        if self.reader is not None:
            return self.reader.schema.names
        return [*self.expected_columns, *self.role_by_column, *(self.kinds if isinstance(self.kinds, Mapping) else ())]

    @property
    def roles(self) -> dict[str, str | RawColumn]:
        """The columns with a role, by the name of the role in messages."""
        roles = {"target": self.target, "weight": self.weight, "group": self.groups, "time": self.time}
        return {role: column for role, column in roles.items() if column is not None}

    @property
    def role_by_column(self) -> dict[str, str]:
        return {column: role for role, column in self.roles.items() if isinstance(column, str)}


def _keep(values: NDArray[Any]) -> NDArray[Any]:
    return values


def describe_row_number(at: int) -> str:
    """Return the words of a message for the position of a row in the user's table."""
    return f"row {at}"


@dataclass(frozen=True)
class ColumnSource:
    """The columns of a table as a reader returns them.

    Attributes
    ----------
    names : sequence of str
    load : callable
        Returns a whole column by name. Columns are loaded one after another, so that the table may be larger than memory.
    make_frame : callable
        Returns columns of the user's table by their names and the positions of rows.
    describe_row : callable
        Turns the position of a row in the user's table into words of a message.
    store : callable
        Stores an encoded column and returns it, in memory or as a lazy column.
    column_memory : int
        The memory in bytes for loading and encoding a column. If memory is short, fewer columns are read at the same time.
    has_names : bool
        Whether the user named the columns. Columns without names are not inferred to be ids.
    workers : Workers or None
        Where the features are read and encoded, by copies of the functions.
    """

    names: Sequence[str]
    load: Callable[[str], RawColumn]
    make_frame: MakeFrame
    describe_row: Callable[[int], str] = describe_row_number
    store: Callable[[NDArray[Any]], NDArray[Any]] = _keep
    column_memory: int = 0
    has_names: bool = True
    workers: Workers | None = None

    def column(self, role: str | RawColumn) -> RawColumn:
        """Return the column of a role: by its name, or as it was passed beside the table."""
        return self.load(role) if isinstance(role, str) else role


@dataclass(frozen=True)
class _KeptRows:
    """The words of a message for a row that was kept, by its position among them."""

    rows: Indices | None
    describe_row: Callable[[int], str]

    def __call__(self, at: int) -> str:
        return self.describe_row(at if self.rows is None else int(self.rows[at]))


@dataclass(frozen=True)
class _FeatureEncoder:
    """Reads, encodes and stores features of the rows with a target, None if all have one; it is sent to workers."""

    source: ColumnSource
    kinds: Mapping[str, Kind]
    rows: Indices | None

    def encode(self, name: str, gate: MemoryGate) -> EncodedColumn:
        """Return a feature with the stored values; without values if it is excluded."""
        source = self.source
        with gate.reserve(source.column_memory, f"Reading column {name}", _WHOLE_COLUMN_ADVICE):
            raw = source.load(name) if self.rows is None else source.load(name).take(self.rows)
            described = _KeptRows(self.rows, source.describe_row)
            encoded = encode_column(raw, self.kinds.get(name), described, has_name=source.has_names)
            is_used = encoded.values is not None and encoded.column.exclusion_reason is None
            stored = replace(encoded, values=source.store(encoded.values) if is_used else None)  # type: ignore[arg-type]  # not None
            del raw, encoded
            if source.column_memory:
                # Arrow's allocator caches freed memory per thread, where numpy cannot use it.
                pa.default_memory_pool().release_unused()
            return stored


def _encode_group(task: tuple[Shared, Sequence[str]]) -> list[EncodedColumn]:
    encoder, gate = task[0].value, MemoryGate()
    if encoder.rows is not None:
        # The numbers of the rows are in a file, which is read once for all columns of the task.
        encoder = replace(encoder, rows=np.asarray(encoder.rows))
    return [encoder.encode(name, gate) for name in task[1]]


def build_table(source: ColumnSource, options: OpenOptions) -> EncodedTable:
    """Encode a table column by column."""
    names = source.names
    check_names(names, options)
    if options.reader is not None:
        schema, values = options.reader.read(source)
        return EncodedTable(schema, values, None, None, None, source.make_frame, column_names=names)
    kinds = _kind_by_column(names, options)
    _check_lengths(source, options)
    with MemoryGate().reserve(source.column_memory, "Reading the target", _WHOLE_COLUMN_ADVICE):
        target, rows, n_dropped = _read_target(source, options, kinds)

    describe_kept_row = _KeptRows(rows, source.describe_row)
    weight, weight_kind = _read_weight(source, options, rows, describe_kept_row)
    with MemoryGate().reserve(source.column_memory, "Reading groups and times", _WHOLE_COLUMN_ADVICE):
        groups, group_names, time = (
            (None, (), None) if options.is_head else _read_groups_and_times(source, options, rows, describe_kept_row)
        )
    pa.default_memory_pool().release_unused()
    features = [name for name in names if name not in options.role_by_column]
    if not features:
        raise DataError("The table has no column beside the target; at least 1 feature is needed.")
    encoder = _FeatureEncoder(replace(source, workers=None), kinds, rows)
    known = rows if rows is not None else target.values if target else None
    n = len(source.load(features[0]) if known is None else known)
    if not options.is_batch:
        check_enough_rows(n)
    columns, values, warnings = _encode_all(features, encoder, n, target, source.workers)
    if not options.is_head:
        warn_user(warnings)
    schema = Schema(
        tuple(columns),
        n,
        target.column if target else None,
        _role_name(options.weight),
        n_dropped,
        (),
        _role_name(options.groups),
        _role_name(options.time),
        weight_kind,
        None if weight is None else float(weight.sum()),
    )
    weight_notes = (options.weights is None and schema.large_weight_notes) or schema.weight_notes
    schema = replace(schema, notes=(*_target_notes(target, kinds), *weight_notes, *_constant_column_notes(columns)))
    table = EncodedTable(
        schema, values, target.values if target else None, weight, rows, source.make_frame, column_names=names
    )
    table.class_labels = target.labels if target else None
    table.groups, table.group_names, table.time = groups, group_names, time
    table.workers = source.workers
    return table


def is_every_row(rows: NDArray[np.integer[Any]], n_rows: int) -> bool:
    """Return whether `rows` are all rows of a table, once each and in order, so that no rows have to be selected."""
    return len(rows) == n_rows and bool((rows == np.arange(n_rows)).all())


def _read_groups_and_times(
    source: ColumnSource,
    options: OpenOptions,
    rows: Indices | None,
    describe_row: Callable[[int], str],
) -> tuple[Codes | None, tuple[str, ...], Times | None]:
    def read(role: str | RawColumn) -> RawColumn:
        raw = source.column(role)
        return raw if rows is None else raw.take(rows)

    codes, names = (None, ()) if options.groups is None else group_codes(read(options.groups), describe_row)
    return codes, names, None if options.time is None else time_values(read(options.time), describe_row)


def _encode_all(
    features: Sequence[str],
    encoder: _FeatureEncoder,
    n_rows: int,
    target: EncodedColumn | None,
    workers: Workers | None,
) -> tuple[list[Column], dict[int, NDArray[Any]], list[Verdict]]:
    """Return the columns, the values of the used columns, and the warnings on these columns and the target."""
    columns: list[Column] = []
    warnings = [] if target is None else list(target.warnings)
    spreads = {} if target is None else {target.column.name: target.small_spread}
    values: dict[int, NDArray[Any]] = {}
    with parallel.thread_session():
        for j, encoded in enumerate(_encode_features(features, encoder, n_rows, workers)):
            columns.append(encoded.column)
            warnings += encoded.warnings
            if encoded.values is not None:
                values[j] = encoded.values
                spreads[encoded.column.name] = encoded.small_spread
            progress.report_progress("Reading columns", j + 1, len(features))
    return columns, values, [*warnings, *small_spread_warnings(spreads)]


def _encode_features(
    features: Sequence[str], encoder: _FeatureEncoder, n_rows: int, workers: Workers | None
) -> Iterator[EncodedColumn]:
    if workers is None:
        # A new gate, because the target has reduced the free memory.
        gate = MemoryGate()
        yield from parallel.map_groups(lambda name: encoder.encode(name, gate), features, _TASK_VALUES // n_rows)
        return
    if encoder.rows is not None:
        encoder = replace(encoder, rows=encoder.source.store(encoder.rows))
    size = max(1, min(_WORKER_TASK_VALUES // n_rows, -(-len(features) // workers.n_workers)))
    with workers.share(encoder) as shared:
        tasks = ((shared, features[start:stop]) for start, stop in parallel.block_ranges(len(features), size))
        for group in workers.map(_encode_group, tasks, "Reading columns"):
            yield from group


def check_names(names: Sequence[str], options: OpenOptions) -> None:
    """Raise a DataError for duplicate column names, for a role whose column is absent, and for a column with two roles."""
    seen: set[str] = set()
    for column in names:
        if column in seen:
            raise DataError(f"Column {column!r} occurs twice; rename one of them.")
        seen.add(column)
    for role, name in options.roles.items():
        if isinstance(name, str) and name not in seen:
            listed = list_names(names, limit=20)
            raise DataError(f"There is no column {name!r} for the {role}{suggestion(name, names)}; columns: {listed}.")
        if isinstance(name, str) and options.role_by_column[name] != role:
            raise DataError(f"Column {name!r} cannot be both the {role} and the {options.role_by_column[name]}.")


def _check_lengths(source: ColumnSource, options: OpenOptions) -> None:
    """Raise a DataError if a target or another role passed beside the table has another length than the table."""
    lengths = {role: len(column) for role, column in options.roles.items() if isinstance(column, RawColumn)}
    n_rows = len(source.load(source.names[0])) if lengths and source.names else 0
    for role, length in lengths.items():
        if length != n_rows:
            raise DataError(
                f"The {role} has {length:,} values and the table {n_rows:,} rows: inconsistent numbers of samples."
            )


def _role_name(role: str | RawColumn | None) -> str | None:
    return role.name if isinstance(role, RawColumn) else role


def _kind_by_column(names: Sequence[str], options: OpenOptions) -> dict[str, Kind]:
    kinds = options.kinds
    if kinds is None:
        return {}
    if isinstance(kinds, str):
        check_choice("kinds", kinds, KINDS)
        return {name: kinds for name in names if name != options.target}
    for name, kind in kinds.items():
        if name not in names and name != _role_name(options.target):
            raise DataError(f"kinds contains {name!r}, which is not a column{suggestion(name, names)}.")
        check_choice(f"kinds[{name!r}]", kind, KINDS)
    return dict(kinds)


def _read_target(
    source: ColumnSource, options: OpenOptions, kinds: Mapping[str, Kind]
) -> tuple[EncodedColumn | None, Indices | None, int]:
    """Return the target of the rows in which it is present, the positions of these rows, and the number of the other rows.

    The positions are None if the target is present in all rows.
    """
    if options.target is None:
        return None, None, 0
    raw = source.column(options.target)
    encoded = encode_target(raw, kinds.get(raw.name), source.describe_row)
    if options.is_head:
        return EncodedColumn(replace(encoded.column, n_missing=0, constant=False, exclusion_reason=None), None), None, 0
    return present_target(raw, encoded)


def present_target(raw: RawColumn, encoded: EncodedColumn) -> tuple[EncodedColumn, Indices | None, int]:
    """Return an encoded target in the rows in which it is present, the positions of these rows, and the number of the other rows.

    The positions are None if the target is present in all rows. Raise DataError for a target that is missing in all rows or
    constant.
    """
    values = encoded.values
    if values is None or encoded.column.exclusion_reason is not None:
        raise DataError(f"Target {raw.name!r} is missing in every row.")
    present = ~is_missing(values)
    n_dropped = int(len(present) - np.count_nonzero(present))
    if n_dropped:
        values = values[present]
    n = len(values)
    if n < 2:
        raise DataError(
            f"The table has {n} sample(s) (rows with a target), 1 sample is too few; at least 2 are needed."
        )
    if (values[0] == values).all():
        levels = encoded.column.levels
        # scikit-learn's checks of classifiers expect the word class.
        value = f"1 class, {levels[int(values[0])]!r}" if levels else f"{values[0]:g}"
        raise DataError(
            f"Target {raw.name!r} is constant: {value} in all {n} rows. Choose a target with at least 2 values."
        )
    column = replace(encoded.column, n_missing=0)
    labels = None if column.is_number else class_labels(raw, np.asarray(encoded.values), column.levels)
    values = np.ascontiguousarray(values, dtype=np.float64 if column.is_number else np.int32)
    return (
        replace(encoded, column=column, values=values, labels=labels),
        np.flatnonzero(present) if n_dropped else None,
        n_dropped,
    )


def _read_weight(
    source: ColumnSource,
    options: OpenOptions,
    rows: Indices | None,
    describe_row: Callable[[int], str],
) -> tuple[Floats | None, WeightKind | None]:
    if options.weight is None and options.weights is not None:
        raise DataError(
            f"weights={options.weights!r} (--weights) states what the weights are, but the rows have none: pass weight= (--weight)."
        )
    if options.weight is None or options.is_head:
        return None, None
    raw = source.column(options.weight)
    values = to_numbers(raw if rows is None else raw.take(rows), describe_row)
    weight, kind = to_row_numbers(values, options.weights, describe_row)
    if np.count_nonzero(weight) < _MIN_ROWS and weight.sum() < _MIN_ROWS:
        raise DataError(f"The weights count 1 sample (row) in all; at least {_MIN_ROWS} are needed.")
    return weight, kind


def check_enough_rows(n: int) -> None:
    """Raise a DataError for a table of fewer than 2 rows."""
    if n < _MIN_ROWS:
        raise DataError(f"The table has {n} sample (row); at least {_MIN_ROWS} are needed.")


def to_row_numbers(
    values: NDArray[np.floating[Any]], kind: WeightKind | None, describe_row: Callable[[int], str]
) -> tuple[Floats, WeightKind]:
    """Return the numbers of rows that rows of these weights count as, and the kind of the weights.

    Frequency weights are such numbers. Sampling weights are scaled to a sum of the effective sample size, so that all counts,
    degrees of freedom and description lengths are those of as many rows. By default whole numbers are frequencies.

    Raises
    ------
    DataError
        For a negative or infinite weight, for a fraction among frequencies, and for a sum that is 0 or too large.
    """
    weight = np.ascontiguousarray(values, dtype=np.float64)
    if len(bad := np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))):
        raise DataError(f"{describe_row(int(bad[0]))}: the weight {values[bad[0]]} is not a number of at least 0.")
    if not weight.any():
        raise DataError("Every weight is zero; at least one must be positive.")
    fractional = np.flatnonzero(weight != np.floor(weight))
    if kind == "frequency" and len(fractional):
        raise DataError(
            f"{describe_row(int(fractional[0]))}: the weight {weight[fractional[0]]:g} is not a whole number, but frequency "
            "weights are numbers of equal rows. If they correct a sampling design, pass weights='sampling' (--weights "
            "sampling)."
        )
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not _MIN_WEIGHT_SUM <= total <= _MAX_WEIGHT_SUM:
        raise DataError(
            f"The weights sum to {total:.6g}; the sum must be between {_MIN_WEIGHT_SUM:g} and {_MAX_WEIGHT_SUM:g}. Rescale them."
        )
    if kind == "sampling" or (kind is None and len(fractional)):
        return scale_to_effective_size(weight), "sampling"
    return weight, "frequency"


def scale_to_effective_size(weight: Floats) -> Floats:
    r"""Scale weights to a sum of Kish's effective sample size, :math:`(\sum w)^2 / \sum w^2`; equal weights become 1.

    References
    ----------
    Kish (1965), Survey Sampling, section 11.7.
    """
    shares = weight / weight.max()
    scaled: Floats = shares * (shares.sum() / np.square(shares).sum())
    return scaled


def _may_be_amounts(levels: Sequence[str]) -> bool:
    """Whether classes are whole numbers, and at least five, or three that do not count from 0 or 1 on."""
    if len(levels) < 3 or not all(level.removeprefix("-").isdecimal() for level in levels):
        return False
    numbers = sorted(map(int, levels))
    return len(numbers) >= _MIN_NUMBERED_CLASSES or numbers[0] not in (0, 1) or numbers[-1] - numbers[0] >= len(numbers)


def _target_notes(target: EncodedColumn | None, kinds: Mapping[str, Kind]) -> tuple[Verdict, ...]:
    """Notes on a target whose kind can be doubted: whole numbers that are read as classes, and a class for each row."""
    if target is None or target.column.is_number:
        return ()
    name, levels = target.column.name, target.column.levels
    n = len(levels)
    notes = []
    if name not in kinds and _may_be_amounts(levels):
        sentence = (
            f"The target {name!r} has {n} whole numbers, which are treated as classes. If they are amounts, declare the kind "
            "numeric (--kinds or kinds=)."
        )
        notes.append(Verdict("TZ103", sentence, [name]))
    if target.values is not None and 1 < n == len(target.values):
        sentence = f"Each of the {n:,} rows has a class of its own, so {name!r} cannot be predicted."
        notes.append(Verdict("TZ103", sentence, [name]))
    return tuple(notes)


def _constant_column_notes(columns: Sequence[Column]) -> tuple[Verdict, ...]:
    used = [column for column in columns if column.exclusion_reason is None]
    if not used or not all(column.constant for column in used):
        return ()
    subject = (
        f"Column {used[0].name!r} is constant" if len(used) == 1 else f"All {len(used):,} used columns are constant"
    )
    sentence = f"{subject}, so that rows cannot be distinguished."
    return (Verdict("TZ210", sentence, [column.name for column in used]),)
