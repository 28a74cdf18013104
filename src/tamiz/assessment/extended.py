"""A table with columns added that tell nothing new: random ones, and copies of one that is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Masks
from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.schema import Column
from tamiz.sources.table import TableSource
from tamiz.sources.views import RowNumbers, target_array, weight_array
from tamiz.statistics.base import Floats


@dataclass(frozen=True)
class NoiseTable:
    """A table with more columns behind its own.

    Attributes
    ----------
    source : Source
        The table's columns, those of every draw, the copies.
    n_own : int
        The table's own columns, those left out among them.
    n_draws, n_random, n_copies : int
        How often random columns were drawn, how many each time, and how many copies there are.
    """

    source: Source
    n_own: int
    n_draws: int
    n_random: int
    n_copies: int

    def with_random(self, n: int, draw: int) -> Masks:
        """Return the set of the table's columns and the first n of a draw."""
        return self._mask(self.n_own + draw * self.n_random, n)

    def with_copies(self, n: int) -> Masks:
        """Return the set of the table's columns and n copies."""
        return self._mask(self.n_own + self.n_draws * self.n_random, n)

    def column_sets(self, numbers: Sequence[int], n_draws: int) -> Masks:
        """Return the sets with so many random columns of each draw, draw after draw, and after them those with copies."""
        found = [self.with_random(n, draw) for draw in range(n_draws) for n in numbers]
        return np.array(found + [self.with_copies(n) for n in numbers if self.n_copies])

    def _mask(self, first: int, n: int) -> Masks:
        mask = np.zeros(self.source.schema.n_columns, dtype=bool)
        mask[self.source.schema.used[self.source.schema.used < self.n_own]] = True
        mask[first : first + n] = True
        return mask


def add_noise_columns(table: Source, draws: Sequence[Floats], copied: int | None, n_copies: int) -> NoiseTable:
    """Return a table with more columns, in memory.

    Parameters
    ----------
    table : Source
    draws : list of ndarray of shape (n_rows, n_random)
        Random columns.
    copied : int or None
        The column to copy; None copies none.
    n_copies : int
    """
    schema = table.schema
    own = schema.used.tolist()
    blocks = list(table.blocks(own))
    values: dict[int, NDArray[Any]] = {j: np.concatenate([block.column(j) for block in blocks]) for j in own}
    columns = list(schema.columns)
    for draw in draws:
        for k in range(draw.shape[1]):
            values[len(columns)] = np.ascontiguousarray(draw[:, k])
            columns.append(Column(f"random {len(columns)}", "numeric"))
    n_copies = 0 if copied is None else n_copies
    for _ in range(n_copies):
        assert copied is not None
        values[len(columns)] = values[copied]
        columns.append(replace(schema.columns[copied], name=f"copy {len(columns)}"))
    wide = replace(schema, columns=tuple(columns), n_dropped=0, notes=())
    source = TableSource(wide, values, target_array(table), weight_array(table), None, _refuse_frame)
    source.class_labels = table.class_labels
    source.groups, source.group_names, source.time = table.groups, table.group_names, table.time
    n_random = draws[0].shape[1] if draws else 0
    return NoiseTable(source, schema.n_columns, len(draws), n_random, n_copies)


def _refuse_frame(names: Sequence[str], rows: RowNumbers) -> NoReturn:  # noqa: ARG001 - what a frame is asked for
    raise DataError(
        "Columns that were added are not part of the table as it was given: take a merit that refits no model, such as CFS()."
    )
