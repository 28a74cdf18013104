"""New rows under the columns of a table that was fitted: taken by name, their kinds and levels given and never guessed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel, progress
from tamiz.exceptions import DataError
from tamiz.registry import suggestion
from tamiz.sources.kinds import KnownCodes, known_codes, missing_codes, refuse_infinite, to_numbers
from tamiz.sources.raw import RawColumn
from tamiz.sources.schema import Column, Kind, Schema
from tamiz.turns import Turns
from tamiz.warn import tell

# Columns and levels that are named in one sentence.
_MOST_NAMED = 5
_MISSING = "such a value counts as missing"
_WAY_OUT = "Columns are taken by name: rename what is called otherwise, or add an empty column."


@dataclass(frozen=True)
class Fitted:
    """How new rows are read.

    Attributes
    ----------
    schema : Schema
        The columns of fit. Those that take part are read, and the others need not be there.
    fill : bool
        Whether a column that is not there is missing in every row; else it is refused.
    fate : str
        What becomes of values that are none of the levels, for the sentence that tells of them.
    way_out : str
        What to do where a column is not there, a sentence.
    """

    schema: Schema
    fill: bool = False
    fate: str = _MISSING
    way_out: str = _WAY_OUT

    def kind_of(self, name: str) -> Kind | None:
        """Return the kind of a column that takes part or is the target, None of any other."""
        known = [c for c in self.schema.columns if c.left_out is None]
        target = [] if self.schema.target is None else [self.schema.target]
        return next((column.kind for column in (*known, *target) if column.name == name), None)

    def read(
        self,
        names: Sequence[str],
        load: Callable[[str], RawColumn],
        word: Callable[[int], str],
        keep: Callable[[NDArray[Any]], NDArray[Any]],
        column_work: int,
    ) -> tuple[Schema, dict[int, NDArray[Any]]]:
        """Return the columns as the new rows have them, and the values of those that take part; parameters as of `build`."""
        columns, used = list(self.schema.columns), self.schema.used.tolist()
        given = set(names)
        absent = [columns[j].name for j in used if columns[j].name not in given]
        if absent and not self.fill:
            known = set(self.schema.names)
            others = [name for name in names if name not in known]
            raise DataError(_on_absent(absent, others, self.way_out))
        turns = Turns()

        def read(j: int) -> tuple[Column, NDArray[Any], list[str]]:
            with turns.taken(column_work, f"Reading column {columns[j].name}", "A column is read whole."):
                seen, values, told = conformed(columns[j], load(columns[j].name), word, self.fate)
                return seen, keep(values), told

        values: dict[int, NDArray[Any]] = {}
        sentences: list[str] = []
        there = [j for j in used if columns[j].name not in absent]
        with parallel.session():
            for j, (column, held, told) in zip(there, parallel.map_blocks(read, there), strict=True):
                columns[j], values[j] = column, held
                sentences += told
                progress.tell("Reading columns", len(values), len(there))
        n_rows = len(values[there[0]]) if there else len(load(names[0]))
        for j in set(used).difference(there):
            columns[j], values[j] = replace(columns[j], n_missing=n_rows), keep(_gaps(columns[j], n_rows))
        if absent:
            sentences.append(_on_filled(absent, n_rows))
        tell(sentences)
        return Schema(tuple(columns), n_rows), {j: values[j] for j in used}


def conformed(
    column: Column, raw: RawColumn, word: Callable[[int], str], fate: str = _MISSING
) -> tuple[Column, NDArray[Any], list[str]]:
    """Return new values of a column of fit: the column with their gaps, the values, and what is to be told of them.

    Parameters
    ----------
    column : Column
        As fit saw it; it takes part.
    raw : RawColumn
    word : callable
        Words a row for a message.
    fate : str
        What becomes of values that are none of the levels.
    """
    if column.is_number:
        numbers, _ = to_numbers(raw, word, column.kind)
        n_missing = refuse_infinite(numbers, column.name, word)
        return replace(column, n_missing=n_missing), numbers, []
    known = known_codes(raw, column.levels)
    n_missing = int(np.count_nonzero(known.codes < 0))
    return replace(column, n_missing=n_missing), known.codes, _on_unknown(column.name, known, fate)


def _gaps(column: Column, n_rows: int) -> NDArray[Any]:
    return np.full(n_rows, np.nan) if column.is_number else missing_codes(n_rows, column.levels)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(map(repr, names[:_MOST_NAMED])) + more


def _on_absent(absent: Sequence[str], others: Sequence[str], way_out: str) -> str:
    """Return which columns are not there, and which of those that fit did not have may be meant."""
    meant = [f"{name!r}{suggestion(name, others)}" for name in absent[:_MOST_NAMED]]
    if len(absent) == 1:
        return f"There is no column {meant[0]}, which fit had. {way_out}"
    more = f" and {len(absent) - _MOST_NAMED:,} more" if len(absent) > _MOST_NAMED else ""
    return f"{len(absent):,} columns that fit had are not there: {', '.join(meant)}{more}. {way_out}"


def _on_filled(absent: Sequence[str], n_rows: int) -> str:
    """Return which columns count as missing."""
    columns, rows = ("column is", "columns are")[len(absent) > 1], ("rows", "row")[n_rows == 1]
    return f"{len(absent):,} {columns} not there and missing in all {n_rows:,} {rows}: {_named(absent)}."


def _on_unknown(name: str, known: KnownCodes, fate: str) -> list[str]:
    """Return which values of a column are none of its levels."""
    n = len(known.unknown)
    if not n:
        return []
    levels, rows = ("level", "levels")[n > 1], ("row", "rows")[known.n_unknown > 1]
    return [
        f"Column {name}: {n:,} {levels} in {known.n_unknown:,} {rows} {'was' if n == 1 else 'were'} not there in fit: "
        f"{_named(known.unknown)}; {fate}."
    ]
