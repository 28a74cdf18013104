"""Majorisation of stress (SMACOF): Guttman steps over all pairs of rows, steps of rows towards anchors, and condensed matrices.

Pairs are stored once, row by row (condensed): the pair of row i and a later row j is `values[at(i) + j]`, with
at(i) = i n - i (i + 1) / 2 - i - 1. Points are the columns of an array (n_components, n), so that a row of pairs reads every
coordinate in memory order. A kernel handles the pairs of the rows start .. stop and adds to both rows of each pair, so blocks
of rows have separate sums.

`epsilon` is added to squared distances, so that no distance that is divided by is 0: coincident points exert no force on each
other.
"""

from __future__ import annotations

import math

import numpy as np
from numba.types import float32, float64, int64, void

from tamiz.kernels import jit, ro, rw

# Rows of a panel, over which loops vectorise: their intermediate results stay in the first-level cache.
PANEL_ROWS = 256
# Anchors of a batch.
_ANCHOR_BATCH = 16
# Metrics of dissimilarities: Euclidean distance, city-block distance, and half the squared Euclidean distance.
EUCLIDEAN, CITYBLOCK, HALF_SQUARES = 0, 1, 2
# Points with a smaller squared distance in the map coincide.
_COINCIDENT = np.float32(1e-30)


@jit(void(ro(float32, 2), ro(float32, 2), int64, rw(float32, 2)), reassociate=True)
def squared_dissimilarities(panel, anchors, metric, out):
    """Fill out[j] with the squared dissimilarities between the rows of a panel and anchor j.

    Columns are processed in groups of four for all anchors, so that a wide panel is read once; their number is a multiple of four.
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
    """Move the map coordinates of rows by `step_share` of the way to the mean of their target points, one for each anchor.

    The target point lies on the ray from the anchor to the row, at the dissimilarity of the two; if they coincide it is the
    anchor itself. Shapes: panels (g, columns, PANEL_ROWS), anchors (a, columns), map coordinates of the anchors (a, m), of the
    rows (g, m, PANEL_ROWS).
    """
    n_anchors, m = positions.shape
    target_squares, squares = (
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
            squared_dissimilarities(panels[g], anchors[first:last], metric, target_squares[: last - first])
            for j in range(first, last):
                squares[:] = np.float32(0.0)
                for k in range(m):
                    x = positions[j, k]
                    for i in range(PANEL_ROWS):
                        difference = out[g, k, i] - x
                        squares[i] += difference * difference
                for i in range(PANEL_ROWS):
                    is_apart = squares[i] > _COINCIDENT
                    ratio = math.sqrt(target_squares[j - first, i] / squares[i]) if is_apart else np.float32(0.0)
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


# Pairs of a chunk: their numbers stay in the first-level cache.
_CHUNK = 512


@jit(
    [
        float64(ro(float64), ro(float64, 2), int64, int64, float64, float64, float64, rw(float64, 2)),
        float64(ro(float32), ro(float32, 2), int64, int64, float32, float32, float32, rw(float32, 2)),
    ],
    reassociate=True,
)
def guttman_step_plane(values, points, start, stop, offset, slope, epsilon, out):
    """Add B(X) X to out for points in two dimensions, and return the sum of squared differences between disparities and distances.

    The disparity of a pair is offset + slope times its value. B has -disparity / distance off its diagonal, and rows that sum to 0.
    """
    n = points.shape[1]
    one = points.dtype.type(1)
    total = 0.0
    for i in range(start, stop):
        at = i * n - (i * (i + 1)) // 2
        x, y = points[0, i], points[1, i]
        xs, ys, to_x, to_y = points[0, i + 1 :], points[1, i + 1 :], out[0, i + 1 :], out[1, i + 1 :]
        pair_values = values[at : at + n - i - 1]
        part = points.dtype.type(0)
        from_x = points.dtype.type(0)
        from_y = points.dtype.type(0)
        for j in range(n - i - 1):
            dx, dy = xs[j] - x, ys[j] - y
            square = dx * dx + dy * dy + epsilon
            inverse = one / np.sqrt(square)
            disparity = offset + slope * pair_values[j]
            residual = disparity - square * inverse
            part += residual * residual
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
    """Do what `guttman_step_plane` does in any number of dimensions, with a weight for each pair; empty weights mean 1 each."""
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
            pair_values = values[at + first : at + last]
            # Separate loops write and sum: in one loop, the alignment of the arrays could change the order of a sum.
            for j in range(size):
                inverse = one / np.sqrt(square[j])
                disparity = offset + slope * pair_values[j]
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
    """Add V X to out, where V has -weight off its diagonal, and rows that sum to 0."""
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
    """Add to each point, over its pairs, (disparity - distance)^2 (out[0]) and squared distances (out[1]), by their weights."""
    m, n = points.shape
    residuals, squares = np.empty(_CHUNK), np.empty(_CHUNK)
    for i in range(start, stop):
        at = i * n - (i * (i + 1)) // 2 - i - 1
        for first in range(i + 1, n, _CHUNK):
            last = min(first + _CHUNK, n)
            size = last - first
            residual, square = residuals[:size], squares[:size]
            square[:] = 0.0
            for q in range(m):
                x, xs = float64(points[q, i]), points[q, first:last]
                for j in range(size):
                    dx = float64(xs[j]) - x
                    square[j] += dx * dx
            disparity = disparities[at + first : at + last]
            for j in range(size):
                residual[j] = (float64(disparity[j]) - np.sqrt(square[j])) ** 2
            if len(weights):
                weight = weights[at + first : at + last]
                for j in range(size):
                    residual[j] *= float64(weight[j])
                    square[j] *= float64(weight[j])
            for k, part in ((0, residual), (1, square)):
                to, row_sum = out[k, first:last], 0.0
                for j in range(size):
                    to[j] += part[j]
                for j in range(size):
                    row_sum += part[j]
                out[k, i] += row_sum


@jit(
    [
        void(ro(float64), ro(float64), ro(float64, 2), int64, int64, rw(float64)),
        void(ro(float32), ro(float32), ro(float32, 2), int64, int64, rw(float64)),
    ],
    reassociate=True,
)
def regression_sums(values, weights, points, start, stop, out):
    """Add the sums over pairs of distance (out[0]) and of value times distance (out[1]), by their weights."""
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
            pair_values = values[at + first : at + last]
            plain = points.dtype.type(0)
            times = points.dtype.type(0)
            if len(weights):
                weight = weights[at + first : at + last]
                for j in range(size):
                    d = weight[j] * np.sqrt(square[j])
                    plain += d
                    times += pair_values[j] * d
            else:
                for j in range(size):
                    d = np.sqrt(square[j])
                    plain += d
                    times += pair_values[j] * d
            out[0] += plain
            out[1] += times


@jit(
    [
        void(ro(float64), int64, int64, int64, rw(float64, 2)),
        void(ro(float32), int64, int64, int64, rw(float64, 2)),
    ]
)
def expand_condensed(values, n, start, stop, out):
    """Fill out with the rows start .. stop of the square matrix of a condensed one, 0 on the diagonal."""
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
    """Fill NaN distances of the rows start .. stop with the middle of the interval that the triangle inequality allows.

    Every `step`-th row is used as the third point. Distances without any third point stay NaN; their number is returned.
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
