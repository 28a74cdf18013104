"""Majorisation of stress (SMACOF): Guttman steps over all pairs of rows, steps of rows towards anchors, and condensed matrices.

Pairs are stored once, row by row (condensed): the pair of row i and a later row j is `values[at(i) + j]`, with
at(i) = i n - i (i + 1) / 2 - i - 1. Points are the columns of an array (n_components, n), so that a row of pairs reads every
coordinate in memory order. A kernel handles the pairs of the rows start .. stop and adds to both rows of each pair, so blocks
of rows have separate sums.

`epsilon` is added to squared distances, so that no distance that is divided by is 0: coincident points exert no force on each
other.

The out-of-sample extension minimises, for each new row, the sum over fixed points of (delta - d)^2; each row is computed in its own
unit, so that no square overflows.
"""

from __future__ import annotations

import math

import numpy as np
from numba.types import boolean, float32, float64, int64, void

from tamiz.kernels import jit, ro, rw

# Rows of a panel, over which loops vectorise: their intermediate results stay in the first-level cache.
PANEL_ROWS = 256
# Anchors of a batch.
_ANCHOR_BATCH = 16
# Metrics of dissimilarities: Euclidean distance, city-block distance, and half the squared Euclidean distance.
EUCLIDEAN, CITYBLOCK, HALF_SQUARES = 0, 1, 2
# Points with a smaller squared distance in the map coincide.
_COINCIDENT = np.float32(1e-30)
# Pairs of a chunk: their numbers stay in the first-level cache.
_CHUNK = 512
# Points of a chunk: their intermediate results stay in the first-level cache.
_ROW_CHUNK = 128
# A smaller distance, in the unit of the row, is 0: the row coincides with the point.
_ZERO_DISTANCE = 1e-100
# Sums with a smaller relative difference are equal up to rounding.
_RELATIVE_ROUNDING = 1e-15


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


@jit(
    float64(ro(float64, 2), ro(float64), int64, ro(float64), rw(float64), rw(float64, 2), rw(float64, 2)),
    reassociate=True,
)
def evaluate_stress(points, delta, count, y, gradient, hessian, workspace):
    """Return the sum at y; fill half its gradient and the lower triangle of half its Hessian matrix.

    If y coincides with a point of positive dissimilarity, the sum decreases in every direction; the gradient is then that of the
    steepest descent.
    """
    m = points.shape[0]
    total, flat, coincident = 0.0, 0.0, 0.0
    gradient[:] = 0.0
    hessian[:] = 0.0
    for start in range(0, count, _ROW_CHUNK):
        size = min(_ROW_CHUNK, count - start)
        for j in range(size):
            workspace[m, j] = 0.0
        for k in range(m):
            for j in range(size):
                difference = y[k] - points[k, start + j]
                workspace[k, j] = difference
                workspace[m, j] += difference * difference
        for j in range(size):
            d = math.sqrt(workspace[m, j])
            inverse = 1.0 / d if d > _ZERO_DISTANCE else 0.0
            ratio = delta[start + j] * inverse
            workspace[m, j] = d
            workspace[m + 1, j] = 1.0 - ratio
            workspace[m + 2, j] = ratio * inverse * inverse
        # Sums are in loops that write nothing: the alignment of the arrays decides whether a loop that writes is vectorised.
        for j in range(size):
            residual = workspace[m, j] - delta[start + j]
            total += residual * residual
            flat += workspace[m + 1, j]
            coincident += 0.0 if workspace[m, j] > _ZERO_DISTANCE else delta[start + j]
        for k in range(m):
            along = 0.0
            for j in range(size):
                along += workspace[m + 1, j] * workspace[k, j]
            gradient[k] += along
            for l in range(k + 1):  # noqa: E741
                across = 0.0
                for j in range(size):
                    across += workspace[m + 2, j] * workspace[k, j] * workspace[l, j]
                hessian[k, l] += across
    for k in range(m):
        hessian[k, k] += flat
    if coincident > 0.0:
        length = math.sqrt((gradient * gradient).sum())
        if length > 0.0:
            gradient *= 1.0 + coincident / length
        else:
            gradient[0] = -coincident
    return total


@jit(boolean(ro(float64, 2), ro(float64), float64, float64, rw(float64, 2), rw(float64)))
def solve_shifted(matrix, right, shift, min_pivot, factor, out):
    """Fill out with the solution of (matrix + shift I) out = right; return False if a pivot is at most `min_pivot`."""
    m = matrix.shape[0]
    for k in range(m):
        for l in range(k + 1):  # noqa: E741
            rest = matrix[k, l]
            if k == l:
                rest += shift
            for i in range(l):
                rest -= factor[k, i] * factor[l, i]
            if k > l:
                factor[k, l] = rest / factor[l, l]
            elif rest > min_pivot:
                factor[k, k] = math.sqrt(rest)
            else:
                return False
    for k in range(m):
        rest = right[k]
        for i in range(k):
            rest -= factor[k, i] * out[i]
        out[k] = rest / factor[k, k]
    for k in range(m - 1, -1, -1):
        rest = out[k]
        for i in range(k + 1, m):
            rest -= factor[i, k] * out[i]
        out[k] = rest / factor[k, k]
    return True


@jit(float64(ro(float64, 2), int64, rw(float64), rw(float64)))
def least_curvature(hessian, count, direction, image):
    """Fill a direction of nearly the smallest curvature by power iteration, and return that curvature; none exceeds `count`."""
    m = hessian.shape[0]
    for k in range(m):
        # A start vector without symmetries.
        direction[k] = 1.0 / (1.0 + k * math.sqrt(2.0))
    least = 0.0
    for _ in range(40):
        direction /= math.sqrt((direction * direction).sum())
        least = 0.0
        for k in range(m):
            image[k] = 0.0
            for l in range(m):  # noqa: E741
                image[k] += (hessian[k, l] if l <= k else hessian[l, k]) * direction[l]
            least += image[k] * direction[k]
        for k in range(m):
            image[k] = count * direction[k] - image[k]
        if not (image * image).sum() > 0.0:
            return least
        direction[:] = image
    direction /= math.sqrt((direction * direction).sum())
    return least


@jit(
    boolean(
        ro(float64, 2), ro(float64), int64, float64, float64, rw(float64), rw(float64), rw(float64, 2), rw(float64, 2)
    )
)
def leave_saddle(points, delta, count, total, rounding, y, gradient, hessian, workspace):
    """Move y from a saddle point along a direction of negative curvature to a smaller sum; return whether it moved."""
    m = points.shape[0]
    direction, trial = np.empty(m), np.empty(m)
    if not least_curvature(hessian, count, direction, trial) < -1e-9 * count:
        return False
    length = 0.5
    for _ in range(12):
        for sign in (1.0, -1.0):
            for k in range(m):
                trial[k] = y[k] + sign * length * direction[k]
            if evaluate_stress(points, delta, count, trial, gradient, hessian, workspace) < total - rounding:
                y[:] = trial
                return True
        length *= 0.25
    return False


@jit(float64(ro(float64, 2), ro(float64), int64, int64, float64, rw(float64), rw(float64, 2), rw(int64)))
def minimize_stress(points, delta, count, max_iter, tol, y, workspace, convergence):
    """Move y to a minimum and return the sum there; fill convergence with the evaluations and whether a step was below tol.

    Newton steps with a shifted Hessian, shortened until the sum decreases; the shortest is the Guttman step, the gradient /
    `count`.
    """
    m = points.shape[0]
    gradient, other = np.empty(m), np.empty(m)
    curvature, further = np.empty((m, m)), np.empty((m, m))
    factor, step, trial = np.empty((m, m)), np.empty(m), np.empty(m)
    total = evaluate_stress(points, delta, count, y, gradient, curvature, workspace)
    rounding = _RELATIVE_ROUNDING * max(total, (delta[:count] * delta[:count]).sum())
    shift = 0.0
    convergence[1] = 0
    for n_iter in range(1, max_iter + 1):
        convergence[0] = n_iter
        while shift < count and not solve_shifted(curvature, gradient, shift, 1e-9 * count, factor, step):
            shift = max(4.0 * shift, count / 64.0)
        if shift >= count:
            step[:] = gradient / count
        length = math.sqrt((step * step).sum())
        for k in range(m):
            trial[k] = y[k] - step[k]
        trial_total = evaluate_stress(points, delta, count, trial, other, further, workspace)
        if trial_total <= total + rounding:
            y[:] = trial
            total = trial_total
            gradient, other = other, gradient
            curvature, further = further, curvature
            shift = shift / 4.0 if shift > count / 64.0 else 0.0
        elif shift < count:
            shift = max(4.0 * shift, count / 64.0)
            continue
        if length <= tol or trial_total > total + rounding:
            if solve_shifted(curvature, gradient, 0.0, 1e-9 * count, factor, step) or not leave_saddle(
                points, delta, count, total, rounding, y, other, further, workspace
            ):
                convergence[1] = 1
                break
            total = evaluate_stress(points, delta, count, y, gradient, curvature, workspace)
    return total


@jit(float64(ro(float64, 2), ro(float64), rw(float64, 2), rw(float64), rw(int64)))
def gather_present(points, dissimilarities, present_points, delta, counts):
    """Fill the points and dissimilarities of a row that are not missing, in a unit of two to the power returned.

    counts[0] is filled with their number.
    """
    count, largest = 0, 0.0
    m = points.shape[0]
    for j in range(points.shape[1]):
        if dissimilarities[j] == dissimilarities[j]:
            delta[count] = dissimilarities[j]
            largest = max(largest, dissimilarities[j])
            for k in range(m):
                present_points[k, count] = points[k, j]
                largest = max(largest, abs(points[k, j]))
            count += 1
    counts[0] = count
    exponent = math.frexp(largest)[1] if largest > 0.0 else 0
    # Two factors, because a single one may overflow.
    half = exponent // 2
    first, second = math.ldexp(1.0, -half), math.ldexp(1.0, half - exponent)
    for j in range(count):
        delta[j] = delta[j] * first * second
    for k in range(m):
        for j in range(count):
            present_points[k, j] = present_points[k, j] * first * second
    return float(exponent)


@jit(void(ro(float64, 2), ro(float64, 2), ro(float64, 3), int64, float64, rw(float64, 2), rw(float64), rw(int64, 2)))
def fit_rows(points, dissimilarities, starts, max_iter, tol, positions, stress, convergence):
    """Minimise the stress of rows from each of their starts, and keep the best end point, the first of equal ones.

    convergence[i] is filled with the evaluations of that descent and whether it converged. Points have shape (m, n). NaN is
    missing; every row has at least one dissimilarity.
    """
    m, n = points.shape
    present_points, delta, workspace = np.empty((m, n)), np.empty(n), np.empty((m + 3, _ROW_CHUNK))
    y, counts = np.empty(m), np.zeros(2, np.int64)
    for i in range(positions.shape[0]):
        exponent = int(gather_present(points, dissimilarities[i], present_points, delta, counts))
        count = counts[0]
        best = np.inf
        for s in range(starts.shape[1]):
            for k in range(m):
                y[k] = math.ldexp(starts[i, s, k], -exponent)
            total = minimize_stress(present_points, delta, count, max_iter, tol, y, workspace, counts)
            # The same minimum from two starts differs by rounding, which must not decide between them.
            if s == 0 or total < best - 1e-12 * best:
                best = total
                convergence[i] = counts
                for k in range(m):
                    positions[i, k] = math.ldexp(y[k], exponent)
        squares = (delta[:count] * delta[:count]).sum()
        if best > 0.0:
            stress[i] = math.sqrt(best / squares) if squares > 0.0 else np.inf
        else:
            stress[i] = 0.0


@jit(void(ro(float64, 2), ro(float64), int64, rw(float64), rw(float64, 2)), reassociate=True)
def least_squares_start(points, delta, count, out, workspace):
    """Fill out with the coordinates y whose squared distances fit the squared dissimilarities by linear least squares.

    |y - x|^2 = |x|^2 - 2 x'y + |y|^2, where |y|^2 is a free constant that cancels for centred points.
    """
    m = points.shape[0]
    centre, right, mean = np.zeros(m), np.zeros(m), 0.0
    products, factor = np.zeros((m, m)), np.empty((m, m))
    for k in range(m):
        centre[k] = points[k, :count].sum() / count
    for start in range(0, count, _ROW_CHUNK):
        size = min(_ROW_CHUNK, count - start)
        for j in range(size):
            workspace[m, j] = -delta[start + j] * delta[start + j]
        for k in range(m):
            for j in range(size):
                difference = points[k, start + j] - centre[k]
                workspace[k, j] = difference
                workspace[m, j] += difference * difference
        for k in range(m):
            along = 0.0
            for j in range(size):
                along += workspace[m, j] * workspace[k, j]
            right[k] += 0.5 * along
            for l in range(k + 1):  # noqa: E741
                across = 0.0
                for j in range(size):
                    across += workspace[k, j] * workspace[l, j]
                products[k, l] += across
    for k in range(m):
        mean += products[k, k]
    # In directions without variance of the points the row stays at their centre.
    shift = 1e-10 * mean
    if not solve_shifted(products, right, shift, 0.0, factor, out):
        out[:] = 0.0
    out += centre


@jit(void(ro(float64, 2), ro(float64, 2), rw(float64, 3)))
def fill_starts(points, dissimilarities, out):
    """Fill out[i] with the least-squares start, followed by the coordinates of the nearest points, nearest first."""
    m, n = points.shape
    n_nearest = out.shape[1] - 1
    present_points, delta, workspace = np.empty((m, n)), np.empty(n), np.empty((m + 1, _ROW_CHUNK))
    y, counts, order = np.empty(m), np.zeros(1, np.int64), np.empty(n_nearest, np.int64)
    for i in range(out.shape[0]):
        exponent = int(gather_present(points, dissimilarities[i], present_points, delta, counts))
        least_squares_start(present_points, delta, counts[0], y, workspace)
        for k in range(m):
            out[i, 0, k] = math.ldexp(y[k], exponent)
        filled = 0
        for j in range(counts[0]):
            p = filled
            while p > 0 and delta[order[p - 1]] > delta[j]:
                p -= 1
            if p < n_nearest:
                filled = min(filled + 1, n_nearest)
                for q in range(filled - 1, p, -1):
                    order[q] = order[q - 1]
                order[p] = j
        for s in range(n_nearest):
            for k in range(m):
                # With fewer points the first start is repeated.
                out[i, s + 1, k] = math.ldexp(present_points[k, order[s]], exponent) if s < filled else out[i, 0, k]
