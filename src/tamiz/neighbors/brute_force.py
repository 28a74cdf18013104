"""Exact search that compares all pairs.

Rows of numbers are compared by float32 matrix products, which bound the distances of all pairs (`ProductIndex`). Points that only
define distances, such as sparse or precomputed ones, are compared by blocks of their own distances (`DistanceBlockIndex`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.kernels.nearest_neighbors import (
    RUN_LENGTH,
    collect_pairs,
    count_bounds,
    offer_duplicates,
    row_distances,
    scan_query,
    scan_tile_pairs,
    scan_tile_rows,
    select_nearest,
    tighten_limits,
)
from tamiz.kernels.primitives import TIE_WIDTH, distance_keys
from tamiz.neighbors.base import NeighborIndex, Neighbors, NeighborSearch
from tamiz.neighbors.distance_bounds import TILE_ROWS, BoundTiles, DistanceBounds, choose_projection, left_factors
from tamiz.neighbors.euclidean_index import EuclideanIndex, PairArrays, check_list_memory, check_pair_memory, sort_lists
from tamiz.neighbors.points import Points
from tamiz.neighbors.precomputed import SparseDistances, StoredDistanceIndex
from tamiz.neighbors.projection_tree import ProjectionTree
from tamiz.neighbors.search_rows import DistinctRows, evenly_spaced_rows
from tamiz.runtime import parallel, progress
from tamiz.runtime.validation import check_integer

# Largest number of distances of one block.
_BLOCK_DISTANCES = 2**20
# Rows on which the number of pairs within a radius is estimated.
_SAMPLE_ROWS = 64
# The first limits come from leaves of a projection tree, of at least so many points, which splits on so many columns.
_PRIMING_POINTS, _PRIMING_COLUMNS = 512, 64


class DistanceBlockIndex(NeighborIndex):
    """Points under any metric, compared by blocks of distances."""

    description = "exact, by blocks of distances"

    def __init__(self, points: Points) -> None:
        self.points = points

    def _row_spans(self, n_rows: int) -> list[tuple[int, int]]:
        return parallel.block_ranges(n_rows, 1 + _BLOCK_DISTANCES // self.points.n_samples)

    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return the k nearest points of every query, or of every point among the others."""
        query_points, n_points = self.points if queries is None else queries, self.points.n_samples
        n_queries = query_points.n_samples
        check_integer("n_neighbors", k, low=1, high=n_points - (queries is None))
        check_list_memory(n_queries, k)
        dist, rows = np.full((n_queries, k), np.inf), np.full((n_queries, k), n_points, dtype=np.int32)

        def search(span: tuple[int, int]) -> None:
            block = np.ascontiguousarray(self.points.block(query_points, *span))
            part = slice(*span)
            own = span[0] if queries is None else n_points
            select_nearest(block, own, dist[part].reshape(-1), rows[part].reshape(-1), k)

        spans = self._row_spans(n_queries)
        for _ in progress.track_progress("Neighbours", parallel.map_blocks(search, spans), len(spans)):
            pass
        sort_lists(dist.reshape(-1), rows.reshape(-1), np.arange(0, dist.size + 1, k))
        return Neighbors.from_arrays(rows, dist, n_points)

    def query_radius(self, radius: float, queries: Points | None = None) -> Neighbors:
        query_points = self.points if queries is None else queries
        self._check_result_size(radius, query_points)

        def search(span: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, Floats]:
            block = self.points.block(query_points, *span)
            within = block <= radius * (1.0 + TIE_WIDTH)
            if queries is None:
                within[np.arange(len(block)), np.arange(*span)] = False
            rows, points = np.nonzero(within)
            dist = block[within]
            # lexsort is stable, so ties stay ordered by the lower row.
            by_distance = np.lexsort((distance_keys(dist), rows))
            return np.count_nonzero(within, axis=1), points[by_distance].astype(np.int32), dist[by_distance]

        spans = self._row_spans(query_points.n_samples)
        found = list(progress.track_progress("Neighbours", parallel.map_blocks(search, spans), len(spans)))
        if not found:
            return Neighbors(
                np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), self.points.n_samples
            )
        counts, points, dist = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Neighbors(np.concatenate([[0], np.cumsum(counts)]), points, dist, self.points.n_samples)

    def _check_result_size(self, radius: float, queries: Points) -> None:
        """Raise MemoryError if the lists would not fit into memory, estimated on a sample of rows."""
        n_rows = queries.n_samples
        sampled = evenly_spaced_rows(n_rows, _SAMPLE_ROWS)
        sample = queries.take(sampled)
        n_pairs = sum(
            float(np.count_nonzero(self.points.block(sample, start, stop) <= radius * (1.0 + TIE_WIDTH)))
            for start, stop in self._row_spans(sample.n_samples)
        ) * (n_rows / max(len(sampled), 1))
        check_pair_memory(n_pairs, radius)


class BruteForce(NeighborSearch):
    """Exact nearest neighbours by comparing all pairs.

    Notes
    -----
    Cost O(n^2 p). Matrix products in float32 yield a lower bound of every distance. Distances are computed, in float64, only for
    pairs whose bound is small enough. If a few directions contain most of the variance of many columns, the products use these
    directions. The result equals that of computing every distance, to the bit: the k nearest by distance, ties ordered by the
    lower row. Points that are not rows of numbers are compared by blocks of their own distances.

    References
    ----------
    Higham (2002), Accuracy and Stability of Numerical Algorithms, section 3.1, for the bound.

    Examples
    --------
    >>> from tamiz.neighbors import BruteForce
    >>> from tamiz.neighbors.points import EuclideanPoints
    >>> BruteForce().fit(EuclideanPoints([[0.0], [1.0], [3.0]])).query(1).indices
    array([1, 0, 1], dtype=int32)
    """

    def fit(self, points: Points) -> NeighborIndex:
        """Build an index of the points."""
        if isinstance(points, SparseDistances):
            return StoredDistanceIndex(points)
        values = points.euclidean_values()
        return DistanceBlockIndex(points) if values is None else ProductIndex(points, DistinctRows(values))

    def estimate_seconds(self, n_points: int, n_columns: int) -> float:
        """Return the estimated seconds on one core for the neighbours of all points, with products over all columns."""
        return 0.5e-9 * n_points**2 * (0.03 * (n_columns + 2) + 0.6)


class ProductIndex(EuclideanIndex):
    """Points with Euclidean coordinates, compared by blocks of matrix products."""

    description = "exact, by matrix products"

    def __init__(self, points: Points, distinct: DistinctRows) -> None:
        super().__init__(points, distinct)
        self.bounds = DistanceBounds(distinct.values, *choose_projection(distinct))
        self._tiles = BoundTiles(self.bounds)

    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of every point, including the rows equal to it."""
        bounds = self.bounds
        dist, rows = self._empty_lists(bounds.n_points, size)
        limits = np.full((len(bounds.right_factors) // RUN_LENGTH, RUN_LENGTH), np.inf, dtype=np.float32)
        state = self.distinct.members, self.distinct.starts, limits, dist, rows, size
        offer_duplicates(bounds.bound_factor, *state)
        self._tighten_limits(limits, size)

        def scan(tile: NDArray[np.float32], row_start: int, column_start: int, triangle: bool) -> None:  # noqa: ARG001
            scan_tile_pairs(tile, row_start, column_start, self.distinct.values, bounds.bound_factor, *state)

        for _ in self._tiles.map_point_tiles(scan):
            pass
        sort_lists(dist, rows, np.arange(0, len(dist) + 1, size))
        return dist, rows

    def _tighten_limits(self, limits: NDArray[np.float32], size: int) -> None:
        """Lower the limits of points by comparing each with its leaf of a projection tree, so that fewer pairs are measured."""
        bounds, leaf_size = self.bounds, max(_PRIMING_POINTS, 4 * size)
        if bounds.n_points < 2 * leaf_size:
            return
        order = ProjectionTree.build(bounds.leading_columns(_PRIMING_COLUMNS), 0, offset=False).order

        def lower(span: tuple[int, int]) -> None:
            points = order[slice(*span)]
            right = bounds.right_factors[points]
            tile = np.asarray(left_factors(right) @ right.T, dtype=np.float32)
            tighten_limits(tile, points, self.distinct.values, bounds.bound_factor, size, limits)

        parallel.run_blocks(lower, parallel.block_ranges(bounds.n_points, leaf_size))

    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of other rows, given at the scale of the points; equal rows are included."""
        dist, rows = self._empty_lists(len(values), size)
        groups = self.distinct.members, self.distinct.starts

        def search(span: tuple[int, int]) -> None:
            part, entries = values[slice(*span)], slice(span[0] * size, span[1] * size)
            right = self.bounds.query_factors(part)
            limits = np.full((1, len(part)), np.inf, dtype=np.float32)
            heaps = dist[entries], rows[entries], size
            for tile, first_point in self._tiles.query_tiles(right):
                scan_tile_rows(
                    tile, first_point, part, self.distinct.values, self.bounds.bound_factor, *groups, limits, *heaps
                )
            for far in np.flatnonzero(np.isnan(right[:, -1])):
                scan_query(part, far, self.distinct.values, *groups, *heaps)

        spans = parallel.block_ranges(len(values), TILE_ROWS)
        for _ in progress.track_progress("Neighbours", parallel.map_blocks(search, spans), len(spans)):
            pass
        sort_lists(dist, rows, np.arange(0, len(dist) + 1, size))
        return dist, rows

    def _empty_lists(self, n_lists: int, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return empty lists: distances of inf and rows of n_samples."""
        return np.full(n_lists * size, np.inf), np.full(n_lists * size, self.points.n_samples, dtype=np.int32)

    def pairs_within(self, values: Floats, max_distance: float, *, among_points: bool) -> Iterator[PairArrays]:
        """Yield the pairs of rows and points within a distance; with among_points, each pair of points once."""
        return self._pairs_of_points(max_distance) if among_points else self._pairs_of_rows(values, max_distance)

    def _pairs_of_points(self, max_distance: float) -> Iterator[PairArrays]:
        def pairs(tile: NDArray[np.float32], row_start: int, column_start: int, triangle: bool) -> PairArrays:
            rows = self.distinct.values[row_start : row_start + len(tile)]
            return self._collect_pairs(tile, row_start, column_start, triangle, rows, max_distance)

        return self._tiles.map_point_tiles(pairs)

    def _pairs_of_rows(self, values: Floats, max_distance: float) -> Iterator[PairArrays]:
        def pairs(span: tuple[int, int]) -> list[PairArrays]:
            part = values[slice(*span)]
            right = self.bounds.query_factors(part)
            found = [
                self._collect_pairs(tile, span[0], first_point, False, part, max_distance)
                for tile, first_point in self._tiles.query_tiles(right)
            ]
            for far in np.flatnonzero(np.isnan(right[:, -1])):
                dist = np.empty(self.distinct.n_points)
                row_distances(part, far, self.distinct.values, dist)
                near = np.flatnonzero(dist <= max_distance).astype(np.int32)
                found.append((np.full(len(near), span[0] + far, dtype=np.int32), near, dist[near]))
            return found

        spans = parallel.block_ranges(len(values), TILE_ROWS)
        for found in progress.track_progress("Neighbours", parallel.map_blocks(pairs, spans), len(spans)):
            yield from found

    def _collect_pairs(
        self, tile: NDArray[np.float32], start: int, first_point: int, triangle: bool, rows: Floats, max_distance: float
    ) -> PairArrays:
        # The limit must stay within the range of float32.
        limit = np.float32(min(max_distance * max_distance * self.bounds.bound_factor, 3e38))
        n_candidates = count_bounds(tile, limit)
        low, high = np.empty(n_candidates, dtype=np.int32), np.empty(n_candidates, dtype=np.int32)
        dist = np.empty(n_candidates)
        n = collect_pairs(
            tile, start, first_point, triangle, rows, self.distinct.values, limit, max_distance, low, high, dist
        )
        return low[:n].copy(), high[:n].copy(), dist[:n].copy()
