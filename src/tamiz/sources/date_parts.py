"""Dates as calendar parts: year, month, weekday and hour as columns of their own, in place of seconds since 1970.

The parts are columns after those of the user's table. A date whose parts take part is left out itself: as a number it only
counts the rows in time, and a cut point on it separates rows by when they were recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamiz.sources.base import Source
from tamiz.sources.column_storage import LazyColumn
from tamiz.sources.schema import Column, Schema
from tamiz.statistics.base import Block, Floats

DATE_PARTS = ("year", "month", "weekday", "hour")
_SECONDS_PER_DAY, _SECONDS_PER_HOUR = 86_400, 3_600
# 1970-01-01 was a Thursday, the fourth day of ISO's week.
_FIRST_WEEKDAY = 3
# Days since 1970 beyond this many are no dates, and numpy's calendar ends not far behind.
_MAX_DAYS = 10**8
_CONSTANT_PARTS_REASON = (
    "a date whose year, month, weekday and hour do not vary; the kind numeric keeps its value in seconds"
)


def calendar_part(seconds: NDArray[Any], part: str) -> Floats:
    """Return a calendar part of every date, in UTC.

    Parameters
    ----------
    seconds : ndarray of shape (n_rows,)
        Since 1970-01-01, NaN for a missing date.
    part : {"year", "month", "weekday", "hour"}
        Months count from 1, weekdays from Monday = 1 to Sunday = 7 (ISO 8601), hours from 0.

    Returns
    -------
    ndarray of shape (n_rows,)
        NaN for a missing date.
    """
    seconds = np.asarray(seconds, dtype=np.float64)
    days = np.floor(seconds / _SECONDS_PER_DAY)
    present = np.abs(days) <= _MAX_DAYS
    found = np.full(len(seconds), np.nan)
    if part == "hour":
        found[present] = np.floor((seconds[present] - days[present] * _SECONDS_PER_DAY) / _SECONDS_PER_HOUR)
        return found
    whole = days[present].astype(np.int64)
    if part == "weekday":
        found[present] = (whole + _FIRST_WEEKDAY) % 7 + 1
        return found
    months = whole.view("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    found[present] = months // 12 + 1970 if part == "year" else months % 12 + 1
    return found


def split_dates(source: Source) -> Source:
    """Return the table with the calendar parts of its dates as columns, and without the dates themselves.

    The parts are the year, month, weekday (Monday is 1) and hour that vary, in UTC, and are called "departure (month)". A missing
    date has missing parts. A column of kind "numeric" is not split: with `open_source(..., kinds={"departure": "numeric"})` a date
    takes part as seconds since 1970. `study` and the commands `rank` and `select` split dates.

    Parameters
    ----------
    source : Source

    Returns
    -------
    Source
        The source itself where no date takes part.

    Notes
    -----
    Cost one pass over the dates, and 8 bytes for a part of a row in memory; parts of dates in a file are computed as they are read.
    The day of the month is not a part: within one month it is the date itself, and over several it seldom means anything.

    Examples
    --------
    >>> import pandas as pd
    >>> from tamiz import open_source
    >>> from tamiz.sources import split_dates
    >>> days = pd.date_range("2024-01-30", periods=4, freq="D")
    >>> source = split_dates(open_source(pd.DataFrame({"sold": days, "price": [1.0, 2.5, 2.0, 3.5]})))
    >>> [column.name for column in source.schema.columns if column.exclusion_reason is None]
    ['price', 'sold (month)', 'sold (weekday)']
    >>> source.frame([2])["sold (month)"].tolist()
    [1, 1, 2, 2]
    """
    schema = source.schema
    dates = [j for j in schema.used.tolist() if schema.columns[j].kind == "date" and not schema.columns[j].constant]
    if not dates:
        return source
    columns, taken, notes = list(schema.columns), {*source.column_names, *schema.names}, list(schema.notes)
    for j, parts in zip(dates, _varying_parts(source, dates), strict=True):
        date = columns[j]
        columns[j] = replace(date, exclusion_reason=_exclusion_reason(parts))
        for part in parts:
            name = _unused_name(f"{date.name} ({part})", taken)
            columns.append(Column(name, "numeric", n_missing=date.n_missing, date_part=(date.name, part)))
        if parts:
            notes.append(
                f"The date {date.name!r} takes part by its {_join_names(parts)} (UTC); the kind numeric keeps it as one number."
            )
    return _DatePartSource(source, replace(schema, columns=tuple(columns), notes=tuple(notes)))


def merge_date_parts(schema: Schema) -> Schema:
    """Return the columns of the user's table behind a schema with parts of dates: dates of which a part takes part do so too."""
    if not schema.split_dates:
        return schema
    needed = {column.date_part[0] for column in schema.columns if column.date_part and column.exclusion_reason is None}
    own = (column for column in schema.columns if not column.date_part)
    return replace(schema, columns=tuple(replace(c, exclusion_reason=None) if c.name in needed else c for c in own))


def split_dates_like(source: Source, schema: Schema) -> Source:
    """Return new rows, read under `merge_date_parts(schema)`, with the parts that the schema has."""
    n_missing = {column.name: column.n_missing for column in source.schema.columns}
    columns = tuple(
        replace(
            column,
            exclusion_reason=column.exclusion_reason
            if column.date_part or column.kind == "date"
            else source.schema.columns[j].exclusion_reason,
            n_missing=n_missing[column.date_part[0] if column.date_part else column.name],
        )
        for j, column in enumerate(schema.columns)
    )
    return _DatePartSource(source, replace(source.schema, columns=columns))


def expand_dates(schema: Schema, columns: Any) -> Any:
    """Return columns, by names and numbers, with the parts of a date in its place; anything but a list or a tuple as it is."""
    if not isinstance(columns, list | tuple):
        return columns
    parts: dict[Any, list[str]] = {}
    for column in schema.columns:
        if column.date_part:
            parts.setdefault(column.date_part[0], []).append(column.name)
    parts |= {schema.names.index(date): names for date, names in parts.items()}
    return [one for column in columns for one in parts.get(column, [column])]


def raw_date_warnings(schema: Schema) -> list[str]:
    """Return the warning for dates that a criterion reads as one number each, none where there are none."""
    dates = [schema.columns[j] for j in schema.used.tolist()]
    named = [repr(column.name) for column in dates if column.kind == "date" and not column.constant]
    if not named:
        return []
    one = len(named) == 1
    return [
        f"{'Column' if one else 'Columns'} {', '.join(named)}: {'a date is' if one else 'dates are'} scored as one number, seconds "
        "since 1970. Fit on split_dates(open_source(...)) of tamiz.sources for year, month, weekday and hour, or declare the kind "
        "numeric to keep the number without this warning."
    ]


def _exclusion_reason(parts: Sequence[str]) -> str:
    if not parts:
        return _CONSTANT_PARTS_REASON
    return f"a date: its {_join_names(parts)} {'takes' if len(parts) == 1 else 'take'} part instead"


def _join_names(parts: Sequence[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _unused_name(name: str, used: set[str]) -> str:
    """Return the name, numbered where the table has a column of that name already."""
    free, k = name, 2
    while free in used:
        free, k = f"{name} {k}", k + 1
    used.add(free)
    return free


def _varying_parts(source: Source, dates: Sequence[int]) -> list[list[str]]:
    """Return the parts of each date that have more than one value."""
    least = np.full((len(dates), len(DATE_PARTS)), np.inf)
    largest = -least
    for block in source.blocks(dates):
        for k, j in enumerate(dates):
            seconds = block.column(j)
            for p, part in enumerate(DATE_PARTS):
                values = calendar_part(seconds, part)
                values = values[~np.isnan(values)]
                if len(values):
                    least[k, p] = min(least[k, p], values.min())
                    largest[k, p] = max(largest[k, p], values.max())
    return [[part for p, part in enumerate(DATE_PARTS) if least[k, p] < largest[k, p]] for k in range(len(dates))]


class _DatePartColumn(LazyColumn):
    """A part of dates that are read when it is used."""

    def __init__(self, dates: Any, part: str) -> None:
        self._dates, self._part = dates, part
        self.dtype = np.dtype(np.float64)

    def __len__(self) -> int:
        return len(self._dates)

    def slice_rows(self, rows: slice) -> _DatePartColumn:
        """Return some rows in a row."""
        return _DatePartColumn(self._dates[rows], self._part)

    def read(self) -> Floats:
        """Return the values."""
        return calendar_part(np.asarray(self._dates), self._part)


class _DatePartSource(Source):
    """A table with parts of its dates after its own columns."""

    def __init__(self, table: Source, schema: Schema) -> None:
        self.table, self.schema = table, schema
        place = {name: j for j, name in enumerate(table.schema.names)}
        self._parts = {
            j: (place[column.date_part[0]], column.date_part[1])
            for j, column in enumerate(schema.columns)
            if column.date_part is not None
        }
        self.column_names = (*table.column_names, *(schema.columns[j].name for j in self._parts))
        self.class_labels = table.class_labels
        self.groups, self.group_names, self.time = table.groups, table.group_names, table.time
        self.memory_limit = table.memory_limit
        self._cached_parts: dict[tuple[int, int], Any] = {}

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows, with parts of dates among the columns."""
        wanted = self.schema.used.tolist() if columns is None else list(columns)
        parts = [j for j in wanted if j in self._parts]
        if not parts:
            yield from self.table.blocks(wanted)
            return
        read = sorted({*(j for j in wanted if j not in self._parts), *(self._parts[j][0] for j in parts)})
        for block in self.table.blocks(read):
            values: Mapping[int, Any] = {
                j: self._date_part(block, j) if j in self._parts else block.values[j] for j in wanted
            }
            yield Block(block.rows, values, block.y, block.weight)

    def _date_part(self, block: Block, j: int) -> Any:
        key = (block.rows.start, j)
        if key not in self._cached_parts:
            date, part = self._parts[j]
            dates = block.values[date]
            in_memory = isinstance(dates, np.ndarray)
            self._cached_parts[key] = calendar_part(dates, part) if in_memory else _DatePartColumn(dates, part)
        return self._cached_parts[key]

    def frame(self, columns: Sequence[int] | None = None, rows: NDArray[np.intp] | None = None) -> Any:
        """Return columns of the table as the user gave it, with parts of dates beside them."""
        names = self.schema.names
        return self.frame_by_name([names[j] for j in (range(len(names)) if columns is None else columns)], rows)

    def frame_by_name(self, names: Sequence[str], rows: NDArray[np.intp] | None = None) -> Any:
        """Return columns of the table as the user gave it, by name, with parts of dates beside them."""
        place = {self.schema.columns[j].name: j for j in self._parts}
        parts = [place[name] for name in names if name in place]
        if not parts:
            return self.table.frame_by_name(names, rows)
        given = set(self.table.column_names)
        dates = dict.fromkeys(self.table.schema.names[self._parts[j][0]] for j in parts)
        # A frame without any column of its own would not know its number of rows; a date that a new file lacks has none to add.
        own = list(dict.fromkeys([*(name for name in names if name not in place), *(d for d in dates if d in given)]))
        frame = self.table.frame_by_name(own, rows)
        values = {self.schema.columns[j].name: self._part_values(j, rows) for j in parts}
        return _append_parts(frame, own, values, list(names))

    def _part_values(self, j: int, rows: NDArray[np.intp] | None) -> Floats:
        whole = np.concatenate([np.asarray(block.values[j]) for block in self.blocks([j])])
        return whole if rows is None else whole[rows]

    @property
    def row_numbers(self) -> NDArray[np.intp]:
        """The numbers of the rows in the user's table."""
        return self.table.row_numbers


def _append_parts(frame: Any, own: list[str], parts: Mapping[str, Floats], names: list[str]) -> Any:
    """Return columns of a frame, or of an array whose columns are `own`, and parts of dates, in the order of `names`."""
    if isinstance(frame, np.ndarray):
        columns = {**{name: frame[:, k] for k, name in enumerate(own)}, **parts}
        dtype = frame.dtype if frame.dtype.kind == "f" else object
        return np.column_stack([columns[name].astype(dtype) for name in names])
    if not own:
        return pa.table({name: _to_int64(values) for name, values in parts.items()}).select(names)
    if isinstance(frame, pa.Table):
        for name, values in parts.items():
            frame = frame.append_column(name, _to_int64(values))
        return frame.select(names)
    table = nw.from_native(frame, eager_only=True)
    # By position: not every frame's names are text.
    order = [len(own) + list(parts).index(name) if name in parts else own.index(name) for name in names]
    for name, values in parts.items():
        whole: Any = values.astype(np.int64) if not np.isnan(values).any() else values
        if whole is values and not table.implementation.is_pandas():
            whole = _to_int64(values).to_pylist()
        dtype = nw.Float64 if whole is values else nw.Int64
        table = table.with_columns(nw.new_series(name, whole, dtype, backend=table.implementation))
    return table[:, order].to_native()


def _to_int64(values: Floats) -> pa.Array:
    return pa.array(values, from_pandas=True).cast(pa.int64())
