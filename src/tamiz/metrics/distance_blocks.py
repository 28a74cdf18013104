"""Distances of some rows to all, in pieces that stay in the cache: what every number of a map is counted from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.distance_sums import distances_from_bounds, low_dim_squared_distances
from tamiz.kernels.nearest_neighbors import pair_distances
from tamiz.neighbors.points import Points
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats

RowIndices = NDArray[np.intp]

# Rows of one piece and columns of one tile: keys of both sides stay in the second-level cache, or nearly.
BLOCK_ROWS, TILE_COLUMNS = 256, 512
# Distances of one piece where they are not made tile by tile.
_MAX_BLOCK_DISTANCES = 2**20
# Differences of so many columns are squared one by one; of more, products of matrices are faster.
_MAX_DIFFERENCE_COLUMNS = 8
# A square below this share of the squared lengths that it is the difference of has lost too many digits.
_MIN_SQUARE_SHARE = 2.0**-7
_UNIT_ROUNDOFF = 2.0**-53
# The largest number may lie between these powers of two: no square of a difference overflows, none that matters vanishes.
_MIN_EXPONENT, _MAX_EXPONENT = -300, 450
# Squares of numbers at that scale that vanish differ by no more.
_UNDERFLOW_BOUND = 2.0**-1000


class DistanceBlock(ABC):
    """Some rows and their distances to all.

    Keys order as the distances do but for their blur: two pairs whose keys differ by more than the blur of both, and by more than
    the share `relative_error`, are in the order of their keys.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        The numbers of the rows.
    relative_error : float
    """

    rows: RowIndices
    relative_error: float

    @abstractmethod
    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Return the keys of the rows and the points first .. last, and twice the points' share of blur.

        The keys lie in a room that the next ones are put into.
        """

    @abstractmethod
    def distances(self, keys: Floats, first: int, last: int) -> Floats:
        """Return the metric's distances for these keys, in their place or not."""

    @abstractmethod
    def row_error_bounds(self) -> Floats:
        """Return twice the rows' share of blur."""

    @abstractmethod
    def exact_keys(self, points: NDArray[np.int32]) -> Floats:
        """Return what orders as distances do without a blur, of each row and the points in its row of an array."""

    @abstractmethod
    def key_bounds(self, exact_keys: Floats) -> tuple[Floats, Floats]:
        """Return two bounds for each limit: keys below the first, all blur added, are nearer, those above the second are not."""

    @abstractmethod
    def exact_pair_keys(self, rows: NDArray[np.int32], points: NDArray[np.int32]) -> Floats:
        """Return what orders as distances do without a blur, of pairs of one of the rows, counted from 0, and a point."""

    @abstractmethod
    def pair_distances(self, points: NDArray[np.int32]) -> Floats:
        """Return the metric's distances of each row and the points in its row of an array."""


class DistanceSpace(ABC):
    """Points whose distances are asked for slab by slab.

    Attributes
    ----------
    points : Points
    n_rows : int
        Rows of one slab.
    """

    def __init__(self, points: Points, n_rows: int) -> None:
        self.points = points
        self.n_rows = n_rows

    @abstractmethod
    @contextmanager
    def open_block(self, rows: RowIndices) -> Iterator[DistanceBlock]:
        """Lend the slab of some rows."""
        yield NotImplemented


def create_space(points: Points) -> DistanceSpace:
    """Return the points as a space: rows of numbers by differences or by products, others by blocks of their own distances."""
    values = points.euclidean_values()
    if values is None:
        return GenericSpace(points)
    return (LowDimensionalSpace if values.shape[1] <= _MAX_DIFFERENCE_COLUMNS else MatrixProductSpace)(points, values)


class GenericSpace(DistanceSpace):
    """Points that only tell their distances."""

    def __init__(self, points: Points) -> None:
        super().__init__(points, max(1, min(BLOCK_ROWS, _MAX_BLOCK_DISTANCES // points.n_samples)))

    @contextmanager
    def open_block(self, rows: RowIndices) -> Iterator[DistanceBlock]:
        """Lend the slab of some rows."""
        yield GenericDistanceBlock(rows, self.points.block(self.points.take(rows), 0, len(rows)))


class GenericDistanceBlock(DistanceBlock):
    """Some rows and their distances to all, which are there as a whole."""

    relative_error = 0.0

    def __init__(self, rows: RowIndices, block: Floats) -> None:
        self.rows, self._block = rows, block
        self._zero_errors = np.zeros(block.shape[1])

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Return distances."""
        return self._block[:, first:last].copy(), self._zero_errors[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:
        """Return the keys."""
        keys[:] = self._block[:, first:last]
        return keys

    def row_error_bounds(self) -> Floats:
        """Return zeros."""
        return self._zero_errors[: len(self.rows)]

    def exact_keys(self, points: NDArray[np.int32]) -> Floats:
        """Return distances."""
        return np.take_along_axis(self._block, points.astype(np.intp), axis=1)

    def key_bounds(self, exact_keys: Floats) -> tuple[Floats, Floats]:
        """Return the limits, below which nothing is left in doubt."""
        return exact_keys, np.full_like(exact_keys, -np.inf)

    def exact_pair_keys(self, rows: NDArray[np.int32], points: NDArray[np.int32]) -> Floats:
        """Return distances."""
        return self._block[rows, points]

    def pair_distances(self, points: NDArray[np.int32]) -> Floats:
        """Return distances."""
        return self.exact_keys(points)


class EuclideanSpace(DistanceSpace):
    """Rows of numbers whose Euclidean distances order as the points' distances do.

    Attributes
    ----------
    values : ndarray of shape (n, n_columns)
        At a scale where squares neither overflow nor vanish.
    relative_error : float
        The share by which the square of a measured distance may differ from that of the distance.
    """

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points, BLOCK_ROWS)
        exponent = int(np.frexp(max(float(values.max()), -float(values.min())))[1])
        self._scale = 1.0
        if not _MIN_EXPONENT <= exponent <= _MAX_EXPONENT:
            self._scale = float(np.ldexp(1.0, int(np.clip(-exponent, -1000, 1000))))
        self.values = np.ascontiguousarray(values if self._scale == 1.0 else values * self._scale)
        self.relative_error = 8.0 * (values.shape[1] + 16) * _UNIT_ROUNDOFF
        self._buffers = parallel.BufferPool(partial(np.empty, BLOCK_ROWS * TILE_COLUMNS))

    def to_metric(self, distances: Floats) -> Floats:
        """Return the metric's distances for Euclidean ones of the values."""
        if self._scale != 1.0:
            distances /= self._scale
        return self.points.from_euclidean(distances)


class EuclideanDistanceBlock(DistanceBlock):
    """Some rows of numbers, measured when it is asked for."""

    def __init__(self, space: EuclideanSpace, rows: RowIndices, buffer: Floats) -> None:
        self.rows = rows
        self.relative_error = space.relative_error
        self._space = space
        self._buffer = buffer
        self._rows32 = rows.astype(np.int32)

    def _tile(self, n_columns: int) -> Floats:
        n_rows = len(self.rows)
        return self._buffer[: n_rows * n_columns].reshape(n_rows, n_columns)

    def exact_keys(self, points: NDArray[np.int32]) -> Floats:
        """Return distances as every exact search measures them."""
        rows = np.repeat(np.arange(len(points), dtype=np.int32), points.shape[1])
        return self.exact_pair_keys(rows, points.reshape(-1)).reshape(points.shape)

    def key_bounds(self, exact_keys: Floats) -> tuple[Floats, Floats]:
        """Return squares, a little less and a little more."""
        squares = exact_keys * exact_keys
        blur = self.row_error_bounds()[:, None]
        return squares * (1.0 - self.relative_error) - blur, squares * (1.0 + self.relative_error) + _UNDERFLOW_BOUND

    def exact_pair_keys(self, rows: NDArray[np.int32], points: NDArray[np.int32]) -> Floats:
        """Return distances as every exact search measures them."""
        out = np.empty(len(points))
        values = self._space.values
        pair_distances(values, self._rows32[rows], values, np.ascontiguousarray(points), out)
        return out

    def pair_distances(self, points: NDArray[np.int32]) -> Floats:
        """Return the metric's distances."""
        return self._space.to_metric(self.exact_keys(points))


class LowDimensionalSpace(EuclideanSpace):
    """Rows of a few numbers: differences are squared as they are asked for."""

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points, values)
        n, n_columns = values.shape
        # An even number of columns, the last of them zeros.
        self.columns = np.zeros((n_columns + n_columns % 2, n))
        self.columns[:n_columns] = self.values.T
        self.zero_errors = np.zeros(len(values))

    @contextmanager
    def open_block(self, rows: RowIndices) -> Iterator[DistanceBlock]:
        """Lend the slab of some rows."""
        with self._buffers.borrow() as room:
            yield _LowDimensionalBlock(self, rows, room)


class _LowDimensionalBlock(EuclideanDistanceBlock):
    _space: LowDimensionalSpace

    def __init__(self, space: LowDimensionalSpace, rows: RowIndices, buffer: Floats) -> None:
        super().__init__(space, rows, buffer)
        self._coordinates = np.ascontiguousarray(space.columns[:, rows].T)

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Return squared distances."""
        tile = self._tile(last - first)
        low_dim_squared_distances(self._coordinates, self._space.columns, first, tile)
        return tile, self._space.zero_errors[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:  # noqa: ARG002
        """Return roots."""
        return self._space.to_metric(np.sqrt(keys, out=keys))

    def row_error_bounds(self) -> Floats:
        """Return what squares that vanish may differ by."""
        return np.full(len(self.rows), _UNDERFLOW_BOUND)


class MatrixProductSpace(EuclideanSpace):
    """Rows of many numbers: |x|^2 + |y|^2 - 2 x.y is the product of (-2 x, |x|^2, 1) and (y, 1, |y|^2).

    With u the unit of rounding and m the length of the product, that is off by at most 2 m u / (1 - m u) (|x|^2 + |y|^2), whatever
    order BLAS adds in (Higham 2002, section 3.1); differences to the centre are off by u of themselves, which makes 4 u (1 + u)
    of the same sum; squared lengths are off by m u of themselves. The blur is more than all of that, and is taken off the squared
    lengths: keys are bounds below the squared distances.

    Attributes
    ----------
    squared_lengths, error_bounds : ndarray of shape (n,)
        Squared lengths about the centre, and the share of them that may be rounding.
    """

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points, values)
        n, n_columns = values.shape
        # The median of some rows: a mean would lie far from all of them for the sake of one.
        centre = np.median(self.values[:: 1 + n // 1024], axis=0)
        self.right_factors = np.empty((n, n_columns + 2))
        self.squared_lengths = np.empty(n)

        def fill(span: tuple[int, int]) -> None:
            part = slice(*span)
            about = self.right_factors[part, :-2]
            np.subtract(self.values[part], centre, out=about)
            np.einsum("ij,ij->i", about, about, out=self.squared_lengths[part])

        for _ in parallel.map_blocks(fill, parallel.block_ranges(n, max(1, 2**18 // n_columns))):
            pass
        self.error_bounds = (4.0 * (n_columns + 2) + 16.0) * _UNIT_ROUNDOFF * self.squared_lengths + _UNDERFLOW_BOUND
        self.right_factors[:, -2] = 1.0
        np.subtract(self.squared_lengths, self.error_bounds, out=self.right_factors[:, -1])
        self.doubled_error_bounds = 2.0 * self.error_bounds

    @contextmanager
    def open_block(self, rows: RowIndices) -> Iterator[DistanceBlock]:
        """Lend the slab of some rows."""
        with self._buffers.borrow() as room:
            yield _MatrixProductBlock(self, rows, room)


class _MatrixProductBlock(EuclideanDistanceBlock):
    _space: MatrixProductSpace

    def __init__(self, space: MatrixProductSpace, rows: RowIndices, buffer: Floats) -> None:
        super().__init__(space, rows, buffer)
        self._left_factors = space.right_factors[rows]
        self._left_factors[:, :-2] *= -2.0
        self._left_factors[:, -2], self._left_factors[:, -1] = self._left_factors[:, -1].copy(), 1.0

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Return bounds below squared distances."""
        tile = self._tile(last - first)
        np.dot(self._left_factors, self._space.right_factors[first:last].T, out=tile)
        return tile, self._space.doubled_error_bounds[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:  # noqa: ARG002
        """Return roots of the squares, those measured that have lost their digits."""
        space = self._space
        distances_from_bounds(
            space.values, self._rows32, first, space.squared_lengths, space.error_bounds, _MIN_SQUARE_SHARE, keys
        )
        return space.to_metric(keys)

    def row_error_bounds(self) -> Floats:
        """Return twice the rows' share of blur."""
        return self._space.doubled_error_bounds[self.rows]
