"""New values of the columns of a fitted schema: numbers, or codes of the levels that fit found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.runtime.registry import suggestion
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict
from tamiz.table.kinds import (
    RawColumn,
    check_finite,
    code_dtype,
    number_text,
    observed_levels,
    reads_as_number,
    recode,
    to_numbers,
)
from tamiz.table.schema import Column, sort_levels

READ_AS_MISSING = "these values are treated as missing"
_INTEGER = re.compile(r"[-+]?[0-9]+")
_MIDNIGHT = " 00:00:00"


def encode_known_column(
    column: Column, raw: RawColumn, describe_row: Callable[[int], str], unknown_effect: str = READ_AS_MISSING
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


def missing_column(column: Column, n_rows: int) -> NDArray[Any]:
    """Return the values of a column of fit in rows in which it is missing."""
    return np.full(n_rows, np.nan) if column.is_number else missing_codes(n_rows, column.levels)


def missing_codes(n_rows: int, levels: Sequence[str]) -> NDArray[Any]:
    return np.full(n_rows, -1, dtype=code_dtype(levels))


@dataclass(frozen=True)
class LevelCodes:
    """Values as codes of known levels.

    Attributes
    ----------
    codes : ndarray
        -1 for values that are missing or not among the levels.
    unknown : tuple of str
        The values that are not among the levels.
    n_unknown : int
        Number of rows with such a value.
    """

    codes: NDArray[Any]
    unknown: tuple[str, ...] = ()
    n_unknown: int = 0


def match_levels(raw: RawColumn, levels: tuple[str, ...]) -> LevelCodes:
    """Return the values as codes of the given levels, and the values that are not among them.

    A value is matched by its text. If that is not among the levels, it is matched as a number, as true or false, or as a day,
    because the spelling of these may change from file to file. If a level has leading zeros, all levels are codes and numbers are
    matched by their text only.
    """
    codes, present = observed_levels(raw)
    known = set(levels)
    if known.issuperset(present):
        return LevelCodes(recode(codes, present, levels))
    are_codes = any(reads_as_number(level) and _number_as_level(level) != level for level in levels)
    spellings = partial(_level_spellings, allow_numbers=not are_codes)
    matched = [next((text for text in spellings(word) if text in known), word) for word in present]
    unknown = tuple(sort_levels({word for word in matched if word not in known}))
    if not unknown:
        return LevelCodes(recode(codes, matched, levels))
    unknown_codes = [code for code, word in enumerate(matched) if word not in known]
    n_unknown = int(np.count_nonzero(np.isin(codes, unknown_codes)))
    return LevelCodes(recode(codes, matched, levels), unknown, n_unknown)


def _level_spellings(word: str, *, allow_numbers: bool) -> Iterator[str]:
    """Yield the levels that a value may belong to, its own text first."""
    yield word
    number = word.replace(",", ".") if word.count(",") == 1 and "." not in word else word
    if allow_numbers and reads_as_number(number) and np.isfinite(float(number)):
        yield _number_as_level(number)
    if word.lower() in ("true", "false"):
        yield word.capitalize()
    # A column of days was read with the time 00:00:00.
    if word.endswith(_MIDNIGHT):
        yield word.removesuffix(_MIDNIGHT)


def _number_as_level(text: str) -> str:
    """Return the level of a number; an integer keeps all its digits."""
    return str(int(text)) if _INTEGER.fullmatch(text) else number_text(float(text))


def absent_message(absent: Sequence[str], others: Sequence[str], advice: str) -> str:
    """Return an error message that lists the absent columns, with suggestions from the columns that fit did not have."""
    listed = list_names(absent, as_text=lambda name: f"{name!r}{suggestion(name, others)}")
    if len(absent) == 1:
        return f"There is no column {listed}, which fit had. {advice}"
    return f"{len(absent):,} columns of fit are absent: {listed}. {advice}"


def filled_warning(absent: Sequence[str], n_rows: int) -> Verdict:
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
