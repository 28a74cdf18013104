"""Rows that have distances: what a neighbour search measures on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tamiz.kernels.projection import project
from tamiz.statistics.base import Floats
from tamiz.storage.stored import Stored


class Points(Stored, ABC):
    """Rows under one metric.

    Attributes
    ----------
    metric : str
    n_samples : int
    """

    metric: str
    n_samples: int

    @abstractmethod
    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return the distances of the queries `start : stop` to all points, of shape (stop - start, n_samples).

        The distance of a pair is the same number whatever rows are asked for with it.
        """

    def euclidean(self) -> Floats | None:
        """Return rows whose Euclidean distances order as these distances do, where there are such rows."""
        return None

    def from_euclidean(self, distances: Floats) -> Floats:
        """Return the metric's distances for the Euclidean ones of `euclidean()`."""
        return distances

    def to_euclidean(self, distance: float) -> float:
        """Return the Euclidean distance that stands for one of the metric's."""
        return distance

    @abstractmethod
    def row_keys(self, rows: NDArray[np.intp]) -> list[bytes]:
        """Return for each of some rows what equal rows have in common and no other row has."""

    @abstractmethod
    def first_equal(self) -> NDArray[np.intp]:
        """Return for every row the lowest row that is equal to it."""

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the points."""

    @abstractmethod
    def like(self, rows: Any) -> Self:
        """Return new rows under the same metric, with the scales that these points were given."""


class Rows(Points):
    """Rows of numbers at their Euclidean distances."""

    metric = "euclidean"

    def __init__(self, values: Floats) -> None:
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.n_samples = len(self.values)

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return distances."""
        return np.asarray(cdist(queries.values[start:stop], self.values))

    def euclidean(self) -> Floats:
        """Return the rows."""
        return self.values

    def row_keys(self, rows: NDArray[np.intp]) -> list[bytes]:
        """Return the rows' bytes, a zero without its sign."""
        return [(self.values[row] + 0.0).tobytes() for row in rows]

    def first_equal(self) -> NDArray[np.intp]:
        """Return for every row the lowest row that is equal to it."""
        # Equal rows have equal projections, to the bit.
        along = np.empty((self.n_samples, 1))
        direction = np.random.default_rng(0).standard_normal((1, self.values.shape[1]))
        project(self.values, direction, along)
        return lowest_equal(self, along[:, 0])

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the points."""
        return type(self)(self.values[rows])

    def like(self, rows: Any) -> Self:
        """Return new rows."""
        return type(self)(rows)


def lowest_equal(points: Points, number: Floats) -> NDArray[np.intp]:
    """Return for every row the lowest row that is equal to it, given a number that equal rows share.

    Keys are made only of rows whose number is another's too.
    """
    _, inverse, counts = np.unique(number, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(counts[inverse] > 1)
    seen: dict[bytes, int] = {}
    first = np.arange(points.n_samples)
    for row, key in zip(shared.tolist(), points.row_keys(shared), strict=True):
        first[row] = seen.setdefault(key, row)
    return first
