"""Distances of rows for the Relief algorithms, the nearest rows of every class, and the differences of columns between near rows.

Values have a row for every column of the table, and NaN for a missing value. The difference of two values is |x - y| for numbers,
which are scaled to [0, 1], and 0 or 1 for codes of levels. If a value is missing, it depends on the kind of the column:

- `COMPLETE_NUMBER`, `COMPLETE_CODE`: no value is missing.
- `EXPECTED_NUMBER`: max(x, 1 - x) if only x is present, 1 if both are missing.
- `SKIPPED_NUMBER`: 0; the pair of rows does not count.
- `CODE`: a constant of the column, `missing_differences`.

The distance of two rows is the sum of the differences in the order of the columns: it has the same bits in every block of rows,
and whichever row is the first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.types import UniTuple, float64, int8, int64, void
from numpy.typing import NDArray

from tamiz.kernels import jit, record, ro, rw
from tamiz.kernels.primitives import TIE_WIDTH, distance_key

COMPLETE_NUMBER, COMPLETE_CODE, EXPECTED_NUMBER, SKIPPED_NUMBER, CODE = range(5)

# Rows and columns of a tile: its values, 256 KB, stay in the second-level cache, and the sums of one query in the first-level one.
_TILE_ROWS, _TILE_COLUMNS = 512, 64


class ScaledColumns(NamedTuple):
    """The columns of a table.

    Attributes
    ----------
    values : ndarray of shape (n_columns, n_rows)
    kinds : ndarray of shape (n_columns,), int8
    missing_differences : ndarray of shape (n_columns,)
        The difference where a value is missing, for columns of the kind `CODE`.
    """

    values: NDArray[np.float64]
    kinds: NDArray[np.int8]
    missing_differences: NDArray[np.float64]


_COLUMNS = record(ScaledColumns, ro(float64, 2), ro(int8), ro(float64))


@jit(float64(float64, float64, int64, float64))
def _difference(x, y, kind, missing_difference):
    if kind == COMPLETE_NUMBER:
        return abs(x - y)
    if x == x and y == y:
        return (1.0 if x != y else 0.0) if kind in (CODE, COMPLETE_CODE) else abs(x - y)
    if kind == CODE:
        return missing_difference
    if kind == SKIPPED_NUMBER:
        return 0.0
    present = x if x == x else y
    return max(present, 1.0 - present) if present == present else 1.0


@jit(void(float64, ro(float64), int64, float64, rw(float64)))
def _add_differences(x, column, kind, missing_difference, total):
    if kind == COMPLETE_NUMBER:
        for t in range(total.shape[0]):
            total[t] += abs(x - column[t])
    elif kind == COMPLETE_CODE:
        for t in range(total.shape[0]):
            total[t] += 1.0 if column[t] != x else 0.0
    else:
        for t in range(total.shape[0]):
            total[t] += _difference(x, column[t], kind, missing_difference)


@jit(void(_COLUMNS, int64, int64, int64, int64, int64, rw(float64)))
def _add_tile_distances(columns, i, first_column, end_column, first, last, total):
    """Add the differences between row i and the rows first : last, in some columns."""
    values, kinds, missing_differences = columns
    c = first_column
    while c < end_column:
        # Four columns together read and write the sums once; the order of the additions is the same.
        n_simple = 0
        while n_simple < 4 and c + n_simple < end_column and kinds[c + n_simple] == COMPLETE_NUMBER:
            n_simple += 1
        if n_simple < 4:
            _add_differences(values[c, i], values[c, first:last], kinds[c], missing_differences[c], total)
            c += 1
            continue
        x0, x1, x2, x3 = values[c, i], values[c + 1, i], values[c + 2, i], values[c + 3, i]
        column0, column1 = values[c, first:last], values[c + 1, first:last]
        column2, column3 = values[c + 2, first:last], values[c + 3, first:last]
        for t in range(last - first):
            two = (total[t] + abs(x0 - column0[t])) + abs(x1 - column1[t])
            total[t] = (two + abs(x2 - column2[t])) + abs(x3 - column3[t])
        c += 4


@jit(void(_COLUMNS, ro(int64), rw(float64, 2)))
def distance_block(columns, queries, distances):
    """Fill distances[b, t] with the distance between row queries[b] and row t."""
    n_columns, n = columns[0].shape
    for b in range(queries.shape[0]):
        for t in range(n):
            distances[b, t] = 0.0
    for first in range(0, n, _TILE_ROWS):
        last = min(first + _TILE_ROWS, n)
        for first_column in range(0, n_columns, _TILE_COLUMNS):
            end_column = min(first_column + _TILE_COLUMNS, n_columns)
            for b in range(queries.shape[0]):
                _add_tile_distances(
                    columns, queries[b], first_column, end_column, first, last, distances[b, first:last]
                )


@jit(void(ro(float64, 2), ro(int64), ro(int64), rw(int64, 3)))
def nearest_by_group(distances, queries, starts, nearest):
    """Fill nearest[b, g] with the rows nearest to row queries[b] in group g, the rows starts[g] : starts[g + 1].

    The nearest row comes first, of ties the lower one; after the last row of a small group there are -1.
    """
    n_neighbors = nearest.shape[2]
    best = np.empty(n_neighbors, np.int64)
    for b in range(queries.shape[0]):
        for g in range(starts.shape[0] - 1):
            rows = nearest[b, g]
            for t in range(n_neighbors):
                best[t], rows[t] = distance_key(np.inf), -1
            for i in range(starts[g], starts[g + 1]):
                key = distance_key(distances[b, i])
                if key < best[n_neighbors - 1] and i != queries[b]:
                    t = n_neighbors - 1
                    while t > 0 and best[t - 1] > key:
                        best[t], rows[t] = best[t - 1], rows[t - 1]
                        t -= 1
                    best[t], rows[t] = key, i


@jit(void(_COLUMNS, ro(int64), ro(int64, 2), ro(float64, 2), rw(float64)))
def add_neighbor_differences(columns, queries, neighbors, weights, totals):
    """Add the weighted differences between rows and their neighbours to totals, a sum for every column; -1 is no neighbour."""
    values, kinds, missing_differences = columns
    for c in range(values.shape[0]):
        total = 0.0
        for b in range(queries.shape[0]):
            x = values[c, queries[b]]
            for t in range(neighbors.shape[1]):
                if neighbors[b, t] >= 0:
                    y = values[c, neighbors[b, t]]
                    total += weights[b, t] * _difference(x, y, kinds[c], missing_differences[c])
        totals[c] += total


@jit(void(ro(int64), ro(float64), rw(float64, 2), rw(float64, 2)), reassociate=True)
def mark_near_rows(queries, weight, distances, near):
    """Fill near[b, t] with weight[t] if the distance of rows queries[b] and t is below the mean minus half the standard deviation.

    Weighted mean and standard deviation are over the other rows. Row queries[b] and rows at an infinite distance have weight 0.
    """
    n = distances.shape[1]
    for b in range(queries.shape[0]):
        row = distances[b]
        row[queries[b]] = np.inf
        count, total, squares = 0.0, 0.0, 0.0
        for t in range(n):
            finite = row[t] < np.inf
            count += weight[t] if finite else 0.0
            total += weight[t] * row[t] if finite else 0.0
        mean = total / count if count > 0.0 else 0.0
        for t in range(n):
            deviation = row[t] - mean if row[t] < np.inf else 0.0
            squares += weight[t] * deviation * deviation
        # Less by rounding errors: a row at the threshold is not near.
        threshold = (mean - 0.5 * np.sqrt(squares / count if count > 0.0 else 0.0)) * (1.0 - TIE_WIDTH)
        for t in range(n):
            near[b, t] = weight[t] if row[t] < threshold else 0.0


@jit(UniTuple(float64, 2)(float64, ro(float64), int64, ro(float64)), reassociate=True)
def _near_sum(x, column, kind, near):
    """Return the sum of the differences between x and the near rows in which the column has a value, and their weight."""
    total, count = 0.0, 0.0
    if kind == SKIPPED_NUMBER:
        for t in range(near.shape[0]):
            present = column[t] == column[t]
            total += near[t] * abs(x - column[t]) if present else 0.0
            count += near[t] if present else 0.0
    else:
        for t in range(near.shape[0]):
            present = column[t] == column[t]
            total += near[t] if present and column[t] != x else 0.0
            count += near[t] if present else 0.0
    return total, count


@jit(void(ro(float64, 2), int64, ro(int64), ro(float64), rw(float64)))
def _add_row_differences(numbers, i, near_rows, weight, sums):
    """Add the differences between row i and some rows, times the weights of these, to sums, one for every number."""
    x, k = numbers[i], 0
    while k + 4 <= near_rows.shape[0]:
        # Four rows together read and write the sums once.
        row0, row1 = numbers[near_rows[k]], numbers[near_rows[k + 1]]
        row2, row3 = numbers[near_rows[k + 2]], numbers[near_rows[k + 3]]
        w0, w1, w2, w3 = weight[k], weight[k + 1], weight[k + 2], weight[k + 3]
        for c in range(sums.shape[0]):
            two = w0 * abs(x[c] - row0[c]) + w1 * abs(x[c] - row1[c])
            sums[c] += two + (w2 * abs(x[c] - row2[c]) + w3 * abs(x[c] - row3[c]))
        k += 4
    while k < near_rows.shape[0]:
        row0 = numbers[near_rows[k]]
        for c in range(sums.shape[0]):
            sums[c] += weight[k] * abs(x[c] - row0[c])
        k += 1


@jit(
    void(
        _COLUMNS,
        ro(float64, 2),
        ro(int64),
        ro(int64),
        ro(float64),
        ro(float64, 2),
        ro(int64, 2),
        ro(int64, 2),
        ro(float64),
        rw(float64),
    )
)
def add_near_differences(columns, numbers, number_columns, queries, weight, near, bounds, groups, shares, totals):
    """Add the weighted mean difference to near misses minus that to near hits to totals, a weighted sum for every column.

    The rows bounds[b, s] : bounds[b, s + 1] are in the group groups[b, s], where group 0 is that of the hits. The means of the
    differences to the other groups are averaged in proportion to `shares`, over the groups that have near rows.

    `numbers` has the values of the columns `number_columns`, which are those of the kind `COMPLETE_NUMBER`, row by row: only near
    rows are read, about a third of all, and each by one vector operation for eight columns.
    """
    values, kinds, n_groups = columns[0], columns[1], shares.shape[0]
    n_columns, n = values.shape
    sums = np.zeros((queries.shape[0], n_groups, n_columns))
    counts = np.zeros((queries.shape[0], n_groups, n_columns))
    number_sums = np.zeros((queries.shape[0], n_groups, numbers.shape[1]))
    n_near = np.zeros((queries.shape[0], n_groups))
    near_rows, near_weight = np.empty(_TILE_ROWS, np.int64), np.empty(_TILE_ROWS)
    other_columns = np.flatnonzero(kinds != COMPLETE_NUMBER)
    for start in range(0, n, _TILE_ROWS):
        for b in range(queries.shape[0]):
            i = queries[b]
            for s in range(groups.shape[1]):
                g, first, last = groups[b, s], max(bounds[b, s], start), min(bounds[b, s + 1], start + _TILE_ROWS)
                found = 0
                for t in range(first, last):
                    near_rows[found], near_weight[found] = t, near[b, t]
                    n_near[b, g] += near[b, t]
                    found += 1 if near[b, t] > 0.0 else 0
                if found == 0:
                    continue
                _add_row_differences(numbers, i, near_rows[:found], near_weight[:found], number_sums[b, g])
                for c in other_columns:
                    one, count = _near_sum(values[c, i], values[c, first:last], kinds[c], near[b, first:last])
                    sums[b, g, c] += one
                    counts[b, g, c] += count
    for b in range(queries.shape[0]):
        for k in range(number_columns.shape[0]):
            for g in range(n_groups):
                sums[b, g, number_columns[k]], counts[b, g, number_columns[k]] = number_sums[b, g, k], n_near[b, g]
        for c in range(n_columns):
            # A row without a value counts for no difference of the column.
            if values[c, queries[b]] == values[c, queries[b]]:
                miss, share = 0.0, 0.0
                for g in range(1, n_groups):
                    if counts[b, g, c] > 0.0:
                        miss += shares[g] * sums[b, g, c] / counts[b, g, c]
                        share += shares[g]
                own = weight[queries[b]]
                totals[c] += own * (miss / share) if share > 0.0 else 0.0
                totals[c] -= own * (sums[b, 0, c] / counts[b, 0, c]) if counts[b, 0, c] > 0.0 else 0.0
