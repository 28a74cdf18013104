"""Exact search: by comparing all pairs, or in few columns by a k-d tree.

Rows of numbers are compared by float32 matrix products, which bound the distances of all pairs (`ProductIndex`). Points that only
define distances, such as sparse or precomputed ones, are compared by blocks of their own distances (`DistanceBlockIndex`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tamiz.arrays import Floats, Indices
from tamiz.kernels.nearest_neighbors import (
    RUN_LENGTH,
    offer_duplicates,
    pair_distances,
    rerank_candidates,
    row_distances,
    scan_query,
    scan_tile_pairs,
    scan_tile_rows,
    select_nearest,
)
from tamiz.kernels.primitives import TIE_WIDTH, distance_keys
from tamiz.neighbors.base import (
    DistinctRows,
    EuclideanIndex,
    NeighborIndex,
    Neighbors,
    NeighborSearch,
    PairArrays,
    check_list_memory,
    check_pair_memory,
    evenly_spaced_rows,
    leading_directions,
    sort_lists,
    unsupported_points_message,
)
from tamiz.neighbors.points import Points
from tamiz.neighbors.precomputed import SparseDistances, StoredDistanceIndex
from tamiz.runtime import parallel, progress
from tamiz.runtime.validation import check_integer

Floats32 = NDArray[np.float32]
Output = TypeVar("Output")

# Largest number of points of a block, and rows of one product: the tile of a product stays in the cache until it is read.
_BLOCK_POINTS, TILE_ROWS = 2048, 256
# Least number of blocks, so that many threads can work on disjoint pairs of blocks.
_MIN_BLOCKS = 16


class BoundTiles:
    """Visits the bounds of all pairs of points, or of queries and points, in tiles."""

    def __init__(self, bounds: DistanceBounds) -> None:
        self.bounds = bounds
        n_padded = len(bounds.right_factors)
        size = max(RUN_LENGTH, min(_BLOCK_POINTS, -(-n_padded // (_MIN_BLOCKS * RUN_LENGTH)) * RUN_LENGTH))
        self.blocks = parallel.block_ranges(n_padded, size)
        self._buffers = parallel.BufferPool(lambda: np.empty(TILE_ROWS * size, dtype=np.float32))

    def map_point_tiles(self, visit: Callable[[NDArray[np.float32], int, int, bool], Output]) -> Iterator[Output]:
        """Yield `visit(tile, i, j, triangle)` for all tiles: entry (r, c) is the bound of the points i + r and j + c.

        Every pair of points is in one tile; in a tile with `triangle` only the entries i + r < j + c count. Two visits to the same
        points never run at the same time. The order of the visits is not fixed; the order of the results is.
        """
        locks = [threading.Lock() for _ in self.blocks]

        def visit_pair(pair: tuple[int, int]) -> list[Output]:
            (low, high), (block_start, block_stop) = pair, self.blocks[pair[1]]
            results = []
            with ExitStack() as stack:
                for block in sorted({low, high}):
                    stack.enter_context(locks[block])
                buffer = stack.enter_context(self._buffers.acquire())
                for start, stop in self._block_spans(low):
                    first = start if low == high else block_start
                    left = left_factors(self.bounds.right_factors[start:stop])
                    tile = self.bounds.tile(left, first, block_stop, buffer)
                    results.append(visit(tile, start, first, low == high))
            return results

        pairs = _tournament_rounds(len(self.blocks))
        for results in progress.track_progress("Neighbours", parallel.map_blocks(visit_pair, pairs), len(pairs)):
            yield from results

    def _block_spans(self, block: int) -> list[tuple[int, int]]:
        start, stop = self.blocks[block]
        stop = min(stop, self.bounds.n_points)
        return [(start + a, start + b) for a, b in parallel.block_ranges(stop - start, TILE_ROWS)]

    def query_tiles(self, right_factors: NDArray[np.floating]) -> Iterator[tuple[Floats32, int]]:
        """Yield the tiles of at most TILE_ROWS queries, each with the number of its first point; they share one buffer."""
        left = left_factors(right_factors)
        with self._buffers.acquire() as buffer:
            for start, stop in self.blocks:
                yield self.bounds.tile(left, start, stop, buffer), start


def _tournament_rounds(n_blocks: int) -> list[tuple[int, int]]:
    """Return all pairs of blocks: each block with itself, then rounds of a round-robin tournament, with disjoint pairs."""
    n_rounds = n_blocks + n_blocks % 2 - 1
    pairs = [(block, block) for block in range(n_blocks)]
    for around in range(n_rounds):
        met = [((around + step) % n_rounds, (around - step) % n_rounds) for step in range(1, (n_rounds + 1) // 2)]
        met += [(around, n_blocks - 1)] if n_blocks % 2 == 0 else []
        pairs += [(min(pair), max(pair)) for pair in met]
    return pairs


# Coordinates are scaled to about 2^20, so that their squares neither overflow nor underflow in float32.
SCALE_EXPONENT = 20
# Sample sizes: rows for the centre (their median), rows for the directions, rows and queries of the trial.
_CENTRE_ROWS, _DIRECTION_ROWS, _TRIAL_ROWS, _TRIAL_QUERIES = 1024, 2048, 2048, 16
# With fewer points all columns are used, without a trial.
_MIN_POINTS = 8192
# Number of neighbours that the trial assumes.
_TYPICAL_NEIGHBORS = 15
# Candidate numbers of directions for the product.
_PRODUCT_DIRECTIONS = (32, 64, 96, 128, 192)
# Measured nanoseconds on one thread: a column of a float32 product, a bound compared, and a distance computed.
_PRODUCT_NS, _BOUND_NS, _DISTANCE_NS = 0.028, 0.5, 200.0
_DISTANCE_COLUMN_NS = 0.8
# Ratio of all candidates of a search to those within the final limits; the limits decrease during the search.
_EARLY_CANDIDATE_FACTOR = 4.0


@dataclass(frozen=True)
class ContractiveProjection:
    """A map f of rows that lengthens no distance: |f(x) - f(y)| <= scale |x - y|, with a power of two as scale.

    Along `directions`, which are orthonormal up to `orthogonality_error` in the spectral norm, the coordinates are the
    projections and the length of the remainder. None uses all columns.
    """

    centre: Floats
    scale: float
    directions: Floats | None = None
    orthogonality_error: float = 0.0

    @property
    def relative_error(self) -> float:
        """Bound of the error of a row's float64 coordinates, relative to the length of the row."""
        if self.directions is None:
            return 2.0**-52
        n_columns, n_directions = self.directions.shape
        rotation = 1.01 * n_columns * np.sqrt(n_directions) * 2.0**-53
        # The remainder is the root of a difference, so its error is at most the root of the difference's error.
        return float(rotation + np.sqrt(self.orthogonality_error + 4 * rotation + 4 * n_columns * 2.0**-53))

    def project(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the coordinates, and the lengths of the centred rows."""
        centred = rows - self.centre
        centred *= self.scale
        squares = np.einsum("ij,ij->i", centred, centred)
        if self.directions is None:
            return centred, np.sqrt(squares)
        along = centred @ self.directions
        remainder = np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", along, along), 0.0))
        # Directions slightly longer than 1 would lengthen distances, so the coordinates are shortened.
        shrinkage = 1.0 - 2.0 * self.orthogonality_error
        return np.column_stack([along, remainder]) * shrinkage, np.sqrt(squares)


def choose_projection(points: DistinctRows) -> tuple[ContractiveProjection, type[np.floating]]:
    """Return the projection and the dtype of the product with the least estimated cost, from a trial on a few rows."""
    values = points.values
    # The median, because one outlier would move the mean far from all rows and enlarge their rounding errors.
    centre = np.median(values[evenly_spaced_rows(len(values), _CENTRE_ROWS)], axis=0)
    scale = float(np.ldexp(1.0, SCALE_EXPONENT - 1 - int(np.frexp(points.max_abs)[1])))
    identity = ContractiveProjection(centre, scale)
    if len(values) < _MIN_POINTS:
        return identity, np.float32
    trial = _CostTrial(values, identity)
    costs: list[tuple[float, ContractiveProjection, type[np.floating]]] = [
        (trial.cost(identity, 2.0**-24), identity, np.float32),
        (trial.cost(identity, 2.0**-53), identity, np.float64),
    ]
    if values.shape[1] >= 4 * _PRODUCT_DIRECTIONS[0]:
        directions, error = _projection_directions(values, identity)
        for n_directions in _PRODUCT_DIRECTIONS:
            if 3 * n_directions <= values.shape[1]:
                leading = np.ascontiguousarray(directions[:, :n_directions])
                projection = ContractiveProjection(centre, scale, leading, error)
                costs.append((trial.cost(projection, 2.0**-24), projection, np.float32))
    _, projection, dtype = min(costs, key=lambda entry: entry[0])
    return projection, dtype


class _CostTrial:
    """Estimates the cost of a search with a projection, from a few queries and rows."""

    def __init__(self, values: Floats, identity: ContractiveProjection) -> None:
        self.n_points, self.n_columns = values.shape
        self.queries = values[evenly_spaced_rows(self.n_points, _TRIAL_QUERIES)]
        sampled = evenly_spaced_rows(self.n_points, _TRIAL_ROWS)
        self.rows = values[sampled]

        def squares(query: int) -> tuple[Floats, float]:
            dist = np.empty(self.n_points)
            row_distances(self.queries, query, values, dist)
            dist *= identity.scale
            dist *= dist
            return dist[sampled], float(np.partition(dist, _TYPICAL_NEIGHBORS)[_TYPICAL_NEIGHBORS])

        results = list(parallel.map_blocks(squares, range(len(self.queries))))
        self.squares = np.array([row for row, _ in results])
        self.limits = np.array([[limit] for _, limit in results])

    def cost(self, projection: ContractiveProjection, unit_roundoff: float) -> float:
        """Return the estimated seconds on one thread for all pairs of points."""
        (coordinates, lengths), (row_coordinates, row_lengths) = (
            projection.project(self.queries),
            projection.project(self.rows),
        )
        width = coordinates.shape[1] + 2
        rounding = (
            4.0
            * (width * unit_roundoff + projection.relative_error + unit_roundoff)
            * (lengths[:, None] ** 2 + row_lengths**2)
        )
        product = width * _PRODUCT_NS * (1 if unit_roundoff > 2.0**-53 else 2)
        distance = _DISTANCE_NS + self.n_columns * _DISTANCE_COLUMN_NS
        n_directions = 0 if projection.directions is None else projection.directions.shape[1]
        squares = _squared_distances(coordinates, row_coordinates) if n_directions else self.squares
        pair = product + _BOUND_NS
        pair += _EARLY_CANDIDATE_FACTOR * distance * np.mean(squares - rounding <= self.limits)
        rotation = 2.0 * self.n_points * self.n_columns * n_directions * 2 * _PRODUCT_NS
        return 1e-9 * (float(pair) * 0.5 * self.n_points**2 + rotation)


def _squared_distances(a: Floats, b: Floats) -> Floats:
    return np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b) - 2.0 * a @ b.T


def _projection_directions(values: Floats, identity: ContractiveProjection) -> tuple[Floats, float]:
    """Return directions of large variance, the largest first, and the bound of their deviation from orthonormality.

    The directions affect the time of a search, not its result.
    """
    rows, _ = identity.project(values[evenly_spaced_rows(len(values), _DIRECTION_ROWS)])
    rough = leading_directions(rows.astype(np.float32), min(_PRODUCT_DIRECTIONS[-1], rows.shape[1]))
    # Orthonormalised in float64, because a deviation weakens the bounds.
    directions = np.ascontiguousarray(np.linalg.qr(rough.astype(np.float64))[0])
    gram = directions.T @ directions
    np.fill_diagonal(gram, gram.diagonal() - 1.0)
    return directions, float(np.linalg.norm(gram)) + gram.size * 2.0**-53 * len(directions) / len(gram)


# Values per block of work.
_CHUNK_VALUES = 2**18
# Queries farther from the centre than this multiple of the farthest point are compared with all points directly.
_FAR_FACTOR = 2.0**20
_UNIT_ROUNDOFF = {np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}


class DistanceBounds:
    """Lower bounds of the squared distances between rows, times the square of a scale.

    |f - g|^2 = |f|^2 + |g|^2 - 2 f.g is the inner product of (-2 f, |f|^2, 1) and (g, 1, |g|^2). The squared lengths are reduced
    by the largest possible rounding error. With u the unit roundoff, m the length of the product, z the centred row and e |z| the
    error of its coordinates:

    * the product is off by at most m u / (1 - m u) times the sum of the absolute values of its terms, which is at most
      2 |f|^2 + 2 |g|^2, in any order of summation (Higham 2002, section 3.1);
    * errors of e |z| in the coordinates increase |f - g|^2 by at most 4 e (1 + e) (|z|^2 + |z'|^2);
    * the squared lengths, summed in float64, have a relative error of at most m 2^-53.

    Each term is a sum of a part for each of the two rows, so it can be subtracted from their squared lengths. A pair whose bound
    is above the square of a distance is farther apart than this distance.

    Parameters
    ----------
    values : ndarray of shape (n_points, n_columns)
    projection : ContractiveProjection
    dtype : {numpy.float32, numpy.float64}
        Type of the product. The bounds are float32 in both cases.

    Attributes
    ----------
    n_points : int
    right_factors : ndarray of shape (n_points padded to a multiple of RUN_LENGTH, m)
        The rows (g, 1, |g|^2). Padding rows are NaN, so that they compare as not near.
    bound_factor : float
        A pair at distance d, or at one that is a tie with d, has a bound of at most bound_factor d^2, including rounding.
    """

    def __init__(
        self, values: Floats, projection: ContractiveProjection, dtype: type[np.floating] = np.float32
    ) -> None:
        self.projection = projection
        self.dtype = np.dtype(dtype)
        self.n_points = n_points = len(values)
        self.width = projection.project(values[:0])[0].shape[1] + 2
        unit = _UNIT_ROUNDOFF[self.dtype]
        error = projection.relative_error + 1.01 * unit
        self._loss = 1.05 * (2.0 * self.width * unit / (1.0 - self.width * unit) + 4.0 * error + self.width * 2.0**-53)
        # Margin for the rounding of a computed distance, and of a limit to float32, and for ties.
        rounding = 2.0**-22 + 2.0 * 16 * 2.0**-24 + 4.0 * (values.shape[1] + 16) * 2.0**-53 + 4.0 * TIE_WIDTH
        self.bound_factor = projection.scale**2 * (1.0 + rounding)
        self.right_factors = np.empty((-(-n_points // RUN_LENGTH) * RUN_LENGTH, self.width), dtype=self.dtype)
        self.right_factors[n_points:] = np.nan

        def fill(span: tuple[int, int]) -> None:
            part = slice(*span)
            self._fill_factors(values[part], self.right_factors[part])

        parallel.run_blocks(fill, parallel.block_ranges(n_points, 1 + _CHUNK_VALUES // max(values.shape[1], 1)))

    def _fill_factors(self, rows: Floats, right: NDArray[np.floating]) -> None:
        """Fill the factors (g, 1, |g|^2)."""
        coordinates, lengths = self.projection.project(rows)
        right[:, :-2] = coordinates
        right[:, -2] = 1.0
        rounded = right[:, :-2]
        squares = np.einsum("ij,ij->i", rounded, rounded, dtype=np.float64)
        squares -= self._loss * np.maximum(squares, lengths * lengths) + self.width * 2.0**-120
        right[:, -1] = squares
        np.nextafter(right[:, -1], self.dtype.type(-np.inf), out=right[:, -1])

    def query_factors(self, rows: Floats) -> NDArray[np.floating]:
        """Return the factors of new rows; those of a row too far away are NaN."""
        right = np.empty((len(rows), self.width), dtype=self.dtype)
        farthest = np.abs(rows - self.projection.centre).max(axis=1, initial=0.0)
        far = np.flatnonzero(farthest > _FAR_FACTOR * 2.0**SCALE_EXPONENT / self.projection.scale)
        if len(far):
            rows = rows.copy()
            rows[far] = self.projection.centre
        self._fill_factors(rows, right)
        right[far] = np.nan
        return right

    def tile(self, left: NDArray[np.floating], start: int, stop: int, buffer: Floats32) -> Floats32:
        """Return the bounds between rows, given by their `left_factors`, and the points start : stop, in runs."""
        shape = len(left), stop - start
        tile = buffer[: shape[0] * shape[1]].reshape(shape)
        if self.dtype == np.float32:
            np.dot(left, self.right_factors[start:stop].T, out=tile)
        else:
            # Rounding to float32 may increase a bound by 2^-24 of itself, which the factor corrects; negative bounds need nothing.
            np.multiply(left @ self.right_factors[start:stop].T, 1.0 - 2.0**-22, out=tile, casting="same_kind")
        return tile.reshape(shape[0], -1, RUN_LENGTH)


def left_factors(right_factors: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the rows (-2 f, |f|^2, 1) for rows (f, 1, |f|^2)."""
    left = np.empty_like(right_factors)
    np.multiply(right_factors[:, :-2], -2.0, out=left[:, :-2])
    left[:, -2], left[:, -1] = right_factors[:, -1], 1.0
    return left


# Largest number of distances of one block.
_BLOCK_DISTANCES = 2**20
# Rows on which the number of pairs within a radius is estimated.
_SAMPLE_ROWS = 64


class DistanceBlockIndex(NeighborIndex):
    """Points under any metric, compared by blocks of distances."""

    description = "exact, by blocks of distances"

    def __init__(self, points: Points) -> None:
        self.points = points

    def _row_spans(self, n_rows: int) -> list[tuple[int, int]]:
        return parallel.block_ranges(n_rows, 1 + _BLOCK_DISTANCES // self.points.n_samples)

    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return the k nearest points of every query, or of every point among the others."""
        query_points, n_points = self.points if queries is None else queries, self.points.n_samples
        n_queries = query_points.n_samples
        check_integer("n_neighbors", k, low=1, high=n_points - (queries is None))
        check_list_memory(n_queries, k)
        dist, rows = np.full((n_queries, k), np.inf), np.full((n_queries, k), n_points, dtype=np.int32)

        def search(span: tuple[int, int]) -> None:
            block = np.ascontiguousarray(self.points.block(query_points, *span))
            part = slice(*span)
            own = span[0] if queries is None else n_points
            select_nearest(block, own, dist[part].reshape(-1), rows[part].reshape(-1), k)

        spans = self._row_spans(n_queries)
        for _ in progress.track_progress("Neighbours", parallel.map_blocks(search, spans), len(spans)):
            pass
        sort_lists(dist.reshape(-1), rows.reshape(-1), np.arange(0, dist.size + 1, k))
        return Neighbors.from_arrays(rows, dist, n_points)

    def query_radius(self, radius: float, queries: Points | None = None) -> Neighbors:
        query_points = self.points if queries is None else queries
        self._check_result_size(radius, query_points)

        def search(span: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, Floats]:
            block = self.points.block(query_points, *span)
            within = block <= radius * (1.0 + TIE_WIDTH)
            if queries is None:
                within[np.arange(len(block)), np.arange(*span)] = False
            rows, points = np.nonzero(within)
            dist = block[within]
            # lexsort is stable, so ties stay ordered by the lower row.
            by_distance = np.lexsort((distance_keys(dist), rows))
            return np.count_nonzero(within, axis=1), points[by_distance].astype(np.int32), dist[by_distance]

        spans = self._row_spans(query_points.n_samples)
        found = list(progress.track_progress("Neighbours", parallel.map_blocks(search, spans), len(spans)))
        if not found:
            return Neighbors(
                np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), self.points.n_samples
            )
        counts, points, dist = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Neighbors(np.concatenate([[0], np.cumsum(counts)]), points, dist, self.points.n_samples)

    def _check_result_size(self, radius: float, queries: Points) -> None:
        """Raise MemoryError if the lists would not fit into memory, estimated on a sample of rows."""
        n_rows = queries.n_samples
        sampled = evenly_spaced_rows(n_rows, _SAMPLE_ROWS)
        sample = queries.take(sampled)
        n_pairs = sum(
            float(np.count_nonzero(self.points.block(sample, start, stop) <= radius * (1.0 + TIE_WIDTH)))
            for start, stop in self._row_spans(sample.n_samples)
        ) * (n_rows / max(len(sampled), 1))
        check_pair_memory(n_pairs, radius)


class BruteForce(NeighborSearch):
    """Exact nearest neighbours by comparing all pairs.

    Notes
    -----
    Cost O(n^2 p). Matrix products in float32 yield a lower bound of every distance. Distances are computed, in float64, only for
    pairs whose bound is small enough. If a few directions contain most of the variance of many columns, the products use these
    directions. The result equals that of computing every distance, to the bit: the k nearest by distance, ties ordered by the
    lower row. Points that are not rows of numbers are compared by blocks of their own distances.

    References
    ----------
    Higham (2002), Accuracy and Stability of Numerical Algorithms, section 3.1, for the bound.

    Examples
    --------
    >>> from tamiz.neighbors import BruteForce
    >>> from tamiz.neighbors.points import EuclideanPoints
    >>> BruteForce().fit(EuclideanPoints([[0.0], [1.0], [3.0]])).query(1).indices
    array([1, 0, 1], dtype=int32)
    """

    def fit(self, points: Points) -> NeighborIndex:
        """Build an index of the points."""
        if isinstance(points, SparseDistances):
            return StoredDistanceIndex(points)
        values = points.euclidean_values()
        return DistanceBlockIndex(points) if values is None else ProductIndex(points, DistinctRows(values))

    def estimate_seconds(self, n_points: int, n_columns: int) -> float:
        """Return the estimated seconds on one core for the neighbours of all points, with products over all columns."""
        return 0.5e-9 * n_points**2 * (0.03 * (n_columns + 2) + 0.6)


class ProductIndex(EuclideanIndex):
    """Points with Euclidean coordinates, compared by blocks of matrix products."""

    description = "exact, by matrix products"

    def __init__(self, points: Points, distinct: DistinctRows) -> None:
        super().__init__(points, distinct)
        self.bounds = DistanceBounds(distinct.values, *choose_projection(distinct))
        self._tiles = BoundTiles(self.bounds)

    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of every point, including the rows equal to it."""
        bounds = self.bounds
        dist, rows = self._empty_lists(bounds.n_points, size)
        limits = np.full((len(bounds.right_factors) // RUN_LENGTH, RUN_LENGTH), np.inf, dtype=np.float32)
        state = self.distinct.members, self.distinct.starts, limits, dist, rows, size
        offer_duplicates(bounds.bound_factor, *state)

        def scan(tile: NDArray[np.float32], row_start: int, column_start: int, triangle: bool) -> None:  # noqa: ARG001
            scan_tile_pairs(tile, row_start, column_start, self.distinct.values, bounds.bound_factor, *state)

        for _ in self._tiles.map_point_tiles(scan):
            pass
        sort_lists(dist, rows, np.arange(0, len(dist) + 1, size))
        return dist, rows

    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of other rows, given at the scale of the points; equal rows are included."""
        dist, rows = self._empty_lists(len(values), size)
        groups = self.distinct.members, self.distinct.starts

        def search(span: tuple[int, int]) -> None:
            part, entries = values[slice(*span)], slice(span[0] * size, span[1] * size)
            right = self.bounds.query_factors(part)
            limits = np.full((1, len(part)), np.inf, dtype=np.float32)
            heaps = dist[entries], rows[entries], size
            for tile, first_point in self._tiles.query_tiles(right):
                scan_tile_rows(
                    tile, first_point, part, self.distinct.values, self.bounds.bound_factor, *groups, limits, *heaps
                )
            for far in np.flatnonzero(np.isnan(right[:, -1])):
                scan_query(part, far, self.distinct.values, *groups, *heaps)

        spans = parallel.block_ranges(len(values), TILE_ROWS)
        for _ in progress.track_progress("Neighbours", parallel.map_blocks(search, spans), len(spans)):
            pass
        sort_lists(dist, rows, np.arange(0, len(dist) + 1, size))
        return dist, rows

    def _empty_lists(self, n_lists: int, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return empty lists: distances of inf and rows of n_samples."""
        return np.full(n_lists * size, np.inf), np.full(n_lists * size, self.points.n_samples, dtype=np.int32)

    def pairs_within(self, values: Floats, max_distance: float) -> Iterator[PairArrays]:
        # The limit must stay within the range of float32.
        limit = np.float32(min(max_distance * max_distance * self.bounds.bound_factor, 3e38))

        def pairs(span: tuple[int, int]) -> list[PairArrays]:
            part, found = values[slice(*span)], []
            right = self.bounds.query_factors(part)

            def keep(rows: NDArray[np.int32], points: NDArray[np.int32]) -> None:
                dist = np.empty(len(rows))
                pair_distances(part, rows, self.distinct.values, points, dist)
                near = dist <= max_distance
                found.append((rows[near] + np.int32(span[0]), points[near], dist[near]))

            for tile, first_point in self._tiles.query_tiles(right):
                rows, places = np.divmod(np.flatnonzero(tile <= limit), tile[0].size)
                keep(rows.astype(np.int32), (first_point + places).astype(np.int32))
            every = np.arange(self.distinct.n_points, dtype=np.int32)
            for far in np.flatnonzero(np.isnan(right[:, -1])):
                keep(np.full(len(every), far, dtype=np.int32), every)
            return found

        spans = parallel.block_ranges(len(values), TILE_ROWS)
        for found in progress.track_progress("Neighbours", parallel.map_blocks(pairs, spans), len(spans)):
            yield from found


# Largest number of columns in which a k-d tree can skip most points, for rows near a surface of few dimensions.
_MAX_COLUMNS = 15
# Candidates requested beyond the wanted neighbours: at first, and for rows whose result is then uncertain because of ties.
_MARGINS = (8, 64)
# The tree sums squares in another order, so its distances may differ from ours and their ties by less than this share.
_DISTANCE_TOLERANCE = 2.0 * TIE_WIDTH
# Queries per block of work.
_QUERY_BATCH = 1024
# Squares of larger values would overflow in the tree.
_MAX_ABS_VALUE = 1e150


class KDTree(NeighborSearch):
    """Exact nearest neighbours by a k-d tree, in at most 15 columns.

    Notes
    -----
    Cost O(n log n) in two or three columns, about doubled by each further column that the rows fill. Distances and ties are those
    of `BruteForce`, to the bit: distances of the tree's candidates are recomputed, and if ties make a row's result uncertain, the
    row is searched again with more candidates and at last compared with all rows.

    References
    ----------
    Friedman, Bentley and Finkel (1977), An algorithm for finding best matches in logarithmic expected time, ACM Transactions on
    Mathematical Software 3.

    Examples
    --------
    >>> from tamiz.neighbors import KDTree
    >>> from tamiz.neighbors.points import EuclideanPoints
    >>> KDTree().fit(EuclideanPoints([[0.0], [1.0], [3.0]])).query(1).indices
    array([1, 0, 1], dtype=int32)
    """

    def unsupported_reason(self, points: Points) -> str | None:
        """Return why the points are not supported, or None: the tree requires 1 to 15 columns of numbers."""
        values = points.euclidean_values()
        if values is None:
            return unsupported_points_message(self, points)
        if 1 <= values.shape[1] <= _MAX_COLUMNS:
            return None
        return f"KDTree requires 1 to {_MAX_COLUMNS} columns, got {values.shape[1]:,}. Use BruteForce()."

    def fit(self, points: Points) -> KDTreeIndex:
        """Build an index of the points."""
        values = points.euclidean_values()
        assert values is not None
        return KDTreeIndex(points, DistinctRows(values))

    def estimate_seconds(self, n_points: int, n_columns: int) -> float:
        """Return the estimated seconds on one core for the neighbours of all points, for rows that fill the columns."""
        return 1.3e-6 * n_points * 2.0**n_columns * (n_points / 1e5) ** 0.4


class KDTreeIndex(EuclideanIndex):
    """A k-d tree of points with few Euclidean coordinates."""

    description = "exact, by a k-d tree"

    def __init__(self, points: Points, distinct: DistinctRows) -> None:
        super().__init__(points, distinct)
        self._tree = cKDTree(distinct.values, balanced_tree=False)

    @cached_property
    def _brute_force(self) -> ProductIndex:
        return ProductIndex(self.points, self.distinct)

    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of every point, including the rows equal to it."""
        return self.nearest_to_rows(self.distinct.values, size)

    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of other rows; equal rows are included."""
        dist = np.full((len(values), size), np.inf)
        rows = np.full((len(values), size), self.points.n_samples, dtype=np.int32)
        in_range = np.abs(values).max(axis=1) <= _MAX_ABS_VALUE
        uncertain = np.flatnonzero(in_range)
        for margin in _MARGINS:
            uncertain = self._query_tree(values, uncertain, dist, rows, margin)
        others = np.concatenate([uncertain, np.flatnonzero(~in_range)])
        if len(others):
            found = self._brute_force.nearest_to_rows(values[others], size)
            dist[others], rows[others] = (part.reshape(-1, size) for part in found)
        return dist.reshape(-1), rows.reshape(-1)

    def _query_tree(
        self, values: Floats, queries: Indices, dist: Floats, rows: NDArray[np.int32], margin: int
    ) -> Indices:
        """Fill the lists of some rows from the tree's candidates; return the rows that may have other neighbours."""
        distinct, size = self.distinct, dist.shape[1]
        n_candidates = min(distinct.n_points, size + margin)

        def search(span: tuple[int, int]) -> Indices:
            part = queries[slice(*span)]
            tree_dist, candidates = self._tree.query(values[part], k=np.arange(1, n_candidates + 1))
            heaps = np.full(len(part) * size, np.inf), np.full(len(part) * size, self.points.n_samples, dtype=np.int32)
            groups = distinct.members, distinct.starts
            rerank_candidates(values[part], distinct.values, candidates.astype(np.int32), *groups, *heaps, size)
            sort_lists(*heaps, np.arange(0, len(part) * size + 1, size))
            dist[part], rows[part] = (heap.reshape(-1, size) for heap in heaps)
            if n_candidates == distinct.n_points:
                return part[:0]
            return part[dist[part, -1] * (1.0 + _DISTANCE_TOLERANCE) >= tree_dist[:, -1]]

        spans = parallel.block_ranges(len(queries), _QUERY_BATCH)
        uncertain = list(progress.track_progress("Neighbours", parallel.map_blocks(search, spans), len(spans)))
        return np.concatenate(uncertain) if uncertain else queries

    def pairs_within(self, values: Floats, max_distance: float) -> Iterator[PairArrays]:
        if np.abs(values).max(initial=0.0) > _MAX_ABS_VALUE:
            return self._brute_force.pairs_within(values, max_distance)

        def pairs(span: tuple[int, int]) -> PairArrays:
            part_tree = cKDTree(values[slice(*span)], balanced_tree=False)
            candidates = part_tree.sparse_distance_matrix(
                self._tree, max_distance * (1.0 + _DISTANCE_TOLERANCE), output_type="ndarray"
            )
            rows, points = (candidates[side].astype(np.int32) for side in ("i", "j"))
            rows += np.int32(span[0])
            dist = np.empty(len(rows))
            pair_distances(values, rows, self.distinct.values, points, dist)
            kept = dist <= max_distance
            return rows[kept], points[kept], dist[kept]

        spans = parallel.block_ranges(len(values), _QUERY_BATCH)
        return progress.track_progress("Neighbours", parallel.map_blocks(pairs, spans), len(spans))


def choose_exact_search(points: Points) -> KDTree | BruteForce:
    """Return the exact search with the least estimated time."""
    tree, exact, values = KDTree(), BruteForce(), points.euclidean_values()
    if values is None or tree.unsupported_reason(points) is not None:
        return exact
    return tree if tree.estimate_seconds(*values.shape) < exact.estimate_seconds(*values.shape) else exact
