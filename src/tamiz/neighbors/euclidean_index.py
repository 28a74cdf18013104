"""What all searches among rows of numbers have in common: from the numbers that they compare to the rows that are asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.nearest_neighbors import count_neighbors, fill_neighbor_lists, row_distances, sort_heaps
from tamiz.neighbors.base import NeighborIndex, Neighbors, NeighborSearch
from tamiz.neighbors.points import Points
from tamiz.neighbors.search_rows import DistinctRows, evenly_spaced_rows
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_integer, check_memory
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Condition, InstanceOf, Invariants

# MERGED: All pairs within a radius: from the pairs found to the lists of every row.
# Pairs of points, each once or as query and point: (row, row, distance).
PairArrays = tuple[NDArray[np.int32], NDArray[np.int32], Floats]

# What a neighbour in a list comes to at the peak of the graph that is made of the lists: its row and distance (12 bytes),
# the two transposes that sort the edges, the edges merged, and their weights. About 60 where either row names the other,
# 50 within a radius; the searches themselves need 24.
BYTES_PER_PAIR = 60
# Numbers that may be measured to estimate how many pairs there are, and rows that are.
_MAX_SAMPLE_VALUES, _MIN_SAMPLE_ROWS, _MAX_SAMPLE_ROWS = 2e8, 16, 256
# Rows that are sorted at a time.
_SORT_BATCH = 512


class RadiusQuery:
    """What lies within a radius of points or of queries.

    Parameters
    ----------
    points : Points
    distinct : DistinctRows
    radius : float
        In the metric's own unit.
    among_points : bool
        Whether the points are looked at among themselves.

    Attributes
    ----------
    max_distance : float
        A Euclidean distance at the scale of `distinct.values` that is not below that of any pair within the radius, and
        hardly above; which pairs are within is decided by what is reported.
    """

    def __init__(self, points: Points, distinct: DistinctRows, radius: float, *, among_points: bool) -> None:
        self.points = points
        self.distinct = distinct
        self.radius = radius
        self.among_points = among_points
        above = float(np.nextafter(points.to_euclidean(radius), np.inf))
        self.max_distance = above * distinct.scale * (1.0 + 2.0**-40)

    def check_result_size(self, values: Floats) -> None:
        """Refuse lists that there is no memory for, by how long those of a few rows are."""
        sizes = np.diff(self.distinct.starts)
        most = _MAX_SAMPLE_VALUES / max(self.distinct.values.size, 1)
        n_tried = int(np.clip(most, _MIN_SAMPLE_ROWS, _MAX_SAMPLE_ROWS))
        tried = evenly_spaced_rows(len(values), n_tried)

        def length(row: int) -> float:
            dist = np.empty(self.distinct.n_points)
            row_distances(values, row, self.distinct.values, dist)
            return float(sizes[dist <= self.max_distance].sum() * (sizes[row] if self.among_points else 1))

        n_pairs = len(values) * float(np.mean(list(parallel.map_blocks(length, tried)))) if len(tried) else 0.0
        check_pair_memory(n_pairs, self.radius)

    def build_neighbors(self, pieces: Iterable[PairArrays], n_lists: int) -> Neighbors:
        """Return the neighbours, given all pairs within `max_distance`: of points each once, or of queries and points."""
        found = list(pieces)
        counts = np.zeros(n_lists, dtype=np.int64)
        for low, high, _ in found:
            count_neighbors(low, high, self.among_points, counts)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        dist, points = np.empty(indptr[-1]), np.empty(indptr[-1], dtype=np.int32)
        cursor = indptr[:-1].copy()
        while found:
            low, high, lengths = found.pop()
            fill_neighbor_lists(low, high, lengths, self.among_points, cursor, dist, points)
        indptr, dist, rows = self.distinct.expand_pairs(indptr, dist, points, among_points=self.among_points)
        dist = metric_distances(self.points, self.distinct, dist)
        within = dist <= self.radius
        if not within.all():
            kept = np.concatenate([[0], np.cumsum(within)])
            indptr, dist, rows = kept[indptr], dist[within], rows[within]
        sort_lists(dist, rows, indptr)
        return Neighbors(indptr, rows, dist, self.points.n_samples)


def sort_lists(dist: Floats, rows: NDArray[np.int32], indptr: NDArray[np.int64]) -> None:
    """Sort every list by (distance, row)."""

    def sort(span: tuple[int, int]) -> None:
        sort_heaps(dist, rows, indptr, *span)

    for _ in parallel.map_blocks(sort, parallel.block_ranges(len(indptr) - 1, _SORT_BATCH)):
        pass


def metric_distances(points: Points, distinct: DistinctRows, dist: Floats) -> Floats:
    """Return the metric's own distances."""
    if distinct.scale != 1.0:
        dist = dist / distinct.scale
    return points.from_euclidean(dist)


def check_list_memory(n_rows: int, k: int) -> None:
    """Refuse lists of k neighbours that there is no memory for, nor for the graph made of them."""
    check_memory(
        BYTES_PER_PAIR * n_rows * float(k),
        f"A list of {k:,} neighbours for {n_rows:,} rows",
        "Take fewer neighbours or fewer rows.",
    )


def check_pair_memory(n_pairs: float, radius: float) -> None:
    """Refuse lists of all neighbours within a radius that there is no memory for, nor for the graph made of them."""
    check_memory(
        BYTES_PER_PAIR * n_pairs,
        f"A list of about {n_pairs:.3g} neighbours within {radius:g}",
        "Take a smaller radius.",
    )


class EuclideanIndex(NeighborIndex):
    """Points in a Euclidean space.

    Attributes
    ----------
    points : Points
    distinct : DistinctRows
        What the points are in numbers, each once.
    """

    invariants: ClassVar[Invariants] = {
        "points": (
            InstanceOf(Points),
            Condition(lambda it: it.points.euclidean_values() is not None, "is not of rows of numbers"),
        ),
    }

    def __init__(self, points: Points, distinct: DistinctRows) -> None:
        self.points = points
        self.distinct = distinct

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the points made ready again."""
        with parallel.thread_session():
            return cls(state["points"], DistinctRows(state["points"].euclidean_values()))

    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return the k nearest points of every query, or of every point among the others."""
        n_rows = self.points.n_samples if queries is None else queries.n_samples
        check_integer("n_neighbors", k, low=1, high=self.points.n_samples - (queries is None))
        check_list_memory(n_rows, k)
        if queries is None:
            dist, rows = self.distinct.expand_lists(*self.nearest_to_points(k + 1), k + 1)
        else:
            dist, rows = self.nearest_to_rows(self.distinct.scale_queries(queries), k)
        dist = metric_distances(self.points, self.distinct, dist)
        return Neighbors.from_arrays(rows.reshape(n_rows, k), dist.reshape(n_rows, k), self.points.n_samples)

    def query_radius(self, radius: float, queries: Points | None = None) -> Neighbors:
        """Return all points at a distance of at most `radius`."""
        own = queries is None
        reach = RadiusQuery(self.points, self.distinct, radius, among_points=own)
        values = self.distinct.values if queries is None else self.distinct.scale_queries(queries)
        reach.check_result_size(values)
        return reach.build_neighbors(self.pairs_within(values, reach.max_distance, among_points=own), len(values))

    @abstractmethod
    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return distances and rows of the `size` nearest rows of every point, those it stands for among them, list after list."""

    @abstractmethod
    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return distances and rows of the `size` nearest rows of rows of numbers at the scale of the points, list after list."""

    @abstractmethod
    def pairs_within(self, values: Floats, max_distance: float, *, among_points: bool) -> Iterator[PairArrays]:
        """Yield the pairs of rows of numbers and points that are at most `max_distance` apart, at the scale of the points.

        Where the rows are the points themselves (`among_points`), each pair once and no point with itself.
        """


def unsupported_points_message(search: NeighborSearch, points: Points) -> str:
    """Return why a search that compares numbers cannot work on points that only tell their distances."""
    return (
        f"{type(search).__name__} requires dense rows of numbers at Euclidean or cosine distances, "
        f"got {type(points).__name__}. Use BruteForce()."
    )
