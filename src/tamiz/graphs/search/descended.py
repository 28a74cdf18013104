"""A descent carried out: lists of neighbours, measured, and where a search for new rows begins."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel, progress
from tamiz.graphs.search.distinct import Distinct
from tamiz.graphs.search.lists import NARROW, WIDE, Lists
from tamiz.graphs.search.measured import RecallSample, nearest_rows
from tamiz.graphs.search.working_rows import WorkingRows
from tamiz.kernels.equal_rows import mix
from tamiz.statistics.base import Floats
from tamiz.validation import check_memory

Indices = NDArray[np.int32]

# Points whose neighbours are searched exactly to know the recall.
_SAMPLE = 500
# A list has at least so many entries: fewer lead nowhere.
_LEAST_LISTED = 16
# Passes at most; the least gain of recall that one more is worth, and as a share of what lacks.
_PASSES, _LEAST_GAIN, _GAIN = 12, 0.002, 0.1
# Share of all pairs, each taken twice, that passes may compare.
_WORTH = 0.25
# Rounding, in units of a neighbour's distance, at which the rows are too coarse to be searched on.
_BLIND = 0.1
# What a search for a new row keeps in view, at least.
_VIEW = 48
# Lists that are measured at a time.
_MEASURED = 1024


class Descended:
    """The neighbours of points, found by descent.

    Parameters
    ----------
    distinct : Distinct
    k : int
        Neighbours of each row.
    target : float
        The recall at which to stop.
    seed : int

    Attributes
    ----------
    k : int
    exhausted : bool
        Whether all pairs must be compared: that takes less work than going on to the recall, or float32 does not tell the
        rows apart.
    """

    def __init__(self, distinct: Distinct, k: int, target: float, seed: int) -> None:
        self.k = k
        self._distinct = distinct
        n = distinct.n_points
        rng = np.random.default_rng(seed)
        sample = rng.permutation(n)[:_SAMPLE]
        seeds = rng.integers(2**62, size=(_PASSES + 1, max(3, round(np.log2(n)) - 8)))
        progress.tell("Neighbours", 0, _PASSES + 2)
        check_memory(
            n * (8.0 * distinct.values.shape[1] + 40.0 * (k + 1) + 512.0),
            f"A descent on {n:,} rows of {distinct.values.shape[1]:,} columns",
            "Take fewer rows, or reduce the columns first.",
        )
        self._work = WorkingRows.of(distinct.values, k, 1.0 - (1.0 - target) / 4.0)
        self.exhausted = self._work.blur > _BLIND
        if self.exhausted:
            return
        n_listed = max(self._work.n_listed, _LEAST_LISTED)
        self._lists = Lists(self._work.rows, max(1, min(n_listed, n - 1)), seeds[0])
        progress.tell("Neighbours", 1, _PASSES + 2)
        self._sample = self._improve(sample, target, seeds[1:])
        if not self.exhausted:
            self._dist, self._rows = self._settled()
        progress.tell("Neighbours", _PASSES + 2, _PASSES + 2)

    def _improve(self, sample: NDArray[np.int64], target: float, seeds: NDArray[np.int64]) -> RecallSample:
        """Make passes until the recall is reached or hardly grows; return what it is estimated on.

        After a first wide pass narrow ones, as long as they gain, then wide ones, then wide ones after more trees.
        """
        n_pairs = self._lists.improve(WIDE)
        known = RecallSample(self._distinct, self._lists, self._work.unit, sample, self.k + 1)
        widths = [NARROW, WIDE, WIDE]
        for n_passes, more in enumerate(seeds):
            before = known.recall(self.k)
            self.exhausted = before < target and n_pairs > _WORTH * self._distinct.n_points**2
            if before >= target or self.exhausted or not widths:
                break
            progress.tell("Neighbours", 1 + n_passes, _PASSES + 2)
            if len(widths) == 1:
                self._lists.join_more(more)
            n_pairs += self._lists.improve(widths[0])
            known.look()
            if known.recall(self.k) - before < max(_LEAST_GAIN, _GAIN * (target - before)):
                widths.pop(0)
        return known

    def nearest(self, size: int) -> tuple[Floats, Indices]:
        """Return the first `size` entries of every list, as flat arrays."""
        return self._dist[:, :size].reshape(-1), self._rows[:, :size].reshape(-1)

    def recall(self, k: int) -> float:
        """Return the share of the true k nearest that are in the lists, estimated."""
        return self._sample.recall(k)

    def _settled(self) -> tuple[Floats, Indices]:
        n, size = self._distinct.n_points, self.k + 1
        dist, rows = np.empty((n, size)), np.empty((n, size), dtype=np.int32)

        def settle(span: tuple[int, int]) -> None:
            points, near = self._lists.nearest(slice(*span))
            candidates = np.column_stack([points, near])
            dist[points], rows[points] = nearest_rows(self._distinct, self._distinct.values, points, candidates, size)

        for _ in parallel.map_blocks(settle, parallel.spans(n, _MEASURED)):
            pass
        return dist, rows

    def near(self, values: Floats, k: int) -> tuple[Floats, Indices]:
        """Return the k rows found nearest to each of some rows of numbers, searched by itself."""
        view = max(_VIEW, 2 * k + 2)

        def search(span: tuple[int, int]) -> tuple[Floats, Indices]:
            part = values[slice(*span)]
            candidates = np.column_stack([self._lists.near(self._work.like(part), view), self._equal(part, k)])
            return nearest_rows(self._distinct, part, np.arange(len(part), dtype=np.int32), candidates, k)

        found = list(parallel.map_blocks(search, parallel.spans(len(values), _MEASURED)))
        dist, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return dist, rows

    @cached_property
    def _numbers(self) -> tuple[NDArray[np.uint64], Indices]:
        """Numbers that equal points share, in ascending order, and the points."""
        numbers = _numbers(self._distinct.values)
        order = np.argsort(numbers, kind="stable")
        return numbers[order], order.astype(np.int32)

    def _equal(self, values: Floats, k: int) -> Indices:
        """Return at most k points that are equal to each of some rows, the first ones, and perhaps some that are not; else -1."""
        numbers, points = self._numbers
        own = _numbers(values)
        at = np.searchsorted(numbers, own)[:, None] + np.arange(k)
        inside = np.minimum(at, len(numbers) - 1)
        same = (at < len(numbers)) & (numbers[inside] == own[:, None])
        return np.where(same, points[inside], np.int32(-1))


def _numbers(values: Floats) -> NDArray[np.uint64]:
    numbers = np.empty(len(values), dtype=np.uint64)
    mix(np.ascontiguousarray(values).view(np.uint64), numbers)
    return numbers
