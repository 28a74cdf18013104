"""Means and cross products of columns, in one pass."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.runtime import parallel
from tamiz.statistics.base import Block, Floats, Statistic

# Values put side by side at a time, in so many rows at least and at most: the copy stays in cache.
_CHUNK_VALUES, _MIN_ROWS, _MAX_ROWS = 2**22, 256, 8192
# Rows that tell where a centre is to be: of a piece, and of a table.
_CENTRE_ROWS, _START_ROWS = 32, 256
# The square of a mean about the centre, next to the variance, from which on float32 products lose digits that matter.
_MAX_SQUARED_OFFSET = 4.0
# The square of a mean about 0, next to the variance, up to which the centre may as well be 0: rows need not be copied then.
_ZERO_CENTRE_OFFSET = 2.0
_MIN_WEIGHT = 1e-300
# Sums of squares in float32 between these have all their digits.
_MIN_SQUARES, _MAX_SQUARES = 1e-20, 1e30


class LevelIndicators(NamedTuple):
    """A categorical column as one column of 0 and 1 for every level.

    Attributes
    ----------
    column, n_levels : int
    missing_level : int or None
        The level that a missing value counts as; None leaves it missing.
    """

    column: int
    n_levels: int
    missing_level: int | None = None


class ScatterMatrix(Statistic):
    """Weighted means of columns, and their weighted cross products about them.

    The coordinates are the numeric columns given, and after them an indicator (0 or 1) of every level of the categorical ones.
    Every piece of the rows is summed about a centre of its own, and moved when it is merged (Chan, Golub and LeVeque 1983): raw
    sums of squares would lose the variances to rounding. float32 rows are multiplied in float32, 2^22 values at a time, and
    summed in float64: products are then right to about 1e-6. Their pieces have one centre (`with_start_centre`), and one of their own where
    values lie far from that, as in sorted columns; where they lie far from that too, or squares leave the range of float32, they
    are multiplied in float64.

    Parameters
    ----------
    numeric : tuple of int
    categorical : tuple of LevelIndicators
    incomplete : tuple of int
        The columns that have missing values.

    Attributes
    ----------
    total_weight : float
        Weight of all rows.
    mean : ndarray of shape (n,)
        Of the present values.
    matrix : ndarray of shape (n, n)
        Sum over the rows of (x - mean)(x - mean)', a missing value at its mean.
    """

    mean: Floats
    total_weight: float

    def __init__(
        self, numeric: tuple[int, ...], categorical: tuple[LevelIndicators, ...], incomplete: tuple[int, ...] = ()
    ) -> None:
        self.numeric = numeric
        self.categorical = categorical
        self.incomplete = incomplete
        self.columns = numeric + tuple(one.column for one in categorical)
        self._coordinate_columns = owners = [
            *numeric,
            *(one.column for one in categorical for _ in range(one.n_levels)),
        ]
        # 0 stands for "present in every row", and the others for a column's own gaps.
        self._presence_index = np.array(
            [1 + incomplete.index(j) if j in incomplete else 0 for j in owners], dtype=np.intp
        )
        self._first_coordinates = [
            int(np.argmax(self._presence_index == kind)) for kind in range(1, 1 + len(incomplete))
        ]
        self._start_centre: Floats | None = None
        # Columns that may vary: those of one value have squares of 0, and lose nothing by that.
        self._varying = np.ones(len(owners), dtype=bool)
        self._reset(None)

    def _reset(self, centre: Floats | None) -> None:
        """Forget all rows, and take a centre; None is one that the rows tell."""
        n, n_kinds = len(self._presence_index), 1 + len(self.incomplete)
        self._centre = np.full(n, np.nan) if centre is None else centre.copy()
        # Sums over the rows of w z z', w z g' and w g g': z is a row about the centre with 0 for a gap, g tells what is present.
        self.matrix = np.zeros((n, n))
        self._sums = np.zeros((n, n_kinds))
        self._weights = np.zeros((n_kinds, n_kinds))

    @property
    def key(self) -> Hashable:
        """Columns, and which have gaps."""
        return type(self), self.numeric, self.categorical, self.incomplete

    def empty(self) -> Self:
        """Return a new one that has seen nothing."""
        new = type(self)(self.numeric, self.categorical, self.incomplete)
        new._start_centre, new._varying = self._start_centre, self._varying
        return new

    def with_start_centre(self, block: Block, constant: Collection[int]) -> Self:
        """Return a new one for a table that begins with a block, and some of whose columns are constant.

        Its pieces of float32 have the centre of the first rows.
        """
        new = self.empty()
        new._varying = np.array([owner not in constant for owner in self._coordinate_columns])
        first = block.slice_rows(block.rows.start, min(block.rows.start + _START_ROWS, block.rows.stop))
        new._find_centre(design_matrix(first, self.numeric, self.categorical, first.dtype), _START_ROWS)
        new._start_centre = new._centre
        return new

    def update(self, block: Block) -> Self:
        """Add the rows of a block."""
        if block.dtype != np.float32:
            self._add_block(block, np.float64)
            return self
        seen = self.empty() if self.n_samples else self
        ways: list[tuple[Floats | None, type[np.floating[Any]]]] = [(None, np.float32), (None, np.float64)]
        for centre, dtype in ways if self._start_centre is None else [(self._start_centre, np.float32), *ways]:
            seen._reset(centre)
            if seen._add_block(block, dtype):
                break
        return self if seen is self else self.merge(seen)

    def _add_block(self, block: Block, dtype: type[np.floating[Any]]) -> bool:
        """Add the rows of a block, and return whether their products kept the digits that the dtype gives."""
        n = len(self._centre)
        size = min(max(_CHUNK_VALUES // max(n, 1), _MIN_ROWS), _MAX_ROWS)
        # Rows about the centre, and their products: fresh memory for every slab would cost more than the sums.
        room = np.empty((min(size, len(block.rows)), n), dtype), np.empty((n, n), dtype)
        if not all(self._add_rows(part, *room) for part in block.split_rows(size)):
            return False
        self.n_samples += len(block.rows)
        if dtype == np.float64:
            return True
        held = np.maximum(self.present_weight, _MIN_WEIGHT)
        mean = self._sums[np.arange(n), self._presence_index] / held
        square = self.matrix.diagonal() / held
        return bool((mean**2 <= _MAX_SQUARED_OFFSET * np.maximum(square - mean**2, 0.0)).all())

    def _find_centre(self, rows: NDArray[Any], n_first: int = _CENTRE_ROWS) -> None:
        """Set the centre of columns that had no value yet: about their mean, exactly their value where there is one only.

        It is 0 where all columns lie about 0.
        """
        for some in (rows[:n_first], rows):
            new = np.flatnonzero(np.isnan(self._centre))
            if not len(new) or not len(some):
                return
            values = some[:, new].astype(np.float64, copy=False)
            present = ~np.isnan(values)
            first = values[np.argmax(present, axis=0), np.arange(len(new))]
            gaps = np.where(present, values - first, 0.0)
            centre = first + gaps.mean(axis=0) * (len(some) / np.maximum(present.sum(axis=0), 1))
            if len(new) == len(self._centre) and (centre**2 <= _ZERO_CENTRE_OFFSET * gaps.var(axis=0)).all():
                centre[:] = 0.0
            self._centre[new] = centre.astype(rows.dtype)

    def _add_rows(self, block: Block, buffer: NDArray[Any], products: NDArray[Any]) -> bool:
        """Add rows, and return whether their squares stay in the range of the room's dtype."""
        rows, weight = design_matrix(block, self.numeric, self.categorical, buffer.dtype.type), block.weight
        single = buffer.dtype == np.float32
        if weight is not None:
            rows, weight = rows[weight > 0], weight[weight > 0]
            if single and not ((weight > _MIN_SQUARES) & (weight < _MAX_SQUARES)).all():
                return False
        self._find_centre(rows)
        centre = np.nan_to_num(self._centre).astype(buffer.dtype)
        # What is written below is written into a copy, and a product of scattered rows makes one, slowly.
        as_they_lie = not centre.any() and not self.incomplete and weight is None and rows.flags.c_contiguous
        z = rows if as_they_lie else np.subtract(rows, centre, out=buffer[: len(rows)])
        present = np.ones((len(z), 1 + len(self.incomplete)), buffer.dtype)
        if self.incomplete:
            gaps = np.isnan(z)
            present[:, 1:] = ~gaps[:, self._first_coordinates]
            z[gaps] = 0.0
        weighed = present if weight is None else present * weight[:, None]
        sums = z.T @ weighed.astype(buffer.dtype, copy=False)
        if weight is not None:
            z *= np.sqrt(weight).astype(buffer.dtype)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(z.T, z, out=products)
        if single and not self._is_accurate(products.diagonal(), z):
            return False
        self.matrix += products
        self._sums += sums
        self._weights += present.T.astype(np.float64) @ weighed
        return True

    def _is_accurate(self, squares: NDArray[Any], z: NDArray[Any]) -> bool:
        """Whether sums of squares of columns are neither too large for float32 nor lost below its least number."""
        if not (squares < _MAX_SQUARES).all():
            return False
        small = np.flatnonzero((squares < _MIN_SQUARES) & self._varying)
        return not (len(small) and z[:, small].any())

    def merge(self, other: Self) -> Self:
        """Add all that another one has seen."""
        self._centre = np.where(np.isnan(self._centre), other._centre, self._centre)
        moved = self._centre - other._centre
        matrix, sums = other._recentred_sums(np.where(np.isnan(moved), 0.0, moved))
        self.matrix += matrix
        self._sums += sums
        self._weights += other._weights
        self.n_samples += other.n_samples
        return self

    def _recentred_sums(self, shift: Floats) -> tuple[Floats, Floats]:
        """Return the cross products and sums about a centre that lies `shift` further."""
        sums = self._sums - self._weights[self._presence_index] * shift[:, None]
        if not shift.any():
            return self.matrix, sums
        # Sum of w p_i p_j (z_i - m_i)(z_j - m_j), p telling what is present.
        across = self._sums - 0.5 * self._weights[self._presence_index] * shift[:, None]
        across = (across[:, self._presence_index] if self.incomplete else across) * shift
        matrix = self.matrix - across
        matrix -= across.T
        return matrix, sums

    def finish(self) -> None:
        """Move the centre to the mean."""
        rows = np.arange(len(self._centre))
        held = self._weights[self._presence_index, self._presence_index]
        own = self._sums[rows, self._presence_index]
        moved = np.divide(own, held, out=np.zeros_like(own), where=held > 0)
        self.matrix, self._sums = self._recentred_sums(moved)
        self._sums[rows, self._presence_index] = 0.0
        self.mean = np.nan_to_num(self._centre) + moved
        self._centre = self.mean
        self.total_weight = float(self._weights[0, 0])

    @staticmethod
    def work_bytes(n_coordinates: int) -> float:
        """Return the memory that filling one takes, a matrix for each piece under way, and its decomposition afterwards."""
        return 8.0 * n_coordinates**2 * (2 * parallel.n_threads() + 6)

    @property
    def present_weight(self) -> Floats:
        """Weight of the rows that have a value, for each coordinate."""
        return self._weights[self._presence_index, self._presence_index]

    def pairwise_covariance(self) -> tuple[Floats, Floats]:
        """Return the covariance of every pair over the rows that have both, 0 where these weigh less than two, and their weight."""
        held = self._weights[self._presence_index][:, self._presence_index]
        sums = self._sums[:, self._presence_index]
        products = self.matrix - sums * sums.T / np.where(held > 0, held, 1.0)
        return np.divide(products, held - 1, out=np.zeros_like(products), where=held >= 2), held


def design_matrix(
    block: Block,
    numeric: tuple[int, ...],
    categorical: tuple[LevelIndicators, ...],
    dtype: type[np.floating[Any]] = np.float64,
) -> NDArray[Any]:
    """Return numeric columns and then the indicators of every level; a value that stays missing is NaN in all of them.

    Without levels it may be the block's own memory.
    """
    parts = [block.matrix(numeric, dtype)]
    for column, n_levels, gap in categorical:
        codes = block.column(column)
        if gap is not None:
            codes = np.where(codes < 0, gap, codes)
        indicators = np.zeros((len(codes), n_levels), dtype)
        indicators[np.arange(len(codes)), codes] = 1.0
        indicators[codes < 0] = np.nan
        parts.append(indicators)
    return parts[0] if len(parts) == 1 else np.hstack(parts)
