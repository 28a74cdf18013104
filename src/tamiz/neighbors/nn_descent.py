"""Approximate nearest neighbours by nearest-neighbour descent."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.neighbors.base import Neighbors, NeighborSearch
from tamiz.neighbors.brute_force import ProductIndex
from tamiz.neighbors.euclidean_index import EuclideanIndex, PairArrays, unsupported_points_message
from tamiz.neighbors.nn_descent_result import NNDescentResult
from tamiz.neighbors.points import Points
from tamiz.neighbors.search_rows import DistinctRows
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_real
from tamiz.storage.invariants import Integer, Invariants, Nullable, Number

# With fewer rows, comparing all pairs is faster.
_MIN_ROWS = 2000
# Least number of neighbours for which lists are computed.
_MIN_NEIGHBORS = 15
# A warning is issued if the recall is below the target by more than this.
_RECALL_SLACK = 0.01


class NNDescent(NeighborSearch):
    """Approximate nearest neighbours: rows are compared with neighbours of their neighbours until few lists improve.

    Parameters
    ----------
    recall : float, default=0.99
        Target share of the true neighbours, estimated on a sample of exact searches. The search stops when the target is reached
        or the recall hardly improves. The index and the graph have the reached value in `recall`.
    random_state : int, Generator or None, default=None
        Seed of the trees and of the sample.

    Raises
    ------
    ValueError
        When `recall` is not within [0, 1].

    Notes
    -----
    Cost about O(n log n) for data of low intrinsic dimension. For data of high intrinsic dimension, such as noise, the recall stays
    low. The lists start from the leaves of random-projection trees. A pass compares the rows of a leaf with all rows that two links
    from any of them lead to, in float32. Many columns are reduced to their leading directions if these suffice. Final distances are
    those of an exact search, to the bit. If there are many equal rows, they are searched once. The result for a seed does not
    depend on the number of threads.

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
        """Return why the points are not supported, or None: the search requires at least 2,000 rows of numbers."""
        if points.euclidean_values() is None:
            return unsupported_points_message(self, points)
        if points.n_samples >= _MIN_ROWS:
            return None
        return f"NNDescent requires at least {_MIN_ROWS:,} rows, got {points.n_samples:,}. Use BruteForce()."

    def fit(self, points: Points) -> NNDescentIndex:
        """Return an index of the points; the lists are computed by the first query."""
        target = check_real("recall", self.recall, low=0.0)
        if target > 1.0:
            raise ValueError(f"recall must be at most 1, got {target}.")
        return NNDescentIndex(points, target, int(make_rng(self.random_state).integers(2**62)))


class NNDescentIndex(EuclideanIndex):
    """Points with approximate lists of their neighbours.

    Attributes
    ----------
    points, distinct
        As in `EuclideanIndex`.
    recall : float
        Recall of the last query among the points themselves; before the first, of 15 neighbours.
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
        """Share of the true neighbours that were found, estimated."""
        if self._recall is None:
            self.query(min(_MIN_NEIGHBORS, self.points.n_samples - 1))
        assert self._recall is not None
        return self._recall

    def get_state(self) -> dict[str, Any]:
        """Return the points and the parameters of the lists, which are computed again for the next query."""
        return {"points": self.points, "target": self._target, "seed": self._seed, "recall": self._recall}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the index without lists, and with the saved recall."""
        index = cls(state["points"], state["target"], state["seed"])
        index._recall = state["recall"]
        return index

    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return k near points of every query, independently of other queries, or of every point among the others."""
        with parallel.thread_session():
            return self._complete_lists(super().query(k, queries), k, queries)

    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return `size` near rows of every point, including the rows equal to it; -1 where fewer were found."""
        result = self._run_descent(size - 1)
        if result.needs_brute_force:
            self._recall = 1.0
            return self._brute_force.nearest_to_points(size)
        self._recall = result.recall(size - 1)
        return result.nearest_lists(size)

    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return `size` near rows of other rows; -1 where fewer were found."""
        result = self._run_descent(size)
        if result.needs_brute_force:
            self._recall = 1.0
            return self._brute_force.nearest_to_rows(values, size)
        return result.find_nearest(values, size)

    def _complete_lists(self, neighbors: Neighbors, k: int, queries: Points | None) -> Neighbors:
        """Return the neighbours, with exact lists for the rows for which fewer than k were found."""
        incomplete = np.flatnonzero(neighbors.indices[k - 1 :: k] < 0)
        if not incomplete.size:
            return neighbors
        rows = (self.points if queries is None else queries).take(incomplete)
        exact = self._brute_force.query(k + (queries is None), rows)
        indices, distances = exact.indices.reshape(incomplete.size, -1), exact.distances.reshape(incomplete.size, -1)
        if queries is None:
            # The row itself is removed, or the last entry if many equal rows precede the row itself.
            others = indices != incomplete[:, None]
            others[others.all(axis=1), -1] = False
            indices, distances = indices[others], distances[others]
        neighbors.indices.reshape(-1, k)[incomplete] = indices.reshape(-1, k)
        neighbors.distances.reshape(-1, k)[incomplete] = distances.reshape(-1, k)
        return neighbors

    def pairs_within(self, values: Floats, max_distance: float, *, among_points: bool) -> Iterator[PairArrays]:
        """Yield the pairs of rows and points within a distance, found by comparing all pairs."""
        return self._brute_force.pairs_within(values, max_distance, among_points=among_points)

    @cached_property
    def _brute_force(self) -> ProductIndex:
        return ProductIndex(self.points, self.distinct)

    def _run_descent(self, k: int) -> NNDescentResult:
        # Lists of at least 15 neighbours are shared by all queries of up to 15.
        size = max(k, min(_MIN_NEIGHBORS, self.points.n_samples - 1))
        if self._result is None or self._result.k != size:
            self._result = result = NNDescentResult(self.distinct, size, self._target, self._seed)
            if not result.needs_brute_force and result.recall(size) < self._target - _RECALL_SLACK:
                warn(
                    "TZ404",
                    f"NNDescent finds about {result.recall(size):.3g} of the nearest neighbours, fewer than the "
                    f"{self._target:g} requested; BruteForce() finds all.",
                )
        return self._result
