"""One pass over all pairs of rows, in the data and on the map, that computes every requested rank and sum.

Blocks of rows run on several threads. Ranks of a few points are counts of the points that are nearer; full rankings sort the keys
of a row. Both measure pairs again whose order the error bounds of the keys leave undecided.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.kernels.distance_sums import distance_sums
from tamiz.kernels.primitives import distance_keys
from tamiz.kernels.ranks import (
    BUCKETS_PER_ENTRY,
    collect_undecided,
    count_exact,
    count_larger_ranks,
    count_nearer,
    count_rank_pairs,
    fill_ranks,
    sort_row,
    sort_undecided,
)
from tamiz.metrics.distance_blocks import BLOCK_ROWS, TILE_COLUMNS, DistanceBlock, DistanceSpace
from tamiz.runtime import parallel, progress

PointIndices = NDArray[np.int32]


class RankCounter:
    """Counts the points that are strictly nearer to each row of a block than some given points."""

    def __init__(self, block: DistanceBlock, points: PointIndices) -> None:
        self._block, self._points = block, points
        self._exact_keys = np.ascontiguousarray(block.exact_keys(points))
        self._bounds = tuple(np.ascontiguousarray(bound) for bound in block.key_bounds(self._exact_keys))
        self.nearer = np.zeros(points.shape, dtype=np.int32)
        self._nearer_in_tile, self._reached_in_tile = np.empty_like(self.nearer), np.empty_like(self.nearer)

    def add_keys(self, keys: Floats, error_bounds: Floats, first: int) -> None:
        """Count the points of a tile; undecided pairs are measured exactly."""
        count_nearer(keys, error_bounds, *self._bounds, self._nearer_in_tile, self._reached_in_tile)
        self.nearer += self._nearer_in_tile
        # A point never counts as nearer than itself, although its key lies between its own bounds.
        itself = (self._points >= first) & (self._points < first + keys.shape[1])
        undecided = self._reached_in_tile - self._nearer_in_tile
        undecided[undecided <= itself] = 0
        n_undecided = int(undecided.sum())
        if n_undecided:
            rows, limits, columns = (np.empty(n_undecided, dtype=np.int32) for _ in range(3))
            collect_undecided(keys, error_bounds, *self._bounds, undecided, rows, limits, columns)
            columns += np.int32(first)
            count_exact(rows, limits, self._block.exact_pair_keys(rows, columns), self._exact_keys, self.nearer)


class RankBuffers:
    """Buffers for the keys of a block and for the ranking of all points about one row."""

    def __init__(self, n_rows: int, n: int) -> None:
        self.keys = np.empty((n_rows, n))
        self.error_bounds = np.zeros(n)
        self.exact_keys = np.empty(n)
        self.sorted = np.empty(n), np.empty(n, dtype=np.int32)
        positions, bucket, bucket_ends = (np.empty(m, dtype=np.int32) for m in (n, n, BUCKETS_PER_ENTRY * n + 1))
        self.scratch = np.empty(n), positions, bucket, bucket_ends
        self.ranks = np.empty(n, dtype=np.int32)


class FullRanker:
    """The ranks of all points about each row of a block."""

    def __init__(self, block: DistanceBlock, buffers: RankBuffers) -> None:
        self._block, self._buffers = block, buffers
        self._row_error_bounds = block.row_error_bounds()

    def add_keys(self, keys: Floats, error_bounds: Floats, first: int) -> None:
        last = first + keys.shape[1]
        self._buffers.keys[: len(keys), first:last] = keys
        self._buffers.error_bounds[first:last] = error_bounds

    def ranks(self, row: int) -> PointIndices:
        """Return the ranks of all points about one row, from 1; undecided pairs are measured exactly."""
        buffers, own = self._buffers, int(self._block.rows[row])
        errors = buffers.error_bounds, float(self._row_error_bounds[row]), self._block.relative_error
        n_undecided = sort_row(buffers.keys[row], own, *errors, *buffers.sorted, *buffers.scratch)
        if n_undecided:
            undecided = buffers.scratch[1][:n_undecided].copy()
            points = buffers.sorted[1][undecided]
            measured = self._block.exact_pair_keys(np.full(n_undecided, row, dtype=np.int32), points)
            buffers.exact_keys[points] = distance_keys(measured)
            sort_undecided(undecided, buffers.exact_keys, *buffers.sorted, *buffers.scratch)
        fill_ranks(buffers.sorted[1], own, buffers.ranks)
        return buffers.ranks


# Keys of a block whose rows are sorted as a whole.
_MAX_SORTED_KEYS = 2**20
# Columns of the result of kernels.distance_sums.distance_sums.
N_SUMS = 10


@dataclass(frozen=True)
class PairScanRequest:
    """The quantities that a pass computes for some rows.

    Attributes
    ----------
    rows : ndarray of row numbers, ascending
    data_neighbors, map_neighbors : ndarray of shape (n_rows, k) or None
        Neighbours in the data, whose ranks in the map are computed, and neighbours on the map, whose ranks in the data are.
    scales : ndarray of shape (7,) or None
        Scales of `kernels.distance_sums.distance_sums`; None skips the sums.
    rank_weights : ndarray of shape (n,) or None
        Weight of a pair by the larger of its two ranks; None skips the full ranking.
    rank_pairs : bool
        Whether the co-ranking matrix is counted.
    sampled_points : ndarray of shape (n_rows, n_drawn) or None
        Points whose distances to the rows are returned.
    """

    rows: Indices
    data_neighbors: PointIndices | None = None
    map_neighbors: PointIndices | None = None
    scales: Floats | None = None
    rank_weights: Floats | None = None
    rank_pairs: bool = False
    sampled_points: PointIndices | None = None


class PairScanResult:
    """The quantities that a pass computed; those not requested are empty.

    Attributes
    ----------
    ranks_in_map, ranks_in_data : ndarray of shape (n_rows, k)
        One plus the number of points that are strictly nearer.
    sums : ndarray of shape (n_rows, 10)
        Result of `kernels.distance_sums.distance_sums` over all pairs of a row with another.
    larger_ranks : ndarray of shape (n,)
        Number of pairs whose larger rank is r; ties are ranked by row number.
    weighted_counts : ndarray of shape (n_rows,)
        Sum of `rank_weights` over the pairs of a row.
    rank_pairs : ndarray of shape (n - 1, n - 1)
        Co-ranking matrix.
    data_distances, map_distances : ndarray of shape (n_rows, n_drawn)
        Distances of the sampled pairs in the data and on the map.
    """

    def __init__(self, request: PairScanRequest, n: int) -> None:
        m = len(request.rows)
        self.ranks_in_map = np.empty(_shape(request.data_neighbors), dtype=np.int64)
        self.ranks_in_data = np.empty(_shape(request.map_neighbors), dtype=np.int64)
        self.sums = np.zeros((m if request.scales is not None else 0, N_SUMS))
        self.larger_ranks = np.zeros(n, dtype=np.int64)
        self.weighted_counts = np.empty(m)
        self.rank_pairs = np.zeros((n - 1, n - 1) if request.rank_pairs else (0, 0), dtype=np.int64)
        self.data_distances, self.map_distances = (np.empty(_shape(request.sampled_points)) for _ in range(2))


def _shape(indices: PointIndices | None) -> tuple[int, int]:
    return (0, 0) if indices is None else (indices.shape[0], indices.shape[1])


def scan_pairs(data: DistanceSpace, embedding: DistanceSpace, request: PairScanRequest) -> PairScanResult:
    """Compute the requested quantities; requires an open thread session."""
    n = data.points.n_samples
    found = PairScanResult(request, n)
    ordered = request.rank_weights is not None or request.rank_pairs
    size = min(data.n_rows, embedding.n_rows, max(4, _MAX_SORTED_KEYS // n) if ordered else BLOCK_ROWS)
    buffer_pool = parallel.BufferPool(partial(RankBuffers, size, n))
    others = request.map_neighbors, request.data_neighbors
    lock = Lock()

    def visit(span: tuple[int, int]) -> NDArray[np.int64] | None:
        part = slice(*span)
        rows = request.rows[part]
        with ExitStack() as stack:
            sides = []
            for space, points in zip((data, embedding), others, strict=True):
                block = stack.enter_context(space.open_block(rows))
                counter = None if points is None else RankCounter(block, points[part])
                ranker = FullRanker(block, stack.enter_context(buffer_pool.acquire())) if ordered else None
                sides.append(_Side(block, counter, ranker))
            _scan_tiles(sides, part, request, found, n)
            return _compare_ranks(sides, part, request, found, lock) if ordered else None

    spans = parallel.block_ranges(len(request.rows), size)
    for counts in progress.track_progress("Pairs", parallel.map_blocks(visit, spans), len(spans)):
        if counts is not None:
            found.larger_ranks += counts
    return found


@dataclass(frozen=True)
class _Side:
    """A block of rows in the data or on the map, with its counters."""

    block: DistanceBlock
    counter: RankCounter | None
    ranker: FullRanker | None

    def add_tile(self, first: int, last: int, own: tuple[Indices, Indices], with_distances: bool) -> Floats | None:
        """Add the points `first : last` to the counters; return their distances if `with_distances`."""
        if self.counter is None and self.ranker is None and not with_distances:
            return None
        keys, error_bounds = self.block.keys(first, last)
        # A row is not its own neighbour.
        keys[own] = np.inf
        if self.ranker is not None:
            self.ranker.add_keys(keys, error_bounds, first)
        if self.counter is not None:
            self.counter.add_keys(keys, error_bounds, first)
        if not with_distances:
            return None
        keys[own] = 0.0
        distances = self.block.distances(keys, first, last)
        distances[own] = 0.0
        return distances


def _scan_tiles(sides: list[_Side], part: slice, request: PairScanRequest, result: PairScanResult, n: int) -> None:
    """Fill the sums, counted ranks and sampled distances of some rows, tile by tile."""
    rows = request.rows[part]
    sums = np.zeros((len(rows), N_SUMS))
    for first, last in parallel.block_ranges(n, max(TILE_COLUMNS, BLOCK_ROWS * TILE_COLUMNS // len(rows))):
        at = np.flatnonzero((rows >= first) & (rows < last))
        own = at, rows[at] - first
        in_data, in_map = (side.add_tile(first, last, own, request.scales is not None) for side in sides)
        if in_data is not None:
            distance_sums(in_data, in_map, request.scales, sums)
    if request.scales is not None:
        result.sums[part] = _subtract_self_pairs(sums, request.scales)
    for side, ranks in zip(sides, (result.ranks_in_data, result.ranks_in_map), strict=True):
        if side.counter is not None:
            ranks[part] = side.counter.nearer + 1
    if request.sampled_points is not None:
        for side, distances in zip(sides, (result.data_distances, result.map_distances), strict=True):
            distances[part] = side.block.pair_distances(request.sampled_points[part])


def _subtract_self_pairs(sums: Floats, scales: Floats) -> Floats:
    """Subtract the contribution of each row's distance 0 to itself from the sums about the centres."""
    d, e = scales[5], scales[6]
    sums[:, 5:] -= [-d, -e, d * d, e * e, d * e]
    return sums


def _compare_ranks(
    sides: list[_Side], part: slice, request: PairScanRequest, result: PairScanResult, lock: Lock
) -> NDArray[np.int64]:
    """Fill the results of the full rankings of some rows; return the number of pairs by their larger rank."""
    counts = np.zeros_like(result.larger_ranks)
    weights = np.zeros(len(counts)) if request.rank_weights is None else request.rank_weights
    for row in range(len(request.rows[part])):
        ranks = [side.ranker.ranks(row) for side in sides if side.ranker is not None]
        result.weighted_counts[part.start + row] = count_larger_ranks(*ranks, weights, counts)
        if request.rank_pairs:
            with lock:
                count_rank_pairs(*ranks, result.rank_pairs)
    return counts
