"""Approximate neighbours by nearest-neighbour descent."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from tamiz import parallel
from tamiz.graphs.points import Points
from tamiz.graphs.search.base import Index, NeighborSearch
from tamiz.graphs.search.descended import Descended
from tamiz.graphs.search.distinct import Distinct
from tamiz.graphs.search.exact import Exact
from tamiz.graphs.search.neighbors import Neighbors
from tamiz.graphs.search.pairs import check_lists, reported
from tamiz.random import Seed, generator
from tamiz.validation import check_integer, check_real
from tamiz.warn import tell

# With fewer rows all pairs are compared sooner.
_LEAST_ROWS = 2000
# Lists are made for at least so many neighbours.
_LEAST_NEIGHBORS = 15
# A recall that falls short by more is told.
_SLACK = 0.01


class Descent(NeighborSearch):
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
    >>> from tamiz.graphs.search.descent import Descent
    >>> from tamiz.graphs.points import Rows
    >>> index = Descent(random_state=0).fit(Rows(np.arange(3000.0)[:, None]))
    >>> index.query(2).indices[:4]
    array([1, 2, 0, 2], dtype=int32)
    """

    def __init__(self, *, recall: float = 0.99, random_state: Seed = None) -> None:
        self.recall = recall
        self.random_state = random_state

    def suits(self, points: Points) -> bool:
        """Return whether the points are rows of numbers, and many."""
        return points.n_samples >= _LEAST_ROWS and points.euclidean() is not None

    def fit(self, points: Points) -> DescentIndex:
        """Make points ready for queries; the work is done for the first of them."""
        target = check_real("recall", self.recall, low=0.0)
        if target > 1.0:
            raise ValueError(f"recall must be at most 1, got {target}.")
        return DescentIndex(points, target, int(generator(self.random_state).integers(2**62)))


class DescentIndex(Index):
    """Points with lists of their neighbours, found approximately.

    Attributes
    ----------
    points : Points
    recall : float
        Of the last query among the points themselves, or of 15 neighbours before there was one.
    """

    description = "approximate, by nearest-neighbour descent"

    def __init__(self, points: Points, target: float, seed: int) -> None:
        values = points.euclidean()
        assert values is not None
        self.points = points
        self._distinct = Distinct(values)
        self._target = target
        self._seed = seed
        self._descended: Descended | None = None
        self._recall: float | None = None

    @property
    def recall(self) -> float:  # type: ignore[override]
        """Share of the true neighbours found."""
        if self._recall is None:
            self.query(min(_LEAST_NEIGHBORS, self.points.n_samples - 1))
        assert self._recall is not None
        return self._recall

    def stored(self) -> dict[str, Any]:
        """Return the points and what the lists of neighbours depend on: they are made again for the next query."""
        return {"points": self.points, "target": self._target, "seed": self._seed, "recall": self._recall}

    @classmethod
    def restored(cls, made_of: dict[str, Any]) -> Self:
        """Return the points with no lists yet, and the recall that was told."""
        index = cls(made_of["points"], made_of["target"], made_of["seed"])
        index._recall = made_of["recall"]
        return index

    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return k near points of every query, each searched by itself, or of every point among the others."""
        n = self.points.n_samples
        n_rows = n if queries is None else queries.n_samples
        check_integer("n_neighbors", k, low=1, high=n - (queries is None))
        check_lists(n_rows, k)
        with parallel.session():
            descended = self._descend(k)
            if descended.exhausted:
                self._recall = 1.0
                return self._exact.query(k, queries)
            if queries is None:
                self._recall = descended.recall(k)
                dist, rows = self._distinct.hand_out(*descended.nearest(k + 1), k + 1)
            else:
                dist, rows = descended.near(self._distinct.scaled(queries), k)
            dist = reported(self.points, self._distinct, dist)
            found = Neighbors.regular(rows.reshape(n_rows, k), dist.reshape(n_rows, k), n)
            return self._completed(found, k, queries)

    def _completed(self, found: Neighbors, k: int, queries: Points | None) -> Neighbors:
        """Return the neighbours with exact ones for the rows that fewer than k were found for."""
        lacking = np.flatnonzero(found.indices[k - 1 :: k] < 0)
        if not lacking.size:
            return found
        asked = (self.points if queries is None else queries).take(lacking)
        exact = self._exact.query(k + (queries is None), asked)
        indices, distances = exact.indices.reshape(lacking.size, -1), exact.distances.reshape(lacking.size, -1)
        if queries is None:
            # The row itself goes, or the last where it is one of many equal ones and not among the first.
            others = indices != lacking[:, None]
            others[others.all(axis=1), -1] = False
            indices, distances = indices[others], distances[others]
        found.indices.reshape(-1, k)[lacking] = indices.reshape(-1, k)
        found.distances.reshape(-1, k)[lacking] = distances.reshape(-1, k)
        return found

    def within(self, radius: float, queries: Points | None = None) -> Neighbors:
        """Return all points at a distance of at most `radius`, found by comparing all pairs."""
        return self._exact.within(radius, queries)

    @cached_property
    def _exact(self) -> Index:
        return Exact().fit(self.points)

    def _descend(self, k: int) -> Descended:
        # The same lists serve all queries of as many neighbours, in whatever order they come.
        size = max(k, min(_LEAST_NEIGHBORS, self.points.n_samples - 1))
        if self._descended is None or self._descended.k != size:
            self._descended = descended = Descended(self._distinct, size, self._target, self._seed)
            if not descended.exhausted and descended.recall(size) < self._target - _SLACK:
                tell(
                    [
                        f"Descent finds about {descended.recall(size):.3g} of the nearest neighbours, fewer than the "
                        f"{self._target:g} asked for; Exact() finds all."
                    ]
                )
        return self._descended
