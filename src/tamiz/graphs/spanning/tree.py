"""The minimum spanning tree of rows: the shortest edges that join them all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz import progress
from tamiz.exceptions import DataError
from tamiz.graphs.points import Points
from tamiz.graphs.search.base import NeighborIndex
from tamiz.graphs.search.choice import choose_exact_search
from tamiz.graphs.spanning.outside import OutsideNeighbors, choose_outside_search
from tamiz.kernels.spanning import join_components, mark_undecided, shortest_edges
from tamiz.statistics.base import Floats

# Neighbours that decide nearly every edge: of the 70,000 digits, all but some hundred rows need no other search.
_N_NEIGHBORS = 15
# Rows that are looked at together without a thought whether fewer would do.
_MIN_SEARCH_ROWS = 4096


@dataclass(frozen=True)
class SpanningTree:
    """The minimum spanning tree of rows, its edges in the order of (length, head, tail).

    Of edges equally long the one with the lower rows is taken, so that there is one such tree.

    Attributes
    ----------
    heads : ndarray of shape (n_edges,), int32
        The lower row of every edge.
    tails : ndarray of shape (n_edges,), int32
        The higher one.
    lengths : ndarray of shape (n_edges,)
        Distances in the metric's own unit.
    """

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    lengths: Floats


def spanning_tree(index: NeighborIndex) -> SpanningTree:
    """Return the minimum spanning tree of all points.

    Parameters
    ----------
    index : NeighborIndex
        An exact one. Where some rows are equal another is made, of one of each: to each other they are no neighbours that
        tell anything.

    Notes
    -----
    Boruvka's rounds: every component is joined by the shortest edge that leaves it. A row whose farthest listed neighbour is
    farther than an edge that leaves its component needs no other search; when every component has rows that do, those of the
    components with few of them are searched for, and the component with the most never is. Cost: one search of 15 neighbours,
    O(n k) a round, and O(p) for each pair of rows that the bounds leave, at most O(n^2 p log n).
    """
    forest = _Forest(index.points, np.arange(index.points.n_samples))
    if forest.n_components > 1:
        forest.list_neighbors(index)
    return forest.build_tree()


def longest_edge(index: NeighborIndex) -> float:
    """Return the length of the longest edge of the minimum spanning tree: the least radius whose graph is connected."""
    return float(spanning_tree(index).lengths.max(initial=0.0))


def connecting_edges(
    index: NeighborIndex, labels: NDArray[np.integer]
) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    """Return heads, tails and lengths of the shortest edges that join components, in the order of a `SpanningTree`.

    They are the minimum spanning tree of the components, two of which are as far apart as their nearest rows. Found exactly, by
    whatever index: only its points are used.
    """
    forest = _Forest(index.points, labels)
    # With small components nearly every row is searched for, which a search of neighbours does at less cost.
    if forest.n_components > max(1, len(forest.rows) // _N_NEIGHBORS):
        forest.list_neighbors()
    tree = forest.build_tree()
    return tree.heads, tree.tails, tree.lengths


class _Forest:
    """Components that grow together, one row standing for all that are equal to it.

    A row p lists other rows, near[p] at lengths[p], nearest first, of which those before cursor[p] are in its component.
    Edges to rows that are not listed come after (reach[p], reach_low[p]) in the order of (length, lower row).

    Attributes
    ----------
    rows : ndarray of shape (n_distinct,)
        The lowest of the rows that are equal, by which the others are known here.
    n_components : int
    """

    def __init__(self, points: Points, labels: NDArray[np.integer]) -> None:
        numbers, numbered = np.unique(labels, return_inverse=True)
        first = points.first_occurrences()
        self.n_components = len(numbers)
        self._n_edges = len(numbers) - 1
        self._labels = numbered.astype(np.int32)
        self._edges: list[tuple[NDArray[np.int32], NDArray[np.int32], Floats]] = []
        self._join_equal_rows(first.astype(np.int32))
        self.rows = np.flatnonzero(first == np.arange(len(first)))
        self._labels = np.ascontiguousarray(self._labels[self.rows])
        self._points = points if len(self.rows) == len(first) else points.take(self.rows)
        n = len(self.rows)
        self._listed_rows: NDArray[np.int32] = np.empty((n, 0), dtype=np.int32)
        self._listed_lengths: Floats = np.empty((n, 0))
        self._cursor = np.zeros(n, dtype=np.int32)
        self._min_unlisted, self._min_unlisted_row = np.zeros(n), np.zeros(n, dtype=np.int32)

    def _join_equal_rows(self, first: NDArray[np.int32]) -> None:
        """Join the components that have equal rows, by edges from the lowest of them."""
        repeated = np.flatnonzero(first != np.arange(len(first)))
        _, once = np.unique(first[repeated] * np.int64(len(first)) + self._labels[repeated], return_index=True)
        tails = repeated[np.sort(once)].astype(np.int32)
        heads = first[tails]
        order = np.lexsort((tails, heads))
        self._join_components(heads[order], tails[order], np.zeros(len(tails)), np.arange(len(first)))

    def list_neighbors(self, index: NeighborIndex | None = None) -> None:
        """List the nearest neighbours of every row, those of an index of all rows where no two of them are equal."""
        n = len(self.rows)
        if index is None or self._points is not index.points:
            index = choose_exact_search(self._points).fit(self._points)
        near = index.query(min(_N_NEIGHBORS, n - 1))
        self._listed_rows, self._listed_lengths = near.indices.reshape(n, -1), near.distances.reshape(n, -1)
        complete = self._listed_rows.shape[1] == n - 1
        self._min_unlisted = np.full(n, np.inf) if complete else self._listed_lengths[:, -1].copy()
        self._min_unlisted_row = np.minimum(np.arange(n, dtype=np.int32), self._listed_rows[:, -1] + 1)

    def build_tree(self) -> SpanningTree:
        """Join the components until one is left, and return the edges."""
        search = None
        while self.n_components > 1:
            best, low, high, waiting = self._find_shortest_edges()
            n_waiting = np.bincount(self._labels[waiting], minlength=self.n_components)
            certain = np.flatnonzero((n_waiting == 0) & np.isfinite(best))
            if len(certain):
                self._join_components(low[certain], high[certain], best[certain], self.rows)
                continue
            if not len(waiting):
                raise DataError(
                    f"Distances overflow: {self.n_components:,} parts of the rows are infinitely far from each other. "
                    "Divide the columns by a large number."
                )
            search = choose_outside_search(self._points, self._labels) if search is None else search
            chosen = _components_to_search(n_waiting)[self._labels[waiting]]
            self._store_neighbors(search.nearest(waiting[chosen], self._labels, best, self._min_unlisted))
        heads, tails, lengths = (np.concatenate(ends) for ends in zip(*self._edges, strict=True))
        order = np.lexsort((tails, heads, lengths))
        return SpanningTree(heads[order], tails[order], lengths[order])

    def _find_shortest_edges(self) -> tuple[Floats, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Return the shortest listed edge out of every component, and the rows that may have a shorter one."""
        m = self.n_components
        best, low, high = np.empty(m), np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
        shortest_edges(self._labels, self._listed_rows, self._listed_lengths, self._cursor, best, low, high)
        waits = np.empty(len(self.rows), dtype=np.bool_)
        width = self._listed_rows.shape[1]
        mark_undecided(self._labels, width, self._cursor, self._min_unlisted, self._min_unlisted_row, best, low, waits)
        return best, low, high, np.flatnonzero(waits).astype(np.int32)

    def _join_components(
        self, heads: NDArray[np.int32], tails: NDArray[np.int32], lengths: Floats, rows: NDArray[np.intp]
    ) -> None:
        """Join components by those of the edges that join two, and keep them by the numbers that rows have outside."""
        kept = np.empty(len(heads), dtype=np.bool_)
        self.n_components = join_components(heads, tails, self.n_components, self._labels, kept)
        self._edges.append((rows[heads[kept]].astype(np.int32), rows[tails[kept]].astype(np.int32), lengths[kept]))
        progress.report_progress("Spanning tree", self._n_edges - self.n_components + 1, self._n_edges)

    def _store_neighbors(self, neighbors: OutsideNeighbors) -> None:
        """List what a search found, in place of what rows had listed."""
        rows, width = neighbors.rows, neighbors.outside_rows.shape[1]
        if width > self._listed_rows.shape[1]:
            own = np.repeat(
                np.arange(len(self.rows), dtype=np.int32)[:, None], width - self._listed_rows.shape[1], axis=1
            )
            self._listed_rows = np.ascontiguousarray(np.c_[self._listed_rows, own])
            self._listed_lengths = np.ascontiguousarray(np.c_[self._listed_lengths, np.full(own.shape, np.inf)])
        self._listed_rows[rows], self._listed_lengths[rows] = rows[:, None], np.inf
        self._listed_rows[rows, :width], self._listed_lengths[rows, :width] = neighbors.outside_rows, neighbors.lengths
        self._cursor[rows] = 0
        farther = neighbors.min_unlisted > self._min_unlisted[rows]
        self._min_unlisted[rows[farther]], self._min_unlisted_row[rows[farther]] = (
            neighbors.min_unlisted[farther],
            neighbors.min_unlisted_row[farther],
        )


def _components_to_search(n_waiting: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which components to search for, given their waiting rows: those with few, up to half of all, but never the last.

    The edges out of the others may then be known from the other side.
    """
    order = np.argsort(n_waiting, kind="stable")
    order = order[n_waiting[order] > 0]
    enough = np.searchsorted(np.cumsum(n_waiting[order]), max(n_waiting.sum() // 2, _MIN_SEARCH_ROWS), side="right")
    chosen = np.zeros(len(n_waiting), dtype=np.bool_)
    chosen[order[: max(1, min(enough, len(order) - 1))]] = True
    return chosen
