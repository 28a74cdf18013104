"""Moments of columns by class, covariances of two columns, constant columns, and centring of rows."""

from __future__ import annotations

import numpy as np
from numba.types import float32, float64, int32, void

from tamiz.kernels import jit, ro, rw


@jit(
    [
        void(ro(float64, 2), ro(float64), rw(float64)),
        void(ro(float32, 2), ro(float32), rw(float32)),
    ]
)
def add_deviations(values, reference, total):
    """Add to total the sums of |value - reference| of each column: 0 for a constant column, NaN if a value is missing."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            total[j] += abs(values[i, j] - reference[j])


@jit(
    [
        void(ro(float64, 2), ro(float64), ro(float64), ro(float64), ro(float64), rw(float64, 2)),
        void(ro(float32, 2), ro(float32), ro(float32), ro(float32), ro(float32), rw(float32, 2)),
    ]
)
def centre_rows(rows, centre, centre_residual, scale, fill, out):
    """Fill out[i, j] with (rows[i, j] - centre[j] - centre_residual[j]) / scale[j].

    A missing value becomes fill[j]; columns of out beyond those of the rows become 0.

    One pass: the rows usually exceed the cache, and each operation of numpy would read them again.
    """
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = (rows[i, j] - centre[j] - centre_residual[j]) / scale[j]
            # Only NaN differs from itself.
            out[i, j] = fill[j] if value != value else value
        for j in range(rows.shape[1], out.shape[1]):
            out[i, j] = 0.0


@jit(void(ro(float64), ro(int32), ro(float64), rw(float64, 2)))
def class_moments(values, labels, weight, out):
    """Fill out, a row for each class, with weight, mean, weighted sum of squared deviations, minimum and maximum.

    NaN is ignored; a class without values has weight 0, mean 0, minimum +inf and maximum -inf. Sums are relative to the first
    value of the class: a large common part loses no digits, and equal values have a variance of exactly 0. The second pass
    corrects the squares for the rounding error of the mean.
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
            deviation = value - out[c, 1]
            out[c, 2] += weight[r] * deviation * deviation
            rest[c] += weight[r] * deviation
    for c in range(n_classes):
        if out[c, 0] > 0.0:
            out[c, 1] += rest[c] / out[c, 0]
            out[c, 2] = max(out[c, 2] - rest[c] * rest[c] / out[c, 0], 0.0)


@jit(void(ro(float64, 2), ro(int32), ro(float64), rw(float64, 3)))
def class_moments_of_rows(values, labels, weight, out):
    """Fill out[:, c, j] with the moments of column j in class c that `class_moments` fills, to the bit, for rows stored together.

    The inner loops run over columns, so that they vectorise, in tiles whose sums stay in the cache.
    """
    n_classes, n_columns = out.shape[1], out.shape[2]
    shift = np.zeros((n_classes, n_columns))
    rest = np.zeros((n_classes, n_columns))
    out[:3] = 0.0
    out[3], out[4] = np.inf, -np.inf
    for start in range(0, n_columns, 128):
        stop = min(start + 128, n_columns)
        for r in range(values.shape[0]):
            w, c, row = weight[r], labels[r], values[r, start:stop]
            if w > 0.0:
                total, mean, first = out[0, c, start:stop], out[1, c, start:stop], shift[c, start:stop]
                least, most = out[3, c, start:stop], out[4, c, start:stop]
                for j in range(row.shape[0]):
                    value = row[j]
                    # Only NaN differs from itself.
                    present = value == value
                    origin = value if present and total[j] == 0.0 else first[j]
                    first[j] = origin
                    total[j] += w if present else 0.0
                    mean[j] += w * (value - origin) if present else 0.0
                for j in range(row.shape[0]):
                    value = row[j]
                    least[j] = value if value < least[j] else least[j]
                    most[j] = value if value > most[j] else most[j]
        for c in range(n_classes):
            for j in range(start, stop):
                if out[0, c, j] > 0.0:
                    out[1, c, j] = shift[c, j] + out[1, c, j] / out[0, c, j]
        for r in range(values.shape[0]):
            w, c, row = weight[r], labels[r], values[r, start:stop]
            if w > 0.0:
                mean, squares, remainder = out[1, c, start:stop], out[2, c, start:stop], rest[c, start:stop]
                for j in range(row.shape[0]):
                    value = row[j]
                    deviation = value - mean[j] if value == value else 0.0
                    squares[j] += w * deviation * deviation
                    remainder[j] += w * deviation
    for c in range(n_classes):
        for j in range(n_columns):
            if out[0, c, j] > 0.0:
                out[1, c, j] += rest[c, j] / out[0, c, j]
                out[2, c, j] = max(out[2, c, j] - rest[c, j] * rest[c, j] / out[0, c, j], 0.0)


@jit(void(ro(float64), ro(float64), ro(float64), rw(float64)))
def paired_moments(a, b, weight, out):
    """Fill out with weight, means of a and b, squares of a, squares of b, and products, about the means.

    Only rows in which neither is NaN count. As in `class_moments`, sums are relative to the first values, and a second pass
    corrects the sums for the rounding errors of the means: equal values have squares of exactly 0.
    """
    for k in range(6):
        out[k] = 0.0
    shift_a, shift_b = 0.0, 0.0
    for r in range(a.shape[0]):
        if a[r] == a[r] and b[r] == b[r] and weight[r] > 0.0:
            if out[0] == 0.0:
                shift_a, shift_b = a[r], b[r]
            out[0] += weight[r]
            out[1] += weight[r] * (a[r] - shift_a)
            out[2] += weight[r] * (b[r] - shift_b)
    if out[0] == 0.0:
        return
    out[1] = shift_a + out[1] / out[0]
    out[2] = shift_b + out[2] / out[0]
    rest_a, rest_b = 0.0, 0.0
    for r in range(a.shape[0]):
        if a[r] == a[r] and b[r] == b[r] and weight[r] > 0.0:
            deviation_a, deviation_b = a[r] - out[1], b[r] - out[2]
            rest_a += weight[r] * deviation_a
            rest_b += weight[r] * deviation_b
            out[3] += weight[r] * deviation_a * deviation_a
            out[4] += weight[r] * deviation_b * deviation_b
            out[5] += weight[r] * deviation_a * deviation_b
    out[1] += rest_a / out[0]
    out[2] += rest_b / out[0]
    out[3] = max(out[3] - rest_a * rest_a / out[0], 0.0)
    out[4] = max(out[4] - rest_b * rest_b / out[0], 0.0)
    out[5] -= rest_a * rest_b / out[0]
