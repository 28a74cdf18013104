"""Rows that are equal, and columns that are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.sources.base import Source
from tamiz.sources.fingerprints import Hashes, compute_fingerprints
from tamiz.sources.schema import Schema


@dataclass(frozen=True)
class DuplicateRows:
    """Rows that are equal in every column that takes part and in the target.

    Attributes
    ----------
    first_row : ndarray of shape (n_rows,)
        The first row that each row is equal to: its own number where none before it is.
    n_duplicates : int
        Rows that are equal to an earlier one.
    n_equal_features : int
        Rows that are equal to another one in every column that takes part, whatever their target.
    n_conflicting : int
        Those of them that are so to a row of another target.
    """

    first_row: NDArray[np.intp]
    n_duplicates: int
    n_equal_features: int
    n_conflicting: int


def find_duplicate_rows(source: Source, y: NDArray[Any]) -> DuplicateRows | None:
    """Return which rows repeat another, target and all; None where no column takes part, or rows are too many to be compared.

    Parameters
    ----------
    source : Source
    y : ndarray of shape (n_rows,)
        The target of every row: int32 codes or float64.

    Notes
    -----
    One pass, and a sort of 8 bytes a row. Two numbers of 64 bits stand for a row: among 10^7 rows, unequal ones are taken for equal
    with a probability of 10^-24.
    """
    marks = compute_fingerprints(source, distinct_values=False).rows if len(source.schema.used) else None
    if marks is None:
        return None
    shared, leaders = rows_with_equal_hash(marks[0]), np.arange(len(y))
    if not len(shared):
        return DuplicateRows(leaders, 0, 0, 0)
    first, second, values = marks[0][shared], marks[1][shared], y[shared]
    # Rows alike side by side, those of one target together, each in the order of the table.
    order = np.lexsort((values, second, first))
    rows = shared[order]
    is_new = run_starts(first[order]) | run_starts(second[order])
    starts = np.flatnonzero(is_new | run_starts(values[order]))
    leaders[rows] = rows[np.repeat(starts, np.diff(starts, append=len(rows)))]
    group = np.cumsum(is_new) - 1
    sizes, n_targets = np.bincount(group), np.bincount(group[starts])
    return DuplicateRows(leaders, len(rows) - len(starts), int(sizes[sizes > 1].sum()), int(sizes[n_targets > 1].sum()))


def rows_with_equal_hash(hashes: Hashes) -> NDArray[np.intp]:
    """Return the rows whose first number another row has as well."""
    ascending = np.sort(hashes)
    shared = np.unique(ascending[1:][ascending[1:] == ascending[:-1]])
    del ascending
    if not len(shared):
        return np.empty(0, dtype=np.intp)
    at = np.minimum(np.searchsorted(shared, hashes), len(shared) - 1)
    return np.flatnonzero(shared[at] == hashes)


def run_starts(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a value is another one than the one before it."""
    changed = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed


def find_duplicate_columns(source: Source, fingerprints: dict[int, tuple[Any, ...]]) -> dict[int, int]:
    """Return the columns that repeat an earlier one, each with the first such: equal numbers, or levels that differ in name only.

    Parameters
    ----------
    source : Source
    fingerprints : dict of int to tuple
        Of `compute_fingerprints`.

    Notes
    -----
    Columns of one value are all alike and are not told. What two fingerprints say is confirmed value by value.
    """
    schema = source.schema
    first: dict[tuple[Any, ...], int] = {}
    same: dict[int, int] = {}
    for j in sorted(fingerprints):
        if schema.columns[j].constant:
            continue
        earlier = first.setdefault(fingerprints[j], j)
        if earlier != j and _are_equal_columns(source, earlier, j):
            same[j] = earlier
    return same


def _are_equal_columns(source: Source, a: int, b: int) -> bool:
    return all(
        _are_equal_numbers(block.column(a), block.column(b))
        if source.schema.columns[a].is_number
        else _are_relabelled(block.column(a), block.column(b), source.schema, a, b)
        for block in source.blocks([a, b])
    )


def _are_equal_numbers(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return bool(np.array_equal(a, b, equal_nan=True))


def _are_relabelled(a: NDArray[Any], b: NDArray[Any], schema: Schema, i: int, j: int) -> bool:
    """Whether every level of one column stands where one level of the other does, and gaps where gaps do."""
    to = np.full(len(schema.columns[i].levels) + 1, -2)
    back = np.full(len(schema.columns[j].levels) + 1, -2)
    to[a], back[b] = b, a
    # Gaps are the last of each, by their code.
    return bool(np.array_equal(to[a], b) and np.array_equal(back[b], a) and np.array_equal(a < 0, b < 0))
