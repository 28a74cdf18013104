"""Contingency tables of two columns, by counting and by bit sets, and the entropies of a table.

A table has one row and one column more than there are values: the last ones count missing values. Entropies are in bits.
Cost for n rows: counting needs n increments; bit sets need n / 64 population counts for each cell except those of the last row
and column, which follow from the margins. Counting is faster from about 16 values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.types import boolean, float64, int32, int64, uint8, uint16, uint64, void

from tamiz.kernels import jit, ro, rw


@intrinsic
def _popcount(typingctx: Any, word: Any) -> Any:  # noqa: ARG001 - numba passes the context
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return uint64(uint64), generate


@jit(void(ro(int32), ro(int32), rw(int64, 2)))
def count_pairs(a, b, table):
    """Add the rows of two coded columns to a table; -1 counts in its last row or column."""
    last_a, last_b = table.shape[0] - 1, table.shape[1] - 1
    for r in range(a.shape[0]):
        i = a[r] if a[r] >= 0 else last_a
        j = b[r] if b[r] >= 0 else last_b
        table[i, j] += 1


@jit(void(ro(int32), ro(int32), ro(float64), rw(float64, 2)))
def add_pair_weights(a, b, weight, table):
    """Add the weights of the rows of two coded columns to a table; -1 counts in its last row or column."""
    last_a, last_b = table.shape[0] - 1, table.shape[1] - 1
    for r in range(a.shape[0]):
        i = a[r] if a[r] >= 0 else last_a
        j = b[r] if b[r] >= 0 else last_b
        table[i, j] += weight[r]


@jit(void(ro(float64), ro(float64), rw(int32)))
def bin_values(values, edges, codes):
    """Code numbers by ascending edges: a value equal to an edge belongs to the interval on its left, NaN is -1."""
    for r in range(values.shape[0]):
        value = values[r]
        if value != value:
            codes[r] = -1
            continue
        low, high = 0, edges.shape[0]
        while low < high:
            middle = (low + high) // 2
            if value <= edges[middle]:
                high = middle
            else:
                low = middle + 1
        codes[r] = low


def _pack_bits(codes, words):
    for r in range(codes.shape[0]):
        words[int64(codes[r]), r >> 6] |= uint64(1) << uint64(r & 63)


pack_bits_8 = jit(void(ro(uint8), rw(uint64, 2)))(_pack_bits)
pack_bits_16 = jit(void(ro(uint16), rw(uint64, 2)))(_pack_bits)


@jit(float64(rw(float64, 2), boolean))
def distribute_missing(table, distribute):
    """Distribute the counts of missing values over the cells, in place, and return the total weight of the table.

    A row with one missing value is distributed over the values of that column, in proportion to their counts in all rows where the
    column is present; a row with both missing is distributed over the cells in proportion to their counts. If no row has both
    values, the table is set to 0.
    """
    m, k = table.shape[0] - 1, table.shape[1] - 1
    total = 0.0
    for i in range(m + 1):
        for j in range(k + 1):
            total += table[i, j]
    if not distribute:
        return total
    present = 0.0
    rows = np.zeros(m)
    columns = np.zeros(k)
    for i in range(m):
        for j in range(k):
            present += table[i, j]
            rows[i] += table[i, j]
            columns[j] += table[i, j]
    if present == total:
        return total
    if present > 0.0:
        for i in range(m):
            rows[i] += table[i, k]
        for j in range(k):
            columns[j] += table[m, j]
        all_rows, all_columns = rows.sum(), columns.sum()
        both = 1.0 + table[m, k] / present
        for i in range(m):
            for j in range(k):
                table[i, j] = (
                    table[i, j] * both + rows[i] / all_rows * table[m, j] + columns[j] / all_columns * table[i, k]
                )
    for i in range(m + 1):
        table[i, k] = 0.0
    for j in range(k + 1):
        table[m, j] = 0.0
    # Summed again: with the sum from before, rounding alone would give a constant column an entropy above 0.
    shared = 0.0
    for i in range(m):
        for j in range(k):
            shared += table[i, j]
    return shared if present > 0.0 else 0.0


@jit(void(ro(float64, 2), float64, rw(float64)))
def entropies(table, total, out):
    """Fill out with H(A), H(B) and I(A; B) of a table of counts with the given total, in bits.

    I(A; B) is a sum of count * log2 (observed / expected): exactly 0 if every cell equals its expected count, where a difference of
    entropies would be a rounding error.
    """
    out[0] = out[1] = out[2] = 0.0
    if total <= 0.0:
        return
    m, k = table.shape
    columns = np.zeros(k)
    rows = np.zeros(m)
    for i in range(m):
        for j in range(k):
            rows[i] += table[i, j]
            columns[j] += table[i, j]
    for i in range(m):
        if rows[i] > 0.0:
            out[0] += rows[i] * np.log2(total / rows[i])
    for j in range(k):
        if columns[j] > 0.0:
            out[1] += columns[j] * np.log2(total / columns[j])
    for i in range(m):
        for j in range(k):
            if table[i, j] > 0.0:
                out[2] += table[i, j] * np.log2(table[i, j] * total / (rows[i] * columns[j]))
    for e in range(3):
        out[e] = max(out[e] / total, 0.0)


@jit(void(rw(float64, 2), boolean, rw(float64)))
def table_entropies(table, distribute, out):
    """Fill out with H(A), H(B) and I(A; B), after distributing missing values if `distribute`; the table is changed."""
    total = distribute_missing(table, distribute)
    entropies(table, total, out)


@jit(void(ro(float64, 2), ro(int64), boolean, rw(float64, 2)))
def stacked_entropies(tables, starts, distribute, out):
    """Fill a row of `out` with H(A), H(B) and I(A; B) of every table, the rows [starts[t], starts[t + 1]) of `tables`."""
    for t in range(out.shape[0]):
        first, n_rows = starts[t], starts[t + 1] - starts[t]
        table = np.empty((n_rows, tables.shape[1]))
        for i in range(n_rows):
            for j in range(tables.shape[1]):
                table[i, j] = tables[first + i, j]
        table_entropies(table, distribute, out[t])


@jit(float64(rw(float64, 2), boolean, rw(float64)))
def symmetric_uncertainty(table, distribute, out):
    """Return the symmetric uncertainty of a table, 0 if both columns are constant; the table is changed."""
    total = distribute_missing(table, distribute)
    entropies(table, total, out)
    both = out[0] + out[1]
    return min(2.0 * out[2] / both, 1.0) if both > 0.0 else 0.0


_BIT_PAIRS = void(
    ro(uint64, 2), ro(int64), ro(int64), ro(int64), ro(boolean), ro(int64), ro(int64), boolean, rw(float64)
)


@jit(_BIT_PAIRS)
def uncertainties_by_bits(words, starts, sizes, counts, has_missing, first, second, distribute, out):
    """Fill out with the symmetric uncertainties of pairs of columns stored as bit sets.

    Column c has `sizes[c]` bit sets, one for each value (missing last if `has_missing[c]`), in consecutive rows of `words` from
    `starts[c]`; `counts` is the number of ones of each row of `words`.
    """
    scratch = np.zeros(3)
    for p in range(first.shape[0]):
        a, b = first[p], second[p]
        m, k = sizes[a], sizes[b]
        # A column without missing values gets a row or column of zeros for them.
        table = np.zeros((m + (0 if has_missing[a] else 1), k + (0 if has_missing[b] else 1)))
        for j in range(k):
            table[m - 1, j] = counts[starts[b] + j]
        for i in range(m - 1):
            rest = counts[starts[a] + i]
            for j in range(k - 1):
                ones = uint64(0)
                for w in range(words.shape[1]):
                    ones += _popcount(words[starts[a] + i, w] & words[starts[b] + j, w])
                table[i, j] = ones
                rest -= int64(ones)
                table[m - 1, j] -= ones
            table[i, k - 1] = rest
            table[m - 1, k - 1] -= rest
        out[p] = symmetric_uncertainty(table, distribute, scratch)


def _uncertainties_by_counting(codes, weight, sizes, first, second, distribute, out):
    scratch = np.zeros(3)
    weighted = weight.shape[0] > 0
    for p in range(first.shape[0]):
        a, b = first[p], second[p]
        table = np.zeros((sizes[a] + 1, sizes[b] + 1))
        if weighted:
            for r in range(codes.shape[1]):
                table[int64(codes[a, r]), int64(codes[b, r])] += weight[r]
        else:
            counted = np.zeros((sizes[a] + 1, sizes[b] + 1), dtype=np.int64)
            for r in range(codes.shape[1]):
                counted[int64(codes[a, r]), int64(codes[b, r])] += 1
            for i in range(table.shape[0]):
                for j in range(table.shape[1]):
                    table[i, j] = counted[i, j]
        out[p] = symmetric_uncertainty(table, distribute, scratch)


def _make_counting_kernel(code: types.Type) -> Any:
    signature = void(ro(code, 2), ro(float64), ro(int64), ro(int64), ro(int64), boolean, rw(float64))
    return jit(signature)(_uncertainties_by_counting)


uncertainties_by_counting_8 = _make_counting_kernel(uint8)
uncertainties_by_counting_16 = _make_counting_kernel(uint16)
