"""A table of encoded columns: what every reader ends in, in memory or in files mapped into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.registry import suggestion
from tamiz.sources.base import Source
from tamiz.sources.kinds import Encoded, encode, encode_target, to_numbers
from tamiz.sources.raw import RawColumn
from tamiz.sources.schema import KINDS, Column, Kind, Schema
from tamiz.statistics.base import Block, Floats
from tamiz.validation import check_choice

Allocate = Callable[[tuple[int, int], type], NDArray[Any]]
FrameOf = Callable[[Sequence[str], NDArray[np.intp]], Any]


class TableSource(Source):
    """Encoded columns, one block.

    The matrices hold a column at a time (Fortran order), since most statistics read columns; they may be
    mapped from disk.
    """

    def __init__(
        self,
        schema: Schema,
        numeric: Floats,
        codes: NDArray[np.int32],
        y: NDArray[Any] | None,
        weight: Floats | None,
        rows: NDArray[np.intp],
        frame_of: FrameOf,
    ) -> None:
        self.schema = schema
        self._numeric = numeric
        self._codes = codes
        self._y = y
        self._weight = weight
        self._rows = rows
        self._frame_of = frame_of

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the table as one block."""
        wanted = set(self.schema.used.tolist() if columns is None else columns)
        numeric, numeric_columns = _part(self._numeric, self.schema.numeric, wanted)
        codes, code_columns = _part(self._codes, self.schema.categorical, wanted)
        rows = range(self.schema.n_rows)
        yield Block(rows, numeric, codes, numeric_columns, code_columns, self._y, self._weight)

    def frame(self, columns: Sequence[int] | None = None, rows: NDArray[np.intp] | None = None) -> Any:
        """Return columns of the table as the user gave it."""
        names = [self.schema.names[j] for j in (range(self.schema.n_columns) if columns is None else columns)]
        return self._frame_of(names, self._rows if rows is None else self._rows[rows])

    @property
    def y(self) -> NDArray[Any] | None:
        """The target of every row that counts."""
        return self._y

    @property
    def row_numbers(self) -> NDArray[np.intp]:
        """The number that every row that counts has in the user's table."""
        return self._rows


def _part(matrix: NDArray[Any], columns: tuple[int, ...], wanted: set[int]) -> tuple[NDArray[Any], tuple[int, ...]]:
    kept = [k for k, j in enumerate(columns) if j in wanted]
    if len(kept) == len(columns):
        return matrix, columns
    # The transpose of a row selection keeps each column contiguous; a selection of columns would not.
    return matrix.T[kept].T, tuple(columns[k] for k in kept)


@dataclass(frozen=True)
class Roles:
    """What the user said of the columns.

    Attributes
    ----------
    target, weight : str, RawColumn or None
        A column's name, or values that came beside the table.
    kinds : mapping of column name to kind, or one kind for every column but the target, or None
    """

    target: str | RawColumn | None = None
    weight: str | RawColumn | None = None
    kinds: Mapping[str, Kind] | Kind | None = None


def build(
    names: Sequence[str],
    load: Callable[[str], RawColumn],
    roles: Roles,
    frame_of: FrameOf,
    *,
    word_row: Callable[[int], str] = lambda at: f"row {at}",
    allocate: Allocate = lambda shape, dtype: np.empty(shape, dtype),
) -> TableSource:
    """Encode a table column by column.

    `load(name)` gives a column whole; it is asked once a column, so that a file larger than memory can be read so.
    `word_row` words a row of the user's table in messages; `allocate(shape, dtype)` gives room for the encoded columns.
    """
    check_names(names, roles)
    kinds = _kinds(names, roles)
    target, rows, n_dropped = _target(load, roles, kinds, word_row)

    def word(at: int) -> str:
        return word_row(int(rows[at]) if rows is not None else at)

    weight = _weight(load, roles, rows, word)
    features = [name for name in names if name not in (roles.target, roles.weight)]
    if not features:
        raise DataError("The table has no column beside the target; at least 1 feature is needed.")
    columns: list[Column] = []
    numbers = codes = None
    n = n_numbers = n_codes = 0
    for name in features:
        raw = load(name)
        n = len(raw) if rows is None else len(rows)
        encoded = encode(raw if rows is None else raw.take(rows), kinds.get(name), word)
        columns.append(encoded.column)
        if encoded.column.left_out is not None:
            continue
        values = encoded.values
        assert values is not None
        # Room for every column, of which the system hands out only the pages that are written.
        if encoded.column.is_number:
            numbers = allocate((len(features), len(values)), np.float64) if numbers is None else numbers
            numbers[n_numbers] = values
            n_numbers += 1
        else:
            codes = allocate((len(features), len(values)), np.int32) if codes is None else codes
            codes[n_codes] = values
            n_codes += 1
    empty = np.empty((0, n))
    schema = Schema(
        tuple(columns), n, target.column if target else None, _name(roles.weight), n_dropped, _notes(n_dropped, target)
    )
    return TableSource(
        schema,
        (empty if numbers is None else numbers[:n_numbers]).T,
        (empty.astype(np.int32) if codes is None else codes[:n_codes]).T,
        target.values if target else None,
        weight,
        np.arange(n) if rows is None else rows,
        frame_of,
    )


def check_names(names: Sequence[str], roles: Roles) -> None:
    """Refuse column names that occur twice, and a target or weight that is not there."""
    seen: set[str] = set()
    for column in names:
        if column in seen:
            raise DataError(f"Column {column!r} occurs twice; give every column a name of its own.")
        seen.add(column)
    for role, name in (("target", roles.target), ("weight", roles.weight)):
        if isinstance(name, str) and name not in seen:
            listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            raise DataError(f"There is no column {name!r} for the {role}{suggestion(name, names)}; columns: {listed}.")


def _name(role: str | RawColumn | None) -> str | None:
    return role.name if isinstance(role, RawColumn) else role


def _kinds(names: Sequence[str], roles: Roles) -> dict[str, Kind]:
    given = roles.kinds
    if given is None:
        return {}
    if isinstance(given, str):
        check_choice("kinds", given, KINDS)
        return {name: given for name in names if name != roles.target}
    for name, kind in given.items():
        if name not in names and name != _name(roles.target):
            raise DataError(f"kinds names {name!r}, which is no column{suggestion(name, names)}.")
        check_choice(f"kinds[{name!r}]", kind, KINDS)
    return dict(given)


def _target(
    load: Callable[[str], RawColumn], roles: Roles, kinds: Mapping[str, Kind], word_row: Callable[[int], str]
) -> tuple[Encoded | None, NDArray[np.intp] | None, int]:
    """Return the target without the rows that miss it, those rows' numbers (None when all stay), and how many went."""
    if roles.target is None:
        return None, None, 0
    raw = load(roles.target) if isinstance(roles.target, str) else roles.target
    encoded = encode_target(raw, kinds.get(raw.name), word_row)
    values = encoded.values
    if values is None or encoded.column.left_out is not None:
        raise DataError(f"Target {raw.name!r} is missing in every row.")
    present = ~np.isnan(values) if encoded.column.is_number else values >= 0
    n_dropped = int(len(present) - np.count_nonzero(present))
    if n_dropped:
        values = values[present]
    n = len(values)
    if n < 2:
        raise DataError(f"The table has {n} sample(s) (rows with a target), 1 sample is too few; at least 2 are needed.")
    if (values[0] == values).all():
        value = encoded.column.levels[int(values[0])] if encoded.column.levels else values[0]
        raise DataError(f"Target {raw.name!r} is constant: 1 class, {value!r} in all {n} rows. Nothing can be learned of it.")
    column = replace(encoded.column, n_missing=0)
    return Encoded(column, values), np.flatnonzero(present) if n_dropped else None, n_dropped


def _weight(
    load: Callable[[str], RawColumn], roles: Roles, rows: NDArray[np.intp] | None, word: Callable[[int], str]
) -> Floats | None:
    if roles.weight is None:
        return None
    raw = load(roles.weight) if isinstance(roles.weight, str) else roles.weight
    values, _ = to_numbers(raw if rows is None else raw.take(rows), word)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(f"{word(at)}: the weight {values[at]} is not a number of at least 0.")
    if not values.any():
        raise DataError("Every weight is 0; at least one row must count.")
    return np.ascontiguousarray(values, dtype=np.float64)


def _notes(n_dropped: int, target: Encoded | None) -> tuple[str, ...]:
    if target is None:
        return ()
    column = target.column
    notes = []
    if n_dropped:
        notes.append(f"{n_dropped:,} {'row' if n_dropped == 1 else 'rows'} without a target left out.")
    if column.is_number:
        notes.append(f"The target {column.name} is taken as a number (kinds overrides).")
    else:
        notes.append(f"The target {column.name} is taken as {len(column.levels)} classes (kinds overrides).")
    return tuple(notes)
