"""`EncodedTable`, a table of encoded columns, and `build_table`, by which all readers create it from raw columns.

`build_table` reads the columns with a role (target, weight, groups, time), leaves out rows without a target, infers the kinds of
the features and encodes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamiz.arrays import Codes, Floats, Indices, is_missing
from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.executors import Shared, Workers
from tamiz.runtime.memory_gate import MemoryGate
from tamiz.runtime.registry import suggestion
from tamiz.runtime.user_warnings import list_names, warn_user
from tamiz.runtime.validation import check_choice
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.table.base import Table
from tamiz.table.kinds import EncodedColumn, encode_column, encode_target, to_numbers
from tamiz.table.raw_column import RawColumn
from tamiz.table.role_values import Times, class_labels, group_codes, time_values
from tamiz.table.schema import KINDS, Column, Kind, Schema, WeightKind
from tamiz.table.schema_reader import SchemaReader
from tamiz.table.small_spreads import small_spread_warnings

StoreColumn = Callable[[NDArray[Any]], NDArray[Any]]
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

    def frame(self, columns: Sequence[int] | None = None, rows: Indices | None = None) -> Any:
        """Return columns of the user's table with their original types."""
        names = [self.schema.names[j] for j in (range(self.schema.n_columns) if columns is None else columns)]
        return self.frame_by_name(names, rows)

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


def describe_row_number(at: int) -> str:
    """Return the words of a message for the position of a row in the user's table."""
    return f"row {at}"


@dataclass(frozen=True)
class _KeptRows:
    """The words of a message for a row that was kept, by its position among them."""

    rows: Indices | None
    describe_row: Callable[[int], str]

    def __call__(self, at: int) -> str:
        return self.describe_row(at if self.rows is None else int(self.rows[at]))


@dataclass(frozen=True)
class _FeatureEncoder:
    """Reads, encodes and stores features; it is sent to workers.

    The attributes are those of `build_table`, and `rows`, the rows with a target, None if all have one.
    """

    load_column: Callable[[str], RawColumn]
    kinds: Mapping[str, Kind]
    rows: Indices | None
    describe_row: Callable[[int], str]
    store_column: StoreColumn
    column_memory: int
    has_names: bool

    def encode(self, name: str, gate: MemoryGate) -> EncodedColumn:
        """Return a feature with the stored values; without values if it is excluded."""
        with gate.reserve(self.column_memory, f"Reading column {name}", _WHOLE_COLUMN_ADVICE):
            raw = self.load_column(name) if self.rows is None else self.load_column(name).take(self.rows)
            described = _KeptRows(self.rows, self.describe_row)
            encoded = encode_column(raw, self.kinds.get(name), described, has_name=self.has_names)
            is_used = encoded.values is not None and encoded.column.exclusion_reason is None
            stored = replace(encoded, values=self.store_column(encoded.values) if is_used else None)  # type: ignore[arg-type]  # not None
            del raw, encoded
            if self.column_memory:
                # Arrow's allocator caches freed memory per thread, where numpy cannot use it.
                pa.default_memory_pool().release_unused()
            return stored


def _encode_group(task: tuple[Shared, Sequence[str]]) -> list[EncodedColumn]:
    encoder, gate = task[0].value, MemoryGate()
    if encoder.rows is not None:
        # The numbers of the rows are in a file, which is read once for all columns of the task.
        encoder = replace(encoder, rows=np.asarray(encoder.rows))
    return [encoder.encode(name, gate) for name in task[1]]


def build_table(
    names: Sequence[str],
    load_column: Callable[[str], RawColumn],
    options: OpenOptions,
    make_frame: MakeFrame,
    *,
    describe_row: Callable[[int], str] = describe_row_number,
    store_column: StoreColumn = lambda values: values,
    column_memory: int = 0,
    has_names: bool = True,
    workers: Workers | None = None,
) -> EncodedTable:
    """Encode a table column by column.

    Parameters
    ----------
    names : sequence of str
        The columns of the table.
    load_column : callable
        Returns a whole column by name. Columns are loaded one after another, so that the table may be larger than memory.
    options : OpenOptions
    make_frame : callable
        Returns columns of the user's table by their names and the positions of rows.
    describe_row : callable
        Turns the position of a row in the user's table into words of a message.
    store_column : callable
        Stores an encoded column and returns it, in memory or as a lazy column.
    column_memory : int
        The memory in bytes for loading and encoding a column. If memory is short, fewer columns are read at the same time.
    has_names : bool
        Whether the user named the columns. Columns without names are not inferred to be ids.
    workers : Workers, default=None
        Where the features are read and encoded, by copies of the functions.
    """
    check_names(names, options)
    if options.reader is not None:
        schema, values = options.reader.read(names, load_column, describe_row, store_column, column_memory)
        return EncodedTable(schema, values, None, None, None, make_frame, column_names=names)
    kinds = _kind_by_column(names, options)
    _check_lengths(names, load_column, options)
    with MemoryGate().reserve(column_memory, "Reading the target", _WHOLE_COLUMN_ADVICE):
        target, rows, n_dropped = _read_target(load_column, options, kinds, describe_row)

    describe_kept_row = _KeptRows(rows, describe_row)
    weight, weight_kind = _read_weight(load_column, options, rows, describe_kept_row)
    with MemoryGate().reserve(column_memory, "Reading groups and times", _WHOLE_COLUMN_ADVICE):
        groups, group_names, time = (
            (None, (), None)
            if options.is_head
            else _read_groups_and_times(load_column, options, rows, describe_kept_row)
        )
    pa.default_memory_pool().release_unused()
    features = [name for name in names if name not in options.role_by_column]
    if not features:
        raise DataError("The table has no column beside the target; at least 1 feature is needed.")
    encoder = _FeatureEncoder(load_column, kinds, rows, describe_row, store_column, column_memory, has_names)
    n = (
        len(rows)
        if rows is not None
        else len(target.values)
        if target and target.values is not None
        else len(load_column(features[0]))
    )
    if not options.is_batch:
        check_enough_rows(n)
    columns, values, warnings = _encode_all(features, encoder, n, target, workers)
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
        schema, values, target.values if target else None, weight, rows, make_frame, column_names=names
    )
    table.class_labels = target.labels if target else None
    table.groups, table.group_names, table.time = groups, group_names, time
    table.workers = workers
    return table


def is_every_row(rows: NDArray[np.integer[Any]], n_rows: int) -> bool:
    """Return whether `rows` are all rows of a table, once each and in order, so that no rows have to be selected."""
    return len(rows) == n_rows and bool((rows == np.arange(n_rows)).all())


def _read_groups_and_times(
    load_column: Callable[[str], RawColumn],
    options: OpenOptions,
    rows: Indices | None,
    describe_row: Callable[[int], str],
) -> tuple[Codes | None, tuple[str, ...], Times | None]:
    def read(role: str | RawColumn) -> RawColumn:
        raw = load_column(role) if isinstance(role, str) else role
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
        encoder = replace(encoder, rows=encoder.store_column(encoder.rows))
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


def _check_lengths(names: Sequence[str], load_column: Callable[[str], RawColumn], options: OpenOptions) -> None:
    """Raise a DataError if a target or another role passed beside the table has another length than the table."""
    lengths = {role: len(column) for role, column in options.roles.items() if isinstance(column, RawColumn)}
    n_rows = len(load_column(names[0])) if lengths and names else 0
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
    load_column: Callable[[str], RawColumn],
    options: OpenOptions,
    kinds: Mapping[str, Kind],
    describe_row: Callable[[int], str],
) -> tuple[EncodedColumn | None, Indices | None, int]:
    """Return the target of the rows in which it is present, the positions of these rows, and the number of the other rows.

    The positions are None if the target is present in all rows.
    """
    if options.target is None:
        return None, None, 0
    raw = load_column(options.target) if isinstance(options.target, str) else options.target
    encoded = encode_target(raw, kinds.get(raw.name), describe_row)
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
    load_column: Callable[[str], RawColumn],
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
    raw = load_column(options.weight) if isinstance(options.weight, str) else options.weight
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
