"""What turns a dissimilarity that was not there in a fit into what distances are held to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tamiz.statistics.base import Floats
from tamiz.storage.invariants import FloatArray, Invariants, Number
from tamiz.storage.stored import Serializable


class DisparityCurve(Serializable, ABC):
    """A function of dissimilarities that does not fall."""

    @abstractmethod
    def __call__(self, values: Floats) -> Floats:
        """Return what distances are held to, NaN where a value is."""


@dataclass(frozen=True)
class LinearCurve(DisparityCurve):
    """A line, at least 0.

    Attributes
    ----------
    offset, slope : float
    origin : float
        Where it is at the offset.
    """

    offset: float = 0.0
    slope: float = 1.0
    origin: float = 0.0

    invariants: ClassVar[Invariants] = {"offset": Number(), "slope": Number(0.0), "origin": Number()}

    def __call__(self, values: Floats) -> Floats:
        """Return the line at the values."""
        return np.maximum(self.offset + self.slope * (values - self.origin), 0.0)


@dataclass(frozen=True)
class PiecewiseLinearCurve(DisparityCurve):
    """Straight lines between knots, level before the first and after the last.

    Attributes
    ----------
    knots, heights : ndarray of shape (n_knots,)
        The knots ascending, no two equal.
    """

    knots: Floats
    heights: Floats

    invariants: ClassVar[Invariants] = {"knots": FloatArray("k", increasing=True), "heights": FloatArray("k")}

    @classmethod
    def through_blocks(cls, lows: Floats, highs: Floats, heights: Floats) -> PiecewiseLinearCurve:
        """Return the curve through blocks that are level from low to high, at the mean of those ends that share a value."""
        values, inverse = np.unique(np.column_stack([lows, highs]), return_inverse=True)
        inverse = inverse.ravel()
        counts = np.bincount(inverse)
        return cls(values, np.bincount(inverse, np.repeat(heights, 2)) / counts)

    def __call__(self, values: Floats) -> Floats:
        """Return the curve at the values."""
        return np.interp(values, self.knots, self.heights)
