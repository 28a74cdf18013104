"""Views of a table: some of its rows or columns, or another target or other weights.

A view has the kinds and levels of the whole table, so that a model fitted on some rows can be applied to the others. Numbers of
missing values, constant columns and columns without values are those of the rows of the view.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Codes, Floats, Indices, is_missing
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.runtime.random import sample_rows
from tamiz.statistics.base import Block
from tamiz.table.base import EncodedTable, Table, check_enough_rows, target_array, weight_array
from tamiz.table.column_storage import RowSubsetColumn
from tamiz.table.roles import scale_to_effective_size
from tamiz.table.schema import Column, Schema, WeightKind
from tamiz.table.worker_tasks import find_worker_block, map_columns_on_workers, map_rows_on_workers


class AppendedColumns:
    """The used columns of a table, read once, and tables of them with other columns appended.

    Parameters
    ----------
    table : Table
    advice : str
        What to do where a model asks for the user's table, which has no appended columns; the end of an error message.

    Attributes
    ----------
    values : mapping of int to ndarray of shape (n_rows,)
        The used columns: numbers, or codes of levels.
    """

    def __init__(self, table: Table, advice: str) -> None:
        self._table, self._advice = table, advice
        self._y = None if table.schema.target is None else target_array(table)
        self._weight = weight_array(table)
        self.values: Mapping[int, NDArray[Any]] = {j: table.column(j) for j in table.schema.used.tolist()}

    def table(
        self, appended: Sequence[tuple[Column, NDArray[Any]]], *, excluded: Collection[int] = (), reason: str = ""
    ) -> EncodedTable:
        """Return the table's columns with others after them.

        Parameters
        ----------
        appended : list of (Column, ndarray of shape (n_rows,))
            The descriptions and the values of the appended columns.
        excluded : collection of int, default=()
            Columns of the table that the table does not use.
        reason : str, default=""
            Why they are excluded.
        """
        opened, left_out = self._table, set(excluded)
        own = [
            replace(column, exclusion_reason=reason) if j in left_out and column.exclusion_reason is None else column
            for j, column in enumerate(opened.schema.columns)
        ]
        values = {j: column for j, column in self.values.items() if j not in left_out}
        values.update(enumerate((column for _, column in appended), start=len(own)))
        columns = (*own, *(column for column, _ in appended))
        schema = replace(opened.schema, columns=columns, n_dropped=0, notes=())
        table = EncodedTable(
            schema, Block(range(schema.n_rows), values, self._y, self._weight), None, self._refuse_frame
        )
        table.copy_roles(opened)
        table.metadata = opened.metadata
        return table

    def _refuse_frame(self, names: Sequence[str], rows: Indices) -> NoReturn:  # noqa: ARG002 - the signature of a frame function
        raise DataError(f"Added columns are not in the user's table: {self._advice}.")


Output = TypeVar("Output")

# A view of at most this size is cached in memory; the columns of a larger one are read when they are used.
_MAX_MEMORY_BYTES = 2**26
_NO_VALUE_REASON = "no value is present"


def select_rows(table: Table, rows: Indices) -> Table:
    """Return a view of some rows.

    Parameters
    ----------
    table : Table
    rows : ndarray of row numbers of the table, ascending
        A row may occur more than once. Sampling weights are scaled to the effective sample size of these rows.
    """
    return _RowSubset(table, rows)


def sample_table(table: Table, size: int, rng: np.random.Generator) -> Table:
    """Return a random sample of so many rows; nothing is drawn if there are no more."""
    n = table.schema.n_rows
    return table if n <= size else select_rows(table, sample_rows(n, size, rng))


def slice_rows(table: Table, start: int, stop: int) -> Table:
    """Return a view of the rows `start : stop` with the schema of all rows; cheap, for loops over single rows."""
    return _RowSlice(table, start, stop)


def map_rows(table: Table, function: Callable[[Table], Output], size: int) -> Iterator[tuple[int, Output]]:
    """Yield what a function returns for each `size` rows without their targets, and the number of the first of them.

    It is called on the workers of the table, if it has some; there it must be a function or method that can be pickled.
    """
    schema, ranges = table.schema, parallel.block_ranges(table.schema.n_rows, size)
    found = find_worker_block(table.workers, table.blocks())
    if found is None:
        for start, stop in ranges:
            yield start, function(slice_rows(table, start, stop))
        return
    plain = replace(schema, target=None, weight=None, weight_kind=None, total_weight=None)
    outputs = map_rows_on_workers(*found, partial(_apply_to_block, function, plain), ranges)
    yield from zip((start for start, _ in ranges), outputs, strict=True)


def map_columns(table: Table, function: Callable[[Table], Output]) -> Iterator[Output]:
    """Yield what a function returns for groups of columns, on the workers of the table, or once for the table without workers.

    On a worker it must be a function or method that can be pickled, and all other columns are excluded.
    """
    found = find_worker_block(table.workers, table.blocks())
    if found is None:
        yield function(table)
        return
    yield from map_columns_on_workers(*found, partial(_apply_to_block, function, table.schema))


def _apply_to_block(function: Callable[[Table], Output], schema: Schema, block: Block) -> Output:
    """Call a function with a table of the rows and columns of a block, on a worker."""
    described = tuple(
        column
        if j in block.values or column.exclusion_reason
        else replace(column, exclusion_reason="another worker reads it")
        for j, column in enumerate(schema.columns)
    )
    part = replace(schema, columns=described, n_rows=len(block.rows), n_dropped=0, groups=None, time=None, notes=())
    return function(
        EncodedTable(part, replace(block, rows=range(len(block.rows)), numeric_matrix=None), None, _refuse_frame)
    )


def _refuse_frame(names: Sequence[str], rows: Indices) -> Any:  # noqa: ARG001 - the signature of a frame function
    raise DataError("The user's table is not on the workers.")


def select_columns(
    table: Table, columns: Collection[int], reason: str | Mapping[int, str] = "it is not selected"
) -> Table:
    selected = {int(j) for j in columns}
    reasons = {
        j: reason if isinstance(reason, str) else reason[j]
        for j, column in enumerate(table.schema.columns)
        if j not in selected and column.exclusion_reason is None
    }
    return _exclude_columns(table, reasons)


def _exclude_columns(table: Table, reasons: Mapping[int, str]) -> Table:
    columns = [
        replace(column, exclusion_reason=reasons[j]) if j in reasons else column
        for j, column in enumerate(table.schema.columns)
    ]
    return View(table, schema=replace(table.schema, columns=tuple(columns)))


def merge_rare_levels(table: Table, max_levels: int) -> Table:
    """Return a view whose categorical columns have at most `max_levels` levels: the most frequent, and one for all others.

    Of equally frequent levels the earlier is kept. Rows count with their weights.
    """
    described = table.schema.columns
    wide = [j for j in table.schema.categorical if len(described[j].levels) > max_levels]
    counts = {j: np.zeros(len(described[j].levels)) for j in wide}
    for block in table.blocks(wide) if wide else ():
        weight = np.ones(len(block.rows)) if block.weight is None else block.weight
        for j in wide:
            codes = np.asarray(block.values[j])
            present = codes >= 0
            counts[j] += np.bincount(codes[present], weight[present], len(counts[j]))
    recoded = {}
    for j in wide:
        kept = np.sort(np.argsort(-counts[j], kind="stable")[: max_levels - 1])
        new_codes = np.full(len(counts[j]) + 1, max_levels - 1, dtype=np.int32)
        new_codes[kept], new_codes[-1] = np.arange(len(kept)), -1
        levels = [described[j].levels[k] for k in kept.tolist()]
        levels.append(_unused_name("other levels", levels))
        recoded[j] = replace(described[j], levels=tuple(levels)), new_codes
    return _recode_levels(table, recoded)


def add_missing_level(table: Table) -> Table:
    """Give every categorical column of one value a level for its missing values.

    Such a column states by its missing values whether something is present, as in a table of purchases. Without the level all its
    entropy-based scores are 0, and models that impute do not see it. `study` adds these levels.

    Parameters
    ----------
    table : Table

    Returns
    -------
    Table
        The table itself if it has no such column. The level is called "missing", and is the last one.

    Examples
    --------
    >>> import pandas as pd
    >>> from tamiz import open_table
    >>> from tamiz.table import add_missing_level
    >>> table = open_table(pd.DataFrame({"bread": ["t", None, "t", None], "total": [4.0, 1.0, 5.0, 2.0]}), "total")
    >>> add_missing_level(table).schema.columns[0].levels
    ('t', 'missing')
    """
    described = table.schema.columns
    recoded = {}
    for j in one_level_columns(table.schema):
        levels = (*described[j].levels, _unused_name("missing", described[j].levels))
        column = replace(described[j], kind="categorical", levels=levels, n_missing=0)
        recoded[j] = column, np.arange(2, dtype=np.int32)
    return _recode_levels(table, recoded)


def one_level_columns(schema: Schema) -> list[int]:
    """Return the categorical columns of one value that have missing values."""
    return [j for j in schema.categorical if len(schema.columns[j].levels) == 1 and schema.columns[j].n_missing]


def _recode_levels(table: Table, recoded: Mapping[int, tuple[Column, NDArray[np.int32]]]) -> Table:
    """Return a view with other levels of some columns: the new code of every level, and of missing values last, code -1."""
    if not recoded:
        return table
    columns = [recoded[j][0] if j in recoded else column for j, column in enumerate(table.schema.columns)]
    new_codes = {j: codes for j, (_, codes) in recoded.items()}
    return View(table, new_codes=new_codes, schema=replace(table.schema, columns=tuple(columns)))


def _unused_name(name: str, used: Collection[str]) -> str:
    """Return a name that is not used, with as many apostrophes as that needs."""
    while name in used:
        name += "'"
    return name


def without_target(table: Table) -> Table:
    schema = table.schema
    return table if schema.target is None else View(table, {"y": None}, schema=replace(schema, target=None))


def with_target(table: Table, y: NDArray[Any], target: Column | None = None) -> Table:
    """Return a view with other values of the target, and with another description of it if `target` is given."""
    return View(table, {"y": y}, schema=replace(table.schema, target=target or table.schema.target))


def with_weight(table: Table, weight: Floats, name: str, kind: WeightKind = "frequency") -> Table:
    """Return a view with other weights, as numbers of rows; `name` is their name in the schema and in messages."""
    schema = replace(table.schema, weight=name, weight_kind=kind, total_weight=float(weight.sum()))
    return View(table, {"weight": weight}, schema=schema)


def weight_groups_equally(table: Table) -> Table:
    """Return the table for criteria that count rows: if the target is constant within every group, each group counts as one row.

    If the target is constant within groups, the rows of a group repeat one observation of it. Each row is then weighted by 1 / the
    number of rows of its group, times its own weight, so that cut points and scores are those of as many independent rows as there
    are groups. This is the effective number of rows at an intraclass correlation of 1, so that scores are not overstated.

    Parameters
    ----------
    table : Table

    Returns
    -------
    Table
        The table itself if no group has several rows, if it has no target, or if the target varies within a group.

    References
    ----------
    Kish (1965), Survey Sampling, section 5.4: the design effect 1 + (m - 1) rho of clusters of m rows.
    """
    groups = table.groups
    if groups is None or not has_repeated_groups(groups) or not has_group_level_target(table, groups):
        return table
    weight = 1.0 / np.bincount(groups)[groups]
    own = weight_array(table)
    if own is not None:
        weight *= own
    if table.schema.weight_kind == "sampling":
        # The effective sample size is that of the groups: `scale_to_effective_size` of their weights.
        of_group = np.bincount(groups, weight)
        weight *= of_group.sum() / np.square(of_group).sum()
    return with_weight(table, weight, f"1 / rows of {table.schema.groups!r}")


def has_repeated_groups(groups: Codes) -> bool:
    return bool(np.bincount(groups).max() > 1)


def has_group_level_target(table: Table, groups: Codes) -> bool:
    """Whether the target is constant within every group."""
    if table.schema.target is None:
        return False
    y = target_array(table)
    value_of_group = np.empty(int(groups.max()) + 1, y.dtype)
    value_of_group[groups] = y
    return bool((y == value_of_group[groups]).all())


def with_groups(table: Table, groups: Codes | None, group_names: tuple[str, ...], name: str | None) -> Table:
    """Return a view with other groups of the rows, or without groups; `name` is their name in the schema and in messages."""
    return View(table, groups=groups, group_names=group_names, schema=replace(table.schema, groups=name))


def with_time(table: Table, time: NDArray[Any] | None, name: str | None) -> Table:
    """Return a view with other times of the rows, or without times; `name` is their name in the schema and in messages."""
    return View(table, time=time, schema=replace(table.schema, time=name))


def exclude_column(table: Table, name: str, reason: str) -> Table:
    """Return a view in which a column, and the parts of a date, are excluded for the given reason."""
    columns = enumerate(table.schema.columns)
    own = [j for j, column in columns if name in (column.name, *(column.date_part or ())[:1])]
    return _exclude_columns(table, dict.fromkeys(own, reason))


def unweighted_sample(table: Table) -> Table:
    """Return a view in which every row of positive sampling weight counts once; a table without such weights as it is."""
    if table.schema.weight_kind != "sampling":
        return table
    weight = weight_array(table)
    assert weight is not None
    return with_weight(table, (weight > 0).astype(np.float64), str(table.schema.weight))


def with_metadata(table: Table, metadata: Mapping[str, Any]) -> Table:
    """Return a view with further metadata of the rows of the user's table, for estimators and scorers that request them."""
    if not metadata:
        return table
    own = metadata_at(metadata, table.row_numbers, n_original_rows(table))
    return View(table, metadata={**table.metadata, **own})


def metadata_at(metadata: Mapping[str, Any], rows: Indices | slice, n_rows: int) -> dict[str, Any]:
    """Return the metadata of some of n rows; a value that has no entry for each row, such as a number, is unchanged."""
    values = {name: np.asarray(value) if isinstance(value, list | tuple) else value for name, value in metadata.items()}
    return {
        name: getattr(value, "iloc", value)[rows] if np.shape(value)[:1] == (n_rows,) else value
        for name, value in values.items()
    }


def resampled_weights(table: Table, counts: Floats) -> Floats:
    """Return the weights of samples in which rows occur `counts` times, both of shape (n_samples, n_rows)."""
    base = weight_array(table)
    if base is None:
        return counts
    weights = counts * base
    # As in `select_rows`.
    return (
        weights
        if table.schema.weight_kind != "sampling"
        else weights * (weights.sum(axis=1) / (weights @ base))[:, None]
    )


def positive_weight_row_numbers(table: Table) -> Indices:
    weight = weight_array(table)
    return np.arange(table.schema.n_rows) if weight is None else np.flatnonzero(weight)


def positive_weight_rows(table: Table) -> Table:
    rows = positive_weight_row_numbers(table)
    return table if len(rows) == table.schema.n_rows else select_rows(table, rows)


def n_original_rows(table: Table) -> int:
    """Return the number of rows of the user's table, including rows without a target."""
    while isinstance(table, View):
        table = table.table
    return table.schema.n_rows + table.schema.n_dropped


def has_all_rows(table: Table) -> bool:
    """Return whether a table contains all rows of the user's table that have a target."""
    return table.schema.n_rows + table.schema.n_dropped == n_original_rows(table)


def as_training_table(table: Table) -> Table:
    """Return training rows.

    Raise a DataError if there are fewer than 2 rows, if all weights are 0, or if the target is constant.
    """
    check_enough_rows(table.schema.n_rows)
    if table.schema.n_effective == 0:
        raise DataError("Every weight is zero; at least one must be positive.")
    y = target_array(table)
    if (y == y[0]).all():
        target = table.schema.target
        assert target is not None
        value = f"of class {target.levels[int(y[0])]!r}" if target.levels else f"{float(y[0]):g}"
        raise DataError(f"The target {target.name!r} is {value} in all {len(y):,} training rows.")
    return table


class View(Table):
    """A table shown with some changes.

    Parameters
    ----------
    table : Table
        The table that the view is of.
    rows : mapping of "y" or "weight" to ndarray of shape (n_rows,) or None
        Other targets and weights.
    new_codes : mapping of int to ndarray
        For some columns, the new code of every level, and of missing values last, where code -1 finds it.
    **attributes
        Attributes of the view that differ from those of the table.
    """

    def __init__(
        self,
        table: Table,
        rows: Mapping[str, NDArray[Any] | None] = MappingProxyType({}),
        new_codes: Mapping[int, NDArray[np.int32]] = MappingProxyType({}),
        **attributes: Any,
    ) -> None:
        self.table, self._row_values, self._new_codes = table, dict(rows), dict(new_codes)
        self.schema, self.column_names = table.schema, table.column_names
        self.copy_roles(table)
        self.infinite_digest, self.metadata, self.workers = table.infinite_digest, table.metadata, table.workers
        vars(self).update(attributes)

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        for block in self.table.blocks(self.schema.used.tolist() if columns is None else columns):
            here = slice(block.rows.start, block.rows.stop)
            changes: dict[str, Any] = {
                name: None if values is None else values[here] for name, values in self._row_values.items()
            }
            if recoded := self._new_codes.keys() & block.values.keys():
                values = {j: self._new_codes[j][np.asarray(block.values[j])] for j in recoded}
                changes["values"] = {**block.values, **values}
            yield replace(block, **changes) if changes else block

    def frame_by_name(self, names: Sequence[str], rows: Indices | None = None) -> Any:
        return self.table.frame_by_name(names, self._rows_of_table(rows))

    def _rows_of_table(self, rows: Indices | None) -> Indices | None:
        return rows

    @property
    def row_numbers(self) -> Indices:
        return self.table.row_numbers


def _roles_at(table: Table, rows: Indices | slice) -> dict[str, Any]:
    """Return the groups, times and metadata of some rows."""
    return {
        "groups": None if table.groups is None else table.groups[rows],
        "time": None if table.time is None else table.time[rows],
        "metadata": metadata_at(table.metadata, rows, table.schema.n_rows),
    }


class _RowSlice(View):
    def __init__(self, table: Table, start: int, stop: int) -> None:
        rows = slice(start, stop)
        super().__init__(table, **_roles_at(table, rows))
        self._start, self._stop = start, stop
        weight = weight_array(table)
        total = None if weight is None else float(weight[rows].sum())
        self.schema = replace(table.schema, n_rows=stop - start, n_dropped=0, notes=(), total_weight=total)

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows in the blocks of the table that contain them."""
        for block in super().blocks(columns):
            first, end = max(self._start, block.rows.start), min(self._stop, block.rows.stop)
            if first < end:
                yield replace(block.slice_rows(first, end), rows=range(first - self._start, end - self._start))

    def _rows_of_table(self, rows: Indices | None) -> Indices:
        return np.arange(self._start, self._stop) if rows is None else self._start + rows

    @property
    def row_numbers(self) -> Indices:
        return self.table.row_numbers[self._start : self._stop]


class _RowSubset(View):
    def __init__(self, table: Table, rows: Indices) -> None:
        super().__init__(table, **_roles_at(table, rows))
        self._rows = rows
        used = table.schema.used.tolist()
        row_bytes = sum(values.dtype.itemsize for values in next(iter(table.blocks(used))).values.values())
        in_memory = row_bytes * len(rows) <= _MAX_MEMORY_BYTES
        weight = weight_array(table)
        self._weight = None if weight is None else weight[rows]
        if self._weight is not None and self._weight.any() and table.schema.weight_kind == "sampling":
            self._weight = scale_to_effective_size(self._weight)
        blocks = list(self._read_blocks(used, in_memory=in_memory))
        self._cached_blocks = blocks if in_memory else None
        columns = _describe_columns(table.schema.columns, blocks, len(rows))
        total = None if self._weight is None else float(self._weight.sum())
        self.schema = replace(
            table.schema, columns=columns, n_rows=len(rows), n_dropped=0, notes=(), total_weight=total
        )

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows in as many blocks as the table has."""
        wanted = self.schema.used.tolist() if columns is None else columns
        if self._cached_blocks is None:
            yield from self._read_blocks(wanted, in_memory=False)
            return
        for block in self._cached_blocks:
            yield block.select_columns(wanted)

    def _read_blocks(self, columns: Sequence[int], *, in_memory: bool) -> Iterator[Block]:
        done = 0
        for block in self.table.blocks(columns):
            first, end = np.searchsorted(self._rows, [block.rows.start, block.rows.stop])
            at = self._rows[first:end] - block.rows.start
            matrix, values = _take_rows(block, at, in_memory=in_memory)
            y = None if block.y is None else block.y[at]
            here = range(done, done + len(at))
            weight = None if self._weight is None else self._weight[here.start : here.stop]
            yield Block(here, values, y, weight, matrix)
            done += len(at)

    def _rows_of_table(self, rows: Indices | None) -> Indices:
        return self._rows if rows is None else self._rows[rows]

    @property
    def row_numbers(self) -> Indices:
        return self.table.row_numbers[self._rows]


def _take_rows(block: Block, at: Indices, *, in_memory: bool) -> tuple[NDArray[Any] | None, dict[int, Any]]:
    """Return some rows of a block: as a matrix if the block has one, and as columns.

    Columns are read at once if `in_memory`, otherwise when they are used.
    """
    if len(at) and at[-1] - at[0] + 1 == len(at) and (np.diff(at) == 1).all():
        # Contiguous rows are a slice, without a copy. The differences are checked because a bootstrap sample may repeat a row.
        rows = slice(int(at[0]), int(at[-1]) + 1)
        matrix = None if block.numeric_matrix is None else block.numeric_matrix[rows]
        return matrix, {j: np.asarray(v[rows]) if in_memory else v[rows] for j, v in block.values.items()}
    if not in_memory:
        return None, {j: RowSubsetColumn(values, at) for j, values in block.values.items()}
    if block.numeric_matrix is not None:
        matrix = block.numeric_matrix[at]
        return matrix, {j: matrix[:, k] for k, j in enumerate(block.numeric_columns)}
    return None, {j: RowSubsetColumn(values, at).read() for j, values in block.values.items()}


def _describe_columns(columns: tuple[Column, ...], blocks: Sequence[Block], n_rows: int) -> tuple[Column, ...]:
    """Return the descriptions of the columns for some rows: number of missing values, and whether constant or without values."""
    # Excluded columns are not read: their number of missing values is only limited to the number of rows.
    described = [column if column.n_missing <= n_rows else replace(column, n_missing=n_rows) for column in columns]
    for j, n_missing, constant in _summarize_columns(blocks):
        if n_missing == n_rows:
            described[j] = replace(described[j], n_missing=n_missing, constant=True, exclusion_reason=_NO_VALUE_REASON)
        elif (n_missing, constant) != (described[j].n_missing, described[j].constant):
            described[j] = replace(described[j], n_missing=n_missing, constant=constant)
    return tuple(described)


def _summarize_columns(blocks: Sequence[Block]) -> Iterator[tuple[int, int, bool]]:
    """Yield each column with its number of missing values, and whether it is constant."""
    if len(blocks) == 1 and blocks[0].numeric_matrix is not None and len(blocks[0].numeric_matrix):
        matrix = blocks[0].numeric_matrix
        missing_counts, is_constant = np.isnan(matrix).sum(axis=0).tolist(), (matrix == matrix[0]).all(axis=0).tolist()
        yield from zip(blocks[0].numeric_columns, missing_counts, is_constant, strict=True)
        return
    for j in blocks[0].values if blocks else ():
        n_missing, first, constant = 0, None, True
        for block in blocks:
            values = np.asarray(block.values[j])
            n_missing += int(np.count_nonzero(is_missing(values)))
            if len(values):
                first = values[0] if first is None else first
                constant = constant and bool(values[-1] == first) and bool((values == first).all())
        yield j, n_missing, constant and not n_missing
