"""Which numbers of columns can be had where columns move in groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Units = Sequence[NDArray[np.intp]]


def can_reach_size(widths: Iterable[int], min_size: int, max_size: int) -> bool:
    """Return whether some of the widths sum up to something from least to most."""
    min_size = max(min_size, 0)
    return max_size >= min_size and bool(_subset_sums(widths) >> min_size & ((1 << (max_size - min_size + 1)) - 1))


def nearest_sizes(widths: Iterable[int], min_size: int, max_size: int) -> list[int]:
    """Return the largest sum below `min_size` that some of the widths make, and the smallest above `max_size`, where there are such."""
    sums = _subset_sums(widths)
    below, above = sums & ((1 << min_size) - 1), sums >> (max_size + 1)
    lowest = (above & -above).bit_length()
    return [below.bit_length() - 1] * bool(below) + [max_size + lowest] * bool(above)


def movable_units(units: Units, min_columns: int, max_columns: int) -> list[NDArray[np.intp]]:
    """Return the units that can move next where at least so many columns have to move in all, and at most so many may."""
    widths = [len(unit) for unit in units]
    leads = {width: width <= max_columns for width in set(widths)}
    if min_columns > 1 and max(widths, default=1) > 1:
        for width in leads:
            others = widths.copy()
            others.remove(width)
            leads[width] = can_reach_size(others, min_columns - width, max_columns - width)
    return [unit for unit, width in zip(units, widths, strict=True) if leads[width]]


def max_moves(units: Units, max_columns: int) -> int:
    """Return how many units can move one after the other at most, where `max_columns` columns may."""
    return int(np.searchsorted(np.cumsum(np.sort([len(unit) for unit in units])), max_columns, side="right"))


def _subset_sums(widths: Iterable[int]) -> int:
    """Return the sums of all choices of widths: bit s stands for the sum s."""
    sums = 1
    for width in widths:
        sums |= sums << width
    return sums
