"""What tells equal rows and equal columns: one pass over the table, a few bytes a row and a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.hashing import hash_codes, hash_numbers
from tamiz.runtime import parallel, progress
from tamiz.runtime.memory import free_memory
from tamiz.sources.base import PIECE_ROWS, Source
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Block, Floats


# MERGED: Rows that are equal, and columns that are.
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


Hashes: TypeAlias = NDArray[np.uint64]

# Two numbers of eight bytes a row are kept, and as much again is worked in.
_MAX_ROWS = 2**24
_BYTES_PER_ROW = 40
# Distinct numbers of a column are told up to so many; a column with more in its first rows is not looked at any further.
MAX_DISTINCT = 1000
_HEAD_ROWS = 4096


@dataclass(frozen=True)
class Fingerprints:
    """What one pass leaves.

    Attributes
    ----------
    rows : tuple of two ndarrays of shape (n_rows,), or None
        Two numbers of every row, the same for rows equal in every column that takes part; None where there are too many rows for
        that, or too little memory.
    columns : dict of int to tuple
        Of every column that takes part: equal for columns of equal numbers, and of levels that are the same but for their names.
    distinct : dict of int to ndarray or None
        The distinct present values of every numeric column, None where there are more than `MAX_DISTINCT`; empty where they were
        not asked for.
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


def compute_fingerprints(source: Source, *, rows: bool = True, distinct_values: bool = True) -> Fingerprints:
    """Read every column that takes part, once.

    Parameters
    ----------
    source : Source
    rows : bool, default=True
        Whether rows are compared, and not columns only.
    distinct_values : bool, default=True
        Whether the distinct values of numbers are collected, which takes most of the time.
    """
    schema = source.schema
    n, used = schema.n_rows, schema.used.tolist()
    keeps_rows = rows and n <= _MAX_ROWS and _BYTES_PER_ROW * n <= free_memory()
    first, second = (np.empty(n if keeps_rows else 0, dtype=np.uint64) for _ in range(2))
    totals = {j: np.zeros(schema.n_levels.get(j, 1) + 1, dtype=np.uint64) for j in used}
    distinct: dict[int, Floats | None] = {j: np.empty(0) for j in schema.numeric} if distinct_values else {}
    pieces = (piece for block in source.blocks(used) for piece in block.split_rows(PIECE_ROWS))
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
    """Return the distinct present values, None where there are many."""
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
    # Levels in no order: whatever they are called, the same rows hold them.
    return "levels", *np.sort(total[:-1][total[:-1] > 0]).tolist(), "gaps", int(total[-1])
