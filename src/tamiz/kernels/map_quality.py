"""Quality of a map: distances from some rows to all points, sums over their pairs, and ranks from keys with error bounds.

A *key* is an approximation of a squared distance, from a matrix product. If two keys differ by more than their error bounds, the
smaller key has the smaller distance; the other pairs are *undecided* and are compared by exact distances.
"""

from __future__ import annotations

import numpy as np
from numba.types import float64, int32, int64, void

from tamiz.kernels import jit, ro, rw
from tamiz.kernels.primitives import radix_sort, squared_distance

# Runs of undecided keys that are sorted by insertion; the radix sort has a cost of its own.
_INSERTION_SIZE = 256


@jit(void(ro(float64, 2), ro(float64, 2), int64, rw(float64, 2)), reassociate=True)
def low_dim_squared_distances(rows, columns, first, out):
    """Fill out[i, j] with the squared distance between row i and the point first + j.

    `columns` has one row for each coordinate of the points. Coordinates are read in pairs: their number must be even.
    """
    for i in range(out.shape[0]):
        x, y = rows[i, 0], rows[i, 1]
        for j in range(out.shape[1]):
            a, b = x - columns[0, first + j], y - columns[1, first + j]
            out[i, j] = a * a + b * b
        for c in range(2, columns.shape[0], 2):
            x, y = rows[i, c], rows[i, c + 1]
            for j in range(out.shape[1]):
                a, b = x - columns[c, first + j], y - columns[c + 1, first + j]
                out[i, j] += a * a + b * b


@jit(void(ro(float64, 2), ro(int32), int64, ro(float64), ro(float64), float64, rw(float64, 2)))
def distances_from_bounds(values, rows, first, squared_norms, error_bound, min_share, squares):
    """Replace lower bounds of squared distances, with known error bounds, by distances.

    A square below `min_share` of the sum of the squared norms has lost digits, and is computed again from the rows.
    """
    n_columns = squares.shape[1]
    for r in range(squares.shape[0]):
        i = rows[r]
        length, own = squared_norms[i], error_bound[i]
        any_inaccurate = False
        for c in range(n_columns):
            square = squares[r, c] + (own + error_bound[first + c])
            any_inaccurate |= square < min_share * (length + squared_norms[first + c])
            squares[r, c] = square
        if any_inaccurate:
            for c in range(n_columns):
                if squares[r, c] < min_share * (length + squared_norms[first + c]):
                    squares[r, c] = squared_distance(values, i, values, first + c)
        for c in range(n_columns):
            squares[r, c] = np.sqrt(squares[r, c])


@jit(void(ro(float64, 2), ro(float64, 2), ro(float64), rw(float64, 2)), reassociate=True)
def distance_sums(input_distances, map_distances, scales, out):
    """Add to row i of out ten sums over j of products of d, e and r = d - s e.

    d = u input_distances[i, j] and e = v map_distances[i, j]. `scales` is u, v, s, two factors f and g, and a centre for d and
    for e. The sums are those of d^2, e^2, r^2, r e and (f d - g e)^2, then with centred d and e those of d, e, d^2, e^2 and d
    e.
    """
    unit_d, unit_e, s, f, g = scales[0], scales[1], scales[2], scales[3], scales[4]
    mean_d, mean_e = scales[5], scales[6]
    for i in range(input_distances.shape[0]):
        dd = ee = rr = re = ff = a = b = aa = bb = ab = 0.0
        for j in range(input_distances.shape[1]):
            d, e = unit_d * input_distances[i, j], unit_e * map_distances[i, j]
            r, q = d - s * e, f * d - g * e
            u, v = d - mean_d, e - mean_e
            dd += d * d
            ee += e * e
            rr += r * r
            re += r * e
            ff += q * q
            a += u
            b += v
            aa += u * u
            bb += v * v
            ab += u * v
        out[i, 0] += dd
        out[i, 1] += ee
        out[i, 2] += rr
        out[i, 3] += re
        out[i, 4] += ff
        out[i, 5] += a
        out[i, 6] += b
        out[i, 7] += aa
        out[i, 8] += bb
        out[i, 9] += ab


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


@jit(int64(ro(float64), int64, ro(float64), float64, float64, rw(float64), rw(int32), rw(int32)))
def sort_row(row, self_index, error_bounds, self_error, relative_error, keys, indices, undecided):
    """Sort the keys of a row without its own, equal keys by index, and return the number of undecided ones.

    `undecided` is filled with their positions in the order: those within the error bound of the key before or after. The error
    bound of a key is error_bounds[j] + self_error + relative_error * |key|.
    """
    n = row.shape[0] - 1
    largest_error = 0.0
    for j in range(n + 1):
        largest_error = max(largest_error, error_bounds[j])
    for j in range(self_index):
        keys[j], indices[j] = row[j], j
    for j in range(self_index, n):
        keys[j], indices[j] = row[j + 1], j + 1
    radix_sort(keys[:n].view(np.uint64), indices[:n])
    all_decided = True
    for a in range(1, n):
        all_decided &= keys[a] > keys[a - 1] + largest_error + self_error + relative_error * abs(keys[a - 1])
    if all_decided or relative_error == 0.0:
        return 0
    found, reach, listed = 0, -np.inf, -1
    for a in range(n):
        if keys[a] <= reach:
            if listed < a - 1:
                undecided[found] = a - 1
                found += 1
            undecided[found] = a
            found += 1
            listed = a
        reach = max(reach, keys[a] + error_bounds[indices[a]] + self_error + relative_error * abs(keys[a]))
    return found


@jit(void(ro(int32), ro(float64), rw(float64), rw(int32)))
def sort_undecided(undecided, exact_keys, keys, indices):
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
            radix_sort(keys[start:stop].view(np.uint64), indices[start:stop])
        for a in range(start, stop):
            keys[a] = exact_keys[indices[a]]
        if stop - start > _INSERTION_SIZE:
            radix_sort(keys[start:stop].view(np.uint64), indices[start:stop])
        else:
            insertion_sort(keys, indices, start, stop)
        p = q


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
