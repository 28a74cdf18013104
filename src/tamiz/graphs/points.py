"""Rows that have distances: what a neighbour search measures on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tamiz import parallel
from tamiz.kernels.projection import project_rows
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import FloatArray, Invariants
from tamiz.storage.stored import Serializable

# Keys that are held at a time.
_KEY_BATCH = 1024


class Points(Serializable, ABC):
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

    @property
    def n_coordinates(self) -> int | None:
        """Numbers that `new_points` expects of a new row; None where it reads a table by itself."""
        return None

    def euclidean_values(self) -> Floats | None:
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
    def row_hashes(self) -> Floats:
        """Return a number for every row: the same for equal rows, whatever rows come with them, and hardly ever for others."""

    def first_occurrences(self) -> NDArray[np.intp]:
        """Return for every row the lowest row that is equal to it."""
        # Keys are made only of rows whose hash is another's too.
        _, inverse, counts = np.unique(self.row_hashes(), return_inverse=True, return_counts=True)
        shared = np.flatnonzero(counts[inverse] > 1)
        seen: dict[bytes, int] = {}
        first = np.arange(self.n_samples)
        for row, key in zip(shared.tolist(), self.row_keys(shared), strict=True):
            first[row] = seen.setdefault(key, row)
        return first

    def match_rows(self, queries: Self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the queries that are equal to a point, ascending, and the lowest such point of each.

        Distance 0 says less: rows with gaps may be at 0 from rows that differ, and tiny differences have squares of 0.
        """
        hashes, asked = self.row_hashes(), queries.row_hashes()
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        at, last = np.searchsorted(ordered, asked), np.searchsorted(ordered, asked, side="right")
        found = np.full(queries.n_samples, self.n_samples)
        left = np.flatnonzero(at < last)
        while len(left):
            rows = order[at[left]]
            spans = [slice(*span) for span in parallel.block_ranges(len(rows), _KEY_BATCH)]
            same = np.concatenate([self._rows_equal(rows[span], queries, left[span]) for span in spans])
            found[left[same]] = rows[same]
            at[left] += 1
            left = left[~same & (at[left] < last[left])]
        equal = np.flatnonzero(found < self.n_samples)
        return equal, found[equal]

    def _rows_equal(self, rows: NDArray[np.intp], queries: Self, others: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return whether each of some rows is equal to the query beside it."""
        keys = zip(self.row_keys(rows), queries.row_keys(others), strict=True)
        return np.array([key == other for key, other in keys], dtype=bool)

    @abstractmethod
    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the points."""

    @abstractmethod
    def new_points(self, rows: Any) -> Self:
        """Return new rows under the same metric, with the scales that these points were given."""


class EuclideanPoints(Points):
    """Rows of numbers at their Euclidean distances."""

    metric = "euclidean"
    invariants: ClassVar[Invariants] = {"values": FloatArray("n", "d")}

    def __init__(self, values: Floats) -> None:
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.n_samples = len(self.values)

    @property
    def n_coordinates(self) -> int:
        """Numbers of a row."""
        return int(self.values.shape[1])

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return distances."""
        return np.asarray(cdist(queries.values[start:stop], self.values))

    def euclidean_values(self) -> Floats:
        """Return the rows."""
        return self.values

    def row_keys(self, rows: NDArray[np.intp]) -> list[bytes]:
        """Return the rows' bytes, a zero without its sign."""
        return [(self.values[row] + 0.0).tobytes() for row in rows]

    def row_hashes(self) -> Floats:
        """Return the rows' places along one direction."""
        along = np.empty((self.n_samples, 1))
        direction = np.random.default_rng(0).standard_normal((1, self.values.shape[1]))
        project_rows(self.values, direction, along)
        return along[:, 0]

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the points."""
        return type(self)(self.values[rows])

    def new_points(self, rows: Any) -> Self:
        """Return new rows."""
        return type(self)(rows)
