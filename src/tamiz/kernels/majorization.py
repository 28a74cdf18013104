"""Sums over the pairs of points that majorisation of the stress is made of.

Pairs are held once, row by row: that of row i and a later row j is `values[at(i) + j]`, with at(i) = i n - i (i + 1) / 2 - i - 1.
Points are columns of an array (n_components, n), so that a row of pairs meets every coordinate in the order of memory. A kernel
takes the pairs of rows start .. stop, and adds to both ends of each: blocks of rows have sums of their own.

`tiny` is added to squared distances before their root is divided by: points at one place pull each other nowhere.
"""

from __future__ import annotations

import numpy as np
from numba.types import float32, float64, int32, int64, void

from tamiz.kernels import jit, ro, rw

# Pairs that are worked on at a time: their numbers stay in the first-level cache.
_CHUNK = 512


@jit(
    [
        float64(ro(float64), ro(float64, 2), int64, int64, float64, float64, float64, rw(float64, 2)),
        float64(ro(float32), ro(float32, 2), int64, int64, float32, float32, float32, rw(float32, 2)),
    ],
    reassociate=True,
)
def guttman_step_plane(values, points, start, stop, offset, slope, epsilon, out):
    """Add B(X) X to out for points of a plane, and return the sum of squared differences of disparities and distances.

    The disparity of a pair is offset + slope times its value; B has -disparity / distance off its diagonal, rows that sum to 0.
    """
    n = points.shape[1]
    one = points.dtype.type(1)
    total = 0.0
    for i in range(start, stop):
        at = i * n - (i * (i + 1)) // 2
        x, y = points[0, i], points[1, i]
        xs, ys, to_x, to_y = points[0, i + 1 :], points[1, i + 1 :], out[0, i + 1 :], out[1, i + 1 :]
        given = values[at : at + n - i - 1]
        part = points.dtype.type(0)
        from_x = points.dtype.type(0)
        from_y = points.dtype.type(0)
        for j in range(n - i - 1):
            dx, dy = xs[j] - x, ys[j] - y
            square = dx * dx + dy * dy + epsilon
            inverse = one / np.sqrt(square)
            disparity = offset + slope * given[j]
            gap = disparity - square * inverse
            part += gap * gap
            ratio = disparity * inverse
            tx, ty = ratio * dx, ratio * dy
            from_x += tx
            from_y += ty
            to_x[j] += tx
            to_y[j] += ty
        total += part
        out[0, i] -= from_x
        out[1, i] -= from_y
    return total


@jit(
    [
        float64(ro(float64), ro(float64), ro(float64, 2), int64, int64, float64, float64, float64, rw(float64, 2)),
        float64(ro(float32), ro(float32), ro(float32, 2), int64, int64, float32, float32, float32, rw(float32, 2)),
    ],
    reassociate=True,
)
def guttman_step(values, weights, points, start, stop, offset, slope, epsilon, out):
    """Do what `guttman_step_plane` does in any number of dimensions, each pair as often as its weight says; no weights count it once."""
    m, n = points.shape
    one = points.dtype.type(1)
    squares, ratios = np.empty(_CHUNK, dtype=points.dtype), np.empty(_CHUNK, dtype=points.dtype)
    total = 0.0
    for i in range(start, stop):
        at = i * n - (i * (i + 1)) // 2 - i - 1
        for first in range(i + 1, n, _CHUNK):
            last = min(first + _CHUNK, n)
            size = last - first
            square, ratio = squares[:size], ratios[:size]
            square[:] = epsilon
            for q in range(m):
                x, xs = points[q, i], points[q, first:last]
                for j in range(size):
                    dx = xs[j] - x
                    square[j] += dx * dx
            given = values[at + first : at + last]
            # What is written is not summed in the same loop: where arrays lie may then change the order of a sum.
            for j in range(size):
                inverse = one / np.sqrt(square[j])
                disparity = offset + slope * given[j]
                square[j] = disparity - square[j] * inverse
                ratio[j] = disparity * inverse
            part = points.dtype.type(0)
            if len(weights):
                weight = weights[at + first : at + last]
                for j in range(size):
                    part += weight[j] * square[j] * square[j]
                for j in range(size):
                    ratio[j] *= weight[j]
            else:
                for j in range(size):
                    part += square[j] * square[j]
            total += part
            for q in range(m):
                x, xs, to = points[q, i], points[q, first:last], out[q, first:last]
                for j in range(size):
                    square[j] = ratio[j] * (xs[j] - x)
                from_x = points.dtype.type(0)
                for j in range(size):
                    from_x += square[j]
                for j in range(size):
                    to[j] += square[j]
                out[q, i] -= from_x
    return total


@jit(
    [
        void(ro(float64), ro(float64, 2), int64, int64, rw(float64, 2)),
        void(ro(float32), ro(float32, 2), int64, int64, rw(float32, 2)),
    ],
    reassociate=True,
)
def apply_weights(weights, points, start, stop, out):
    """Add V X to out: V has -weight off its diagonal, and rows that sum to 0."""
    m, n = points.shape
    for i in range(start, stop):
        at = i * n - (i * (i + 1)) // 2
        weight = weights[at : at + n - i - 1]
        for q in range(m):
            x, xs, to = points[q, i], points[q, i + 1 :], out[q, i + 1 :]
            from_x = points.dtype.type(0)
            for j in range(n - i - 1):
                t = weight[j] * (xs[j] - x)
                from_x += t
                to[j] += t
            out[q, i] -= from_x


@jit(
    [
        void(ro(float64), ro(float64), ro(float64, 2), int64, int64, rw(float64, 2)),
        void(ro(float32), ro(float32), ro(float32, 2), int64, int64, rw(float64, 2)),
    ],
    reassociate=True,
)
def stress_per_point(disparities, weights, points, start, stop, out):
    """Add to each point, over its pairs, squared gaps of disparity and distance (out[0]) and squared distances (out[1])."""
    m, n = points.shape
    gaps, squares = np.empty(_CHUNK), np.empty(_CHUNK)
    for i in range(start, stop):
        at = i * n - (i * (i + 1)) // 2 - i - 1
        for first in range(i + 1, n, _CHUNK):
            last = min(first + _CHUNK, n)
            size = last - first
            gap, square = gaps[:size], squares[:size]
            square[:] = 0.0
            for q in range(m):
                x, xs = float64(points[q, i]), points[q, first:last]
                for j in range(size):
                    dx = float64(xs[j]) - x
                    square[j] += dx * dx
            disparity = disparities[at + first : at + last]
            for j in range(size):
                gap[j] = (float64(disparity[j]) - np.sqrt(square[j])) ** 2
            if len(weights):
                weight = weights[at + first : at + last]
                for j in range(size):
                    gap[j] *= float64(weight[j])
                    square[j] *= float64(weight[j])
            for k, part in ((0, gap), (1, square)):
                to, whole = out[k, first:last], 0.0
                for j in range(size):
                    to[j] += part[j]
                for j in range(size):
                    whole += part[j]
                out[k, i] += whole


@jit(
    [
        void(ro(float64), ro(float64), ro(float64, 2), int64, int64, rw(float64)),
        void(ro(float32), ro(float32), ro(float32, 2), int64, int64, rw(float64)),
    ],
    reassociate=True,
)
def regression_sums(values, weights, points, start, stop, out):
    """Add the sums over pairs of distance (out[0]) and of value times distance (out[1]), by their weights if there are any."""
    m, n = points.shape
    squares = np.empty(_CHUNK, dtype=points.dtype)
    for i in range(start, stop):
        at = i * n - (i * (i + 1)) // 2 - i - 1
        for first in range(i + 1, n, _CHUNK):
            last = min(first + _CHUNK, n)
            size = last - first
            square = squares[:size]
            square[:] = 0
            for q in range(m):
                x, xs = points[q, i], points[q, first:last]
                for j in range(size):
                    dx = xs[j] - x
                    square[j] += dx * dx
            given = values[at + first : at + last]
            plain = points.dtype.type(0)
            times = points.dtype.type(0)
            if len(weights):
                weight = weights[at + first : at + last]
                for j in range(size):
                    d = weight[j] * np.sqrt(square[j])
                    plain += d
                    times += given[j] * d
            else:
                for j in range(size):
                    d = np.sqrt(square[j])
                    plain += d
                    times += given[j] * d
            out[0] += plain
            out[1] += times


@jit([void(ro(float64), int64, rw(int32)), void(ro(float32), int64, rw(int32))])
def label_components(weights, n, labels):
    """Turn labels 0, 1, .., one a row, into the lowest row that each hangs together with by pairs with a weight."""
    for i in range(n):
        at = i * n - (i * (i + 1)) // 2 - i - 1
        for j in range(i + 1, n):
            if weights[at + j] > 0:
                a, b = i, j
                while labels[a] != a:
                    labels[a] = labels[labels[a]]
                    a = labels[a]
                while labels[b] != b:
                    labels[b] = labels[labels[b]]
                    b = labels[b]
                labels[max(a, b)] = min(a, b)
    for i in range(n):
        labels[i] = labels[labels[i]]


@jit([void(ro(float64, 2), float64, rw(float64)), void(ro(float64, 2), float64, rw(float32))])
def condense(block, unit, out):
    """Fill out with the numbers of rows and later ones over a unit; block[i, j] is that of row i and row j, which begin alike."""
    at = 0
    for i in range(block.shape[0]):
        for j in range(i + 1, block.shape[1]):
            out[at] = block[i, j] / unit
            at += 1


@jit(
    [
        void(ro(float64), int64, int64, int64, rw(float64, 2)),
        void(ro(float32), int64, int64, int64, rw(float64, 2)),
    ]
)
def expand_condensed(values, n, start, stop, out):
    """Fill out with the numbers of rows start .. stop and all rows, 0 for a row and itself."""
    for j in range(n):
        at = j * n - (j * (j + 1)) // 2 - j - 1
        for i in range(max(start, j + 1), stop):
            out[i - start, j] = values[at + i]
    for i in range(start, stop):
        at = i * n - (i * (i + 1)) // 2 - i - 1
        out[i - start, i] = 0.0
        for j in range(i + 1, n):
            out[i - start, j] = values[at + j]


@jit(int64(ro(float64, 2), int64, int64, int64, rw(float64, 2)))
def impute_by_triangle(distances, start, stop, step, out):
    """Fill distances of rows start .. stop that are NaN with the middle of what the triangle inequality leaves to them.

    Every `step`-th row is asked; returns how many distances none of them has a word on, which stay NaN.
    """
    n, left = len(distances), 0
    for i in range(start, stop):
        for j in range(n):
            if np.isnan(distances[i, j]):
                low, high = 0.0, np.inf
                for k in range(0, n, step):
                    a, b = distances[i, k], distances[j, k]
                    # Comparisons with NaN are false.
                    if a + b < high:
                        high = a + b
                    if abs(a - b) > low:
                        low = abs(a - b)
                if high < np.inf:
                    out[i, j] = (low + high) / 2
                else:
                    left += 1
    return left
