"""Gower's dissimilarity: the mean difference of two rows over the columns that both have."""

from __future__ import annotations

import numpy as np
from numba.types import boolean, float64, int64, void

from tamiz.kernels import jit, ro, rw

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
