"""Neighbour search: the searches, the indexes that they build, and the neighbours that an index returns.

A `NeighborSearch` contains parameters. Its `fit` builds a `NeighborIndex` of points, which answers queries with `Neighbors`. Exact
and approximate indexes have the same interface. `EuclideanIndex` is the base of those of rows of numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from tamiz.arrays import Floats, Indices, Masks
from tamiz.kernels.nearest_neighbors import (
    row_distances,
    sort_heaps,
)
from tamiz.kernels.primitives import TIE_WIDTH
from tamiz.neighbors.points import Points, hash_values
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_integer, check_memory
from tamiz.storage.invariants import Condition, InstanceOf, Invariants
from tamiz.storage.records import Serializable


@dataclass(frozen=True)
class Neighbors:
    """The neighbours of every row, in CSR form: nearest first, no row its own neighbour.

    Distances that are equal up to rounding are ties, ordered by the lower row; the Notes of `tamiz.graphs.KNearest` state when.

    Attributes
    ----------
    indptr : ndarray of shape (n_rows + 1,), int64
        The neighbours of row i are at `indptr[i] : indptr[i + 1]`.
    indices : ndarray of shape (n_pairs,), int32
        Row numbers of the neighbours.
    distances : ndarray of shape (n_pairs,)
        Distances in the unit of the metric, 0 for an equal row. Zeros are stored, unlike in a sparse matrix, so that an equal
        row differs from a row that is no neighbour.
    n_points : int
        Number of points that were searched.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    distances: Floats
    n_points: int

    @classmethod
    def from_arrays(cls, indices: NDArray[np.int32], distances: Floats, n_points: int) -> Neighbors:
        """Return the neighbours from arrays of shape (n_rows, k): k neighbours of each row."""
        n_rows, k = indices.shape
        indptr = np.arange(0, n_rows * k + 1, k, dtype=np.int64) if k else np.zeros(n_rows + 1, dtype=np.int64)
        return cls(indptr, indices.reshape(-1), distances.reshape(-1), n_points)

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of every entry of `indices`."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), np.diff(self.indptr))

    def select(self, mask: Masks) -> Neighbors:
        """Return the neighbours in a mask of the entries."""
        indptr = np.concatenate([[0], np.cumsum(mask)])[self.indptr]
        return Neighbors(indptr, self.indices[mask], self.distances[mask], self.n_points)

    def nearest(self, k: int) -> Neighbors:
        """Return the k nearest neighbours; every row must have at least k."""
        at = self.indptr[:-1, None] + np.arange(k)
        return Neighbors.from_arrays(self.indices[at], self.distances[at], self.n_points)

    def fill_rows(self, rows: Indices, others: Neighbors) -> Neighbors:
        """Return the neighbours with the empty lists of some rows replaced by the lists of `others`."""
        counts = np.diff(self.indptr)
        counts[rows] = np.diff(others.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        filled = np.zeros(self.n_rows, dtype=bool)
        filled[rows] = True
        from_others = filled.repeat(counts)
        indices, distances = np.empty(len(from_others), dtype=np.int32), np.empty(len(from_others))
        indices[from_others], distances[from_others] = others.indices, others.distances
        indices[~from_others], distances[~from_others] = self.indices, self.distances
        return Neighbors(indptr, indices, distances, self.n_points)


def drop_own_rows(rows: Indices, indices: NDArray[np.int32], distances: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Return lists of the neighbours of some rows without the row itself, or without the last if many equal rows precede it."""
    others = indices != rows[:, None]
    others[others.all(axis=1), -1] = False
    shape = len(rows), indices.shape[1] - 1
    return indices[others].reshape(shape), distances[others].reshape(shape)


class NeighborIndex(Serializable, ABC):
    """Abstract base class of indexes of points that answer neighbour queries.

    Attributes
    ----------
    points : Points
    recall : float
        Share of the true neighbours that `query` finds: 1 for an exact index, else estimated on a sample of exact queries.
    description : str
        Description of the search for reports.
    """

    points: Points
    recall: float = 1.0
    description: str
    invariants: ClassVar[Invariants] = {"points": InstanceOf(Points)}

    @abstractmethod
    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return the k nearest points of every query, or with queries=None of every point among the others.

        Each row has exactly k neighbours, 1 <= k <= the number of candidates; ties are ordered by the lower row.
        """

    @abstractmethod
    def query_radius(self, radius: float, queries: Points | None = None) -> Neighbors:
        """Return all points at a distance of at most `radius`, up to rounding; always exact."""

    def get_state(self) -> dict[str, Any]:
        """Return the points alone: rebuilding the index is faster than reading it from a file."""
        return {"points": self.points}


class NeighborSearch(BaseEstimator, ABC):
    """Abstract base class of neighbour searches."""

    def unsupported_reason(self, points: Points) -> str | None:  # noqa: ARG002
        """Return why the search does not support these points and which search does, or None if it supports them."""
        return None

    @abstractmethod
    def fit(self, points: Points) -> NeighborIndex:
        """Build an index of the points."""


Floats32 = NDArray[np.float32]


# Rounds of subspace iteration; the directions need not be exact.
_N_ITERATIONS = 3


def evenly_spaced_rows(n: int, size: int) -> Indices:
    """Return at most `size` of n row numbers, evenly spaced, at the midpoints of equal intervals."""
    size = min(n, size)
    return ((np.arange(size) + 0.5) * (n / max(size, 1))).astype(np.intp)


def leading_directions(rows: Floats32, n_directions: int) -> Floats32:
    """Return approximate leading right singular vectors of the rows, one per column, the largest first.

    Subspace iteration from fixed random directions (Halko, Martinsson and Tropp 2011).
    """
    guess = np.random.default_rng(0).standard_normal((rows.shape[1], n_directions), dtype=np.float32)
    for _ in range(_N_ITERATIONS):
        guess = np.linalg.qr(rows.T @ (rows @ guess))[0]
    along = rows @ guess
    _, rotation = np.linalg.eigh(along.T @ along)
    return np.asarray(guess @ rotation[:, ::-1])


# Values per block of work.
_DISTINCT_CHUNK = 2**18
# Exponents of the largest value between which squares of differences neither overflow nor, where it matters, underflow.
_MIN_EXPONENT, _MAX_EXPONENT = -300, 450
# Share of duplicate rows from which on the distinct rows are copied; fewer duplicates are only ties at distance 0.
_MIN_DUPLICATE_SHARE = 0.1


class DistinctRows:
    """The distinct rows of a matrix, called points, and the rows that are equal to each.

    With fewer than 10 % duplicates `values` is the whole matrix, in which a row may occur more than once. Values are multiplied
    by `scale`, a power of two, which changes no digit; distances are divided by it. `point_of_row` is the point that is equal
    to each row. The rows of point i, ascending, are `members[starts[i] : starts[i + 1]]`.
    """

    def __init__(self, values: Floats) -> None:
        self.n_rows = len(values)
        largest, hashes = _scan_rows(values)
        exponent = int(np.frexp(largest)[1])
        self.scale = 1.0
        if largest > 0.0 and not _MIN_EXPONENT <= exponent <= _MAX_EXPONENT:
            self.scale = float(np.ldexp(1.0, int(np.clip(-exponent, -1000, 1000))))
        self.max_abs = largest * self.scale
        first = self._group_rows(values, hashes)
        self.n_points = len(first)
        self.values = values if self.n_points == self.n_rows else values[first]
        if self.scale != 1.0:
            self.values = self.values * self.scale

    def _group_rows(self, values: Floats, hashes: NDArray[np.uint64]) -> NDArray[np.integer]:
        """Fill point_of_row, members and starts; return the first row of every group, or all rows if few are duplicates."""
        order = np.argsort(hashes, kind="stable")
        repeated = np.zeros(self.n_rows, dtype=bool)
        at = 1 + np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
        for span in parallel.block_ranges(len(at), 1 + _DISTINCT_CHUNK // max(values.shape[1], 1)):
            part = at[slice(*span)]
            repeated[part] = (values[order[part]] == values[order[part - 1]]).all(axis=1)
        if repeated.sum() < _MIN_DUPLICATE_SHARE * self.n_rows:
            self.point_of_row = self.members = np.arange(self.n_rows, dtype=np.int32)
            self.starts = np.arange(self.n_rows + 1)
            return self.point_of_row
        group_starts = np.flatnonzero(~repeated)
        # Points are numbered in the order of their first rows.
        rank = np.empty(len(group_starts), dtype=np.int32)
        rank[np.argsort(order[group_starts])] = np.arange(len(group_starts), dtype=np.int32)
        self.point_of_row = np.empty(self.n_rows, dtype=np.int32)
        self.point_of_row[order] = rank[np.cumsum(~repeated) - 1]
        self.members = np.argsort(self.point_of_row, kind="stable").astype(np.int32)
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(self.point_of_row))])
        return np.sort(order[group_starts])

    def scale_queries(self, queries: Points) -> Floats:
        values = queries.euclidean_values()
        assert values is not None
        # A row extremely far away is at an infinite distance; callers check the result.
        with np.errstate(over="ignore"):
            return values if self.scale == 1.0 else values * self.scale


def _scan_rows(values: Floats) -> tuple[float, NDArray[np.uint64]]:
    """Return the largest absolute value, and a hash of every row."""
    hashes = np.empty(len(values), dtype=np.uint64)

    def scan(span: tuple[int, int]) -> float:
        part = values[slice(*span)]
        hashes[slice(*span)] = hash_values(part)
        return max(float(part.max(initial=0.0)), -float(part.min(initial=0.0)))

    spans = parallel.block_ranges(len(values), 1 + _DISTINCT_CHUNK // max(values.shape[1], 1))
    return max(parallel.map_blocks(scan, spans), default=0.0), hashes


# Pairs as (row, point, distance).
PairArrays = tuple[NDArray[np.int32], NDArray[np.int32], Floats]

# Peak bytes per listed neighbour while a graph is built from the lists: its row and distance (12 bytes), the two transposes that
# sort the edges, the merged edges and their weights. About 60 for symmetry="or" and 50 for a radius graph; the search needs 24.
BYTES_PER_PAIR = 60
# Limits of the sample on which the number of pairs is estimated: values read, and rows.
_MAX_SAMPLE_VALUES, _MIN_SAMPLE_ROWS, _MAX_SAMPLE_ROWS = 2e8, 16, 256
# Lists that are sorted at a time.
_SORT_BATCH = 512


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
    """Abstract base class of indexes of points with Euclidean coordinates, whose distinct rows are `distinct`."""

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
            dist, rows = self.nearest_to_points(k + 1)
            group = self.distinct.point_of_row
            rows, dist = drop_own_rows(
                np.arange(n_rows), rows.reshape(-1, k + 1)[group], dist.reshape(-1, k + 1)[group]
            )
        else:
            dist, rows = self.nearest_to_rows(self.distinct.scale_queries(queries), k)
            dist, rows = dist.reshape(n_rows, k), rows.reshape(n_rows, k)
        return Neighbors.from_arrays(rows, metric_distances(self.points, self.distinct, dist), self.points.n_samples)

    def query_radius(self, radius: float, queries: Points | None = None) -> Neighbors:
        distinct, n_rows = self.distinct, (self.points if queries is None else queries).n_samples
        values = distinct.values if queries is None else distinct.scale_queries(queries)
        # Above the radius, so that no pair is lost to rounding: the distances in the unit of the metric decide.
        max_distance = float(np.nextafter(self.points.to_euclidean(radius), np.inf))
        max_distance *= distinct.scale * (1.0 + 2.0 * TIE_WIDTH)
        self._check_result_size(values, max_distance, radius, among_points=queries is None)
        parts = list(self.pairs_within(values, max_distance))
        found = sparse.csr_array(_join_pairs(parts), shape=(len(values), distinct.n_points))
        if distinct.n_points < distinct.n_rows:
            found = found[:, distinct.point_of_row]
            found = found[distinct.point_of_row] if queries is None else found
        kept = metric_distances(self.points, distinct, found.data) <= radius * (1.0 + TIE_WIDTH)
        if queries is None:
            kept &= found.indices != np.repeat(np.arange(n_rows), np.diff(found.indptr))
        indptr = np.concatenate([[0], np.cumsum(kept)])[found.indptr]
        dist, rows = found.data[kept], found.indices[kept].astype(np.int32)
        # Sorted at the scale of the points: distances in the unit of the metric may be too small to keep their digits.
        sort_lists(dist, rows, indptr)
        return Neighbors(indptr, rows, metric_distances(self.points, distinct, dist), self.points.n_samples)

    def _check_result_size(self, values: Floats, max_distance: float, radius: float, *, among_points: bool) -> None:
        """Raise MemoryError if the lists would not fit into memory, estimated on a sample of rows."""
        sizes = np.diff(self.distinct.starts)
        max_rows = _MAX_SAMPLE_VALUES / max(self.distinct.values.size, 1)
        sampled = evenly_spaced_rows(len(values), int(np.clip(max_rows, _MIN_SAMPLE_ROWS, _MAX_SAMPLE_ROWS)))

        def length(row: int) -> float:
            dist = np.empty(self.distinct.n_points)
            row_distances(values, row, self.distinct.values, dist)
            return float(sizes[dist <= max_distance].sum() * (sizes[row] if among_points else 1))

        n_pairs = len(values) * float(np.mean(list(parallel.map_blocks(length, sampled)))) if len(sampled) else 0.0
        check_pair_memory(n_pairs, radius)

    @abstractmethod
    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return distances and rows of the `size` nearest rows of every point, as flat arrays; rows equal to it are included."""

    @abstractmethod
    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return distances and rows of the `size` nearest rows of other rows, given at the scale of the points, as flat arrays."""

    @abstractmethod
    def pairs_within(self, values: Floats, max_distance: float) -> Iterator[PairArrays]:
        """Yield the pairs of rows and points that are at most `max_distance` apart, at the scale of the points."""


def _join_pairs(parts: list[PairArrays]) -> tuple[Floats, tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Return the distances of all pairs, with their rows and points, and empty the list."""
    if not parts:
        return np.empty(0), (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))
    rows, points, dist = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    parts.clear()
    return dist, (rows, points)


def unsupported_points_message(search: NeighborSearch, points: Points) -> str:
    """Return the error message for a search that requires coordinates and points that only define distances."""
    return (
        f"{type(search).__name__} requires dense rows of numbers at Euclidean or cosine distances, "
        f"got {type(points).__name__}. Use BruteForce()."
    )
