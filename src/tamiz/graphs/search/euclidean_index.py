"""What all searches among rows of numbers have in common: from the numbers that they compare to the rows that are asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.graphs.points import Points
from tamiz.graphs.search.base import Index, NeighborSearch
from tamiz.graphs.search.distinct import Distinct
from tamiz.graphs.search.neighbors import Neighbors
from tamiz.graphs.search.pairs import Found, Reach, check_lists, reported
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Invariants, Is, Law
from tamiz.validation import check_integer


class EuclideanIndex(Index):
    """Points in a Euclidean space.

    Attributes
    ----------
    points : Points
    distinct : Distinct
        What the points are in numbers, each once.
    """

    invariants: ClassVar[Invariants] = {
        "points": (Is(Points), Law(lambda it: it.points.euclidean() is not None, "is not of rows of numbers")),
    }

    def __init__(self, points: Points, distinct: Distinct) -> None:
        self.points = points
        self.distinct = distinct

    @classmethod
    def restored(cls, made_of: dict[str, Any]) -> Self:
        """Return the points made ready again."""
        with parallel.session():
            return cls(made_of["points"], Distinct(made_of["points"].euclidean()))

    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return the k nearest points of every query, or of every point among the others."""
        n_rows = self.points.n_samples if queries is None else queries.n_samples
        check_integer("n_neighbors", k, low=1, high=self.points.n_samples - (queries is None))
        check_lists(n_rows, k)
        if queries is None:
            dist, rows = self.distinct.hand_out(*self.of_points(k + 1), k + 1)
        else:
            dist, rows = self.of_rows(self.distinct.scaled(queries), k)
        dist = reported(self.points, self.distinct, dist)
        return Neighbors.regular(rows.reshape(n_rows, k), dist.reshape(n_rows, k), self.points.n_samples)

    def within(self, radius: float, queries: Points | None = None) -> Neighbors:
        """Return all points at a distance of at most `radius`."""
        own = queries is None
        reach = Reach(self.points, self.distinct, radius, own=own)
        values = self.distinct.values if queries is None else self.distinct.scaled(queries)
        reach.check(values)
        return reach.lists(self.pairs(values, reach.distance, own=own), len(values))

    @abstractmethod
    def of_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return distances and rows of the `size` nearest rows of every point, those it stands for among them, list after list."""

    @abstractmethod
    def of_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return distances and rows of the `size` nearest rows of rows of numbers at the scale of the points, list after list."""

    @abstractmethod
    def pairs(self, values: Floats, reach: float, *, own: bool) -> Iterator[Found]:
        """Yield the pairs of rows of numbers and points that are at most `reach` apart, at the scale of the points.

        Where the rows are the points themselves (`own`), each pair once and no point with itself.
        """


def refusal_without_rows(search: NeighborSearch, points: Points) -> str:
    """Return why a search that compares numbers cannot work on points that only tell their distances."""
    return (
        f"{type(search).__name__} takes dense rows of numbers at euclidean or cosine distances, "
        f"got {type(points).__name__}. Use Exact()."
    )
