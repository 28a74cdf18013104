"""Estimates and standard errors of means and ratios over all rows, from rows drawn without replacement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz.arrays import Floats


@dataclass(frozen=True)
class SampleEstimate:
    """An estimate and its standard error, which is 0 where every row was counted."""

    value: float
    error: float


def mean_estimate(values: Floats, n: int) -> SampleEstimate:
    """Estimate the mean over n rows from the values of rows drawn without replacement."""
    m = len(values)
    value = float(values.mean())
    if m == n:
        return SampleEstimate(value, 0.0)
    spread = float(np.sum((values - value) ** 2)) / (m - 1)
    return SampleEstimate(value, float(np.sqrt(max(1.0 - m / n, 0.0) * spread / m)))


def ratio_estimate(numerator: Floats, denominator: Floats, n: int) -> SampleEstimate:
    """Estimate the ratio of two sums over n rows from rows drawn without replacement.

    The standard error is that of the residuals `numerator - ratio * denominator` (Cochran 1977, section 6.5).
    """
    whole = float(denominator.sum())
    value = float(numerator.sum()) / whole
    m = len(denominator)
    return SampleEstimate(value, m * mean_estimate(numerator - value * denominator, n).error / whole)


def root_estimate(estimate: SampleEstimate) -> SampleEstimate:
    """Return the square root of an estimate; the error of a root of 0 is the root of the error."""
    value = float(np.sqrt(estimate.value))
    return SampleEstimate(value, estimate.error / (2.0 * value) if value else float(np.sqrt(estimate.error)))


@dataclass(frozen=True)
class QualityMeasure:
    """One quality measure of a map.

    Attributes
    ----------
    name : str
    value : float
    error : float
        Standard error; 0 where the value is exact.
    larger_is_better : bool
    meaning : str
        One-line definition.
    """

    name: str
    value: float
    error: float
    larger_is_better: bool
    meaning: str
