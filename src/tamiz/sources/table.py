"""A table of encoded columns: what every reader ends in, in memory or in files mapped into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.memory_gate import MemoryGate
from tamiz.runtime.registry import suggestion
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice
from tamiz.sources.base import Source
from tamiz.sources.kinds import EncodedColumn, encode_column, encode_target, to_numbers
from tamiz.sources.raw_column import RawColumn
from tamiz.sources.role_values import Times, class_labels, group_codes, time_values
from tamiz.sources.schema import KINDS, Column, Kind, Schema
from tamiz.sources.schema_reader import SchemaReader
from tamiz.statistics.base import Block, Codes, Floats

StoreColumn = Callable[[NDArray[Any]], NDArray[Any]]
# Values of one piece of encoding.
_TASK_VALUES = 2**21
_WHOLE_COLUMN_ADVICE = "A column is read whole, so that every rule on it is exact."
MakeFrame = Callable[[Sequence[str], NDArray[np.intp]], Any]

# In fewer rows nothing varies.
_MIN_ROWS = 2
# Squares and products of sums of weights stay finite and apart from 0 between these.
_MIN_WEIGHT_SUM, _MAX_WEIGHT_SUM = 1e-100, 1e100


class TableSource(Source):
    """Encoded columns, one block. Where it can be, a column is the user's own memory; it may lie on disk.

    Parameters
    ----------
    rows : ndarray of shape (n_rows,) or None
        The number that every row has in the user's table; None where all rows count.
    column_names : sequence of str, default=None
        Every column of the user's table, those with a role and those that take no part among them; None is those of the schema.
    """

    def __init__(
        self,
        schema: Schema,
        values: Mapping[int, NDArray[Any]],
        y: NDArray[Any] | None,
        weight: Floats | None,
        rows: NDArray[np.intp] | None,
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
        """Yield the table as one block."""
        yield self._block if columns is None else self._block.select_columns(columns)

    def frame(self, columns: Sequence[int] | None = None, rows: NDArray[np.intp] | None = None) -> Any:
        """Return columns of the table as the user gave it."""
        names = [self.schema.names[j] for j in (range(self.schema.n_columns) if columns is None else columns)]
        return self.frame_by_name(names, rows)

    def frame_by_name(self, names: Sequence[str], rows: NDArray[np.intp] | None = None) -> Any:
        """Return columns of the table as the user gave it, by name."""
        numbers = self.row_numbers if rows is None else self.row_numbers[rows]
        # A reader learns the number of rows from a column: one is read and dropped where none is asked for.
        return (
            self._make_frame(names, numbers)
            if names
            else frame_columns_at(self._make_frame(self.column_names[:1], numbers), [])
        )

    @property
    def row_numbers(self) -> NDArray[np.intp]:
        """The number that every row that counts has in the user's table."""
        return np.arange(self.schema.n_rows) if self._rows is None else self._rows


def frame_columns_at(table: Any, positions: Sequence[int]) -> Any:
    """Return columns of an array or of an eager data frame by position; without any, as many rows of no column."""
    frame = nw.from_native(table, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return table[:, list(positions)]
    # A selection of no columns has no rows in narwhals; dropping every column leaves them.
    return (frame[:, list(positions)] if positions else frame.drop(frame.columns)).to_native()


@dataclass(frozen=True)
class OpenOptions:
    """What the user said of the columns.

    Attributes
    ----------
    target, weight, groups, time : str, RawColumn or None
        A column's name, or values that came beside the table.
    kinds : mapping of column name to kind, or one kind for every column but the target, or None
    is_head : bool
        Whether the table is the first rows of a longer one, to be described and not learned from: in a table sorted by class the
        target is constant there, and weights may be 0.
    is_batch : bool
        Whether the table is one batch of the rows learned from: 1 row is then enough.
    reader : Fitted or None
        Whose columns the table is read as; other roles are then not read, and it may have no row.
    header : bool or None
        Whether the first row of a text file names the columns, None where that is to be found out.
    expected_columns : tuple of str
        Names of columns that the table has, of which nothing else is said.
    allow_infinite : bool
        Whether infinite values of an array or a frame count as missing, and are handed on as they are to estimators.
    frame_data : array or frame or None
        What `Source.frame` hands rows of, where it is not the table that is read.
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

    @property
    def known_columns(self) -> list[str]:
        """Names of columns that the table is known to have."""
        if self.reader is not None:
            return self.reader.schema.names
        return [*self.expected_columns, *self.role_by_column, *(self.kinds if isinstance(self.kinds, Mapping) else ())]

    @property
    def roles(self) -> dict[str, str | RawColumn]:
        """Every role that was given, by what it is called in messages."""
        roles = {"target": self.target, "weight": self.weight, "group": self.groups, "time": self.time}
        return {role: column for role, column in roles.items() if column is not None}

    @property
    def role_by_column(self) -> dict[str, str]:
        """The columns of the table that have a role, each with that role."""
        return {column: role for role, column in self.roles.items() if isinstance(column, str)}


def build_table(
    names: Sequence[str],
    load_column: Callable[[str], RawColumn],
    options: OpenOptions,
    make_frame: MakeFrame,
    *,
    describe_row: Callable[[int], str] = lambda at: f"row {at}",
    store_column: StoreColumn = lambda values: values,
    column_memory: int = 0,
    has_names: bool = True,
) -> TableSource:
    """Encode a table column by column.

    `load(name)` gives a column whole; it is asked once a column, so that a file larger than memory can be read so.
    `describe_row` words a row of the user's table in messages; `keep(values)` gives an encoded column the place where it stays.
    `column_memory` is the memory that loading and encoding a column takes: columns wait for each other where there is little.
    Columns without names are not searched for ids: whoever passes a matrix means all of it.
    """
    check_names(names, options)
    if options.reader is not None:
        schema, values = options.reader.read(names, load_column, describe_row, store_column, column_memory)
        return TableSource(schema, values, None, None, None, make_frame, column_names=names)
    kinds = _kind_by_column(names, options)
    _check_lengths(names, load_column, options)
    with MemoryGate().reserve(column_memory, "Reading the target", _WHOLE_COLUMN_ADVICE):
        target, rows, n_dropped = _read_target(load_column, options, kinds, describe_row)

    def word(at: int) -> str:
        return describe_row(int(rows[at]) if rows is not None else at)

    weight, weight_notes = _read_weight(load_column, options, rows, word)
    with MemoryGate().reserve(column_memory, "Reading groups and times", _WHOLE_COLUMN_ADVICE):
        of_rows = (None, (), None) if options.is_head else _read_groups_and_times(load_column, options, rows, word)
    pa.default_memory_pool().release_unused()
    features = [name for name in names if name not in options.role_by_column]
    if not features:
        raise DataError("The table has no column beside the target; at least 1 feature is needed.")
    # What is free now is less than before the target was there.
    turns = MemoryGate()

    def encoded(name: str) -> EncodedColumn:
        with turns.reserve(column_memory, f"Reading column {name}", _WHOLE_COLUMN_ADVICE):
            raw = load_column(name) if rows is None else load_column(name).take(rows)
            one = encode_column(raw, kinds.get(name), word, has_name=has_names)
            left_out = one.values is None or one.column.exclusion_reason is not None
            kept = replace(one, values=None if left_out else store_column(one.values))  # type: ignore[arg-type]  # there are some
            del raw, one
            if column_memory:
                # Arrow's allocator keeps what it had for this thread, and numpy's cannot use it.
                pa.default_memory_pool().release_unused()
            return kept

    n = (
        len(rows)
        if rows is not None
        else len(target.values)
        if target and target.values is not None
        else len(load_column(features[0]))
    )
    if not options.is_batch:
        check_enough_rows(n)
    columns, values, warnings = _encode_all(features, encoded, n)
    if not options.is_head:
        warn_user([*(target.warnings if target else ()), *warnings])
    notes = (*_target_notes(target), *weight_notes, *_constant_column_notes(columns))
    called = _role_name(options.weight), n_dropped, notes, _role_name(options.groups), _role_name(options.time)
    schema = Schema(tuple(columns), n, target.column if target else None, *called)
    source = TableSource(
        schema, values, target.values if target else None, weight, rows, make_frame, column_names=names
    )
    source.class_labels = target.labels if target else None
    source.groups, source.group_names, source.time = of_rows
    return source


def is_every_row(rows: NDArray[np.integer[Any]], n_rows: int) -> bool:
    """Return whether these are all rows of a table, each once and in order: then none has to be taken."""
    return len(rows) == n_rows and bool((rows == np.arange(n_rows)).all())


def _read_groups_and_times(
    load_column: Callable[[str], RawColumn],
    options: OpenOptions,
    rows: NDArray[np.intp] | None,
    describe_row: Callable[[int], str],
) -> tuple[Codes | None, tuple[str, ...], Times | None]:
    """Return the rows' groups, the names of those, and the rows' times."""

    def read(role: str | RawColumn) -> RawColumn:
        raw = load_column(role) if isinstance(role, str) else role
        return raw if rows is None else raw.take(rows)

    codes, names = (None, ()) if options.groups is None else group_codes(read(options.groups), describe_row)
    return codes, names, None if options.time is None else time_values(read(options.time), describe_row)


def _encode_all(
    features: Sequence[str], encode_one: Callable[[str], EncodedColumn], n_rows: int
) -> tuple[list[Column], dict[int, NDArray[Any]], list[str]]:
    """Return the columns, the values of those that take part, and what to warn of."""
    columns: list[Column] = []
    warnings: list[str] = []
    values: dict[int, NDArray[Any]] = {}
    # Short columns go to a thread many at a time: handing one over costs more than encoding it.
    groups = [
        features[start:stop] for start, stop in parallel.block_ranges(len(features), max(1, _TASK_VALUES // n_rows))
    ]
    with parallel.thread_session():
        done = parallel.map_blocks(lambda group: [encode_one(name) for name in group], groups)
        for j, one in enumerate(chain.from_iterable(done)):
            columns.append(one.column)
            warnings += one.warnings
            if one.values is not None:
                values[j] = one.values
            progress.report_progress("Reading columns", j + 1, len(features))
    return columns, values, warnings


def check_names(names: Sequence[str], options: OpenOptions) -> None:
    """Refuse column names that occur twice, a role's column that is not there, and one of two roles."""
    seen: set[str] = set()
    for column in names:
        if column in seen:
            raise DataError(f"Column {column!r} occurs twice; give every column a name of its own.")
        seen.add(column)
    for role, name in options.roles.items():
        if isinstance(name, str) and name not in seen:
            listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            raise DataError(f"There is no column {name!r} for the {role}{suggestion(name, names)}; columns: {listed}.")
        if isinstance(name, str) and options.role_by_column[name] != role:
            raise DataError(f"Column {name!r} cannot be both the {role} and the {options.role_by_column[name]}.")


def _check_lengths(names: Sequence[str], load_column: Callable[[str], RawColumn], options: OpenOptions) -> None:
    """Refuse a target or another role beside the table that is not as long as the table, its gaps counted."""
    given = {role: len(column) for role, column in options.roles.items() if isinstance(column, RawColumn)}
    n_rows = len(load_column(names[0])) if given and names else 0
    for role, length in given.items():
        if length != n_rows:
            raise DataError(
                f"The {role} has {length:,} values and the table {n_rows:,} rows: inconsistent numbers of samples."
            )


def _role_name(role: str | RawColumn | None) -> str | None:
    return role.name if isinstance(role, RawColumn) else role


def _kind_by_column(names: Sequence[str], options: OpenOptions) -> dict[str, Kind]:
    given = options.kinds
    if given is None:
        return {}
    if isinstance(given, str):
        check_choice("kinds", given, KINDS)
        return {name: given for name in names if name != options.target}
    for name, kind in given.items():
        if name not in names and name != _role_name(options.target):
            raise DataError(f"kinds names {name!r}, which is no column{suggestion(name, names)}.")
        check_choice(f"kinds[{name!r}]", kind, KINDS)
    return dict(given)


def _read_target(
    load_column: Callable[[str], RawColumn],
    options: OpenOptions,
    kinds: Mapping[str, Kind],
    describe_row: Callable[[int], str],
) -> tuple[EncodedColumn | None, NDArray[np.intp] | None, int]:
    """Return the target without the rows that miss it, those rows' numbers (None when all stay), and how many went."""
    if options.target is None:
        return None, None, 0
    raw = load_column(options.target) if isinstance(options.target, str) else options.target
    encoded = encode_target(raw, kinds.get(raw.name), describe_row)
    if options.is_head:
        return EncodedColumn(replace(encoded.column, n_missing=0, constant=False, exclusion_reason=None), None), None, 0
    values = encoded.values
    if values is None or encoded.column.exclusion_reason is not None:
        raise DataError(f"Target {raw.name!r} is missing in every row.")
    present = ~np.isnan(values) if encoded.column.is_number else values >= 0
    n_dropped = int(len(present) - np.count_nonzero(present))
    if n_dropped:
        values = values[present]
    n = len(values)
    if n < 2:
        raise DataError(
            f"The table has {n} sample(s) (rows with a target), 1 sample is too few; at least 2 are needed."
        )
    if (values[0] == values).all():
        value = encoded.column.levels[int(values[0])] if encoded.column.levels else values[0]
        raise DataError(
            f"Target {raw.name!r} is constant: 1 class, {value!r} in all {n} rows. Nothing can be learned of it."
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
    rows: NDArray[np.intp] | None,
    describe_row: Callable[[int], str],
) -> tuple[Floats | None, tuple[str, ...]]:
    """Return the weights of the rows, and what there is to know of them."""
    if options.weight is None or options.is_head:
        return None, ()
    raw = load_column(options.weight) if isinstance(options.weight, str) else options.weight
    values, _ = to_numbers(raw if rows is None else raw.take(rows), describe_row)
    total = check_weights(values, describe_row)
    weight = scale_weights(np.ascontiguousarray(values, dtype=np.float64), total)
    return weight, _weight_notes(total, len(weight))


def check_enough_rows(n: int) -> None:
    """Refuse a table in which nothing can vary."""
    if n < _MIN_ROWS:
        raise DataError(f"The table has {n} sample (row); at least {_MIN_ROWS} are needed.")


def scale_weights(weight: Floats, total: float) -> Floats:
    """Return weights that sum to less than 2 scaled to a mean of 1: as numbers of rows they mean nothing, only as proportions."""
    return weight * (len(weight) / total) if total < _MIN_ROWS else weight


def check_weights(values: NDArray[np.floating[Any]], describe_row: Callable[[int], str]) -> float:
    """Refuse weights that are no weights, and return their sum."""
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(f"{describe_row(at)}: the weight {values[at]} is not a number of at least 0.")
    if not values.any():
        raise DataError("Every weight is zero; at least one row must count.")
    with np.errstate(over="ignore"):
        total = float(values.sum())
    if not _MIN_WEIGHT_SUM <= total <= _MAX_WEIGHT_SUM:
        raise DataError(
            f"The weights sum to {total:.6g}; between {_MIN_WEIGHT_SUM:g} and {_MAX_WEIGHT_SUM:g} they can be counted with. "
            "Change their unit."
        )
    return total


def _target_notes(target: EncodedColumn | None) -> tuple[str, ...]:
    if target is None:
        return ()
    column = target.column
    if column.is_number:
        return (f"The target {column.name!r} is taken as a number; say otherwise with --kinds or kinds=.",)
    n = len(column.levels)
    taken = f"The target {column.name!r} is taken as {n} classes; say otherwise with --kinds or kinds=."
    if target.values is not None and 1 < n == len(target.values):
        return (taken, f"Each of the {n:,} rows has a class of its own: nothing can be learned of {column.name!r}.")
    return (taken,)


def _constant_column_notes(columns: Sequence[Column]) -> tuple[str, ...]:
    used = [column for column in columns if column.exclusion_reason is None]
    if not used or not all(column.constant for column in used):
        return ()
    those = f"Column {used[0].name!r} holds" if len(used) == 1 else f"All {len(used):,} columns that take part hold"
    return (f"{those} one value alone, and so nothing that rows could be told apart by.",)


def _weight_notes(total: float, n: int) -> tuple[str, ...]:
    if total < _MIN_ROWS:
        return (f"The weights were scaled to a mean of 1, because they sum to {total:.6g} over {n:,} rows.",)
    if total < n:
        return (f"The weights sum to {total:.6g} over {n:,} rows: a weight counts as that many rows.",)
    return ()
