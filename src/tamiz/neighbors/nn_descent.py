"""Approximate neighbours by nearest-neighbour descent."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.neighbors.base import Neighbors, NeighborSearch
from tamiz.neighbors.brute_force import ProductIndex
from tamiz.neighbors.euclidean_index import EuclideanIndex, PairArrays, unsupported_points_message
from tamiz.neighbors.nn_descent_result import NNDescentResult
from tamiz.neighbors.points import Points
from tamiz.neighbors.search_rows import DistinctRows
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_real
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Integer, Invariants, Nullable, Number

# All pairs of fewer rows are compared in less time than a descent takes.
_MIN_ROWS = 2000
# Lists are made for at least so many neighbours.
_MIN_NEIGHBORS = 15
# A recall that falls short by more is told.
_RECALL_SLACK = 0.01


class NNDescent(NeighborSearch):
    """The nearest rows, nearly: the neighbours of neighbours, compared until hardly any comes nearer.

    Parameters
    ----------
    recall : float, default=0.99
        Share of the true neighbours to find, as estimated on a sample of exact searches. The search goes on until that is
        reached or goes too slowly; the index and the graph tell what was.
    random_state : int, Generator or None, default=None

    Raises
    ------
    ValueError
        When `recall` is not within [0, 1].

    Notes
    -----
    Cost about O(n log n) in few intrinsic dimensions; where there are many, as in noise, nothing but comparing all pairs
    finds neighbours, and the recall says so. Lists start from the leaves of random-projection trees. A pass compares the
    rows of a leaf, together, with everything that two links from any of them lead to, in float32, of many columns along
    the leading directions where these are enough; distances are those of an exact search, to the bit. Equal rows are
    searched once, where they are many. The result is the same for a seed at any number of threads.

    References
    ----------
    Dong, Moses and Li (2011), Efficient k-nearest neighbor graph construction for generic similarity measures, WWW;
    Dasgupta and Freund (2008), Random projection trees and low dimensional manifolds, STOC.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.neighbors import NNDescent
    >>> from tamiz.neighbors.points import EuclideanPoints
    >>> index = NNDescent(random_state=0).fit(EuclideanPoints(np.arange(3000.0)[:, None]))
    >>> index.query(2).indices[:4]
    array([1, 2, 0, 2], dtype=int32)
    """

    def __init__(self, *, recall: float = 0.99, random_state: Seed = None) -> None:
        self.recall = recall
        self.random_state = random_state

    def unsupported_reason(self, points: Points) -> str | None:
        """Return why the points are not rows of numbers, and many; None where they are."""
        if points.euclidean_values() is None:
            return unsupported_points_message(self, points)
        if points.n_samples >= _MIN_ROWS:
            return None
        return f"NNDescent requires at least {_MIN_ROWS:,} rows, got {points.n_samples:,}. Use BruteForce()."

    def fit(self, points: Points) -> NNDescentIndex:
        """Make points ready for queries; the work is done for the first of them."""
        target = check_real("recall", self.recall, low=0.0)
        if target > 1.0:
            raise ValueError(f"recall must be at most 1, got {target}.")
        return NNDescentIndex(points, target, int(make_rng(self.random_state).integers(2**62)))


class NNDescentIndex(EuclideanIndex):
    """Points with lists of their neighbours, found approximately.

    Attributes
    ----------
    points, distinct
        As of any `EuclideanIndex`.
    recall : float
        Of the last query among the points themselves, or of 15 neighbours before there was one.
    """

    description = "approximate, by nearest-neighbour descent"
    invariants: ClassVar[Invariants] = {
        "target": Number(0.0, 1.0),
        "seed": Integer(),
        "recall": Nullable(Number(0.0, 1.0)),
    }

    def __init__(self, points: Points, target: float, seed: int) -> None:
        values = points.euclidean_values()
        assert values is not None
        super().__init__(points, DistinctRows(values))
        self._target = target
        self._seed = seed
        self._result: NNDescentResult | None = None
        self._recall: float | None = None

    @property
    def recall(self) -> float:  # type: ignore[override]
        """Share of the true neighbours found."""
        if self._recall is None:
            self.query(min(_MIN_NEIGHBORS, self.points.n_samples - 1))
        assert self._recall is not None
        return self._recall

    def get_state(self) -> dict[str, Any]:
        """Return the points and what the lists of neighbours depend on: they are made again for the next query."""
        return {"points": self.points, "target": self._target, "seed": self._seed, "recall": self._recall}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the points with no lists yet, and the recall that was told."""
        index = cls(state["points"], state["target"], state["seed"])
        index._recall = state["recall"]
        return index

    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return k near points of every query, each searched by itself, or of every point among the others."""
        with parallel.thread_session():
            return self._complete_lists(super().query(k, queries), k, queries)

    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return `size` near rows of every point, those it stands for among them; -1 where fewer were found."""
        descended = self._run_descent(size - 1)
        if descended.needs_brute_force:
            self._recall = 1.0
            return self._brute_force.nearest_to_points(size)
        self._recall = descended.recall(size - 1)
        return descended.nearest_lists(size)

    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return `size` near rows of rows of numbers; -1 where fewer were found."""
        descended = self._run_descent(size)
        if descended.needs_brute_force:
            self._recall = 1.0
            return self._brute_force.nearest_to_rows(values, size)
        return descended.find_nearest(values, size)

    def _complete_lists(self, neighbors: Neighbors, k: int, queries: Points | None) -> Neighbors:
        """Return the neighbours with exact ones for the rows that fewer than k were found for."""
        lacking = np.flatnonzero(neighbors.indices[k - 1 :: k] < 0)
        if not lacking.size:
            return neighbors
        asked = (self.points if queries is None else queries).take(lacking)
        exact = self._brute_force.query(k + (queries is None), asked)
        indices, distances = exact.indices.reshape(lacking.size, -1), exact.distances.reshape(lacking.size, -1)
        if queries is None:
            # The row itself goes, or the last where it is one of many equal ones and not among the first.
            others = indices != lacking[:, None]
            others[others.all(axis=1), -1] = False
            indices, distances = indices[others], distances[others]
        neighbors.indices.reshape(-1, k)[lacking] = indices.reshape(-1, k)
        neighbors.distances.reshape(-1, k)[lacking] = distances.reshape(-1, k)
        return neighbors

    def pairs_within(self, values: Floats, max_distance: float, *, among_points: bool) -> Iterator[PairArrays]:
        """Yield the pairs of rows of numbers and points within reach, found by comparing all."""
        return self._brute_force.pairs_within(values, max_distance, among_points=among_points)

    @cached_property
    def _brute_force(self) -> ProductIndex:
        return ProductIndex(self.points, self.distinct)

    def _run_descent(self, k: int) -> NNDescentResult:
        # The same lists serve all queries of as many neighbours, in whatever order they come.
        size = max(k, min(_MIN_NEIGHBORS, self.points.n_samples - 1))
        if self._result is None or self._result.k != size:
            self._result = descended = NNDescentResult(self.distinct, size, self._target, self._seed)
            if not descended.needs_brute_force and descended.recall(size) < self._target - _RECALL_SLACK:
                warn_user(
                    [
                        f"NNDescent finds about {descended.recall(size):.3g} of the nearest neighbours, fewer than the "
                        f"{self._target:g} requested; BruteForce() finds all."
                    ]
                )
        return self._result
