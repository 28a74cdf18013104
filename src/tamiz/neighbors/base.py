"""How neighbours are searched: what every search promises.

A *search* is settings; fitted to points it gives an *index*, which answers queries. An exact index and an approximate one answer
in the same words, so a graph does not know which it came from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tamiz.neighbors.points import Points
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import InstanceOf, Invariants
from tamiz.storage.records import Serializable


# MERGED: What a neighbour search finds.
@dataclass(frozen=True)
class Neighbors:
    """The neighbours of every row, in CSR form: nearest first, equal distances by the lower row, no row its own.

    Attributes
    ----------
    indptr : ndarray of shape (n_rows + 1,), int64
        The neighbours of row i are at `indptr[i] : indptr[i + 1]`.
    indices : ndarray of shape (n_pairs,), int32
        Rows among those searched.
    distances : ndarray of shape (n_pairs,)
        In the metric's own unit; zero for a row that is equal. Rows of different numbers are kept apart from rows at
        distance zero, which a sparse matrix of distances could not do.
    n_points : int
        Rows searched among.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    distances: Floats
    n_points: int

    @classmethod
    def from_arrays(cls, indices: NDArray[np.int32], distances: Floats, n_points: int) -> Neighbors:
        """Return the neighbours of rows that have k of them each, from arrays of shape (n_rows, k)."""
        n_rows, k = indices.shape
        indptr = np.arange(0, n_rows * k + 1, k, dtype=np.int64) if k else np.zeros(n_rows + 1, dtype=np.int64)
        return cls(indptr, indices.reshape(-1), distances.reshape(-1), n_points)

    @property
    def n_rows(self) -> int:
        """Rows whose neighbours these are."""
        return len(self.indptr) - 1

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of every pair, beside `indices`."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), np.diff(self.indptr))

    def nearest(self, k: int) -> Neighbors:
        """Return the k nearest of rows that have at least k neighbours each."""
        at = self.indptr[:-1, None] + np.arange(k)
        return Neighbors.from_arrays(self.indices[at], self.distances[at], self.n_points)

    def fill_rows(self, rows: NDArray[np.intp], others: Neighbors) -> Neighbors:
        """Return the neighbours with those of `others` given to some rows that have none."""
        counts = np.diff(self.indptr)
        counts[rows] = np.diff(others.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        given = np.zeros(self.n_rows, dtype=bool)
        given[rows] = True
        theirs = given.repeat(counts)
        indices, distances = np.empty(len(theirs), dtype=np.int32), np.empty(len(theirs))
        indices[theirs], distances[theirs] = others.indices, others.distances
        indices[~theirs], distances[~theirs] = self.indices, self.distances
        return Neighbors(indptr, indices, distances, self.n_points)


class NeighborIndex(Serializable, ABC):
    """Points made ready for queries.

    Attributes
    ----------
    points : Points
    recall : float
        Share of the true neighbours that `query` finds, 1 where it is exact; else estimated on a sample of exact queries.
    description : str
        How the neighbours are found, in words for a report.
    """

    points: Points
    recall: float = 1.0
    description: str
    invariants: ClassVar[Invariants] = {"points": InstanceOf(Points)}

    @abstractmethod
    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return the k nearest points of every query, or of every point among the others where no queries are given.

        Exactly k of them, 1 <= k <= the points there are to find; equal distances by the lower row.
        """

    @abstractmethod
    def query_radius(self, radius: float, queries: Points | None = None) -> Neighbors:
        """Return all points at a distance of at most `radius`, found exactly."""

    def get_state(self) -> dict[str, Any]:
        """Return the points: they are made ready again, which is faster than to read what was made."""
        return {"points": self.points}


class NeighborSearch(BaseEstimator, ABC):
    """A way to search neighbours."""

    def unsupported_reason(self, points: Points) -> str | None:  # noqa: ARG002
        """Return why the search cannot work on such points, and what can; None where it can, as with any points here."""
        return None

    @abstractmethod
    def fit(self, points: Points) -> NeighborIndex:
        """Make points ready for queries."""
