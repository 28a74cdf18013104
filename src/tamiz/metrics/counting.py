"""Ranks of points about the rows of a slab: of some points by counting who is nearer, of all by putting them in order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.ranks import (
    BUCKETS_PER_ENTRY,
    collect_undecided,
    count_exact,
    count_nearer,
    fill_ranks,
    sort_row,
    sort_undecided,
)
from tamiz.metrics.slabs import DistanceBlock
from tamiz.statistics.base import Floats

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
