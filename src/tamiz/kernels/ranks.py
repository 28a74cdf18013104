"""Ranks of rows by distance, from approximate keys with error bounds.

A *key* is an approximation of a squared distance, from a matrix product. If two keys differ by more than their error bounds, the
smaller key has the smaller distance; the other pairs are *undecided* and are compared by exact distances.
"""

from __future__ import annotations

import numpy as np
from numba.types import float64, int32, int64, void

from tamiz.kernels import jit, ro, rw
from tamiz.kernels.primitives import distance_key

# Buckets for each entry that is sorted; a bucket with at most so many entries is sorted by insertion.
BUCKETS_PER_ENTRY = 2
_INSERTION_SIZE = 24


_WINDOWS = (ro(float64, 2), ro(float64), ro(float64, 2), ro(float64, 2))


@jit(void(*_WINDOWS, rw(int32, 2), rw(int32, 2)))
def count_nearer(keys, error_bounds, low, high, n_below, n_within):
    """Count the keys of row i that are certainly below low[i, t] (n_below) and those of at most high[i, t] (n_within)."""
    n_rows, n_columns = keys.shape
    for i in range(n_rows):
        for t in range(low.shape[1]):
            least, most = low[i, t], high[i, t]
            below = int64(0)
            within = int64(0)
            for j in range(n_columns):
                key = keys[i, j]
                below += key + error_bounds[j] < least
                within += key <= most
            n_below[i, t] = below
            n_within[i, t] = within


@jit(void(*_WINDOWS, ro(int32, 2), rw(int32), rw(int32), rw(int32)))
def collect_undecided(keys, error_bounds, low, high, n_undecided, rows, limits, columns):
    """Fill rows, limits and columns with i, t and j of the undecided keys: within high[i, t] but not certainly below low[i, t].

    n_undecided[i, t] is their number.
    """
    n = 0
    for i in range(keys.shape[0]):
        for t in range(low.shape[1]):
            if n_undecided[i, t] > 0:
                for j in range(keys.shape[1]):
                    if keys[i, j] <= high[i, t] and not keys[i, j] + error_bounds[j] < low[i, t]:
                        rows[n], limits[n], columns[n] = i, t, j
                        n += 1


@jit(void(ro(int32), ro(int32), ro(float64), ro(float64, 2), rw(int32, 2)))
def count_exact(rows, limits, distances, thresholds, n_below):
    """Add to n_below[i, t] the number of exact distances below thresholds[i, t], for i in rows and t in limits."""
    for p in range(rows.shape[0]):
        n_below[rows[p], limits[p]] += distance_key(distances[p]) < distance_key(thresholds[rows[p], limits[p]])


@jit(void(rw(float64), rw(int32), int64, int64))
def insertion_sort(keys, indices, start, stop):
    """Sort the entries start .. stop by (key, index)."""
    for a in range(start + 1, stop):
        key, index = keys[a], indices[a]
        b = a
        while b > start and (keys[b - 1] > key or (keys[b - 1] == key and indices[b - 1] > index)):
            keys[b], indices[b] = keys[b - 1], indices[b - 1]
            b -= 1
        keys[b], indices[b] = key, index


_BUFFERS = (rw(float64), rw(int32), rw(int32), rw(int32))


@jit(int64(rw(float64), rw(int32), int64, int64, *_BUFFERS))
def fill_buckets(keys, indices, start, stop, other_keys, other_indices, bucket_of, ends):
    """Distribute the entries start .. stop stably over buckets of equal width, and return the number of buckets.

    ends[b] is filled with the end of bucket b. There are 0 buckets if all keys are equal or too close for a finite width.
    """
    least, most = keys[start], keys[start]
    for a in range(start, stop):
        least, most = min(least, keys[a]), max(most, keys[a])
    n_buckets = BUCKETS_PER_ENTRY * (stop - start)
    if least == most:
        return 0
    scale = (n_buckets - 1) / (most - least)
    if scale > 1e300:
        return 0
    for b in range(n_buckets + 1):
        ends[b] = 0
    for a in range(start, stop):
        bucket_of[a] = np.int32((keys[a] - least) * scale)
    for a in range(start, stop):
        ends[bucket_of[a] + 1] += 1
    ends[0] = start
    for b in range(n_buckets):
        ends[b + 1] += ends[b]
    # ends[b] is the next free position of bucket b, after the loop its end.
    for a in range(start, stop):
        to = ends[bucket_of[a]]
        ends[bucket_of[a]] = to + 1
        other_keys[to], other_indices[to] = keys[a], indices[a]
    for a in range(start, stop):
        keys[a], indices[a] = other_keys[a], other_indices[a]
    return n_buckets


@jit(void(rw(float64), rw(int32), int64, int64, *_BUFFERS))
def bucket_sort(keys, indices, first, last, other_keys, other_indices, bucket_of, ends):
    """Sort the entries first .. last by (key, index); fastest if their indices ascend.

    The buffers need as many entries, and `ends` needs BUCKETS_PER_ENTRY times as many and one more.
    """
    open_ = np.empty(((last - first) // _INSERTION_SIZE + 2, 2), np.int32)
    open_[0, 0], open_[0, 1] = first, last
    n_open = 1
    while n_open:
        n_open -= 1
        start, stop = open_[n_open, 0], open_[n_open, 1]
        n_buckets = fill_buckets(keys, indices, start, stop, other_keys, other_indices, bucket_of, ends)
        begin, fullest = start, 0
        for b in range(n_buckets):
            fullest = max(fullest, ends[b] - begin)
            begin = ends[b]
        if fullest <= _INSERTION_SIZE:
            # Almost sorted.
            insertion_sort(keys, indices, start, stop)
            continue
        begin = start
        for b in range(n_buckets):
            end = ends[b]
            if end - begin > _INSERTION_SIZE:
                open_[n_open, 0], open_[n_open, 1] = begin, end
                n_open += 1
            elif end - begin > 1:
                insertion_sort(keys, indices, begin, end)
            begin = end


@jit(int64(ro(float64), int64, ro(float64), float64, float64, rw(float64), rw(int32), *_BUFFERS))
def sort_row(
    row, self_index, error_bounds, self_error, relative_error, keys, indices, other_keys, other_indices, bucket_of, ends
):
    """Sort the keys of a row without its own, equal keys by index, and return the number of undecided ones.

    other_indices is filled with the positions of the undecided keys in the order: those within the error bound of the key before or
    after. The error bound of a key is error_bounds[j] + self_error + relative_error * |key|.
    """
    n = row.shape[0] - 1
    largest_error = 0.0
    for j in range(n + 1):
        largest_error = max(largest_error, error_bounds[j])
    for j in range(self_index):
        keys[j], indices[j] = row[j], j
    for j in range(self_index, n):
        keys[j], indices[j] = row[j + 1], j + 1
    bucket_sort(keys, indices, 0, n, other_keys, other_indices, bucket_of, ends)
    all_decided = True
    for a in range(1, n):
        all_decided &= keys[a] > keys[a - 1] + largest_error + self_error + relative_error * abs(keys[a - 1])
    if all_decided or relative_error == 0.0:
        return 0
    found, reach, listed = 0, -np.inf, -1
    for a in range(n):
        if keys[a] <= reach:
            if listed < a - 1:
                other_indices[found] = a - 1
                found += 1
            other_indices[found] = a
            found += 1
            listed = a
        reach = max(reach, keys[a] + error_bounds[indices[a]] + self_error + relative_error * abs(keys[a]))
    return found


@jit(void(ro(int32), ro(float64), rw(float64), rw(int32), *_BUFFERS))
def sort_undecided(undecided, exact_keys, keys, indices, other_keys, other_indices, bucket_of, ends):
    """Sort runs of undecided entries by the exact keys of their points, equal ones by index."""
    p = 0
    while p < undecided.shape[0]:
        q = p + 1
        while q < undecided.shape[0] and undecided[q] == undecided[q - 1] + 1:
            q += 1
        start, stop = undecided[p], undecided[q - 1] + 1
        if stop - start > _INSERTION_SIZE:
            for a in range(start, stop):
                keys[a] = float64(indices[a])
            bucket_sort(keys, indices, start, stop, other_keys, other_indices, bucket_of, ends)
        for a in range(start, stop):
            keys[a] = exact_keys[indices[a]]
        bucket_sort(keys, indices, start, stop, other_keys, other_indices, bucket_of, ends)
        p = q


@jit(void(ro(int32), int64, rw(int32)))
def fill_ranks(indices, self_index, ranks):
    """Fill ranks with the positions of the points in the order, from 1; the row itself has rank 0."""
    ranks[self_index] = 0
    for a in range(indices.shape[0] - 1):
        ranks[indices[a]] = a + 1


@jit(float64(ro(int32), ro(int32), ro(float64), rw(int64)))
def count_larger_ranks(a, b, gains, counts):
    """Add to counts[r] the number of pairs of ranks with maximum r; return the sum of gains[r] over the pairs. Rank 0 is
    skipped.
    """
    gain = 0.0
    for j in range(a.shape[0]):
        larger = max(a[j], b[j])
        if larger > 0:
            counts[larger] += 1
            gain += gains[larger]
    return gain


@jit(void(ro(int32), ro(int32), rw(int64, 2)))
def count_rank_pairs(a, b, counts):
    """Add to counts[r - 1, s - 1] the number of pairs of ranks (r, s). Rank 0 is skipped."""
    for j in range(a.shape[0]):
        if a[j] > 0:
            counts[a[j] - 1, b[j] - 1] += 1
