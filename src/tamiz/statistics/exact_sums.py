"""Exact sums: numbers split into two parts whose sums do not depend on the order of addition.

A number is the sum of a head, a multiple of `scale` / 2^26, and a tail, a multiple of `scale` / 2^52. A float64 has 53 bits, so
sums of heads are exact in any order as long as they stay below 2^27 times the scale, and so are sums of tails. The result has the
same bits for any order of the terms. With a scale of 0 numbers are not split: the head is the number and the tail 0, and sums are
rounded as usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tamiz.arrays import Floats

_HEAD_BITS = 26


def power_of_two_scale(values: Floats) -> float:
    """Return the smallest power of two that is at least the largest absolute value; 1 if all values are 0."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return float(2.0 ** np.ceil(np.log2(largest))) if largest > 0 else 1.0


def splitter(scale: float) -> float:
    """Return the number that rounds another to its head when it is added and then subtracted."""
    return 1.5 * 2.0**_HEAD_BITS * scale


def round_to_scale(values: Floats, scale: float) -> Floats:
    """Return the numbers rounded to multiples of scale / 2^52, the resolution of head and tail."""
    if scale == 0:
        return values
    return np.round(np.ldexp(values / scale, 2 * _HEAD_BITS)) * np.ldexp(scale, -2 * _HEAD_BITS)


def split_numbers(values: Floats, scale: float) -> tuple[Floats, Floats]:
    values = round_to_scale(values, scale)
    head = (values + splitter(scale)) - splitter(scale)
    return head, values - head


@dataclass(frozen=True)
class SplitNumbers:
    """Numbers, or sums of numbers, as heads and tails."""

    head: Any
    tail: Any

    @classmethod
    def from_values(cls, values: Floats, scale: float) -> SplitNumbers:
        return cls(*split_numbers(values, scale))

    def __add__(self, other: SplitNumbers) -> SplitNumbers:
        return SplitNumbers(self.head + other.head, self.tail + other.tail)

    def __mul__(self, factor: Any) -> SplitNumbers:
        return SplitNumbers(self.head * factor, self.tail * factor)

    def __getitem__(self, chosen: Any) -> SplitNumbers:
        return SplitNumbers(self.head[chosen], self.tail[chosen])

    def sum(self, axis: int | None = None) -> SplitNumbers:
        return SplitNumbers(self.head.sum(axis=axis), self.tail.sum(axis=axis))

    @property
    def value(self) -> Any:
        """The numbers: head plus tail."""
        return self.head + self.tail
