"""Means of numbers that some rows have, and how far they may be from those of all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz.statistics.base import Floats


@dataclass(frozen=True)
class Estimate:
    """A number and its standard error.

    Attributes
    ----------
    value : float
    error : float
        0 where every row was counted.
    """

    value: float
    error: float


def mean(values: Floats, n: int) -> Estimate:
    """Return the mean of n rows' numbers, given those of some drawn without replacement."""
    m = len(values)
    value = float(values.mean())
    if m == n:
        return Estimate(value, 0.0)
    spread = float(np.sum((values - value) ** 2)) / (m - 1)
    return Estimate(value, float(np.sqrt(max(1.0 - m / n, 0.0) * spread / m)))


def ratio(above: Floats, below: Floats, n: int) -> Estimate:
    """Return the ratio of two sums over n rows, given the parts of some rows drawn without replacement.

    The error is that of the sums of what the rows' parts above differ from the ratio of their parts below (Cochran 1977, section
    6.5).
    """
    whole = float(below.sum())
    value = float(above.sum()) / whole
    m = len(below)
    return Estimate(value, m * mean(above - value * below, n).error / whole)


def root(estimate: Estimate) -> Estimate:
    """Return the square root; the error of a root of 0 is the root of the error."""
    value = float(np.sqrt(estimate.value))
    return Estimate(value, estimate.error / (2.0 * value) if value else float(np.sqrt(estimate.error)))
