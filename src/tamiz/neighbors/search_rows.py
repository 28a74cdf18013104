"""Rows of numbers in the forms that searches compare.

`DistinctRows` contains every row once, scaled so that squares neither overflow nor underflow; all searches use it. `ReducedRows`
contains float32 rows for the approximate search, along a few directions if that loses hardly any neighbour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.kernels.matrix_products import project_rows
from tamiz.kernels.nearest_neighbors import (
    copy_group_lists,
    expand_lists,
    expanded_sizes,
    hash_rows,
    mark_duplicates,
    row_distances,
)
from tamiz.neighbors.points import Points
from tamiz.runtime import parallel

Floats32 = NDArray[np.float32]

# Up to this number of columns all are used; with more, the smallest sufficient one of these numbers of directions.
_MAX_PLAIN_COLUMNS = 128
_DIRECTION_COUNTS = (64, 96, 128)
# Sample sizes: rows for the directions, rows for the centre, rows whose neighbours are compared with those along the directions.
_DIRECTION_ROWS, _CENTRE_ROWS, _TRIAL_ROWS = 4096, 1024, 64
# Limits of the sample for the relative rounding: rows and values; and the rounding above which lists are made longer.
_MIN_ROUNDING_ROWS, _MAX_ROUNDING_ROWS, _MAX_ROUNDING_VALUES, _HIGH_ROUNDING = 4, 16, 2**28, 2.0**-10
# Scaled values are clipped to this magnitude.
_MAX_ABS_VALUE = 2.0**50
# Values per block of work.
_REDUCED_CHUNK = 2**19


@dataclass(frozen=True)
class ReducedRows:
    """Centred and scaled rows in float32, along a few directions or in all columns.

    Their distances are those of the original rows times `scale`, or shorter if there are directions.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_directions), float32
    n_listed : int
        Length that lists need to contain the k nearest original rows.
    relative_rounding : float
        Rounding to float32 in units of the distance of the k-th neighbour; large if groups of rows are far apart.
    centre : ndarray of shape (n_columns,)
    scale : float
        A power of two.
    directions : ndarray of shape (n_directions, n_columns) or None
        Orthonormal; None where all columns are kept.
    """

    rows: Floats32
    n_listed: int
    relative_rounding: float
    centre: Floats
    scale: float
    directions: Floats | None = None

    @classmethod
    def from_values(cls, values: Floats, k: int, min_recall: float) -> Self:
        """Return the reduced rows of a matrix.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_columns)
        k : int
            Number of neighbours of each row.
        min_recall : float
            Directions are used only if lists along them contain this share of the neighbours, on a sample of rows.
        """
        sample = values[evenly_spaced_rows(len(values), _DIRECTION_ROWS)]
        centre, scale = _centre_and_scale(sample)
        rounding = _relative_rounding(values, centre, k)
        n_listed = 2 * k + 2
        if values.shape[1] > _MAX_PLAIN_COLUMNS and len(values) > 8 * n_listed and rounding < _HIGH_ROUNDING:
            directions = leading_directions(
                _scale_rows(sample, centre, scale).astype(np.float32), _DIRECTION_COUNTS[-1]
            ).T.astype(np.float64)
            along, squared_distances = _project_rows(values, centre, scale, directions)
            for n_directions in _DIRECTION_COUNTS:
                part = along[:, :n_directions]
                if _projected_recall(part, squared_distances, k, n_listed) >= min_recall:
                    kept = np.ascontiguousarray(directions[:n_directions])
                    return cls(np.ascontiguousarray(part), n_listed, rounding, centre, scale, kept)
        rows = np.empty(values.shape, dtype=np.float32)

        def fill(span: tuple[int, int]) -> None:
            rows[slice(*span)] = _scale_rows(values[slice(*span)], centre, scale)

        _map_chunks(values, fill)
        return cls(rows, n_listed if rounding > _HIGH_ROUNDING else k + 1, rounding, centre, scale)

    def transform(self, values: Floats) -> Floats32:
        """Return the reduced form of new rows, each independent of the others."""
        scaled = _scale_rows(values, self.centre, self.scale)
        if self.directions is None:
            return scaled.astype(np.float32)
        along = np.empty((len(values), len(self.directions)))
        project_rows(scaled, self.directions, along)
        return along.astype(np.float32)


def _centre_and_scale(sample: Floats) -> tuple[Floats, float]:
    """Return the median of sampled rows, and the power of two that scales the median deviation to about 1; both are robust."""
    centre = np.median(sample[evenly_spaced_rows(len(sample), _CENTRE_ROWS)], axis=0)
    deviations = np.abs(sample - centre)
    deviations = deviations[deviations > 0.0]
    return centre, float(np.ldexp(1.0, -int(np.frexp(np.median(deviations))[1]))) if deviations.size else 1.0


def _scale_rows(values: Floats, centre: Floats, scale: float) -> Floats:
    """Return centred and scaled rows, clipped to values whose squares are within the range of float32."""
    scaled = values - centre
    scaled *= scale
    return np.clip(scaled, -_MAX_ABS_VALUE, _MAX_ABS_VALUE, out=scaled)


def _relative_rounding(values: Floats, centre: Floats, k: int) -> float:
    """Return the rounding of a row to float32 relative to the distance of its k-th neighbour: the 0.9 quantile of a sample."""
    n_sampled = int(np.clip(_MAX_ROUNDING_VALUES // values.size, _MIN_ROUNDING_ROWS, _MAX_ROUNDING_ROWS))
    sampled = evenly_spaced_rows(len(values), n_sampled)

    def relative_rounding(row: int) -> float:
        distances = np.empty(len(values))
        row_distances(values, row, values, distances)
        last = min(k, len(values) - 1)
        distance = float(np.partition(distances, last)[last])
        return float(np.linalg.norm(values[row] - centre)) * 2.0**-24 / distance if distance > 0.0 else 0.0

    return float(np.quantile(list(parallel.map_blocks(relative_rounding, sampled)), 0.9))


def _map_chunks(values: Floats, fill: Callable[[tuple[int, int]], None]) -> None:
    parallel.run_blocks(fill, parallel.block_ranges(len(values), 1 + _REDUCED_CHUNK // max(values.shape[1], 1)))


def _project_rows(values: Floats, centre: Floats, scale: float, directions: Floats) -> tuple[Floats32, Floats32]:
    """Return the projections of all rows, and the squared distances from the rows of a sample to all rows."""
    along = np.empty((len(values), len(directions)), dtype=np.float32)
    sample = _scale_rows(values[evenly_spaced_rows(len(values), _TRIAL_ROWS)], centre, scale).astype(np.float32)
    squared_distances = np.empty((len(sample), len(values)), dtype=np.float32)
    transposed = np.ascontiguousarray(directions.T, dtype=np.float32)
    lengths = np.einsum("ij,ij->i", sample, sample)[:, None]

    def fill(span: tuple[int, int]) -> None:
        part = _scale_rows(values[slice(*span)], centre, scale).astype(np.float32)
        np.matmul(part, transposed, out=along[slice(*span)])
        squared_distances[:, slice(*span)] = lengths + np.einsum("ij,ij->i", part, part) - 2 * (sample @ part.T)

    _map_chunks(values, fill)
    return along, squared_distances


def _projected_recall(projected: Floats32, squared_distances: Floats32, k: int, n_listed: int) -> float:
    """Return the share of the k nearest rows of the sample that are among the `n_listed` nearest along the directions.

    Both lists contain the row itself, which is subtracted from the count.
    """
    sample = projected[evenly_spaced_rows(len(projected), len(squared_distances))]
    squares = np.einsum("ij,ij->i", projected, projected)

    def count(span: tuple[int, int]) -> int:
        nearest = np.argpartition(squared_distances[slice(*span)], k, axis=1)[:, : k + 1]
        near = squares - 2 * (sample[slice(*span)] @ projected.T)
        last = np.partition(near, n_listed, axis=1)[:, n_listed, None]
        return int((np.take_along_axis(near, nearest, axis=1) <= last).sum()) - len(nearest)

    return sum(parallel.map_blocks(count, parallel.block_ranges(len(sample), 8))) / (len(sample) * k)


# Rounds of subspace iteration; the directions need not be exact.
_N_ITERATIONS = 3


def evenly_spaced_rows(n: int, size: int) -> Indices:
    """Return at most `size` of n row numbers, evenly spaced, at the midpoints of equal intervals."""
    size = min(n, size)
    return ((np.arange(size) + 0.5) * (n / max(size, 1))).astype(np.intp)


def leading_directions(rows: Floats32, n_directions: int) -> Floats32:
    """Return approximate leading right singular vectors of the rows, one per column, the largest first.

    Subspace iteration from fixed random directions.

    References
    ----------
    Halko, Martinsson and Tropp (2011), Finding structure with randomness, SIAM Review 53(2).
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

    Attributes
    ----------
    values : ndarray of shape (n_points, n_columns)
        The distinct rows; with fewer than 10 % duplicates the whole matrix, in which a row may occur more than once.
    scale : float
        Power of two by which the values were multiplied, which changes no digit. Distances are divided by it.
    n_rows, n_points : int
    point_of_row : ndarray of shape (n_rows,), int32
        The point that is equal to each row.
    members, starts : ndarray of int32 and of int64
        The rows of point i, ascending, are `members[starts[i] : starts[i + 1]]`.
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
        repeated = np.empty(self.n_rows, dtype=bool)
        mark_duplicates(values, order, hashes, repeated)
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

    def expand_lists(self, dist: Floats, rows: NDArray[np.int32], size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return lists of size - 1 other rows for every row, from lists of the `size` nearest rows of every point."""
        out_dist, out_rows = np.empty(self.n_rows * (size - 1)), np.empty(self.n_rows * (size - 1), dtype=np.int32)

        def copy(span: tuple[int, int]) -> None:
            copy_group_lists(self.point_of_row, dist, rows, size, *span, out_dist, out_rows)

        parallel.run_blocks(copy, parallel.block_ranges(self.n_rows, 1 + _DISTINCT_CHUNK // size))
        return out_dist, out_rows

    def expand_pairs(
        self, indptr: NDArray[np.int64], dist: Floats, points: NDArray[np.int32], *, among_points: bool
    ) -> tuple[NDArray[np.int64], Floats, NDArray[np.int32]]:
        """Return lists of rows from lists of points; with `among_points`, from one list per point to one list per row."""
        if self.n_points == self.n_rows:
            return indptr, dist, points
        sizes = np.empty(len(indptr) - 1, dtype=np.int64)
        expanded_sizes(indptr, points, self.starts, among_points, sizes)
        group = self.point_of_row if among_points else np.arange(len(sizes), dtype=np.int32)
        out_indptr = np.concatenate([[0], np.cumsum(sizes[group])])
        out_dist, out_rows = np.empty(out_indptr[-1]), np.empty(out_indptr[-1], dtype=np.int32)
        state = (group, indptr, dist, points, self.members, self.starts, among_points)

        def expand(span: tuple[int, int]) -> None:
            expand_lists(*state, *span, out_indptr, out_dist, out_rows)

        parallel.run_blocks(expand, parallel.block_ranges(len(group), 1024))
        return out_indptr, out_dist, out_rows


def _scan_rows(values: Floats) -> tuple[float, NDArray[np.uint64]]:
    """Return the largest absolute value, and a hash of every row."""
    hashes = np.empty(len(values), dtype=np.uint64)

    def scan(span: tuple[int, int]) -> float:
        part = values[slice(*span)]
        hash_rows(part.view(np.uint64), hashes[slice(*span)])
        return max(float(part.max(initial=0.0)), -float(part.min(initial=0.0)))

    spans = parallel.block_ranges(len(values), 1 + _DISTINCT_CHUNK // max(values.shape[1], 1))
    return max(parallel.map_blocks(scan, spans), default=0.0), hashes
