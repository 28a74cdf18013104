"""One choice among the bases that a set of eigenvectors can have."""

from __future__ import annotations

import numpy as np

from tamiz.statistics.base import Floats

# A row represents a multiplet when its part is no smaller than this next to the largest: the first one is taken. No cosine of a
# simple angle, so that symmetric graphs do not stand on the edge.
_MIN_PROJECTION = 0.7


def multiplets(values: Floats, ties: Floats) -> list[slice]:
    """Return the runs of ascending values that are equal to the one before them."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) > ties[1:]]))
    return [slice(int(a), int(b)) for a, b in zip(starts, np.append(starts[1:], len(values)), strict=True)]


def canonical_rotation(X: Floats) -> Floats:
    """Return the combinations that make a canonical basis of the space of orthonormal columns, of shape (k, k).

    Each vector is the projection of a unit vector e_i on what the ones before it leave of the space, for the first row i
    whose projection has at least 0.7 of the largest length: it depends on the space alone.
    """
    k = X.shape[1]
    Y = np.zeros((k, k))
    left = X.copy()
    for t in range(k):
        squares = np.einsum("ij,ij->i", left, left)
        row = left[np.argmax(squares >= _MIN_PROJECTION**2 * squares.max())]
        row = row - Y[:, :t] @ (Y[:, :t].T @ row)
        Y[:, t] = row / np.linalg.norm(row)
        left -= np.outer(left @ Y[:, t], Y[:, t])
    return Y
