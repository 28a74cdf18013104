"""Base class of the Relief algorithms, which compare every row with all others, and the table in the form that they need."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.criteria.base import Relevance, RowRelevance
from tamiz.criteria.model_relevance import draw_rows, repeat_frequencies
from tamiz.kernels import read_only
from tamiz.kernels.relief import (
    CODE,
    COMPLETE_CODE,
    COMPLETE_NUMBER,
    EXPECTED_NUMBER,
    SKIPPED_NUMBER,
    ScaledColumns,
)
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.validation import check_memory
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import target_array, weight_array

# A study compares at most this many values, about two seconds, but at least this many rows, however many columns there are.
_MAX_STUDY_DIFFERENCES = 1e10
_MIN_STUDY_ROWS = 500
# Values that are computed for a block of rows: 2 MB, and at most 32 rows.
_BLOCK_VALUES, _MAX_BLOCK_ROWS = 2**18, 32


@dataclass(frozen=True)
class ComparedRows:
    """The rows of a table, in its order or sorted by the target; rows with equal targets are in the order of the table.

    Attributes
    ----------
    table : ScaledColumns
        The columns in which at least two different values are present.
    source_columns : ndarray of shape (n_columns,)
        The column of the table that each column of `table` is.
    target : ndarray of shape (n_rows,)
        Codes of classes, or numbers.
    weight : ndarray of shape (n_rows,)
        Sampling weights; ones without them.
    """

    table: ScaledColumns
    source_columns: Indices
    target: NDArray[Any]
    weight: Floats

    @property
    def n_rows(self) -> int:
        return len(self.target)

    def class_starts(self) -> NDArray[np.int64]:
        """Return the first row of every class that occurs, and the number of rows; the rows are sorted by class."""
        return np.append(np.flatnonzero(np.diff(self.target, prepend=-1)), self.n_rows).astype(np.int64)


class RowComparison(RowRelevance):
    """A relevance that compares every row with all others; a study compares a limited number of rows.

    Attributes
    ----------
    max_rows : int or None
    random_state : int, Generator, RandomState or None
    """

    used_by_default: ClassVar[bool] = False
    supports_bootstrap: ClassVar[bool] = False
    max_rows: int | None
    random_state: Seed

    @abstractmethod
    def compare_rows(self, rows: ComparedRows, schema: Schema, rng: np.random.Generator) -> Floats:
        """Return the scores of the columns of `rows`, whose target is not constant."""

    @abstractmethod
    def read_rows(self, table: Table) -> ComparedRows:
        """Return the rows of a table."""

    def n_compared(self, n_rows: int) -> int:
        """Return how many of `n_rows` rows are compared with all of them."""
        return n_rows

    def adapt_to(self, schema: Schema) -> Relevance | None:
        """Return the relevance with `max_rows` set for a study."""
        adapted = super().adapt_to(schema)
        if adapted is None or self.max_rows is not None:
            return adapted
        n_pairs = _MAX_STUDY_DIFFERENCES / max(len(schema.used), 1)
        affordable = max(_MIN_STUDY_ROWS, math.isqrt(int(n_pairs)))
        if self.n_compared(affordable) < affordable:
            affordable = max(affordable, int(n_pairs / self.n_compared(affordable)))
        if schema.n_rows <= affordable:
            return adapted
        return type(self)(**{**self.get_params(), "max_rows": affordable})

    def score(self, table: Table) -> Floats:
        """Return the scores of the table's columns, after comparing its rows."""
        self.check(table.schema)
        rng = make_rng(self.random_state)
        scores = np.zeros(table.schema.n_columns)
        name = type(self).__name__
        rows = self.read_rows(draw_rows(repeat_frequencies(table), self.max_rows, rng, name)[0])
        if len(rows.source_columns) and rows.target.min() != rows.target.max():
            scores[rows.source_columns] = self.compare_rows(rows, table.schema, rng)
        return scores


def sum_over_blocks(function: Callable[[NDArray[np.int64]], Any], queries: NDArray[np.int64], n_values: int) -> Any:
    size = max(1, min(_MAX_BLOCK_ROWS, _BLOCK_VALUES // n_values))
    blocks = [queries[start:stop] for start, stop in parallel.block_ranges(len(queries), size)]
    total, n_done = 0.0, 0
    for block, part in zip(blocks, parallel.map_blocks(function, blocks), strict=True):
        total, n_done = total + part, n_done + len(block)
        progress.report_progress("Comparing rows", n_done, len(queries))
    return total


def read_compared_rows(table: Table, *, sort_by_target: bool, skip_missing: bool) -> ComparedRows:
    """Return the rows of a table.

    Parameters
    ----------
    table : Table
    sort_by_target : bool
    skip_missing : bool
        Whether a missing value counts as no difference, else as the expected one.
    """
    schema = table.schema
    columns = schema.used.tolist()
    check_memory(
        16.0 * schema.n_rows * len(columns),
        f"Comparing {schema.n_rows:,} rows of {len(columns):,} columns",
        "Set max_rows, or keep fewer columns first, with RankSelector.",
    )
    target = target_array(table)
    weight = weight_array(table) if schema.weight_kind == "sampling" else None
    order = np.argsort(target, kind="stable") if sort_by_target else np.arange(len(target))
    position = np.empty(len(order), dtype=np.intp)
    position[order] = np.arange(len(order))
    values = np.empty((len(columns), schema.n_rows))
    for k, j in enumerate(columns):
        values[k, position] = table.column(j)
    is_number = np.array([schema.columns[j].is_number for j in columns], dtype=np.bool_)
    n_levels = np.array([len(schema.columns[j].levels) for j in columns], dtype=np.int64)
    values[~is_number[:, None] & (values < 0)] = np.nan
    complete = ~np.isnan(values).any(axis=1)
    low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
    varies = low < high
    # Numbers are scaled to [0, 1].
    values -= np.where(is_number, low, 0.0)[:, None]
    values /= np.where(is_number & varies, high - low, 1.0)[:, None]
    incomplete_number = SKIPPED_NUMBER if skip_missing else EXPECTED_NUMBER
    kinds = np.where(is_number, incomplete_number, CODE).astype(np.int8)
    kinds[complete] = np.where(is_number, COMPLETE_NUMBER, COMPLETE_CODE)[complete]
    expected = np.where(is_number | skip_missing, 0.0, 1 - 1 / np.maximum(n_levels, 1))
    scaled = ScaledColumns(read_only(values[varies]), read_only(kinds[varies]), read_only(expected[varies]))
    return ComparedRows(
        scaled, schema.used[varies], target[order], np.ones(len(order)) if weight is None else weight[order]
    )


def scaled_differences(values: Floats) -> Floats:
    """Return numbers scaled to [0, 1]; 0 where all are equal."""
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    return (values - low) / (high - low if high > low else 1.0)
