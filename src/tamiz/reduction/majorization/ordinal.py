"""Dissimilarities turned into any numbers in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.kernels.isotonic import (
    guttman_step_ordinal,
    merge_blocks,
    pool_adjacent_violators,
    scatter_disparities,
    sort_ties,
)
from tamiz.reduction.majorization.curves import DisparityCurve, PiecewiseLinearCurve
from tamiz.reduction.majorization.pairs import CondensedPairs, accumulate_spans, condensed_indices
from tamiz.reduction.majorization.transformations import DISTANCE_GUARD, Transformation
from tamiz.statistics.base import Floats

# Entries of the order that are worked on at a time, and the most pieces whose sums over points are kept apart.
_ENTRIES_PER_TASK, _MAX_TASKS = 2**17, 16


class OrdinalTransformation(Transformation):
    """Numbers in the order of the dissimilarities.

    Parameters
    ----------
    pairs : Pairs
    ties : {"primary", "secondary"}
        Equal dissimilarities may differ afterwards, in any order, or stay equal.
    """

    def __init__(self, pairs: CondensedPairs, ties: str) -> None:
        super().__init__(pairs)
        order = np.argsort(pairs.values, kind="stable")
        if pairs.is_weighted:
            order = order[pairs.weights[order] > 0]
        ordered = pairs.values[order]
        self._weights = pairs.weights[order] if pairs.is_weighted else pairs.weights
        self._first_rows, self._second_rows = _pair_rows(order, pairs.n)
        equal = np.zeros(len(ordered), dtype=bool)
        np.equal(ordered[1:], ordered[:-1], out=equal[1:])
        self._equal_to_previous = equal if ties == "secondary" and equal.any() else np.empty(0, dtype=bool)
        self._tie_runs = _find_runs(equal) if ties == "primary" else np.empty(0, dtype=np.int64)
        size = len(ordered)
        self._block_sums, self._block_weights = np.empty(size), np.empty(size)
        self._block_starts = np.empty(size, dtype=np.int64)
        self._block_means = np.empty(0)
        self._pooling_spans, self._tie_spans = self._create_pooling_spans(), self._create_tie_spans()
        self._product_spans = parallel.block_ranges(size, max(_ENTRIES_PER_TASK, -(-size // _MAX_TASKS)))

    def update(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Pool distances wherever they are not in order, and return what majorisation makes of that and the distances."""
        entries = self._first_rows, self._second_rows, self._weights
        _run_all(lambda span: sort_ties(points, self._tie_runs, *span, *entries), self._tie_spans)

        def pooled(span: tuple[int, int]) -> int:
            blocks = (part[slice(*span)] for part in (self._block_sums, self._block_weights, self._block_starts))
            return int(pool_adjacent_violators(points, *entries, self._equal_to_previous, *span, *blocks))

        sizes = np.array(list(parallel.map_blocks(pooled, self._pooling_spans)), dtype=np.int64)
        starts = np.array([start for start, _ in self._pooling_spans], dtype=np.int64)
        n = merge_blocks(starts, sizes, self._block_sums, self._block_weights, self._block_starts)
        means, begins = self._block_sums[:n] / self._block_weights[:n], self._block_starts[:n]
        self._block_means = means * np.sqrt(self.total / np.dot(self._block_sums[:n], means))
        tiny = DISTANCE_GUARD[self.pairs.dtype]

        def add(start: int, stop: int, sums: NDArray[Any]) -> float:
            return float(guttman_step_ordinal(points, *entries, self._block_means, begins, start, stop, tiny, sums))

        return accumulate_spans(add, self._product_spans, points.shape, self.pairs.dtype)

    def disparities(self) -> NDArray[Any]:
        """Return the heights of the blocks, 0 where no dissimilarity is known."""
        out = np.zeros(len(self.pairs.values), dtype=self.pairs.dtype)
        begins = self._block_starts[: len(self._block_means)]
        ends = self._first_rows, self._second_rows
        _run_all(
            lambda span: scatter_disparities(*ends, self._block_means, begins, self.pairs.n, *span, out),
            self._product_spans,
        )
        return out

    def curve(self) -> DisparityCurve:
        """Return the last blocks, each level, joined by lines."""
        begins = self._block_starts[: len(self._block_means)]
        lasts = np.append(begins[1:], len(self._first_rows)) - 1
        lows, highs = (self._values_at(at) for at in (begins, lasts))
        return PiecewiseLinearCurve.through_blocks(lows, highs, self._block_means)

    def _values_at(self, entries: NDArray[np.int64]) -> Floats:
        i, j = self._first_rows[entries].astype(np.int64), self._second_rows[entries].astype(np.int64)
        return self.pairs.values[condensed_indices(i, j, self.pairs.n)].astype(np.float64)

    def _create_pooling_spans(self) -> list[tuple[int, int]]:
        """Return pieces of the order; what is joined stays in one."""
        size = len(self._first_rows)
        cuts = [start for start, _ in parallel.block_ranges(size, _ENTRIES_PER_TASK)]
        if len(self._equal_to_previous):
            free = np.append(np.flatnonzero(~self._equal_to_previous), size)
            cuts = np.unique(free[np.searchsorted(free, cuts)]).tolist()
        return [span for span in zip(cuts, [*cuts[1:], size], strict=True) if span[0] < span[1]]

    def _create_tie_spans(self) -> list[tuple[int, int]]:
        """Return ranges of ties with about as many entries each."""
        ends = self._tie_runs[1::2]
        if not len(ends):
            return []
        cuts = np.unique(np.searchsorted(ends, np.arange(0, len(self._first_rows), _ENTRIES_PER_TASK))).tolist()
        return [span for span in zip(cuts, [*cuts[1:], len(ends)], strict=True) if span[0] < span[1]]


def _pair_rows(order: NDArray[np.intp], n: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the rows and the later rows of pairs by their numbers."""
    starts = np.arange(n - 1, dtype=np.int64)
    starts = starts * n - starts * (starts + 1) // 2
    rows = np.repeat(np.arange(n - 1, dtype=np.uint16), np.arange(n - 1, 0, -1))[order]
    columns = (order - starts[rows] + rows + 1).astype(np.uint16)
    return rows, columns


def _run_all(work: Callable[[tuple[int, int]], Any], spans: list[tuple[int, int]]) -> None:
    for _ in parallel.map_blocks(work, spans):
        pass


def _find_runs(equal: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return where runs of equal entries start and stop, one after the other; equal[r] says that r is equal to r - 1."""
    changes = np.flatnonzero(np.diff(equal.astype(np.int8), append=0))
    # A run starts one before its first equal entry, and stops after its last.
    starts, stops = changes[0::2], changes[1::2] + 1
    return np.ascontiguousarray(np.column_stack([starts, stops]).ravel(), dtype=np.int64)
