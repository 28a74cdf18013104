"""The run of a nearest-neighbour descent: lists of neighbours with exact distances, their recall, and the search of new rows."""

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

# Points whose neighbours are searched exactly to estimate the recall.
_RECALL_SAMPLE = 500
# Least number of entries of a list; with fewer, the descent does not converge.
_MIN_LIST_SIZE = 16
# Largest number of passes; least gain of recall of a pass, absolute and as a share of the missing recall.
_MAX_PASSES, _MIN_GAIN, _MIN_RELATIVE_GAIN = 12, 0.002, 0.1
# Largest share of the n^2 ordered pairs that passes may compare.
_MAX_PAIR_SHARE = 0.25
# Relative rounding, in units of a neighbour's distance, above which float32 rows are too coarse for a search.
_MAX_ROUNDING = 0.1
# Least number of candidates in the search for a new row.
_MIN_CANDIDATES = 48
# Lists whose distances are computed at a time.
_LIST_BATCH = 1024


class NNDescentResult:
    """The neighbours of points, found by nearest-neighbour descent.

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
        Whether all pairs must be compared instead: because that is less work than reaching the target, or because float32 cannot
        distinguish the rows.
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
            "Use fewer rows, or reduce the columns first.",
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
        """Run passes until the recall reaches the target or hardly improves; return the sample on which it is estimated.

        The first pass is wide. Then narrow passes follow while they improve the recall, then wide ones, then wide ones with
        additional trees.
        """
        n_pairs = self._lists.improve(WIDE_PASS)
        recall_sample = RecallSample(self._distinct, self._lists, self._reduced_rows.scale, sample, self.k + 1)
        widths = [NARROW_PASS, WIDE_PASS, WIDE_PASS]
        for n_passes, tree_seeds in enumerate(seeds):
            before = recall_sample.recall(self.k)
            self.needs_brute_force = before < target and n_pairs > _MAX_PAIR_SHARE * self._distinct.n_points**2
            if before >= target or self.needs_brute_force or not widths:
                break
            progress.report_progress("Neighbours", 1 + n_passes, _MAX_PASSES + 2)
            if len(widths) == 1:
                self._lists.add_trees(tree_seeds)
            n_pairs += self._lists.improve(widths[0])
            recall_sample.update()
            if recall_sample.recall(self.k) - before < max(_MIN_GAIN, _MIN_RELATIVE_GAIN * (target - before)):
                widths.pop(0)
        return recall_sample

    def nearest_lists(self, size: int) -> tuple[Floats, Indices]:
        """Return the first `size` entries of every list, as flat arrays."""
        return self._dist[:, :size].reshape(-1), self._rows[:, :size].reshape(-1)

    def recall(self, k: int) -> float:
        """Return the estimated share of the true k nearest neighbours that are in the lists."""
        return self._sample.recall(k)

    def _measure_lists(self) -> tuple[Floats, Indices]:
        n, size = self._distinct.n_points, self.k + 1
        dist, rows = np.empty((n, size)), np.empty((n, size), dtype=np.int32)

        def measure(span: tuple[int, int]) -> None:
            points, near = self._lists.listed_rows(slice(*span))
            candidates = np.column_stack([points, near])
            dist[points], rows[points] = nearest_rows(self._distinct, self._distinct.values, points, candidates, size)

        for _ in parallel.map_blocks(measure, parallel.block_ranges(n, _LIST_BATCH)):
            pass
        return dist, rows

    def find_nearest(self, values: Floats, k: int) -> tuple[Floats, Indices]:
        """Return the k rows found nearest to each new row; the result of a row is independent of others."""
        n_candidates = max(_MIN_CANDIDATES, 2 * k + 2)

        def search(span: tuple[int, int]) -> tuple[Floats, Indices]:
            part = values[slice(*span)]
            candidates = np.column_stack(
                [
                    self._lists.find_nearest(self._reduced_rows.transform(part), n_candidates),
                    self._equal_points(part, k),
                ]
            )
            return nearest_rows(self._distinct, part, np.arange(len(part), dtype=np.int32), candidates, k)

        found = list(parallel.map_blocks(search, parallel.block_ranges(len(values), _LIST_BATCH)))
        dist, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return dist, rows

    @cached_property
    def _sorted_hashes(self) -> tuple[NDArray[np.uint64], Indices]:
        """Hashes of the points in ascending order, and the points in this order."""
        hashes = _hash_rows(self._distinct.values)
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order.astype(np.int32)

    def _equal_points(self, values: Floats, k: int) -> Indices:
        """Return up to k points with the hash of each row, padded with -1: the first equal points, and possibly collisions."""
        hashes, points = self._sorted_hashes
        own = _hash_rows(values)
        at = np.searchsorted(hashes, own)[:, None] + np.arange(k)
        inside = np.minimum(at, len(hashes) - 1)
        same = (at < len(hashes)) & (hashes[inside] == own[:, None])
        return np.where(same, points[inside], np.int32(-1))


def _hash_rows(values: Floats) -> NDArray[np.uint64]:
    hashes = np.empty(len(values), dtype=np.uint64)
    hash_rows(np.ascontiguousarray(values).view(np.uint64), hashes)
    return hashes
