"""Weight, mean, squared deviations and extremes of numeric columns, over all rows or by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from tamiz.arrays import divide_or_zero
from tamiz.kernels.moments import class_moments, paired_moments, sort_by_class
from tamiz.statistics.base import Block, Statistic


@dataclass(eq=False)
class ClassMoments(Statistic):
    """Moments of each column within each class of the target.

    Attributes
    ----------
    weight, mean, squared_deviations, minimum, maximum : ndarray of shape (n_classes, n_columns)
        Total weight, mean, weighted sum of squared deviations from the mean, minimum and maximum of the values that are not
        missing.
    """

    columns: tuple[int, ...]
    n_classes: int

    def __post_init__(self) -> None:
        shape = (self.n_classes, len(self.columns))
        self.weight = np.zeros(shape)
        self.mean = np.zeros(shape)
        self.squared_deviations = np.zeros(shape)
        self.minimum = np.full(shape, np.inf)
        self.maximum = np.full(shape, -np.inf)

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


@dataclass(eq=False)
class Moments(ClassMoments):
    """Moments of each column in all rows."""

    n_classes: int = 1

    def _labels(self, block: Block) -> np.ndarray:
        return np.zeros(len(block.rows), dtype=np.int32)


@dataclass(eq=False)
class LevelMoments(ClassMoments):
    """Moments of a numeric target within each level of one categorical column.

    A missing value is the last of the classes, or its row is not used.
    """

    missing_is_level: bool

    def _labels(self, block: Block) -> np.ndarray:
        codes = block.column(self.columns[0])
        return np.where(codes < 0, np.int32(self.n_classes - 1 if self.missing_is_level else 0), codes)

    def _values(self, block: Block, column: int) -> np.ndarray:
        assert block.y is not None
        y = np.ascontiguousarray(block.y, dtype=np.float64)
        return y if self.missing_is_level else np.where(block.column(column) < 0, np.nan, y)


@dataclass(eq=False)
class TargetCovariances(Statistic):
    """Sums of squares and products of each numeric column and a numeric target, over the rows in which the column has a value.

    Attributes
    ----------
    weight, column_mean, target_mean : ndarray of shape (n_columns,)
        Total weight, and the means.
    column_squares, target_squares, products : ndarray of shape (n_columns,)
        Weighted sums of squares and of products about the means.
    """

    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        self._sums = np.zeros((6, len(self.columns)))

    weight = property(lambda self: self._sums[0])
    column_mean = property(lambda self: self._sums[1])
    target_mean = property(lambda self: self._sums[2])
    column_squares = property(lambda self: self._sums[3])
    target_squares = property(lambda self: self._sums[4])
    products = property(lambda self: self._sums[5])

    def update(self, block: Block) -> Self:
        part = self.empty() if self.n_samples else self
        y, weight = np.ascontiguousarray(block.y, dtype=np.float64), block.weight_or_ones
        out = np.empty(6)
        for k, column in enumerate(self.columns):
            paired_moments(block.column(column), y, weight, out)
            part._sums[:, k] = out
        part.n_samples = len(block.rows)
        return self if part is self else self.merge(part)

    def merge(self, other: Self) -> Self:
        """Add the rows of another statistic (Chan, Golub and LeVeque 1983)."""
        total = self.weight + other.weight
        share = divide_or_zero(other.weight, total)
        x, y = other.column_mean - self.column_mean, other.target_mean - self.target_mean
        factor = self.weight * share
        merged = np.stack([
            total,
            # A column without values so far gets the means of the other statistic, to the last bit.
            np.where(self.weight == 0, other.column_mean, self.column_mean + x * share),
            np.where(self.weight == 0, other.target_mean, self.target_mean + y * share),
            self.column_squares + other.column_squares + x * x * factor,
            self.target_squares + other.target_squares + y * y * factor,
            self.products + other.products + x * y * factor,
        ])  # fmt: skip
        self._sums = merged
        self.n_samples += other.n_samples
        return self
