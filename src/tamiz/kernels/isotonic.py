"""Monotone regression on pairs whose order is known: pool adjacent violators, in pieces.

`order` lists pairs by rising dissimilarity. A piece of it is pooled by itself into blocks, each with a sum, a mass
and the entry where it begins; the blocks of all pieces, one piece after the other, are then pooled again.
"""

from __future__ import annotations

import numpy as np
from numba.types import boolean, float32, float64, int64, uint32, void

from tamiz.kernels import jit, ro, rw

# Entries that are put in order by insertion: few of them move once the points move little.
_SHORT = 16
# Entries that are read ahead.
_GATHERED = 512


@jit(
    [
        int64(ro(float64), ro(float64), ro(uint32), ro(boolean), int64, int64, rw(float64), rw(float64), rw(int64)),
        int64(ro(float32), ro(float32), ro(uint32), ro(boolean), int64, int64, rw(float64), rw(float64), rw(int64)),
    ]
)
def pool(distances, weights, order, joined, start, stop, sums, masses, begins):
    """Pool the entries start .. stop of an order into blocks whose means rise, and return how many there are.

    Weights may be none. joined[r] says that entry r has the value of the one before it, whatever that is; none are where it is
    empty. Blocks fill the arrays from 0: the sum of each, its mass and its first entry.
    """
    has_weights, has_joined = len(weights) > 0, len(joined) > 0
    values, counts = np.empty(_GATHERED), np.ones(_GATHERED)
    top, r, read = 0, start, start
    # The last block is held apart from the pile of those before it.
    total, mass, begin = -np.inf, 1.0, start
    value, weight, first = 0.0, 0.0, start
    while r < stop:
        if r == read:
            # Read ahead: a pooling step hangs on what it compares, and would wait for each entry from far memory.
            for s in range(min(_GATHERED, stop - read)):
                values[s] = float64(distances[order[read + s]])
            if has_weights:
                for s in range(min(_GATHERED, stop - read)):
                    counts[s] = float64(weights[order[read + s]])
                    values[s] *= counts[s]
            read = min(read + _GATHERED, stop)
        s = (r - start) % _GATHERED
        value += values[s]
        weight += counts[s]
        r += 1
        if has_joined and r < stop and joined[r]:
            continue
        # Means are compared by products: a division would take longer than all the rest.
        if total * weight < value * mass:
            if first > start:
                sums[top], masses[top], begins[top] = total, mass, begin
                top += 1
            total, mass, begin = value, weight, first
        else:
            total += value
            mass += weight
            while top > 0 and sums[top - 1] * mass >= total * masses[top - 1]:
                top -= 1
                total += sums[top]
                mass += masses[top]
                begin = begins[top]
        value, weight, first = 0.0, 0.0, r
    sums[top], masses[top], begins[top] = total, mass, begin
    return top + 1


@jit(int64(ro(int64), ro(int64), rw(float64), rw(float64), rw(int64)))
def merge(starts, sizes, sums, masses, begins):
    """Pool the blocks of pieces, sizes[p] of them from starts[p] on, into blocks from 0 on, and return how many there are."""
    top = 0
    for p in range(len(starts)):
        for b in range(starts[p], starts[p] + sizes[p]):
            total, mass, begin = sums[b], masses[b], begins[b]
            while top > 0 and sums[top - 1] * mass >= total * masses[top - 1]:
                top -= 1
                total += sums[top]
                mass += masses[top]
                begin = begins[top]
            sums[top], masses[top], begins[top] = total, mass, begin
            top += 1
    return top


@jit(
    [
        void(ro(uint32), ro(float64), ro(int64), int64, int64, rw(float64)),
        void(ro(uint32), ro(float64), ro(int64), int64, int64, rw(float32)),
    ]
)
def spread(order, heights, begins, start, stop, out):
    """Fill out[order[r]] for the entries start .. stop with the height of the block of each."""
    b = np.searchsorted(begins, start, side="right") - 1
    for r in range(start, stop):
        if b + 1 < len(begins) and begins[b + 1] <= r:
            b += 1
        out[order[r]] = heights[b]


@jit(
    [
        void(ro(float64), ro(int64), int64, int64, rw(uint32)),
        void(ro(float32), ro(int64), int64, int64, rw(uint32)),
    ]
)
def sort_ties(distances, ends, start, stop, order):
    """Put the entries of ties in the order of their distances: tie t is order[ends[2 t] : ends[2 t + 1]], those from start to stop.

    Equal distances are put in the order of their pairs.
    """
    for t in range(start, stop):
        first, last = ends[2 * t], ends[2 * t + 1]
        part = order[first:last]
        if last - first <= _SHORT:
            for r in range(1, len(part)):
                pair = part[r]
                d, s = distances[pair], r
                while s > 0 and (distances[part[s - 1]] > d or (distances[part[s - 1]] == d and part[s - 1] > pair)):
                    part[s] = part[s - 1]
                    s -= 1
                part[s] = pair
        else:
            part.sort()
            gathered = np.empty(len(part), dtype=distances.dtype)
            for r in range(len(part)):
                gathered[r] = distances[part[r]]
            part[:] = part[np.argsort(gathered, kind="mergesort")]
