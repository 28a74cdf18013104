"""One pass over all pairs of rows, in the data and on the map, that computes every requested rank and sum.

Blocks of rows run on several threads. Ranks of a few points are counts of the points that are nearer; full rankings sort the keys
of a row. Both measure pairs again whose order the error bounds of the keys leave undecided.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.kernels.distance_sums import distance_sums, distances_from_bounds, low_dim_squared_distances
from tamiz.kernels.nearest_neighbors import pair_distances
from tamiz.kernels.primitives import TIE_WIDTH, distance_keys
from tamiz.kernels.ranks import (
    BUCKETS_PER_ENTRY,
    collect_undecided,
    count_exact,
    count_larger_ranks,
    count_nearer,
    count_rank_pairs,
    fill_ranks,
    sort_row,
    sort_undecided,
)
from tamiz.neighbors.points import Points
from tamiz.runtime import parallel, progress

# Rows of a block and columns of a tile: the keys of data and map together nearly fit the second-level cache.
BLOCK_ROWS, TILE_COLUMNS = 256, 512
# Distances of a block that is not computed tile by tile.
_MAX_BLOCK_DISTANCES = 2**20
# Up to this many columns, squared differences are summed directly; beyond it, matrix products are faster.
_MAX_DIFFERENCE_COLUMNS = 8
# A squared distance below this share of the squared lengths that it is computed from has lost too many digits.
_MIN_SQUARE_SHARE = 2.0**-7
_UNIT_ROUNDOFF = 2.0**-53
# Values are rescaled unless the exponent of the largest lies in this range, where squared differences neither overflow nor vanish.
_MIN_EXPONENT, _MAX_EXPONENT = -300, 450
# Bound of the error of squares that underflow at that scale.
_UNDERFLOW_BOUND = 2.0**-1000


class DistanceBlock(ABC):
    """A block of rows and their distances to all points.

    Keys increase with distances up to a rounding error: the exact key of a pair lies between its key and its key plus the error
    bounds of its row and its point, up to the relative error `relative_error`.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Row numbers.
    relative_error : float
        Relative error of a key.
    """

    rows: Indices
    relative_error: float

    @abstractmethod
    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Return the keys of the rows and the points `first : last`, and the error bounds of these points.

        The next call overwrites the keys.
        """

    @abstractmethod
    def distances(self, keys: Floats, first: int, last: int) -> Floats:
        """Return the distances of the metric for these keys; the keys may be overwritten."""

    @abstractmethod
    def row_error_bounds(self) -> Floats:
        """Return the error bounds of the rows."""

    @abstractmethod
    def exact_keys(self, points: NDArray[np.int32]) -> Floats:
        """Return exactly measured keys of each row and the points listed in its row of an array."""

    @abstractmethod
    def key_bounds(self, exact_keys: Floats) -> tuple[Floats, Floats]:
        """Return two bounds for each exact key.

        A pair is nearer if its key plus all error bounds is below the first, and not nearer if its key is above the second.
        """

    @abstractmethod
    def exact_pair_keys(self, rows: NDArray[np.int32], points: NDArray[np.int32]) -> Floats:
        """Return exactly measured keys of pairs of a row, numbered from 0 within the block, and a point."""

    @abstractmethod
    def pair_distances(self, points: NDArray[np.int32]) -> Floats:
        """Return the distances of the metric of each row and the points listed in its row of an array."""


class DistanceSpace(ABC):
    """Points whose distances are computed block by block.

    Attributes
    ----------
    points : Points
    n_rows : int
        Largest number of rows of a block.
    """

    def __init__(self, points: Points, n_rows: int) -> None:
        self.points = points
        self.n_rows = n_rows

    @abstractmethod
    @contextmanager
    def open_block(self, rows: Indices) -> Iterator[DistanceBlock]:
        """Open the block of some rows; its buffers return to the pool when the context ends."""
        yield NotImplemented


def create_space(points: Points) -> DistanceSpace:
    """Return a space by differences or matrix products for numeric rows, by blocks of distances for other metrics."""
    values = points.euclidean_values()
    if values is None:
        return GenericSpace(points)
    return (LowDimensionalSpace if values.shape[1] <= _MAX_DIFFERENCE_COLUMNS else MatrixProductSpace)(points, values)


class GenericSpace(DistanceSpace):
    """Points of which only the distances are known."""

    def __init__(self, points: Points) -> None:
        super().__init__(points, max(1, min(BLOCK_ROWS, _MAX_BLOCK_DISTANCES // points.n_samples)))

    @contextmanager
    def open_block(self, rows: Indices) -> Iterator[DistanceBlock]:
        yield GenericDistanceBlock(rows, self.points.block(self.points.take(rows), 0, len(rows)))


class GenericDistanceBlock(DistanceBlock):
    """A block whose distances are computed as a whole; keys are `distance_keys` and have no error."""

    relative_error = 0.0

    def __init__(self, rows: Indices, block: Floats) -> None:
        self.rows, self._block = rows, block
        self._keys = distance_keys(block).astype(np.float64)
        self._zero_errors = np.zeros(block.shape[1])

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        return self._keys[:, first:last].copy(), self._zero_errors[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:
        keys[:] = self._block[:, first:last]
        return keys

    def row_error_bounds(self) -> Floats:
        return self._zero_errors[: len(self.rows)]

    def exact_keys(self, points: NDArray[np.int32]) -> Floats:
        return np.take_along_axis(self._keys, points.astype(np.intp), axis=1)

    def key_bounds(self, exact_keys: Floats) -> tuple[Floats, Floats]:
        """Return the keys themselves and -infinity: no pair is undecided."""
        return exact_keys, np.full_like(exact_keys, -np.inf)

    def exact_pair_keys(self, rows: NDArray[np.int32], points: NDArray[np.int32]) -> Floats:
        return self._keys[rows, points]

    def pair_distances(self, points: NDArray[np.int32]) -> Floats:
        return np.take_along_axis(self._block, points.astype(np.intp), axis=1)


class EuclideanSpace(DistanceSpace):
    """Numeric rows whose Euclidean distances increase with the distances of the metric.

    Attributes
    ----------
    values : ndarray of shape (n, n_columns)
        Scaled by a power of two so that squares neither overflow nor vanish.
    relative_error : float
        Bound of the relative error of a measured squared distance, or of the relative difference of two that are ties.
    """

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points, BLOCK_ROWS)
        exponent = int(np.frexp(max(float(values.max()), -float(values.min())))[1])
        self._scale = 1.0
        if not _MIN_EXPONENT <= exponent <= _MAX_EXPONENT:
            self._scale = float(np.ldexp(1.0, int(np.clip(-exponent, -1000, 1000))))
        self.values = np.ascontiguousarray(values if self._scale == 1.0 else values * self._scale)
        self.relative_error = 8.0 * (values.shape[1] + 16) * _UNIT_ROUNDOFF + 4.0 * TIE_WIDTH
        self._buffers = parallel.BufferPool(partial(np.empty, BLOCK_ROWS * TILE_COLUMNS))

    def to_metric(self, distances: Floats) -> Floats:
        if self._scale != 1.0:
            distances /= self._scale
        return self.points.from_euclidean(distances)


class EuclideanDistanceBlock(DistanceBlock):
    """A block of numeric rows whose keys are computed tile by tile."""

    def __init__(self, space: EuclideanSpace, rows: Indices, buffer: Floats) -> None:
        self.rows = rows
        self.relative_error = space.relative_error
        self._space = space
        self._buffer = buffer
        self._rows32 = rows.astype(np.int32)

    def _tile(self, n_columns: int) -> Floats:
        n_rows = len(self.rows)
        return self._buffer[: n_rows * n_columns].reshape(n_rows, n_columns)

    def exact_keys(self, points: NDArray[np.int32]) -> Floats:
        """Return distances, computed as in the exact neighbour searches."""
        rows = np.repeat(np.arange(len(points), dtype=np.int32), points.shape[1])
        return self.exact_pair_keys(rows, points.reshape(-1)).reshape(points.shape)

    def key_bounds(self, exact_keys: Floats) -> tuple[Floats, Floats]:
        """Return the squares, lowered and raised by the error bounds."""
        squares = exact_keys * exact_keys
        bounds = self.row_error_bounds()[:, None]
        return squares * (1.0 - self.relative_error) - bounds, squares * (1.0 + self.relative_error) + _UNDERFLOW_BOUND

    def exact_pair_keys(self, rows: NDArray[np.int32], points: NDArray[np.int32]) -> Floats:
        """Return distances, computed as in the exact neighbour searches."""
        out = np.empty(len(points))
        values = self._space.values
        pair_distances(values, self._rows32[rows], values, np.ascontiguousarray(points), out)
        return out

    def pair_distances(self, points: NDArray[np.int32]) -> Floats:
        return self._space.to_metric(self.exact_keys(points))


class LowDimensionalSpace(EuclideanSpace):
    """Rows of at most 8 numbers: keys are sums of squared differences."""

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points, values)
        n, n_columns = values.shape
        # Padded with zeros to an even number of columns.
        self.columns = np.zeros((n_columns + n_columns % 2, n))
        self.columns[:n_columns] = self.values.T
        self.zero_errors = np.zeros(len(values))

    @contextmanager
    def open_block(self, rows: Indices) -> Iterator[DistanceBlock]:
        with self._buffers.acquire() as buffer:
            yield _LowDimensionalBlock(self, rows, buffer)


class _LowDimensionalBlock(EuclideanDistanceBlock):
    _space: LowDimensionalSpace

    def __init__(self, space: LowDimensionalSpace, rows: Indices, buffer: Floats) -> None:
        super().__init__(space, rows, buffer)
        self._coordinates = np.ascontiguousarray(space.columns[:, rows].T)

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        tile = self._tile(last - first)
        low_dim_squared_distances(self._coordinates, self._space.columns, first, tile)
        return tile, self._space.zero_errors[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:  # noqa: ARG002
        return self._space.to_metric(np.sqrt(keys, out=keys))

    def row_error_bounds(self) -> Floats:
        return np.full(len(self.rows), _UNDERFLOW_BOUND)


class MatrixProductSpace(EuclideanSpace):
    """Rows of many numbers: keys are the products of (-2 x, |x|^2, 1) and (y, 1, |y|^2), that is |x|^2 + |y|^2 - 2 x.y.

    With the unit roundoff u and the length m of the product, its error is at most 2 m u / (1 - m u) (|x|^2 + |y|^2) for any order
    of summation in BLAS (Higham 2002, section 3.1). Centring has the relative error u, which adds 4 u (1 + u) of the same sum.
    Squared lengths have the relative error m u. The error bound exceeds the sum of these and is subtracted from the squared
    lengths, so that a key is a lower bound of the squared distance, below it by at most twice the bounds of row and point.

    Attributes
    ----------
    squared_lengths, error_bounds : ndarray of shape (n,)
        Squared lengths about the centre, and the bounds of their rounding errors.
    """

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points, values)
        n, n_columns = values.shape
        # The median of up to 1,024 rows: one outlier would move a mean far from all other rows.
        centre = np.median(self.values[:: 1 + n // 1024], axis=0)
        self.right_factors = np.empty((n, n_columns + 2))
        self.squared_lengths = np.empty(n)

        def fill(span: tuple[int, int]) -> None:
            part = slice(*span)
            about = self.right_factors[part, :-2]
            np.subtract(self.values[part], centre, out=about)
            np.einsum("ij,ij->i", about, about, out=self.squared_lengths[part])

        parallel.run_blocks(fill, parallel.block_ranges(n, max(1, 2**18 // n_columns)))
        self.error_bounds = (4.0 * (n_columns + 2) + 16.0) * _UNIT_ROUNDOFF * self.squared_lengths + _UNDERFLOW_BOUND
        self.right_factors[:, -2] = 1.0
        np.subtract(self.squared_lengths, self.error_bounds, out=self.right_factors[:, -1])
        self.doubled_error_bounds = 2.0 * self.error_bounds

    @contextmanager
    def open_block(self, rows: Indices) -> Iterator[DistanceBlock]:
        with self._buffers.acquire() as buffer:
            yield _MatrixProductBlock(self, rows, buffer)


class _MatrixProductBlock(EuclideanDistanceBlock):
    _space: MatrixProductSpace

    def __init__(self, space: MatrixProductSpace, rows: Indices, buffer: Floats) -> None:
        super().__init__(space, rows, buffer)
        self._left_factors = space.right_factors[rows]
        self._left_factors[:, :-2] *= -2.0
        self._left_factors[:, -2], self._left_factors[:, -1] = self._left_factors[:, -1].copy(), 1.0

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        tile = self._tile(last - first)
        np.dot(self._left_factors, self._space.right_factors[first:last].T, out=tile)
        return tile, self._space.doubled_error_bounds[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:  # noqa: ARG002
        """Return distances; pairs whose squares lost too many digits are measured again from the values."""
        space = self._space
        distances_from_bounds(
            space.values, self._rows32, first, space.squared_lengths, space.error_bounds, _MIN_SQUARE_SHARE, keys
        )
        return space.to_metric(keys)

    def row_error_bounds(self) -> Floats:
        return self._space.doubled_error_bounds[self.rows]


PointIndices = NDArray[np.int32]


class RankCounter:
    """Counts the points that are strictly nearer to each row of a block than some given points."""

    def __init__(self, block: DistanceBlock, points: PointIndices) -> None:
        self._block, self._points = block, points
        self._exact_keys = np.ascontiguousarray(block.exact_keys(points))
        self._bounds = tuple(np.ascontiguousarray(bound) for bound in block.key_bounds(self._exact_keys))
        self.nearer = np.zeros(points.shape, dtype=np.int32)
        self._nearer_in_tile, self._reached_in_tile = np.empty_like(self.nearer), np.empty_like(self.nearer)

    def add_keys(self, keys: Floats, error_bounds: Floats, first: int) -> None:
        """Count the points of a tile; undecided pairs are measured exactly."""
        count_nearer(keys, error_bounds, *self._bounds, self._nearer_in_tile, self._reached_in_tile)
        self.nearer += self._nearer_in_tile
        # A point never counts as nearer than itself, although its key lies between its own bounds.
        itself = (self._points >= first) & (self._points < first + keys.shape[1])
        undecided = self._reached_in_tile - self._nearer_in_tile
        undecided[undecided <= itself] = 0
        n_undecided = int(undecided.sum())
        if n_undecided:
            rows, limits, columns = (np.empty(n_undecided, dtype=np.int32) for _ in range(3))
            collect_undecided(keys, error_bounds, *self._bounds, undecided, rows, limits, columns)
            columns += np.int32(first)
            count_exact(rows, limits, self._block.exact_pair_keys(rows, columns), self._exact_keys, self.nearer)


class RankBuffers:
    """Buffers for the keys of a block and for the ranking of all points about one row."""

    def __init__(self, n_rows: int, n: int) -> None:
        self.keys = np.empty((n_rows, n))
        self.error_bounds = np.zeros(n)
        self.exact_keys = np.empty(n)
        self.sorted = np.empty(n), np.empty(n, dtype=np.int32)
        positions, bucket, bucket_ends = (np.empty(m, dtype=np.int32) for m in (n, n, BUCKETS_PER_ENTRY * n + 1))
        self.scratch = np.empty(n), positions, bucket, bucket_ends
        self.ranks = np.empty(n, dtype=np.int32)


class FullRanker:
    """The ranks of all points about each row of a block."""

    def __init__(self, block: DistanceBlock, buffers: RankBuffers) -> None:
        self._block, self._buffers = block, buffers
        self._row_error_bounds = block.row_error_bounds()

    def add_keys(self, keys: Floats, error_bounds: Floats, first: int) -> None:
        last = first + keys.shape[1]
        self._buffers.keys[: len(keys), first:last] = keys
        self._buffers.error_bounds[first:last] = error_bounds

    def ranks(self, row: int) -> PointIndices:
        """Return the ranks of all points about one row, from 1; undecided pairs are measured exactly."""
        buffers, own = self._buffers, int(self._block.rows[row])
        errors = buffers.error_bounds, float(self._row_error_bounds[row]), self._block.relative_error
        n_undecided = sort_row(buffers.keys[row], own, *errors, *buffers.sorted, *buffers.scratch)
        if n_undecided:
            undecided = buffers.scratch[1][:n_undecided].copy()
            points = buffers.sorted[1][undecided]
            measured = self._block.exact_pair_keys(np.full(n_undecided, row, dtype=np.int32), points)
            buffers.exact_keys[points] = distance_keys(measured)
            sort_undecided(undecided, buffers.exact_keys, *buffers.sorted, *buffers.scratch)
        fill_ranks(buffers.sorted[1], own, buffers.ranks)
        return buffers.ranks


# Keys of a block whose rows are sorted as a whole.
_MAX_SORTED_KEYS = 2**20
# Columns of the result of kernels.distance_sums.distance_sums.
N_SUMS = 10


@dataclass(frozen=True)
class PairScanRequest:
    """The quantities that a pass computes for some rows.

    Attributes
    ----------
    rows : ndarray of row numbers, ascending
    data_neighbors, map_neighbors : ndarray of shape (n_rows, k) or None
        Neighbours in the data, whose ranks in the map are computed, and neighbours on the map, whose ranks in the data are.
    scales : ndarray of shape (7,) or None
        Scales of `kernels.distance_sums.distance_sums`; None skips the sums.
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


class PairScanResult:
    """The quantities that a pass computed; those not requested are empty.

    Attributes
    ----------
    ranks_in_map, ranks_in_data : ndarray of shape (n_rows, k)
        One plus the number of points that are strictly nearer.
    sums : ndarray of shape (n_rows, 10)
        Result of `kernels.distance_sums.distance_sums` over all pairs of a row with another.
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
        m = len(request.rows)
        self.ranks_in_map = np.empty(_shape(request.data_neighbors), dtype=np.int64)
        self.ranks_in_data = np.empty(_shape(request.map_neighbors), dtype=np.int64)
        self.sums = np.zeros((m if request.scales is not None else 0, N_SUMS))
        self.larger_ranks = np.zeros(n, dtype=np.int64)
        self.weighted_counts = np.empty(m)
        self.rank_pairs = np.zeros((n - 1, n - 1) if request.rank_pairs else (0, 0), dtype=np.int64)
        self.data_distances, self.map_distances = (np.empty(_shape(request.sampled_points)) for _ in range(2))


def _shape(indices: PointIndices | None) -> tuple[int, int]:
    return (0, 0) if indices is None else (indices.shape[0], indices.shape[1])


def scan_pairs(data: DistanceSpace, embedding: DistanceSpace, request: PairScanRequest) -> PairScanResult:
    """Compute the requested quantities; requires an open thread session."""
    n = data.points.n_samples
    found = PairScanResult(request, n)
    ordered = request.rank_weights is not None or request.rank_pairs
    size = min(data.n_rows, embedding.n_rows, max(4, _MAX_SORTED_KEYS // n) if ordered else BLOCK_ROWS)
    buffer_pool = parallel.BufferPool(partial(RankBuffers, size, n))
    others = request.map_neighbors, request.data_neighbors
    lock = Lock()

    def visit(span: tuple[int, int]) -> NDArray[np.int64] | None:
        part = slice(*span)
        rows = request.rows[part]
        with ExitStack() as stack:
            sides = []
            for space, points in zip((data, embedding), others, strict=True):
                block = stack.enter_context(space.open_block(rows))
                counter = None if points is None else RankCounter(block, points[part])
                ranker = FullRanker(block, stack.enter_context(buffer_pool.acquire())) if ordered else None
                sides.append(_Side(block, counter, ranker))
            _scan_tiles(sides, part, request, found, n)
            return _compare_ranks(sides, part, request, found, lock) if ordered else None

    spans = parallel.block_ranges(len(request.rows), size)
    for counts in progress.track_progress("Pairs", parallel.map_blocks(visit, spans), len(spans)):
        if counts is not None:
            found.larger_ranks += counts
    return found


@dataclass(frozen=True)
class _Side:
    """A block of rows in the data or on the map, with its counters."""

    block: DistanceBlock
    counter: RankCounter | None
    ranker: FullRanker | None

    def add_tile(self, first: int, last: int, own: tuple[Indices, Indices], with_distances: bool) -> Floats | None:
        """Add the points `first : last` to the counters; return their distances if `with_distances`."""
        if self.counter is None and self.ranker is None and not with_distances:
            return None
        keys, error_bounds = self.block.keys(first, last)
        # A row is not its own neighbour.
        keys[own] = np.inf
        if self.ranker is not None:
            self.ranker.add_keys(keys, error_bounds, first)
        if self.counter is not None:
            self.counter.add_keys(keys, error_bounds, first)
        if not with_distances:
            return None
        keys[own] = 0.0
        distances = self.block.distances(keys, first, last)
        distances[own] = 0.0
        return distances


def _scan_tiles(sides: list[_Side], part: slice, request: PairScanRequest, result: PairScanResult, n: int) -> None:
    """Fill the sums, counted ranks and sampled distances of some rows, tile by tile."""
    rows = request.rows[part]
    sums = np.zeros((len(rows), N_SUMS))
    for first, last in parallel.block_ranges(n, max(TILE_COLUMNS, BLOCK_ROWS * TILE_COLUMNS // len(rows))):
        at = np.flatnonzero((rows >= first) & (rows < last))
        own = at, rows[at] - first
        in_data, in_map = (side.add_tile(first, last, own, request.scales is not None) for side in sides)
        if in_data is not None:
            distance_sums(in_data, in_map, request.scales, sums)
    if request.scales is not None:
        result.sums[part] = _subtract_self_pairs(sums, request.scales)
    for side, ranks in zip(sides, (result.ranks_in_data, result.ranks_in_map), strict=True):
        if side.counter is not None:
            ranks[part] = side.counter.nearer + 1
    if request.sampled_points is not None:
        for side, distances in zip(sides, (result.data_distances, result.map_distances), strict=True):
            distances[part] = side.block.pair_distances(request.sampled_points[part])


def _subtract_self_pairs(sums: Floats, scales: Floats) -> Floats:
    """Subtract the contribution of each row's distance 0 to itself from the sums about the centres."""
    d, e = scales[5], scales[6]
    sums[:, 5:] -= [-d, -e, d * d, e * e, d * e]
    return sums


def _compare_ranks(
    sides: list[_Side], part: slice, request: PairScanRequest, result: PairScanResult, lock: Lock
) -> NDArray[np.int64]:
    """Fill the results of the full rankings of some rows; return the number of pairs by their larger rank."""
    counts = np.zeros_like(result.larger_ranks)
    weights = np.zeros(len(counts)) if request.rank_weights is None else request.rank_weights
    for row in range(len(request.rows[part])):
        ranks = [side.ranker.ranks(row) for side in sides if side.ranker is not None]
        result.weighted_counts[part.start + row] = count_larger_ranks(*ranks, weights, counts)
        if request.rank_pairs:
            with lock:
                count_rank_pairs(*ranks, result.rank_pairs)
    return counts
