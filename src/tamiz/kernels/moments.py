"""Sums of a column by class: weight, mean, centred squares and extremes."""

from __future__ import annotations

import numpy as np
from numba.types import float32, float64, int32, void

from tamiz.kernels import jit, ro, rw


# MERGED: What there is in the columns of a matrix, read by rows as it lies in memory.
@jit(
    [
        void(ro(float64, 2), ro(float64), rw(float64)),
        void(ro(float32, 2), ro(float32), rw(float32)),
    ]
)
def add_deviations(values, reference, total):
    """Add to total how far each column's values lie from the first: 0 where they are all that, NaN where one is missing."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            total[j] += abs(values[i, j] - reference[j])


# MERGED: Coordinates of rows about a centre.
@jit(
    [
        void(ro(float64, 2), ro(float64), ro(float64), ro(float64), ro(float64), rw(float64, 2)),
        void(ro(float32, 2), ro(float32), ro(float32), ro(float32), ro(float32), rw(float32, 2)),
    ]
)
def centre_rows(rows, centre, centre_residual, scale, fill, out):
    """Fill out[i, j] with (rows[i, j] - centre[j] - rest[j]) / scale[j], and with fill[j] where the value is missing; what is
    wider than the rows with 0.

    One pass: rows are mostly larger than the cache, and every pass of numpy's would read them again.
    """
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = (rows[i, j] - centre[j] - centre_residual[j]) / scale[j]
            # NaN alone differs from itself.
            out[i, j] = fill[j] if value != value else value
        for j in range(rows.shape[1], out.shape[1]):
            out[i, j] = 0.0


@jit(void(ro(float64), ro(int32), ro(float64), rw(float64, 2)))
def class_moments(values, labels, weight, out):
    """Fill out, one row a class, with weight, mean, sum of weighted squares about the mean, least and largest value.

    NaN counts nowhere; a class without a value has weight 0, mean 0 and extremes of +inf and -inf. Sums are taken from
    the first value of the class, so that a large common part costs no digits and equal values have no variance; the
    second pass takes the rounding of the mean out of the squares.
    """
    n_classes = out.shape[0]
    shift = np.zeros(n_classes)
    rest = np.zeros(n_classes)
    for c in range(n_classes):
        out[c, 0] = out[c, 1] = out[c, 2] = 0.0
        out[c, 3], out[c, 4] = np.inf, -np.inf
    for r in range(values.shape[0]):
        value = values[r]
        if value == value and weight[r] > 0.0:
            c = labels[r]
            if out[c, 0] == 0.0:
                shift[c] = value
            out[c, 0] += weight[r]
            out[c, 1] += weight[r] * (value - shift[c])
            out[c, 3] = min(out[c, 3], value)
            out[c, 4] = max(out[c, 4], value)
    for c in range(n_classes):
        if out[c, 0] > 0.0:
            out[c, 1] = shift[c] + out[c, 1] / out[c, 0]
    for r in range(values.shape[0]):
        value = values[r]
        if value == value and weight[r] > 0.0:
            c = labels[r]
            gap = value - out[c, 1]
            out[c, 2] += weight[r] * gap * gap
            rest[c] += weight[r] * gap
    for c in range(n_classes):
        if out[c, 0] > 0.0:
            out[c, 1] += rest[c] / out[c, 0]
            out[c, 2] = max(out[c, 2] - rest[c] * rest[c] / out[c, 0], 0.0)
