"""What a statistic eats (`Block`) and what it promises (`Statistic`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a table.

    Attributes
    ----------
    rows : range
        The rows' numbers in the table, counted from 0.
    columns : tuple of int
        The source columns that the block holds, ascending; `n_columns` of the schema stands for the target.
    numeric : ndarray of shape (n_rows, n_numeric), float64
        NaN is a missing number.
    codes : ndarray of shape (n_rows, n_categorical), int32
        Positions in the levels of the schema; -1 is a missing value.
    numeric_columns, code_columns : tuple of int
        The source column of each column of `numeric` and of `codes`.
    y : ndarray of shape (n_rows,) or None
        The target: int32 codes of its classes, or float64.
    weight : ndarray of shape (n_rows,) or None
    """

    rows: range
    numeric: Floats
    codes: Codes
    numeric_columns: tuple[int, ...]
    code_columns: tuple[int, ...]
    y: NDArray[Any] | None
    weight: Floats | None

    @cached_property
    def _place(self) -> dict[int, tuple[NDArray[Any], int]]:
        place: dict[int, tuple[NDArray[Any], int]] = {c: (self.numeric, k) for k, c in enumerate(self.numeric_columns)}
        place.update({c: (self.codes, k) for k, c in enumerate(self.code_columns)})
        return place

    def column(self, column: int) -> NDArray[Any]:
        """Return one source column, contiguous: float64 for a numeric one, int32 codes otherwise.

        A number beyond the columns is the target's.
        """
        if column not in self._place and self.y is not None:
            return np.ascontiguousarray(self.y)
        matrix, place = self._place[column]
        return np.ascontiguousarray(matrix[:, place])

    def matrix(self, columns: tuple[int, ...]) -> Floats:
        """Return numeric source columns side by side; a view where they are all there is."""
        if columns == self.numeric_columns:
            return self.numeric
        return self.numeric[:, [self._place[c][1] for c in columns]]

    @property
    def weights(self) -> Floats:
        """The weight of every row, 1 where the table has none."""
        return np.ones(len(self.rows)) if self.weight is None else self.weight

    def pieces(self, size: int) -> Iterator[Block]:
        """Cut the block where the row number is a multiple of `size`: the same cuts however the rows came."""
        start = self.rows.start
        while start < self.rows.stop:
            stop = min(self.rows.stop, (start // size + 1) * size)
            part = slice(start - self.rows.start, stop - self.rows.start)
            yield Block(
                range(start, stop),
                self.numeric[part],
                self.codes[part],
                self.numeric_columns,
                self.code_columns,
                None if self.y is None else self.y[part],
                None if self.weight is None else self.weight[part],
            )
            start = stop


class Statistic(ABC):
    """A sufficient statistic: filled block by block, merged in any grouping, the same either way.

    Attributes
    ----------
    columns : tuple of int
        The source columns that `update` reads.
    n_samples : int
        Rows seen.
    """

    columns: tuple[int, ...]
    n_samples: int = 0

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What it counts. Two statistics of one key are the same numbers, so one of them is enough."""

    @abstractmethod
    def empty(self) -> Self:
        """Return a new one that has seen nothing."""

    @abstractmethod
    def update(self, block: Block) -> Self:
        """Add the rows of a block."""

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """Add all that another one of the same key has seen."""

    def finish(self) -> None:  # noqa: B027 - most statistics have nothing to do at the end
        """Do what can only be done when all rows were seen, such as freeing them."""
