"""Numbers that differ by so little that float64 does not represent the squares of their differences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict

# Squares of smaller differences lose digits, and below 1e-162 they are 0.
SMALLEST_SPREAD = np.float64(1e-150)

# A column is compared in pieces of this size, so that most columns are read in part.
_PIECE_VALUES = 2**12
# Larger powers of ten would make the largest number of such a column infinite.
_MAX_EXPONENT = 300


def small_spread(numbers: NDArray[np.floating[Any]]) -> float | None:
    """Return the difference of the largest and the smallest number if it is above 0 and below `SMALLEST_SPREAD`, otherwise None.

    Missing values are ignored. Most columns differ by more between the first and the last row, and are not read.
    """
    if not len(numbers) or abs(numbers[-1] - numbers[0]) >= SMALLEST_SPREAD:
        return None
    low, high = math.inf, -math.inf
    for start, stop in parallel.block_ranges(len(numbers), _PIECE_VALUES):
        piece = numbers[start:stop]
        # Python's min and max keep the number where a piece has only missing values.
        low, high = min(low, float(np.fmin.reduce(piece))), max(high, float(np.fmax.reduce(piece)))
        if high - low >= SMALLEST_SPREAD:
            return None
    return high - low if high > low else None


def small_spread_warnings(spreads: Mapping[str, float | None]) -> list[Verdict]:
    """Return a warning that names the columns with a small spread; an empty list if there are none."""
    found = {name: spread for name, spread in spreads.items() if spread is not None}
    if not found:
        return []
    names = list(found)
    listed = list_names(names, as_text=repr)
    exponent = min(-math.floor(math.log10(found[names[0]])), _MAX_EXPONENT)
    subject, way_out = (
        (f"Column {listed}", f"Multiply the column by a power of ten, such as 1e{exponent}.")
        if len(names) == 1
        else (f"Columns {listed}", f"Multiply them by a power of ten, such as 1e{exponent} for {names[0]!r}.")
    )
    sentence = (
        f"{subject}: the values differ by less than {SMALLEST_SPREAD:g}, and float64 does not represent the squares of such "
        f"differences, so that variances, correlations and distances may be wrong or 0. {way_out}"
    )
    return [Verdict("TZ211", sentence, names)]
