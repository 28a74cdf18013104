"""t-SNE: affinities of neighbours, attraction along edges, and repulsion by exact sums, interpolation on a grid or a tree of cells.

The affinities of row i to its neighbours are the entries indptr[i] to indptr[i + 1].

A point y_i has the attraction sum_j p_ij w_ij (y_i - y_j) and the repulsion sum_j w_ij^2 (y_i - y_j), with
w_ij = 1 / (1 + |y_i - y_j|^2). The repulsion is half the negative gradient of the potential sum_j w_ij, whose sum over the rows is
the normaliser Z.

On the grid, points are counted and the potential is interpolated by cubic B-splines; between these steps the potential of the
nodes is computed by FFT. Cells of the tree are squares or cubes; they are stored in depth-first order, so a walk needs no stack: a
cell that is not opened is followed by `skip`, the next cell outside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.types import float32, float64, int32, int64, uint64, void
from numpy.typing import NDArray

from tamiz.kernels import jit, record, ro, rw

# Steps of the search for a precision.
_MAX_STEPS = 200
# Points of a chunk of the exact sums, which stay in the cache of the core.
_CHUNK = 512
# Points of a leaf of the tree, and bits of a coordinate in a Morton code.
LEAF_SIZE, CODE_BITS = 8, 20


class Cells(NamedTuple):
    """Cells of the tree: centres, numbers of points, widths, the ranges of points, and the next cell outside each."""

    centres: NDArray[np.float64]
    counts: NDArray[np.float64]
    widths: NDArray[np.float64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    skip: NDArray[np.int64]


CELLS = record(Cells, ro(float64, 2), ro(float64), ro(float64), ro(int64), ro(int64), ro(int64))


@jit(void(ro(int64), ro(float64), float64, int64, int64, rw(float64)))
def perplexity_affinities(indptr, distances, perplexity, first, last, out):
    """Fill out with p_j|i ~ exp(-beta_i d^2) of the given perplexity 2^H for the rows first to last.

    Newton's method on the logarithm of beta, within a bracket. If more neighbours than the perplexity are at the least distance,
    these have equal affinities, as all neighbours of a row with fewer than the perplexity.
    """
    wanted = np.log(perplexity)
    for i in range(first, last):
        start, stop = indptr[i], indptr[i + 1]
        nearest, mean = np.inf, 0.0
        for e in range(start, stop):
            nearest = min(nearest, distances[e] * distances[e])
        for e in range(start, stop):
            mean += distances[e] * distances[e] - nearest
        mean /= stop - start
        if mean <= 0.0:
            for e in range(start, stop):
                out[e] = 1.0 / (stop - start)
            continue
        # In the unit of the mean excess of the squared distances.
        low, high, position = -np.inf, np.inf, 0.0
        for _ in range(_MAX_STEPS):
            beta = np.exp(position)
            total, first_moment, second_moment = 0.0, 0.0, 0.0
            for e in range(start, stop):
                square = (distances[e] * distances[e] - nearest) / mean
                p = np.exp(-beta * square)
                out[e] = p
                total += p
                first_moment += p * square
                second_moment += p * square * square
            first_moment /= total
            variance = second_moment / total - first_moment * first_moment
            excess = np.log(total) + beta * first_moment - wanted
            if abs(excess) <= 1e-10:
                break
            if excess > 0.0:
                low = position
            else:
                high = position
            slope = beta * beta * variance
            following = position + excess / slope if slope > 0.0 else np.nan
            if not (low < following < high) or abs(following - position) > 8.0:
                if high == np.inf:
                    following = position + 2.0
                elif low == -np.inf:
                    following = position - 2.0
                else:
                    following = 0.5 * (low + high)
            if abs(following - position) <= 1e-14 or abs(following) > 600.0:
                break
            position = following
        for e in range(start, stop):
            out[e] /= total


@jit(void(ro(int64), ro(int32), ro(float32), ro(float64, 2), int64, int64, rw(float64, 2)), reassociate=True)
def attract_in_plane(indptr, indices, weights, points, first, last, out):
    """Fill out with the attraction of the rows first to last, for two coordinates."""
    for i in range(first, last):
        x, y, fx, fy = points[i, 0], points[i, 1], 0.0, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            dx, dy = x - points[j, 0], y - points[j, 1]
            w = weights[e] / (1.0 + dx * dx + dy * dy)
            fx += w * dx
            fy += w * dy
        out[i, 0], out[i, 1] = fx, fy


@jit(void(ro(int64), ro(int32), ro(float32), ro(float64, 2), int64, int64, rw(float64, 2)), reassociate=True)
def attract(indptr, indices, weights, points, first, last, out):
    """Fill out with the attraction of the rows first to last, for any number of coordinates."""
    m = points.shape[1]
    for i in range(first, last):
        for k in range(m):
            out[i, k] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j, square = indices[e], 1.0
            for k in range(m):
                difference = points[i, k] - points[j, k]
                square += difference * difference
            w = weights[e] / square
            for k in range(m):
                out[i, k] += w * (points[i, k] - points[j, k])


@jit(
    void(ro(int64), ro(int32), ro(float64), ro(float64, 2), ro(float64, 2), int64, int64, rw(float64, 2), rw(float64)),
    reassociate=True,
)
def attract_queries(indptr, indices, weights, points, queries, first, last, out, totals):
    """Fill out with the attraction of the queries first to last by points, and totals with sum_j p_ij w_ij."""
    m = points.shape[1]
    for i in range(first, last):
        total = 0.0
        for k in range(m):
            out[i, k] = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j, square = indices[e], 1.0
            for k in range(m):
                difference = queries[i, k] - points[j, k]
                square += difference * difference
            w = weights[e] / square
            total += w
            for k in range(m):
                out[i, k] += w * (queries[i, k] - points[j, k])
        totals[i] = total


@jit(float64(ro(int64), ro(int32), ro(float32), ro(float64, 2), int64, int64))
def edge_cost(indptr, indices, weights, points, first, last):
    """Return sum_ij p_ij log(p_ij / w_ij) over the edges of the rows first to last."""
    total = 0.0
    for i in range(first, last):
        for e in range(indptr[i], indptr[i + 1]):
            p = float64(weights[e])
            if p > 0.0:
                square = 1.0
                for k in range(points.shape[1]):
                    difference = points[i, k] - points[indices[e], k]
                    square += difference * difference
                total += p * np.log(p * square)
    return total


@jit(void(ro(float64, 2), ro(float64, 2), int64, int64, rw(float64, 2), rw(float64)), reassociate=True)
def repel_exactly(coordinates, queries, first, last, out, potential):
    """Fill out and potential for the queries first to last by sums over all points; coordinates have shape (m, n_points)."""
    m, n = coordinates.shape
    square, factor = np.empty(_CHUNK), np.empty(_CHUNK)
    for i in range(first, last):
        for k in range(m):
            out[i, k] = 0.0
        total = 0.0
        for start in range(0, n, _CHUNK):
            size = min(_CHUNK, n - start)
            for j in range(size):
                square[j] = 1.0
            for k in range(m):
                here = queries[i, k]
                for j in range(size):
                    difference = here - coordinates[k, start + j]
                    square[j] += difference * difference
            for j in range(size):
                w = 1.0 / square[j]
                total += w
                factor[j] = w * w
            for k in range(m):
                here, force = queries[i, k], 0.0
                for j in range(size):
                    force += factor[j] * (here - coordinates[k, start + j])
                out[i, k] += force
        potential[i] = total


@jit(void(ro(float64, 2), float64, float64, float64, int64, int64, rw(float64, 2)))
def spread_on_grid(points, lower_x, lower_y, scale, first, last, grid):
    """Add the points first to last to the grid, by cubic B-splines; node (0, 0) is at the lower corner."""
    a, b = np.empty(4), np.empty(4)
    for i in range(first, last):
        gx, gy = (points[i, 0] - lower_x) * scale, (points[i, 1] - lower_y) * scale
        row, column = int64(gx), int64(gy)
        u, v = gx - row, gy - column
        r, s = 1.0 - u, 1.0 - v
        a[0], a[1], a[2], a[3] = r * r * r, 4.0 - (6.0 - 3.0 * u) * u * u, 4.0 - (6.0 - 3.0 * r) * r * r, u * u * u
        b[0], b[1], b[2], b[3] = s * s * s, 4.0 - (6.0 - 3.0 * v) * v * v, 4.0 - (6.0 - 3.0 * s) * s * s, v * v * v
        for p in range(4):
            q = a[p] / 36.0
            for t in range(4):
                grid[row - 1 + p, column - 1 + t] += q * b[t]


@jit(
    void(ro(float64, 2), float64, float64, float64, ro(float64, 2), int64, int64, rw(float64, 2), rw(float64)),
    reassociate=True,
)
def interpolate_from_grid(points, lower_x, lower_y, scale, grid, first, last, out, potential):
    """Fill potential and out, half its negative gradient, for the points first to last."""
    a, b, da, db = np.empty(4), np.empty(4), np.empty(4), np.empty(4)
    for i in range(first, last):
        gx, gy = (points[i, 0] - lower_x) * scale, (points[i, 1] - lower_y) * scale
        row, column = int64(gx), int64(gy)
        u, v = gx - row, gy - column
        r, s = 1.0 - u, 1.0 - v
        a[0], a[1], a[2], a[3] = r * r * r, 4.0 - (6.0 - 3.0 * u) * u * u, 4.0 - (6.0 - 3.0 * r) * r * r, u * u * u
        b[0], b[1], b[2], b[3] = s * s * s, 4.0 - (6.0 - 3.0 * v) * v * v, 4.0 - (6.0 - 3.0 * s) * s * s, v * v * v
        da[0], da[1], da[2], da[3] = -r * r, (3.0 * u - 4.0) * u, (4.0 - 3.0 * r) * r, u * u
        db[0], db[1], db[2], db[3] = -s * s, (3.0 * v - 4.0) * v, (4.0 - 3.0 * s) * s, v * v
        total, fx, fy = 0.0, 0.0, 0.0
        for p in range(4):
            value, slope = 0.0, 0.0
            for t in range(4):
                node = grid[row - 1 + p, column - 1 + t]
                value += b[t] * node
                slope += db[t] * node
            total += a[p] * value
            fx += da[p] * value
            fy += a[p] * slope
        potential[i] = total / 36.0
        # The derivatives of the splines are 3 times da and db, over 36.
        out[i, 0], out[i, 1] = -scale * fx / 24.0, -scale * fy / 24.0


@jit(void(ro(float64, 2), ro(float64), float64, int64, int64, rw(uint64)))
def morton_codes(points, lower, width, first, last, out):
    """Fill out with the interleaved bits of the coordinates in a cube of some width: the order of the leaves of a tree."""
    m = points.shape[1]
    scale = (1 << CODE_BITS) / width
    for i in range(first, last):
        code = uint64(0)
        for k in range(m):
            cell = uint64(min(max((points[i, k] - lower[k]) * scale, 0.0), (1 << CODE_BITS) - 1.0))
            for bit in range(CODE_BITS):
                code |= ((cell >> uint64(bit)) & uint64(1)) << uint64(bit * m + k)
        out[i] = code


@jit(
    int64(
        ro(uint64), ro(float64, 2), float64, rw(float64, 2), rw(float64), rw(float64), rw(int64), rw(int64), rw(int64)
    )
)  # fmt: skip
def build_cells(codes, points, width, centres, counts, widths, starts, stops, skip):
    """Fill the cells of the points, sorted by their codes, and return their number, below twice the number of points."""
    n, m = points.shape
    # The stack has the ranges of cells that are not stored yet: at most 2^m for each level.
    size = (1 << m) * (CODE_BITS + 1)
    stack_start, stack_stop = np.empty(size, np.int64), np.empty(size, np.int64)
    stack_level, stack_parent = np.empty(size, np.int64), np.empty(size, np.int64)
    parent = np.empty(2 * n, np.int64)
    stack_start[0], stack_stop[0], stack_level[0], stack_parent[0] = 0, n, 0, -1
    depth, count = 1, 0
    while depth:
        depth -= 1
        start, stop, level, above = stack_start[depth], stack_stop[depth], stack_level[depth], stack_parent[depth]
        # Levels at which all points are in one part have no cell of their own.
        while level < CODE_BITS and stop - start > LEAF_SIZE:
            shift = uint64((CODE_BITS - 1 - level) * m)
            if codes[start] >> shift != codes[stop - 1] >> shift:
                break
            level += 1
        cell = count
        count += 1
        parent[cell], starts[cell], stops[cell] = above, start, stop
        skip[cell], counts[cell] = 1, float64(stop - start)
        widths[cell] = width / (1 << level)
        for k in range(m):
            centres[cell, k] = 0.0
        if stop - start <= LEAF_SIZE or level == CODE_BITS:
            for i in range(start, stop):
                for k in range(m):
                    centres[cell, k] += points[i, k]
            continue
        end = stop
        while end > start:
            # The part that contains the last point, found by bisection; the first part ends on top of the stack.
            shift = uint64((CODE_BITS - 1 - level) * m)
            last = codes[end - 1] >> shift
            low, high = start, end - 1
            while low < high:
                middle = (low + high) // 2
                if codes[middle] >> shift < last:
                    low = middle + 1
                else:
                    high = middle
            stack_start[depth], stack_stop[depth] = low, end
            stack_level[depth], stack_parent[depth] = level + 1, cell
            depth += 1
            end = low
    for cell in range(count - 1, -1, -1):
        above = parent[cell]
        if above >= 0:
            skip[above] += skip[cell]
            for k in range(m):
                centres[above, k] += centres[cell, k]
        for k in range(m):
            centres[cell, k] /= counts[cell]
    for cell in range(count):
        skip[cell] += cell
    return count


@jit(
    void(CELLS, int64, ro(float64, 2), float64, ro(float64, 2), int64, int64, rw(float64, 2), rw(float64)),
    reassociate=True,
)
def repel_by_cells(cells, n_cells, points, theta, queries, first, last, out, potential):
    """Fill out and potential for the queries first to last: cells that look smaller than theta act as their centre."""
    m = points.shape[1]
    limit = theta * theta
    for i in range(first, last):
        for k in range(m):
            out[i, k] = 0.0
        total, cell = 0.0, 0
        while cell < n_cells:
            square = 0.0
            for k in range(m):
                difference = queries[i, k] - cells.centres[cell, k]
                square += difference * difference
            if cells.widths[cell] * cells.widths[cell] < limit * square:
                w = 1.0 / (1.0 + square)
                mass = cells.counts[cell] * w
                total += mass
                for k in range(m):
                    out[i, k] += mass * w * (queries[i, k] - cells.centres[cell, k])
                cell = cells.skip[cell]
            elif cells.skip[cell] == cell + 1:
                for j in range(cells.starts[cell], cells.stops[cell]):
                    near = 1.0
                    for k in range(m):
                        difference = queries[i, k] - points[j, k]
                        near += difference * difference
                    w = 1.0 / near
                    total += w
                    for k in range(m):
                        out[i, k] += w * w * (queries[i, k] - points[j, k])
                cell += 1
            else:
                cell += 1
        potential[i] = total


@jit(
    void(
        ro(float64, 2), ro(float64, 2), ro(float64), int64, int64, rw(float64, 2), rw(float64, 2), rw(float64, 2)
    )
)  # fmt: skip
def descend(attraction, repulsion, settings, first, last, velocity, gains, points):
    """Move the points first to last along the negative gradient, with momentum and a gain for each coordinate.

    The gain of a coordinate grows by 0.2 while the velocity descends, else it shrinks to 0.8 of it (Jacobs 1988). A step longer
    than `max_step` is shortened.
    `settings` are the factor of the attraction, the factor of the repulsion, the learning rate, the momentum and `max_step`.
    """
    m = points.shape[1]
    attraction_factor, repulsion_factor, rate = settings[0], settings[1], settings[2]
    momentum, max_step = settings[3], settings[4]
    for i in range(first, last):
        largest, square = 0.0, 0.0
        for k in range(m):
            gradient = attraction_factor * attraction[i, k] - repulsion_factor * repulsion[i, k]
            if (gradient > 0.0) == (velocity[i, k] > 0.0):
                gains[i, k] = max(0.8 * gains[i, k], 0.01)
            else:
                gains[i, k] += 0.2
            velocity[i, k] = momentum * velocity[i, k] - rate * gains[i, k] * gradient
            largest = max(largest, abs(velocity[i, k]))
        # In the unit of the largest coordinate, because the square of a diverging velocity overflows.
        for k in range(m):
            if largest > 0.0:
                velocity[i, k] /= largest
            square += velocity[i, k] * velocity[i, k]
        length = min(largest, max_step / np.sqrt(square)) if square > 0.0 else 0.0
        for k in range(m):
            velocity[i, k] *= length
        for k in range(m):
            points[i, k] += velocity[i, k]
