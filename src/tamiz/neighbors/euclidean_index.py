"""The base class of indexes of Euclidean coordinates: from the distinct scaled points that they compare to lists of rows.

It also converts all pairs within a radius to lists (`RadiusQuery`) and checks that lists fit into memory.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.kernels.nearest_neighbors import count_neighbors, fill_neighbor_lists, row_distances, sort_heaps
from tamiz.kernels.primitives import TIE_WIDTH
from tamiz.neighbors.base import NeighborIndex, Neighbors, NeighborSearch
from tamiz.neighbors.points import Points
from tamiz.neighbors.search_rows import DistinctRows, evenly_spaced_rows
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_integer, check_memory
from tamiz.storage.invariants import Condition, InstanceOf, Invariants

# Pairs as (low row or query, high row or point, distance).
PairArrays = tuple[NDArray[np.int32], NDArray[np.int32], Floats]

# Peak bytes per listed neighbour while a graph is built from the lists: its row and distance (12 bytes), the two transposes that
# sort the edges, the merged edges and their weights. About 60 for symmetry="or" and 50 for a radius graph; the search needs 24.
BYTES_PER_PAIR = 60
# Limits of the sample on which the number of pairs is estimated: values read, and rows.
_MAX_SAMPLE_VALUES, _MIN_SAMPLE_ROWS, _MAX_SAMPLE_ROWS = 2e8, 16, 256
# Lists that are sorted at a time.
_SORT_BATCH = 512


class RadiusQuery:
    """A query of all neighbours within a radius, of the points themselves or of other rows.

    Parameters
    ----------
    points : Points
    distinct : DistinctRows
    radius : float
        Radius in the unit of the metric.
    among_points : bool
        Whether the queries are the points themselves.

    Attributes
    ----------
    max_distance : float
        Euclidean distance at the scale of `distinct.values`, above the radius, so that no pair is lost to rounding. The final
        distances, in the unit of the metric, decide which pairs are within the radius.
    """

    def __init__(self, points: Points, distinct: DistinctRows, radius: float, *, among_points: bool) -> None:
        self.points = points
        self.distinct = distinct
        self.radius = radius
        self.among_points = among_points
        above = float(np.nextafter(points.to_euclidean(radius), np.inf))
        self.max_distance = above * distinct.scale * (1.0 + 2.0 * TIE_WIDTH)

    def check_result_size(self, values: Floats) -> None:
        """Raise MemoryError if the lists would not fit into memory, estimated on a sample of rows."""
        sizes = np.diff(self.distinct.starts)
        max_rows = _MAX_SAMPLE_VALUES / max(self.distinct.values.size, 1)
        n_sampled = int(np.clip(max_rows, _MIN_SAMPLE_ROWS, _MAX_SAMPLE_ROWS))
        sampled = evenly_spaced_rows(len(values), n_sampled)

        def length(row: int) -> float:
            dist = np.empty(self.distinct.n_points)
            row_distances(values, row, self.distinct.values, dist)
            return float(sizes[dist <= self.max_distance].sum() * (sizes[row] if self.among_points else 1))

        n_pairs = len(values) * float(np.mean(list(parallel.map_blocks(length, sampled)))) if len(sampled) else 0.0
        check_pair_memory(n_pairs, self.radius)

    def build_neighbors(self, parts: Iterable[PairArrays], n_lists: int) -> Neighbors:
        """Return the neighbours from all pairs within `max_distance`: each pair of points once, or queries with points."""
        found = list(parts)
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
        within = metric_distances(self.points, self.distinct, dist) <= self.radius * (1.0 + TIE_WIDTH)
        if not within.all():
            kept = np.concatenate([[0], np.cumsum(within)])
            indptr, dist, rows = kept[indptr], dist[within], rows[within]
        # Sorted at the scale of the points: distances in the unit of the metric may be too small to keep their digits.
        sort_lists(dist, rows, indptr)
        return Neighbors(indptr, rows, metric_distances(self.points, self.distinct, dist), self.points.n_samples)


def sort_lists(dist: Floats, rows: NDArray[np.int32], indptr: NDArray[np.int64]) -> None:
    """Sort every list, the nearest first."""

    def sort(span: tuple[int, int]) -> None:
        sort_heaps(dist, rows, indptr, *span)

    parallel.run_blocks(sort, parallel.block_ranges(len(indptr) - 1, _SORT_BATCH))


def metric_distances(points: Points, distinct: DistinctRows, dist: Floats) -> Floats:
    if distinct.scale != 1.0:
        dist = dist / distinct.scale
    return points.from_euclidean(dist)


def check_list_memory(n_rows: int, k: int) -> None:
    """Raise MemoryError if lists of k neighbours, and the graph built from them, would not fit into memory."""
    check_memory(
        BYTES_PER_PAIR * n_rows * float(k),
        f"A list of {k:,} neighbours for {n_rows:,} rows",
        "Use fewer neighbours or fewer rows.",
    )


def check_pair_memory(n_pairs: float, radius: float) -> None:
    """Raise MemoryError if the lists of all pairs within a radius, and the graph built from them, would not fit into memory."""
    check_memory(
        BYTES_PER_PAIR * n_pairs,
        f"A list of about {n_pairs:.3g} neighbours within {radius:g}",
        "Use a smaller radius.",
    )


class EuclideanIndex(NeighborIndex):
    """Abstract base class of indexes of points with Euclidean coordinates.

    Attributes
    ----------
    points : Points
    distinct : DistinctRows
        Distinct coordinates of the points, scaled.
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
        among_points = queries is None
        query = RadiusQuery(self.points, self.distinct, radius, among_points=among_points)
        values = self.distinct.values if queries is None else self.distinct.scale_queries(queries)
        query.check_result_size(values)
        pairs = self.pairs_within(values, query.max_distance, among_points=among_points)
        return query.build_neighbors(pairs, len(values))

    @abstractmethod
    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return distances and rows of the `size` nearest rows of every point, as flat arrays; rows equal to it are included."""

    @abstractmethod
    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return distances and rows of the `size` nearest rows of other rows, given at the scale of the points, as flat arrays."""

    @abstractmethod
    def pairs_within(self, values: Floats, max_distance: float, *, among_points: bool) -> Iterator[PairArrays]:
        """Yield the pairs of rows and points that are at most `max_distance` apart, at the scale of the points.

        If the rows are the points themselves (`among_points`), each pair is yielded once, and no point with itself.
        """


def unsupported_points_message(search: NeighborSearch, points: Points) -> str:
    """Return the error message for a search that requires coordinates and points that only define distances."""
    return (
        f"{type(search).__name__} requires dense rows of numbers at Euclidean or cosine distances, "
        f"got {type(points).__name__}. Use BruteForce()."
    )
