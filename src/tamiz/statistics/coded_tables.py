"""Statistics of a table under changing weights of its rows, such as bootstrap samples, from columns that were coded once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tamiz.arrays import Codes, Floats
from tamiz.kernels.coded_tables import count_cells, grouped_moments, mdl_tables
from tamiz.kernels.contingency import stacked_entropies, table_entropies
from tamiz.runtime import parallel
from tamiz.statistics.base import Block, Statistic
from tamiz.statistics.contingency import Coding, ContingencyTables, LevelCounts
from tamiz.statistics.cuts import CutPoints, SortedColumn, n_log_n_table
from tamiz.statistics.moments import ClassMoments, Moments

# A column of more distinct values is coded by ranges of adjacent ones: every sample scans the class counts of all cells, and with
# 8,192 cells a cut is within 1 / 8,192 of the rows of its exact position.
_MAX_CELLS = 2**13
# Values of the columns that one task codes.
_TASK_VALUES = 2**14
# Maximum number of counts (cells times classes) of one column.
_MAX_COUNTS = 2**20
# The 32 smallest and 32 largest values have cells of their own, so that rules that use extremes stay exact.
_EXTREME_CELLS = 32


class UnsupportedStatisticError(TypeError):
    """The statistic cannot be computed from coded columns."""


@dataclass(frozen=True)
class ColumnCells:
    """A column coded by cells.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,)
        The cell of every row; n_cells for a missing value.
    low, high : ndarray of shape (n_cells,)
        The smallest and largest value of every cell; empty for a categorical column, whose cells are its levels.
    n_values : ndarray of shape (n_cells,)
        Number of distinct values of every cell.
    """

    codes: Codes
    low: Floats
    high: Floats
    n_values: Floats

    @classmethod
    def from_numbers(cls, values: Floats, max_cells: int) -> ColumnCells:
        """Code a numeric column by its distinct values, or by about `max_cells` ranges if it has more."""
        distinct, codes, counts = np.unique(values[~np.isnan(values)], return_inverse=True, return_counts=True)
        cell = np.arange(len(distinct))
        if len(distinct) > max_cells:
            cell = 1 + (np.cumsum(counts) - counts) * max_cells // counts.sum()
            cell[:_EXTREME_CELLS] = np.arange(-_EXTREME_CELLS, 0)
            cell[-_EXTREME_CELLS:] = max_cells + 1 + np.arange(_EXTREME_CELLS)
            cell = np.unique(cell, return_inverse=True)[1]
        first = np.flatnonzero(np.diff(cell, prepend=-1))
        cells = np.full(len(values), len(first), dtype=np.int32)
        cells[~np.isnan(values)] = cell[codes]
        last = np.append(first[1:], len(distinct)) - 1
        return cls(cells, distinct[first], distinct[last[: len(first)]], np.diff(first, append=len(distinct)) * 1.0)

    @classmethod
    def from_levels(cls, codes: Codes, n_levels: int) -> ColumnCells:
        return cls(np.where(codes < 0, np.int32(n_levels), codes), np.empty(0), np.empty(0), np.ones(n_levels))

    @property
    def n_cells(self) -> int:
        """Number of cells, without the one of missing values."""
        return len(self.n_values)


class CodedTable:
    """Columns coded once, from which statistics are computed for any weights of the rows.

    Parameters
    ----------
    blocks : iterable of Block
        All rows, with the columns that statistics use.
    numeric : tuple of int
    level_sizes : mapping of column to int
        Number of levels of every categorical column.
    n_columns : int
        Number of columns of the schema; this index means the target in statistics.
    n_classes : int
        Number of classes of the target; 0 if it is numeric or there is none.

    Notes
    -----
    Memory: 12 bytes for a number, 4 bytes for a category. Coding costs O(n log n) for each column, and computing statistics for
    one vector of weights O(n) for each column. Contingency tables are exactly those of repeated rows, except that in columns
    of more than 8,192 distinct values adjacent values share one of about 8,192 cells.
    """

    def __init__(
        self,
        blocks: Iterable[Block],
        numeric: tuple[int, ...],
        level_sizes: Mapping[int, int],
        n_columns: int,
        n_classes: int,
    ) -> None:
        parts = list(blocks)
        self._target_column = n_columns
        y = None if not parts or parts[0].y is None else np.concatenate([np.asarray(block.y) for block in parts])
        self.n_samples = sum(len(block.rows) for block in parts)
        self._zero_labels = np.zeros(self.n_samples, dtype=np.int32)
        self.labels = self._zero_labels if y is None or not n_classes else np.ascontiguousarray(y, dtype=np.int32)
        max_cells = int(np.clip(_MAX_COUNTS // max(n_classes, 1), 2 * _EXTREME_CELLS, _MAX_CELLS))
        self.class_order = np.argsort(self.labels, kind="stable")
        self.class_starts = np.searchsorted(self.labels[self.class_order], np.arange(max(n_classes, 1) + 1))
        self.cells: dict[int, ColumnCells] = {}
        self.values_by_class: dict[int, Floats] = {}
        self.centres: dict[int, float] = {}

        def code(j: int) -> tuple[ColumnCells, Floats, float]:
            values = np.concatenate([block.column(j) for block in parts])
            present = values[~np.isnan(values)]
            centre = float(present.mean()) if len(present) else 0.0
            return ColumnCells.from_numbers(values, max_cells), values[self.class_order] - centre, centre

        # One array of all codes: a kernel reads it column by column.
        self.numeric = numeric
        self.codes = np.empty((len(numeric), self.n_samples), dtype=np.int32)
        for k, (j, coded) in enumerate(
            zip(numeric, parallel.map_groups(code, numeric, _TASK_VALUES // max(self.n_samples, 1)), strict=True)
        ):
            cells, self.values_by_class[j], self.centres[j] = coded
            self.codes[k] = cells.codes
            self.cells[j] = replace(cells, codes=self.codes[k])
        self.n_cells = np.array([self.cells[j].n_cells for j in numeric], dtype=np.int64)
        self.n_values = np.concatenate([np.empty(0), *(self.cells[j].n_values for j in numeric)])
        self.n_classes = n_classes
        for j, size in level_sizes.items():
            codes = np.concatenate([block.column(j) for block in parts]).astype(np.int32)
            self.cells[j] = ColumnCells.from_levels(codes, size)
        if y is not None:
            self.cells[n_columns] = (
                ColumnCells.from_levels(self.labels, n_classes)
                if n_classes
                else ColumnCells.from_numbers(y.astype(np.float64), max_cells)
            )

    def with_weights(self, weight: Floats, log_table: Floats) -> WeightedTable:
        """Return the table with weights of its rows; `log_table` is the result of `sample_log_table`."""
        # In a cluster bootstrap with unequal sizes, a sample may have more rows than the table of logarithms covers.
        return WeightedTable(self, weight, log_table if weight.sum() < len(log_table) else np.empty(0))


class WeightedTable:
    def __init__(self, table: CodedTable, weight: Floats, log_table: Floats) -> None:
        self._table = table
        self._weight = weight
        self._log_table = log_table
        # Several criteria use the same statistics.
        self._cache: dict[Hashable, Statistic] = {}
        self._entropies: dict[bool, dict[int, Floats]] = {}
        self._fillers: dict[type, Callable[[Any], None]] = {
            CutPoints: self._fill_cut_points,
            ContingencyTables: self._fill_contingency_tables,
            LevelCounts: self._fill_level_counts,
            ClassMoments: self._fill_moments,
            Moments: self._fill_moments,
        }

    def gather(self, *statistics: Statistic) -> tuple[Statistic, ...]:
        """Return computed copies of empty statistics, as `Table.reduce` does.

        Raises
        ------
        UnsupportedStatisticError
            If a statistic cannot be computed from coded columns.
        """
        return tuple(self._fill_statistic(statistic) for statistic in statistics)

    def _fill_statistic(self, statistic: Statistic) -> Statistic:
        if type(statistic) not in self._fillers:
            raise UnsupportedStatisticError(f"{type(statistic).__name__} cannot be computed from coded columns.")
        key = statistic.key
        if key not in self._cache:
            filled = statistic.empty()
            self._fillers[type(filled)](filled)
            filled.n_samples = self._table.n_samples
            self._cache[key] = filled
        return self._cache[key]

    def mdl_entropies(self, columns: Sequence[int], *, distribute: bool) -> Floats:
        """Return H(X), H(Y) and I(X; Y), shape (n_columns, 3), of columns X, numbers discretized by MDL, and the classes Y."""
        if distribute not in self._entropies:
            self._entropies[distribute] = self._compute_mdl_entropies(distribute=distribute)
        found = self._entropies[distribute]
        return np.array([found[j] for j in columns]).reshape(-1, 3)

    def _compute_mdl_entropies(self, *, distribute: bool) -> dict[int, Floats]:
        table = self._table
        n_columns, n_classes = len(table.numeric), table.n_classes
        starts = np.zeros(n_columns + 1, dtype=np.int64)
        tables = np.empty((int((table.n_cells + 2).sum()), n_classes + 1))
        coded = table.codes, table.n_cells, table.n_values
        mdl_tables(*coded, table.labels, self._weight, n_classes, self._log_table, starts, tables)
        entropies = np.zeros((n_columns, 3))
        stacked_entropies(tables, starts, distribute, entropies)
        found = dict(zip(table.numeric, entropies, strict=True))
        for j, cells in table.cells.items():
            if j not in found and j != table._target_column:
                counts = self._count(cells.codes, cells.n_cells + 1, table.labels, n_classes + 1)
                found[j] = np.zeros(3)
                table_entropies(counts, distribute, found[j])
        return found

    def _count(self, codes: Codes, n_codes: int, labels: Codes, n_labels: int) -> Floats:
        counts = np.zeros((n_codes, n_labels))
        count_cells(codes, labels, self._weight, counts)
        return counts

    def _fill_cut_points(self, statistic: CutPoints) -> None:
        by_class = statistic.rule.needs_classes
        labels = self._table.labels if by_class else self._table._zero_labels
        for j in statistic.columns:
            cells = self._table.cells[j]
            counts = self._count(cells.codes, cells.n_cells + 1, labels, statistic.n_classes)
            at, classes = np.nonzero(counts[:-1])
            weight = counts[at, classes]
            column = SortedColumn(
                cells.high[at], classes.astype(np.int32), weight, statistic.n_classes, self._log_table
            )
            statistic.edges[j] = np.array(statistic.rule.cuts(column))

    def _fill_contingency_tables(self, statistic: ContingencyTables) -> None:
        coding = statistic.coding
        coded = {b: self._column_codes(b, coding) for b in {b for _, b in statistic.pairs}}
        for table, (a, b) in zip(statistic.tables, statistic.pairs, strict=True):
            count_cells(self._column_codes(a, coding), coded[b], self._weight, table)

    def _column_codes(self, column: int, coding: Coding) -> Codes:
        """Return the code of every row; the number of codes for a missing value."""
        cells = self._table.cells[column]
        if column not in coding.edges:
            return cells.codes
        edges = coding.edges[column]
        lookup = np.append(np.searchsorted(edges, cells.high), len(edges) + 1)
        return lookup.astype(np.int32)[cells.codes]

    def _fill_level_counts(self, statistic: LevelCounts) -> None:
        for k, column in enumerate(statistic.columns):
            codes = self._column_codes(column, statistic.coding)
            statistic.counts[k] = self._count(codes, len(statistic.counts[k]), self._table._zero_labels, 1)[:, 0]

    def _fill_moments(self, statistic: ClassMoments) -> None:
        weight = self._weight[self._table.class_order]
        starts = self._table.class_starts[[0, -1]] if isinstance(statistic, Moments) else self._table.class_starts
        out: Floats = np.empty((statistic.n_classes, 5))
        for k, column in enumerate(statistic.columns):
            grouped_moments(self._table.values_by_class[column], starts, weight, out)
            statistic.weight[:, k], statistic.mean[:, k], statistic.squared_deviations[:, k] = out.T[:3]
            statistic.minimum[:, k], statistic.maximum[:, k] = out.T[3:]
        centre = np.array([self._table.centres[column] for column in statistic.columns])
        for extreme in (statistic.mean, statistic.minimum, statistic.maximum):
            extreme += centre


def sample_log_table(weight: Floats | None, n_samples: int) -> Floats:
    """Return the table of n log2 n for samples of `n_samples` rows; empty if weights are not small whole numbers."""
    whole = weight is None or bool(np.all(weight == np.floor(weight)))
    largest = 1.0 if weight is None else float(weight.max(initial=0.0))
    return n_log_n_table(int(n_samples * largest) + 1 if whole and largest <= 4 else 0)
