"""Isotonic regression of distances on the order of their dissimilarities: pool adjacent violators, in pieces.

Pairs are in ascending order of dissimilarity, each stored as its two points, so that everything but the points is read
sequentially. Points are columns. Each piece of the order is pooled into blocks, with a sum, a weight (mass) and a first entry;
then the blocks of all pieces are pooled together.
"""

from __future__ import annotations

import numpy as np
from numba.types import boolean, float32, float64, int64, uint16, void

from tamiz.kernels import jit, ro, rw

# Entries of a chunk: their numbers stay in the first-level cache.
_CHUNK = 512
# Entries pooled at a time: the work on a run is the number of sides of its convex hull, about five, times its entries.
_RUN_ENTRIES = 128
# Entries sorted by insertion: few of them move once the points move little.
_INSERTION_SIZE = 16


@jit(
    [
        void(ro(float64, 2), ro(uint16), ro(uint16), int64, rw(float64)),
        void(ro(float32, 2), ro(uint16), ro(uint16), int64, rw(float32)),
    ],
    reassociate=True,
)
def _squared_distances(points, rows, columns, start, out):
    """Fill out with the squared distances of the entries from `start`."""
    size = len(out)
    some, others = rows[start : start + size], columns[start : start + size]
    out[:] = 0
    for q in range(points.shape[0]):
        xs = points[q]
        for s in range(size):
            dx = xs[some[s]] - xs[others[s]]
            out[s] += dx * dx


@jit(int64(int64, float64, float64, int64, rw(float64), rw(float64), rw(int64)))
def _push_block(top, total, mass, start, sums, masses, block_starts):
    """Push a block on a stack of ascending means, merged with the blocks below whose means are not less; return the new top."""
    # Means are compared by products: a division would cost more than everything else here.
    while top > 0 and sums[top - 1] * mass >= total * masses[top - 1]:
        top -= 1
        total += sums[top]
        mass += masses[top]
        start = block_starts[top]
    sums[top], masses[top], block_starts[top] = total, mass, start
    return top + 1


@jit(
    int64(int64, rw(float64), rw(float64), rw(int64), rw(float64), int64, rw(float64), rw(float64), rw(int64)),
    reassociate=True,
)
def _push_run(size, cumulative_sums, cumulative_masses, entry_starts, buffer, top, sums, masses, block_starts):
    """Pool a run of entries and push its blocks on the stack; return the new top.

    cumulative_sums[s] and cumulative_masses[s] are those of the entries before s. Blocks are the sides of the greatest convex
    minorant of these points; each is found as the least slope to any later point. This needs no branch that depends on the
    numbers, which the processor would mispredict at every second entry.
    """
    i = 0
    while i < size:
        slopes, later, heavier = (
            buffer[: size - i],
            cumulative_sums[i + 1 : size + 1],
            cumulative_masses[i + 1 : size + 1],
        )
        low, light = cumulative_sums[i], cumulative_masses[i]
        for s in range(size - i):
            slopes[s] = (later[s] - low) / (heavier[s] - light)
        # Non-negative floats have the order of their bits, and the minimum of integers vectorises.
        bits = slopes.view(np.int64)
        least = bits[0]
        for s in range(size - i):
            least = min(least, bits[s])
        at = 0
        for s in range(size - i):
            at = max(at, s if bits[s] == least else 0)
        j = i + at + 1
        top = _push_block(
            top, cumulative_sums[j] - low, cumulative_masses[j] - light, entry_starts[i], sums, masses, block_starts
        )
        i = j
    return top


@jit(
    [
        int64(
            ro(float64, 2), ro(uint16), ro(uint16), ro(float64), ro(boolean), int64, int64, rw(float64), rw(float64), rw(int64)
        ),
        int64(
            ro(float32, 2), ro(uint16), ro(uint16), ro(float32), ro(boolean), int64, int64, rw(float64), rw(float64), rw(int64)
        ),
    ]
)  # fmt: skip
def pool_adjacent_violators(points, rows, columns, weights, is_tied, start, stop, sums, masses, block_starts):
    """Pool the distances of the entries start .. stop into blocks of ascending means, and return the number of blocks.

    Empty `weights` mean 1 each. is_tied[r] means that entry r has the disparity of entry r - 1; an empty array means no ties.
    The blocks fill the arrays from index 0 with their sums, masses and first entries.
    """
    distances = np.empty(_CHUNK, dtype=points.dtype)
    sums_before, masses_before, slopes = np.zeros(_RUN_ENTRIES + 1), np.zeros(_RUN_ENTRIES + 1), np.empty(_RUN_ENTRIES)
    entry_starts = np.empty(_RUN_ENTRIES, dtype=np.int64)
    has_weights, has_ties = len(weights) > 0, len(is_tied) > 0
    top, size = 0, 0
    for first in range(start, stop, _CHUNK):
        last = min(first + _CHUNK, stop)
        _squared_distances(points, rows, columns, first, distances[: last - first])
        for s in range(last - first):
            distances[s] = np.sqrt(distances[s])
        for r in range(first, last):
            weight = float64(weights[r]) if has_weights else 1.0
            value = weight * float64(distances[r - first])
            if has_ties and is_tied[r] and r > start:
                sums_before[size] += value
                masses_before[size] += weight
                continue
            if size == _RUN_ENTRIES:
                top = _push_run(size, sums_before, masses_before, entry_starts, slopes, top, sums, masses, block_starts)
                size = 0
            entry_starts[size] = r
            size += 1
            sums_before[size], masses_before[size] = sums_before[size - 1] + value, masses_before[size - 1] + weight
    return _push_run(size, sums_before, masses_before, entry_starts, slopes, top, sums, masses, block_starts)


@jit(int64(ro(int64), ro(int64), rw(float64), rw(float64), rw(int64)))
def merge_blocks(starts, sizes, sums, masses, block_starts):
    """Pool the blocks of all pieces, sizes[p] of them from starts[p], into blocks from index 0; return the number of blocks."""
    top = 0
    for p in range(len(starts)):
        for b in range(starts[p], starts[p] + sizes[p]):
            top = _push_block(top, sums[b], masses[b], block_starts[b], sums, masses, block_starts)
    return top


@jit(int64(ro(int64), int64))
def _find_block(block_starts, entry):
    """Return the block of an entry: the last that begins at or before it, -1 if none does."""
    low, high = 0, block_starts.shape[0]
    while low < high:
        middle = (low + high) // 2
        if block_starts[middle] <= entry:
            low = middle + 1
        else:
            high = middle
    return low - 1


@jit(
    [
        float64(
            ro(float64, 2), ro(uint16), ro(uint16), ro(float64), ro(float64), ro(int64), int64, int64, float64, rw(float64, 2)
        ),
        float64(
            ro(float32, 2), ro(uint16), ro(uint16), ro(float32), ro(float64), ro(int64), int64, int64, float32, rw(float32, 2)
        ),
    ],
    reassociate=True,
)  # fmt: skip
def guttman_step_ordinal(points, rows, columns, weights, block_values, block_starts, start, stop, epsilon, out):
    """Add B(X) X to out and return the weighted sum of squared differences between disparities and distances.

    The disparity of an entry is the value of its block. B has -weight disparity / distance off its diagonal, and rows that sum
    to 0. `epsilon` is added to squared distances, so that no distance that is divided by is 0.
    """
    m, one = points.shape[0], points.dtype.type(1)
    squares, ratios = np.empty(_CHUNK, dtype=points.dtype), np.empty(_CHUNK, dtype=points.dtype)
    b = _find_block(block_starts, start)
    total = 0.0
    for first in range(start, stop, _CHUNK):
        size = min(_CHUNK, stop - first)
        square, ratio = squares[:size], ratios[:size]
        some, others = rows[first : first + size], columns[first : first + size]
        _squared_distances(points, rows, columns, first, square)
        for s in range(size):
            while b + 1 < len(block_starts) and block_starts[b + 1] <= first + s:
                b += 1
            ratio[s] = block_values[b]
        part = points.dtype.type(0)
        if len(weights):
            weight = weights[first : first + size]
            for s in range(size):
                shifted = square[s] + epsilon
                inverse = one / np.sqrt(shifted)
                residual = ratio[s] - shifted * inverse
                part += weight[s] * residual * residual
                ratio[s] *= weight[s] * inverse
        else:
            for s in range(size):
                shifted = square[s] + epsilon
                inverse = one / np.sqrt(shifted)
                residual = ratio[s] - shifted * inverse
                part += residual * residual
                ratio[s] *= inverse
        total += part
        for q in range(m):
            xs, to = points[q], out[q]
            for s in range(size):
                i, j = some[s], others[s]
                t = ratio[s] * (xs[j] - xs[i])
                to[i] -= t
                to[j] += t
    return total


@jit(void(ro(float64), rw(int64)))
def _stable_argsort(values, order):
    """Fill order with the indices that sort the values, by bottom-up merge sort."""
    n = values.shape[0]
    merged = np.empty(n, dtype=np.int64)
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for first in range(0, n, 2 * width):
            middle, last = min(first + width, n), min(first + 2 * width, n)
            i, j = first, middle
            for at in range(first, last):
                if i < middle and (j == last or values[order[i]] <= values[order[j]]):
                    merged[at] = order[i]
                    i += 1
                else:
                    merged[at] = order[j]
                    j += 1
        for i in range(n):
            order[i] = merged[i]
        width *= 2


@jit(
    [
        void(ro(float64, 2), ro(int64), int64, int64, rw(uint16), rw(uint16), rw(float64)),
        void(ro(float32, 2), ro(int64), int64, int64, rw(uint16), rw(uint16), rw(float32)),
    ]
)
def sort_ties(points, ends, start, stop, rows, columns, weights):
    """Sort the entries of the ties start .. stop by their distances, stably; tie t has the entries ends[2 t] .. ends[2 t + 1]."""
    m, has_weights = points.shape[0], len(weights) > 0
    short = np.empty(_INSERTION_SIZE, dtype=points.dtype)
    for t in range(start, stop):
        first, last = ends[2 * t], ends[2 * t + 1]
        size = last - first
        if size <= _INSERTION_SIZE:
            for r in range(size):
                i, j = rows[first + r], columns[first + r]
                d = points.dtype.type(0)
                for q in range(m):
                    dx = points[q, i] - points[q, j]
                    d += dx * dx
                weight = weights[first + r] if has_weights else d
                s = r
                while s > 0 and short[s - 1] > d:
                    short[s] = short[s - 1]
                    rows[first + s], columns[first + s] = rows[first + s - 1], columns[first + s - 1]
                    if has_weights:
                        weights[first + s] = weights[first + s - 1]
                    s -= 1
                short[s], rows[first + s], columns[first + s] = d, i, j
                if has_weights:
                    weights[first + s] = weight
        else:
            square, order = np.empty(size, dtype=points.dtype), np.empty(size, dtype=np.int64)
            _squared_distances(points, rows, columns, first, square)
            exact = np.empty(size)
            for r in range(size):
                exact[r] = square[r]
            _stable_argsort(exact, order)
            some, others = np.empty(size, dtype=np.uint16), np.empty(size, dtype=np.uint16)
            for r in range(size):
                some[r], others[r] = rows[first + order[r]], columns[first + order[r]]
                if has_weights:
                    square[r] = weights[first + order[r]]
            for r in range(size):
                rows[first + r], columns[first + r] = some[r], others[r]
                if has_weights:
                    weights[first + r] = square[r]


@jit(
    [
        void(ro(uint16), ro(uint16), ro(float64), ro(int64), int64, int64, int64, rw(float64)),
        void(ro(uint16), ro(uint16), ro(float64), ro(int64), int64, int64, int64, rw(float32)),
    ]
)
def scatter_disparities(rows, columns, block_values, block_starts, n, start, stop, out):
    b = _find_block(block_starts, start)
    for r in range(start, stop):
        while b + 1 < len(block_starts) and block_starts[b + 1] <= r:
            b += 1
        i, j = int64(rows[r]), int64(columns[r])
        out[i * n - (i * (i + 1)) // 2 - i - 1 + j] = block_values[b]
