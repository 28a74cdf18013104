"""What is wrong with a matrix of numbers of pairs: looked for in one reading, each entry beside its mirror image."""

from __future__ import annotations

import numpy as np
from numba.types import float32, float64, int64

from tamiz.kernels import jit, ro

# Rows and columns that are turned at a time: they stay in the first-level cache.
_TILE_SIZE = 32
# What a look may come to.
VALID, NEARLY_SYMMETRIC, INVALID = 0, 1, 2


@jit(
    [
        int64(ro(float64, 2), int64, int64, float64, float64),
        int64(ro(float32, 2), int64, int64, float64, float64),
    ]
)
def check_distance_rows(matrix, start, stop, largest, tolerance):
    """Return what rows start .. stop hold right of the diagonal of their first, and below it in those columns.

    CLEAN where all lie in [0, largest], the diagonal is 0 and mirror images are equal to the bit; ROUNDED where these differ by
    at most a share `tolerance` of the larger one somewhere; FAULTY else, also where something is NaN.
    """
    n = matrix.shape[0]
    turned = np.empty((_TILE_SIZE, _TILE_SIZE), dtype=matrix.dtype)
    rounded = False
    for first in range(start, n, _TILE_SIZE):
        last = min(first + _TILE_SIZE, n)
        for top in range(start, stop, _TILE_SIZE):
            bottom = min(top + _TILE_SIZE, stop)
            for j in range(first, last):
                for i in range(top, bottom):
                    turned[i - top, j - first] = matrix[j, i]
            n_exact = 0
            for i in range(top, bottom):
                for j in range(first, last):
                    a = matrix[i, j]
                    n_exact += (a == turned[i - top, j - first]) & (a >= 0.0) & (a <= largest)
            n_pairs = (bottom - top) * (last - first)
            if n_exact == n_pairs:
                continue
            rounded, n_good = True, 0
            for i in range(top, bottom):
                for j in range(first, last):
                    a, b = matrix[i, j], turned[i - top, j - first]
                    larger = max(a, b)
                    in_range = (a >= 0.0) & (b >= 0.0) & (larger <= largest)
                    n_good += in_range & (abs(a - b) <= tolerance * larger)
            if n_good < n_pairs:
                return INVALID
    for i in range(start, stop):
        if matrix[i, i] != 0.0:
            return INVALID
    return NEARLY_SYMMETRIC if rounded else VALID


@jit(
    [
        int64(ro(float64, 2), ro(float64), int64, int64, float64, float64),
        int64(ro(float32, 2), ro(float64), int64, int64, float64, float64),
    ]
)
def check_similarity_rows(matrix, diagonal, start, stop, largest, tolerance):
    """Return what rows start .. stop hold right of the diagonal of their first, and below it in those columns.

    CLEAN where all are at most `largest` in size and at most the mean of the two similarities of their rows to themselves, and
    mirror images are equal to the bit; ROUNDED where the last two are true but for a share `tolerance` of the sizes; FAULTY else.
    """
    n = matrix.shape[0]
    turned = np.empty((_TILE_SIZE, _TILE_SIZE), dtype=matrix.dtype)
    rounded = False
    for first in range(start, n, _TILE_SIZE):
        last = min(first + _TILE_SIZE, n)
        for top in range(start, stop, _TILE_SIZE):
            bottom = min(top + _TILE_SIZE, stop)
            for j in range(first, last):
                for i in range(top, bottom):
                    turned[i - top, j - first] = matrix[j, i]
            n_exact = 0
            for i in range(top, bottom):
                own = diagonal[i]
                for j in range(first, last):
                    a = matrix[i, j]
                    below = (a >= -largest) & (a <= largest) & (a <= (own + diagonal[j]) / 2)
                    n_exact += (a == turned[i - top, j - first]) & below
            n_pairs = (bottom - top) * (last - first)
            if n_exact == n_pairs:
                continue
            n_good = 0
            for i in range(top, bottom):
                own = diagonal[i]
                for j in range(first, last):
                    a, b = matrix[i, j], turned[i - top, j - first]
                    size = (abs(own) + abs(diagonal[j])) / 2 + max(abs(a), abs(b))
                    in_range = (abs(a) <= largest) & (abs(b) <= largest) & (abs(a - b) <= tolerance * size)
                    n_good += in_range & (max(a, b) - (own + diagonal[j]) / 2 <= tolerance * size)
                    rounded |= a != b
            if n_good < n_pairs:
                return INVALID
    return NEARLY_SYMMETRIC if rounded else VALID
