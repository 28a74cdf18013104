"""Out-of-sample extension by stress: the coordinates y of a new row minimise the sum over fixed points of (delta - d)^2.

Points have shape (m, n), so that sums over points vectorise. Each row is computed in its own unit, so that no square overflows.
"""

from __future__ import annotations

import math

import numpy as np
from numba.types import boolean, float64, int64, void

from tamiz.kernels import jit, ro, rw

# Points of a chunk: their intermediate results stay in the first-level cache.
_CHUNK = 128
# A smaller distance, in the unit of the row, is 0: the row coincides with the point.
_ZERO_DISTANCE = 1e-100
# Sums with a smaller relative difference are equal up to rounding.
_ROUNDING = 1e-15


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
    for start in range(0, count, _CHUNK):
        size = min(_CHUNK, count - start)
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
    rounding = _ROUNDING * max(total, (delta[:count] * delta[:count]).sum())
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
    present_points, delta, workspace = np.empty((m, n)), np.empty(n), np.empty((m + 3, _CHUNK))
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
    for start in range(0, count, _CHUNK):
        size = min(_CHUNK, count - start)
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
    present_points, delta, workspace = np.empty((m, n)), np.empty(n), np.empty((m + 1, _CHUNK))
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
