"""Distances of some rows to many, and what the distances of two maps of the same rows have in common."""

from __future__ import annotations

import numpy as np
from numba.types import float64, int32, int64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(float64, 2), ro(float64, 2), int64, rw(float64, 2)), reassociate=True)
def low_dim_squared_distances(rows, columns, first, out):
    """Fill out[i, j] with the squared distance of row i and of the point first + j, whose coordinates are in columns.

    Two columns at a time: there must be an even number of them.
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
    """Return the squared distance of row i of a and row j of b."""
    total = 0.0
    for c in range(a.shape[1]):
        gap = a[i, c] - b[j, c]
        total += gap * gap
    return total


@jit(void(ro(float64, 2), ro(int32), int64, ro(float64), ro(float64), float64, rw(float64, 2)))
def distances_from_bounds(values, rows, first, squared_norms, error_bound, min_share, squares):
    """Turn bounds of squared distances, blur below them, into distances.

    A square below a share of the lengths that it is the difference of has lost digits, and is measured.
    """
    n_columns = squares.shape[1]
    for r in range(squares.shape[0]):
        i = rows[r]
        length, own = squared_norms[i], error_bound[i]
        short = False
        for c in range(n_columns):
            square = squares[r, c] + (own + error_bound[first + c])
            short |= square < min_share * (length + squared_norms[first + c])
            squares[r, c] = square
        if short:
            for c in range(n_columns):
                if squares[r, c] < min_share * (length + squared_norms[first + c]):
                    squares[r, c] = squared_distance(values, i, values, first + c)
        for c in range(n_columns):
            squares[r, c] = np.sqrt(squares[r, c])


@jit(void(ro(float64, 2), ro(float64, 2), ro(float64), rw(float64, 2)), reassociate=True)
def distance_sums(input_distances, map_distances, scales, out):
    """Add to row i of out the sums over j of products of d = unit given[i, j] and e = unit' mapped[i, j], r = d - s e.

    scales are unit, unit', s, two factors f and g, and a centre for d and for e; the sums those of d^2, e^2, r^2, r e,
    (f d - g e)^2, and of d and e about their centres: d, e, d^2, e^2, d e.
    """
    unit_d, unit_e, s, f, g, mean_d, mean_e = (
        scales[0],
        scales[1],
        scales[2],
        scales[3],
        scales[4],
        scales[5],
        scales[6],
    )
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
