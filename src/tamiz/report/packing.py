"""The lists of a value for every shown row as bytes: of many rows, text would be several times as large.

A packed list is `{"packed": type, "at": offset, "n": length}` in the JSON of the page. Its bytes are the lowest bytes of all
values, then the next ones: such bytes are compressed best. With a `table` the values are positions in it; one beyond its end is
missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamiz.arrays import Floats
from tamiz.report import marks

# The results of more rows contain coordinates that are rounded to what a screen shows, and other numbers of six digits.
MAX_EXACT_ROWS = 2_000
_STEPS = 2**16 - 1
# Coordinates have 16 bits on the whole of an axis unless the map shows less than this share of it.
_LEAST_SHOWN = 0.25


def pack_rows(data: dict[str, Any]) -> bytes:
    """Replace the lists of a value for every row in the JSON of a result, and return their bytes; none of few rows.

    Coordinates are rounded to 1 / 65,535 of their axis; every other number is restored as it was.
    """
    shown = [one for one in data["maps"] if one["points"] is not None]
    if not shown or len(shown[0]["rows"]) <= MAX_EXACT_ROWS:
        return b""
    packed = _Bytes()
    for one in shown:
        x, y = np.array(one["points"]).T[:2] if len(one["axes"]) > 1 else (np.ravel(one["points"]), None)
        ends = marks.map_extent(one["points"]) if y is not None else [(x.min(), x.max())]
        axes = [axis for axis in (x, y) if axis is not None]
        one["points"] = {"packed": [packed.add_axis(axis, *end) for axis, end in zip(axes, ends, strict=True)]}
        # The steps from row to row have few values.
        one["rows"] = packed.add([one["rows"][0], *np.diff(one["rows"]).tolist()]) | {"steps": True}
    for color in data["colors"]:
        color["values"] = packed.add(color["values"])
    for one in filter(None, data["quality"]["maps"] if data["quality"] else ()):
        one |= {name: packed.add(one[name]) for name in ("trust", "stress")}
    return bytes(packed.found)


class _Bytes:
    """The bytes of packed lists, one after the other."""

    def __init__(self) -> None:
        self.found = bytearray()

    def _append(self, values: np.ndarray[Any, Any]) -> dict[str, Any]:
        start = len(self.found)
        parts = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
        self.found += parts.T.tobytes()
        return {"packed": values.dtype.str[1:], "at": start, "n": len(values)}

    def add_axis(self, values: Floats, first: float, last: float) -> dict[str, Any]:
        """Add the coordinates on an axis that the map shows from `first` to `last`."""
        low, high = float(values.min()), float(values.max())
        if last - first < _LEAST_SHOWN * (high - low):
            return self._append(values.astype("<f4"))
        width = (high - low) or 1.0
        steps = np.rint((values - low) / width * _STEPS)
        return self._append(steps.astype("<u2")) | {"low": low, "width": width}

    def add(self, values: Sequence[float | None]) -> dict[str, Any]:
        """Add numbers, None where missing, in the smallest type that restores them."""
        table = sorted({value for value in values if value is not None})
        if len(table) <= _STEPS:
            at = {value: k for k, value in enumerate(table)} | {None: len(table)}
            kind = "u1" if len(table) < 2**8 else "<u2"
            return self._append(np.array([at[value] for value in values], kind)) | {"table": table}
        numbers = np.array([np.nan if value is None else value for value in values])
        # A number of six digits is restored from 32 bits.
        short = [float(f"{value:.6g}") for value in table] == table
        return self._append(numbers.astype("<f4" if short else "<f8"))
