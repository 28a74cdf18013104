"""Some rows of a table: which, and as a table of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.sources.base import Source
from tamiz.statistics.base import Block

Rows = NDArray[np.intp]

# Points of a map that a reader can still take in.
_MOST_POINTS = 2000
# Values that a sample keeps, so that a table on disk is not read again whenever a few of its rows are.
_HELD_VALUES = 2**23


def drawn_rows(n_rows: int, rng: np.random.Generator) -> Rows:
    """Return the rows that maps show: all, or a sample in their order."""
    if n_rows <= _MOST_POINTS:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, _MOST_POINTS, replace=False))


def rows_with(wanted: Rows, n_rows: int, size: int, rng: np.random.Generator) -> Rows:
    """Return so many rows, drawn, in their order: some of those wanted, or all of them and others.

    Parameters
    ----------
    wanted : ndarray of row numbers, ascending
    n_rows : int
        Rows that there are.
    size : int
    rng : Generator
    """
    if size <= len(wanted):
        return np.sort(rng.choice(wanted, size, replace=False))
    others = np.setdiff1d(np.arange(n_rows), wanted, assume_unique=True)
    return np.sort(np.concatenate([wanted, rng.choice(others, size - len(wanted), replace=False)]))


class Sample(Source):
    """Some rows of a table, in their order.

    Parameters
    ----------
    table : Source
    rows : ndarray of row numbers, ascending
    """

    def __init__(self, table: Source, rows: Rows) -> None:
        self._table = table
        self._rows = rows
        used = table.schema.used.tolist()
        self._held: list[Block] | None = [] if len(rows) * len(used) <= _HELD_VALUES else None
        n_missing = dict.fromkeys(used, 0)
        for block in self._read(used):
            for j, values in block.values.items():
                gaps = np.isnan(values) if values.dtype.kind == "f" else values < 0
                n_missing[j] += int(np.count_nonzero(gaps))
            if self._held is not None:
                self._held.append(block)
        columns = (replace(c, n_missing=n_missing.get(j, c.n_missing)) for j, c in enumerate(table.schema.columns))
        self.schema = replace(table.schema, n_rows=len(rows), columns=tuple(columns))

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows, as many blocks as the table has."""
        wanted = self.schema.used.tolist() if columns is None else columns
        if self._held is None:
            yield from self._read(wanted)
            return
        for block in self._held:
            yield Block(block.rows, {j: block.values[j] for j in wanted}, block.y, block.weight)

    def _read(self, columns: Sequence[int]) -> Iterator[Block]:
        done = 0
        for block in self._table.blocks(columns):
            within = (self._rows >= block.rows.start) & (self._rows < block.rows.stop)
            at = self._rows[within] - block.rows.start
            yield Block(
                range(done, done + len(at)),
                {j: values[at] for j, values in block.values.items()},
                None if block.y is None else block.y[at],
                None if block.weight is None else block.weight[at],
            )
            done += len(at)

    def frame(self, columns: Sequence[int] | None = None, rows: Rows | None = None) -> Any:
        """Return columns of the rows as the user gave them."""
        return self._table.frame(columns, self._rows if rows is None else self._rows[rows])

    @property
    def row_numbers(self) -> Rows:
        """The numbers of the rows in the user's table."""
        return self._table.row_numbers[self._rows]
