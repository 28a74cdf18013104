"""What all searches among rows of numbers have in common: from the numbers that they compare to the rows that are asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.graphs.points import Points
from tamiz.graphs.search.base import NeighborIndex, NeighborSearch
from tamiz.graphs.search.distinct import DistinctRows
from tamiz.graphs.search.neighbors import Neighbors
from tamiz.graphs.search.pairs import PairArrays, RadiusQuery, check_list_memory, metric_distances
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Condition, InstanceOf, Invariants
from tamiz.validation import check_integer


class EuclideanIndex(NeighborIndex):
    """Points in a Euclidean space.

    Attributes
    ----------
    points : Points
    distinct : DistinctRows
        What the points are in numbers, each once.
    """

    invariants: ClassVar[Invariants] = {
        "points": (
            InstanceOf(Points),
            Condition(lambda it: it.points.euclidean_values() is not None, "is not of rows of numbers"),
        ),
    }

    def __init__(self, points: Points, distinct: DistinctRows) -> None:
        self.points = points
        self.distinct = distinct

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the points made ready again."""
        with parallel.thread_session():
            return cls(state["points"], DistinctRows(state["points"].euclidean_values()))

    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return the k nearest points of every query, or of every point among the others."""
        n_rows = self.points.n_samples if queries is None else queries.n_samples
        check_integer("n_neighbors", k, low=1, high=self.points.n_samples - (queries is None))
        check_list_memory(n_rows, k)
        if queries is None:
            dist, rows = self.distinct.expand_lists(*self.nearest_to_points(k + 1), k + 1)
        else:
            dist, rows = self.nearest_to_rows(self.distinct.scale_queries(queries), k)
        dist = metric_distances(self.points, self.distinct, dist)
        return Neighbors.from_arrays(rows.reshape(n_rows, k), dist.reshape(n_rows, k), self.points.n_samples)

    def query_radius(self, radius: float, queries: Points | None = None) -> Neighbors:
        """Return all points at a distance of at most `radius`."""
        own = queries is None
        reach = RadiusQuery(self.points, self.distinct, radius, among_points=own)
        values = self.distinct.values if queries is None else self.distinct.scale_queries(queries)
        reach.check_result_size(values)
        return reach.build_neighbors(self.pairs_within(values, reach.max_distance, among_points=own), len(values))

    @abstractmethod
    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return distances and rows of the `size` nearest rows of every point, those it stands for among them, list after list."""

    @abstractmethod
    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return distances and rows of the `size` nearest rows of rows of numbers at the scale of the points, list after list."""

    @abstractmethod
    def pairs_within(self, values: Floats, max_distance: float, *, among_points: bool) -> Iterator[PairArrays]:
        """Yield the pairs of rows of numbers and points that are at most `max_distance` apart, at the scale of the points.

        Where the rows are the points themselves (`among_points`), each pair once and no point with itself.
        """


def unsupported_points_message(search: NeighborSearch, points: Points) -> str:
    """Return why a search that compares numbers cannot work on points that only tell their distances."""
    return (
        f"{type(search).__name__} takes dense rows of numbers at euclidean or cosine distances, "
        f"got {type(points).__name__}. Use Exact()."
    )
