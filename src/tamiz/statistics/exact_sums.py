"""Numbers whose sums do not depend on the order in which they are added.

A number is taken as a head, a whole multiple of `scale` / 2^26, and a tail, a whole multiple of `scale` / 2^52. As a float64
has 53 bits, sums of heads are exact in any order and any grouping as long as they stay below 2^27 times the scale, and so
are sums of tails: what is summed that way depends on the terms alone, to the bit. A scale of 0 leaves numbers as they are: the
head is the number and the tail 0, and sums round as sums do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tamiz.statistics.base import Floats

_HEAD_BITS = 26


def power_of_two_scale(values: Floats) -> float:
    """Return the power of two at or above the largest size among numbers, 1 where all are 0."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return float(2.0 ** np.ceil(np.log2(largest))) if largest > 0 else 1.0


def splitter(scale: float) -> float:
    """Return what a number loses its tail to when it is added and taken away again."""
    return 1.5 * 2.0**_HEAD_BITS * scale


def round_to_scale(values: Floats, scale: float) -> Floats:
    """Return numbers to 52 binary places of the scale, which is what head and tail hold."""
    if scale == 0:
        return values
    return np.round(np.ldexp(values / scale, 2 * _HEAD_BITS)) * np.ldexp(scale, -2 * _HEAD_BITS)


def split_numbers(values: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return the heads and the tails of numbers."""
    values = round_to_scale(values, scale)
    head = (values + splitter(scale)) - splitter(scale)
    return head, values - head


@dataclass(frozen=True)
class SplitNumbers:
    """Numbers, or sums of them, as heads and tails."""

    head: Any
    tail: Any

    @classmethod
    def from_values(cls, values: Floats, scale: float) -> SplitNumbers:
        """Return numbers split."""
        return cls(*split_numbers(values, scale))

    def __add__(self, other: SplitNumbers) -> SplitNumbers:
        return SplitNumbers(self.head + other.head, self.tail + other.tail)

    def __mul__(self, factor: Any) -> SplitNumbers:
        """Multiply by small whole numbers."""
        return SplitNumbers(self.head * factor, self.tail * factor)

    def __getitem__(self, chosen: Any) -> SplitNumbers:
        return SplitNumbers(self.head[chosen], self.tail[chosen])

    def sum(self, axis: int | None = None) -> SplitNumbers:
        """Add up."""
        return SplitNumbers(self.head.sum(axis=axis), self.tail.sum(axis=axis))

    @property
    def value(self) -> Any:
        """The numbers again."""
        return self.head + self.tail
