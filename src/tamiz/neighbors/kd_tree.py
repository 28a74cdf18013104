"""Exact search by a k-d tree, for few columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tamiz.kernels.nearest_neighbors import pair_distances, rerank_candidates
from tamiz.neighbors.base import NeighborSearch
from tamiz.neighbors.brute_force import ProductIndex
from tamiz.neighbors.euclidean_index import EuclideanIndex, PairArrays, sort_lists, unsupported_points_message
from tamiz.neighbors.points import Points
from tamiz.neighbors.search_rows import DistinctRows
from tamiz.runtime import parallel, progress
from tamiz.statistics.base import Floats

# Columns in which a tree still passes over most points, at its best: where the rows lie near a surface of few dimensions.
_MAX_COLUMNS = 15
# Points asked for beyond those wanted, first and for the rows that these leave in doubt: equally distant ones are many.
_MARGINS = (8, 64)
# The tree adds squares in another order: its distances may differ from ours by less than this share.
_DISTANCE_TOLERANCE = 1e-9
# Queries at a time.
_QUERY_BATCH = 1024
# A number above this is too far away for the tree's squares.
_MAX_ABS_VALUE = 1e150


class KDTree(NeighborSearch):
    """The nearest rows by a k-d tree, in at most 15 columns.

    Notes
    -----
    Cost O(n log n) in two or three columns, doubled by every further one where the rows fill them. Distances and ties are
    those of `BruteForce`, to the bit: what the tree finds is measured again, and rows for which equal distances leave a doubt
    are asked about more widely, in the end by comparing them with all rows.

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
        """Return why the points are not rows of 1 to 15 columns of numbers, None where they are."""
        values = points.euclidean_values()
        if values is None:
            return unsupported_points_message(self, points)
        if 1 <= values.shape[1] <= _MAX_COLUMNS:
            return None
        return f"KDTree requires 1 to {_MAX_COLUMNS} columns, got {values.shape[1]:,}. Use BruteForce()."

    def fit(self, points: Points) -> KDTreeIndex:
        """Make points ready for queries."""
        values = points.euclidean_values()
        assert values is not None
        return KDTreeIndex(points, DistinctRows(values))

    def estimate_seconds(self, n_points: int, n_columns: int) -> float:
        """Return about how long one core takes for the nearest of all points, when the rows fill the columns."""
        return 1.3e-6 * n_points * 2.0**n_columns * (n_points / 1e5) ** 0.4


class KDTreeIndex(EuclideanIndex):
    """Points in a Euclidean space of few columns, in a k-d tree."""

    description = "exact, by a k-d tree"

    def __init__(self, points: Points, distinct: DistinctRows) -> None:
        super().__init__(points, distinct)
        self._tree = cKDTree(distinct.values, balanced_tree=False)

    @cached_property
    def _brute_force(self) -> ProductIndex:
        return ProductIndex(self.points, self.distinct)

    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of every point, those it stands for among them."""
        return self.nearest_to_rows(self.distinct.values, size)

    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of rows of numbers, with equal ones among them."""
        dist = np.full((len(values), size), np.inf)
        rows = np.full((len(values), size), self.points.n_samples, dtype=np.int32)
        near = np.abs(values).max(axis=1) <= _MAX_ABS_VALUE
        doubtful = np.flatnonzero(near)
        for margin in _MARGINS:
            doubtful = self._query_tree(values, doubtful, dist, rows, margin)
        rest = np.concatenate([doubtful, np.flatnonzero(~near)])
        if len(rest):
            found = self._brute_force.nearest_to_rows(values[rest], size)
            dist[rest], rows[rest] = (part.reshape(-1, size) for part in found)
        return dist.reshape(-1), rows.reshape(-1)

    def _query_tree(
        self, values: Floats, queries: NDArray[np.intp], dist: Floats, rows: NDArray[np.int32], margin: int
    ) -> NDArray[np.intp]:
        """Fill the lists of some rows by the tree; return those that points it did not name may belong to."""
        distinct, size = self.distinct, dist.shape[1]
        n_named = min(distinct.n_points, size + margin)

        def search(span: tuple[int, int]) -> NDArray[np.intp]:
            part = queries[slice(*span)]
            reached, named = self._tree.query(values[part], k=np.arange(1, n_named + 1))
            heaps = np.full(len(part) * size, np.inf), np.full(len(part) * size, self.points.n_samples, dtype=np.int32)
            standing = distinct.members, distinct.starts
            rerank_candidates(values[part], distinct.values, named.astype(np.int32), *standing, *heaps, size)
            sort_lists(*heaps, np.arange(0, len(part) * size + 1, size))
            dist[part], rows[part] = (heap.reshape(-1, size) for heap in heaps)
            if n_named == distinct.n_points:
                return part[:0]
            return part[dist[part, -1] * (1.0 + _DISTANCE_TOLERANCE) >= reached[:, -1]]

        spans = parallel.block_ranges(len(queries), _QUERY_BATCH)
        doubtful = list(progress.track_progress("Neighbours", parallel.map_blocks(search, spans), len(spans)))
        return np.concatenate(doubtful) if doubtful else queries

    def pairs_within(self, values: Floats, max_distance: float, *, among_points: bool) -> Iterator[PairArrays]:
        """Yield the pairs of rows of numbers and points within reach, those of the points themselves each once."""
        if np.abs(values).max(initial=0.0) > _MAX_ABS_VALUE:
            return self._brute_force.pairs_within(values, max_distance, among_points=among_points)

        def pairs(span: tuple[int, int]) -> PairArrays:
            some = cKDTree(values[slice(*span)], balanced_tree=False)
            named = some.sparse_distance_matrix(
                self._tree, max_distance * (1.0 + _DISTANCE_TOLERANCE), output_type="ndarray"
            )
            low, high = (named[side].astype(np.int32) for side in ("i", "j"))
            low += np.int32(span[0])
            if among_points:
                low, high = low[low < high], high[low < high]
            dist = np.empty(len(low))
            pair_distances(values, low, self.distinct.values, high, dist)
            kept = dist <= max_distance
            return low[kept], high[kept], dist[kept]

        spans = parallel.block_ranges(len(values), _QUERY_BATCH)
        return progress.track_progress("Neighbours", parallel.map_blocks(pairs, spans), len(spans))
