"""Calendar parts of dates: columns for year, month, weekday and hour that replace a date in seconds since 1970.

The parts follow the columns of the user's table. A date that has parts is excluded: as a number it only orders the rows by time,
and a cut point on it separates rows by when they were recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.table.base import Table, frame_columns_at
from tamiz.table.column_storage import LazyColumn
from tamiz.table.schema import Column, Schema
from tamiz.table.views import View

DATE_PARTS = ("year", "month", "weekday", "hour")
_SECONDS_PER_DAY, _SECONDS_PER_HOUR = 86_400, 3_600
# 1970-01-01 was a Thursday, the fourth day of the ISO 8601 week.
_FIRST_WEEKDAY = 3
# Numbers of days beyond this are not dates; numpy's calendar ends not far beyond.
_MAX_DAYS = 10**8
_CONSTANT_PARTS_REASON = (
    "a date whose year, month, weekday and hour are constant; declare the kind numeric to use it in seconds"
)


def calendar_part(seconds: NDArray[Any], part: str) -> Floats:
    """Return a calendar part of every date, in UTC.

    Parameters
    ----------
    seconds : ndarray of shape (n_rows,)
        Seconds since 1970-01-01, NaN for a missing date.
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


def split_dates(table: Table) -> Table:
    """Replace the dates of a table by columns for their calendar parts.

    The parts are year, month, weekday (Monday is 1) and hour, in UTC; constant parts are left out. Their names are of the form
    "departure (month)". Parts of a missing date are missing. A column of kind "numeric" is not split: with
    `open_table(..., kinds={"departure": "numeric"})` a date is used in seconds since 1970. `study` and the commands `rank` and
    `select` split dates.

    Parameters
    ----------
    table : Table

    Returns
    -------
    Table
        The table itself if it has no date that is not excluded.

    Notes
    -----
    The cost is one pass over the dates. In memory a part needs 8 bytes per row; parts of dates in a file are computed when they
    are read. The day of the month is not a part: within one month it is equivalent to the date, and over several months it is
    rarely informative.

    Examples
    --------
    >>> import pandas as pd
    >>> from tamiz import open_table
    >>> from tamiz.table import split_dates
    >>> days = pd.date_range("2024-01-30", periods=4, freq="D")
    >>> table = split_dates(open_table(pd.DataFrame({"sold": days, "price": [1.0, 2.5, 2.0, 3.5]})))
    >>> [column.name for column in table.schema.columns if column.exclusion_reason is None]
    ['price', 'sold (month)', 'sold (weekday)']
    >>> table.frame([2])["sold (month)"].tolist()
    [1, 1, 2, 2]
    """
    schema = table.schema
    dates = [j for j in schema.used.tolist() if schema.columns[j].kind == "date" and not schema.columns[j].constant]
    if not dates:
        return table
    columns, used_names, notes = list(schema.columns), {*table.column_names, *schema.names}, list(schema.notes)
    for j, parts in zip(dates, _varying_parts(table, dates), strict=True):
        date = columns[j]
        columns[j] = replace(date, exclusion_reason=_exclusion_reason(parts))
        for part in parts:
            name = _unused_name(f"{date.name} ({part})", used_names)
            columns.append(Column(name, "numeric", n_missing=date.n_missing, date_part=(date.name, part)))
        if parts:
            sentence = (
                f"The date {date.name!r} is replaced by its {_join_names(parts)} (UTC); declare the kind numeric to use it as one "
                "number."
            )
            notes.append(Verdict("TZ205", sentence, [date.name]))
    return _DatePartTable(table, replace(schema, columns=tuple(columns), notes=tuple(notes)))


def split_dates_like(table: Table, schema: Schema) -> Table:
    """Return new rows, read with `merge_date_parts(schema)`, with the calendar parts of the schema."""
    n_missing = {column.name: column.n_missing for column in table.schema.columns}
    columns = tuple(
        replace(
            column,
            exclusion_reason=column.exclusion_reason
            if column.date_part or column.kind == "date"
            else table.schema.columns[j].exclusion_reason,
            n_missing=n_missing[column.date_part[0] if column.date_part else column.name],
        )
        for j, column in enumerate(schema.columns)
    )
    return _DatePartTable(table, replace(table.schema, columns=columns))


def expand_dates(schema: Schema, columns: Any) -> Any:
    """Replace each date in a list of column names and numbers by its calendar parts.

    Anything but a list or a tuple is returned unchanged.
    """
    if not isinstance(columns, list | tuple):
        return columns
    parts: dict[Any, list[str]] = {}
    for column in schema.columns:
        if column.date_part:
            parts.setdefault(column.date_part[0], []).append(column.name)
    parts |= {schema.names.index(date): names for date, names in parts.items()}
    return [one for column in columns for one in parts.get(column, [column])]


def _exclusion_reason(parts: Sequence[str]) -> str:
    if not parts:
        return _CONSTANT_PARTS_REASON
    return f"a date: its {_join_names(parts)} {'is' if len(parts) == 1 else 'are'} used instead"


def _join_names(parts: Sequence[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _unused_name(name: str, used: set[str]) -> str:
    """Return the name, with a number appended if it is already used, and add it to the used names."""
    free, k = name, 2
    while free in used:
        free, k = f"{name} {k}", k + 1
    used.add(free)
    return free


def _varying_parts(table: Table, dates: Sequence[int]) -> list[list[str]]:
    smallest = np.full((len(dates), len(DATE_PARTS)), np.inf)
    largest = -smallest
    for block in table.blocks(dates):
        for k, j in enumerate(dates):
            seconds = block.column(j)
            for p, part in enumerate(DATE_PARTS):
                values = calendar_part(seconds, part)
                values = values[~np.isnan(values)]
                if len(values):
                    smallest[k, p] = min(smallest[k, p], values.min())
                    largest[k, p] = max(largest[k, p], values.max())
    return [[part for p, part in enumerate(DATE_PARTS) if smallest[k, p] < largest[k, p]] for k in range(len(dates))]


@dataclass(eq=False)
class _DatePartColumn(LazyColumn):
    """A calendar part of dates that are read when the part is used."""

    # The dates, of which slices are lazy.
    rows: Any
    part: str
    dtype: Any = field(default=np.dtype(np.float64), init=False)

    def read(self) -> Floats:
        return calendar_part(np.asarray(self.rows), self.part)


class _DatePartTable(View):
    """A table with calendar parts of its dates after its columns."""

    def __init__(self, table: Table, schema: Schema) -> None:
        super().__init__(table, schema=schema)
        positions = {name: j for j, name in enumerate(table.schema.names)}
        self._parts = {
            j: (positions[column.date_part[0]], column.date_part[1])
            for j, column in enumerate(schema.columns)
            if column.date_part is not None
        }
        self.column_names = (*table.column_names, *(schema.columns[j].name for j in self._parts))
        self._cached_parts: dict[tuple[int, int], Any] = {}

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows as blocks of the given columns, which may be parts of dates."""
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

    def frame_by_name(self, names: Sequence[str], rows: Indices | None = None) -> Any:
        """Return columns of the user's table and parts of its dates by name."""
        part_columns = {self.schema.columns[j].name: j for j in self._parts}
        parts = [part_columns[name] for name in names if name in part_columns]
        if not parts:
            return self.table.frame_by_name(names, rows)
        available = set(self.table.column_names)
        dates = dict.fromkeys(self.table.schema.names[self._parts[j][0]] for j in parts)
        # The dates are read as well, because a frame without columns has no number of rows. New rows may lack a date.
        own_names = [name for name in names if name not in part_columns]
        own = list(dict.fromkeys([*own_names, *(date for date in dates if date in available)]))
        frame = self.table.frame_by_name(own, rows)
        values = {self.schema.columns[j].name: self._part_values(j, rows) for j in parts}
        return _append_parts(frame, own, values, list(names))

    def _part_values(self, j: int, rows: Indices | None) -> Floats:
        whole = np.concatenate([np.asarray(block.values[j]) for block in self.blocks([j])])
        return whole if rows is None else whole[rows]


def _append_parts(frame: Any, own: list[str], parts: Mapping[str, Floats], names: list[str]) -> Any:
    """Return columns of a frame, or of an array with the column names `own`, and parts of dates, in the order of `names`."""
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
    # By position, because the names of a frame need not be text.
    order = [len(own) + list(parts).index(name) if name in parts else own.index(name) for name in names]
    for name, values in parts.items():
        whole: Any = values.astype(np.int64) if not np.isnan(values).any() else values
        if whole is values and not table.implementation.is_pandas():
            whole = _to_int64(values).to_pylist()
        dtype = nw.Float64 if whole is values else nw.Int64
        table = table.with_columns(nw.new_series(name, whole, dtype, backend=table.implementation))
    return frame_columns_at(table.to_native(), order)


def _to_int64(values: Floats) -> pa.Array:
    return pa.array(values, from_pandas=True).cast(pa.int64())
