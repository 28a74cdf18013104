"""How many rows are nearer than others, and the ranks of all.

A *key* orders as a distance does, but for a blur: of two pairs whose keys are farther apart than that, the one with the smaller
key has the smaller distance.
"""

from __future__ import annotations

import numpy as np
from numba.types import float64, int32, int64, void

from tamiz.kernels import jit, ro, rw

# Buckets for each number that is put in order; so many numbers of one bucket are put in order one by one.
BUCKETS = 2
_FEW = 24


_WINDOWS = (ro(float64, 2), ro(float64), ro(float64, 2), ro(float64, 2))


@jit(void(*_WINDOWS, rw(int32, 2), rw(int32, 2)))
def count_nearer(keys, blur, low, high, nearer, reached):
    """Fill nearer[i, t] with how many keys of row i are below low[i, t] with all their blur, reached with those at most high."""
    n_rows, n_columns = keys.shape
    for i in range(n_rows):
        for t in range(low.shape[1]):
            least, most = low[i, t], high[i, t]
            below = int64(0)
            within = int64(0)
            for j in range(n_columns):
                key = keys[i, j]
                below += key + blur[j] < least
                within += key <= most
            nearer[i, t] = below
            reached[i, t] = within


@jit(void(*_WINDOWS, ro(int32, 2), rw(int32), rw(int32), rw(int32)))
def collect_doubts(keys, blur, low, high, doubts, rows, limits, columns):
    """Fill rows, limits and columns with i, t and j of keys that `count_nearer` reached without knowing them nearer.

    Only where doubts[i, t], the number of them, is not 0.
    """
    n = 0
    for i in range(keys.shape[0]):
        for t in range(low.shape[1]):
            if doubts[i, t] > 0:
                for j in range(keys.shape[1]):
                    if keys[i, j] <= high[i, t] and not keys[i, j] + blur[j] < low[i, t]:
                        rows[n], limits[n], columns[n] = i, t, j
                        n += 1


@jit(void(ro(int32), ro(int32), ro(float64), ro(float64, 2), rw(int32, 2)))
def count_measured(rows, limits, distances, wanted, nearer):
    """Add to nearer[i, t] the distances below wanted[i, t], for i in rows and t in limits."""
    for p in range(rows.shape[0]):
        nearer[rows[p], limits[p]] += distances[p] < wanted[rows[p], limits[p]]


@jit(void(rw(float64), rw(int32), int64, int64))
def insert(keys, places, start, stop):
    """Sort the entries start .. stop by (key, place)."""
    for a in range(start + 1, stop):
        key, place = keys[a], places[a]
        b = a
        while b > start and (keys[b - 1] > key or (keys[b - 1] == key and places[b - 1] > place)):
            keys[b], places[b] = keys[b - 1], places[b - 1]
            b -= 1
        keys[b], places[b] = key, place


_SPACE = (rw(float64), rw(int32), rw(int32), rw(int32))


@jit(int64(rw(float64), rw(int32), int64, int64, *_SPACE))
def split(keys, places, start, stop, other_keys, other_places, which, ends):
    """Put the entries start .. stop into buckets of equal width, in order, entries of one bucket as they came.

    Return how many buckets; ends[b] is where bucket b ends. No buckets: all keys are equal, or too near for their width to be
    a number.
    """
    least, most = keys[start], keys[start]
    for a in range(start, stop):
        least, most = min(least, keys[a]), max(most, keys[a])
    n_buckets = BUCKETS * (stop - start)
    if least == most:
        return 0
    scale = (n_buckets - 1) / (most - least)
    if scale > 1e300:
        return 0
    for b in range(n_buckets + 1):
        ends[b] = 0
    for a in range(start, stop):
        which[a] = np.int32((keys[a] - least) * scale)
    for a in range(start, stop):
        ends[which[a] + 1] += 1
    ends[0] = start
    for b in range(n_buckets):
        ends[b + 1] += ends[b]
    # ends[b] is where bucket b goes on, in the end where it ends.
    for a in range(start, stop):
        to = ends[which[a]]
        ends[which[a]] = to + 1
        other_keys[to], other_places[to] = keys[a], places[a]
    for a in range(start, stop):
        keys[a], places[a] = other_keys[a], other_places[a]
    return n_buckets


@jit(void(rw(float64), rw(int32), int64, int64, *_SPACE))
def sort(keys, places, first, last, other_keys, other_places, which, ends):
    """Sort the entries first .. last by (key, place); quickly where they come in ascending order of their places.

    There must be room for as many others, and for BUCKETS times as many ends and one.
    """
    open_ = np.empty(((last - first) // _FEW + 2, 2), np.int32)
    open_[0, 0], open_[0, 1] = first, last
    n_open = 1
    while n_open:
        n_open -= 1
        start, stop = open_[n_open, 0], open_[n_open, 1]
        n_buckets = split(keys, places, start, stop, other_keys, other_places, which, ends)
        begun, fullest = start, 0
        for b in range(n_buckets):
            fullest = max(fullest, ends[b] - begun)
            begun = ends[b]
        if fullest <= _FEW:
            # Hardly anything is out of order.
            insert(keys, places, start, stop)
            continue
        begun = start
        for b in range(n_buckets):
            end = ends[b]
            if end - begun > _FEW:
                open_[n_open, 0], open_[n_open, 1] = begun, end
                n_open += 1
            elif end - begun > 1:
                insert(keys, places, begun, end)
            begun = end


@jit(int64(ro(float64), int64, ro(float64), float64, float64, rw(float64), rw(int32), *_SPACE))
def order(row, own, blur, own_blur, growth, keys, places, other_keys, other_places, which, ends):
    """Sort the keys of a row but for own, equal ones by their number, and return how many are in doubt.

    Those are given in other_places, as entries of the order: keys within the blur of one before or behind them. The blur of a
    pair is blur[j] + own_blur and the share `growth` of the key.
    """
    n = row.shape[0] - 1
    most_blur = 0.0
    for j in range(n + 1):
        most_blur = max(most_blur, blur[j])
    for j in range(own):
        keys[j], places[j] = row[j], j
    for j in range(own, n):
        keys[j], places[j] = row[j + 1], j + 1
    sort(keys, places, 0, n, other_keys, other_places, which, ends)
    sure = True
    for a in range(1, n):
        sure &= keys[a] > keys[a - 1] + most_blur + own_blur + growth * abs(keys[a - 1])
    if sure or growth == 0.0:
        return 0
    found, reach, listed = 0, -np.inf, -1
    for a in range(n):
        if keys[a] <= reach:
            if listed < a - 1:
                other_places[found] = a - 1
                found += 1
            other_places[found] = a
            found += 1
            listed = a
        reach = max(reach, keys[a] + blur[places[a]] + own_blur + growth * abs(keys[a]))
    return found


@jit(void(ro(int32), ro(float64), rw(float64), rw(int32), *_SPACE))
def reorder(doubtful, measured, keys, places, other_keys, other_places, which, ends):
    """Sort runs of doubtful entries by what was measured of the points at these places, equal ones by their number."""
    p = 0
    while p < doubtful.shape[0]:
        q = p + 1
        while q < doubtful.shape[0] and doubtful[q] == doubtful[q - 1] + 1:
            q += 1
        start, stop = doubtful[p], doubtful[q - 1] + 1
        if stop - start > _FEW:
            for a in range(start, stop):
                keys[a] = float64(places[a])
            sort(keys, places, start, stop, other_keys, other_places, which, ends)
        for a in range(start, stop):
            keys[a] = measured[places[a]]
        sort(keys, places, start, stop, other_keys, other_places, which, ends)
        p = q


@jit(void(ro(int32), int64, rw(int32)))
def number(places, own, ranks):
    """Fill ranks with the entries of the order at which the points are, from 1; 0 for own."""
    ranks[own] = 0
    for a in range(places.shape[0] - 1):
        ranks[places[a]] = a + 1


@jit(float64(ro(int32), ro(int32), ro(float64), rw(int64)))
def count_larger_ranks(a, b, gains, counts):
    """Add to counts[r] the pairs of ranks whose larger one is r; return the sum of the gains of these. Ranks of 0 are left out."""
    gain = 0.0
    for j in range(a.shape[0]):
        larger = max(a[j], b[j])
        if larger > 0:
            counts[larger] += 1
            gain += gains[larger]
    return gain


@jit(void(ro(int32), ro(int32), rw(int64, 2)))
def count_rank_pairs(a, b, counts):
    """Add to counts[r - 1, s - 1] the pairs of ranks (r, s). Ranks of 0 are left out."""
    for j in range(a.shape[0]):
        if a[j] > 0:
            counts[a[j] - 1, b[j] - 1] += 1
