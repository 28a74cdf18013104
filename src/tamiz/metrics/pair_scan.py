"""One pass over the pairs of rows of a table and of its map, which serves every number that is wanted of them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.distance_sums import distance_sums
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
from tamiz.metrics.distance_blocks import BLOCK_ROWS, TILE_COLUMNS, DistanceBlock, DistanceSpace, RowIndices
from tamiz.runtime import parallel, progress
from tamiz.statistics.base import Floats

# MERGED: Ranks of points about the rows of a slab: of some points by counting who is nearer, of all by putting them in order.
PointIndices = NDArray[np.int32]


class RankCounter:
    """How many points are nearer to the rows of a slab than some others."""

    def __init__(self, block: DistanceBlock, points: PointIndices) -> None:
        self._block, self._points = block, points
        self._exact_keys = np.ascontiguousarray(block.exact_keys(points))
        self._bounds = tuple(np.ascontiguousarray(bound) for bound in block.key_bounds(self._exact_keys))
        self.nearer = np.zeros(points.shape, dtype=np.int32)
        self._nearer_in_tile, self._reached_in_tile = np.empty_like(self.nearer), np.empty_like(self.nearer)

    def add_keys(self, keys: Floats, error_bounds: Floats, first: int) -> None:
        """Take more keys in; points that keys leave a doubt about are measured."""
        count_nearer(keys, error_bounds, *self._bounds, self._nearer_in_tile, self._reached_in_tile)
        self.nearer += self._nearer_in_tile
        # The point that a limit is the distance of is reached itself, and not nearer.
        itself = (self._points >= first) & (self._points < first + keys.shape[1])
        doubts = self._reached_in_tile - self._nearer_in_tile
        doubts[doubts <= itself] = 0
        n_doubts = int(doubts.sum())
        if n_doubts:
            rows, limits, columns = (np.empty(n_doubts, dtype=np.int32) for _ in range(3))
            collect_undecided(keys, error_bounds, *self._bounds, doubts, rows, limits, columns)
            columns += np.int32(first)
            count_exact(rows, limits, self._block.exact_pair_keys(rows, columns), self._exact_keys, self.nearer)


class RankBuffers:
    """Room for the order of all points about a row, and for the keys of a slab."""

    def __init__(self, n_rows: int, n: int) -> None:
        self.keys = np.empty((n_rows, n))
        self.error_bounds = np.zeros(n)
        self.exact_keys = np.empty(n)
        self.sorted = np.empty(n), np.empty(n, dtype=np.int32)
        places, which, ends = (np.empty(m, dtype=np.int32) for m in (n, n, BUCKETS_PER_ENTRY * n + 1))
        self.scratch = np.empty(n), places, which, ends
        self.ranks = np.empty(n, dtype=np.int32)


class FullRanker:
    """The ranks of all points about the rows of a slab."""

    def __init__(self, block: DistanceBlock, buffers: RankBuffers) -> None:
        self._block, self._buffers = block, buffers
        self._row_error_bounds = block.row_error_bounds()

    def add_keys(self, keys: Floats, error_bounds: Floats, first: int) -> None:
        """Take more keys in."""
        last = first + keys.shape[1]
        self._buffers.keys[: len(keys), first:last] = keys
        self._buffers.error_bounds[first:last] = error_bounds

    def ranks(self, row: int) -> PointIndices:
        """Return the ranks about one row, from 1; points that keys leave a doubt about are measured."""
        room, own = self._buffers, int(self._block.rows[row])
        blur = room.error_bounds, float(self._row_error_bounds[row]), self._block.relative_error
        n_doubts = sort_row(room.keys[row], own, *blur, *room.sorted, *room.scratch)
        if n_doubts:
            doubtful = room.scratch[1][:n_doubts].copy()
            points = room.sorted[1][doubtful]
            room.exact_keys[points] = self._block.exact_pair_keys(np.full(n_doubts, row, dtype=np.int32), points)
            sort_undecided(doubtful, room.exact_keys, *room.sorted, *room.scratch)
        fill_ranks(room.sorted[1], own, room.ranks)
        return room.ranks


# Keys of a slab, of which whole rows are put in order.
_MAX_SORTED_KEYS = 2**20
N_SUMS = 10


@dataclass(frozen=True)
class PairScanRequest:
    """What is to be counted of some rows.

    Attributes
    ----------
    rows : ndarray of row numbers, ascending
    data_neighbors, map_neighbors : ndarray of shape (n_rows, k) or None
        Points whose ranks in the map, and in the data, are wanted: neighbours in the data, and in the map.
    scales : ndarray of shape (7,) or None
        As `kernels.pair_sums` takes them.
    rank_weights : ndarray of shape (n,) or None
        What a pair of ranks counts by the larger one, where all ranks are wanted.
    rank_pairs : bool
        Whether pairs of ranks are counted.
    sampled_points : ndarray of shape (n_rows, n_drawn) or None
        Points whose distances are wanted.
    """

    rows: RowIndices
    data_neighbors: PointIndices | None = None
    map_neighbors: PointIndices | None = None
    scales: Floats | None = None
    rank_weights: Floats | None = None
    rank_pairs: bool = False
    sampled_points: PointIndices | None = None


class PairScanResult:
    """What was counted.

    Attributes
    ----------
    ranks_in_map, ranks_in_data : ndarray of shape (n_rows, k)
        One more than the points that are strictly nearer.
    sums : ndarray of shape (n_rows, 10)
        As `kernels.pair_sums` gives them, no row with itself.
    larger_ranks : ndarray of shape (n,)
        How many pairs have r for the larger of their two ranks, equal distances ranked by the lower row.
    weighted_counts : ndarray of shape (n_rows,)
    rank_pairs : ndarray of shape (n - 1, n - 1)
    data_distances, map_distances : ndarray of shape (n_rows, n_drawn)
        Distances of the pairs drawn, in the data and in the map.
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
    """Count what is wanted, in an open session."""
    n = data.points.n_samples
    found = PairScanResult(request, n)
    ordered = request.rank_weights is not None or request.rank_pairs
    size = min(data.n_rows, embedding.n_rows, max(4, _MAX_SORTED_KEYS // n) if ordered else BLOCK_ROWS)
    rooms = parallel.BufferPool(partial(RankBuffers, size, n))
    others = request.map_neighbors, request.data_neighbors
    lock = Lock()

    def visit(span: tuple[int, int]) -> NDArray[np.int64] | None:
        part = slice(*span)
        rows = request.rows[part]
        with ExitStack() as stack:
            sides = []
            for space, points in zip((data, embedding), others, strict=True):
                slab = stack.enter_context(space.open_block(rows))
                counter = None if points is None else RankCounter(slab, points[part])
                ranker = FullRanker(slab, stack.enter_context(rooms.borrow())) if ordered else None
                sides.append(_Side(slab, counter, ranker))
            _scan_tiles(sides, part, request, found, n)
            return _compare_ranks(sides, part, request, found, lock) if ordered else None

    spans = parallel.block_ranges(len(request.rows), size)
    for counts in progress.track_progress("Pairs", parallel.map_blocks(visit, spans), len(spans)):
        if counts is not None:
            found.larger_ranks += counts
    return found


@dataclass(frozen=True)
class _Side:
    """The rows of a slab in the data, or on the map, and what is counted of them there."""

    block: DistanceBlock
    counter: RankCounter | None
    ranker: FullRanker | None

    def add_tile(
        self, first: int, last: int, own: tuple[RowIndices, RowIndices], with_distances: bool
    ) -> Floats | None:
        """Count the points first .. last in, and return their distances where they are wanted."""
        if self.counter is None and self.ranker is None and not with_distances:
            return None
        keys, blur = self.block.keys(first, last)
        # No row is near itself.
        keys[own] = np.inf
        if self.ranker is not None:
            self.ranker.add_keys(keys, blur, first)
        if self.counter is not None:
            self.counter.add_keys(keys, blur, first)
        if not with_distances:
            return None
        keys[own] = 0.0
        distances = self.block.distances(keys, first, last)
        distances[own] = 0.0
        return distances


def _scan_tiles(sides: list[_Side], part: slice, request: PairScanRequest, result: PairScanResult, n: int) -> None:
    """Fill what is found of some rows tile by tile, and of pairs drawn."""
    rows = request.rows[part]
    sums = np.zeros((len(rows), N_SUMS))
    for first, last in parallel.block_ranges(n, max(TILE_COLUMNS, BLOCK_ROWS * TILE_COLUMNS // len(rows))):
        at = np.flatnonzero((rows >= first) & (rows < last))
        own = at, rows[at] - first
        given, mapped = (side.add_tile(first, last, own, request.scales is not None) for side in sides)
        if given is not None:
            distance_sums(given, mapped, request.scales, sums)
    if request.scales is not None:
        result.sums[part] = _subtract_self_pairs(sums, request.scales)
    for side, ranks in zip(sides, (result.ranks_in_data, result.ranks_in_map), strict=True):
        if side.counter is not None:
            ranks[part] = side.counter.nearer + 1
    if request.sampled_points is not None:
        for side, distances in zip(sides, (result.data_distances, result.map_distances), strict=True):
            distances[part] = side.block.pair_distances(request.sampled_points[part])


def _subtract_self_pairs(sums: Floats, scales: Floats) -> Floats:
    """Take off what rows at distance 0 from themselves added to the sums about centres."""
    d, e = scales[5], scales[6]
    sums[:, 5:] -= [-d, -e, d * d, e * e, d * e]
    return sums


def _compare_ranks(
    sides: list[_Side], part: slice, request: PairScanRequest, result: PairScanResult, lock: Lock
) -> NDArray[np.int64]:
    """Fill what is found of some rows by the order of all points about them; return how often a rank is a pair's larger one."""
    counts = np.zeros_like(result.larger_ranks)
    gains = np.zeros(len(counts)) if request.rank_weights is None else request.rank_weights
    for row in range(len(request.rows[part])):
        ranks = [side.ranker.ranks(row) for side in sides if side.ranker is not None]
        result.weighted_counts[part.start + row] = count_larger_ranks(*ranks, gains, counts)
        if request.rank_pairs:
            with lock:
                count_rank_pairs(*ranks, result.rank_pairs)
    return counts
