"""A table seen in part: some of its rows, some of its columns, or with another target.

Kinds and levels stay those of the whole table, so that what is learned of some rows can be applied to the others; gaps, constant
columns and columns without a value are those of the rows seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.column_storage import RowSubsetColumn
from tamiz.sources.schema import Column
from tamiz.sources.table import check_enough_rows, check_weights, scale_weights
from tamiz.statistics.base import Block

RowNumbers = NDArray[np.intp]

# A view of at most so many bytes is kept in memory; of a larger one, columns are taken when they are used.
_MAX_MEMORY_BYTES = 2**26
_NO_VALUE_REASON = "no value is present"


def select_rows(source: Source, rows: RowNumbers) -> Source:
    """Return some rows of a table as a table.

    Parameters
    ----------
    source : Source
    rows : ndarray of row numbers among those that count, ascending
    """
    return _RowSubset(source, rows)


def slice_rows(source: Source, start: int, stop: int) -> Source:
    """Return the rows `start : stop` of a table, of whose columns is known what is known of all rows: for rows taken one by one."""
    return _RowSlice(source, start, stop)


def select_columns(source: Source, columns: Collection[int], reason: str = "it is not chosen") -> Source:
    """Return the table with only these columns taking part, and why the others do not."""
    return _ColumnSubset(source, columns, reason)


def without_target(source: Source) -> Source:
    """Return the table as one that has no target."""
    return source if source.schema.target is None else _WithoutTarget(source)


def with_target(source: Source, y: NDArray[Any], target: Column | None = None) -> Source:
    """Return the table with other values of the target, codes of the same classes or numbers, or with another target."""
    return _WithTarget(source, y, target or source.schema.target)


def with_weight(source: Source, weight: NDArray[np.float64], name: str) -> Source:
    """Return the table with other weights of its rows, under the name that messages call them by."""
    return _WithWeight(source, weight, name)


def target_array(source: Source) -> NDArray[Any]:
    """Return the target of every row that counts: int32 codes of its classes, or float64."""
    return np.concatenate([np.asarray(block.y) for block in source.blocks([])])


def weight_array(source: Source) -> NDArray[np.float64] | None:
    """Return the weight of every row that counts, None where they have none."""
    if source.schema.weight is None:
        return None
    return np.concatenate([block.weight_or_ones for block in source.blocks([])])


def n_original_rows(source: Source) -> int:
    """Return how many rows the user's table has, those that do not count among them."""
    while isinstance(source, _View):
        source = source.table
    return source.schema.n_rows + source.schema.n_dropped


def has_all_rows(source: Source) -> bool:
    """Return whether a table is the user's, all rows that count, and not a part of it."""
    return source.schema.n_rows + source.schema.n_dropped == n_original_rows(source)


def as_training_source(source: Source) -> Source:
    """Return rows to learn from, weights that sum to less than 2 scaled to a mean of 1.

    Rows of which nothing can be learned about the target are refused: too few, of no weight, or all of one class or value.
    """
    check_enough_rows(source.schema.n_rows)
    weight = weight_array(source)
    if weight is not None:
        scaled = scale_weights(weight, check_weights(weight, lambda at: f"row {source.row_numbers[at]}"))
        source = source if scaled is weight else with_weight(source, scaled, str(source.schema.weight))
    y = target_array(source)
    if (y == y[0]).all():
        target = source.schema.target
        assert target is not None
        what = f"of class {target.levels[int(y[0])]!r}" if target.levels else f"{float(y[0]):g}"
        raise DataError(f"The target {target.name!r} is {what} in all {len(y):,} rows to learn from.")
    return source


class _View(Source):
    """A table as another one shows it.

    Parameters
    ----------
    table : Source
        The other one.
    """

    def __init__(self, table: Source) -> None:
        self.table = table
        self.schema, self.column_names, self.class_labels = table.schema, table.column_names, table.class_labels
        self.groups, self.group_names, self.time, self.infinite_digest = (
            table.groups,
            table.group_names,
            table.time,
            table.infinite_digest,
        )

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows."""
        return self.table.blocks(self.schema.used.tolist() if columns is None else columns)

    def frame(self, columns: Sequence[int] | None = None, rows: RowNumbers | None = None) -> Any:
        """Return columns of the rows as the user gave them."""
        return self.table.frame(columns, rows)

    def frame_by_name(self, names: Sequence[str], rows: RowNumbers | None = None) -> Any:
        """Return columns of the rows as the user gave them, by name."""
        return self.table.frame_by_name(names, rows)

    @property
    def row_numbers(self) -> RowNumbers:
        """The numbers of the rows in the user's table."""
        return self.table.row_numbers


class _RowSlice(_View):
    def __init__(self, table: Source, start: int, stop: int) -> None:
        super().__init__(table)
        self._start, self._stop = start, stop
        here = slice(start, stop)
        self.groups = None if table.groups is None else table.groups[here]
        self.time = None if table.time is None else table.time[here]
        self.schema = replace(table.schema, n_rows=stop - start, n_dropped=0, notes=())

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows, of as many blocks as they lie in."""
        for block in super().blocks(columns):
            first, end = max(self._start, block.rows.start), min(self._stop, block.rows.stop)
            if first < end:
                yield replace(block.slice_rows(first, end), rows=range(first - self._start, end - self._start))

    def frame(self, columns: Sequence[int] | None = None, rows: RowNumbers | None = None) -> Any:
        """Return columns of the rows as the user gave them."""
        return self.table.frame(columns, self._original_rows(rows))

    def frame_by_name(self, names: Sequence[str], rows: RowNumbers | None = None) -> Any:
        """Return columns of the rows as the user gave them, by name."""
        return self.table.frame_by_name(names, self._original_rows(rows))

    def _original_rows(self, rows: RowNumbers | None) -> RowNumbers:
        return np.arange(self._start, self._stop) if rows is None else self._start + rows

    @property
    def row_numbers(self) -> RowNumbers:
        """The numbers of the rows in the user's table."""
        return self.table.row_numbers[self._start : self._stop]


class _ColumnSubset(_View):
    def __init__(self, table: Source, columns: Collection[int], reason: str) -> None:
        super().__init__(table)
        taken = {int(j) for j in columns}
        self.schema = replace(
            table.schema,
            columns=tuple(
                column
                if j in taken or column.exclusion_reason is not None
                else replace(column, exclusion_reason=reason)
                for j, column in enumerate(table.schema.columns)
            ),
        )


class _WithoutTarget(_View):
    def __init__(self, table: Source) -> None:
        super().__init__(table)
        self.schema = replace(table.schema, target=None)

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows without the target."""
        for block in super().blocks(columns):
            yield replace(block, y=None)


class _WithTarget(_View):
    def __init__(self, table: Source, y: NDArray[Any], target: Column | None) -> None:
        super().__init__(table)
        self._y = y
        self.schema = replace(table.schema, target=target)

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows with their other target."""
        for block in super().blocks(columns):
            yield replace(block, y=self._y[block.rows.start : block.rows.stop])


class _WithWeight(_View):
    def __init__(self, table: Source, weight: NDArray[np.float64], name: str) -> None:
        super().__init__(table)
        self._weight = weight
        self.schema = replace(table.schema, weight=name)

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows with their other weights."""
        for block in super().blocks(columns):
            yield replace(block, weight=self._weight[block.rows.start : block.rows.stop])


class _RowSubset(_View):
    def __init__(self, table: Source, rows: RowNumbers) -> None:
        super().__init__(table)
        self._rows = rows
        self.groups = None if table.groups is None else table.groups[rows]
        self.time = None if table.time is None else table.time[rows]
        used = table.schema.used.tolist()
        row_bytes = sum(values.dtype.itemsize for values in next(iter(table.blocks(used))).values.values())
        held = row_bytes * len(rows) <= _MAX_MEMORY_BYTES
        blocks = list(self._read_blocks(used, in_memory=held))
        self._cached_blocks = blocks if held else None
        columns = _describe_columns(table.schema.columns, blocks, len(rows))
        self.schema = replace(table.schema, columns=columns, n_rows=len(rows), n_dropped=0, notes=())

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows, as many blocks as the table has."""
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
            whole, values = _take_rows(block, at, in_memory=in_memory)
            y = None if block.y is None else block.y[at]
            weight = None if block.weight is None else block.weight[at]
            yield Block(range(done, done + len(at)), values, y, weight, whole)
            done += len(at)

    def frame(self, columns: Sequence[int] | None = None, rows: RowNumbers | None = None) -> Any:
        """Return columns of the rows as the user gave them."""
        return self.table.frame(columns, self._rows if rows is None else self._rows[rows])

    def frame_by_name(self, names: Sequence[str], rows: RowNumbers | None = None) -> Any:
        """Return columns of the rows as the user gave them, by name."""
        return self.table.frame_by_name(names, self._rows if rows is None else self._rows[rows])

    @property
    def row_numbers(self) -> RowNumbers:
        """The numbers of the rows in the user's table."""
        return self.table.row_numbers[self._rows]


def _take_rows(block: Block, at: RowNumbers, *, in_memory: bool) -> tuple[NDArray[Any] | None, dict[int, Any]]:
    """Return some rows of the columns of a block, as a matrix where they are one; read now, or when they are used."""
    if len(at) and at[-1] - at[0] + 1 == len(at) and (np.diff(at) == 1).all():
        # Rows in a row are where they are; folds may hold a row twice.
        here = slice(int(at[0]), int(at[-1]) + 1)
        whole = None if block.numeric_matrix is None else block.numeric_matrix[here]
        return whole, {j: np.asarray(v[here]) if in_memory else v[here] for j, v in block.values.items()}
    if not in_memory:
        return None, {j: RowSubsetColumn(values, at) for j, values in block.values.items()}
    if block.numeric_matrix is not None:
        whole = block.numeric_matrix[at]
        return whole, {j: whole[:, k] for k, j in enumerate(block.numeric_columns)}
    return None, {j: RowSubsetColumn(values, at).read() for j, values in block.values.items()}


def _describe_columns(columns: tuple[Column, ...], blocks: Sequence[Block], n_rows: int) -> tuple[Column, ...]:
    """Return the columns as these rows have them: their gaps, whether they are constant, and whether they have any value."""
    # Of a column that takes no part, no more is known than that it has no more gaps than there are rows.
    told = [column if column.n_missing <= n_rows else replace(column, n_missing=n_rows) for column in columns]
    for j, n_missing, constant in _summarize_columns(blocks):
        if n_missing == n_rows:
            told[j] = replace(told[j], n_missing=n_missing, constant=True, exclusion_reason=_NO_VALUE_REASON)
        elif (n_missing, constant) != (told[j].n_missing, told[j].constant):
            told[j] = replace(told[j], n_missing=n_missing, constant=constant)
    return tuple(told)


def _summarize_columns(blocks: Sequence[Block]) -> Iterator[tuple[int, int, bool]]:
    """Yield every column with its number of gaps, and whether all rows hold the same value."""
    if len(blocks) == 1 and blocks[0].numeric_matrix is not None and len(blocks[0].numeric_matrix):
        whole = blocks[0].numeric_matrix
        gaps, same = np.isnan(whole).sum(axis=0).tolist(), (whole == whole[0]).all(axis=0).tolist()
        yield from zip(blocks[0].numeric_columns, gaps, same, strict=True)
        return
    for j in blocks[0].values if blocks else ():
        n_missing, first, constant = 0, None, True
        for block in blocks:
            values = np.asarray(block.values[j])
            n_missing += int(np.count_nonzero(np.isnan(values) if values.dtype.kind == "f" else values < 0))
            if len(values):
                first = values[0] if first is None else first
                constant = constant and bool(values[-1] == first) and bool((values == first).all())
        yield j, n_missing, constant and not n_missing
