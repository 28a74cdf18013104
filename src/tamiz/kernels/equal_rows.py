"""Rows that are equal: found by a number they share, searched once, and handed back to each of them."""

from __future__ import annotations

import numpy as np
from numba.types import boolean, float64, int32, int64, uint64, void

from tamiz.kernels import jit, ro, rw

# An odd number with bits in no pattern: the golden ratio times 2^64.
_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MINUS_ZERO = np.uint64(1 << 63)
_HASH_SHIFT = np.uint64(29)


@jit(void(ro(uint64, 2), rw(uint64)))
def hash_rows(bits, hashes):
    """Fill out with a number for every row, given the bits of its floats: the same for equal rows, zeros of both signs alike."""
    for i in range(bits.shape[0]):
        total = _HASH_MULTIPLIER
        for k in range(bits.shape[1]):
            word = bits[i, k]
            if word == _MINUS_ZERO:
                word = np.uint64(0)
            total = (total ^ word) * _HASH_MULTIPLIER
            total ^= total >> _HASH_SHIFT
        hashes[i] = total


@jit(void(ro(float64, 2), ro(int64), ro(uint64), rw(boolean)))
def mark_duplicates(values, order, hashes, out):
    """Fill out[p] with whether the row at places[p] equals the one at places[p - 1]; rows of other numbers do not."""
    out[0] = False
    for p in range(1, order.shape[0]):
        i, j = order[p], order[p - 1]
        same = hashes[i] == hashes[j]
        for k in range(values.shape[1]):
            if not same:
                break
            same = values[i, k] == values[j, k]
        out[p] = same


@jit(void(ro(int32), ro(float64), ro(int32), int64, int64, int64, rw(float64), rw(int32)))
def copy_group_lists(group, dist, rows, size, first, last, out_dist, out_rows):
    """Give the rows [first, last) the `size` entries of their group less the row itself, or less the last."""
    for i in range(first, last):
        start, to, end = group[i] * size, i * (size - 1), (i + 1) * (size - 1)
        for p in range(start, start + size):
            if to < end and rows[p] != i:
                out_dist[to], out_rows[to] = dist[p], rows[p]
                to += 1


@jit(void(ro(int64), ro(int32), ro(int64), boolean, rw(int64)))
def expanded_sizes(indptr, points, starts, include_duplicates, out):
    """Fill out[i] with the rows that the points at indptr[i] : indptr[i + 1] stand for, and the others that point i does."""
    for i in range(out.shape[0]):
        total = starts[i + 1] - starts[i] - 1 if include_duplicates else 0
        for p in range(indptr[i], indptr[i + 1]):
            total += starts[points[p] + 1] - starts[points[p]]
        out[i] = total


_LISTS = (ro(int64), ro(float64), ro(int32))
_EXPANDED_LISTS = (ro(int64), rw(float64), rw(int32))


@jit(void(ro(int32), *_LISTS, ro(int32), ro(int64), boolean, int64, int64, *_EXPANDED_LISTS))
def expand_lists(
    group, indptr, dist, points, members, starts, include_duplicates, first, last, out_indptr, out_dist, out_rows
):
    """Give the rows [first, last) every row that the points of their group's list stand for, and the others of their group."""
    for i in range(first, last):
        g, to = group[i], out_indptr[i]
        if include_duplicates:
            for m in range(starts[g], starts[g + 1]):
                if members[m] != i:
                    out_dist[to], out_rows[to] = 0.0, members[m]
                    to += 1
        for p in range(indptr[g], indptr[g + 1]):
            for m in range(starts[points[p]], starts[points[p] + 1]):
                out_dist[to], out_rows[to] = dist[p], members[m]
                to += 1
