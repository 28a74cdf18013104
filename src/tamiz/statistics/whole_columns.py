"""Base class of statistics that need all values of a column at once, such as ranks and cut points."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.runtime import parallel, progress
from tamiz.runtime.memory_gate import MemoryGate
from tamiz.statistics.base import Block, Statistic

# Values of the columns that one task reads.
_TASK_VALUES = 2**14


class WholeColumns(Statistic):
    """A statistic of whole columns, one after another.

    The blocks of the columns are kept until all rows were added, and then read column by column; blocks that are memory-mapped
    files use no memory before.

    Parameters
    ----------
    columns : tuple of int
        A column index beyond the table means the target.

    Attributes
    ----------
    results : dict of column to its result
    """

    results: dict[int, Any]

    def __init__(self, columns: tuple[int, ...]) -> None:
        self.columns = columns
        self.results = {}
        self._values: dict[int, list[NDArray[Any]]] = {column: [] for column in columns}
        self._y: list[NDArray[Any]] = []
        self._weights: list[Floats] = []

    def for_columns(self, columns: tuple[int, ...]) -> Self:
        """Return a new statistic of some of the columns without rows."""
        made = copy(self)
        made.n_samples = 0
        WholeColumns.__init__(made, columns)
        return made

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

        Parameters
        ----------
        function : callable
        verb : str
            What is done to a column, such as "Ranking", for the progress and errors.
        row_bytes : int
            The memory of one call for each row.
        memory_hint : str
            What uses less memory, for errors.
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
