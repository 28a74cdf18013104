"""Distances of some rows to all, in pieces that stay in the cache: what every number of a map is counted from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.graphs.points import Points
from tamiz.kernels.nearest import measure
from tamiz.kernels.pair_sums import roots_of_bounds, squares_of_few_columns
from tamiz.statistics.base import Floats

Numbers = NDArray[np.intp]

# Rows of one piece and columns of one tile: keys of both sides stay in the second-level cache, or nearly.
ROWS, COLUMNS = 256, 512
# Distances of one piece where they are not made tile by tile.
_BLOCK = 2**20
# Differences of so many columns are squared one by one; of more, products of matrices are faster.
_FEW_COLUMNS = 8
# A square below this share of the squared lengths that it is the difference of has lost too many digits.
_SHARE = 2.0**-7
_UNIT = 2.0**-53
# The largest number may lie between these powers of two: no square of a difference overflows, none that matters vanishes.
_LEAST_EXPONENT, _LARGEST_EXPONENT = -300, 450
# Squares of numbers at that scale that vanish differ by no more.
_VANISHED = 2.0**-1000


class Slab(ABC):
    """Some rows and their distances to all.

    Keys order as the distances do but for their blur: two pairs whose keys differ by more than the blur of both, and by more than
    the share `growth`, are in the order of their keys.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        The numbers of the rows.
    growth : float
    """

    rows: Numbers
    growth: float

    @abstractmethod
    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Return the keys of the rows and the points first .. last, and twice the points' share of blur.

        The keys lie in a room that the next ones are put into.
        """

    @abstractmethod
    def distances(self, keys: Floats, first: int, last: int) -> Floats:
        """Return the metric's distances for these keys, in their place or not."""

    @abstractmethod
    def own_blur(self) -> Floats:
        """Return twice the rows' share of blur."""

    @abstractmethod
    def limits(self, points: NDArray[np.int32]) -> Floats:
        """Return what orders as distances do without a blur, of each row and the points in its row of an array."""

    @abstractmethod
    def windows(self, limits: Floats) -> tuple[Floats, Floats]:
        """Return two bounds for each limit: keys below the first, all blur added, are nearer, those above the second are not."""

    @abstractmethod
    def measured(self, rows: NDArray[np.int32], points: NDArray[np.int32]) -> Floats:
        """Return what orders as distances do without a blur, of pairs of one of the rows, counted from 0, and a point."""

    @abstractmethod
    def between(self, points: NDArray[np.int32]) -> Floats:
        """Return the metric's distances of each row and the points in its row of an array."""


class Space(ABC):
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
    def slab(self, rows: Numbers) -> Iterator[Slab]:
        """Lend the slab of some rows."""
        yield NotImplemented


def space_of(points: Points) -> Space:
    """Return the points as a space: rows of numbers by differences or by products, others by blocks of their own distances."""
    values = points.euclidean()
    if values is None:
        return GivenSpace(points)
    return (FewColumns if values.shape[1] <= _FEW_COLUMNS else Products)(points, values)


class GivenSpace(Space):
    """Points that only tell their distances."""

    def __init__(self, points: Points) -> None:
        super().__init__(points, max(1, min(ROWS, _BLOCK // points.n_samples)))

    @contextmanager
    def slab(self, rows: Numbers) -> Iterator[Slab]:
        """Lend the slab of some rows."""
        yield GivenSlab(rows, self.points.block(self.points.take(rows), 0, len(rows)))


class GivenSlab(Slab):
    """Some rows and their distances to all, which are there as a whole."""

    growth = 0.0

    def __init__(self, rows: Numbers, block: Floats) -> None:
        self.rows, self._block = rows, block
        self._no_blur = np.zeros(block.shape[1])

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Return distances."""
        return self._block[:, first:last].copy(), self._no_blur[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:
        """Return the keys."""
        keys[:] = self._block[:, first:last]
        return keys

    def own_blur(self) -> Floats:
        """Return zeros."""
        return self._no_blur[: len(self.rows)]

    def limits(self, points: NDArray[np.int32]) -> Floats:
        """Return distances."""
        return np.take_along_axis(self._block, points.astype(np.intp), axis=1)

    def windows(self, limits: Floats) -> tuple[Floats, Floats]:
        """Return the limits, below which nothing is left in doubt."""
        return limits, np.full_like(limits, -np.inf)

    def measured(self, rows: NDArray[np.int32], points: NDArray[np.int32]) -> Floats:
        """Return distances."""
        return self._block[rows, points]

    def between(self, points: NDArray[np.int32]) -> Floats:
        """Return distances."""
        return self.limits(points)


class EuclideanSpace(Space):
    """Rows of numbers whose Euclidean distances order as the points' distances do.

    Attributes
    ----------
    values : ndarray of shape (n, n_columns)
        At a scale where squares neither overflow nor vanish.
    growth : float
        The share by which the square of a measured distance may differ from that of the distance.
    """

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points, ROWS)
        exponent = int(np.frexp(max(float(values.max()), -float(values.min())))[1])
        self._scale = 1.0
        if not _LEAST_EXPONENT <= exponent <= _LARGEST_EXPONENT:
            self._scale = float(np.ldexp(1.0, int(np.clip(-exponent, -1000, 1000))))
        self.values = np.ascontiguousarray(values if self._scale == 1.0 else values * self._scale)
        self.growth = 8.0 * (values.shape[1] + 16) * _UNIT
        self._rooms = parallel.Lent(partial(np.empty, ROWS * COLUMNS))

    def own(self, distances: Floats) -> Floats:
        """Return the metric's distances for Euclidean ones of the values."""
        if self._scale != 1.0:
            distances /= self._scale
        return self.points.from_euclidean(distances)


class EuclideanSlab(Slab):
    """Some rows of numbers, measured when it is asked for."""

    def __init__(self, space: EuclideanSpace, rows: Numbers, room: Floats) -> None:
        self.rows = rows
        self.growth = space.growth
        self._space = space
        self._room = room
        self._small = rows.astype(np.int32)

    def _tile(self, n_columns: int) -> Floats:
        n_rows = len(self.rows)
        return self._room[: n_rows * n_columns].reshape(n_rows, n_columns)

    def limits(self, points: NDArray[np.int32]) -> Floats:
        """Return distances as every exact search measures them."""
        rows = np.repeat(np.arange(len(points), dtype=np.int32), points.shape[1])
        return self.measured(rows, points.reshape(-1)).reshape(points.shape)

    def windows(self, limits: Floats) -> tuple[Floats, Floats]:
        """Return squares, a little less and a little more."""
        squares = limits * limits
        blur = self.own_blur()[:, None]
        return squares * (1.0 - self.growth) - blur, squares * (1.0 + self.growth) + _VANISHED

    def measured(self, rows: NDArray[np.int32], points: NDArray[np.int32]) -> Floats:
        """Return distances as every exact search measures them."""
        out = np.empty(len(points))
        values = self._space.values
        measure(values, self._small[rows], values, np.ascontiguousarray(points), out)
        return out

    def between(self, points: NDArray[np.int32]) -> Floats:
        """Return the metric's distances."""
        return self._space.own(self.limits(points))


class FewColumns(EuclideanSpace):
    """Rows of a few numbers: differences are squared as they are asked for."""

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points, values)
        n, n_columns = values.shape
        # An even number of columns, the last of them zeros.
        self.columns = np.zeros((n_columns + n_columns % 2, n))
        self.columns[:n_columns] = self.values.T
        self.no_blur = np.zeros(len(values))

    @contextmanager
    def slab(self, rows: Numbers) -> Iterator[Slab]:
        """Lend the slab of some rows."""
        with self._rooms.borrowed() as room:
            yield _FewColumnsSlab(self, rows, room)


class _FewColumnsSlab(EuclideanSlab):
    _space: FewColumns

    def __init__(self, space: FewColumns, rows: Numbers, room: Floats) -> None:
        super().__init__(space, rows, room)
        self._coordinates = np.ascontiguousarray(space.columns[:, rows].T)

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Return squared distances."""
        tile = self._tile(last - first)
        squares_of_few_columns(self._coordinates, self._space.columns, first, tile)
        return tile, self._space.no_blur[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:  # noqa: ARG002
        """Return roots."""
        return self._space.own(np.sqrt(keys, out=keys))

    def own_blur(self) -> Floats:
        """Return what squares that vanish may differ by."""
        return np.full(len(self.rows), _VANISHED)


class Products(EuclideanSpace):
    """Rows of many numbers: |x|^2 + |y|^2 - 2 x.y is the product of (-2 x, |x|^2, 1) and (y, 1, |y|^2).

    With u the unit of rounding and m the length of the product, that is off by at most 2 m u / (1 - m u) (|x|^2 + |y|^2), whatever
    order BLAS adds in (Higham 2002, section 3.1); differences to the centre are off by u of themselves, which makes 4 u (1 + u)
    of the same sum; squared lengths are off by m u of themselves. The blur is more than all of that, and is taken off the squared
    lengths: keys are bounds below the squared distances.

    Attributes
    ----------
    lengths, blur : ndarray of shape (n,)
        Squared lengths about the centre, and the share of them that may be rounding.
    """

    def __init__(self, points: Points, values: Floats) -> None:
        super().__init__(points, values)
        n, n_columns = values.shape
        # The median of some rows: a mean would lie far from all of them for the sake of one.
        centre = np.median(self.values[:: 1 + n // 1024], axis=0)
        self.right = np.empty((n, n_columns + 2))
        self.lengths = np.empty(n)

        def fill(span: tuple[int, int]) -> None:
            part = slice(*span)
            about = self.right[part, :-2]
            np.subtract(self.values[part], centre, out=about)
            np.einsum("ij,ij->i", about, about, out=self.lengths[part])

        for _ in parallel.map_blocks(fill, parallel.spans(n, max(1, 2**18 // n_columns))):
            pass
        self.blur = (4.0 * (n_columns + 2) + 16.0) * _UNIT * self.lengths + _VANISHED
        self.right[:, -2] = 1.0
        np.subtract(self.lengths, self.blur, out=self.right[:, -1])
        self.twice = 2.0 * self.blur

    @contextmanager
    def slab(self, rows: Numbers) -> Iterator[Slab]:
        """Lend the slab of some rows."""
        with self._rooms.borrowed() as room:
            yield _ProductSlab(self, rows, room)


class _ProductSlab(EuclideanSlab):
    _space: Products

    def __init__(self, space: Products, rows: Numbers, room: Floats) -> None:
        super().__init__(space, rows, room)
        self._left = space.right[rows]
        self._left[:, :-2] *= -2.0
        self._left[:, -2], self._left[:, -1] = self._left[:, -1].copy(), 1.0

    def keys(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Return bounds below squared distances."""
        tile = self._tile(last - first)
        np.dot(self._left, self._space.right[first:last].T, out=tile)
        return tile, self._space.twice[first:last]

    def distances(self, keys: Floats, first: int, last: int) -> Floats:  # noqa: ARG002
        """Return roots of the squares, those measured that have lost their digits."""
        space = self._space
        roots_of_bounds(space.values, self._small, first, space.lengths, space.blur, _SHARE, keys)
        return space.own(keys)

    def own_blur(self) -> Floats:
        """Return twice the rows' share of blur."""
        return self._space.twice[self.rows]
