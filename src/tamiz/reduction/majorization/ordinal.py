"""Dissimilarities turned into any numbers in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.kernels.isotonic import merge, pool, sort_ties, spread, turn_ordered
from tamiz.reduction.majorization.curves import Curve, Steps
from tamiz.reduction.majorization.pairs import Pairs, add_up, pair_numbers
from tamiz.reduction.majorization.transformations import TINY, Transformation
from tamiz.statistics.base import Floats

# Entries of the order that are worked on at a time, and the most pieces whose sums over points are kept apart.
_PIECE, _MOST_PIECES = 2**17, 16


class Ordinal(Transformation):
    """Numbers in the order of the dissimilarities.

    Parameters
    ----------
    pairs : Pairs
    ties : {"primary", "secondary"}
        Equal dissimilarities may differ afterwards, in any order, or stay equal.
    """

    def __init__(self, pairs: Pairs, ties: str) -> None:
        super().__init__(pairs)
        order = np.argsort(pairs.values, kind="stable")
        if pairs.is_weighted:
            order = order[pairs.weights[order] > 0]
        ordered = pairs.values[order]
        self._weights = pairs.weights[order] if pairs.is_weighted else pairs.weights
        self._rows, self._columns = _ends(order, pairs.n)
        equal = np.zeros(len(ordered), dtype=bool)
        np.equal(ordered[1:], ordered[:-1], out=equal[1:])
        self._joined = equal if ties == "secondary" and equal.any() else np.empty(0, dtype=bool)
        self._ties = _runs(equal) if ties == "primary" else np.empty(0, dtype=np.int64)
        size = len(ordered)
        self._sums, self._masses = np.empty(size), np.empty(size)
        self._begins = np.empty(size, dtype=np.int64)
        self._heights = np.empty(0)
        self._pieces, self._tied = self._spans(), self._tied_spans()
        self._turned = parallel.spans(size, max(_PIECE, -(-size // _MOST_PIECES)))

    def turned(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Pool distances wherever they are not in order, and return what majorisation makes of that and the distances."""
        entries = self._rows, self._columns, self._weights
        _each(lambda span: sort_ties(points, self._ties, *span, *entries), self._tied)

        def pooled(span: tuple[int, int]) -> int:
            blocks = (part[slice(*span)] for part in (self._sums, self._masses, self._begins))
            return int(pool(points, *entries, self._joined, *span, *blocks))

        sizes = np.array(list(parallel.map_blocks(pooled, self._pieces)), dtype=np.int64)
        starts = np.array([start for start, _ in self._pieces], dtype=np.int64)
        n = merge(starts, sizes, self._sums, self._masses, self._begins)
        means, begins = self._sums[:n] / self._masses[:n], self._begins[:n]
        self._heights = means * np.sqrt(self.total / np.dot(self._sums[:n], means))
        tiny = TINY[self.pairs.dtype]

        def add(start: int, stop: int, sums: NDArray[Any]) -> float:
            return float(turn_ordered(points, *entries, self._heights, begins, start, stop, tiny, sums))

        return add_up(add, self._turned, points.shape, self.pairs.dtype)

    def disparities(self) -> NDArray[Any]:
        """Return the heights of the blocks, 0 where no dissimilarity is known."""
        out = np.zeros(len(self.pairs.values), dtype=self.pairs.dtype)
        begins = self._begins[: len(self._heights)]
        ends = self._rows, self._columns
        _each(lambda span: spread(*ends, self._heights, begins, self.pairs.n, *span, out), self._turned)
        return out

    def curve(self) -> Curve:
        """Return the last blocks, each level, joined by lines."""
        begins = self._begins[: len(self._heights)]
        lasts = np.append(begins[1:], len(self._rows)) - 1
        lows, highs = (self._values_at(at) for at in (begins, lasts))
        return Steps.through(lows, highs, self._heights)

    def _values_at(self, entries: NDArray[np.int64]) -> Floats:
        i, j = self._rows[entries].astype(np.int64), self._columns[entries].astype(np.int64)
        return self.pairs.values[pair_numbers(i, j, self.pairs.n)].astype(np.float64)

    def _spans(self) -> list[tuple[int, int]]:
        """Return pieces of the order; what is joined stays in one."""
        size = len(self._rows)
        cuts = [start for start, _ in parallel.spans(size, _PIECE)]
        if len(self._joined):
            free = np.append(np.flatnonzero(~self._joined), size)
            cuts = np.unique(free[np.searchsorted(free, cuts)]).tolist()
        return [span for span in zip(cuts, [*cuts[1:], size], strict=True) if span[0] < span[1]]

    def _tied_spans(self) -> list[tuple[int, int]]:
        """Return ranges of ties with about as many entries each."""
        ends = self._ties[1::2]
        if not len(ends):
            return []
        cuts = np.unique(np.searchsorted(ends, np.arange(0, len(self._rows), _PIECE))).tolist()
        return [span for span in zip(cuts, [*cuts[1:], len(ends)], strict=True) if span[0] < span[1]]


def _ends(order: NDArray[np.intp], n: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the rows and the later rows of pairs by their numbers."""
    starts = np.arange(n - 1, dtype=np.int64)
    starts = starts * n - starts * (starts + 1) // 2
    rows = np.repeat(np.arange(n - 1, dtype=np.uint16), np.arange(n - 1, 0, -1))[order]
    columns = (order - starts[rows] + rows + 1).astype(np.uint16)
    return rows, columns


def _each(work: Callable[[tuple[int, int]], Any], spans: list[tuple[int, int]]) -> None:
    for _ in parallel.map_blocks(work, spans):
        pass


def _runs(equal: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return where runs of equal entries start and stop, one after the other; equal[r] says that r is equal to r - 1."""
    changes = np.flatnonzero(np.diff(equal.astype(np.int8), append=0))
    # A run starts one before its first equal entry, and stops after its last.
    starts, stops = changes[0::2], changes[1::2] + 1
    return np.ascontiguousarray(np.column_stack([starts, stops]).ravel(), dtype=np.int64)
