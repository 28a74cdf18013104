"""Checks of square matrices of distances or similarities: range, diagonal and symmetry, in one pass over the matrix."""

from __future__ import annotations

import numpy as np
from numba.types import float32, float64, int64

from tamiz.kernels import jit, ro

# Rows and columns of a tile that is transposed: it stays in the first-level cache.
_TILE_SIZE = 32
# Results of a check.
VALID, NEARLY_SYMMETRIC, INVALID = 0, 1, 2


@jit(
    [
        int64(ro(float64, 2), int64, int64, float64, float64),
        int64(ro(float32, 2), int64, int64, float64, float64),
    ]
)
def check_distance_rows(matrix, start, stop, largest, tolerance):
    """Check the distances of the rows start .. stop to the rows from `start`, against their transpose.

    VALID if all are in [0, largest], the diagonal is 0 and the matrix equals its transpose to the bit. NEARLY_SYMMETRIC if
    entries differ from the transposed ones by at most `tolerance` times the larger one. INVALID otherwise, also if a distance
    is NaN.
    """
    n = matrix.shape[0]
    transposed = np.empty((_TILE_SIZE, _TILE_SIZE), dtype=matrix.dtype)
    nearly = False
    for first in range(start, n, _TILE_SIZE):
        last = min(first + _TILE_SIZE, n)
        for top in range(start, stop, _TILE_SIZE):
            bottom = min(top + _TILE_SIZE, stop)
            for j in range(first, last):
                for i in range(top, bottom):
                    transposed[i - top, j - first] = matrix[j, i]
            n_exact = 0
            for i in range(top, bottom):
                for j in range(first, last):
                    a = matrix[i, j]
                    n_exact += (a == transposed[i - top, j - first]) & (a >= 0.0) & (a <= largest)
            n_pairs = (bottom - top) * (last - first)
            if n_exact == n_pairs:
                continue
            nearly, n_good = True, 0
            for i in range(top, bottom):
                for j in range(first, last):
                    a, b = matrix[i, j], transposed[i - top, j - first]
                    larger = max(a, b)
                    in_range = (a >= 0.0) & (b >= 0.0) & (larger <= largest)
                    n_good += in_range & (abs(a - b) <= tolerance * larger)
            if n_good < n_pairs:
                return INVALID
    for i in range(start, stop):
        if matrix[i, i] != 0.0:
            return INVALID
    return NEARLY_SYMMETRIC if nearly else VALID


@jit(
    [
        int64(ro(float64, 2), ro(float64), int64, int64, float64, float64),
        int64(ro(float32, 2), ro(float64), int64, int64, float64, float64),
    ]
)
def check_similarity_rows(matrix, diagonal, start, stop, largest, tolerance):
    """Check the similarities of the rows start .. stop to the rows from `start`, against their transpose.

    VALID if all have an absolute value of at most `largest`, are at most the mean of the self-similarities of their two rows,
    and the matrix equals its transpose to the bit. NEARLY_SYMMETRIC if the last two conditions hold up to `tolerance` times the
    absolute values. INVALID otherwise.
    """
    n = matrix.shape[0]
    transposed = np.empty((_TILE_SIZE, _TILE_SIZE), dtype=matrix.dtype)
    nearly = False
    for first in range(start, n, _TILE_SIZE):
        last = min(first + _TILE_SIZE, n)
        for top in range(start, stop, _TILE_SIZE):
            bottom = min(top + _TILE_SIZE, stop)
            for j in range(first, last):
                for i in range(top, bottom):
                    transposed[i - top, j - first] = matrix[j, i]
            n_exact = 0
            for i in range(top, bottom):
                own = diagonal[i]
                for j in range(first, last):
                    a = matrix[i, j]
                    below = (a >= -largest) & (a <= largest) & (a <= (own + diagonal[j]) / 2)
                    n_exact += (a == transposed[i - top, j - first]) & below
            n_pairs = (bottom - top) * (last - first)
            if n_exact == n_pairs:
                continue
            n_good = 0
            for i in range(top, bottom):
                own = diagonal[i]
                for j in range(first, last):
                    a, b = matrix[i, j], transposed[i - top, j - first]
                    size = (abs(own) + abs(diagonal[j])) / 2 + max(abs(a), abs(b))
                    in_range = (abs(a) <= largest) & (abs(b) <= largest) & (abs(a - b) <= tolerance * size)
                    n_good += in_range & (max(a, b) - (own + diagonal[j]) / 2 <= tolerance * size)
                    nearly |= a != b
            if n_good < n_pairs:
                return INVALID
    return NEARLY_SYMMETRIC if nearly else VALID
