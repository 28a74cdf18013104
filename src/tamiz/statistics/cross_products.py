"""Cross products of numeric columns about a given centre."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, Self

import numpy as np

from tamiz.statistics.base import Block, Floats, Statistic

# Rows put side by side at a time: the copy stays in cache.
SLAB_ROWS = 2048


class Indicators(NamedTuple):
    """A categorical column as one column of 0 and 1 for every level.

    Attributes
    ----------
    column, n_levels : int
    gap : int or None
        The level that a missing value counts as; None leaves it missing.
    """

    column: int
    n_levels: int
    gap: int | None = None


class CrossProducts(Statistic):
    """Weighted sum over the rows of (x - centre)(x - centre)', with a gap counted as a value at the centre.

    The columns are the numeric ones given, and after them an indicator (0 or 1) of every level of the categorical
    ones, given as `Indicators`. About the mean it is the scatter matrix; raw sums of squares would lose it to rounding.

    Attributes
    ----------
    matrix : ndarray of shape (n, n)
    """

    def __init__(self, numeric: tuple[int, ...], levels: tuple[Indicators, ...], centre: Floats) -> None:
        self.numeric = numeric
        self.levels = levels
        self.centre = centre
        self.columns = numeric + tuple(one.column for one in levels)
        self.matrix = np.zeros((len(centre), len(centre)))

    @property
    def key(self) -> Hashable:
        """Columns and centre."""
        return type(self), self.numeric, self.levels, self.centre.tobytes()

    def empty(self) -> Self:
        """Return a new one that has seen nothing."""
        return type(self)(self.numeric, self.levels, self.centre)

    def update(self, block: Block) -> Self:
        """Add the rows of a block."""
        for part in block.pieces(SLAB_ROWS):
            rows = expand(part, self.numeric, self.levels)
            rows -= self.centre
            rows[np.isnan(rows)] = 0.0
            if part.weight is not None:
                rows *= np.sqrt(part.weight)[:, None]
            self.matrix += rows.T @ rows
        self.n_samples += len(block.rows)
        return self

    def merge(self, other: Self) -> Self:
        """Add all that another one has seen."""
        self.matrix += other.matrix
        self.n_samples += other.n_samples
        return self


def expand(block: Block, numeric: tuple[int, ...], levels: tuple[Indicators, ...]) -> Floats:
    """Return numeric columns and then the indicators of every level; a value that stays missing is NaN in all of them."""
    parts = [block.matrix(numeric)]
    for column, n_levels, gap in levels:
        codes = block.column(column)
        if gap is not None:
            codes = np.where(codes < 0, gap, codes)
        indicators = np.zeros((len(codes), n_levels))
        indicators[np.arange(len(codes)), codes] = 1.0
        indicators[codes < 0] = np.nan
        parts.append(indicators)
    return np.hstack(parts)
