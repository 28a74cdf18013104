"""Weight, mean, squared deviations and extremes of numeric columns, over all rows or by class."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Self

import numpy as np

from tamiz.arrays import divide_or_zero
from tamiz.kernels.moments import class_moments, sort_by_class
from tamiz.statistics.base import Block, Statistic


class ClassMoments(Statistic):
    """Moments of each column within each class of the target.

    Attributes
    ----------
    weight, mean, squared_deviations, minimum, maximum : ndarray of shape (n_classes, n_columns)
        Total weight, mean, weighted sum of squared deviations from the mean, minimum and maximum of the values that are not
        missing.
    """

    def __init__(self, columns: tuple[int, ...], n_classes: int) -> None:
        self.columns = columns
        self.n_classes = n_classes
        shape = (n_classes, len(columns))
        self.weight = np.zeros(shape)
        self.mean = np.zeros(shape)
        self.squared_deviations = np.zeros(shape)
        self.minimum = np.full(shape, np.inf)
        self.maximum = np.full(shape, -np.inf)

    @property
    def key(self) -> Hashable:
        return type(self), self.columns, self.n_classes

    def empty(self) -> Self:
        """Return a new statistic of the same key without rows."""
        return type(self)(self.columns, self.n_classes)

    def _labels(self, block: Block) -> np.ndarray:
        assert block.y is not None
        return np.ascontiguousarray(block.y, dtype=np.int32)

    def _values(self, block: Block, column: int) -> np.ndarray:
        return block.column(column)

    def update(self, block: Block) -> Self:
        part = self.empty() if self.n_samples else self
        order, starts = np.empty(len(block.rows), dtype=np.int64), np.empty(self.n_classes + 1, dtype=np.int64)
        sort_by_class(self._labels(block), order, starts)
        weight = block.weight_or_ones[order]
        out = np.empty((self.n_classes, 5))
        found = np.empty((5, self.n_classes, len(self.columns)))
        for k, column in enumerate(self.columns):
            class_moments(self._values(block, column), order, starts, weight, out)
            found[:, :, k] = out.T
        part.weight, part.mean, part.squared_deviations, part.minimum, part.maximum = found
        part.n_samples = len(block.rows)
        return self if part is self else self.merge(part)

    def merge(self, other: Self) -> Self:
        """Add the rows of another statistic (Chan, Golub and LeVeque 1983)."""
        total = self.weight + other.weight
        share = divide_or_zero(other.weight, total)
        difference = other.mean - self.mean
        self.squared_deviations += other.squared_deviations + difference**2 * self.weight * share
        # A class without values so far gets the mean of the other statistic, to the last bit.
        self.mean = np.where(self.weight == 0, other.mean, self.mean + difference * share)
        self.weight = total
        self.minimum = np.minimum(self.minimum, other.minimum)
        self.maximum = np.maximum(self.maximum, other.maximum)
        self.n_samples += other.n_samples
        return self


class Moments(ClassMoments):
    def __init__(self, columns: tuple[int, ...], n_classes: int = 1) -> None:
        super().__init__(columns, n_classes)

    def _labels(self, block: Block) -> np.ndarray:
        return np.zeros(len(block.rows), dtype=np.int32)
