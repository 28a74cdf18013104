"""A table from raw columns: every reader returns a `ColumnSource`, which `build_table` reads as `OpenOptions` state.

The columns with a role (target, weight, groups, time) are read first, rows without a target are left out, and then the kinds of
the features are inferred and their values encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamiz.arrays import Codes, Floats, Indices
from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.executors import Shared, Workers
from tamiz.runtime.parallel import MemoryGate
from tamiz.runtime.registry import suggestion
from tamiz.runtime.user_warnings import list_names, warn_user
from tamiz.runtime.validation import check_choice
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.table.base import MIN_ROWS, EncodedTable, MakeFrame, check_enough_rows
from tamiz.table.kinds import EncodedColumn, RawColumn, encode_column, encode_target, small_spread_warnings, to_numbers
from tamiz.table.known_columns import (
    READ_AS_MISSING,
    absent_message,
    encode_known_column,
    filled_warning,
    missing_column,
)
from tamiz.table.roles import Times, group_codes, present_target, target_notes, time_values, to_row_numbers
from tamiz.table.schema import KINDS, Column, Kind, Schema, WeightKind

_ABSENT_ADVICE = "Columns are matched by name: rename columns with other names, or add an empty column."
# Number of values that a thread encodes at a time.
_TASK_VALUES = 2**18
# The same for a task of a worker.
_WORKER_TASK_VALUES = 2**24
# Notes of one code about columns.
_MAX_NOTES = 3
_WHOLE_COLUMN_ADVICE = "A column is read whole, because its kind is inferred from all of its values."


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
    n_rows : int
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
    n_rows: int
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
    unknown_effect: str = READ_AS_MISSING
    advice: str = _ABSENT_ADVICE

    def kind_of(self, name: str) -> Kind | None:
        """Return the kind of a used column or of the target; None for other columns."""
        known = [c for c in self.schema.columns if c.exclusion_reason is None]
        target = [] if self.schema.target is None else [self.schema.target]
        return next((column.kind for column in (*known, *target) if column.name == name), None)

    def read(self, source: ColumnSource) -> EncodedTable:
        """Return the new rows as a table of the used columns."""
        columns, used = list(self.schema.columns), self.schema.used.tolist()
        available = set(source.names)
        absent = [columns[j].name for j in used if columns[j].name not in available]
        if absent and not self.fill_absent:
            known = set(self.schema.names)
            others = [name for name in source.names if name not in known]
            raise DataError(absent_message(absent, others, self.advice))
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
        n_rows = source.n_rows
        for j in set(used).difference(present):
            values[j] = source.store(missing_column(columns[j], n_rows))
            columns[j] = replace(columns[j], n_missing=n_rows)
        if absent:
            warnings.append(filled_warning(absent, n_rows))
        warn_user(warnings)
        block = Block(range(n_rows), {j: values[j] for j in used}, None, None)
        return EncodedTable(Schema(tuple(columns), n_rows), block, None, source.make_frame, source.names)


@dataclass(frozen=True)
class FileOptions:
    """What the user states about a file; the rest is inferred from its contents.

    Attributes
    ----------
    header : bool or None
        Whether the first row of a text file contains the column names; None infers it.
    encoding, sep : str or None
        The encoding and the separator of a text file; None infers them.
    na : sequence of str
        Words that are missing values, beside those that always are.
    on_bad_rows : {"error", "drop"}
        What is done with rows that have another number of fields than the header.
    part : str or None
        The sheet, table or array of a file with several.
    """

    header: bool | None = None
    encoding: str | None = None
    sep: str | None = None
    na: Sequence[str] = ()
    on_bad_rows: str = "error"
    part: str | None = None

    def __post_init__(self) -> None:
        if self.header is not None and not isinstance(self.header, bool):
            raise TypeError(f"header must be True, False or None, got {self.header!r}.")
        for name in ("encoding", "sep", "part"):
            if (value := getattr(self, name)) is not None and not (isinstance(value, str) and value):
                raise TypeError(f"{name} must be a string of at least one character or None, got {value!r}.")
        if isinstance(self.na, str) or not all(isinstance(word, str) for word in self.na):
            raise TypeError(f"na must be a list of words, got {self.na!r}.")
        object.__setattr__(self, "na", tuple(self.na))
        check_choice("on_bad_rows", self.on_bad_rows, ("error", "drop"))

    @property
    def stated(self) -> list[str]:
        """The names of the options that differ from their defaults, apart from the part."""
        return [one.name for one in fields(self) if one.name != "part" and getattr(self, one.name) != one.default]


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
    file : FileOptions
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
    file: FileOptions = FileOptions()
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

    def kind_by_column(self, names: Sequence[str]) -> Mapping[str, Kind]:
        """Return the kinds that the user declared, for a table of columns `names`."""
        if isinstance(self.kinds, str):
            return {name: self.kinds for name in names if name != self.target}
        return self.kinds or {}


@dataclass(frozen=True)
class Roles:
    """The rows of a table that have a target, and their target, weights, groups and times.

    Attributes
    ----------
    n_rows : int
    rows : ndarray of shape (n_rows,) or None
        Their positions in the user's table; None if all rows have a target.
    n_dropped : int
        Number of rows without a target.
    """

    n_rows: int
    rows: Indices | None = None
    n_dropped: int = 0
    target: EncodedColumn | None = None
    target_notes: tuple[Verdict, ...] = ()
    weight: Floats | None = None
    weight_kind: WeightKind | None = None
    groups: Codes | None = None
    group_names: tuple[str, ...] = ()
    time: Times | None = None

    def row_number(self, at: int) -> int:
        """Return the position in the user's table of one of the rows."""
        return at if self.rows is None else int(self.rows[at])


def read_roles(source: ColumnSource, options: OpenOptions) -> Roles:
    """Check the names and lengths of the columns with a role, and read them."""
    _check_roles(source, options)
    if not options.roles:
        return Roles(source.n_rows)
    roles = Roles(source.n_rows)
    with MemoryGate().reserve(source.column_memory, "Reading the target", _WHOLE_COLUMN_ADVICE):
        if options.target is not None:
            roles = _read_target(source, options, options.target)
    if options.is_head:
        return roles
    describe_row = _KeptRows(roles.rows, source.describe_row)

    def read(role: str | RawColumn) -> RawColumn:
        raw = source.column(role)
        return raw if roles.rows is None else raw.take(roles.rows)

    if options.weight is not None:
        weight, kind = to_row_numbers(to_numbers(read(options.weight), describe_row), options.weights, describe_row)
        if np.count_nonzero(weight) < MIN_ROWS and weight.sum() < MIN_ROWS:
            raise DataError(f"The weights count 1 sample (row) in all; at least {MIN_ROWS} are needed.")
        roles = replace(roles, weight=weight, weight_kind=kind)
    if options.groups is not None:
        with MemoryGate().reserve(source.column_memory, "Reading the groups", _WHOLE_COLUMN_ADVICE):
            groups, group_names = group_codes(read(options.groups), describe_row)
        roles = replace(roles, groups=groups, group_names=group_names)
    if options.time is not None:
        with MemoryGate().reserve(source.column_memory, "Reading the times", _WHOLE_COLUMN_ADVICE):
            roles = replace(roles, time=time_values(read(options.time), describe_row))
    pa.default_memory_pool().release_unused()
    return roles


def _read_target(source: ColumnSource, options: OpenOptions, target: str | RawColumn) -> Roles:
    raw, kinds = source.column(target), options.kind_by_column(source.names)
    encoded = encode_target(raw, kinds.get(raw.name), source.describe_row)
    if options.is_head:
        column = replace(encoded.column, n_missing=0, constant=False, exclusion_reason=None)
        return Roles(source.n_rows, target=EncodedColumn(column, None))
    encoded, rows, n_dropped = present_target(raw, encoded)
    notes = target_notes(encoded, is_declared=encoded.column.name in kinds)
    return Roles(source.n_rows - n_dropped, rows, n_dropped, encoded, notes)


def _check_roles(source: ColumnSource, options: OpenOptions) -> None:
    """Raise a DataError for roles and kinds of columns that are absent, and for roles of another length than the table."""
    names = set(source.names)
    for role, name in options.roles.items():
        if isinstance(name, str) and name not in names:
            listed = list_names(source.names, limit=20)
            raise DataError(
                f"There is no column {name!r} for the {role}{suggestion(name, source.names)}; columns: {listed}."
            )
        if isinstance(name, str) and options.role_by_column[name] != role:
            raise DataError(f"Column {name!r} cannot be both the {role} and the {options.role_by_column[name]}.")
    if isinstance(options.kinds, str):
        check_choice("kinds", options.kinds, KINDS)
    for name, kind in options.kinds.items() if isinstance(options.kinds, Mapping) else ():
        if name not in names and name != _role_name(options.target):
            raise DataError(f"kinds contains {name!r}, which is not a column{suggestion(name, source.names)}.")
        check_choice(f"kinds[{name!r}]", kind, KINDS)
    for role, column in options.roles.items():
        if isinstance(column, RawColumn) and len(column) != source.n_rows:
            raise DataError(
                f"The {role} has {len(column):,} values and the table {source.n_rows:,} rows: inconsistent numbers of samples."
            )
    if options.weight is None and options.weights is not None:
        raise DataError(
            f"weights={options.weights!r} (--weights) states what the weights are, but the rows have none: pass weight= (--weight)."
        )


def _role_name(role: str | RawColumn | None) -> str | None:
    return role.name if isinstance(role, RawColumn) else role


def feature_names(source: ColumnSource, options: OpenOptions) -> list[str]:
    """Return the columns without a role; raise a DataError if there are none."""
    features = [name for name in source.names if name not in options.role_by_column]
    if not features:
        raise DataError("The table has no column beside the target; at least 1 feature is needed.")
    return features


def build_table(source: ColumnSource, options: OpenOptions) -> EncodedTable:
    """Read and encode the columns of a source."""
    names = set[str]()
    for name in source.names:
        if name in names:
            raise DataError(f"Column {name!r} occurs twice; rename one of them.")
        names.add(name)
    if options.reader is not None:
        return options.reader.read(source)
    roles = read_roles(source, options)
    features = feature_names(source, options)
    encoder = _FeatureEncoder(replace(source, workers=None), options.kind_by_column(source.names), roles.rows)
    encoded = Features()
    with parallel.thread_session():
        for column in _encode_features(features, encoder, roles.n_rows, source.workers):
            encoded.add(column)
            progress.report_progress("Reading columns", len(encoded.columns), len(features))
    notes = _constant_column_notes(encoded.columns)
    return assemble_table(source, options, roles, encoded, notes=notes)


@dataclass
class Features:
    """The columns of a table without a role, the values of those that are used, and what to warn of."""

    columns: list[Column] = field(default_factory=list)
    values: dict[int, NDArray[Any]] = field(default_factory=dict)
    warnings: list[Verdict] = field(default_factory=list)
    spreads: dict[str, float | None] = field(default_factory=dict)
    matrix: NDArray[Any] | None = None

    def add(self, encoded: EncodedColumn) -> None:
        if encoded.values is not None:
            self.values[len(self.columns)] = encoded.values
            self.spreads[encoded.column.name] = encoded.small_spread
        self.columns.append(encoded.column)
        self.warnings += encoded.warnings


def assemble_table(
    source: ColumnSource, options: OpenOptions, roles: Roles, features: Features, *, notes: Sequence[Verdict] = ()
) -> EncodedTable:
    """Return the table of encoded features and roles, and warn of what was found in them."""
    if not options.is_batch:
        check_enough_rows(roles.n_rows)
    target, weight = roles.target, roles.weight
    found = [*(target.warnings if target else ()), *features.warnings]
    if not options.is_head:
        spreads = ({target.column.name: target.small_spread} if target else {}) | features.spreads
        warn_user([*(one for one in found if one.severity != "note"), *small_spread_warnings(spreads)])
    schema = Schema(
        tuple(features.columns),
        roles.n_rows,
        target.column if target else None,
        _role_name(options.weight),
        roles.n_dropped,
        (),
        _role_name(options.groups),
        _role_name(options.time),
        roles.weight_kind,
        None if weight is None else float(weight.sum()),
    )
    weight_notes = (options.weights is None and schema.large_weight_notes) or schema.weight_notes
    read = _first_of_each_code([one for one in found if one.severity == "note"])
    schema = replace(schema, notes=(*roles.target_notes, *weight_notes, *read, *notes))
    block = Block(range(roles.n_rows), features.values, target.values if target else None, weight, features.matrix)
    table = EncodedTable(schema, block, roles.rows, source.make_frame, source.names)
    table.class_labels = target.labels if target else None
    table.groups, table.group_names, table.time = roles.groups, roles.group_names, roles.time
    table.workers = source.workers
    return table


def _first_of_each_code(notes: Sequence[Verdict]) -> list[Verdict]:
    """Return the first notes of each code, and a note with the columns of the others."""
    kept: list[Verdict] = []
    for code in dict.fromkeys(one.code for one in notes):
        alike = [one for one in notes if one.code == code]
        kept += alike[:_MAX_NOTES]
        names = list(dict.fromkeys(name for one in alike[_MAX_NOTES:] for name in one.columns))
        if names:
            kept.append(Verdict(code, f"The same is true of other values in {list_names(names)}.", names))
    return kept


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


def _constant_column_notes(columns: Sequence[Column]) -> tuple[Verdict, ...]:
    used = [column for column in columns if column.exclusion_reason is None]
    if not used or not all(column.constant for column in used):
        return ()
    subject = (
        f"Column {used[0].name!r} is constant" if len(used) == 1 else f"All {len(used):,} used columns are constant"
    )
    sentence = f"{subject}, so that rows cannot be distinguished."
    return (Verdict("TZ210", sentence, [column.name for column in used]),)
