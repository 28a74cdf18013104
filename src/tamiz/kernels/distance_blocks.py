"""Blocks of distances between queries and points: Euclidean distances of sparse rows, and Gower's dissimilarity of mixed rows.

Sparse rows are in CSR form with ascending columns. Their distances are computed from inner products where these are accurate,
and from the differences of the entries where products would cancel. The points are also stored by column (CSC), so that a query
visits only the entries in its own columns.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numba.types import boolean, float64, int32, int64, void

from tamiz.kernels import jit, ro, rw

# If |x|^2 + |y|^2 - 2 x.y is at least this share of |x|^2 + |y|^2, fewer than three binary digits cancel; otherwise the distance is
# computed from the differences of the entries.
CANCELLATION_SHARE = 0.125

# Rows in CSR form: indptr, columns, values, squared norm of each row.
CSR_ROWS = types.Tuple((ro(int64), ro(int32), ro(float64), ro(float64)))
# The same by column: indptr, rows, values; for each column its row in the array of dense columns, or -1; the dense columns.
CSC_COLUMNS = types.Tuple((ro(int64), ro(int32), ro(float64), ro(int32), ro(float64, 2)))


@jit(void(ro(int64), ro(float64), rw(float64)))
def sparse_squared_norms(indptr, data, out):
    """Fill out[i] with the squared norm of row i."""
    for i in range(out.shape[0]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * data[k]
        out[i] = total


@jit(void(ro(int64), ro(float64), rw(float64)))
def normalize_sparse_rows(indptr, data, out):
    """Fill out with the rows scaled to norm 1; a row of zeros stays as it is.

    A row is first scaled by a power of two so that its largest entry is near 1: no square overflows or underflows.
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
    """Return |x - y|^2 from the differences of the entries."""
    total, i, j = 0.0, 0, 0
    while i < x.shape[0] and j < y.shape[0]:
        if x_columns[i] == y_columns[j]:
            difference = x[i] - y[j]
            i += 1
            j += 1
        elif x_columns[i] < y_columns[j]:
            difference = x[i]
            i += 1
        else:
            difference = y[j]
            j += 1
        total += difference * difference
    while i < x.shape[0]:
        total += x[i] * x[i]
        i += 1
    while j < y.shape[0]:
        total += y[j] * y[j]
        j += 1
    return total


@jit(void(ro(int32), ro(float64), CSC_COLUMNS, rw(float64)))
def _add_products(x_columns, x, by_column, products):
    """Add the inner products of a row with every point, column by column."""
    indptr, rows, data, dense_index, dense_columns = by_column
    for k in range(x.shape[0]):
        value, column = x[k], x_columns[k]
        if dense_index[column] >= 0:
            dense_column = dense_columns[dense_index[column]]
            for j in range(products.shape[0]):
                products[j] += value * dense_column[j]
        else:
            for m in range(indptr[column], indptr[column + 1]):
                products[rows[m]] += value * data[m]


@jit(void(CSR_ROWS, int64, int64, CSR_ROWS, CSC_COLUMNS, boolean, rw(float64, 2)))
def sparse_distance_block(queries, start, stop, points, by_column, take_root, out):
    """Fill out[i - start, j] with |x_i - y_j| if `take_root`, else with |x_i - y_j|^2 / 2, for queries x and points y.

    The products of a pair are summed in the order of the columns: its distance has the same bits in every batch, and whichever of
    the two is the query.
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


# Points of a tile: their sums stay in the first-level cache while the columns are read.
TILE_SIZE = 512


@jit(void(ro(float64), float64, float64, rw(float64)))
def _add_differences(column, value, inverse_range, total):
    for j in range(column.shape[0]):
        difference = abs(column[j] - value) * inverse_range
        total[j] += difference if difference < 1.0 else 1.0


@jit(void(ro(float64), float64, float64, rw(float64), rw(float64)))
def _add_present_differences(column, value, inverse_range, total, count):
    """Add the differences in a column, and count those where both values are present."""
    for j in range(column.shape[0]):
        difference = abs(column[j] - value) * inverse_range
        capped = difference if difference < 1.0 else 1.0
        total[j] += capped if difference == difference else 0.0
        count[j] += 1.0 if difference == difference else 0.0


@jit(void(ro(float64, 2), int64, int64, ro(float64, 2), ro(float64), ro(boolean), rw(float64, 2)))
def gower_block(queries, start, stop, points, inverse_ranges, has_missing, out):
    """Fill out[i - start, j] with the mean over columns k of min(|queries[k, i] - points[k, j]| inverse_ranges[k], 1).

    Arrays have one row for each column of the table; NaN is missing, and the mean is over the columns where both values are
    present, 1 if there are none. The sum of a pair is in the order of the columns: it has the same bits in every batch, and
    whichever of the two is the query.
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
