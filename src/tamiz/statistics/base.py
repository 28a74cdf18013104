"""What a statistic eats (`Block`) and what it promises (`Statistic`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a table, column by column.

    Attributes
    ----------
    rows : range
        The rows' numbers in the table, counted from 0.
    values : mapping of source column to ndarray of shape (n_rows,)
        float64 or float32 with NaN for a missing number; for a categorical column the positions in the levels of the schema, -1 for
        a missing value, in the narrowest of int8, int16 and int32.
    y : ndarray of shape (n_rows,) or None
        The target: int32 codes of its classes, or float64.
    weight : ndarray of shape (n_rows,) or None
    numeric_matrix : ndarray of shape (n_rows, n_numeric) or None
        The matrix that the numeric columns are parts of, where they came as one.
    """

    rows: range
    values: Mapping[int, NDArray[Any]]
    y: NDArray[Any] | None
    weight: Floats | None
    numeric_matrix: NDArray[Any] | None = None

    @cached_property
    def numeric_columns(self) -> tuple[int, ...]:
        """The source columns that are numbers."""
        return tuple(j for j, values in self.values.items() if values.dtype.kind == "f")

    @cached_property
    def categorical_columns(self) -> tuple[int, ...]:
        """The source columns that are codes."""
        return tuple(j for j, values in self.values.items() if values.dtype.kind != "f")

    @property
    def numeric(self) -> Floats:
        """The numeric columns side by side, of shape (n_rows, n_numeric)."""
        return self.matrix(self.numeric_columns)

    @cached_property
    def dtype(self) -> type[np.floating[Any]]:
        """What the numbers lie in: float32 where all do."""
        numbers = self.numeric_columns
        return np.float32 if numbers and all(self.values[j].dtype == np.float32 for j in numbers) else np.float64

    @property
    def codes(self) -> Codes:
        """The codes side by side, of shape (n_rows, n_categorical)."""
        return _stack_columns([self.column(j) for j in self.categorical_columns], len(self.rows), np.int32)

    def column(self, column: int) -> NDArray[Any]:
        """Return one source column, contiguous: float64 for a numeric one, int32 codes otherwise.

        A number beyond the columns is the target's.
        """
        values = self.y if column not in self.values and self.y is not None else self.values[column]
        return np.ascontiguousarray(values, dtype=np.float64 if values.dtype.kind == "f" else np.int32)

    def matrix(self, columns: tuple[int, ...], dtype: type[np.floating[Any]] = np.float64) -> NDArray[Any]:
        """Return numeric columns side by side, the target among them when asked; a view where they came as one matrix."""
        if self.numeric_matrix is not None and columns == self.numeric_columns:
            return self.numeric_matrix.astype(dtype, copy=False)
        return _stack_columns([self.values.get(j, self.y) for j in columns], len(self.rows), dtype)

    @property
    def weight_or_ones(self) -> Floats:
        """The weight of every row, 1 where the table has none."""
        return np.ones(len(self.rows)) if self.weight is None else self.weight

    def select_columns(self, columns: Iterable[int]) -> Block:
        """Return the block with some of its columns, in the order of the table."""
        values = {j: self.values[j] for j in sorted(set(columns)) if j in self.values}
        whole = self.numeric_matrix if len(values) == len(self.values) else None
        return Block(self.rows, values, self.y, self.weight, whole)

    def slice_rows(self, start: int, stop: int) -> Block:
        """Return the rows start .. stop of the table."""
        here = slice(start - self.rows.start, stop - self.rows.start)
        part = Block(
            range(start, stop),
            _SlicedColumns(self.values, here),
            None if self.y is None else self.y[here],
            None if self.weight is None else self.weight[here],
            None if self.numeric_matrix is None else self.numeric_matrix[here],
        )
        # What holds for the block holds for its rows: of a wide table it takes longer to find than the rows to be read.
        for name in ("numeric_columns", "categorical_columns", "dtype"):
            part.__dict__[name] = getattr(self, name)
        return part

    def split_rows(self, size: int) -> Iterator[Block]:
        """Cut the block where the row number is a multiple of `size`: the same cuts however the rows came."""
        start = self.rows.start
        while start < self.rows.stop:
            stop = min(self.rows.stop, (start // size + 1) * size)
            yield self.slice_rows(start, stop)
            start = stop


class _SlicedColumns(Mapping[int, NDArray[Any]]):
    """Some rows of columns, taken when they are asked for."""

    def __init__(self, values: Mapping[int, NDArray[Any]], rows: slice) -> None:
        self._values, self._rows = values, rows

    def __getitem__(self, column: int) -> NDArray[Any]:
        return self._values[column][self._rows]

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _stack_columns(columns: list[Any], n_rows: int, dtype: type) -> NDArray[Any]:
    matrix: NDArray[Any] = np.empty((n_rows, len(columns)), dtype=dtype)
    for k, column in enumerate(columns):
        matrix[:, k] = column
    return matrix


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
