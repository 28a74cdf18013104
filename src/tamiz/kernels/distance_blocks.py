"""Gower's dissimilarity: the mean difference of two rows over the columns that both have."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numba.types import boolean, float64, int32, int64, void

from tamiz.kernels import jit, ro, rw

# MERGED: Distances of sparse rows: products where they are exact enough, the entries side by side where they would cancel.
# MERGED:
# MERGED: Rows are in CSR form, the columns of each in order and once; the rows that are searched come by column too (CSC), so that a query
# MERGED: meets only the entries that it shares a column with.
# Of |x|^2 + |y|^2 - 2 x.y less than three binary digits cancel where this share of |x|^2 + |y|^2 is left; where less is, the
# differences are taken entry by entry.
CANCELLATION_SHARE = 0.125

# Rows in CSR form: indptr, columns, numbers, sum of squares of each row.
CSR_ROWS = types.Tuple((ro(int64), ro(int32), ro(float64), ro(float64)))
# The same by column: indptr, rows, numbers; which columns are held whole, at which row of the last.
CSC_COLUMNS = types.Tuple((ro(int64), ro(int32), ro(float64), ro(int32), ro(float64, 2)))


@jit(void(ro(int64), ro(float64), rw(float64)))
def sparse_squared_norms(indptr, data, out):
    """Fill out[i] with the sum of squares of row i."""
    for i in range(out.shape[0]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * data[k]
        out[i] = total


@jit(void(ro(int64), ro(float64), rw(float64)))
def normalize_sparse_rows(indptr, data, out):
    """Fill out with the rows at length 1; a row without a length stays as it is.

    The largest number of a row is brought near 1 by a power of two first, so that no square overflows or vanishes.
    """
    for i in range(indptr.shape[0] - 1):
        largest = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            largest = max(largest, abs(data[k]))
        factor = math.ldexp(1.0, -min(max(math.frexp(largest)[1], -1000), 1000))
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += (data[k] * factor) * (data[k] * factor)
        length = math.sqrt(total)
        for k in range(indptr[i], indptr[i + 1]):
            out[k] = data[k] * factor / length if length > 0.0 else data[k]


@jit(float64(ro(int32), ro(float64), ro(int32), ro(float64)))
def _squared_difference(x_columns, x, y_columns, y):
    """Return |x - y|^2, entry by entry."""
    total, i, j = 0.0, 0, 0
    while i < x.shape[0] and j < y.shape[0]:
        if x_columns[i] == y_columns[j]:
            gap = x[i] - y[j]
            i += 1
            j += 1
        elif x_columns[i] < y_columns[j]:
            gap = x[i]
            i += 1
        else:
            gap = y[j]
            j += 1
        total += gap * gap
    while i < x.shape[0]:
        total += x[i] * x[i]
        i += 1
    while j < y.shape[0]:
        total += y[j] * y[j]
        j += 1
    return total


@jit(void(ro(int32), ro(float64), CSC_COLUMNS, rw(float64)))
def _add_products(x_columns, x, by_column, products):
    """Add the products of a row with every point, column by column."""
    indptr, rows, data, place, full = by_column
    for k in range(x.shape[0]):
        value, column = x[k], x_columns[k]
        if place[column] >= 0:
            whole = full[place[column]]
            for j in range(products.shape[0]):
                products[j] += value * whole[j]
        else:
            for m in range(indptr[column], indptr[column + 1]):
                products[rows[m]] += value * data[m]


@jit(void(CSR_ROWS, int64, int64, CSR_ROWS, CSC_COLUMNS, boolean, rw(float64, 2)))
def sparse_distance_block(queries, start, stop, points, by_column, take_root, out):
    """Fill out[i - start, j] with |x_i - y_j|, or with |x_i - y_j|^2 / 2 unless rooted, for queries x and points y.

    A pair's products are summed in the order of the columns, so that it has the same bits whatever comes with it and whichever
    of the two is the query.
    """
    query_indptr, query_columns, query_data, query_squares = queries
    indptr, columns, data, squares = points
    n = squares.shape[0]
    products = np.zeros(n)
    for i in range(start, stop):
        mine = slice(query_indptr[i], query_indptr[i + 1])
        x_columns, x, square, row = query_columns[mine], query_data[mine], query_squares[i], out[i - start]
        _add_products(x_columns, x, by_column, products)
        near = 0
        for j in range(n):
            both = square + squares[j]
            left = both - 2.0 * products[j]
            near += left < CANCELLATION_SHARE * both
            row[j] = math.sqrt(left) if take_root else min(0.5 * left, 2.0)
        if near > 0:
            for j in range(n):
                both = square + squares[j]
                if both - 2.0 * products[j] < CANCELLATION_SHARE * both:
                    theirs = slice(indptr[j], indptr[j + 1])
                    left = _squared_difference(x_columns, x, columns[theirs], data[theirs])
                    row[j] = math.sqrt(left) if take_root else min(0.5 * left, 2.0)
        products[:] = 0.0


# Points whose sums stay in the first-level cache while the columns pass.
TILE_SIZE = 512


@jit(void(ro(float64), float64, float64, rw(float64)))
def _add_differences(column, value, inverse_range, total):
    """Add the difference in a column without gaps."""
    for j in range(column.shape[0]):
        gap = abs(column[j] - value) * inverse_range
        total[j] += gap if gap < 1.0 else 1.0


@jit(void(ro(float64), float64, float64, rw(float64), rw(float64)))
def _add_present_differences(column, value, inverse_range, total, count):
    """Add the difference in a column, and count it, where it is present."""
    for j in range(column.shape[0]):
        gap = abs(column[j] - value) * inverse_range
        capped = gap if gap < 1.0 else 1.0
        total[j] += capped if gap == gap else 0.0
        count[j] += 1.0 if gap == gap else 0.0


@jit(void(ro(float64, 2), int64, int64, ro(float64, 2), ro(float64), ro(boolean), rw(float64, 2)))
def gower_block(queries, start, stop, points, inverse_ranges, has_missing, out):
    """Fill out[i - start, j] with the mean over columns k of min(|queries[k, i] - points[k, j]| inverse[k], 1).

    One row a column; NaN is missing, and a column counts where both are present. No column in common: 1. A pair's sum runs
    over the columns in order, so that it has the same bits whatever comes with it and whichever of the two is the query.
    """
    n = points.shape[1]
    count = np.empty(TILE_SIZE)
    for first in range(0, n, TILE_SIZE):
        last = min(first + TILE_SIZE, n)
        width = last - first
        for i in range(start, stop):
            total = out[i - start, first:last]
            total[:] = 0.0
            count[:width] = 0.0
            always = 0.0
            for k in range(points.shape[0]):
                value = queries[k, i]
                if value == value:
                    if has_missing[k]:
                        _add_present_differences(points[k, first:last], value, inverse_ranges[k], total, count[:width])
                    else:
                        _add_differences(points[k, first:last], value, inverse_ranges[k], total)
                        always += 1.0
            for j in range(width):
                columns = always + count[j]
                total[j] = total[j] / columns if columns > 0.0 else 1.0
