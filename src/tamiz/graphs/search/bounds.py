"""Bounds below the squared distances of all pairs, by products of matrices in float32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.graphs.search.charts import SCALE_EXPONENT, ContractiveProjection
from tamiz.kernels.nearest import RUN_LENGTH
from tamiz.statistics.base import Floats

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
