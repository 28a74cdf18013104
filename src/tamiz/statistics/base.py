"""The input of statistics (`Block`) and their base class (`Statistic`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Codes, Floats
from tamiz.runtime import parallel, progress
from tamiz.runtime.parallel import MemoryGate

# Values of the columns that one task reads.
_TASK_VALUES = 2**14


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a table, column by column.

    Attributes
    ----------
    rows : range
        The numbers of the rows in the table, from 0.
    values : mapping of column of the table to ndarray of shape (n_rows,)
        Numeric columns are float64 or float32, with NaN for a missing value. Categorical columns are indices of the levels of
        the schema, -1 for a missing value, in the narrowest of int8, int16 and int32.
    y : ndarray of shape (n_rows,) or None
        The target: int32 codes of its classes, or float64.
    weight : ndarray of shape (n_rows,) or None
    numeric_matrix : ndarray of shape (n_rows, n_numeric) or None
        The numeric columns as one matrix, if the table has them in this form.
    """

    rows: range
    values: Mapping[int, NDArray[Any]]
    y: NDArray[Any] | None
    weight: Floats | None
    numeric_matrix: NDArray[Any] | None = None

    @cached_property
    def numeric_columns(self) -> tuple[int, ...]:
        return tuple(j for j, values in self.values.items() if values.dtype.kind == "f")

    @cached_property
    def categorical_columns(self) -> tuple[int, ...]:
        return tuple(j for j, values in self.values.items() if values.dtype.kind != "f")

    @property
    def numeric(self) -> Floats:
        """The numeric columns as a matrix of shape (n_rows, n_numeric)."""
        return self.matrix(self.numeric_columns)

    @cached_property
    def dtype(self) -> type[np.floating[Any]]:
        """The dtype of the numeric columns: float32 if all are float32, else float64."""
        numbers = self.numeric_columns
        return np.float32 if numbers and all(self.values[j].dtype == np.float32 for j in numbers) else np.float64

    @property
    def codes(self) -> Codes:
        """The categorical columns as a matrix of codes of shape (n_rows, n_categorical)."""
        return _stack_columns([self.column(j) for j in self.categorical_columns], len(self.rows), np.int32)

    def column(self, column: int) -> NDArray[Any]:
        """Return one column of the table, contiguous: float64 for a numeric one, int32 codes otherwise.

        A column index beyond the table means the target.
        """
        values = self.y if column not in self.values and self.y is not None else self.values[column]
        return np.ascontiguousarray(values, dtype=np.float64 if values.dtype.kind == "f" else np.int32)

    def matrix(self, columns: tuple[int, ...], dtype: type[np.floating[Any]] = np.float64) -> NDArray[Any]:
        """Return numeric columns, which may include the target, as a matrix; a view if it is `numeric_matrix`."""
        if self.numeric_matrix is not None and columns == self.numeric_columns:
            return self.numeric_matrix.astype(dtype, copy=False)
        return _stack_columns([self.values.get(j, self.y) for j in columns], len(self.rows), dtype)

    @property
    def weight_or_ones(self) -> Floats:
        """The weight of every row, 1 if the table has no weights."""
        return np.ones(len(self.rows)) if self.weight is None else self.weight

    def select_columns(self, columns: Iterable[int]) -> Block:
        """Return the block with some of its columns, in the order of the table."""
        values = {j: self.values[j] for j in sorted(set(columns)) if j in self.values}
        whole = self.numeric_matrix if len(values) == len(self.values) else None
        return Block(self.rows, values, self.y, self.weight, whole)

    def slice_rows(self, start: int, stop: int) -> Block:
        here = slice(start - self.rows.start, stop - self.rows.start)
        part = Block(
            range(start, stop),
            _SlicedColumns(self.values, here),
            None if self.y is None else self.y[here],
            None if self.weight is None else self.weight[here],
            None if self.numeric_matrix is None else self.numeric_matrix[here],
        )
        # These are the same for all rows; for a wide table, computing them again would take longer than reading the rows.
        for name in ("numeric_columns", "categorical_columns", "dtype"):
            part.__dict__[name] = getattr(self, name)
        return part

    def split_rows(self, size: int) -> Iterator[Block]:
        """Split the block at row numbers that are multiples of `size`, so that the parts do not depend on the blocks of the
        table.
        """
        start = self.rows.start
        while start < self.rows.stop:
            stop = min(self.rows.stop, (start // size + 1) * size)
            yield self.slice_rows(start, stop)
            start = stop


class _SlicedColumns(Mapping[int, NDArray[Any]]):
    """A range of rows of columns, sliced at access."""

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
    """A sufficient statistic, updated block by block and merged; the result does not depend on how the rows are grouped.

    A subclass is a dataclass: its fields state what is computed, and `__post_init__` sets the sums of no rows.

    Attributes
    ----------
    columns : tuple of int
        The columns of the table that `update` reads.
    n_samples : int
        Number of rows added.
    """

    columns: tuple[int, ...]
    n_samples: int = 0

    @property
    def key(self) -> Hashable:
        """Identifies what the statistic computes: statistics with equal keys have equal values, so one of them suffices."""
        return type(self), *(getattr(self, one.name) for one in fields(self) if one.compare)  # type: ignore[arg-type]  # a dataclass

    def empty(self) -> Self:
        """Return a new statistic of the same key without rows."""
        return replace(self)  # type: ignore[type-var]  # a dataclass

    @abstractmethod
    def update(self, block: Block) -> Self:
        """Add the rows of a block."""

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """Add the rows of another statistic of the same key."""

    def finish(self) -> None:  # noqa: B027 - most statistics have nothing to do at the end
        """Complete the statistic after all rows were added."""

    def check_memory(self, n_rows: int) -> None:  # noqa: B027 - most statistics are small
        """Raise a MemoryError if the statistic of so many rows does not fit into the free memory."""


def merge_statistics(totals: list[Any], others: list[Any]) -> list[Any]:
    """Add statistics of further rows to those of the rows before them, of which there may be none."""
    for total, other in zip(totals, others, strict=True) if totals else ():
        total.merge(other)
    return totals or others


@dataclass(eq=False)
class WholeColumns(Statistic):
    """A statistic of whole columns, one after another; a column index beyond the table means the target.

    The blocks of the columns are kept until all rows were added, and then read column by column; blocks that are memory-mapped
    files use no memory before.
    """

    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        self.results: dict[int, Any] = {}
        self._values: dict[int, list[NDArray[Any]]] = {column: [] for column in self.columns}
        self._y: list[NDArray[Any]] = []
        self._weights: list[Floats] = []

    def update(self, block: Block) -> Self:
        for column in self.columns:
            self._values[column].append(block.values.get(column, block.y))  # type: ignore[arg-type]  # there is a target
        self._y.append(self._target(block))
        if block.weight is not None:
            self._weights.append(block.weight)
        self.n_samples += len(block.rows)
        return self

    def merge(self, other: Self) -> Self:
        for column in self.columns:
            self._values[column] += other._values[column]
        self._y += other._y
        self._weights += other._weights
        self.n_samples += other.n_samples
        return self

    @abstractmethod
    def finish(self) -> None:
        """Compute the results of the columns, by `_map_columns`."""

    def _target(self, block: Block) -> NDArray[Any]:
        """Return the target of the rows, in the form in which it is kept."""
        assert block.y is not None
        return block.y

    def _all_weights(self) -> Floats:
        """Return the weight of every row, 1 if the table has no weights."""
        return np.concatenate(self._weights) if self._weights else np.ones(self.n_samples)

    def _map_columns(
        self, function: Callable[[int, list[NDArray[Any]]], Any], verb: str, row_bytes: int, memory_hint: str
    ) -> None:
        """Store `function(column, its pieces)` for every column, and release the rows.

        `verb` is what is done to a column, such as "Ranking", for progress and errors; `row_bytes` is the memory of one call for
        each row, and `memory_hint` what uses less.
        """
        n, gate = self.n_samples, MemoryGate()

        def compute(column: int) -> Any:
            with gate.reserve(row_bytes * n, f"{verb} a column of {n:,} rows", memory_hint):
                return function(column, self._values.pop(column))

        computed = parallel.map_groups(compute, self.columns, _TASK_VALUES // max(n, 1))
        for column, result in zip(self.columns, computed, strict=True):
            self.results[column] = result
            progress.report_progress(f"{verb} columns", len(self.results), len(self.columns))
        self._values, self._y, self._weights = {}, [], []
