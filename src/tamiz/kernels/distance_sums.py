"""Distances from some rows to many, and sums over pairs of distances from which stress and correlation are computed."""

from __future__ import annotations

import numpy as np
from numba.types import float64, int32, int64, void

from tamiz.kernels import jit, ro, rw


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


@jit(float64(ro(float64, 2), int64, ro(float64, 2), int64), reassociate=True)
def squared_distance(a, i, b, j):
    total = 0.0
    for c in range(a.shape[1]):
        difference = a[i, c] - b[j, c]
        total += difference * difference
    return total


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
