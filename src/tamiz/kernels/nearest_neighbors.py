"""Exact nearest-neighbour search: heaps of the nearest rows so far, and tiles of lower bounds that save most distance computations.

The nearest rows of a query are a heap,
`size` entries of two flat arrays with the farthest first, in the order of `primitives.is_nearer`. A *tile* has lower bounds of
squared distances, from a matrix product in float32, in runs of RUN_LENGTH candidates; NaN pads the last run.

Equal rows are found by a hash and searched once, as one point: point j represents the rows `members[starts[j] : starts[j +
1]]`, and its list is copied to each of them.
"""

from __future__ import annotations

import numpy as np
from numba.types import boolean, float32, float64, int32, int64, uint64, void

from tamiz.kernels import jit, ro, rw
from tamiz.kernels.primitives import TIE_WIDTH, euclidean_distance, is_nearer, sift_down

# The golden ratio times 2^64.
_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MINUS_ZERO = np.uint64(1 << 63)
_HASH_SHIFT = np.uint64(29)


@jit(void(ro(uint64, 2), rw(uint64)))
def hash_rows(bits, hashes):
    """Fill hashes with a hash of every row, from the bits of its floats; both zeros have the same hash."""
    for i in range(bits.shape[0]):
        total = _HASH_MULTIPLIER
        for k in range(bits.shape[1]):
            word = bits[i, k]
            if word == _MINUS_ZERO:
                word = np.uint64(0)
            total = (total ^ word) * _HASH_MULTIPLIER
            total ^= total >> _HASH_SHIFT
        hashes[i] = total


# Candidates whose bounds are compared together before any is examined alone.
RUN_LENGTH = 64


@jit(void(ro(float64, 2), ro(int32), ro(float64, 2), ro(int32), rw(float64)))
def pair_distances(a, i, b, j, out):
    """Fill out[p] with the distance between row i[p] of a and row j[p] of b."""
    for p in range(out.shape[0]):
        out[p] = euclidean_distance(a, i[p], b, j[p])


@jit(void(ro(float64, 2), int64, ro(float64, 2), rw(float64)))
def row_distances(a, i, b, out):
    for j in range(b.shape[0]):
        out[j] = euclidean_distance(a, i, b, j)


@jit(boolean(rw(float64), rw(int32), int64, int64, float64, ro(int32), int64, int64))
def offer_rows(dist, rows, start, size, d, members, first, last):
    """Replace the farthest entries of a heap by nearer ones among rows at distance d, in ascending order; return whether any
    was.
    """
    replaced = False
    for p in range(first, last):
        if not is_nearer(d, members[p], dist[start], rows[start]):
            break
        sift_down(dist, rows, start, size, 0, d, members[p])
        replaced = True
    return replaced


@jit(void(rw(float64), rw(int32), ro(int64), int64, int64))
def sort_heaps(dist, rows, indptr, first, last):
    """Sort the entries indptr[i] : indptr[i + 1], the nearest first, for i in [first, last)."""
    for i in range(first, last):
        start, size = indptr[i], indptr[i + 1] - indptr[i]
        for hole in range(size // 2 - 1, -1, -1):
            sift_down(dist, rows, start, size, hole, dist[start + hole], rows[start + hole])
        for end in range(size - 1, 0, -1):
            d, row = dist[start + end], rows[start + end]
            dist[start + end], rows[start + end] = dist[start], rows[start]
            sift_down(dist, rows, start, end, 0, d, row)


_HEAPS = (ro(int32), ro(int64), rw(float32, 2), rw(float64), rw(int32), int64)


@jit(void(float64, *_HEAPS))
def offer_duplicates(factor, members, starts, limits, dist, rows, size):
    """Offer to every point the rows that it represents, at distance 0."""
    for i in range(starts.shape[0] - 1):
        offer_rows(dist, rows, i * size, size, 0.0, members, starts[i], starts[i + 1])
        limits[i // RUN_LENGTH, i % RUN_LENGTH] = dist[i * size] * dist[i * size] * factor


@jit(void(ro(float32, 3), int64, int64, ro(float64, 2), float64, *_HEAPS))
def scan_tile_pairs(tile, i0, j0, values, factor, members, starts, limits, dist, rows, size):
    """Offer the points i0, i0 + 1, ... and j0, j0 + 1, ... to each other, every pair i < j once.

    `limits` is the largest bound at which a point still accepts a candidate: that of its farthest entry, or less.
    """
    # The length of a run is read from the tile: with a constant, LLVM unrolls the loop before it can vectorise it.
    n_rows, n_runs, run = tile.shape
    theirs = limits[j0 // RUN_LENGTH : j0 // RUN_LENGTH + n_runs]
    for r in range(n_rows):
        i = i0 + r
        mine = limits[i // RUN_LENGTH, i % RUN_LENGTH]
        for a in range(max(0, (i + 1 - j0) // RUN_LENGTH), n_runs):
            near = False
            for b in range(run):
                bound = tile[r, a, b]
                near |= (bound <= mine) | (bound <= theirs[a, b])
            if not near:
                continue
            for b in range(run):
                bound = tile[r, a, b]
                j = j0 + a * RUN_LENGTH + b
                if j > i and (bound <= mine or bound <= theirs[a, b]):
                    d = euclidean_distance(values, i, values, j)
                    bound = np.float32(d * d * factor * (1.0 - 4.0 * TIE_WIDTH))
                    if bound <= mine and offer_rows(dist, rows, i * size, size, d, members, starts[j], starts[j + 1]):
                        mine = min(mine, np.float32(dist[i * size] * dist[i * size] * factor))
                    if bound <= theirs[a, b] and offer_rows(
                        dist, rows, j * size, size, d, members, starts[i], starts[i + 1]
                    ):
                        theirs[a, b] = min(theirs[a, b], np.float32(dist[j * size] * dist[j * size] * factor))
        limits[i // RUN_LENGTH, i % RUN_LENGTH] = mine


@jit(void(ro(float32, 3), int64, ro(float64, 2), ro(float64, 2), float64, *_HEAPS))
def scan_tile_rows(tile, j0, queries, values, factor, members, starts, limits, dist, rows, size):
    """Offer the points j0, j0 + 1, ... to every query; `limits` has one row."""
    n_rows, n_runs, run = tile.shape
    for i in range(n_rows):
        mine = limits[0, i]
        for a in range(n_runs):
            near = False
            for b in range(run):
                near |= tile[i, a, b] <= mine
            if not near:
                continue
            for b in range(run):
                if tile[i, a, b] <= mine:
                    j = j0 + a * RUN_LENGTH + b
                    d = euclidean_distance(queries, i, values, j)
                    if offer_rows(dist, rows, i * size, size, d, members, starts[j], starts[j + 1]):
                        mine = np.float32(dist[i * size] * dist[i * size] * factor)
        limits[0, i] = mine


@jit(void(ro(float64, 2), int64, ro(float64, 2), ro(int32), ro(int64), rw(float64), rw(int32), int64))
def scan_query(queries, i, values, members, starts, dist, rows, size):
    """Offer all points to query i, by their computed distances."""
    for j in range(values.shape[0]):
        d = euclidean_distance(queries, i, values, j)
        offer_rows(dist, rows, i * size, size, d, members, starts[j], starts[j + 1])


@jit(void(ro(float64, 2), int64, rw(float64), rw(int32), int64))
def select_nearest(block, self_offset, dist, rows, size):
    """Fill the heaps of rows with the nearest by a block of distances; row i skips the point self_offset + i, which is itself."""
    for i in range(block.shape[0]):
        start = i * size
        for j in range(block.shape[1]):
            d = block[i, j]
            if j != self_offset + i and is_nearer(d, j, dist[start], rows[start]):
                sift_down(dist, rows, start, size, 0, d, j)


@jit(void(ro(float64, 2), ro(float64, 2), ro(int32, 2), ro(int32), ro(int64), rw(float64), rw(int32), int64))
def rerank_candidates(queries, values, candidates, members, starts, dist, rows, size):
    """Offer to every query its candidates, which must be distinct, by their computed distances; negative ones are skipped."""
    for i in range(candidates.shape[0]):
        for c in range(candidates.shape[1]):
            j = candidates[i, c]
            if j >= 0:
                d = euclidean_distance(queries, i, values, j)
                offer_rows(dist, rows, i * size, size, d, members, starts[j], starts[j + 1])
