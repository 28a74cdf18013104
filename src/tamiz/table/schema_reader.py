"""Reading new rows with the schema of a fitted table: columns are found by name, and their kinds and levels are not inferred."""

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
from tamiz.runtime.user_warnings import list_names, warn_user
from tamiz.runtime.verdicts import Verdict
from tamiz.table.kinds import LevelCodes, check_finite, match_levels, missing_codes, to_numbers
from tamiz.table.raw_column import RawColumn
from tamiz.table.schema import Column, Kind, Schema

_READ_AS_MISSING = "these values are treated as missing"
_ADVICE = "Columns are matched by name: rename columns with other names, or add an empty column."


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
    unknown_effect: str = _READ_AS_MISSING
    advice: str = _ADVICE

    def kind_of(self, name: str) -> Kind | None:
        """Return the kind of a used column or of the target; None for other columns."""
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
        """Return the schema of the new rows and the values of the used columns; parameters as of `table.build_table`."""
        columns, used = list(self.schema.columns), self.schema.used.tolist()
        available = set(names)
        absent = [columns[j].name for j in used if columns[j].name not in available]
        if absent and not self.fill_absent:
            known = set(self.schema.names)
            others = [name for name in names if name not in known]
            raise DataError(_absent_message(absent, others, self.advice))
        memory_gate = MemoryGate()

        def read(j: int) -> tuple[Column, NDArray[Any], list[Verdict]]:
            with memory_gate.reserve(column_memory, f"Reading column {columns[j].name}", "A column is read whole."):
                column, values, column_warnings = encode_known_column(
                    columns[j], load(columns[j].name), describe_row, self.unknown_effect
                )
                return column, store_column(values), column_warnings

        values: dict[int, NDArray[Any]] = {}
        warnings: list[Verdict] = []
        present = [j for j in used if columns[j].name not in absent]
        with parallel.thread_session():
            for j, (column, stored, column_warnings) in zip(present, parallel.map_blocks(read, present), strict=True):
                columns[j], values[j] = column, stored
                warnings += column_warnings
                progress.report_progress("Reading columns", len(values), len(present))
        n_rows = len(values[present[0]]) if present else len(load(names[0]))
        for j in set(used).difference(present):
            values[j] = store_column(_missing_column(columns[j], n_rows))
            columns[j] = replace(columns[j], n_missing=n_rows)
        if absent:
            warnings.append(_filled_message(absent, n_rows))
        warn_user(warnings)
        return Schema(tuple(columns), n_rows), {j: values[j] for j in used}


def encode_known_column(
    column: Column, raw: RawColumn, describe_row: Callable[[int], str], unknown_effect: str = _READ_AS_MISSING
) -> tuple[Column, NDArray[Any], list[Verdict]]:
    """Encode new values of a column of fit.

    Parameters
    ----------
    column : Column
        A used column of the schema of fit.
    raw : RawColumn
    describe_row : callable
        Turns the position of a row into words of a message.
    unknown_effect : str
        How values that are not among the levels are treated, for the warning about them.

    Returns
    -------
    column : Column
        With the number of missing values of the new rows.
    values : ndarray
    warnings : list of Verdict
    """
    if column.is_number:
        numbers = to_numbers(raw, describe_row, column.kind)
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


def _absent_message(absent: Sequence[str], others: Sequence[str], advice: str) -> str:
    """Return an error message that lists the absent columns, with suggestions from the columns that fit did not have."""
    listed = list_names(absent, as_text=lambda name: f"{name!r}{suggestion(name, others)}")
    if len(absent) == 1:
        return f"There is no column {listed}, which fit had. {advice}"
    return f"{len(absent):,} columns of fit are absent: {listed}. {advice}"


def _filled_message(absent: Sequence[str], n_rows: int) -> Verdict:
    """Return a warning that lists the absent columns, which are filled with missing values."""
    columns, rows = ("column is", "columns are")[len(absent) > 1], ("rows", "row")[n_rows == 1]
    listed = list_names(absent, as_text=repr)
    sentence = f"{len(absent):,} {columns} absent and filled with missing values in all {n_rows:,} {rows}: {listed}."
    return Verdict("TZ205", sentence, absent)


def _unknown_level_warnings(name: str, known: LevelCodes, unknown_effect: str) -> list[Verdict]:
    """Return a warning that lists the values of a column which are not among its levels; an empty list if there are none."""
    n = len(known.unknown)
    if not n:
        return []
    levels, rows = ("level", "levels")[n > 1], ("row", "rows")[known.n_unknown > 1]
    sentence = (
        f"Column {name}: {n:,} {levels} in {known.n_unknown:,} {rows} {'was' if n == 1 else 'were'} not present in fit: "
        f"{list_names(known.unknown, as_text=repr)}; {unknown_effect}."
    )
    return [Verdict("TZ205", sentence, [name])]
