"""Contingency tables of coded columns and the labels of the rows, counted block by block.

A table has one row and one column more than there are values: the last ones count missing values, whose code is -1.

Cost for n rows and a table of k values and c labels: `count_columns` makes k c comparisons of one-byte codes, 32 at a time, which
needs 0.03 n k c ns, and above 24 cells n increments, which need 0.8 n ns; increments in one table, as in `count_pairs`, need 1.4 n
ns, because each of them waits for the one before it wherever both are in the same cell.
"""

from __future__ import annotations

import numpy as np
from numba.types import float64, int8, int32, int64, uint8, void

from tamiz.kernels import jit, ro, rw

# Counts of so many rows fit into one byte.
_BLOCK_ROWS = 240
# Up to this many cells, comparing all codes with each value is faster than an increment for each row.
_MAX_COMPARED_CELLS = 24
# Increments of the same cell in a row do not wait for each other in this many tables.
_N_PARTS = 4


@jit(void(ro(int32), ro(int32), rw(float64, 2)))
def count_pairs(a, b, table):
    """Add the rows of two coded columns to a table; -1 counts in its last row or column."""
    last_a, last_b = table.shape[0] - 1, table.shape[1] - 1
    for r in range(a.shape[0]):
        i = a[r] if a[r] >= 0 else last_a
        j = b[r] if b[r] >= 0 else last_b
        table[i, j] += 1.0


@jit(void(ro(int8), ro(int8), ro(int64), rw(float64, 2)))
def _count_by_comparison(a, b, totals, table):
    """Add the rows of two coded columns to a table; `totals` are the numbers of rows of each code of b.

    The last label of each row and the last row of the table are differences from the totals.
    """
    last_a, last_b = table.shape[0] - 1, totals.shape[0] - 1
    counts = np.zeros((last_a + 1, last_b + 1), dtype=np.int64)
    for start in range(0, a.shape[0], _BLOCK_ROWS):
        stop = min(a.shape[0], start + _BLOCK_ROWS)
        rows_a, rows_b = a[start:stop], b[start:stop]
        for i in range(last_a):
            value = int8(i)
            n_rows = uint8(0)
            for r in range(stop - start):
                n_rows = uint8(n_rows + uint8(rows_a[r] == value))
            counts[i, last_b] += n_rows
            for j in range(last_b):
                label = int8(j)
                n_rows = uint8(0)
                for r in range(stop - start):
                    n_rows = uint8(n_rows + uint8((rows_a[r] == value) & (rows_b[r] == label)))
                counts[i, j] += n_rows
                counts[i, last_b] -= n_rows
    for j in range(last_b + 1):
        counts[last_a, j] = totals[j]
        for i in range(last_a):
            counts[last_a, j] -= counts[i, j]
        for i in range(last_a + 1):
            table[i, j] += counts[i, j]


@jit(void(ro(int8), ro(int8), rw(float64, 2)))
def _count_by_increments(a, b, table):
    """Add the rows of two coded columns to a table; -1 counts in its last row or column."""
    n_a, n_b = table.shape
    # The first row and column count missing values, so that no row needs a decision.
    counts = np.zeros((_N_PARTS, n_a * n_b), dtype=np.int64)
    n_whole = a.shape[0] - a.shape[0] % _N_PARTS
    for start in range(0, n_whole, _N_PARTS):
        for part in range(_N_PARTS):
            counts[part, (int64(a[start + part]) + 1) * n_b + b[start + part] + 1] += 1
    for r in range(n_whole, a.shape[0]):
        counts[0, (int64(a[r]) + 1) * n_b + b[r] + 1] += 1
    for i in range(n_a):
        for j in range(n_b):
            total = 0
            for part in range(_N_PARTS):
                total += counts[part, i * n_b + j]
            table[i - 1, j - 1] += total


@jit(void(ro(int8, 2), ro(int8), ro(int64), ro(int64), int64, rw(float64)))
def count_columns(codes, labels, starts, sizes, n_labels, cells):
    """Add the rows of coded columns to their tables with the labels.

    Parameters
    ----------
    codes : array of shape (n_columns, n_rows)
        Codes 0 .. sizes[c] - 1 of column c, -1 for a missing value.
    labels : array of shape (n_rows,)
        Codes 0 .. n_labels - 1, -1 for a missing value.
    starts, sizes : arrays of shape (n_columns,)
    n_labels : int
    cells : array
        The table of column c, of shape (sizes[c] + 1, n_labels + 1), begins at cells[starts[c]].
    """
    totals = np.zeros(n_labels + 1, dtype=np.int64)
    for r in range(labels.shape[0]):
        totals[labels[r] if labels[r] >= 0 else n_labels] += 1
    # Without missing labels, no cell of theirs needs a count.
    n_present = n_labels + 1 if totals[n_labels] > 0 else n_labels
    for c in range(codes.shape[0]):
        shape = sizes[c] + 1, n_labels + 1
        table = cells[starts[c] : starts[c] + shape[0] * shape[1]].reshape(shape)
        if sizes[c] * n_present <= _MAX_COMPARED_CELLS:
            _count_by_comparison(codes[c], labels, totals[:n_present], table)
        else:
            _count_by_increments(codes[c], labels, table)
