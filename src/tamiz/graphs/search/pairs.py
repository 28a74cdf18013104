"""All pairs within a radius: from the pairs found to the lists of every row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.graphs.points import Points
from tamiz.graphs.search.directions import spread_out
from tamiz.graphs.search.distinct import Distinct
from tamiz.graphs.search.neighbors import Neighbors
from tamiz.kernels.nearest import measure_all, order, spread, tally
from tamiz.statistics.base import Floats
from tamiz.validation import check_memory

# Pairs of points, each once or as query and point: (row, row, distance).
Found = tuple[NDArray[np.int32], NDArray[np.int32], Floats]

# What a neighbour in a list comes to at the peak of the graph that is made of the lists: its row and distance (12 bytes),
# the two transposes that sort the edges, the edges merged, and their weights. About 60 where either row names the other,
# 50 within a radius; the searches themselves need 24.
BYTES_A_PAIR = 60
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
        tried = spread_out(len(values), n_tried)

        def length(row: int) -> float:
            dist = np.empty(self.distinct.n_points)
            measure_all(values, row, self.distinct.values, dist)
            return float(sizes[dist <= self.distance].sum() * (sizes[row] if self.own else 1))

        n_pairs = len(values) * float(np.mean(list(parallel.map_blocks(length, tried)))) if len(tried) else 0.0
        check_pairs(n_pairs, self.radius)

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
    """Refuse lists of k neighbours that there is no memory for, nor for the graph made of them."""
    check_memory(
        BYTES_A_PAIR * n_rows * float(k),
        f"A list of {k:,} neighbours for {n_rows:,} rows",
        "Take fewer neighbours or fewer rows.",
    )


def check_pairs(n_pairs: float, radius: float) -> None:
    """Refuse lists of all neighbours within a radius that there is no memory for, nor for the graph made of them."""
    check_memory(
        BYTES_A_PAIR * n_pairs,
        f"A list of about {n_pairs:.3g} neighbours within {radius:g}",
        "Take a smaller radius.",
    )
