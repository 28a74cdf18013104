"""Sums over the pairs of points that majorisation of the stress is made of.

Pairs are held once, row by row: that of row i and a later row j is `values[at(i) + j]`, with at(i) = i n - i (i + 1) / 2 - i - 1.
Points are columns of an array (n_components, n), so that a row of pairs meets every coordinate in the order of memory. A kernel
takes the pairs of rows start .. stop, and adds to both ends of each: blocks of rows have sums of their own.

`tiny` is added to squared distances before their root is divided by: points at one place pull each other nowhere.
"""

from __future__ import annotations

import math

import numpy as np
from numba.types import float32, float64, int32, int64, void

from tamiz.kernels import jit, ro, rw

# MERGED: Rows drawn towards a few others, the anchors, by the step of majorisation that these alone would ask for.
# Rows of a panel, which vectorise: what is made of them stays in the first-level cache.
PANEL_ROWS = 256
# Anchors that a panel's rows are measured from at a time.
_ANCHOR_BATCH = 16
# What dissimilarities are: distances, sums of differences, or half of the squares.
EUCLIDEAN, CITYBLOCK, HALF_SQUARES = 0, 1, 2
# Below this squared distance in the map two places are one.
_COINCIDENT = np.float32(1e-30)


@jit(void(ro(float32, 2), ro(float32, 2), int64, rw(float32, 2)), reassociate=True)
def squared_dissimilarities(panel, anchors, metric, out):
    """Fill out[j] with the squared dissimilarities of a panel's rows from anchor j. Columns come in fours.

    Four columns of the panel are read for all anchors, so that a wide panel is read once.
    """
    out[:] = np.float32(0.0)
    for k in range(0, panel.shape[0], 4):
        for j in range(anchors.shape[0]):
            a, b, c, d = anchors[j, k], anchors[j, k + 1], anchors[j, k + 2], anchors[j, k + 3]
            if metric == CITYBLOCK:
                for i in range(PANEL_ROWS):
                    p, q = abs(panel[k, i] - a), abs(panel[k + 1, i] - b)
                    r, s = abs(panel[k + 2, i] - c), abs(panel[k + 3, i] - d)
                    out[j, i] += p + q + r + s
            else:
                for i in range(PANEL_ROWS):
                    p, q = panel[k, i] - a, panel[k + 1, i] - b
                    r, s = panel[k + 2, i] - c, panel[k + 3, i] - d
                    out[j, i] += p * p + q * q + r * r + s * s
    if metric == CITYBLOCK:
        for j in range(anchors.shape[0]):
            for i in range(PANEL_ROWS):
                out[j, i] *= out[j, i]
    elif metric == HALF_SQUARES:
        for j in range(anchors.shape[0]):
            for i in range(PANEL_ROWS):
                out[j, i] *= np.float32(0.25) * out[j, i]


@jit(void(ro(float32, 3), ro(float32, 2), ro(float32, 2), int64, float32, rw(float32, 3)), reassociate=True)
def move_towards_anchors(panels, anchors, positions, metric, step_share, out):
    """Move the places of rows by `step_share` of the way to the mean of those at which the anchors want them.

    An anchor wants a row at its dissimilarity, on the ray from the anchor to the row, and where it is itself when the two are at
    one place. Panels of shape (g, columns, PANEL), anchors (a, columns), their places (a, m), places of the rows (g, m, PANEL).
    """
    n_anchors, m = positions.shape
    wanted, squares = (
        np.empty((min(n_anchors, _ANCHOR_BATCH), PANEL_ROWS), np.float32),
        np.empty(PANEL_ROWS, np.float32),
    )
    ratios, sums = np.empty(PANEL_ROWS, np.float32), np.empty((m, PANEL_ROWS), np.float32)
    share = step_share / np.float32(n_anchors)
    for g in range(panels.shape[0]):
        ratios[:] = np.float32(0.0)
        sums[:] = np.float32(0.0)
        for first in range(0, n_anchors, _ANCHOR_BATCH):
            last = min(first + _ANCHOR_BATCH, n_anchors)
            squared_dissimilarities(panels[g], anchors[first:last], metric, wanted[: last - first])
            for j in range(first, last):
                squares[:] = np.float32(0.0)
                for k in range(m):
                    x = positions[j, k]
                    for i in range(PANEL_ROWS):
                        gap = out[g, k, i] - x
                        squares[i] += gap * gap
                for i in range(PANEL_ROWS):
                    is_apart = squares[i] > _COINCIDENT
                    ratio = math.sqrt(wanted[j - first, i] / squares[i]) if is_apart else np.float32(0.0)
                    squares[i] = ratio - np.float32(1.0)
                    ratios[i] += ratio - np.float32(1.0)
                for k in range(m):
                    x = positions[j, k]
                    for i in range(PANEL_ROWS):
                        sums[k, i] += squares[i] * x
        # The mean of x + ratio (y - x), less y, is the mean of (ratio - 1) (y - x).
        for k in range(m):
            for i in range(PANEL_ROWS):
                out[g, k, i] += share * (ratios[i] * out[g, k, i] - sums[k, i])


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
