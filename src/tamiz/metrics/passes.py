"""One pass over the pairs of rows of a table and of its map, which serves every number that is wanted of them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel, progress
from tamiz.kernels.pair_sums import pair_sums
from tamiz.kernels.ranks import count_larger_ranks, count_rank_pairs
from tamiz.metrics.counting import Counter, Indices, Ranker, Room
from tamiz.metrics.slabs import COLUMNS, ROWS, Numbers, Slab, Space
from tamiz.statistics.base import Floats

# Keys of a slab, of which whole rows are put in order.
_ORDERED = 2**20
N_SUMS = 10


@dataclass(frozen=True)
class Wanted:
    """What is to be counted of some rows.

    Attributes
    ----------
    rows : ndarray of row numbers, ascending
    data_neighbors, map_neighbors : ndarray of shape (n_rows, k) or None
        Points whose ranks in the map, and in the data, are wanted: neighbours in the data, and in the map.
    scales : ndarray of shape (7,) or None
        As `kernels.pair_sums` takes them.
    gains : ndarray of shape (n,) or None
        What a pair of ranks counts by the larger one, where all ranks are wanted.
    rank_pairs : bool
        Whether pairs of ranks are counted.
    drawn : ndarray of shape (n_rows, n_drawn) or None
        Points whose distances are wanted.
    """

    rows: Numbers
    data_neighbors: Indices | None = None
    map_neighbors: Indices | None = None
    scales: Floats | None = None
    gains: Floats | None = None
    rank_pairs: bool = False
    drawn: Indices | None = None


class Found:
    """What was counted.

    Attributes
    ----------
    ranks_in_map, ranks_in_data : ndarray of shape (n_rows, k)
        One more than the points that are strictly nearer.
    sums : ndarray of shape (n_rows, 10)
        As `kernels.pair_sums` gives them, no row with itself.
    larger_ranks : ndarray of shape (n,)
        How many pairs have r for the larger of their two ranks, equal distances ranked by the lower row.
    gains : ndarray of shape (n_rows,)
    rank_pairs : ndarray of shape (n - 1, n - 1)
    given, mapped : ndarray of shape (n_rows, n_drawn)
        Distances of the pairs drawn, in the data and in the map.
    """

    def __init__(self, wanted: Wanted, n: int) -> None:
        m = len(wanted.rows)
        self.ranks_in_map = np.empty(_shape(wanted.data_neighbors), dtype=np.int64)
        self.ranks_in_data = np.empty(_shape(wanted.map_neighbors), dtype=np.int64)
        self.sums = np.zeros((m if wanted.scales is not None else 0, N_SUMS))
        self.larger_ranks = np.zeros(n, dtype=np.int64)
        self.gains = np.empty(m)
        self.rank_pairs = np.zeros((n - 1, n - 1) if wanted.rank_pairs else (0, 0), dtype=np.int64)
        self.given, self.mapped = (np.empty(_shape(wanted.drawn)) for _ in range(2))


def _shape(indices: Indices | None) -> tuple[int, int]:
    return (0, 0) if indices is None else (indices.shape[0], indices.shape[1])


def survey(data: Space, mapped: Space, wanted: Wanted) -> Found:
    """Count what is wanted, in an open session."""
    n = data.points.n_samples
    found = Found(wanted, n)
    ordered = wanted.gains is not None or wanted.rank_pairs
    size = min(data.n_rows, mapped.n_rows, max(4, _ORDERED // n) if ordered else ROWS)
    rooms = parallel.Lent(partial(Room, size, n))
    others = wanted.map_neighbors, wanted.data_neighbors
    lock = Lock()

    def visit(span: tuple[int, int]) -> NDArray[np.int64] | None:
        part = slice(*span)
        rows = wanted.rows[part]
        with ExitStack() as stack:
            sides = []
            for space, points in zip((data, mapped), others, strict=True):
                slab = stack.enter_context(space.slab(rows))
                counter = None if points is None else Counter(slab, points[part])
                ranker = Ranker(slab, stack.enter_context(rooms.borrowed())) if ordered else None
                sides.append(_Side(slab, counter, ranker))
            _scan(sides, part, wanted, found, n)
            return _compare(sides, part, wanted, found, lock) if ordered else None

    spans = parallel.spans(len(wanted.rows), size)
    for counts in progress.track("Pairs", parallel.map_blocks(visit, spans), len(spans)):
        if counts is not None:
            found.larger_ranks += counts
    return found


@dataclass(frozen=True)
class _Side:
    """The rows of a slab in the data, or on the map, and what is counted of them there."""

    slab: Slab
    counter: Counter | None
    ranker: Ranker | None

    def take(self, first: int, last: int, own: tuple[Numbers, Numbers], measured: bool) -> Floats | None:
        """Count the points first .. last in, and return their distances where they are wanted."""
        if self.counter is None and self.ranker is None and not measured:
            return None
        keys, blur = self.slab.keys(first, last)
        # No row is near itself.
        keys[own] = np.inf
        if self.ranker is not None:
            self.ranker.take(keys, blur, first)
        if self.counter is not None:
            self.counter.count(keys, blur, first)
        if not measured:
            return None
        keys[own] = 0.0
        distances = self.slab.distances(keys, first, last)
        distances[own] = 0.0
        return distances


def _scan(sides: list[_Side], part: slice, wanted: Wanted, found: Found, n: int) -> None:
    """Fill what is found of some rows tile by tile, and of pairs drawn."""
    rows = wanted.rows[part]
    sums = np.zeros((len(rows), N_SUMS))
    for first, last in parallel.spans(n, max(COLUMNS, ROWS * COLUMNS // len(rows))):
        at = np.flatnonzero((rows >= first) & (rows < last))
        own = at, rows[at] - first
        given, mapped = (side.take(first, last, own, wanted.scales is not None) for side in sides)
        if given is not None:
            pair_sums(given, mapped, wanted.scales, sums)
    if wanted.scales is not None:
        found.sums[part] = _without_own(sums, wanted.scales)
    for side, ranks in zip(sides, (found.ranks_in_data, found.ranks_in_map), strict=True):
        if side.counter is not None:
            ranks[part] = side.counter.nearer + 1
    if wanted.drawn is not None:
        for side, distances in zip(sides, (found.given, found.mapped), strict=True):
            distances[part] = side.slab.between(wanted.drawn[part])


def _without_own(sums: Floats, scales: Floats) -> Floats:
    """Take off what rows at distance 0 from themselves added to the sums about centres."""
    d, e = scales[5], scales[6]
    sums[:, 5:] -= [-d, -e, d * d, e * e, d * e]
    return sums


def _compare(sides: list[_Side], part: slice, wanted: Wanted, found: Found, lock: Lock) -> NDArray[np.int64]:
    """Fill what is found of some rows by the order of all points about them; return how often a rank is a pair's larger one."""
    counts = np.zeros_like(found.larger_ranks)
    gains = np.zeros(len(counts)) if wanted.gains is None else wanted.gains
    for row in range(len(wanted.rows[part])):
        ranks = [side.ranker.ranks(row) for side in sides if side.ranker is not None]
        found.gains[part.start + row] = count_larger_ranks(*ranks, gains, counts)
        if wanted.rank_pairs:
            with lock:
                count_rank_pairs(*ranks, found.rank_pairs)
    return counts
