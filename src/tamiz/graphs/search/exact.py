"""Exact search: all pairs, most of them by a bound only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel, progress
from tamiz.graphs.points import Points
from tamiz.graphs.search.all_pairs import AllPairs
from tamiz.graphs.search.base import Index, NeighborSearch
from tamiz.graphs.search.bounds import Bounds, left_of
from tamiz.graphs.search.charts import chosen_chart
from tamiz.graphs.search.distinct import Distinct
from tamiz.graphs.search.euclidean_index import EuclideanIndex
from tamiz.graphs.search.pairs import Found, in_order
from tamiz.graphs.search.projection_trees import ProjectionTree
from tamiz.graphs.search.tiles import ROWS, Tiles
from tamiz.kernels.nearest import RUN, begin, collect, count_bounds, measure_all, prime, scan_one, scan_pairs, scan_rows
from tamiz.statistics.base import Floats

# Points side by side in a tree that limits are first taken from, and columns that the tree splits.
_BESIDE, _LEADING = 512, 64


class Exact(NeighborSearch):
    """The nearest rows by comparing all pairs.

    Notes
    -----
    Cost O(n^2 p). Blocks of products in float32 give each pair a bound that its distance is not below, and only the
    pairs that may be near by it are measured, in float64. Where few directions hold most of the variance of many columns,
    the products are of those. The result is that of measuring every pair, to the bit: k nearest by distance, equal
    distances by the lower row. Points that are not rows of numbers are compared by blocks of their own distances.

    References
    ----------
    Higham (2002), Accuracy and Stability of Numerical Algorithms, section 3.1: the bound.

    Examples
    --------
    >>> from tamiz.graphs import Exact
    >>> from tamiz.graphs.points import Rows
    >>> Exact().fit(Rows([[0.0], [1.0], [3.0]])).query(1).indices
    array([1, 0, 1], dtype=int32)
    """

    def fit(self, points: Points) -> Index:
        """Make points ready for queries."""
        values = points.euclidean()
        return AllPairs(points) if values is None else ByProducts(points, Distinct(values))

    def seconds(self, n_points: int, n_columns: int) -> float:
        """Return about how long one core takes for the nearest of all points, when no direction saves columns."""
        return 0.5e-9 * n_points**2 * (0.03 * (n_columns + 2) + 0.6)


class ByProducts(EuclideanIndex):
    """Points in a Euclidean space, compared by blocks of products."""

    description = "exact, by blocks of products"

    def __init__(self, points: Points, distinct: Distinct) -> None:
        super().__init__(points, distinct)
        self.bounds = bounds = Bounds(distinct.values, *chosen_chart(distinct))
        self._tiles = Tiles(bounds)
        self._measures = distinct.values, bounds.fine, bounds.slack, bounds.growth

    def of_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of every point, those it stands for among them."""
        bounds = self.bounds
        dist, rows = self._heaps(bounds.n_points, size)
        limits = np.full((len(bounds.right) // RUN, RUN), np.inf, dtype=np.float32)
        state = self.distinct.members, self.distinct.starts, limits, dist, rows, size
        begin(bounds.factor, *state)
        self._prime(limits, size)

        def scan(tile: NDArray[np.float32], start: int, begun: int, triangle: bool) -> None:  # noqa: ARG001
            scan_pairs(tile, start, begun, *self._measures, bounds.factor, *state)

        for _ in self._tiles.among_points(scan):
            pass
        in_order(dist, rows, np.arange(0, len(dist) + 1, size))
        return dist, rows

    def _prime(self, limits: NDArray[np.float32], size: int) -> None:
        """Lower the limits of points to what the rows beside them in a tree allow: fewer pairs are then measured."""
        bounds, beside = self.bounds, max(_BESIDE, 4 * size)
        if bounds.n_points < 2 * beside:
            return
        order = ProjectionTree.grown(bounds.leading(_LEADING), 0, offset=False).order

        def lower(span: tuple[int, int]) -> None:
            points = order[slice(*span)]
            right = bounds.right[points]
            tile = np.asarray(left_of(right) @ right.T, dtype=np.float32)
            prime(tile, points, self.distinct.values, bounds.factor, size, limits)

        for _ in parallel.map_blocks(lower, parallel.spans(bounds.n_points, beside)):
            pass

    def of_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of numbers at the scale of the points, with equal ones among them."""
        dist, rows = self._heaps(len(values), size)
        standing = self.distinct.members, self.distinct.starts

        def search(span: tuple[int, int]) -> None:
            part, entries = values[slice(*span)], slice(span[0] * size, span[1] * size)
            right, fine, slack = self.bounds.queries(part)
            limits = np.full((1, len(part)), np.inf, dtype=np.float32)
            heaps = dist[entries], rows[entries], size
            for tile, begun in self._tiles.of_queries(right):
                scan_rows(
                    tile, begun, part, fine, slack, *self._measures, self.bounds.factor, *standing, limits, *heaps
                )
            for far in np.flatnonzero(np.isnan(right[:, -1])):
                scan_one(part, far, self.distinct.values, *standing, *heaps)

        spans = parallel.spans(len(values), ROWS)
        for _ in progress.track("Neighbours", parallel.map_blocks(search, spans), len(spans)):
            pass
        in_order(dist, rows, np.arange(0, len(dist) + 1, size))
        return dist, rows

    def _heaps(self, n_lists: int, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return lists that nothing is in yet."""
        return np.full(n_lists * size, np.inf), np.full(n_lists * size, self.points.n_samples, dtype=np.int32)

    def pairs(self, values: Floats, reach: float, *, own: bool) -> Iterator[Found]:
        """Yield the pairs of rows of numbers and points within reach, those of the points themselves each once."""
        return self._pairs_of_points(reach) if own else self._pairs_of_rows(values, reach)

    def _pairs_of_points(self, reach: float) -> Iterator[Found]:
        bounds, values = self.bounds, self.distinct.values

        def pairs(tile: NDArray[np.float32], start: int, begun: int, triangle: bool) -> Found:
            part = slice(start, start + len(tile))
            return self._collected(
                tile, start, begun, triangle, values[part], bounds.fine[part], bounds.slack[part], reach
            )

        return self._tiles.among_points(pairs)

    def _pairs_of_rows(self, values: Floats, reach: float) -> Iterator[Found]:
        def pairs(span: tuple[int, int]) -> list[Found]:
            part = values[slice(*span)]
            right, fine, slack = self.bounds.queries(part)
            found = [
                self._collected(tile, span[0], begun, False, part, fine, slack, reach)
                for tile, begun in self._tiles.of_queries(right)
            ]
            for far in np.flatnonzero(np.isnan(right[:, -1])):
                dist = np.empty(self.distinct.n_points)
                measure_all(part, far, self.distinct.values, dist)
                near = np.flatnonzero(dist <= reach).astype(np.int32)
                found.append((np.full(len(near), span[0] + far, dtype=np.int32), near, dist[near]))
            return found

        spans = parallel.spans(len(values), ROWS)
        for found in progress.track("Neighbours", parallel.map_blocks(pairs, spans), len(spans)):
            yield from found

    def _collected(
        self, tile: NDArray[np.float32], start: int, begun: int, triangle: bool, rows: Floats,
        fine: NDArray[np.float32], slack: Floats, reach: float,
    ) -> Found:  # fmt: skip
        """Return the pairs of a tile within reach."""
        # Beyond the range of float32 there is no bound.
        limit = np.float32(min(reach * reach * self.bounds.factor, 3e38))
        room = count_bounds(tile, limit)
        low, high, dist = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32), np.empty(room)
        n = collect(tile, start, begun, triangle, rows, fine, slack, *self._measures, limit, reach, low, high, dist)
        return low[:n].copy(), high[:n].copy(), dist[:n].copy()
