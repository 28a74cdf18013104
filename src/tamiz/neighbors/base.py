"""The interface of neighbour search: searches, the indexes that they build, and the neighbours that an index returns.

A `NeighborSearch` contains parameters. Its `fit` builds a `NeighborIndex` of points, which answers queries with `Neighbors`. Exact
and approximate indexes have the same interface.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tamiz.arrays import Floats, Indices
from tamiz.neighbors.points import Points
from tamiz.storage.invariants import InstanceOf, Invariants
from tamiz.storage.records import Serializable


@dataclass(frozen=True)
class Neighbors:
    """The neighbours of every row, in CSR form: nearest first, no row its own neighbour.

    Distances that are equal up to rounding are ties, ordered by the lower row; the Notes of `tamiz.graphs.KNearest` state when.

    Attributes
    ----------
    indptr : ndarray of shape (n_rows + 1,), int64
        The neighbours of row i are at `indptr[i] : indptr[i + 1]`.
    indices : ndarray of shape (n_pairs,), int32
        Row numbers of the neighbours.
    distances : ndarray of shape (n_pairs,)
        Distances in the unit of the metric, 0 for an equal row. Zeros are stored, unlike in a sparse matrix, so that an equal
        row differs from a row that is no neighbour.
    n_points : int
        Number of points that were searched.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    distances: Floats
    n_points: int

    @classmethod
    def from_arrays(cls, indices: NDArray[np.int32], distances: Floats, n_points: int) -> Neighbors:
        """Return the neighbours from arrays of shape (n_rows, k): k neighbours of each row."""
        n_rows, k = indices.shape
        indptr = np.arange(0, n_rows * k + 1, k, dtype=np.int64) if k else np.zeros(n_rows + 1, dtype=np.int64)
        return cls(indptr, indices.reshape(-1), distances.reshape(-1), n_points)

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of every entry of `indices`."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), np.diff(self.indptr))

    def nearest(self, k: int) -> Neighbors:
        """Return the k nearest neighbours; every row must have at least k."""
        at = self.indptr[:-1, None] + np.arange(k)
        return Neighbors.from_arrays(self.indices[at], self.distances[at], self.n_points)

    def fill_rows(self, rows: Indices, others: Neighbors) -> Neighbors:
        """Return the neighbours with the empty lists of some rows replaced by the lists of `others`."""
        counts = np.diff(self.indptr)
        counts[rows] = np.diff(others.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        filled = np.zeros(self.n_rows, dtype=bool)
        filled[rows] = True
        from_others = filled.repeat(counts)
        indices, distances = np.empty(len(from_others), dtype=np.int32), np.empty(len(from_others))
        indices[from_others], distances[from_others] = others.indices, others.distances
        indices[~from_others], distances[~from_others] = self.indices, self.distances
        return Neighbors(indptr, indices, distances, self.n_points)


def drop_own_rows(rows: Indices, indices: NDArray[np.int32], distances: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Return lists of the neighbours of some rows without the row itself, or without the last if many equal rows precede it."""
    others = indices != rows[:, None]
    others[others.all(axis=1), -1] = False
    shape = len(rows), indices.shape[1] - 1
    return indices[others].reshape(shape), distances[others].reshape(shape)


class NeighborIndex(Serializable, ABC):
    """Abstract base class of indexes of points that answer neighbour queries.

    Attributes
    ----------
    points : Points
    recall : float
        Share of the true neighbours that `query` finds: 1 for an exact index, else estimated on a sample of exact queries.
    description : str
        Description of the search for reports.
    """

    points: Points
    recall: float = 1.0
    description: str
    invariants: ClassVar[Invariants] = {"points": InstanceOf(Points)}

    @abstractmethod
    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return the k nearest points of every query, or with queries=None of every point among the others.

        Each row has exactly k neighbours, 1 <= k <= the number of candidates; ties are ordered by the lower row.
        """

    @abstractmethod
    def query_radius(self, radius: float, queries: Points | None = None) -> Neighbors:
        """Return all points at a distance of at most `radius`, up to rounding; always exact."""

    def get_state(self) -> dict[str, Any]:
        """Return the points alone: rebuilding the index is faster than reading it from a file."""
        return {"points": self.points}


class NeighborSearch(BaseEstimator, ABC):
    """Abstract base class of neighbour searches."""

    def unsupported_reason(self, points: Points) -> str | None:  # noqa: ARG002
        """Return why the search does not support these points and which search does, or None if it supports them."""
        return None

    @abstractmethod
    def fit(self, points: Points) -> NeighborIndex:
        """Build an index of the points."""
