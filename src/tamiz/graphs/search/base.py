"""How neighbours are searched: what every search promises.

A *search* is settings; fitted to points it gives an *index*, which answers queries. An exact index and an approximate one answer
in the same words, so a graph does not know which it came from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from tamiz.graphs.points import Points
from tamiz.graphs.search.neighbors import Neighbors
from tamiz.storage.invariants import InstanceOf, Invariants
from tamiz.storage.stored import Serializable


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
