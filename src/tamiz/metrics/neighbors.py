"""The nearest others of some rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamiz.graphs.points import Points
from tamiz.graphs.search.choice import chosen_exact
from tamiz.statistics.base import Floats

Indices = NDArray[np.int32]


class Nearest(NamedTuple):
    """The k nearest others of some rows, the nearest first, equal distances by the lower row.

    Attributes
    ----------
    points : ndarray of shape (n_rows, k)
    ranks : ndarray of shape (n_rows, k)
        One more than the others that are strictly nearer.
    """

    points: Indices
    ranks: NDArray[np.int64]


def nearest_others(points: Points, rows: NDArray[np.intp], k: int) -> Nearest:
    """Return the k nearest others of each of some rows, ascending row numbers."""
    index = chosen_exact(points).fit(points)
    if len(rows) == points.n_samples:
        found = index.query(k)
        return _ranked(found.indices.reshape(-1, k), found.distances.reshape(-1, k))
    found = index.query(k + 1, points.take(rows))
    indices = found.indices.reshape(-1, k + 1)
    other = indices != rows[:, None]
    # Of a row with more than k duplicates below it, the row itself is not among those found.
    other[other.all(axis=1), -1] = False
    return _ranked(indices[other].reshape(-1, k), found.distances.reshape(-1, k + 1)[other].reshape(-1, k))


def _ranked(indices: Indices, distances: Floats) -> Nearest:
    places = np.broadcast_to(np.arange(1, distances.shape[1] + 1), distances.shape).copy()
    places[:, 1:][distances[:, 1:] == distances[:, :-1]] = 0
    return Nearest(indices, np.maximum.accumulate(places, axis=1))
