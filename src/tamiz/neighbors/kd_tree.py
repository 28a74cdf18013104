"""Exact search by a k-d tree, for few columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tamiz.arrays import Floats, Indices
from tamiz.kernels.nearest_neighbors import pair_distances, rerank_candidates
from tamiz.kernels.primitives import TIE_WIDTH
from tamiz.neighbors.base import NeighborSearch
from tamiz.neighbors.brute_force import BruteForce, ProductIndex
from tamiz.neighbors.euclidean_index import (
    DistinctRows,
    EuclideanIndex,
    PairArrays,
    sort_lists,
    unsupported_points_message,
)
from tamiz.neighbors.points import Points
from tamiz.runtime import parallel, progress

# Largest number of columns in which a k-d tree can skip most points, for rows near a surface of few dimensions.
_MAX_COLUMNS = 15
# Candidates requested beyond the wanted neighbours: at first, and for rows whose result is then uncertain because of ties.
_MARGINS = (8, 64)
# The tree sums squares in another order, so its distances may differ from ours and their ties by less than this share.
_DISTANCE_TOLERANCE = 2.0 * TIE_WIDTH
# Queries per block of work.
_QUERY_BATCH = 1024
# Squares of larger values would overflow in the tree.
_MAX_ABS_VALUE = 1e150


class KDTree(NeighborSearch):
    """Exact nearest neighbours by a k-d tree, in at most 15 columns.

    Notes
    -----
    Cost O(n log n) in two or three columns, about doubled by each further column that the rows fill. Distances and ties are those
    of `BruteForce`, to the bit: distances of the tree's candidates are recomputed, and if ties make a row's result uncertain, the
    row is searched again with more candidates and at last compared with all rows.

    References
    ----------
    Friedman, Bentley and Finkel (1977), An algorithm for finding best matches in logarithmic expected time, ACM Transactions on
    Mathematical Software 3.

    Examples
    --------
    >>> from tamiz.neighbors import KDTree
    >>> from tamiz.neighbors.points import EuclideanPoints
    >>> KDTree().fit(EuclideanPoints([[0.0], [1.0], [3.0]])).query(1).indices
    array([1, 0, 1], dtype=int32)
    """

    def unsupported_reason(self, points: Points) -> str | None:
        """Return why the points are not supported, or None: the tree requires 1 to 15 columns of numbers."""
        values = points.euclidean_values()
        if values is None:
            return unsupported_points_message(self, points)
        if 1 <= values.shape[1] <= _MAX_COLUMNS:
            return None
        return f"KDTree requires 1 to {_MAX_COLUMNS} columns, got {values.shape[1]:,}. Use BruteForce()."

    def fit(self, points: Points) -> KDTreeIndex:
        """Build an index of the points."""
        values = points.euclidean_values()
        assert values is not None
        return KDTreeIndex(points, DistinctRows(values))

    def estimate_seconds(self, n_points: int, n_columns: int) -> float:
        """Return the estimated seconds on one core for the neighbours of all points, for rows that fill the columns."""
        return 1.3e-6 * n_points * 2.0**n_columns * (n_points / 1e5) ** 0.4


class KDTreeIndex(EuclideanIndex):
    """A k-d tree of points with few Euclidean coordinates."""

    description = "exact, by a k-d tree"

    def __init__(self, points: Points, distinct: DistinctRows) -> None:
        super().__init__(points, distinct)
        self._tree = cKDTree(distinct.values, balanced_tree=False)

    @cached_property
    def _brute_force(self) -> ProductIndex:
        return ProductIndex(self.points, self.distinct)

    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of every point, including the rows equal to it."""
        return self.nearest_to_rows(self.distinct.values, size)

    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of other rows; equal rows are included."""
        dist = np.full((len(values), size), np.inf)
        rows = np.full((len(values), size), self.points.n_samples, dtype=np.int32)
        in_range = np.abs(values).max(axis=1) <= _MAX_ABS_VALUE
        uncertain = np.flatnonzero(in_range)
        for margin in _MARGINS:
            uncertain = self._query_tree(values, uncertain, dist, rows, margin)
        others = np.concatenate([uncertain, np.flatnonzero(~in_range)])
        if len(others):
            found = self._brute_force.nearest_to_rows(values[others], size)
            dist[others], rows[others] = (part.reshape(-1, size) for part in found)
        return dist.reshape(-1), rows.reshape(-1)

    def _query_tree(
        self, values: Floats, queries: Indices, dist: Floats, rows: NDArray[np.int32], margin: int
    ) -> Indices:
        """Fill the lists of some rows from the tree's candidates; return the rows that may have other neighbours."""
        distinct, size = self.distinct, dist.shape[1]
        n_candidates = min(distinct.n_points, size + margin)

        def search(span: tuple[int, int]) -> Indices:
            part = queries[slice(*span)]
            tree_dist, candidates = self._tree.query(values[part], k=np.arange(1, n_candidates + 1))
            heaps = np.full(len(part) * size, np.inf), np.full(len(part) * size, self.points.n_samples, dtype=np.int32)
            groups = distinct.members, distinct.starts
            rerank_candidates(values[part], distinct.values, candidates.astype(np.int32), *groups, *heaps, size)
            sort_lists(*heaps, np.arange(0, len(part) * size + 1, size))
            dist[part], rows[part] = (heap.reshape(-1, size) for heap in heaps)
            if n_candidates == distinct.n_points:
                return part[:0]
            return part[dist[part, -1] * (1.0 + _DISTANCE_TOLERANCE) >= tree_dist[:, -1]]

        spans = parallel.block_ranges(len(queries), _QUERY_BATCH)
        uncertain = list(progress.track_progress("Neighbours", parallel.map_blocks(search, spans), len(spans)))
        return np.concatenate(uncertain) if uncertain else queries

    def pairs_within(self, values: Floats, max_distance: float) -> Iterator[PairArrays]:
        if np.abs(values).max(initial=0.0) > _MAX_ABS_VALUE:
            return self._brute_force.pairs_within(values, max_distance)

        def pairs(span: tuple[int, int]) -> PairArrays:
            part_tree = cKDTree(values[slice(*span)], balanced_tree=False)
            candidates = part_tree.sparse_distance_matrix(
                self._tree, max_distance * (1.0 + _DISTANCE_TOLERANCE), output_type="ndarray"
            )
            rows, points = (candidates[side].astype(np.int32) for side in ("i", "j"))
            rows += np.int32(span[0])
            dist = np.empty(len(rows))
            pair_distances(values, rows, self.distinct.values, points, dist)
            kept = dist <= max_distance
            return rows[kept], points[kept], dist[kept]

        spans = parallel.block_ranges(len(values), _QUERY_BATCH)
        return progress.track_progress("Neighbours", parallel.map_blocks(pairs, spans), len(spans))


def choose_exact_search(points: Points) -> KDTree | BruteForce:
    """Return the exact search with the least estimated time."""
    tree, exact, values = KDTree(), BruteForce(), points.euclidean_values()
    if values is None or tree.unsupported_reason(points) is not None:
        return exact
    return tree if tree.estimate_seconds(*values.shape) < exact.estimate_seconds(*values.shape) else exact
