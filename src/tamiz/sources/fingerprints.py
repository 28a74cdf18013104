"""What tells equal rows and equal columns: one pass over the table, a few bytes a row and a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel, progress
from tamiz.kernels.fingerprints import hash_codes, hash_numbers
from tamiz.memory import free_memory
from tamiz.sources.base import PIECE_ROWS, Source
from tamiz.statistics.base import Block, Floats

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
