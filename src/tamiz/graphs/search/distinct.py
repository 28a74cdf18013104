"""Rows of numbers as an exact search takes them: each once, at a scale where squares neither overflow nor vanish."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.graphs.points import Points
from tamiz.kernels.equal_rows import copy_group_lists, expand_lists, expanded_sizes, hash_rows, mark_duplicates
from tamiz.statistics.base import Floats

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
