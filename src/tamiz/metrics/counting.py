"""Ranks of points about the rows of a slab: of some points by counting who is nearer, of all by putting them in order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.ranks import (
    BUCKETS,
    collect_doubts,
    count_measured,
    count_nearer,
    number,
    order,
    reorder,
)
from tamiz.metrics.slabs import Slab
from tamiz.statistics.base import Floats

Indices = NDArray[np.int32]


class Counter:
    """How many points are nearer to the rows of a slab than some others."""

    def __init__(self, slab: Slab, points: Indices) -> None:
        self._slab, self._points = slab, points
        self._limits = np.ascontiguousarray(slab.limits(points))
        self._windows = tuple(np.ascontiguousarray(bound) for bound in slab.windows(self._limits))
        self.nearer = np.zeros(points.shape, dtype=np.int32)
        self._here, self._reached = np.empty_like(self.nearer), np.empty_like(self.nearer)

    def count(self, keys: Floats, blur: Floats, first: int) -> None:
        """Take more keys in; points that keys leave a doubt about are measured."""
        count_nearer(keys, blur, *self._windows, self._here, self._reached)
        self.nearer += self._here
        # The point that a limit is the distance of is reached itself, and not nearer.
        itself = (self._points >= first) & (self._points < first + keys.shape[1])
        doubts = self._reached - self._here
        doubts[doubts <= itself] = 0
        n_doubts = int(doubts.sum())
        if n_doubts:
            rows, limits, columns = (np.empty(n_doubts, dtype=np.int32) for _ in range(3))
            collect_doubts(keys, blur, *self._windows, doubts, rows, limits, columns)
            columns += np.int32(first)
            count_measured(rows, limits, self._slab.measured(rows, columns), self._limits, self.nearer)


class Room:
    """Room for the order of all points about a row, and for the keys of a slab."""

    def __init__(self, n_rows: int, n: int) -> None:
        self.keys = np.empty((n_rows, n))
        self.blur = np.zeros(n)
        self.measured = np.empty(n)
        self.sorted = np.empty(n), np.empty(n, dtype=np.int32)
        places, which, ends = (np.empty(m, dtype=np.int32) for m in (n, n, BUCKETS * n + 1))
        self.other = np.empty(n), places, which, ends
        self.ranks = np.empty(n, dtype=np.int32)


class Ranker:
    """The ranks of all points about the rows of a slab."""

    def __init__(self, slab: Slab, room: Room) -> None:
        self._slab, self._room = slab, room
        self._own_blur = slab.own_blur()

    def take(self, keys: Floats, blur: Floats, first: int) -> None:
        """Take more keys in."""
        last = first + keys.shape[1]
        self._room.keys[: len(keys), first:last] = keys
        self._room.blur[first:last] = blur

    def ranks(self, row: int) -> Indices:
        """Return the ranks about one row, from 1; points that keys leave a doubt about are measured."""
        room, own = self._room, int(self._slab.rows[row])
        blur = room.blur, float(self._own_blur[row]), self._slab.growth
        n_doubts = order(room.keys[row], own, *blur, *room.sorted, *room.other)
        if n_doubts:
            doubtful = room.other[1][:n_doubts].copy()
            points = room.sorted[1][doubtful]
            room.measured[points] = self._slab.measured(np.full(n_doubts, row, dtype=np.int32), points)
            reorder(doubtful, room.measured, *room.sorted, *room.other)
        number(room.sorted[1], own, room.ranks)
        return room.ranks
