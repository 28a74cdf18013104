"""Where rows come from: a schema, blocks, and one loop that fills statistics from them."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeVarTuple

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.memory import MemoryLimit
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Block, Codes

Statistics = TypeVarTuple("Statistics")

# Rows of one piece of work, of wide tables fewer. Statistics are filled piece by piece and merged in order, so it fixes the
# last bits of every sum: a table gives the same numbers from memory, from a file and at any number of threads.
PIECE_ROWS, _MIN_PIECE_ROWS, _MAX_PIECE_VALUES = 2**15, 2**12, 2**20


def _piece_rows(n_columns: int) -> int:
    """Return a power of two, so that pieces can be cut further without a rest; no fewer than columns, of which pairs are merged."""
    fewest, rows = max(_MIN_PIECE_ROWS, n_columns), PIECE_ROWS
    while rows // 2 >= fewest and rows * n_columns > _MAX_PIECE_VALUES:
        rows //= 2
    return rows


class Source(ABC):
    """A table that can be read again and again.

    Attributes
    ----------
    schema : Schema
    column_names : tuple of str
        The names of all columns of the user's table, those with a role among them.
    class_labels : ndarray of shape (n_classes,), or None
        What the user wrote for every class of the target, in the order of `schema.target.levels`; None where it has no classes.
    groups : ndarray of shape (n_rows,), int32, or None
        The group of every row that counts, as a position in `group_names`.
    group_names : tuple of str
    time : ndarray of shape (n_rows,), float64 or int64, or None
        Numbers that sort as the rows that count do in time.
    infinite_digest : bytes
        What tells the infinite values from others that count as missing; empty where there are none.
    memory_limit : MemoryLimit or None
        The memory that the user stated, in force as long as the source is there.
    """

    schema: Schema
    column_names: tuple[str, ...]
    class_labels: NDArray[Any] | None = None
    groups: Codes | None = None
    group_names: tuple[str, ...] = ()
    time: NDArray[np.float64] | NDArray[np.int64] | None = None
    infinite_digest: bytes = b""
    memory_limit: MemoryLimit | None = None

    @abstractmethod
    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows that count, in order, with the given source columns (all that take part by default)."""

    @abstractmethod
    def frame(self, columns: Sequence[int] | None = None, rows: NDArray[np.intp] | None = None) -> Any:
        """Return columns of the table as the user gave it, dtypes and all, for the rows that count or some of them."""

    @abstractmethod
    def frame_by_name(self, names: Sequence[str], rows: NDArray[np.intp] | None = None) -> Any:
        """Return what `frame` does for columns by name, those with a role and those that take no part among them."""

    @property
    @abstractmethod
    def row_numbers(self) -> NDArray[np.intp]:
        """The number that every row that counts has in the user's table."""

    def target_values(self) -> NDArray[Any]:
        """Return the target of every row that counts.

        Returns
        -------
        ndarray of shape (n_rows,)
            Classes as they were given: of an array or a frame in the type that `fit(X, y)` sees, of a file in the type that the
            file says. Numbers are float64. Rows without a target are left out; `row_numbers` are those of the others.

        Raises
        ------
        DataError
            When the table has no target.

        Examples
        --------
        >>> from tamiz import open_source
        >>> source = open_source([[0.5], [1.0], [3.0], [2.5]], target=["2", "10", None, "2"])
        >>> source.target_values().tolist(), source.row_numbers.tolist()
        (['2', '10', '2'], [0, 1, 3])
        >>> source.schema.target.levels
        ('2', '10')
        """
        if self.schema.target is None:
            raise DataError("The table has no target; name a column or pass values with open_source(..., target=...).")
        values = np.concatenate([np.asarray(block.y) for block in self.blocks([])])
        return values if self.class_labels is None else self.class_labels[values]

    def reduce(self, *statistics: *Statistics) -> tuple[*Statistics]:
        """Return filled copies of empty statistics, in one pass over the blocks."""
        wanted: list[Any] = list(statistics)
        columns = sorted({j for statistic in wanted for j in statistic.columns if j < self.schema.n_columns})
        totals: list[Any] = []

        def fill(piece: Block) -> list[Any]:
            return [statistic.empty().update(piece) for statistic in wanted]

        done, size = 0, _piece_rows(len(columns))
        pieces = (piece for block in self.blocks(columns) for piece in block.split_rows(size))
        for filled in parallel.map_blocks(fill, pieces):
            totals = totals or filled
            if totals is not filled:
                for total, part in zip(totals, filled, strict=True):
                    total.merge(part)
            done += size
            progress.report_progress("Reading rows", min(done, self.schema.n_rows), self.schema.n_rows)
        for total in totals:
            total.finish()
        return tuple(totals)

    def fingerprint(self) -> str:
        """Return a hash of the schema and of every value, equal for equal tables."""
        digest = hashlib.sha256(repr(self.schema).encode())
        for block in self.blocks():
            for column in (*block.numeric_columns, *block.categorical_columns):
                digest.update(block.column(column).data)
            for rows in (block.y, block.weight):
                digest.update(b"-" if rows is None else np.ascontiguousarray(rows).data)
        digest.update(self.infinite_digest)
        for said in (self.groups, self.time):
            digest.update(b"" if said is None else np.ascontiguousarray(said).data)
        return digest.hexdigest()
