"""Rows of numbers as an exact search takes them: each once, at a scale where squares neither overflow nor vanish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

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
from tamiz.statistics.base import Floats

# MERGED: Rows in float32 for an approximate search to work on, along fewer directions where that loses hardly any neighbour.
Floats32 = NDArray[np.float32]

# So many columns are worked on as they are; more, along the least of these numbers of directions that will do.
_MAX_PLAIN_COLUMNS = 128
_DIRECTION_COUNTS = (64, 96, 128)
# Rows that the directions are found from, that the centre is, and whose neighbours are tried along the directions.
_DIRECTION_ROWS, _CENTRE_ROWS, _TRIAL_ROWS = 4096, 1024, 64
# Rows whose neighbours are looked at for the blur, numbers compared for it at most, and the blur that asks for longer lists.
_MIN_ROUNDING_ROWS, _MAX_ROUNDING_ROWS, _MAX_ROUNDING_VALUES, _HIGH_ROUNDING = 4, 16, 2**28, 2.0**-10
# Numbers are kept within this.
_MAX_ABS_VALUE = 2.0**50
# Numbers of one piece of work.
_REDUCED_CHUNK = 2**19


@dataclass(frozen=True)
class ReducedRows:
    """Rows less a centre, in a unit that keeps their squares within float32, along some directions or as they are.

    Distances between them are those of the rows times `scale`, or shorter where there are directions.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_directions), float32
    n_listed : int
        How many of the nearest here to list for the k nearest wanted to be among them.
    relative_rounding : float
        Rounding to float32 in units of the distance of a k-th neighbour: where groups of rows lie far apart, it is large.
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
        """Return rows to search on.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_columns)
        k : int
            Neighbours wanted of each row.
        min_recall : float
            So many of them must be among those listed, tried on some rows, for directions to be taken.
        """
        some = values[evenly_spaced_rows(len(values), _DIRECTION_ROWS)]
        centre, unit = _centre_and_scale(some)
        blur = _relative_rounding(values, centre, k)
        n_listed = 2 * k + 2
        if values.shape[1] > _MAX_PLAIN_COLUMNS and len(values) > 8 * n_listed and blur < _HIGH_ROUNDING:
            directions = leading_directions(
                _scale_rows(some, centre, unit).astype(np.float32), _DIRECTION_COUNTS[-1]
            ).T.astype(np.float64)
            along, apart = _project_rows(values, centre, unit, directions)
            for n_directions in _DIRECTION_COUNTS:
                part = along[:, :n_directions]
                if _projected_recall(part, apart, k, n_listed) >= min_recall:
                    kept = np.ascontiguousarray(directions[:n_directions])
                    return cls(np.ascontiguousarray(part), n_listed, blur, centre, unit, kept)
        rows = np.empty(values.shape, dtype=np.float32)

        def fill(span: tuple[int, int]) -> None:
            rows[slice(*span)] = _scale_rows(values[slice(*span)], centre, unit)

        _map_chunks(values, fill)
        return cls(rows, n_listed if blur > _HIGH_ROUNDING else k + 1, blur, centre, unit)

    def transform(self, values: Floats) -> Floats32:
        """Return other rows in the same way, each by itself."""
        apart = _scale_rows(values, self.centre, self.scale)
        if self.directions is None:
            return apart.astype(np.float32)
        along = np.empty((len(values), len(self.directions)))
        project_rows(apart, self.directions, along)
        return along.astype(np.float32)


def _centre_and_scale(some: Floats) -> tuple[Floats, float]:
    """Return the median of some rows, and the power of two that brings a typical number near 1: no outlier moves them."""
    centre = np.median(some[evenly_spaced_rows(len(some), _CENTRE_ROWS)], axis=0)
    apart = np.abs(some - centre)
    apart = apart[apart > 0.0]
    return centre, float(np.ldexp(1.0, -int(np.frexp(np.median(apart))[1]))) if apart.size else 1.0


def _scale_rows(values: Floats, centre: Floats, scale: float) -> Floats:
    """Return rows less the centre, in the unit; numbers whose squares float32 could not hold, cut off."""
    apart = values - centre
    apart *= scale
    return np.clip(apart, -_MAX_ABS_VALUE, _MAX_ABS_VALUE, out=apart)


def _relative_rounding(values: Floats, centre: Floats, k: int) -> float:
    """Return the rounding of a row to float32 in units of its distance from its k-th neighbour, of most rows tried."""
    n_tried = int(np.clip(_MAX_ROUNDING_VALUES // values.size, _MIN_ROUNDING_ROWS, _MAX_ROUNDING_ROWS))
    tried = evenly_spaced_rows(len(values), n_tried)

    def blur(row: int) -> float:
        distances = np.empty(len(values))
        row_distances(values, row, values, distances)
        last = min(k, len(values) - 1)
        distance = float(np.partition(distances, last)[last])
        return float(np.linalg.norm(values[row] - centre)) * 2.0**-24 / distance if distance > 0.0 else 0.0

    return float(np.quantile(list(parallel.map_blocks(blur, tried)), 0.9))


def _map_chunks(values: Floats, fill: Callable[[tuple[int, int]], None]) -> None:
    for _ in parallel.map_blocks(
        fill, parallel.block_ranges(len(values), 1 + _REDUCED_CHUNK // max(values.shape[1], 1))
    ):
        pass


def _project_rows(values: Floats, centre: Floats, scale: float, directions: Floats) -> tuple[Floats32, Floats32]:
    """Return all rows along the directions, and the squared distances of the tried rows from all."""
    along = np.empty((len(values), len(directions)), dtype=np.float32)
    tried = _scale_rows(values[evenly_spaced_rows(len(values), _TRIAL_ROWS)], centre, scale).astype(np.float32)
    apart = np.empty((len(tried), len(values)), dtype=np.float32)
    turned = np.ascontiguousarray(directions.T, dtype=np.float32)
    lengths = np.einsum("ij,ij->i", tried, tried)[:, None]

    def fill(span: tuple[int, int]) -> None:
        part = _scale_rows(values[slice(*span)], centre, scale).astype(np.float32)
        np.matmul(part, turned, out=along[slice(*span)])
        apart[:, slice(*span)] = lengths + np.einsum("ij,ij->i", part, part) - 2 * (tried @ part.T)

    _map_chunks(values, fill)
    return along, apart


def _projected_recall(projected: Floats32, squared_distances: Floats32, k: int, n_listed: int) -> float:
    """Return the share of the k nearest of the tried rows that are among the `n_listed` nearest along the directions.

    A row counts as one of its own neighbours, on both sides.
    """
    tried = projected[evenly_spaced_rows(len(projected), len(squared_distances))]
    squares = np.einsum("ij,ij->i", projected, projected)

    def count(span: tuple[int, int]) -> int:
        nearest = np.argpartition(squared_distances[slice(*span)], k, axis=1)[:, : k + 1]
        near = squares - 2 * (tried[slice(*span)] @ projected.T)
        last = np.partition(near, n_listed, axis=1)[:, n_listed, None]
        return int((np.take_along_axis(near, nearest, axis=1) <= last).sum()) - len(nearest)

    return sum(parallel.map_blocks(count, parallel.block_ranges(len(tried), 8))) / (len(tried) * k)


# MERGED: Rows that stand for many, and the directions in which they vary most.

# Rounds of subspace iteration: the directions are only to be good, not exact.
_N_ITERATIONS = 3


def evenly_spaced_rows(n: int, size: int) -> NDArray[np.intp]:
    """Return at most `size` rows of n, evenly spread, the ends no more likely than others."""
    size = min(n, size)
    return ((np.arange(size) + 0.5) * (n / max(size, 1))).astype(np.intp)


def leading_directions(rows: Floats32, n_directions: int) -> Floats32:
    """Return orthonormal directions along which the sums of squares are about the largest, the largest first, one a column.

    Subspace iteration from random directions, always the same.

    References
    ----------
    Halko, Martinsson and Tropp (2011), Finding structure with randomness, SIAM Review 53(2).
    """
    guess = np.random.default_rng(0).standard_normal((rows.shape[1], n_directions), dtype=np.float32)
    for _ in range(_N_ITERATIONS):
        guess = np.linalg.qr(rows.T @ (rows @ guess))[0]
    along = rows @ guess
    _, turn = np.linalg.eigh(along.T @ along)
    return np.asarray(guess @ turn[:, ::-1])


# Numbers of one piece of work.
_DISTINCT_CHUNK = 2**18
# The largest number may lie between these powers of two: no square of a difference overflows, none that matters vanishes.
_MIN_EXPONENT, _MAX_EXPONENT = -300, 450
# Share of rows that must go for a copy of the others to be worth its while; fewer repeats only tie at distance zero.
_MIN_DUPLICATE_SHARE = 0.1


class DistinctRows:
    """The distinct rows of a matrix, which stand for all rows.

    Attributes
    ----------
    values : ndarray of shape (n_points, n_columns)
        The matrix itself where nearly all rows are distinct: a row may then be there more than once.
    scale : float
        A power of two that the values were multiplied by, which changes no digit; distances are divided by it.
    n_rows, n_points : int
    point_of_row : ndarray of shape (n_rows,), int32
        The point that stands for a row.
    members, starts : ndarray of int32 and of int64
        The rows of point i, ascending, are `members[starts[i] : starts[i + 1]]`.
    """

    def __init__(self, values: Floats) -> None:
        self.n_rows = len(values)
        largest, numbers = _scan_rows(values)
        exponent = int(np.frexp(largest)[1])
        self.scale = 1.0
        if largest > 0.0 and not _MIN_EXPONENT <= exponent <= _MAX_EXPONENT:
            self.scale = float(np.ldexp(1.0, int(np.clip(-exponent, -1000, 1000))))
        self.max_abs = largest * self.scale
        first = self._group_rows(values, numbers)
        self.n_points = len(first)
        self.values = values if self.n_points == self.n_rows else values[first]
        if self.scale != 1.0:
            self.values = self.values * self.scale

    def _group_rows(self, values: Floats, hashes: NDArray[np.uint64]) -> NDArray[np.integer]:
        """Fill group, members and starts; return the first row of every group, a row each where nearly all are distinct."""
        places = np.argsort(hashes, kind="stable")
        repeated = np.empty(self.n_rows, dtype=bool)
        mark_duplicates(values, places, hashes, repeated)
        if repeated.sum() < _MIN_DUPLICATE_SHARE * self.n_rows:
            self.point_of_row = self.members = np.arange(self.n_rows, dtype=np.int32)
            self.starts = np.arange(self.n_rows + 1)
            return self.point_of_row
        begins = np.flatnonzero(~repeated)
        # Points keep the order of their first rows.
        rank = np.empty(len(begins), dtype=np.int32)
        rank[np.argsort(places[begins])] = np.arange(len(begins), dtype=np.int32)
        self.point_of_row = np.empty(self.n_rows, dtype=np.int32)
        self.point_of_row[places] = rank[np.cumsum(~repeated) - 1]
        self.members = np.argsort(self.point_of_row, kind="stable").astype(np.int32)
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(self.point_of_row))])
        return np.sort(places[begins])

    def scale_queries(self, queries: Points) -> Floats:
        """Return new rows at the scale of the points."""
        values = queries.euclidean_values()
        assert values is not None
        return values if self.scale == 1.0 else values * self.scale

    def expand_lists(self, dist: Floats, rows: NDArray[np.int32], size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the lists of the rows, given those of the points: `size` nearest each, the row itself among them or not."""
        out_dist, out_rows = np.empty(self.n_rows * (size - 1)), np.empty(self.n_rows * (size - 1), dtype=np.int32)

        def give(span: tuple[int, int]) -> None:
            copy_group_lists(self.point_of_row, dist, rows, size, *span, out_dist, out_rows)

        for _ in parallel.map_blocks(give, parallel.block_ranges(self.n_rows, 1 + _DISTINCT_CHUNK // size)):
            pass
        return out_dist, out_rows

    def expand_pairs(
        self, indptr: NDArray[np.int64], dist: Floats, points: NDArray[np.int32], *, among_points: bool
    ) -> tuple[NDArray[np.int64], Floats, NDArray[np.int32]]:
        """Return lists of rows, given lists of points: one a row, given one a point, where they are the points' own."""
        if self.n_points == self.n_rows:
            return indptr, dist, points
        sizes = np.empty(len(indptr) - 1, dtype=np.int64)
        expanded_sizes(indptr, points, self.starts, among_points, sizes)
        group = self.point_of_row if among_points else np.arange(len(sizes), dtype=np.int32)
        to = np.concatenate([[0], np.cumsum(sizes[group])])
        out_dist, out_rows = np.empty(to[-1]), np.empty(to[-1], dtype=np.int32)

        def give(span: tuple[int, int]) -> None:
            expand_lists(
                group, indptr, dist, points, self.members, self.starts, among_points, *span, to, out_dist, out_rows
            )  # fmt: skip

        for _ in parallel.map_blocks(give, parallel.block_ranges(len(group), 1024)):
            pass
        return to, out_dist, out_rows


def _scan_rows(values: Floats) -> tuple[float, NDArray[np.uint64]]:
    """Return the largest absolute value, and a number for every row that equal rows share."""
    numbers = np.empty(len(values), dtype=np.uint64)

    def survey(span: tuple[int, int]) -> float:
        part = values[slice(*span)]
        hash_rows(part.view(np.uint64), numbers[slice(*span)])
        return max(float(part.max(initial=0.0)), -float(part.min(initial=0.0)))

    spans = parallel.block_ranges(len(values), 1 + _DISTINCT_CHUNK // max(values.shape[1], 1))
    return max(parallel.map_blocks(survey, spans), default=0.0), numbers
