"""Rows of numbers by their directions."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz import parallel
from tamiz.graphs.metrics.refusals import check_n_features, refuse_not_finite, refuse_zero_rows
from tamiz.graphs.points import EuclideanPoints, Points
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import FloatArray, Invariants
from tamiz.validation import check_memory

# Numbers of one piece of work.
_UNIT_CHUNK = 2**18


class CosinePoints(Points):
    """Rows of numbers at their cosine distances, 1 - x.y / (|x| |y|), in [0, 2].

    Parameters
    ----------
    values : array-like or sparse of shape (n_samples, n_columns)
    row_numbers : ndarray of shape (n_samples,), default=None
        The rows' numbers in the user's table, for messages; None counts from 0.

    Raises
    ------
    DataError
        When a row holds only zeros, NaN or an infinite number.

    Notes
    -----
    Taken as |u - v|^2 / 2 of the unit rows u and v: small distances keep their digits, where 1 - u.v loses them, and the
    order is that of the Euclidean distances of the unit rows. A row and a multiple of it are at zero up to 1e-31.
    """

    metric = "cosine"
    invariants: ClassVar[Invariants] = {"unit_rows": FloatArray("n", "d", low=-1.0 - 1e-9, high=1.0 + 1e-9)}

    def __init__(self, values: Any, row_numbers: NDArray[np.intp] | None = None) -> None:
        self.unit_rows = _unit_rows(values.toarray() if sparse.issparse(values) else np.asarray(values), row_numbers)
        self.n_samples = len(self.unit_rows)

    @property
    def n_coordinates(self) -> int:
        """Numbers of a row."""
        return int(self.unit_rows.shape[1])

    def get_state(self) -> dict[str, Any]:
        """Return the rows at length 1; to divide them once more would change their last bits."""
        return {"unit_rows": self.unit_rows}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the rows as they were."""
        points = cls.__new__(cls)
        points.unit_rows = state["unit_rows"]
        points.n_samples = len(points.unit_rows)
        return points

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return distances."""
        return _half_squares(EuclideanPoints(self.unit_rows).block(EuclideanPoints(queries.unit_rows), start, stop))

    def euclidean_values(self) -> Floats:
        """Return the rows at length 1."""
        return self.unit_rows

    def from_euclidean(self, distances: Floats) -> Floats:
        """Return d^2 / 2."""
        return _half_squares(np.array(distances, dtype=np.float64))

    def to_euclidean(self, distance: float) -> float:
        """Return the square root of 2 d."""
        return float(np.sqrt(2.0 * distance))

    def row_keys(self, rows: NDArray[np.intp]) -> list[bytes]:
        """Return the bytes of the rows at length 1: equal for rows of one direction, up to rounding."""
        return EuclideanPoints(self.unit_rows).row_keys(rows)

    def row_hashes(self) -> Floats:
        """Return the places of the rows at length 1 along one direction."""
        return EuclideanPoints(self.unit_rows).row_hashes()

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the points."""
        taken = copy(self)
        taken.unit_rows = self.unit_rows[rows]
        taken.n_samples = len(taken.unit_rows)
        return taken

    def new_points(self, rows: Any) -> Self:
        """Return new rows."""
        points = type(self)(rows)
        check_n_features(points.unit_rows.shape[1], self.unit_rows.shape[1])
        return points


def _half_squares(distances: Floats) -> Floats:
    """Return d^2 / 2 in the place of d."""
    np.multiply(distances, distances, out=distances)
    distances *= 0.5
    return np.minimum(distances, 2.0, out=distances)


def _unit_rows(values: NDArray[Any], row_numbers: NDArray[np.intp] | None) -> Floats:
    """Return rows at length 1, each by itself."""
    n_rows, n_columns = values.shape
    check_memory(8.0 * n_rows * n_columns, f"{n_rows:,} rows at length 1", "Keep fewer columns first.")
    unit = np.empty((n_rows, n_columns))
    largest = np.zeros(n_rows)

    def fill(span: tuple[int, int]) -> None:
        part, out = np.asarray(values[slice(*span)], dtype=np.float64), unit[slice(*span)]
        np.maximum(part.max(axis=1, initial=0.0), -part.min(axis=1, initial=0.0), out=largest[slice(*span)])
        # The largest number of a row is brought near 1 by a power of two, so that no square overflows or vanishes.
        exponent = np.frexp(largest[slice(*span)])[1]
        with np.errstate(invalid="ignore", divide="ignore"):
            np.multiply(part, np.ldexp(1.0, -np.clip(exponent, -1000, 1000))[:, None], out=out)
            out /= np.sqrt((out * out).sum(axis=1))[:, None]

    for _ in parallel.map_blocks(fill, parallel.block_ranges(n_rows, max(1, _UNIT_CHUNK // max(n_columns, 1)))):
        pass
    numbers = np.arange(n_rows) if row_numbers is None else row_numbers
    refuse_not_finite(numbers[~np.isfinite(largest)])
    refuse_zero_rows(numbers[largest == 0.0])
    return unit
