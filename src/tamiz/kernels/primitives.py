"""The order of distances, the same in every search: what rounding decides is a tie, and of ties the lower row is nearer.

Kernels of other files call these functions. One that changes gets another name, because numba's cache
sees an edit in the calling file only.
"""

from __future__ import annotations

import numpy as np
from numba.types import boolean, float64, int64
from numpy.typing import NDArray

from tamiz.kernels import jit

# Bits of a distance that do not count, half of its 52. Rounding errors are smaller unless differences of values are below a
# millionth of the values, and a step between two keys separates equal distances about once in a million.
_IGNORED_BITS = 26
_HALF = 1 << (_IGNORED_BITS - 1)
# Distances with one key differ by at most this share.
TIE_WIDTH = 2.0**-26


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
