"""Exact search among points that only tell their distances."""

from __future__ import annotations

import numpy as np

from tamiz import parallel, progress
from tamiz.graphs.points import Points
from tamiz.graphs.search.base import NeighborIndex
from tamiz.graphs.search.directions import evenly_spaced_rows
from tamiz.graphs.search.neighbors import Neighbors
from tamiz.graphs.search.pairs import check_list_memory, check_pair_memory, sort_lists
from tamiz.kernels.nearest import select_nearest
from tamiz.statistics.base import Floats
from tamiz.validation import check_integer

# Distances of one block, at most.
_BLOCK_DISTANCES = 2**20
# Rows that the number of pairs within a radius is estimated on.
_SAMPLE_ROWS = 64


class DistanceBlockIndex(NeighborIndex):
    """Points under any metric, compared by blocks of rows of their distances."""

    description = "exact, by blocks of distances"

    def __init__(self, points: Points) -> None:
        self.points = points

    def _row_spans(self, n_rows: int) -> list[tuple[int, int]]:
        return parallel.block_ranges(n_rows, 1 + _BLOCK_DISTANCES // self.points.n_samples)

    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return the k nearest points of every query, or of every point among the others."""
        asked, n_points = self.points if queries is None else queries, self.points.n_samples
        check_integer("n_neighbors", k, low=1, high=n_points - (queries is None))
        check_list_memory(asked.n_samples, k)
        dist, rows = np.full((asked.n_samples, k), np.inf), np.full((asked.n_samples, k), n_points, dtype=np.int32)

        def search(span: tuple[int, int]) -> None:
            block = np.ascontiguousarray(self.points.block(asked, *span))
            part = slice(*span)
            own = span[0] if queries is None else n_points
            select_nearest(block, own, dist[part].reshape(-1), rows[part].reshape(-1), k)

        spans = self._row_spans(asked.n_samples)
        for _ in progress.track_progress("Neighbours", parallel.map_blocks(search, spans), len(spans)):
            pass
        sort_lists(dist.reshape(-1), rows.reshape(-1), np.arange(0, dist.size + 1, k))
        return Neighbors.from_arrays(rows, dist, n_points)

    def query_radius(self, radius: float, queries: Points | None = None) -> Neighbors:
        """Return all points at a distance of at most `radius`."""
        asked = self.points if queries is None else queries
        self._check_result_size(radius, asked)

        def near(span: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, Floats]:
            block = self.points.block(asked, *span)
            within = block <= radius
            if queries is None:
                within[np.arange(len(block)), np.arange(*span)] = False
            rows, points = np.nonzero(within)
            dist = block[within]
            # Stable: equal distances stay by the lower row.
            by_distance = np.lexsort((dist, rows))
            return np.count_nonzero(within, axis=1), points[by_distance].astype(np.int32), dist[by_distance]

        spans = self._row_spans(asked.n_samples)
        found = list(progress.track_progress("Neighbours", parallel.map_blocks(near, spans), len(spans)))
        if not found:
            return Neighbors(
                np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), self.points.n_samples
            )
        counts, points, dist = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Neighbors(np.concatenate([[0], np.cumsum(counts)]), points, dist, self.points.n_samples)

    def _check_result_size(self, radius: float, queries: Points) -> None:
        """Refuse lists that there is no memory for, by how long those of a few rows are."""
        n_rows = queries.n_samples
        tried = evenly_spaced_rows(n_rows, _SAMPLE_ROWS)
        few = queries.take(tried)
        n_pairs = sum(
            float(np.count_nonzero(self.points.block(few, start, stop) <= radius))
            for start, stop in self._row_spans(few.n_samples)
        ) * (n_rows / max(len(tried), 1))
        check_pair_memory(n_pairs, radius)
