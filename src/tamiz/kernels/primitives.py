"""What kernels of several files share: distances and their order, heaps of the nearest rows, a radix sort, and n log n.

The order of distances is the same in every search: what rounding decides is a tie, and of ties the lower row is nearer. The text of
this file is part of the key of every cached kernel, so an edit here compiles all kernels again.
"""

from __future__ import annotations

import numpy as np
from numba.types import boolean, float64, int32, int64, uint64, void
from numpy.typing import NDArray

from tamiz.kernels import jit, ro, rw

# Bits of a distance that do not count, half of its 52. Rounding errors are smaller unless differences of values are below a
# millionth of the values, and a step between two keys separates equal distances about once in a million.
_IGNORED_BITS = 26
_HALF = 1 << (_IGNORED_BITS - 1)
# Distances with one key differ by at most this share.
TIE_WIDTH = 2.0**-26


@jit(float64(float64, ro(float64)))
def n_log_n(n, log_table):
    """Return n log2 n, read from the table of whole numbers unless that is empty."""
    if n <= 0.0:
        return 0.0
    if log_table.shape[0] > 0:
        return log_table[int64(n)]
    return n * np.log2(n)


@jit(int64(float64))
def distance_key(d):
    """Return a distance, which is not negative, rounded to 27 significant bits, as an integer in the same order."""
    return (np.float64(d).view(np.int64) + _HALF) >> _IGNORED_BITS


@jit(boolean(float64, int64, float64, int64))
def is_nearer(d, row, other_d, other_row):
    """Return whether a row at distance d is nearer than another row: by the keys of the distances, of equal keys by the row."""
    key, other_key = distance_key(d), distance_key(other_d)
    return key < other_key or (key == other_key and row < other_row)


def distance_keys(distances: NDArray[np.float64]) -> NDArray[np.int64]:
    return (np.ascontiguousarray(distances).view(np.int64) + _HALF) >> _IGNORED_BITS


@jit(float64(ro(float64, 2), int64, ro(float64, 2), int64), reassociate=True)
def squared_distance(a, i, b, j):
    total = 0.0
    for k in range(a.shape[1]):
        difference = a[i, k] - b[j, k]
        total += difference * difference
    return total


@jit(float64(ro(float64, 2), int64, ro(float64, 2), int64))
def euclidean_distance(a, i, b, j):
    """Return the distance of all exact searches, so that all return the same bits."""
    return np.sqrt(squared_distance(a, i, b, j))


@jit(void(rw(float64), rw(int32), int64, int64, int64, float64, int32))
def sift_down(dist, rows, start, size, hole, d, row):
    """Insert an entry at a hole of a heap, the farthest first in `size` entries from `start`, moving farther ones from below up."""
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        c = start + child
        if child + 1 < size and is_nearer(dist[c], rows[c], dist[c + 1], rows[c + 1]):
            child += 1
            c += 1
        if is_nearer(d, row, dist[c], rows[c]):
            dist[start + hole], rows[start + hole] = dist[c], rows[c]
            hole = child
        else:
            break
    dist[start + hole], rows[start + hole] = d, row


# 64 bits in 6 digits of 11 bits.
_DIGIT_BITS, _N_DIGITS = 11, 6
_N_BUCKETS = 1 << _DIGIT_BITS
_SIGN = np.uint64(1 << 63)


@jit(void(rw(uint64), rw(int32)))
def radix_sort(bits, items):
    """Sort float64 numbers, given as their bits, in place and together with their items: stable, in O(n)."""
    n = bits.shape[0]
    keys, other_keys = np.empty(n, np.uint64), np.empty(n, np.uint64)
    found, other_found = np.empty(n, np.int32), np.empty(n, np.int32)
    starts = np.zeros((_N_DIGITS, _N_BUCKETS), np.int64)
    mask, width = np.uint64(_N_BUCKETS - 1), np.uint64(_DIGIT_BITS)
    for i in range(n):
        # Negative numbers have all bits flipped, others the sign: the order of the keys is that of the numbers.
        key = ~bits[i] if bits[i] & _SIGN else bits[i] | _SIGN
        keys[i], found[i] = key, items[i]
        for digit in range(_N_DIGITS):
            starts[digit, int64(key & mask)] += 1
            key >>= width
    for digit in range(_N_DIGITS):
        shift = np.uint64(digit * _DIGIT_BITS)
        if n == 0 or starts[digit, int64((keys[0] >> shift) & mask)] == n:
            continue
        before = int64(0)
        for bucket in range(_N_BUCKETS):
            count = starts[digit, bucket]
            starts[digit, bucket] = before
            before += count
        for i in range(n):
            bucket = int64((keys[i] >> shift) & mask)
            to = starts[digit, bucket]
            starts[digit, bucket] = to + 1
            other_keys[to], other_found[to] = keys[i], found[i]
        keys, other_keys = other_keys, keys
        found, other_found = other_found, found
    for i in range(n):
        bits[i] = keys[i] ^ _SIGN if keys[i] & _SIGN else ~keys[i]
        items[i] = found[i]
