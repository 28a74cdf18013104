"""Dates, times of day and durations as seconds in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.table.raw_column import LARGEST_EXACT_INTEGER

Seconds = Floats

_TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS_PER_DAY = 86_400
# A whole number of microseconds, so that the order of times is kept where the unit changes.
_MAX_NANOSECONDS = LARGEST_EXACT_INTEGER // 1000 * 1000


def is_date(kind: pa.DataType) -> bool:
    """Return whether values of an Arrow type are points in time, not times of day or durations."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def to_seconds(values: pa.Array) -> Seconds:
    """Return dates as seconds since 1970, times of day as seconds since midnight and durations as seconds; NaN for missing.

    Equal times have the same number, whatever their unit: the quotient is rounded once. Nanoseconds beyond 2**53, 104 days, are
    read as whole microseconds, which float64 represents for another 285 years.
    """
    kind = values.type
    if pa.types.is_date32(kind):
        return _to_floats(values.cast(pa.int32())) * _SECONDS_PER_DAY
    ticks, unit = _ticks(values)
    numbers = _to_floats(ticks)
    seconds: Seconds = numbers / _TICKS_PER_SECOND[unit]
    if unit == "ns" and (large := np.abs(numbers) >= _MAX_NANOSECONDS).any():
        micros = np.asarray(ticks.fill_null(0))[large] // 1000
        seconds[large] = micros / _TICKS_PER_SECOND["us"]
    return seconds


def n_distinct_times(values: pa.Array, seconds: NDArray[np.floating[Any]]) -> int | None:
    """Return the number of distinct present values; None if `seconds` has as many, because float64 has digits for the unit."""
    if pa.types.is_date32(values.type):
        return None
    ticks, unit = _ticks(values)
    step = 1 / _TICKS_PER_SECOND[unit]
    spacing = np.spacing(np.fmax.reduce(np.abs(seconds), initial=0))
    if unit == "ns" and spacing > step and not (np.asarray(ticks.fill_null(0)) % 1000).any():
        # Most dates in nanoseconds are whole microseconds.
        step *= 1000
    return int(pc.count_distinct(ticks, mode="only_valid").as_py()) if spacing > step else None


def _ticks(values: pa.Array) -> tuple[pa.Array, str]:
    """Return the values as integers, and their unit."""
    kind = values.type
    if pa.types.is_date64(kind):
        return values.cast(pa.int64()), "ms"
    return values.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()), kind.unit


def _to_floats(values: pa.Array) -> Seconds:
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
