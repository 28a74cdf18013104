"""Which numbers of columns can be had where columns move in groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Units = Sequence[NDArray[np.intp]]


def can_make(widths: Iterable[int], least: int, most: int) -> bool:
    """Return whether some of the widths sum up to something from least to most."""
    least = max(least, 0)
    return most >= least and bool(_sums(widths) >> least & ((1 << (most - least + 1)) - 1))


def nearest_sums(widths: Iterable[int], least: int, most: int) -> list[int]:
    """Return the largest sum below `least` that some of the widths make, and the smallest above `most`, where there are such."""
    sums = _sums(widths)
    below, above = sums & ((1 << least) - 1), sums >> (most + 1)
    lowest = (above & -above).bit_length()
    return [below.bit_length() - 1] * bool(below) + [most + lowest] * bool(above)


def leading(units: Units, least: int, most: int) -> list[NDArray[np.intp]]:
    """Return the units that can move next where at least so many columns have to move in all, and at most so many may."""
    widths = [len(unit) for unit in units]
    leads = {width: width <= most for width in set(widths)}
    if least > 1 and max(widths, default=1) > 1:
        for width in leads:
            others = widths.copy()
            others.remove(width)
            leads[width] = can_make(others, least - width, most - width)
    return [unit for unit, width in zip(units, widths, strict=True) if leads[width]]


def most_steps(units: Units, room: int) -> int:
    """Return how many units can move one after the other at most, where `room` columns may."""
    return int(np.searchsorted(np.cumsum(np.sort([len(unit) for unit in units])), room, side="right"))


def _sums(widths: Iterable[int]) -> int:
    """Return the sums of all choices of widths: bit s stands for the sum s."""
    sums = 1
    for width in widths:
        sums |= sums << width
    return sums
