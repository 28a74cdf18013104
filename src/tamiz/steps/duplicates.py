"""Rows that repeat an earlier row, and rows that contradict one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.sources.base import Source
from tamiz.sources.duplicates import rows_with_equal_hash, run_starts
from tamiz.sources.fingerprints import Hashes
from tamiz.sources.views import target_array

# Rows named as an example: what a reader can look up.
_MAX_EXAMPLE_ROWS = 5


def describe_duplicates(source: Source, fingerprints: tuple[Hashes, Hashes]) -> dict[str, Any]:
    """Return how many rows repeat an earlier one, target and all, and how many are equal to one of another class.

    Parameters
    ----------
    source : Source
    fingerprints : tuple of two ndarrays
        Of `compute_fingerprints`.
    """
    # Rows of which nothing is known are not equal rows.
    shared = rows_with_equal_hash(fingerprints[0]) if len(source.schema.used) else np.empty(0, dtype=np.intp)
    first, second = fingerprints[0][shared], fingerprints[1][shared]
    y = target_array(source)[shared] if source.schema.target is not None else np.zeros(len(shared))
    # Equal rows side by side, those of one target together, each in the order of the table.
    order = np.lexsort((y, second, first))
    rows, y = shared[order], y[order]
    new_row = run_starts(first[order]) | run_starts(second[order])
    group = np.cumsum(new_row) - 1
    part = np.cumsum(new_row | run_starts(y)) - 1
    repeated = np.bincount(part)[part] > 1
    told = _duplicate_summary(source, rows[repeated], part[repeated])
    told["n"] -= told["n_groups"]
    torn = np.zeros(len(rows), dtype=bool)
    if source.schema.has_classes and len(rows):
        ends = np.append(np.flatnonzero(new_row)[1:], len(rows)) - 1
        torn = (part[ends] > part[np.flatnonzero(new_row)])[group]
    return {**told, "contradictions": _duplicate_summary(source, rows[torn], group[torn])}


def _duplicate_summary(source: Source, rows: NDArray[np.intp], group: NDArray[np.intp]) -> dict[str, Any]:
    """Return how many rows and groups there are, and the group of the first row by its numbers in the user's table."""
    if not len(rows):
        return {"n": 0, "n_groups": 0, "example": []}
    example = np.sort(rows[group == group[np.argmin(rows)]])[:_MAX_EXAMPLE_ROWS]
    return {"n": len(rows), "n_groups": len(np.unique(group)), "example": source.row_numbers[example].tolist()}
