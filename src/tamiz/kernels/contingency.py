"""Contingency tables of two columns, by counting and by bit sets, and the entropies of a table.

A table has one row and one column more than there are values: the last ones count missing values. Entropies are in bits.
Cost for n rows: counting needs n increments; bit sets need n / 64 population counts for each cell except those of the last row
and column, which follow from the margins. Counting is faster from about 16 values.

Tables of two columns within every class of a target cost no more: the bits of a column are stored class after class, each class
from the start of a word, so that one scan of the bits fills the tables of all classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import intrinsic
from numba.types import boolean, float64, int8, int16, int32, int64, uint8, uint16, uint64, void

from tamiz.kernels import jit, ro, rw


@intrinsic
def _popcount(typingctx: Any, word: Any) -> Any:  # noqa: ARG001 - numba passes the context
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return uint64(uint64), generate


@jit([void(ro(code), ro(code), ro(float64), rw(float64, 2)) for code in (int8, int16, int32)])
def add_pair_weights(a, b, weight, table):
    """Add the weights of the rows of two coded columns to a table; -1 counts in its last row or column."""
    last_a, last_b = table.shape[0] - 1, table.shape[1] - 1
    for r in range(a.shape[0]):
        i = a[r] if a[r] >= 0 else last_a
        j = b[r] if b[r] >= 0 else last_b
        table[i, j] += weight[r] if weight.shape[0] > 0 else 1.0


# Tables of up to this many cells are counted in several parts: an increment need not wait for one of the same cell before it.
_MAX_SMALL_CELLS, _N_PARTS = 2**10, 4


@jit([void(ro(code, 2), ro(code), ro(float64), ro(int64, 2), int64, rw(float64)) for code in (int8, int16, int32)])
def count_columns(codes, labels, weight, ends, n_labels, cells):
    """Add the rows, or their weights, to the tables of coded columns and the labels; -1 counts in the last row or column.

    `ends` are the first cell of each table and the end of its cells.
    """
    n_rows = labels.shape[0]
    for c in range(codes.shape[0]):
        a, n_a = codes[c], (ends[c, 1] - ends[c, 0]) // n_labels
        table = cells[ends[c, 0] : ends[c, 1]].reshape((n_a, n_labels))
        if weight.shape[0] > 0 or n_a * n_labels > _MAX_SMALL_CELLS:
            add_pair_weights(a, labels, weight, table)
            continue
        # The first row and column count missing values, so that no row needs a decision.
        counts = np.zeros((_N_PARTS, n_a * n_labels), dtype=np.int64)
        n_whole = n_rows - n_rows % _N_PARTS
        for start in range(0, n_whole, _N_PARTS):
            for part in range(_N_PARTS):
                counts[part, (int64(a[start + part]) + 1) * n_labels + labels[start + part] + 1] += 1
        for r in range(n_whole, n_rows):
            counts[0, (int64(a[r]) + 1) * n_labels + labels[r] + 1] += 1
        for i in range(n_a):
            for j in range(n_labels):
                table[i - 1, j - 1] += counts[:, i * n_labels + j].sum()


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


# What the counts of missing values are: a category, distributed over the cells, or left out.
AS_CATEGORY, DISTRIBUTED, LEFT_OUT = 0, 1, 2


@jit(float64(rw(float64, 2), int64))
def distribute_missing(table, rule):
    """Distribute the counts of missing values over the cells, in place, and return the total weight of the table.

    By the rule `AS_CATEGORY` they stay, and by `LEFT_OUT` only the rows with both values count. By `DISTRIBUTED`, a row with one
    missing value is distributed over the values of that column, in proportion to their counts in all rows where the column is
    present; a row with both missing is distributed over the cells in proportion to their counts. If no row has both values, the
    table is set to 0.
    """
    m, k = table.shape[0] - 1, table.shape[1] - 1
    total = 0.0
    for i in range(m + 1):
        for j in range(k + 1):
            total += table[i, j]
    if rule == AS_CATEGORY:
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
    if present > 0.0 and rule == DISTRIBUTED:
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


@jit(float64(rw(float64, 2), int64, rw(float64)))
def symmetric_uncertainty(table, rule, out):
    """Return the symmetric uncertainty of a table, 0 if both columns are constant; the table is changed."""
    total = distribute_missing(table, rule)
    entropies(table, total, out)
    both = out[0] + out[1]
    return min(2.0 * out[2] / both, 1.0) if both > 0.0 else 0.0


# Words of a block: the blocks of two columns of five values stay in the innermost cache.
_BLOCK_WORDS = 512


@jit([void(ro(code), ro(code), ro(float64), rw(float64, 2)) for code in (uint8, uint16)])
def count_class_weights(codes, labels, weight, table):
    """Add the weight of every row of a coded column to a table of its codes and the labels."""
    if weight.shape[0] > 0:
        for r in range(codes.shape[0]):
            table[int64(codes[r]), int64(labels[r])] += weight[r]
        return
    counted = np.zeros(table.shape, dtype=np.int64)
    for r in range(codes.shape[0]):
        counted[int64(codes[r]), int64(labels[r])] += 1
    for i in range(table.shape[0]):
        for y in range(table.shape[1]):
            table[i, y] += counted[i, y]


@jit([void(ro(code), ro(int64), rw(uint64, 2)) for code in (uint8, uint16)])
def pack_class_bits(codes, positions, words):
    """Set the bit positions[r] of the row codes[r] of `words` for every row r of a coded column."""
    for r in range(codes.shape[0]):
        words[int64(codes[r]), positions[r] >> 6] |= uint64(1) << uint64(positions[r] & 63)


@jit(void(rw(float64, 3), ro(float64), int64, rw(float64)))
def class_information(tables, class_weights, rule, out):
    """Fill out with I(A; B), I(A; B | Y), H(A, B | Y) and H(A) + H(B) of the tables of A and B in every class of Y.

    The tables are changed by the rule for missing values.
    """
    n_classes, m, k = tables.shape
    whole, found = np.zeros((m, k)), np.zeros(3)
    for y in range(n_classes):
        for i in range(m):
            for j in range(k):
                whole[i, j] += tables[y, i, j]
    entropies(whole, distribute_missing(whole, rule), found)
    out[0] = out[1] = found[2]
    out[3] = found[0] + found[1]
    out[2] = out[3] - found[2]
    if n_classes == 1:
        return
    out[1] = out[2] = 0.0
    total = 0.0
    for y in range(n_classes):
        entropies(tables[y], distribute_missing(tables[y], rule), found)
        out[1] += class_weights[y] * found[2]
        out[2] += class_weights[y] * (found[0] + found[1] - found[2])
        total += class_weights[y]
    if total > 0.0:
        out[1] /= total
        out[2] /= total


@jit(void(ro(uint64, 2), ro(uint64, 2), ro(int64), ro(float64, 2), ro(float64, 2), int64, int64, rw(float64, 3)))
def _fill_class_tables(words_a, words_b, class_words, counts_a, counts_b, last_a, last_b, tables):
    """Fill the tables of two columns, of the values 0 .. last_a and 0 .. last_b, in every class; the last ones by differences."""
    for y in range(tables.shape[0]):
        table = tables[y]
        for low in range(class_words[y], class_words[y + 1], _BLOCK_WORDS):
            high = min(low + _BLOCK_WORDS, class_words[y + 1])
            for i in range(last_a):
                a = words_a[i, low:high]
                for j in range(last_b):
                    b = words_b[j, low:high]
                    ones = uint64(0)
                    for w in range(high - low):
                        ones += _popcount(a[w] & b[w])
                    table[i, j] += ones
        for j in range(last_b + 1):
            table[last_a, j] = counts_b[j, y]
        for i in range(last_a):
            rest = counts_a[i, y]
            for j in range(last_b):
                rest -= table[i, j]
                table[last_a, j] -= table[i, j]
            table[i, last_b] = rest
            table[last_a, last_b] -= rest


@jit(
    void(
        *(ro(uint64, 2), ro(int64), ro(int64), ro(float64, 2), ro(float64), ro(int64)),
        *(ro(int64), ro(int64), int64, rw(float64, 2)),
    )
)
def pair_information_by_bits(words, word_starts, class_words, counts, class_weights, starts, first, second, rule, out):
    """Fill a row of out with the `class_information` of every pair of columns stored as bit sets.

    The values of column c, missing last, have the rows [starts[c], starts[c + 1]) of `counts`, their numbers in every class, and
    those that occur the rows [word_starts[c], word_starts[c + 1]) of `words`: one row less where no value is missing. The bits of
    class y are in the words [class_words[y], class_words[y + 1]).
    """
    for p in range(first.shape[0]):
        a, b = first[p], second[p]
        m, k = starts[a + 1] - starts[a], starts[b + 1] - starts[b]
        tables = np.zeros((class_weights.shape[0], m, k))
        words_a, words_b = words[word_starts[a] : word_starts[a + 1]], words[word_starts[b] : word_starts[b + 1]]
        counts_a, counts_b = counts[starts[a] : starts[a + 1]], counts[starts[b] : starts[b + 1]]
        last_a, last_b = words_a.shape[0] - 1, words_b.shape[0] - 1
        _fill_class_tables(words_a, words_b, class_words, counts_a, counts_b, last_a, last_b, tables)
        class_information(tables, class_weights, rule, out[p])


_CODED_PAIRS = ro(float64), ro(float64), ro(int64), ro(int64), ro(int64), int64, rw(float64, 2)


@jit([void(ro(code, 2), ro(code), *_CODED_PAIRS) for code in (uint8, uint16)])
def pair_information_by_counting(codes, labels, weight, class_weights, starts, first, second, rule, out):
    """As `pair_information_by_bits`, from coded rows."""
    for p in range(first.shape[0]):
        a, b = first[p], second[p]
        shape = (class_weights.shape[0], starts[a + 1] - starts[a], starts[b + 1] - starts[b])
        tables = np.zeros(shape)
        if weight.shape[0] > 0:
            for r in range(codes.shape[1]):
                tables[int64(labels[r]), int64(codes[a, r]), int64(codes[b, r])] += weight[r]
        else:
            counted = np.zeros(shape, dtype=np.int64)
            for r in range(codes.shape[1]):
                counted[int64(labels[r]), int64(codes[a, r]), int64(codes[b, r])] += 1
            for y in range(shape[0]):
                for i in range(shape[1]):
                    for j in range(shape[2]):
                        tables[y, i, j] = counted[y, i, j]
        class_information(tables, class_weights, rule, out[p])
