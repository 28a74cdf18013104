"""Exact distances of candidate neighbours, and the recall of approximate lists on a sample of exact searches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.nearest_neighbors import pair_distances
from tamiz.kernels.nn_descent import expand_neighbor_lists
from tamiz.neighbors.neighbor_lists import NeighborLists
from tamiz.neighbors.search_rows import DistinctRows
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats

Indices = NDArray[np.int32]

# Products computed at a time.
_CHUNK_VALUES = 2**22
# Bound of the rounding error of a squared distance in float32, relative to the squared lengths.
_ROUNDING = 1e-5


def nearest_rows(
    distinct: DistinctRows, values: Floats, row_indices: Indices, candidates: Indices, size: int
) -> tuple[Floats, Indices]:
    """Return the `size` nearest rows of each row among its candidate points, with exact distances.

    Parameters
    ----------
    distinct : DistinctRows
    values : ndarray of shape (n_rows, n_columns)
    row_indices : ndarray of shape (n_lists,), int32
        The rows of `values` for which lists are computed.
    candidates : ndarray of shape (n_lists, n_candidates), int32
        Points of `distinct`. Negative entries are ignored, and duplicates are allowed.
    size : int

    Returns
    -------
    dist, rows : ndarrays of shape (n_lists, size)
        Nearest first, ties ordered by the lower row; inf and -1 if there are fewer rows.
    """
    n_lists, n_candidates = candidates.shape
    lengths = np.empty(candidates.size)
    pair_distances(
        values, np.repeat(row_indices, n_candidates), distinct.values, np.maximum(candidates, 0).reshape(-1), lengths
    )
    dist, rows = np.empty((n_lists, size)), np.empty((n_lists, size), dtype=np.int32)
    expand_neighbor_lists(candidates, lengths.reshape(candidates.shape), distinct.members, distinct.starts, dist, rows)
    return dist, rows


class RecallSample:
    """A sample of points with known true neighbours, on which the recall of lists is estimated.

    Parameters
    ----------
    distinct : DistinctRows
    lists : NeighborLists
    scale : float
        Distances between the rows of the lists are at most those of the points times this scale.
    points : ndarray of shape (n_sampled,)
        The sampled points.
    size : int
        Number of nearest rows of each point, including the point itself.
    """

    def __init__(
        self, distinct: DistinctRows, lists: NeighborLists, scale: float, points: NDArray[np.int64], size: int
    ) -> None:
        self._distinct = distinct
        self._lists = lists
        self._scale = scale
        self._positions = lists.positions[points]
        self._size = size
        self.update()
        self._exact_distances = self._true_distances()

    def update(self) -> None:
        """Read the current lists of the sampled points."""
        points, near = self._lists.listed_rows(self._positions)
        candidates = np.column_stack([points, near])
        self._found_distances, _ = nearest_rows(self._distinct, self._distinct.values, points, candidates, self._size)

    def recall(self, k: int) -> float:
        """Return the share of the k nearest neighbours that were found; others at the same distance count as found."""
        found = (self._found_distances[:, : k + 1] <= self._exact_distances[:, k, None]).sum() - len(
            self._found_distances
        )
        return float(found) / (k * len(self._found_distances))

    def _true_distances(self) -> Floats:
        """Return the true distances, computed from all points that may be as near as the last point found, by float32 bounds."""
        rows, numbers, values = self._lists.rows, self._lists.original_rows, self._distinct.values
        halves = np.einsum("ij,ij->i", rows, rows) * np.float32((1 - _ROUNDING) / 2)
        # A point v is a candidate of x if |v|^2 / 2 - x.v is at most this limit.
        limits = (self._found_distances[:, -1] * self._scale) ** 2 * (0.5 + _ROUNDING) - halves[self._positions] * (
            1 - 2 * _ROUNDING
        )
        limits = limits.astype(np.float32)

        def search(span: tuple[int, int]) -> Floats:
            positions = self._positions[slice(*span)]
            products = rows[positions] @ rows.T
            found = np.empty((len(positions), self._size))
            for i, (at, limit) in enumerate(zip(positions, limits[slice(*span)], strict=True)):
                near = numbers[np.flatnonzero(products[i] >= halves - limit)]
                found[i], _ = nearest_rows(self._distinct, values, numbers[at : at + 1], near[None], self._size)
            return found

        spans = parallel.block_ranges(len(self._positions), max(1, _CHUNK_VALUES // len(rows)))
        return np.concatenate(list(parallel.map_blocks(search, spans)))
