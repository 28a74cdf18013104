"""A descent carried out: lists of neighbours, measured, and where a search for new rows begins."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.nearest_neighbors import hash_rows
from tamiz.neighbors.neighbor_lists import NARROW_PASS, WIDE_PASS, NeighborLists
from tamiz.neighbors.recall import RecallSample, nearest_rows
from tamiz.neighbors.search_rows import DistinctRows, ReducedRows
from tamiz.runtime import parallel, progress
from tamiz.runtime.validation import check_memory
from tamiz.statistics.base import Floats

Indices = NDArray[np.int32]

# Points whose neighbours are searched exactly to know the recall.
_RECALL_SAMPLE = 500
# A list has at least so many entries: fewer lead nowhere.
_MIN_LIST_SIZE = 16
# Passes at most; the least gain of recall that one more is worth, and as a share of what lacks.
_MAX_PASSES, _MIN_GAIN, _MIN_RELATIVE_GAIN = 12, 0.002, 0.1
# Share of all pairs, each taken twice, that passes may compare.
_MAX_PAIR_SHARE = 0.25
# Rounding, in units of a neighbour's distance, at which the rows are too coarse to be searched on.
_MAX_ROUNDING = 0.1
# What a search for a new row keeps in view, at least.
_MIN_CANDIDATES = 48
# Lists that are measured at a time.
_LIST_BATCH = 1024


class NNDescentResult:
    """The neighbours of points, found by descent.

    Parameters
    ----------
    distinct : DistinctRows
    k : int
        Neighbours of each row.
    target : float
        The recall at which to stop.
    seed : int

    Attributes
    ----------
    k : int
    needs_brute_force : bool
        Whether all pairs must be compared: that takes less work than going on to the recall, or float32 does not tell the
        rows apart.
    """

    def __init__(self, distinct: DistinctRows, k: int, target: float, seed: int) -> None:
        self.k = k
        self._distinct = distinct
        n = distinct.n_points
        rng = np.random.default_rng(seed)
        sample = rng.permutation(n)[:_RECALL_SAMPLE]
        seeds = rng.integers(2**62, size=(_MAX_PASSES + 1, max(3, round(np.log2(n)) - 8)))
        progress.report_progress("Neighbours", 0, _MAX_PASSES + 2)
        check_memory(
            n * (8.0 * distinct.values.shape[1] + 40.0 * (k + 1) + 512.0),
            f"A descent on {n:,} rows of {distinct.values.shape[1]:,} columns",
            "Take fewer rows, or reduce the columns first.",
        )
        self._reduced_rows = ReducedRows.from_values(distinct.values, k, 1.0 - (1.0 - target) / 4.0)
        self.needs_brute_force = self._reduced_rows.relative_rounding > _MAX_ROUNDING
        if self.needs_brute_force:
            return
        n_listed = max(self._reduced_rows.n_listed, _MIN_LIST_SIZE)
        self._lists = NeighborLists(self._reduced_rows.rows, max(1, min(n_listed, n - 1)), seeds[0])
        progress.report_progress("Neighbours", 1, _MAX_PASSES + 2)
        self._sample = self._improve(sample, target, seeds[1:])
        if not self.needs_brute_force:
            self._dist, self._rows = self._measure_lists()
        progress.report_progress("Neighbours", _MAX_PASSES + 2, _MAX_PASSES + 2)

    def _improve(self, sample: NDArray[np.int64], target: float, seeds: NDArray[np.int64]) -> RecallSample:
        """Make passes until the recall is reached or hardly grows; return what it is estimated on.

        After a first wide pass narrow ones, as long as they gain, then wide ones, then wide ones after more trees.
        """
        n_pairs = self._lists.improve(WIDE_PASS)
        known = RecallSample(self._distinct, self._lists, self._reduced_rows.scale, sample, self.k + 1)
        widths = [NARROW_PASS, WIDE_PASS, WIDE_PASS]
        for n_passes, more in enumerate(seeds):
            before = known.recall(self.k)
            self.needs_brute_force = before < target and n_pairs > _MAX_PAIR_SHARE * self._distinct.n_points**2
            if before >= target or self.needs_brute_force or not widths:
                break
            progress.report_progress("Neighbours", 1 + n_passes, _MAX_PASSES + 2)
            if len(widths) == 1:
                self._lists.add_trees(more)
            n_pairs += self._lists.improve(widths[0])
            known.update()
            if known.recall(self.k) - before < max(_MIN_GAIN, _MIN_RELATIVE_GAIN * (target - before)):
                widths.pop(0)
        return known

    def nearest_lists(self, size: int) -> tuple[Floats, Indices]:
        """Return the first `size` entries of every list, as flat arrays."""
        return self._dist[:, :size].reshape(-1), self._rows[:, :size].reshape(-1)

    def recall(self, k: int) -> float:
        """Return the share of the true k nearest that are in the lists, estimated."""
        return self._sample.recall(k)

    def _measure_lists(self) -> tuple[Floats, Indices]:
        n, size = self._distinct.n_points, self.k + 1
        dist, rows = np.empty((n, size)), np.empty((n, size), dtype=np.int32)

        def settle(span: tuple[int, int]) -> None:
            points, near = self._lists.listed_rows(slice(*span))
            candidates = np.column_stack([points, near])
            dist[points], rows[points] = nearest_rows(self._distinct, self._distinct.values, points, candidates, size)

        for _ in parallel.map_blocks(settle, parallel.block_ranges(n, _LIST_BATCH)):
            pass
        return dist, rows

    def find_nearest(self, values: Floats, k: int) -> tuple[Floats, Indices]:
        """Return the k rows found nearest to each of some rows of numbers, searched by itself."""
        view = max(_MIN_CANDIDATES, 2 * k + 2)

        def search(span: tuple[int, int]) -> tuple[Floats, Indices]:
            part = values[slice(*span)]
            candidates = np.column_stack(
                [self._lists.find_nearest(self._reduced_rows.transform(part), view), self._equal_points(part, k)]
            )
            return nearest_rows(self._distinct, part, np.arange(len(part), dtype=np.int32), candidates, k)

        found = list(parallel.map_blocks(search, parallel.block_ranges(len(values), _LIST_BATCH)))
        dist, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return dist, rows

    @cached_property
    def _sorted_hashes(self) -> tuple[NDArray[np.uint64], Indices]:
        """Numbers that equal points share, in ascending order, and the points."""
        numbers = _hash_rows(self._distinct.values)
        order = np.argsort(numbers, kind="stable")
        return numbers[order], order.astype(np.int32)

    def _equal_points(self, values: Floats, k: int) -> Indices:
        """Return at most k points that are equal to each of some rows, the first ones, and perhaps some that are not; else -1."""
        numbers, points = self._sorted_hashes
        own = _hash_rows(values)
        at = np.searchsorted(numbers, own)[:, None] + np.arange(k)
        inside = np.minimum(at, len(numbers) - 1)
        same = (at < len(numbers)) & (numbers[inside] == own[:, None])
        return np.where(same, points[inside], np.int32(-1))


def _hash_rows(values: Floats) -> NDArray[np.uint64]:
    numbers = np.empty(len(values), dtype=np.uint64)
    hash_rows(np.ascontiguousarray(values).view(np.uint64), numbers)
    return numbers
