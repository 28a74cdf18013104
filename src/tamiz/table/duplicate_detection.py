"""Detection of equal rows and equal columns by hashes, in one pass over the table and in a few bytes per row and column.

Two hashes of 64 bits represent a row: among 10^7 rows, unequal rows are considered equal with a probability of 10^-24. Equal hashes
of columns are confirmed by comparing the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks
from tamiz.kernels.hashing import hash_codes, hash_numbers
from tamiz.runtime import parallel, progress
from tamiz.runtime.memory import free_memory
from tamiz.statistics.base import Block
from tamiz.table.base import PIECE_ROWS, Table
from tamiz.table.schema import Schema

Hashes: TypeAlias = NDArray[np.uint64]

# Rows are not compared in larger tables; the memory is for two hashes per row and as much again for sorting them.
_MAX_ROWS = 2**24
_BYTES_PER_ROW = 40
# Up to this many distinct numbers of a column are collected; a column with more in its first rows is not read further.
MAX_DISTINCT = 1000
_HEAD_ROWS = 4096


@dataclass(frozen=True)
class DuplicateRows:
    """Rows that are equal in every used column and in the target.

    Attributes
    ----------
    first_row : ndarray of shape (n_rows,)
        The first row that is equal to each row; its own number if no earlier row is.
    alike : ndarray of shape (n_rows,)
        One of the rows that are equal to each row in every used column, whatever their target: the same for all of these rows.
    n_duplicates : int
        Number of rows that are equal to an earlier row.
    n_equal_features : int
        Number of rows that are equal to another row in every used column, whatever their target.
    n_conflicting : int
        Number of rows that are equal to a row with another target in every used column.
    """

    first_row: Indices
    alike: Indices
    n_duplicates: int
    n_equal_features: int
    n_conflicting: int


def find_duplicate_rows(
    table: Table, y: NDArray[Any], hashes: tuple[Hashes, Hashes] | None = None
) -> DuplicateRows | None:
    """Return the rows that are equal in every used column and in the target.

    Parameters
    ----------
    table : Table
    y : ndarray of shape (n_rows,)
        The target of every row: int32 codes or float64.
    hashes : tuple of two ndarrays, default=None
        Those of `compute_fingerprints`, if they are known.

    Returns
    -------
    DuplicateRows or None
        None if no column is used, or if the table has too many rows for the comparison.

    Notes
    -----
    The cost is one pass over the data and a sort of 8 bytes per row.
    """
    if hashes is None and len(table.schema.used):
        hashes = compute_fingerprints(table, distinct_values=False).rows
    if hashes is None or not len(table.schema.used):
        return None
    shared, leaders, alike = rows_with_equal_hash(hashes[0]), np.arange(len(y)), np.arange(len(y))
    if not len(shared):
        return DuplicateRows(leaders, alike, 0, 0, 0)
    first, second, values = hashes[0][shared], hashes[1][shared], y[shared]
    # Sort rows with equal hashes next to each other, within them by target, and within a target by row number.
    order = np.lexsort((values, second, first))
    rows = shared[order]
    is_new = run_starts(first[order]) | run_starts(second[order])
    starts = np.flatnonzero(is_new | run_starts(values[order]))
    leaders[rows] = rows[np.repeat(starts, np.diff(starts, append=len(rows)))]
    group = np.cumsum(is_new) - 1
    alike[rows] = rows[is_new][group]
    sizes, n_targets = np.bincount(group), np.bincount(group[starts])
    n_equal, n_conflicting = int(sizes[sizes > 1].sum()), int(sizes[n_targets > 1].sum())
    return DuplicateRows(leaders, alike, len(rows) - len(starts), n_equal, n_conflicting)


def rows_with_equal_hash(hashes: Hashes) -> Indices:
    """Return the rows whose hash occurs more than once."""
    ascending = np.sort(hashes)
    shared = np.unique(ascending[1:][ascending[1:] == ascending[:-1]])
    del ascending
    if not len(shared):
        return np.empty(0, dtype=np.intp)
    at = np.minimum(np.searchsorted(shared, hashes), len(shared) - 1)
    return np.flatnonzero(shared[at] == hashes)


def run_starts(values: NDArray[Any]) -> Masks:
    """Return whether each value differs from the one before it; True for the first."""
    changed = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed


def find_duplicate_columns(table: Table, fingerprints: dict[int, tuple[Any, ...]]) -> dict[int, int]:
    """Return the columns that are equal to an earlier column, as a dictionary to the first such column.

    Categorical columns are equal if their levels differ in name only.

    Parameters
    ----------
    table : Table
    fingerprints : dict of int to tuple
        `Fingerprints.columns` of `compute_fingerprints`.

    Notes
    -----
    Constant columns are not compared. Equal fingerprints are confirmed by comparing all values.
    """
    schema = table.schema
    first: dict[tuple[Any, ...], int] = {}
    same: dict[int, int] = {}
    for j in sorted(fingerprints):
        if schema.columns[j].constant:
            continue
        earlier = first.setdefault(fingerprints[j], j)
        if earlier != j and _are_equal_columns(table, earlier, j):
            same[j] = earlier
    return same


def _are_equal_columns(table: Table, a: int, b: int) -> bool:
    return all(
        _are_equal_numbers(block.column(a), block.column(b))
        if table.schema.columns[a].is_number
        else _are_relabelled(block.column(a), block.column(b), table.schema, a, b)
        for block in table.blocks([a, b])
    )


def _are_equal_numbers(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return bool(np.array_equal(a, b, equal_nan=True))


def _are_relabelled(a: NDArray[Any], b: NDArray[Any], schema: Schema, i: int, j: int) -> bool:
    """Whether the levels of two columns correspond one to one in all rows, and the same values are missing."""
    to_b = np.full(len(schema.columns[i].levels) + 1, -2)
    to_a = np.full(len(schema.columns[j].levels) + 1, -2)
    # Code -1, of missing values, is the last element of each.
    to_b[a], to_a[b] = b, a
    return bool(np.array_equal(to_b[a], b) and np.array_equal(to_a[b], a) and np.array_equal(a < 0, b < 0))


@dataclass(frozen=True)
class Fingerprints:
    """Hashes of the rows and columns of a table, and the distinct numbers of its columns.

    Attributes
    ----------
    rows : tuple of two ndarrays of shape (n_rows,), or None
        Two hashes of every row, equal for rows that are equal in every used column; None if rows were not requested, are too many,
        or memory is short.
    columns : dict of int to tuple
        A fingerprint of every used column, equal for columns of equal numbers and for columns whose levels differ in name only.
    distinct : dict of int to ndarray or None
        The distinct present values of every numeric column, None if there are more than `MAX_DISTINCT`; an empty dictionary if they
        were not requested.
    """

    rows: tuple[Hashes, Hashes] | None
    columns: dict[int, tuple[Any, ...]]
    distinct: dict[int, Floats | None]


@dataclass(frozen=True)
class _PieceFingerprints:
    first_hashes: Hashes
    second_hashes: Hashes
    column_hashes: dict[int, Hashes]
    distinct: dict[int, Floats | None]


def compute_fingerprints(table: Table, *, rows: bool = True, distinct_values: bool = True) -> Fingerprints:
    """Compute the fingerprints of a table in one pass over its used columns.

    Parameters
    ----------
    table : Table
    rows : bool, default=True
        Whether to hash rows as well as columns.
    distinct_values : bool, default=True
        Whether to collect the distinct values of numeric columns, which needs most of the time.
    """
    schema = table.schema
    n, used = schema.n_rows, schema.used.tolist()
    keeps_rows = rows and n <= _MAX_ROWS and _BYTES_PER_ROW * n <= free_memory()
    first, second = (np.empty(n if keeps_rows else 0, dtype=np.uint64) for _ in range(2))
    totals = {j: np.zeros(schema.n_levels.get(j, 1) + 1, dtype=np.uint64) for j in used}
    distinct: dict[int, Floats | None] = {j: np.empty(0) for j in schema.numeric} if distinct_values else {}
    pieces = (piece for block in table.blocks(used) for piece in block.split_rows(PIECE_ROWS))
    sizes = {j: len(total) for j, total in totals.items()}
    done = 0
    for piece in parallel.map_blocks(
        lambda block: _fingerprint_piece(block, sizes, distinct_values=distinct_values), pieces
    ):
        here = slice(done, done + len(piece.first_hashes))
        if keeps_rows:
            first[here], second[here] = piece.first_hashes, piece.second_hashes
        for j, total in piece.column_hashes.items():
            totals[j] += total
        for j, values in piece.distinct.items():
            distinct[j] = _merge_distinct(distinct[j], values)
        done = here.stop
        progress.report_progress("Comparing rows", min(done, n), n)
    prints = {j: _column_fingerprint(total, numeric=j not in schema.n_levels) for j, total in totals.items()}
    return Fingerprints((first, second) if keeps_rows else None, prints, distinct)


def _fingerprint_piece(block: Block, sizes: dict[int, int], *, distinct_values: bool) -> _PieceFingerprints:
    n = len(block.rows)
    piece = _PieceFingerprints(np.zeros(n, dtype=np.uint64), np.zeros(n, dtype=np.uint64), {}, {})
    for j, size in sizes.items():
        values = block.column(j)
        total = np.zeros(size, dtype=np.uint64)
        if values.dtype.kind == "f":
            hash_numbers(values.view(np.uint64), block.rows.start, piece.first_hashes, piece.second_hashes, total)
            if distinct_values:
                piece.distinct[j] = _distinct_if_few(values)
        else:
            hash_codes(values, block.rows.start, piece.first_hashes, piece.second_hashes, total)
        piece.column_hashes[j] = total
    return piece


def _distinct_if_few(values: Floats) -> Floats | None:
    """Return the distinct present values, None if there are more than `MAX_DISTINCT`."""
    for part in (values[:_HEAD_ROWS], values):
        found = np.unique(part)
        found = found[~np.isnan(found)]
        if len(found) > MAX_DISTINCT:
            return None
    return found


def _merge_distinct(known: Floats | None, more: Floats | None) -> Floats | None:
    if known is None or more is None:
        return None
    both = np.union1d(known, more)
    return None if len(both) > MAX_DISTINCT else both


def _column_fingerprint(total: Hashes, *, numeric: bool) -> tuple[Any, ...]:
    if numeric:
        return "numbers", *total.tolist()
    # Sorted, because the order of the levels depends on their names.
    return "levels", *np.sort(total[:-1][total[:-1] > 0]).tolist(), "missing", int(total[-1])
