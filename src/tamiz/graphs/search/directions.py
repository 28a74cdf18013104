"""Rows that stand for many, and the directions in which they vary most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats32 = NDArray[np.float32]

# Rounds of subspace iteration: the directions are only to be good, not exact.
_N_ITERATIONS = 3


def evenly_spaced_rows(n: int, size: int) -> NDArray[np.intp]:
    """Return at most `size` rows of n, evenly spread, the ends no more likely than others."""
    size = min(n, size)
    return ((np.arange(size) + 0.5) * (n / max(size, 1))).astype(np.intp)


def leading_directions(rows: Floats32, n_directions: int) -> Floats32:
    """Return orthonormal directions along which the sums of squares are about the largest, the largest first, one a column.

    Subspace iteration from random directions, always the same.

    References
    ----------
    Halko, Martinsson and Tropp (2011), Finding structure with randomness, SIAM Review 53(2).
    """
    guess = np.random.default_rng(0).standard_normal((rows.shape[1], n_directions), dtype=np.float32)
    for _ in range(_N_ITERATIONS):
        guess = np.linalg.qr(rows.T @ (rows @ guess))[0]
    along = rows @ guess
    _, turn = np.linalg.eigh(along.T @ along)
    return np.asarray(guess @ turn[:, ::-1])
