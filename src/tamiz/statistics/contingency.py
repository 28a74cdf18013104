"""Codings of columns, contingency tables of pairs of columns, and coded rows for searches that count pairs on demand.

Categorical columns are coded by their levels, and numeric columns by their cut points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.kernels.contingency import bin_values, count_columns
from tamiz.runtime.validation import check_memory
from tamiz.statistics.base import Block, Statistic

# Columns of which the rows of a block are copied and counted by one call.
_MAX_TOGETHER = 64


@dataclass(frozen=True, eq=False)
class Coding:
    """How each column of the table is converted to codes 0 .. size - 1, with -1 for a missing value.

    Attributes
    ----------
    sizes : mapping of column to int
        Number of codes of each column; the index `n_columns` of the schema is the target.
    edges : mapping of column to ndarray
        Ascending cut points of the numeric columns; a value equal to a cut belongs to the interval on its left.
    """

    sizes: Mapping[int, int]
    edges: Mapping[int, Floats]

    def encode(self, block: Block, column: int) -> NDArray[np.signedinteger[Any]]:
        """Return the codes of a column in the dtype in which they are stored, of one, two or four bytes."""
        if column not in self.edges:
            return np.ascontiguousarray(block.values.get(column, block.y))
        codes = np.empty(len(block.rows), dtype=np.int32)
        bin_values(block.column(column), self.edges[column], codes)
        return codes

    @cached_property
    def fingerprint(self) -> tuple[tuple[int, int, bytes], ...]:
        """A hashable value of everything that the codes depend on."""
        none = np.empty(0)
        return tuple((c, n, self.edges.get(c, none).tobytes()) for c, n in sorted(self.sizes.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coding) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


@dataclass(eq=False)
class ContingencyTables(Statistic):
    """Weighted contingency tables of pairs of columns.

    Attributes
    ----------
    tables : list of ndarray of shape (size_a + 1, size_b + 1)
        One table for each pair; its last row and column count missing values.
    """

    pairs: Sequence[tuple[int, int]]
    coding: Coding

    def __post_init__(self) -> None:
        self.pairs = tuple(self.pairs)
        self.columns = tuple(sorted({column for pair in self.pairs for column in pair}))
        self._shapes = [(self.coding.sizes[a] + 1, self.coding.sizes[b] + 1) for a, b in self.pairs]
        starts = np.cumsum([0, *(rows * columns for rows, columns in self._shapes)])
        self._ends = np.stack([starts[:-1], starts[1:]], axis=1)
        # Most pairs have the same second column, the target.
        self._at_second: dict[int, list[int]] = {}
        for k, (_, b) in enumerate(self.pairs):
            self._at_second.setdefault(b, []).append(k)
        # The cells of all tables, one table after the other.
        self._cells = np.zeros(starts[-1])

    @property
    def tables(self) -> list[Floats]:
        ranges = zip(*self._ends.T.tolist(), self._shapes, strict=True)
        return [self._cells[start:stop].reshape(shape) for start, stop, shape in ranges]

    def empty(self) -> Self:
        made = copy(self)
        made.n_samples, made._cells = 0, np.zeros_like(self._cells)
        return made

    def update(self, block: Block) -> Self:
        weight = np.empty(0) if block.weight is None else block.weight
        for second, at in self._at_second.items():
            labels, n_labels = self.coding.encode(block, second), self.coding.sizes[second] + 1
            for part in (at[k : k + _MAX_TOGETHER] for k in range(0, len(at), _MAX_TOGETHER)):
                kind = np.min_scalar_type(-max(max(self._shapes[k]) for k in part))
                codes = np.stack([self.coding.encode(block, self.pairs[k][0]) for k in part], dtype=kind)
                count_columns(codes, labels.astype(kind), weight, self._ends[part], n_labels, self._cells)
        self.n_samples += len(block.rows)
        return self

    def merge(self, other: Self) -> Self:
        self._cells += other._cells
        self.n_samples += other.n_samples
        return self


@dataclass(eq=False)
class LevelCounts(Statistic):
    """Weighted counts of the values of each column.

    Attributes
    ----------
    counts : list of ndarray of shape (size + 1,)
        One array for each column; its last entry counts missing values.
    """

    columns: tuple[int, ...]
    coding: Coding

    def __post_init__(self) -> None:
        self.columns = tuple(self.columns)
        self.counts: list[Floats] = [np.zeros(self.coding.sizes[column] + 1) for column in self.columns]

    def update(self, block: Block) -> Self:
        for counts, column in zip(self.counts, self.columns, strict=True):
            codes = self.coding.encode(block, column)
            counts += np.bincount(np.where(codes < 0, np.int64(len(counts) - 1), codes), block.weight, len(counts))
        self.n_samples += len(block.rows)
        return self

    def merge(self, other: Self) -> Self:
        for mine, theirs in zip(self.counts, other.counts, strict=True):
            mine += theirs
        self.n_samples += other.n_samples
        return self


# Maximum number of codes in two bytes; one further code is for missing values.
MAX_CODES = 2**16 - 1


@dataclass(eq=False)
class CodedRows(Statistic):
    """The rows themselves as codes, column by column, in one or two bytes for each value.

    Parameters
    ----------
    work_bytes : float, default=0.0
        The memory for each row, with that of what counts pairs.

    Attributes
    ----------
    codes : ndarray of shape (n_columns, n_samples), uint8 or uint16
        A missing value has the number of codes of its column. Codes that workers computed stay in a file, and `codes` has only
        `shape`, `dtype` and `read(positions)`.
    weight : ndarray of shape (n_samples,), or of shape (0,) without weights
    workers : Workers or None
        The workers on which pairs of columns are counted.
    """

    columns: tuple[int, ...]
    coding: Coding
    work_bytes: float = field(default=0.0, compare=False)
    workers: Any = field(default=None, init=False, compare=False)

    def __post_init__(self) -> None:
        largest = max((self.coding.sizes[c] for c in self.columns), default=0)
        self.row_bytes = len(self.columns) * (1 if largest <= np.iinfo(np.uint8).max else 2)
        self.dtype: type[np.unsignedinteger[Any]] = np.uint8 if largest <= np.iinfo(np.uint8).max else np.uint16
        self._code_blocks: list[NDArray[np.unsignedinteger[Any]]] = []
        self._weights: list[Floats] = []

    def __getstate__(self) -> dict[str, Any]:
        """On a worker, there are no further workers."""
        return {name: value for name, value in self.__dict__.items() if name != "workers"}

    def check_memory(self, n_rows: int) -> None:
        """Raise a MemoryError if what counts pairs of these rows needs more than the free memory."""
        subject = f"{n_rows:,} coded rows of {len(self.columns):,} columns"
        check_memory(self.work_bytes * n_rows, subject, "Keep fewer columns first, with RankSelector.")

    def select(self, columns: Sequence[int]) -> CodedRows:
        """Return the rows of some of the columns, read into memory."""
        made = CodedRows(tuple(columns), self.coding)
        at = [self.columns.index(column) for column in columns]
        made.codes = self.codes[at] if isinstance(self.codes, np.ndarray) else self.codes.read(at)
        made.weight, made.n_samples = np.asarray(self.weight), self.n_samples
        return made

    def encode(self, block: Block) -> NDArray[np.unsignedinteger[Any]]:
        """Return the codes of the rows of a block, of shape (n_columns, n_rows)."""
        part = np.empty((len(self.columns), len(block.rows)), dtype=self.dtype)
        for k, column in enumerate(self.columns):
            codes = self.coding.encode(block, column)
            np.copyto(part[k], codes, casting="unsafe")
            if codes.size and codes.min() < 0:
                part[k][codes < 0] = self.coding.sizes[column]
        return part

    def update(self, block: Block) -> Self:
        self._code_blocks.append(self.encode(block))
        if block.weight is not None:
            self._weights.append(block.weight)
        self.n_samples += len(block.rows)
        return self

    def merge(self, other: Self) -> Self:
        self._code_blocks += other._code_blocks
        self._weights += other._weights
        self.n_samples += other.n_samples
        return self

    def finish(self) -> None:
        shape = (len(self.columns), 0)
        parts = self._code_blocks or [np.empty(shape, dtype=self.dtype)]
        self.codes: Any = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        self.weight = np.concatenate(self._weights) if self._weights else np.empty(0)
        self._code_blocks, self._weights = [], []
