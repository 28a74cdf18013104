"""The nearest others of some rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamiz.graphs.points import Points
from tamiz.graphs.search.choice import choose_exact_search
from tamiz.statistics.base import Floats

PointIndices = NDArray[np.int32]


class NeighborRanks(NamedTuple):
    """The k nearest others of some rows, the nearest first, equal distances by the lower row.

    Attributes
    ----------
    points : ndarray of shape (n_rows, k)
    ranks : ndarray of shape (n_rows, k)
        One more than the others that are strictly nearer.
    """

    points: PointIndices
    ranks: NDArray[np.int64]


def nearest_neighbors(points: Points, rows: NDArray[np.intp], k: int) -> NeighborRanks:
    """Return the k nearest others of each of some rows, ascending row numbers."""
    index = choose_exact_search(points).fit(points)
    if len(rows) == points.n_samples:
        found = index.query(k)
        return _rank_distances(found.indices.reshape(-1, k), found.distances.reshape(-1, k))
    found = index.query(k + 1, points.take(rows))
    indices = found.indices.reshape(-1, k + 1)
    other = indices != rows[:, None]
    # Of a row with more than k duplicates below it, the row itself is not among those found.
    other[other.all(axis=1), -1] = False
    return _rank_distances(indices[other].reshape(-1, k), found.distances.reshape(-1, k + 1)[other].reshape(-1, k))


def _rank_distances(indices: PointIndices, distances: Floats) -> NeighborRanks:
    places = np.broadcast_to(np.arange(1, distances.shape[1] + 1), distances.shape).copy()
    places[:, 1:][distances[:, 1:] == distances[:, :-1]] = 0
    return NeighborRanks(indices, np.maximum.accumulate(places, axis=1))
