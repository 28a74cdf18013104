"""One pass over all pairs of rows, in the data and on the map, that computes every requested rank and sum.

Blocks of rows run on several threads, and read their distances to all points tile by tile. Pairs are compared by keys: squared
differences (up to 8 columns), matrix products (more columns), or the distances of any other metric. Keys may carry a rounding error
with a known bound; a pair whose order the bound leaves open is measured exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from threading import Lock
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.kernels.map_quality import (
    collect_undecided,
    count_larger_ranks,
    count_nearer,
    count_rank_pairs,
    distance_sums,
    distances_from_bounds,
    low_dim_squared_distances,
    sort_row,
    sort_undecided,
)
from tamiz.kernels.nearest_neighbors import pair_distances
from tamiz.kernels.primitives import TIE_WIDTH, distance_keys
from tamiz.neighbors.points import Points
from tamiz.runtime import parallel, progress

PointIndices = NDArray[np.int32]

# Rows of a block and columns of a tile: the keys of data and map together nearly fit the second-level cache.
BLOCK_ROWS, TILE_COLUMNS = 256, 512
# Distances of a block that is not computed tile by tile, and keys of a block whose rows are sorted as a whole.
_MAX_BLOCK_DISTANCES, _MAX_SORTED_KEYS = 2**20, 2**20
# Up to this many columns, squared differences are summed directly; beyond it, matrix products are faster.
_MAX_DIFFERENCE_COLUMNS = 8
# A squared distance below this share of the squared lengths that it is computed from has lost too many digits.
_MIN_SQUARE_SHARE = 2.0**-7
_UNIT_ROUNDOFF = 2.0**-53
# Values are rescaled unless the exponent of the largest lies in this range, where squared differences neither overflow nor vanish.
_MIN_EXPONENT, _MAX_EXPONENT = -300, 450
# Bound of the error of squares that underflow at that scale.
_UNDERFLOW_BOUND = 2.0**-1000
# Columns of the result of kernels.map_quality.distance_sums.
N_SUMS = 10


class PairDistances(ABC):
    """Points whose distances from a block of rows to all points are computed tile by tile.

    Keys increase with distances up to a rounding error: the exact key of a pair lies between its key and its key plus the error
    bounds of its row and its point, up to the relative error `relative_error`.

    Attributes
    ----------
    points : Points
    max_rows : int
        Largest number of rows of a block.
    rows, row_errors : ndarray of shape (n_rows,)
        Row numbers of the block, and the error bounds of these rows; set by `at`.
    """

    max_rows = BLOCK_ROWS
    relative_error = 0.0
    rows: Indices
    row_errors: Floats

    def __init__(self, points: Points) -> None:
        self.points = points

    def at(self, rows: Indices) -> Self:
        """Return the distances of some rows."""
        block = copy(self)
        block.rows = rows
        block.open_block()
        return block

    @abstractmethod
    def open_block(self) -> None:
        """Compute what the tiles of a block share."""

    @abstractmethod
    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Return the keys of the rows and the points `first : last`, and the error bounds of these points.

        The next call overwrites the keys.
        """

    @abstractmethod
    def distances(self, keys: Floats, first: int, last: int) -> Floats:
        """Return the distances of the metric for these keys; the keys may be overwritten."""

    @abstractmethod
    def exact_keys(self, rows: PointIndices, points: PointIndices) -> Floats:
        """Return exactly measured keys of pairs of a row, numbered from 0 within the block, and a point."""

    @abstractmethod
    def key_bounds(self, exact_keys: Floats) -> tuple[Floats, Floats]:
        """Return two bounds for each exact key.

        A pair is nearer if its key plus all error bounds is below the first, and not nearer if its key is above the second.
        """

    @abstractmethod
    def listed_distances(self, points: PointIndices) -> Floats:
        """Return the distances of the metric of each row and the points listed in its row of an array."""

    def listed_keys(self, points: PointIndices) -> Floats:
        """Return exactly measured keys of each row and the points listed in its row of an array."""
        rows = np.repeat(np.arange(len(points), dtype=np.int32), points.shape[1])
        return self.exact_keys(rows, points.reshape(-1)).reshape(points.shape)


def pair_distances_of(points: Points) -> PairDistances:
    """Return the distances by differences or matrix products for numeric rows, by blocks of distances for other metrics."""
    values = points.euclidean_values()
    if values is None:
        return MetricDistances(points)
    return (DifferenceDistances if values.shape[1] <= _MAX_DIFFERENCE_COLUMNS else ProductDistances)(points, values)


class MetricDistances(PairDistances):
    """Points of which only the distances are known, in whole blocks; keys are `distance_keys` and have no error."""

    def __init__(self, points: Points) -> None:
        super().__init__(points)
        self.max_rows = max(1, min(BLOCK_ROWS, _MAX_BLOCK_DISTANCES // points.n_samples))

    def open_block(self) -> None:
        self._block = self.points.block(self.points.take(self.rows), 0, len(self.rows))
        self._keys = distance_keys(self._block).astype(np.float64)
        self._zero_errors, self.row_errors = np.zeros(self.points.n_samples), np.zeros(len(self.rows))

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        return self._keys[:, first:last].copy(), self._zero_errors[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:
        keys[:] = self._block[:, first:last]
        return keys

    def exact_keys(self, rows: PointIndices, points: PointIndices) -> Floats:
        return self._keys[rows, points]

    def key_bounds(self, exact_keys: Floats) -> tuple[Floats, Floats]:
        """Return the keys themselves and -infinity: no pair is undecided."""
        return exact_keys, np.full_like(exact_keys, -np.inf)

    def listed_distances(self, points: PointIndices) -> Floats:
        return np.take_along_axis(self._block, points.astype(np.intp), axis=1)


class EuclideanDistances(PairDistances):
    """Numeric rows whose Euclidean distances increase with the distances of the metric.

    `values` are scaled by a power of two so that squares neither overflow nor vanish. `relative_error` bounds the relative
    error of a measured squared distance, or the relative difference of two that are ties.
    """

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points)
        exponent = int(np.frexp(max(float(values.max()), -float(values.min())))[1])
        self._scale = 1.0
        if not _MIN_EXPONENT <= exponent <= _MAX_EXPONENT:
            self._scale = float(np.ldexp(1.0, int(np.clip(-exponent, -1000, 1000))))
        self.values = np.ascontiguousarray(values if self._scale == 1.0 else values * self._scale)
        self.relative_error = 8.0 * (values.shape[1] + 16) * _UNIT_ROUNDOFF + 4.0 * TIE_WIDTH

    def open_block(self) -> None:
        self._rows32 = self.rows.astype(np.int32)
        self._buffer = np.empty(BLOCK_ROWS * TILE_COLUMNS)

    def _tile(self, n_columns: int) -> Floats:
        return self._buffer[: len(self.rows) * n_columns].reshape(len(self.rows), n_columns)

    def exact_keys(self, rows: PointIndices, points: PointIndices) -> Floats:
        """Return distances, computed as in the exact neighbour searches."""
        out = np.empty(len(points))
        pair_distances(self.values, self._rows32[rows], self.values, np.ascontiguousarray(points), out)
        return out

    def key_bounds(self, exact_keys: Floats) -> tuple[Floats, Floats]:
        """Return the squares, lowered and raised by the error bounds."""
        squares = exact_keys * exact_keys
        lower = squares * (1.0 - self.relative_error) - self.row_errors[:, None]
        return lower, squares * (1.0 + self.relative_error) + _UNDERFLOW_BOUND

    def listed_distances(self, points: PointIndices) -> Floats:
        return self._to_metric(self.listed_keys(points))

    def _to_metric(self, distances: Floats) -> Floats:
        if self._scale != 1.0:
            distances /= self._scale
        return self.points.from_euclidean(distances)


class DifferenceDistances(EuclideanDistances):
    """Rows of at most 8 numbers: keys are sums of squared differences."""

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points, values)
        n, n_columns = values.shape
        # Padded with zeros to an even number of columns.
        self._columns = np.zeros((n_columns + n_columns % 2, n))
        self._columns[:n_columns] = self.values.T
        self._zero_errors = np.zeros(n)

    def open_block(self) -> None:
        super().open_block()
        self._coordinates = np.ascontiguousarray(self._columns[:, self.rows].T)
        self.row_errors = np.full(len(self.rows), _UNDERFLOW_BOUND)

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        tile = self._tile(last - first)
        low_dim_squared_distances(self._coordinates, self._columns, first, tile)
        return tile, self._zero_errors[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:  # noqa: ARG002
        return self._to_metric(np.sqrt(keys, out=keys))


class ProductDistances(EuclideanDistances):
    """Rows of many numbers: keys are the products of (-2 x, |x|^2, 1) and (y, 1, |y|^2), that is |x|^2 + |y|^2 - 2 x.y.

    With the unit roundoff u and the length m of the product, its error is at most 2 m u / (1 - m u) (|x|^2 + |y|^2) for any order
    of summation in BLAS (Higham 2002, section 3.1). Centring has the relative error u, which adds 4 u (1 + u) of the same sum.
    Squared lengths have the relative error m u. The error bound exceeds the sum of these and is subtracted from the squared
    lengths, so that a key is a lower bound of the squared distance, below it by at most twice the bounds of row and point.
    """

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points, values)
        n, n_columns = values.shape
        # The median of up to 1,024 rows: one outlier would move a mean far from all other rows.
        centre = np.median(self.values[:: 1 + n // 1024], axis=0)
        self._right_factors, self._squared_lengths = np.empty((n, n_columns + 2)), np.empty(n)

        def fill(span: tuple[int, int]) -> None:
            part = slice(*span)
            about = self._right_factors[part, :-2]
            np.subtract(self.values[part], centre, out=about)
            np.einsum("ij,ij->i", about, about, out=self._squared_lengths[part])

        parallel.run_blocks(fill, parallel.block_ranges(n, max(1, 2**18 // n_columns)))
        self._error_bounds = (4.0 * (n_columns + 2) + 16.0) * _UNIT_ROUNDOFF * self._squared_lengths + _UNDERFLOW_BOUND
        self._right_factors[:, -2] = 1.0
        np.subtract(self._squared_lengths, self._error_bounds, out=self._right_factors[:, -1])

    def open_block(self) -> None:
        super().open_block()
        self._left_factors = self._right_factors[self.rows]
        self._left_factors[:, :-2] *= -2.0
        self._left_factors[:, -2], self._left_factors[:, -1] = self._left_factors[:, -1].copy(), 1.0
        self.row_errors = 2.0 * self._error_bounds[self.rows]

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        tile = self._tile(last - first)
        np.dot(self._left_factors, self._right_factors[first:last].T, out=tile)
        return tile, 2.0 * self._error_bounds[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:  # noqa: ARG002
        """Return distances; pairs whose squares lost too many digits are measured again from the values."""
        bounds = self._squared_lengths, self._error_bounds
        distances_from_bounds(self.values, self._rows32, first, *bounds, _MIN_SQUARE_SHARE, keys)
        return self._to_metric(keys)


@dataclass(frozen=True)
class PairScanRequest:
    """The quantities that a pass computes for some rows.

    Attributes
    ----------
    rows : ndarray of row numbers, ascending
    data_neighbors, map_neighbors : ndarray of shape (n_rows, k) or None
        Neighbours in the data, whose ranks in the map are computed, and neighbours on the map, whose ranks in the data are.
    scales : ndarray of shape (7,) or None
        Scales of `kernels.map_quality.distance_sums`; None skips the sums.
    rank_weights : ndarray of shape (n,) or None
        Weight of a pair by the larger of its two ranks; None skips the full ranking.
    rank_pairs : bool
        Whether the co-ranking matrix is counted.
    sampled_points : ndarray of shape (n_rows, n_drawn) or None
        Points whose distances to the rows are returned.
    """

    rows: Indices
    data_neighbors: PointIndices | None = None
    map_neighbors: PointIndices | None = None
    scales: Floats | None = None
    rank_weights: Floats | None = None
    rank_pairs: bool = False
    sampled_points: PointIndices | None = None

    @property
    def is_ordered(self) -> bool:
        return self.rank_weights is not None or self.rank_pairs


class PairScanResult:
    """The quantities that a pass computed; those not requested are empty.

    Attributes
    ----------
    ranks_in_map, ranks_in_data : ndarray of shape (n_rows, k)
        One plus the number of points that are strictly nearer.
    sums : ndarray of shape (n_rows, 10)
        Result of `kernels.map_quality.distance_sums` over all pairs of a row with another.
    larger_ranks : ndarray of shape (n,)
        Number of pairs whose larger rank is r; ties are ranked by row number.
    weighted_counts : ndarray of shape (n_rows,)
        Sum of `rank_weights` over the pairs of a row.
    rank_pairs : ndarray of shape (n - 1, n - 1)
        Co-ranking matrix.
    data_distances, map_distances : ndarray of shape (n_rows, n_drawn)
        Distances of the sampled pairs in the data and on the map.
    """

    def __init__(self, request: PairScanRequest, n: int) -> None:
        def shape(indices: PointIndices | None) -> tuple[int, ...]:
            return (0, 0) if indices is None else indices.shape

        m = len(request.rows)
        self.ranks_in_map = np.empty(shape(request.data_neighbors), dtype=np.int64)
        self.ranks_in_data = np.empty(shape(request.map_neighbors), dtype=np.int64)
        self.sums = np.zeros((m if request.scales is not None else 0, N_SUMS))
        self.larger_ranks = np.zeros(n, dtype=np.int64)
        self.weighted_counts = np.empty(m)
        self.rank_pairs = np.zeros((n - 1, n - 1) if request.rank_pairs else (0, 0), dtype=np.int64)
        self.data_distances, self.map_distances = (np.empty(shape(request.sampled_points)) for _ in range(2))


def scan_pairs(data: PairDistances, embedding: PairDistances, request: PairScanRequest) -> PairScanResult:
    """Compute the requested quantities; requires an open thread session."""
    n = data.points.n_samples
    found = PairScanResult(request, n)
    largest = max(4, _MAX_SORTED_KEYS // n) if request.is_ordered else BLOCK_ROWS
    lock = Lock()

    def visit(span: tuple[int, int]) -> NDArray[np.int64]:
        part = slice(*span)
        rows, counts = request.rows[part], np.zeros(n, dtype=np.int64)
        in_data = _Side(data.at(rows), request.map_neighbors, part, ordered=request.is_ordered)
        in_map = _Side(embedding.at(rows), request.data_neighbors, part, ordered=request.is_ordered)
        _scan_tiles((in_data, in_map), part, request, found)
        if request.is_ordered:
            weights = np.zeros(n) if request.rank_weights is None else request.rank_weights
            for row in range(len(rows)):
                ranks = in_data.ranks(row), in_map.ranks(row)
                found.weighted_counts[part.start + row] = count_larger_ranks(*ranks, weights, counts)
                if request.rank_pairs:
                    with lock:
                        count_rank_pairs(*ranks, found.rank_pairs)
        return counts

    spans = parallel.block_ranges(len(request.rows), min(data.max_rows, embedding.max_rows, largest))
    for counts in progress.track_progress("Pairs", parallel.map_blocks(visit, spans), len(spans)):
        found.larger_ranks += counts
    return found


class _Side:
    """A block of rows in the data or on the map: counts of the points nearer than some given ones, and rankings of all points."""

    def __init__(self, block: PairDistances, points: PointIndices | None, part: slice, *, ordered: bool) -> None:
        self.block, self.points, n = block, None if points is None else points[part], block.points.n_samples
        self.keys = np.empty((len(block.rows), n)) if ordered else None
        self._errors, self._sorted = np.zeros(n), (np.empty(n), np.empty(n, dtype=np.int32))
        if self.points is not None:
            self._exact_keys = block.listed_keys(self.points)
            self._bounds = tuple(np.ascontiguousarray(bound) for bound in block.key_bounds(self._exact_keys))
            self.nearer = np.zeros(self.points.shape, dtype=np.int32)

    def add_tile(self, first: int, last: int, own: tuple[Indices, Indices], with_distances: bool) -> Floats | None:
        """Add the points `first : last`; return their distances if `with_distances`."""
        if self.points is None and self.keys is None and not with_distances:
            return None
        keys, error_bounds = self.block.keys(first, last)
        # A row is not its own neighbour.
        keys[own] = np.inf
        if self.keys is not None:
            self.keys[:, first:last], self._errors[first:last] = keys, error_bounds
        if self.points is not None:
            self._count_nearer(keys, error_bounds, first)
        if not with_distances:
            return None
        keys[own] = 0.0
        distances = self.block.distances(keys, first, last)
        distances[own] = 0.0
        return distances

    def _count_nearer(self, keys: Floats, error_bounds: Floats, first: int) -> None:
        """Count the points of a tile that are strictly nearer than the given points; undecided pairs are measured exactly."""
        assert self.points is not None
        nearer, reached = np.empty_like(self.nearer), np.empty_like(self.nearer)
        count_nearer(keys, error_bounds, *self._bounds, nearer, reached)
        self.nearer += nearer
        # A point never counts as nearer than itself, although its key lies between its own bounds.
        itself = (self.points >= first) & (self.points < first + keys.shape[1])
        undecided = reached - nearer
        undecided[undecided <= itself] = 0
        if n_undecided := int(undecided.sum()):
            rows, limits, columns = (np.empty(n_undecided, dtype=np.int32) for _ in range(3))
            collect_undecided(keys, error_bounds, *self._bounds, undecided, rows, limits, columns)
            measured = distance_keys(self.block.exact_keys(rows, columns + np.int32(first)))
            near = measured < distance_keys(self._exact_keys[rows, limits])
            np.add.at(self.nearer, (rows[near], limits[near]), 1)

    def ranks(self, row: int) -> PointIndices:
        """Return the ranks of all points about one row, from 1, and 0 for itself; undecided pairs are measured exactly."""
        assert self.keys is not None
        block, own = self.block, int(self.block.rows[row])
        errors = self._errors, float(block.row_errors[row]), block.relative_error
        undecided = np.empty(len(self._errors), dtype=np.int32)
        undecided = undecided[: sort_row(self.keys[row], own, *errors, *self._sorted, undecided)]
        if len(undecided):
            points = self._sorted[1][undecided]
            exact_keys = np.empty(len(self._errors))
            exact_keys[points] = distance_keys(block.exact_keys(np.full(len(points), row, dtype=np.int32), points))
            sort_undecided(undecided, exact_keys, *self._sorted)
        ranks = np.zeros(len(self._errors), dtype=np.int32)
        ranks[self._sorted[1][:-1]] = np.arange(1, len(ranks))
        return ranks


def _scan_tiles(sides: tuple[_Side, _Side], part: slice, request: PairScanRequest, result: PairScanResult) -> None:
    """Fill the sums, counted ranks and sampled distances of some rows, tile by tile."""
    rows, n = request.rows[part], sides[0].block.points.n_samples
    sums = np.zeros((len(rows), N_SUMS))
    for first, last in parallel.block_ranges(n, max(TILE_COLUMNS, BLOCK_ROWS * TILE_COLUMNS // len(rows))):
        at = np.flatnonzero((rows >= first) & (rows < last))
        own = at, rows[at] - first
        in_data, in_map = (side.add_tile(first, last, own, request.scales is not None) for side in sides)
        if in_data is not None:
            distance_sums(in_data, in_map, request.scales, sums)
    if request.scales is not None:
        # The distance 0 of a row to itself contributes to the sums about the centres.
        d, e = request.scales[5], request.scales[6]
        sums[:, 5:] -= [-d, -e, d * d, e * e, d * e]
        result.sums[part] = sums
    for side, ranks in zip(sides, (result.ranks_in_data, result.ranks_in_map), strict=True):
        if side.points is not None:
            ranks[part] = side.nearer + 1
    if request.sampled_points is not None:
        for side, distances in zip(sides, (result.data_distances, result.map_distances), strict=True):
            distances[part] = side.block.listed_distances(request.sampled_points[part])
