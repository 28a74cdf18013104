"""Moments of columns by class, covariances of two columns, constant columns, and centring of rows."""

from __future__ import annotations

import numpy as np
from numba.types import float32, float64, int32, int64, void

from tamiz.kernels import jit, ro, rw

_LARGEST_INTEGER = np.int64(2**63 - 1)


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


@jit(void(ro(int32), rw(int64), rw(int64)))
def sort_by_class(labels, order, starts):
    """Fill `order` with the rows of class 0, then those of class 1 and so on, and `starts` with the position of the first of each.

    `starts` has one more element than there are classes: class c has the rows order[starts[c] : starts[c + 1]], ascending.
    """
    n_classes = starts.shape[0] - 1
    for c in range(n_classes + 1):
        starts[c] = 0
    for r in range(labels.shape[0]):
        starts[labels[r] + 1] += 1
    for c in range(n_classes):
        starts[c + 1] += starts[c]
    free = np.empty(n_classes, dtype=np.int64)
    for c in range(n_classes):
        free[c] = starts[c]
    for r in range(labels.shape[0]):
        order[free[labels[r]]] = r
        free[labels[r]] += 1


@jit(void(ro(float64), ro(float64), rw(float64)), reassociate=True)
def _moments(values, weight, out):
    """Fill out with weight, mean, weighted sum of squared deviations, minimum and maximum, as `class_moments` for one class."""
    out[0] = out[1] = out[2] = 0.0
    out[3], out[4] = np.inf, -np.inf
    first = 0
    while first < values.shape[0] and not (values[first] == values[first] and weight[first] > 0.0):
        first += 1
    if first == values.shape[0]:
        return
    shift = values[first]
    total, mean = 0.0, 0.0
    # Loads before decisions: otherwise LLVM does not vectorise the loops.
    for r in range(values.shape[0]):
        value, w = values[r], weight[r]
        w = w if value == value else 0.0
        deviation = value - shift if value == value else 0.0
        total += w
        mean += w * deviation
    mean = shift + mean / total
    squares, rest = 0.0, 0.0
    for r in range(values.shape[0]):
        value, w = values[r], weight[r]
        deviation = value - mean if value == value else 0.0
        squares += w * deviation * deviation
        rest += w * deviation
    out[0], out[1], out[2] = total, mean + rest / total, max(squares - rest * rest / total, 0.0)
    # Extremes of integers vectorise and those of floats do not. The bits of floats, the sign apart from negative ones inverted,
    # are integers in the same order.
    bits = values.view(np.int64)
    least, largest = _LARGEST_INTEGER, -_LARGEST_INTEGER
    for r in range(values.shape[0]):
        value, w, integer = values[r], weight[r], bits[r]
        integer ^= (integer >> 63) & _LARGEST_INTEGER
        counts = (value == value) & (w > 0.0)
        least = min(least, integer if counts else _LARGEST_INTEGER)
        largest = max(largest, integer if counts else -_LARGEST_INTEGER)
    extremes = out[3:].view(np.int64)
    extremes[0] = least ^ ((least >> 63) & _LARGEST_INTEGER)
    extremes[1] = largest ^ ((largest >> 63) & _LARGEST_INTEGER)


@jit(void(ro(float64), ro(int64), ro(int64), ro(float64), rw(float64, 2)))
def class_moments(values, order, starts, weight, out):
    """Fill out, a row for each class, with weight, mean, weighted sum of squared deviations, minimum and maximum.

    NaN is ignored; a class without values has weight 0, mean 0, minimum +inf and maximum -inf. Sums are relative to the first
    value of the class: a large common part loses no digits, and equal values have a variance of exactly 0. The second pass
    corrects the squares for the rounding error of the mean.

    Parameters
    ----------
    values : array of shape (n_rows,)
    order, starts : arrays of shapes (n_rows,) and (n_classes + 1,)
        From `sort_by_class`. The sums of a class vectorise if its values are next to each other.
    weight : array of shape (n_rows,)
        In the order of `order`.
    out : array of shape (n_classes, 5)
    """
    by_class = np.empty_like(values)
    for r in range(values.shape[0]):
        by_class[r] = values[order[r]]
    for c in range(out.shape[0]):
        _moments(by_class[starts[c] : starts[c + 1]], weight[starts[c] : starts[c + 1]], out[c])


@jit(void(ro(float64), ro(float64), ro(float64), rw(float64)), reassociate=True)
def paired_moments(a, b, weight, out):
    """Fill out with weight, means of a and b, squares of a, squares of b, and products, about the means.

    Only rows in which neither is NaN count. As in `class_moments`, sums are relative to the first values, and a second pass
    corrects the sums for the rounding errors of the means: equal values have squares of exactly 0.
    """
    for k in range(6):
        out[k] = 0.0
    first = 0
    while first < a.shape[0] and not (a[first] == a[first] and b[first] == b[first] and weight[first] > 0.0):
        first += 1
    if first == a.shape[0]:
        return
    shift_a, shift_b = a[first], b[first]
    total, mean_a, mean_b = 0.0, 0.0, 0.0
    for r in range(a.shape[0]):
        x, y, w = a[r], b[r], weight[r]
        present = (x == x) & (y == y)
        w = w if present else 0.0
        total += w
        mean_a += w * (x - shift_a if present else 0.0)
        mean_b += w * (y - shift_b if present else 0.0)
    mean_a, mean_b = shift_a + mean_a / total, shift_b + mean_b / total
    rest_a, rest_b, squares_a, squares_b, products = 0.0, 0.0, 0.0, 0.0, 0.0
    for r in range(a.shape[0]):
        x, y, w = a[r], b[r], weight[r]
        present = (x == x) & (y == y)
        deviation_a, deviation_b = x - mean_a if present else 0.0, y - mean_b if present else 0.0
        rest_a += w * deviation_a
        rest_b += w * deviation_b
        squares_a += w * deviation_a * deviation_a
        squares_b += w * deviation_b * deviation_b
        products += w * deviation_a * deviation_b
    out[0], out[1], out[2] = total, mean_a + rest_a / total, mean_b + rest_b / total
    out[3] = max(squares_a - rest_a * rest_a / total, 0.0)
    out[4] = max(squares_b - rest_b * rest_b / total, 0.0)
    out[5] = products - rest_a * rest_b / total
