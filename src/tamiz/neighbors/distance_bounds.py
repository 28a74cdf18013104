"""Bounds below the squared distances of all pairs, by products of matrices in float32."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.nearest_neighbors import RUN_LENGTH, row_distances
from tamiz.neighbors.search_rows import DistinctRows, evenly_spaced_rows, leading_directions
from tamiz.runtime import parallel, progress
from tamiz.statistics.base import Floats

# MERGED: Tiles: the bounds of some rows and some points, visited until all pairs have been.
# Points of one block, at most, and rows of one product: a tile stays in the cache that its product left it in.
_BLOCK_POINTS, TILE_ROWS = 2048, 256
# Blocks that there should be, so that many threads find pairs of blocks that do not meet.
_MIN_BLOCKS = 16

Output = TypeVar("Output")


class BoundTiles:
    """The tiles of points among themselves, and of queries and points."""

    def __init__(self, bounds: DistanceBounds) -> None:
        self.bounds = bounds
        n_padded = len(bounds.right_factors)
        size = max(RUN_LENGTH, min(_BLOCK_POINTS, -(-n_padded // (_MIN_BLOCKS * RUN_LENGTH)) * RUN_LENGTH))
        self.blocks = parallel.block_ranges(n_padded, size)
        self._buffers = parallel.BufferPool(partial(_new_buffer, TILE_ROWS * size))

    def map_point_tiles(self, visit: Callable[[NDArray[np.float32], int, int, bool], Output]) -> Iterator[Output]:
        """Yield `visit(tile, i, j, triangle)` for all tiles: row r and candidate c are the points i + r and j + c.

        Every pair of points is in one tile; of a triangle the half i + r < j + c counts. Two visits to the same points are
        never made at a time; their order is not fixed, that of the answers is.
        """
        locks = [threading.Lock() for _ in self.blocks]

        def compare(pair: tuple[int, int]) -> list[Output]:
            (low, high), (begun, end) = pair, self.blocks[pair[1]]
            answers = []
            with ExitStack() as stack:
                for block in sorted({low, high}):
                    stack.enter_context(locks[block])
                room = stack.enter_context(self._buffers.borrow())
                for start, stop in self._block_spans(low):
                    first = start if low == high else begun
                    tile = self.bounds.tile(left_factors(self.bounds.right_factors[start:stop]), first, end, room)
                    answers.append(visit(tile, start, first, low == high))
            return answers

        pairs = _tournament_rounds(len(self.blocks))
        for answers in progress.track_progress("Neighbours", parallel.map_blocks(compare, pairs), len(pairs)):
            yield from answers

    def _block_spans(self, block: int) -> list[tuple[int, int]]:
        start, stop = self.blocks[block]
        stop = min(stop, self.bounds.n_points)
        return [(start + a, start + b) for a, b in parallel.block_ranges(stop - start, TILE_ROWS)]

    def query_tiles(self, right_factors: NDArray[np.floating]) -> Iterator[tuple[Floats32, int]]:
        """Yield the tiles of at most ROWS queries, each with the point that its first candidate is; they share one room."""
        left = left_factors(right_factors)
        with self._buffers.borrow() as room:
            for begun, end in self.blocks:
                yield self.bounds.tile(left, begun, end, room), begun


def _new_buffer(size: int) -> Floats32:
    return np.empty(size, dtype=np.float32)


def _tournament_rounds(n_blocks: int) -> list[tuple[int, int]]:
    """Return all pairs of blocks, in rounds in which no block is twice, as in a tournament; first each with itself."""
    n_places = n_blocks + n_blocks % 2 - 1
    pairs = [(block, block) for block in range(n_blocks)]
    for around in range(n_places):
        met = [((around + step) % n_places, (around - step) % n_places) for step in range(1, (n_places + 1) // 2)]
        met += [(around, n_blocks - 1)] if n_blocks % 2 == 0 else []
        pairs += [(min(pair), max(pair)) for pair in met]
    return pairs


# MERGED: Maps of rows that make no distance longer, and the choice of the cheapest one to search by.
# Coordinates are brought to about 2^20: their squares neither overflow in float32 nor vanish.
SCALE_EXPONENT = 20
# Rows that the centre is the median of, that directions are taken from, and that a choice is tried on.
_CENTRE_ROWS, _DIRECTION_ROWS, _TRIAL_ROWS, _TRIAL_QUERIES = 1024, 2048, 2048, 16
# With fewer points all columns are taken without trying.
_MIN_POINTS = 8192
# Neighbours that a choice is made for.
_TYPICAL_NEIGHBORS = 15
# Directions of the product, and of the finer coordinates behind it.
_PRODUCT_DIRECTIONS = (32, 64, 96, 128, 192)
_MAX_DIRECTIONS = 256
# Nanoseconds of one thread: a column of a float32 product, a bound looked at, a finer bound, and a distance measured.
_PRODUCT_NS, _BOUND_NS, _FINE_BOUND_NS, _DISTANCE_NS = 0.028, 0.5, 70.0, 200.0
_DISTANCE_COLUMN_NS = 0.8
# Candidates looked at before the limits have come down, in units of those that are within them at the end.
_EARLY_CANDIDATE_FACTOR = 4.0


@dataclass(frozen=True)
class ContractiveProjection:
    """A map of rows that makes no distance longer: |f(x) - f(y)| <= scale |x - y|.

    Attributes
    ----------
    centre : ndarray of shape (n_columns,)
    scale : float
        A power of two.
    directions : ndarray of shape (n_columns, n_directions) or None
        Orthonormal up to rounding. Coordinates are those along the directions, and the length of what is left; None is all
        columns as they are.
    n_product_directions : int
        Directions that go into the product of matrices; the others and what is left beyond them are the finer coordinates.
    orthogonality_error : float
        How far the directions are from orthonormal, in the spectral norm.
    """

    centre: Floats
    scale: float
    directions: Floats | None = None
    n_product_directions: int = 0
    orthogonality_error: float = 0.0

    @property
    def relative_error(self) -> float:
        """The error of a row's coordinates in float64, in units of the length of the row."""
        if self.directions is None:
            return 2.0**-52
        n_columns, n_directions = self.directions.shape
        rotation = 1.01 * n_columns * np.sqrt(n_directions) * 2.0**-53
        # The length of what is left is the root of a difference; the root of its error, where all of it is error.
        return float(rotation + np.sqrt(self.orthogonality_error + 4 * rotation + 4 * n_columns * 2.0**-53))

    def project(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        """Return coordinates for the product, finer ones, and the lengths of the rows about the centre."""
        about = rows - self.centre
        about *= self.scale
        squares = np.einsum("ij,ij->i", about, about)
        if self.directions is None:
            return about, about[:, :0], np.sqrt(squares)
        # Directions that are a little too long would make distances so.
        along = about @ self.directions
        front, fine = (
            np.column_stack([part, np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", part, part), 0.0))])
            for part in (along[:, : self.n_product_directions], along)
        )
        shorter = 1.0 - 2.0 * self.orthogonality_error
        return front * shorter, fine * shorter, np.sqrt(squares)


def choose_projection(points: DistinctRows) -> tuple[ContractiveProjection, type[np.floating]]:
    """Return the chart and the type of the product that cost least, tried on a few rows."""
    values = points.values
    # The median: a mean would lie far from all rows for the sake of one, and every row's rounding with it.
    centre = np.median(values[evenly_spaced_rows(len(values), _CENTRE_ROWS)], axis=0)
    scale = float(np.ldexp(1.0, SCALE_EXPONENT - 1 - int(np.frexp(points.max_abs)[1])))
    plain = ContractiveProjection(centre, scale)
    if len(values) < _MIN_POINTS:
        return plain, np.float32
    trial = _CostTrial(values, plain)
    costs: list[tuple[float, ContractiveProjection, type[np.floating]]] = [
        (trial.cost(plain, 2.0**-24), plain, np.float32),
        (trial.cost(plain, 2.0**-53), plain, np.float64),
    ]
    if values.shape[1] >= 4 * _PRODUCT_DIRECTIONS[0]:
        directions, defect = _projection_directions(values, plain)
        for n_front in _PRODUCT_DIRECTIONS:
            if 3 * n_front <= values.shape[1]:
                chart = ContractiveProjection(centre, scale, directions, n_front, defect)
                costs.append((trial.cost(chart, 2.0**-24), chart, np.float32))
    _, chart, dtype = min(costs, key=lambda entry: entry[0])
    return chart, dtype


class _CostTrial:
    """What a search by a chart would cost, tried on a few rows."""

    def __init__(self, values: Floats, identity: ContractiveProjection) -> None:
        self.n_points, self.n_columns = values.shape
        self.queries = values[evenly_spaced_rows(self.n_points, _TRIAL_QUERIES)]
        near = evenly_spaced_rows(self.n_points, _TRIAL_ROWS)
        self.rows = values[near]

        def squares(query: int) -> tuple[Floats, float]:
            dist = np.empty(self.n_points)
            row_distances(self.queries, query, values, dist)
            dist *= identity.scale
            dist *= dist
            return dist[near], float(np.partition(dist, _TYPICAL_NEIGHBORS)[_TYPICAL_NEIGHBORS])

        tried = list(parallel.map_blocks(squares, range(len(self.queries))))
        self.squares = np.array([one for one, _ in tried])
        self.limits = np.array([[limit] for _, limit in tried])

    def cost(self, projection: ContractiveProjection, unit_roundoff: float) -> float:
        """Return the seconds of one thread that all pairs of points take."""
        (front, fine, lengths), (near_front, near_fine, near_lengths) = (
            projection.project(self.queries),
            projection.project(self.rows),
        )
        width = front.shape[1] + 2
        lost = (
            4.0
            * (width * unit_roundoff + projection.relative_error + unit_roundoff)
            * (lengths[:, None] ** 2 + near_lengths**2)
        )
        product = width * _PRODUCT_NS * (1 if unit_roundoff > 2.0**-53 else 2)
        measured = _DISTANCE_NS + self.n_columns * _DISTANCE_COLUMN_NS
        if projection.directions is None:
            each = (
                product + _BOUND_NS + _EARLY_CANDIDATE_FACTOR * measured * np.mean(self.squares - lost <= self.limits)
            )
            return float(each) * self._billion_pairs()
        bounds = _squared_distances(front, near_front) - lost
        finer = _squared_distances(fine, near_fine)
        each = product + _BOUND_NS + _EARLY_CANDIDATE_FACTOR * _FINE_BOUND_NS * np.mean(bounds <= self.limits)
        each += _EARLY_CANDIDATE_FACTOR * measured * np.mean(finer <= self.limits)
        rotation = 2.0 * self.n_points * self.n_columns * projection.directions.shape[1] * 2 * _PRODUCT_NS
        return float(each) * self._billion_pairs() + rotation * 1e-9

    def _billion_pairs(self) -> float:
        return 0.5e-9 * self.n_points**2


def _squared_distances(a: Floats, b: Floats) -> Floats:
    return np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b) - 2.0 * a @ b.T


def _projection_directions(values: Floats, identity: ContractiveProjection) -> tuple[Floats, float]:
    """Return directions of large variance of some rows, the largest first, and how far they are from orthonormal.

    Which directions they are decides the time, not the result.
    """
    rows, _, _ = identity.project(values[evenly_spaced_rows(len(values), _DIRECTION_ROWS)])
    rough = leading_directions(rows.astype(np.float32), min(_MAX_DIRECTIONS, rows.shape[1]))
    # Orthonormal in float64: bounds lose what the directions lack of it.
    found = np.ascontiguousarray(np.linalg.qr(rough.astype(np.float64))[0])
    gram = found.T @ found
    np.fill_diagonal(gram, gram.diagonal() - 1.0)
    return found, float(np.linalg.norm(gram)) + gram.size * 2.0**-53 * len(found) / len(gram)


Floats32 = NDArray[np.float32]

# Numbers of one piece of work.
_CHUNK_VALUES = 2**18
# Rows farther from the centre than this many times the farthest of the points are measured one by one.
_FAR_FACTOR = 2.0**20
_UNIT_ROUNDOFF = {np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}


class DistanceBounds:
    """Numbers that no squared distance between two rows falls below, times the square of a scale.

    |f - g|^2 = |f|^2 + |g|^2 - 2 f.g is the product of (-2 f, |f|^2, 1) and (g, 1, |g|^2). From the squared lengths is
    taken what rounding can add to it: with u the unit of rounding, m the length of the product and e |z| the error of a
    row's coordinates, z being the row about the centre,

    * the product is off by at most m u / (1 - m u) times the sum of the absolute values of its terms, which is at most
      2 |f|^2 + 2 |g|^2, whatever order BLAS adds them in (Higham 2002, section 3.1);
    * coordinates that are off by e |z| each make |f - g|^2 longer by at most 4 e (1 + e) (|z|^2 + |z'|^2);
    * the squared lengths, summed in float64, are off by m 2^-53 of themselves.

    Each is a sum of a part of the one row and a part of the other. So a pair whose bound is above the square of a
    distance is farther apart than that, and nothing more has to be known of it.

    Parameters
    ----------
    values : ndarray of shape (n_points, n_columns)
    projection : ContractiveProjection
    dtype : {numpy.float32, numpy.float64}
        Type of the product. The bounds are float32 in either case.

    Attributes
    ----------
    n_points : int
    right_factors : ndarray of shape (n_points filled up to whole runs, m)
        The rows (g, 1, |g|^2); NaN in the last place of those that fill up, so that nothing is near them.
    fine_coordinates : ndarray of shape (n_points, n_fine), float32
    slack : ndarray of shape (n_points,)
        How far the finer coordinates may be off.
    bound_factor : float
        A pair at distance d has a bound of at most d^2 factor, all rounding counted in.
    rounding_growth : float
        The part of it that is rounding.
    """

    def __init__(
        self, values: Floats, projection: ContractiveProjection, dtype: type[np.floating] = np.float32
    ) -> None:
        self.projection = projection
        self.dtype = np.dtype(dtype)
        self.n_points = n_points = len(values)
        front, fine, _ = projection.project(values[:0])
        self.width = front.shape[1] + 2
        unit = _UNIT_ROUNDOFF[self.dtype]
        error = projection.relative_error + 1.01 * unit
        self._loss = 1.05 * (2.0 * self.width * unit / (1.0 - self.width * unit) + 4.0 * error + self.width * 2.0**-53)
        self._error = projection.relative_error + 1.01 * _UNIT_ROUNDOFF[np.dtype(np.float32)]
        # Room for the rounding of a measured distance, of a limit to float32 and of the sum of squares in float32.
        self.rounding_growth = (
            1.0 + 2.0**-22 + 2.0 * (fine.shape[1] + 16) * 2.0**-24 + 4.0 * (values.shape[1] + 16) * 2.0**-53
        )
        self.bound_factor = projection.scale**2 * self.rounding_growth
        self.right_factors = np.empty((-(-n_points // RUN_LENGTH) * RUN_LENGTH, self.width), dtype=self.dtype)
        self.fine_coordinates = np.empty((n_points, fine.shape[1]), dtype=np.float32)
        self.slack = np.empty(n_points)
        self.right_factors[n_points:] = np.nan

        def fill(span: tuple[int, int]) -> None:
            part = slice(*span)
            self.fill_factors(values[part], self.right_factors[part], self.fine_coordinates[part], self.slack[part])

        for _ in parallel.map_blocks(
            fill, parallel.block_ranges(n_points, 1 + _CHUNK_VALUES // max(values.shape[1], 1))
        ):
            pass

    def fill_factors(self, rows: Floats, right: NDArray[np.floating], fine: Floats32, slack: Floats) -> None:
        """Fill the rows (g, 1, |g|^2), the finer coordinates and how far they may be off."""
        front, fine[:], lengths = self.projection.project(rows)
        right[:, :-2] = front
        right[:, -2] = 1.0
        kept = right[:, :-2]
        squares = np.einsum("ij,ij->i", kept, kept, dtype=np.float64)
        squares -= self._loss * np.maximum(squares, lengths * lengths) + self.width * 2.0**-120
        right[:, -1] = squares
        np.nextafter(right[:, -1], self.dtype.type(-np.inf), out=right[:, -1])
        np.multiply(lengths, self._error, out=slack)

    def leading_columns(self, n_columns: int) -> Floats32:
        """Return the columns of the product in which the points lie farthest apart, at most so many."""
        spread = self.right_factors[: self.n_points : 1 + self.n_points // 1024, :-2].var(axis=0)
        columns = np.sort(np.argsort(-spread, kind="stable")[:n_columns])
        return np.ascontiguousarray(self.right_factors[: self.n_points, columns], dtype=np.float32)

    def query_factors(self, rows: Floats) -> tuple[NDArray[np.floating], Floats32, Floats]:
        """Return what `fill_factors` fills for rows that are not among the points; a row too far away is NaN throughout."""
        right = np.empty((len(rows), self.width), dtype=self.dtype)
        fine, slack = np.empty((len(rows), self.fine_coordinates.shape[1]), dtype=np.float32), np.empty(len(rows))
        farthest = np.abs(rows - self.projection.centre).max(axis=1, initial=0.0)
        far = np.flatnonzero(farthest > _FAR_FACTOR * 2.0**SCALE_EXPONENT / self.projection.scale)
        if len(far):
            rows = rows.copy()
            rows[far] = self.projection.centre
        self.fill_factors(rows, right, fine, slack)
        right[far] = np.nan
        return right, fine, slack

    def tile(self, left: NDArray[np.floating], start: int, stop: int, buffer: Floats32) -> Floats32:
        """Return the bounds of rows, given as `left_factors` gives them, and the points start, ..., stop in runs."""
        shape = len(left), stop - start
        tile = buffer[: shape[0] * shape[1]].reshape(shape)
        if self.dtype == np.float32:
            np.dot(left, self.right_factors[start:stop].T, out=tile)
        else:
            # Rounded to float32 a bound may grow by 2^-24 of itself, which is taken away; below zero nothing need be.
            np.multiply(left @ self.right_factors[start:stop].T, 1.0 - 2.0**-22, out=tile, casting="same_kind")
        return tile.reshape(shape[0], -1, RUN_LENGTH)


def left_factors(right_factors: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the rows (-2 f, |f|^2, 1) for rows (f, 1, |f|^2)."""
    left = np.empty_like(right_factors)
    np.multiply(right_factors[:, :-2], -2.0, out=left[:, :-2])
    left[:, -2], left[:, -1] = right_factors[:, -1], 1.0
    return left
