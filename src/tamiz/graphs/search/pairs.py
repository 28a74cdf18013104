"""All pairs within a radius: from the pairs found to the lists of every row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.graphs.points import Points
from tamiz.graphs.search.distinct import Distinct
from tamiz.graphs.search.neighbors import Neighbors
from tamiz.kernels.nearest import measure_all, order, spread, tally
from tamiz.statistics.base import Floats
from tamiz.validation import check_memory

# Pairs of points, each once or as query and point: (row, row, distance).
Found = tuple[NDArray[np.int32], NDArray[np.int32], Floats]

# Bytes of a neighbour in a list, and of a pair before it is in one.
_LISTED, _FOUND = 12, 16
# Numbers that may be measured to estimate how many pairs there are, and rows that are.
_SAMPLE_WORK, _LEAST_ROWS, _MOST_ROWS = 2e8, 16, 256
# Rows that are sorted at a time.
_SORTED = 512


class Reach:
    """What lies within a radius of points or of queries.

    Parameters
    ----------
    points : Points
    distinct : Distinct
    radius : float
        In the metric's own unit.
    own : bool
        Whether the points are looked at among themselves.

    Attributes
    ----------
    distance : float
        A Euclidean distance at the scale of `distinct.values` that is not below that of any pair within the radius, and
        hardly above; which pairs are within is decided by what is reported.
    """

    def __init__(self, points: Points, distinct: Distinct, radius: float, *, own: bool) -> None:
        self.points = points
        self.distinct = distinct
        self.radius = radius
        self.own = own
        above = float(np.nextafter(points.to_euclidean(radius), np.inf))
        self.distance = above * distinct.scale * (1.0 + 2.0**-40)

    def check(self, values: Floats) -> None:
        """Refuse lists that there is no memory for, by how long those of a few rows are."""
        sizes = np.diff(self.distinct.starts)
        most = _SAMPLE_WORK / max(self.distinct.values.size, 1)
        n_tried = int(np.clip(most, _LEAST_ROWS, _MOST_ROWS))
        tried = np.unique(np.linspace(0, len(values) - 1, min(n_tried, len(values))).astype(np.intp))

        def length(row: int) -> float:
            dist = np.empty(self.distinct.n_points)
            measure_all(values, row, self.distinct.values, dist)
            return float(sizes[dist <= self.distance].sum() * (sizes[row] if self.own else 1))

        n_pairs = len(values) * float(np.mean(list(parallel.map_blocks(length, tried)))) if len(tried) else 0.0
        each = _LISTED + (0.5 if self.own else 1.0) * _FOUND
        check_memory(
            n_pairs * each, f"A list of about {n_pairs:.3g} neighbours within {self.radius:g}", "Take a smaller radius."
        )

    def lists(self, pieces: Iterable[Found], n_lists: int) -> Neighbors:
        """Return the neighbours, given all pairs within `distance`: of points each once, or of queries and points."""
        found = list(pieces)
        counts = np.zeros(n_lists, dtype=np.int64)
        for low, high, _ in found:
            tally(low, high, self.own, counts)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        dist, points = np.empty(indptr[-1]), np.empty(indptr[-1], dtype=np.int32)
        cursor = indptr[:-1].copy()
        while found:
            low, high, lengths = found.pop()
            spread(low, high, lengths, self.own, cursor, dist, points)
        indptr, dist, rows = self.distinct.unfold(indptr, dist, points, own=self.own)
        dist = reported(self.points, self.distinct, dist)
        within = dist <= self.radius
        if not within.all():
            kept = np.concatenate([[0], np.cumsum(within)])
            indptr, dist, rows = kept[indptr], dist[within], rows[within]
        in_order(dist, rows, indptr)
        return Neighbors(indptr, rows, dist, self.points.n_samples)


def in_order(dist: Floats, rows: NDArray[np.int32], indptr: NDArray[np.int64]) -> None:
    """Sort every list by (distance, row)."""

    def sort(span: tuple[int, int]) -> None:
        order(dist, rows, indptr, *span)

    for _ in parallel.map_blocks(sort, parallel.spans(len(indptr) - 1, _SORTED)):
        pass


def reported(points: Points, distinct: Distinct, dist: Floats) -> Floats:
    """Return the metric's own distances."""
    if distinct.scale != 1.0:
        dist = dist / distinct.scale
    return points.from_euclidean(dist)


def check_lists(n_rows: int, k: int) -> None:
    """Refuse lists of neighbours that there is no memory for."""
    check_memory(
        2.0 * _LISTED * n_rows * (k + 1),
        f"A list of {k:,} neighbours for {n_rows:,} rows",
        "Take fewer neighbours or fewer rows.",
    )
