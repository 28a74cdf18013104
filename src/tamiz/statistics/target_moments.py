"""Moments of a numeric target: by level of a categorical column, and together with numeric columns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Self

import numpy as np

from tamiz.arrays import divide_or_zero
from tamiz.kernels.moments import paired_moments
from tamiz.statistics.base import Block, Statistic
from tamiz.statistics.moments import ClassMoments


class LevelMoments(ClassMoments):
    """Moments of a numeric target within each level of one categorical column.

    Parameters
    ----------
    column : int
    n_levels : int
    missing_is_level : bool
        Whether a missing value is one more level; otherwise its row is not used.
    """

    def __init__(self, column: int, n_levels: int, *, missing_is_level: bool) -> None:
        super().__init__((column,), n_levels + missing_is_level)
        self.n_levels = n_levels
        self.missing_is_level = missing_is_level

    @property
    def key(self) -> Hashable:
        return type(self), self.columns, self.n_levels, self.missing_is_level

    def empty(self) -> Self:
        """Return a new statistic of the same key without rows."""
        return type(self)(self.columns[0], self.n_levels, missing_is_level=self.missing_is_level)

    def _labels(self, block: Block) -> np.ndarray:
        codes = block.column(self.columns[0])
        return np.where(codes < 0, np.int32(self.n_levels if self.missing_is_level else 0), codes)

    def _values(self, block: Block, column: int) -> np.ndarray:
        assert block.y is not None
        y = np.ascontiguousarray(block.y, dtype=np.float64)
        return y if self.missing_is_level else np.where(block.column(column) < 0, np.nan, y)


class TargetCovariances(Statistic):
    """Sums of squares and products of each numeric column and a numeric target, over the rows in which the column has a value.

    Attributes
    ----------
    weight, column_mean, target_mean : ndarray of shape (n_columns,)
        Total weight, and the means.
    column_squares, target_squares, products : ndarray of shape (n_columns,)
        Weighted sums of squares and of products about the means.
    """

    def __init__(self, columns: tuple[int, ...]) -> None:
        self.columns = columns
        self._sums = np.zeros((6, len(columns)))

    weight = property(lambda self: self._sums[0])
    column_mean = property(lambda self: self._sums[1])
    target_mean = property(lambda self: self._sums[2])
    column_squares = property(lambda self: self._sums[3])
    target_squares = property(lambda self: self._sums[4])
    products = property(lambda self: self._sums[5])

    @property
    def key(self) -> Hashable:
        return type(self), self.columns

    def empty(self) -> Self:
        """Return a new statistic of the same key without rows."""
        return type(self)(self.columns)

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
