"""Contingency tables of weighted rows from columns that were coded once, and MDL cut points found in such tables.

A column is coded by *cells*: the ranks of its distinct values, or ranges of adjacent values if there are very many. A bootstrap
sample is a weight for each row, so its contingency tables are sums of weights by cell and class, and no value is sorted again.
"""

from __future__ import annotations

import numpy as np
from numba.types import float64, int32, int64, void

from tamiz.kernels import jit, ro, rw
from tamiz.kernels.primitives import n_log_n


@jit(void(ro(int32), ro(int32), ro(float64), rw(float64, 2)))
def count_cells(cells, labels, weight, table):
    """Add the weight of every row to the table, by its cell and class."""
    for r in range(cells.shape[0]):
        table[cells[r], labels[r]] += weight[r]


@jit(void(ro(float64), ro(int64), ro(float64), rw(float64, 2)), reassociate=True)
def grouped_moments(values, starts, weight, out):
    """Fill out, a row for each class, with weight, mean, weighted sum of squared deviations, minimum and maximum.

    Class c has the rows [starts[c], starts[c + 1]). Values are differences from a value of the column, so that the squares can be
    summed in one pass. NaN and rows of weight 0 are ignored. Equal values have a sum of squares of exactly 0. If values differ,
    minimum and maximum are NaN: finding them would cost more than the sums.
    """
    for c in range(out.shape[0]):
        start, stop = starts[c], starts[c + 1]
        while start < stop and not (values[start] == values[start] and weight[start] > 0.0):
            start += 1
        least, largest = np.inf, -np.inf
        if start < stop:
            least = largest = values[start]
        same = True
        for r in range(start, stop):
            if values[r] == values[r] and weight[r] > 0.0 and values[r] != least:
                same = False
                break
        total = 0.0
        first = 0.0
        second = 0.0
        for r in range(start, stop):
            present = values[r] == values[r]
            value = values[r] if present else 0.0
            w = weight[r] if present else 0.0
            total += w
            first += w * value
            second += w * value * value
        mean = first / total if total > 0.0 else 0.0
        out[c, 0] = total
        out[c, 1] = least if same and start < stop else mean
        out[c, 2] = 0.0 if same else max(second - first * mean, 0.0)
        out[c, 3] = least if same else np.nan
        out[c, 4] = largest if same else np.nan


@jit(float64(ro(float64, 2), int64, int64, ro(float64)))
def scaled_entropy(sums, first, last, log_table):
    """Return N log2 N - sum of n_c log2 n_c of the cells [first, last), with counts from cumulative sums."""
    total = 0.0
    inner = 0.0
    for c in range(sums.shape[1]):
        count = sums[last, c] - sums[first, c]
        total += count
        inner += n_log_n(count, log_table)
    return n_log_n(total, log_table) - inner


@jit(int64(ro(float64, 2), int64, int64))
def n_present(sums, first, last):
    """Return the number of classes that occur in the cells [first, last)."""
    n = 0
    for c in range(sums.shape[1]):
        if sums[last, c] > sums[first, c]:
            n += 1
    return n


@jit(int64(ro(float64, 2), ro(float64), ro(int64), ro(float64), int64, int64))
def find_cell_cut(sums, distinct, pure, log_table, first, last):
    """Return the cell after which MDL cuts the interval [first, last), or -1 if it accepts no cut."""
    n_classes = sums.shape[1]
    n = 0.0
    for c in range(n_classes):
        n += sums[last, c] - sums[first, c]
    before = scaled_entropy(sums, first, last, log_table)
    best = before
    at = -1
    for i in range(first + 1, last):
        # The best cut lies where the class changes (Fayyad and Irani 1992).
        if pure[i] >= 0 and pure[i] == pure[i - 1]:
            continue
        inner = 0.0
        inner_right = 0.0
        n_left = 0.0
        for c in range(n_classes):
            left = sums[i, c] - sums[first, c]
            n_left += left
            inner += n_log_n(left, log_table)
            inner_right += n_log_n(sums[last, c] - sums[i, c], log_table)
        after = (n_log_n(n_left, log_table) + n_log_n(n - n_left, log_table)) - (inner + inner_right)
        if after < best:
            best = after
            at = i
    if at < 0:
        return -1
    n_left = 0.0
    for c in range(n_classes):
        n_left += sums[at, c] - sums[first, c]
    k = n_present(sums, first, last)
    k_left, k_right = n_present(sums, first, at), n_present(sums, at, last)
    entropy_left = scaled_entropy(sums, first, at, log_table) / n_left
    entropy_right = scaled_entropy(sums, at, last, log_table) / (n - n_left)
    gain = (before - best) / n
    all_splits = np.log2(3.0**k - 2.0) if k < 600 else k * np.log2(3.0)
    delta = all_splits - (k * before / n - k_left * entropy_left - k_right * entropy_right)
    n_cuts = max(distinct[last] - distinct[first] - 1.0, 1.0)
    if gain > (np.log2(n_cuts) + delta) / n:
        return at - 1
    return -1


@jit(int64(ro(float64, 2), ro(float64), ro(float64), rw(int64)))
def mdl_cell_cuts(table, n_values, log_table, cuts):
    """Fill `cuts` with the cells after which MDL cuts a column, unsorted, and return their number.

    Parameters
    ----------
    table : array of shape (n_cells, n_classes)
        Weight of every cell and class. Cells of weight 0 are skipped.
    n_values : array of shape (n_cells,)
        Distinct values in every cell: the number of possible cuts between them enters the description length.
    log_table : array
        n log2 n of whole numbers; empty if weights are not whole numbers.
    cuts : array of shape (n_cells,)
    """
    n_cells, n_classes = table.shape
    sums = np.zeros((n_cells + 1, n_classes))
    distinct = np.zeros(n_cells + 1)
    pure = np.empty(n_cells, dtype=np.int64)
    cell = np.empty(n_cells, dtype=np.int64)
    n = 0
    for i in range(n_cells):
        n_here = 0
        only = -1
        for c in range(n_classes):
            sums[n + 1, c] = sums[n, c] + table[i, c]
            if table[i, c] > 0.0:
                n_here += 1
                only = c
        if n_here > 0:
            pure[n] = only if n_here == 1 else -1
            cell[n] = i
            distinct[n + 1] = distinct[n] + n_values[i]
            n += 1
    n_cuts = 0
    # A stack of intervals; each cut adds one interval.
    stack = np.empty((n + 1, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1], n_stacked = 0, n, 1
    while n_stacked > 0:
        n_stacked -= 1
        first, last = stack[n_stacked, 0], stack[n_stacked, 1]
        if last - first < 2:
            continue
        at = find_cell_cut(sums, distinct, pure, log_table, first, last)
        if at >= 0:
            cuts[n_cuts] = cell[at]
            n_cuts += 1
            stack[n_stacked, 0], stack[n_stacked, 1] = first, at + 1
            stack[n_stacked + 1, 0], stack[n_stacked + 1, 1] = at + 1, last
            n_stacked += 2
    return n_cuts


_TABLES = int64(
    ro(int32, 2), ro(int64), ro(float64), ro(int32), ro(float64), int64, ro(float64), rw(int64), rw(float64, 2)
)


@jit(_TABLES)
def mdl_tables(codes, n_cells, n_values, labels, weight, n_classes, log_table, starts, tables):
    """Fill `tables` with the contingency tables of columns, discretized by MDL, and classes; return the number of rows.

    Parameters
    ----------
    codes : array of shape (n_columns, n_rows)
        The cell of every row; n_cells for a missing value.
    n_cells : array of shape (n_columns,)
    n_values : array
        Distinct values of every cell, one column after the other.
    labels, weight : arrays of shape (n_rows,)
    log_table : array
        As in `mdl_cell_cuts`.
    starts : array of shape (n_columns + 1,)
        Filled with the first row of every table; its last row and column count missing values.
    tables : array of shape (sum of n_cells + 2, n_classes + 1)
    """
    most = 0
    for n in n_cells:
        most = max(most, n)
    counts = np.empty((most + 1, n_classes))
    expected = np.empty(most)
    cuts = np.empty(max(most, 1), dtype=np.int64)
    first_value = 0
    row = 0
    for j in range(codes.shape[0]):
        n = n_cells[j]
        for i in range(n + 1):
            for c in range(n_classes):
                counts[i, c] = 0.0
        count_cells(codes[j], labels, weight, counts)
        for i in range(n):
            expected[i] = n_values[first_value + i]
            if expected[i] > 1.0:
                # Of D values, w random draws are expected to include D (1 - exp(-w / D)).
                rows = 0.0
                for c in range(n_classes):
                    rows += counts[i, c]
                expected[i] *= 1.0 - np.exp(-rows / expected[i])
        first_value += n
        n_cuts = mdl_cell_cuts(counts[:n], expected[:n], log_table, cuts)
        # Insertion sort: there are few cuts.
        for k in range(1, n_cuts):
            cut, position = cuts[k], k
            while position > 0 and cuts[position - 1] > cut:
                cuts[position] = cuts[position - 1]
                position -= 1
            cuts[position] = cut
        starts[j] = row
        for k in range(row, row + n_cuts + 2):
            for c in range(tables.shape[1]):
                tables[k, c] = 0.0
        at = 0
        for i in range(n):
            for c in range(n_classes):
                tables[row, c] += counts[i, c]
            if at < n_cuts and cuts[at] == i:
                at += 1
                row += 1
        for c in range(n_classes):
            tables[row + 1, c] = counts[n, c]
        row += 2
    starts[codes.shape[0]] = row
    return row
