"""New rows under the columns of a table that was fitted: taken by name, their kinds and levels given and never guessed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.memory_gate import MemoryGate
from tamiz.runtime.registry import suggestion
from tamiz.runtime.user_warnings import warn_user
from tamiz.sources.kinds import LevelCodes, check_finite, match_levels, missing_codes, to_numbers
from tamiz.sources.raw_column import RawColumn
from tamiz.sources.schema import Column, Kind, Schema

# Columns and levels that are named in one sentence.
_MAX_NAMED = 5
_COUNTED_MISSING = "such a value counts as missing"
_ADVICE = "Columns are taken by name: rename what is called otherwise, or add an empty column."


@dataclass(frozen=True)
class SchemaReader:
    """How new rows are read.

    Attributes
    ----------
    schema : Schema
        The columns of fit. Those that take part are read, and the others need not be there.
    fill_absent : bool
        Whether a column that is not there is missing in every row; else it is refused.
    unknown_effect : str
        What becomes of values that are none of the levels, for the sentence that tells of them.
    advice : str
        What to do where a column is not there, a sentence.
    """

    schema: Schema
    fill_absent: bool = False
    unknown_effect: str = _COUNTED_MISSING
    advice: str = _ADVICE

    def kind_of(self, name: str) -> Kind | None:
        """Return the kind of a column that takes part or is the target, None of any other."""
        known = [c for c in self.schema.columns if c.exclusion_reason is None]
        target = [] if self.schema.target is None else [self.schema.target]
        return next((column.kind for column in (*known, *target) if column.name == name), None)

    def read(
        self,
        names: Sequence[str],
        load: Callable[[str], RawColumn],
        describe_row: Callable[[int], str],
        store_column: Callable[[NDArray[Any]], NDArray[Any]],
        column_memory: int,
    ) -> tuple[Schema, dict[int, NDArray[Any]]]:
        """Return the columns as the new rows have them, and the values of those that take part; parameters as of `build`."""
        columns, used = list(self.schema.columns), self.schema.used.tolist()
        given = set(names)
        absent = [columns[j].name for j in used if columns[j].name not in given]
        if absent and not self.fill_absent:
            known = set(self.schema.names)
            others = [name for name in names if name not in known]
            raise DataError(_absent_message(absent, others, self.advice))
        turns = MemoryGate()

        def read(j: int) -> tuple[Column, NDArray[Any], list[str]]:
            with turns.reserve(column_memory, f"Reading column {columns[j].name}", "A column is read whole."):
                seen, values, told = encode_known_column(
                    columns[j], load(columns[j].name), describe_row, self.unknown_effect
                )
                return seen, store_column(values), told

        values: dict[int, NDArray[Any]] = {}
        sentences: list[str] = []
        there = [j for j in used if columns[j].name not in absent]
        with parallel.thread_session():
            for j, (column, held, told) in zip(there, parallel.map_blocks(read, there), strict=True):
                columns[j], values[j] = column, held
                sentences += told
                progress.report_progress("Reading columns", len(values), len(there))
        n_rows = len(values[there[0]]) if there else len(load(names[0]))
        for j in set(used).difference(there):
            columns[j], values[j] = (
                replace(columns[j], n_missing=n_rows),
                store_column(_missing_column(columns[j], n_rows)),
            )
        if absent:
            sentences.append(_filled_message(absent, n_rows))
        warn_user(sentences)
        return Schema(tuple(columns), n_rows), {j: values[j] for j in used}


def encode_known_column(
    column: Column, raw: RawColumn, describe_row: Callable[[int], str], unknown_effect: str = _COUNTED_MISSING
) -> tuple[Column, NDArray[Any], list[str]]:
    """Return new values of a column of fit: the column with their gaps, the values, and what is to be told of them.

    Parameters
    ----------
    column : Column
        As fit saw it; it takes part.
    raw : RawColumn
    describe_row : callable
        Words a row for a message.
    unknown_effect : str
        What becomes of values that are none of the levels.
    """
    if column.is_number:
        numbers, _ = to_numbers(raw, describe_row, column.kind)
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


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(map(repr, names[:_MAX_NAMED])) + more


def _absent_message(absent: Sequence[str], others: Sequence[str], advice: str) -> str:
    """Return which columns are not there, and which of those that fit did not have may be meant."""
    meant = [f"{name!r}{suggestion(name, others)}" for name in absent[:_MAX_NAMED]]
    if len(absent) == 1:
        return f"There is no column {meant[0]}, which fit had. {advice}"
    more = f" and {len(absent) - _MAX_NAMED:,} more" if len(absent) > _MAX_NAMED else ""
    return f"{len(absent):,} columns that fit had are not there: {', '.join(meant)}{more}. {advice}"


def _filled_message(absent: Sequence[str], n_rows: int) -> str:
    """Return which columns count as missing."""
    columns, rows = ("column is", "columns are")[len(absent) > 1], ("rows", "row")[n_rows == 1]
    return f"{len(absent):,} {columns} not there and missing in all {n_rows:,} {rows}: {_join_names(absent)}."


def _unknown_level_warnings(name: str, known: LevelCodes, unknown_effect: str) -> list[str]:
    """Return which values of a column are none of its levels."""
    n = len(known.unknown)
    if not n:
        return []
    levels, rows = ("level", "levels")[n > 1], ("row", "rows")[known.n_unknown > 1]
    return [
        f"Column {name}: {n:,} {levels} in {known.n_unknown:,} {rows} {'was' if n == 1 else 'were'} not there in fit: "
        f"{_join_names(known.unknown)}; {unknown_effect}."
    ]
