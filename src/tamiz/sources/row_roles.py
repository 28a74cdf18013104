"""What rows are to folds: the group that each is of, and its place in time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.sources.kinds import encode_target
from tamiz.sources.raw import RawColumn
from tamiz.sources.text_values import as_dates, as_numbers, cast
from tamiz.statistics.base import Codes

Times = NDArray[np.float64] | NDArray[np.int64]

# Months, quarters and weeks of a year, which sort as text in the order of time: 2024-03, 2024-Q1, 2024-W07.
_PERIODS = (r"^\d{4}-\d{2}$", r"^\d{4}-?Q\d$", r"^\d{4}-?W\d{2}$")
_WAY_OUT = "Fill it in, or leave the row out."


def group_codes(raw: RawColumn, word: Callable[[int], str]) -> tuple[Codes, tuple[str, ...]]:
    """Return the group of every row as a code, and the groups' names in code order; a row without one is refused."""
    encoded = encode_target(raw, "categorical", word)
    codes = np.full(len(raw), -1) if encoded.values is None else encoded.values
    _refuse_gap(codes < 0, "group", word)
    return np.ascontiguousarray(codes, dtype=np.int32), encoded.column.levels


def moments(raw: RawColumn, word: Callable[[int], str]) -> Times:
    """Return numbers that sort as the rows do in time; a row without a time is refused.

    Numbers and dates are taken as they are, in their own unit; so is text that reads as such, and years with a month, quarter or
    week.
    """
    values = raw.values
    if raw.words is not None:
        values = pa.DictionaryArray.from_arrays(pa.array(values, mask=values < 0), pa.array(raw.words, pa.string()))
    if isinstance(values, np.ndarray):
        values = pa.array(values, from_pandas=True)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    _refuse_gap(np.asarray(values.is_null()), "time", word)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = _read(raw.name, values, word)
    return _plain(values)


def _plain(values: Any) -> Times:
    if pa.types.is_temporal(values.type):
        narrow = pa.types.is_date32(values.type) or pa.types.is_time32(values.type)
        values = values.cast(pa.int32()) if narrow else values
        return np.asarray(values.cast(pa.int64()), dtype=np.int64)
    if pa.types.is_integer(values.type) or (pa.types.is_decimal(values.type) and not values.type.scale):
        whole = cast(values, pa.int64())
        # Those that are too long are replaced by their order: float64 may make one time of several.
        return np.asarray(pc.rank(values, tiebreaker="dense") if whole is None else whole, dtype=np.int64)
    return np.asarray(values.cast(pa.float64(), safe=False), dtype=np.float64)


def _read(name: str, text: Any, word: Callable[[int], str]) -> Any:
    """Return text as what it says: numbers, dates, or the order of periods."""
    text = pc.utf8_trim_whitespace(text)
    readers: list[Callable[[Any], Any]] = [
        _whole,
        _numbers,
        as_dates,
        *(partial(_periods, form) for form in _PERIODS),
    ]
    for read in readers:
        if (found := read(text)) is not None:
            return found
    first = [read for read in readers if read(text[:1]) is not None]
    at = next(at for at in range(len(text)) if not first or first[0](text[at : at + 1]) is None)
    raise DataError(
        f"{word(at)}, column {name}: {text[at].as_py()!r} is no time as the others are; times are numbers, dates "
        "(YYYY-MM-DD), or all of the form YYYY-MM, YYYY-Q1 or YYYY-W01."
    )


def _whole(text: Any) -> Any:
    return cast(text, pa.int64())


def _numbers(text: Any) -> Any:
    return as_numbers(text, decimal_comma=False)


def _periods(form: str, text: Any) -> Any:
    if not pc.all(pc.match_substring_regex(text, form)).as_py():
        return None
    _, order = np.unique(np.asarray(text), return_inverse=True)
    return pa.array(order)


def _refuse_gap(missing: NDArray[np.bool_], what: str, word: Callable[[int], str]) -> None:
    if missing.any():
        at = int(np.flatnonzero(missing)[0])
        raise DataError(f"{word(at)}: the {what} is missing, and every row needs one. {_WAY_OUT}")
