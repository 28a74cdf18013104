"""Rows that repeat an earlier row, rows that contradict one, and columns that repeat a column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import target_of
from tamiz.steps.fingerprints import Marks

# Rows named as an example: what a reader can look up.
_MOST_NAMED = 5


def describe_duplicates(source: Source, marks: tuple[Marks, Marks]) -> dict[str, Any]:
    """Return how many rows repeat an earlier one, target and all, and how many are equal to one of another class.

    Parameters
    ----------
    source : Source
    marks : tuple of two ndarrays
        Of `take_fingerprints`.
    """
    # Rows of which nothing is known are not equal rows.
    shared = _sharing(marks[0]) if len(source.schema.used) else np.empty(0, dtype=np.intp)
    first, second = marks[0][shared], marks[1][shared]
    y = target_of(source)[shared] if source.schema.target is not None else np.zeros(len(shared))
    # Equal rows side by side, those of one target together, each in the order of the table.
    order = np.lexsort((y, second, first))
    rows, y = shared[order], y[order]
    new_row = _changes(first[order]) | _changes(second[order])
    group = np.cumsum(new_row) - 1
    part = np.cumsum(new_row | _changes(y)) - 1
    repeated = np.bincount(part)[part] > 1
    told = _told(source, rows[repeated], part[repeated])
    told["n"] -= told["n_groups"]
    torn = np.zeros(len(rows), dtype=bool)
    if source.schema.has_classes and len(rows):
        ends = np.append(np.flatnonzero(new_row)[1:], len(rows)) - 1
        torn = (part[ends] > part[np.flatnonzero(new_row)])[group]
    return {**told, "contradictions": _told(source, rows[torn], group[torn])}


def _sharing(numbers: Marks) -> NDArray[np.intp]:
    """Return the rows whose first number another row has as well."""
    ascending = np.sort(numbers)
    shared = np.unique(ascending[1:][ascending[1:] == ascending[:-1]])
    del ascending
    if not len(shared):
        return np.empty(0, dtype=np.intp)
    at = np.minimum(np.searchsorted(shared, numbers), len(shared) - 1)
    return np.flatnonzero(shared[at] == numbers)


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a value is another one than the one before it."""
    changed = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed


def _told(source: Source, rows: NDArray[np.intp], group: NDArray[np.intp]) -> dict[str, Any]:
    """Return how many rows and groups there are, and the group of the first row by its numbers in the user's table."""
    if not len(rows):
        return {"n": 0, "n_groups": 0, "example": []}
    example = np.sort(rows[group == group[np.argmin(rows)]])[:_MOST_NAMED]
    return {"n": len(rows), "n_groups": len(np.unique(group)), "example": source.row_numbers[example].tolist()}


def same_columns(source: Source, prints: dict[int, tuple[Any, ...]]) -> dict[int, int]:
    """Return the columns that repeat an earlier one, each with the first such: equal numbers, or levels that differ in name only.

    Parameters
    ----------
    source : Source
    prints : dict of int to tuple
        Of `take_fingerprints`.

    Notes
    -----
    Columns of one value are all alike and are not told. What two fingerprints say is confirmed value by value.
    """
    schema = source.schema
    first: dict[tuple[Any, ...], int] = {}
    same: dict[int, int] = {}
    for j in sorted(prints):
        if schema.columns[j].constant:
            continue
        earlier = first.setdefault(prints[j], j)
        if earlier != j and _are_same(source, earlier, j):
            same[j] = earlier
    return same


def _are_same(source: Source, a: int, b: int) -> bool:
    return all(
        _are_equal(block.column(a), block.column(b))
        if source.schema.columns[a].is_number
        else _are_renamed(block.column(a), block.column(b), source.schema, a, b)
        for block in source.blocks([a, b])
    )


def _are_equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return bool(np.array_equal(a, b, equal_nan=True))


def _are_renamed(a: NDArray[Any], b: NDArray[Any], schema: Schema, i: int, j: int) -> bool:
    """Whether every level of one column stands where one level of the other does, and gaps where gaps do."""
    to = np.full(len(schema.columns[i].levels) + 1, -2)
    back = np.full(len(schema.columns[j].levels) + 1, -2)
    to[a], back[b] = b, a
    # Gaps are the last of each, by their code.
    return bool(np.array_equal(to[a], b) and np.array_equal(back[b], a) and np.array_equal(a < 0, b < 0))
