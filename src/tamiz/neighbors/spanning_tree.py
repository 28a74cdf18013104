"""The minimum spanning tree of rows, and the shortest edges that join given components, by Boruvka's algorithm.

The listed nearest neighbours of the rows decide most edges. For rows whose listed neighbours are all in their own component, an
`OutsideSearch` finds the nearest rows of other components: by bounding balls and products for rows of numbers, else from blocks of
distances.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels.primitives import TIE_WIDTH, distance_keys
from tamiz.kernels.spanning_tree import (
    RUN_LENGTH,
    join_components,
    mark_undecided,
    nearest_by_component,
    nearest_outside,
    shortest_edges,
)
from tamiz.neighbors.base import NeighborIndex
from tamiz.neighbors.exact_search import choose_exact_search
from tamiz.neighbors.points import Points
from tamiz.runtime import parallel, progress

# Largest number of rows of a block, and number of rows that are searched together.
BLOCK_ROWS, CHUNK_ROWS = 512, 1024
# Rows of one product, so that it stays in the cache until it is read.
_TILE_ROWS = 128
# Components of fewer rows, or fewer than n / _MAX_BLOCKS, share blocks, which limits the number of blocks.
_MIN_BLOCK_ROWS, _MAX_BLOCKS = 16, 8192
# Bounds are widened by this share, which exceeds all rounding errors and the difference of two distances that are a tie.
ROUNDING_MARGIN = 4.0 * TIE_WIDTH
# Rows on which the variance of the columns is estimated.
_VARIANCE_SAMPLE = 256


class BallBlocks:
    """Rows divided into blocks, with the bounding ball of each block.

    A block contains rows of one component, or of several small ones. Components are merged later but never split, so a block of
    one component remains one. `order` are the rows, block by block, and `positions` the inverse; the rows of block b are
    `order[starts[b] : starts[b + 1]]`.
    """

    def __init__(self, values: Floats, labels: NDArray[np.int32]) -> None:
        self.values = np.ascontiguousarray(values)
        parts = _split_blocks(self.values, labels)
        n, n_blocks = len(values), len(parts)
        self.sizes = np.array([len(part) for part in parts])
        self.order = np.concatenate(parts).astype(np.int32)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.positions, self.block_of_row = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        self.positions[self.order] = np.arange(n)
        self.block_of_row[self.order] = np.repeat(np.arange(n_blocks), self.sizes)
        self.centres, self.radii = np.empty((n_blocks, values.shape[1])), np.empty(n_blocks)

        def fit(block: int) -> None:
            rows = self.values[parts[block]]
            self.centres[block] = rows.mean(axis=0)
            rows -= self.centres[block]
            self.radii[block] = np.sqrt(np.einsum("ij,ij->i", rows, rows).max())

        parallel.run_blocks(fit, range(n_blocks))

    def block_components(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the component of every block, -1 for a block with several components."""
        along = labels[self.order]
        least, most = (np.asarray(f.reduceat(along, self.starts[:-1])) for f in (np.minimum, np.maximum))
        return np.where(least == most, least, np.int32(-1))

    def distance_bounds(self, blocks: NDArray[np.int32], block_components: NDArray[np.int32]) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of the distance from some blocks to the nearest row of another component in every block.

        Both are infinite for two blocks of the same component. The upper bound is also infinite if one of the blocks has several
        components, because its rows may belong to the component of the other.
        """
        centre_distances = cdist(self.centres[blocks], self.centres)
        radii = self.radii[blocks][:, None] + self.radii
        single = (block_components[blocks] >= 0)[:, None] & (block_components >= 0)
        same = single & (block_components[blocks][:, None] == block_components)
        lower = np.where(same, np.inf, centre_distances * (1 - ROUNDING_MARGIN) - radii * (1 + ROUNDING_MARGIN))
        return lower, np.where(single & ~same, (centre_distances + radii) * (1 + ROUNDING_MARGIN), np.inf)

    def rows(self, blocks: Indices) -> NDArray[np.int32]:
        return np.concatenate([self.order[self.starts[b] : self.starts[b + 1]] for b in blocks])


class OutsideChunk:
    """A chunk of rows, and the search of their nearest outside rows: rows of other components.

    Blocks are visited in the order of the lower bounds from their balls, a few at a time, until the bound exceeds the shortest
    known edge out of the rows' components. In many columns these bounds are weak, so rows are also projected on the line to
    distant blocks. Bounds from float32 products, centred on the rows, decide which distances are computed in float64.

    `best_distances` are infinite, and `nearest_rows` the rows themselves, where no outside row was found; `lower_bounds` are
    those of the distances to outside rows that were skipped.
    """

    def __init__(
        self,
        balls: BallBlocks,
        rows: NDArray[np.int32],
        labels: NDArray[np.int32],
        block_components: NDArray[np.int32],
        limits: Floats,
    ) -> None:
        self.rows = np.ascontiguousarray(rows)
        self.best_distances, self.lower_bounds = np.full(len(rows), np.inf), np.full(len(rows), np.inf)
        self.nearest_rows = self.rows.copy()
        self._balls, self._labels, self._block_components = balls, labels, block_components
        components, self._component = np.unique(labels[rows], return_inverse=True)
        self._limits = limits[components]

    def search(self) -> OutsideChunk:
        """Find the nearest outside rows, and return the chunk."""
        balls = self._balls
        own_blocks, member = np.unique(balls.block_of_row[self.rows], return_inverse=True)
        bounds = balls.distance_bounds(own_blocks, self._block_components)[0]
        skipped = np.full(len(own_blocks), np.inf)

        def within_limits(blocks: Indices) -> Indices:
            """Return the blocks whose bounds are within the limits, and store the smallest bounds of the others in `skipped`."""
            limit = np.zeros(len(own_blocks))
            np.maximum.at(limit, member, self._limits[self._component])
            wanted = (bounds[:, blocks] <= limit[:, None]).any(axis=0)
            np.minimum(skipped, bounds[:, blocks[~wanted]].min(axis=1, initial=np.inf), out=skipped)
            return blocks[wanted]

        waiting = within_limits(np.argsort(bounds.min(axis=0), kind="stable"))
        self._center_rows(own_blocks)
        # The nearest blocks are visited first, because they lower the limits most; later visits are twice as large.
        max_rows = BLOCK_ROWS
        while len(waiting):
            count = max(1, int(np.searchsorted(np.cumsum(balls.sizes[waiting]), max_rows, side="right")))
            self._visit_blocks(waiting[:count])
            np.minimum.at(self._limits, self._component, self.best_distances * (1 + ROUNDING_MARGIN))
            waiting, max_rows = within_limits(waiting[count:]), CHUNK_ROWS
        self.lower_bounds = np.minimum(self.lower_bounds, skipped[member])
        return self

    def _center_rows(self, own_blocks: NDArray[np.int32]) -> None:
        """Compute the factors of the rows, centred and scaled so that no square overflows in float32."""
        balls = self._balls
        self._centre = balls.centres[own_blocks].mean(axis=0)
        self._max_distances = (cdist(self._centre[None], balls.centres)[0] + balls.radii) * (1 + ROUNDING_MARGIN)
        self._radius = self._max_distances[own_blocks].max()
        self._scale = 1.0 / (self._radius + self._max_distances.max())
        right = self._right_factors(self.rows)
        self._left = np.concatenate([-2.0 * right[:, :-2], right[:, :-3:-1]], axis=1)

    def _right_factors(self, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the factors (x, 1, |x|^2) of centred and scaled rows; those of the left are (-2 x, |x|^2, 1)."""
        scaled = (self._balls.values[rows] - self._centre) * self._scale
        squares = np.einsum("ij,ij->i", scaled, scaled)
        return np.column_stack([scaled, np.ones(len(rows)), squares]).astype(np.float32)

    def _visit_blocks(self, blocks: Indices) -> None:
        """Search the nearest outside rows in some blocks."""
        balls = self._balls
        candidates, farthest = balls.rows(blocks), self._max_distances[blocks].max()
        offset = balls.centres[blocks].mean(axis=0) - self._centre
        distance = float(np.sqrt(offset @ offset))
        if not distance > self._limits.max():
            self._compare(candidates, farthest)
            return
        kept, candidates = self._filter_by_line(candidates, offset / distance, farthest)
        if len(kept) and len(candidates):
            self._compare(candidates, farthest, kept if len(kept) < len(self.rows) else None)

    def _compare(self, candidates: NDArray[np.int32], farthest: float, positions: Indices | None = None) -> None:
        """Search the nearest outside rows among candidates, for all rows of the chunk or those at some positions."""
        balls, n_runs = self._balls, -(-len(candidates) // RUN_LENGTH)
        right = self._right_factors(candidates)
        # NaN in the padding of the last run compares as not near.
        padding = np.full((n_runs * RUN_LENGTH - len(candidates), right.shape[1]), np.nan, dtype=np.float32)
        right = np.concatenate([right, padding])
        here = (self._left, self.rows, self.best_distances, self.nearest_rows)
        left, rows, best, other = here if positions is None else (all_rows[positions] for all_rows in here)
        slack = (right.shape[1] + 16) * 2.0**-23 * ((self._radius + farthest) * self._scale) ** 2
        for start, stop in parallel.block_ranges(len(rows), _TILE_ROWS):
            squares = left[start:stop] @ right.T
            nearest_outside(
                squares.reshape(stop - start, n_runs, RUN_LENGTH), rows[start:stop], candidates, self._labels, balls.values,
                self._scale, slack, best[start:stop], other[start:stop],
            )  # fmt: skip
        if positions is not None:
            self.best_distances[positions], self.nearest_rows[positions] = best, other

    def _filter_by_line(
        self, candidates: NDArray[np.int32], direction: Floats, farthest: float
    ) -> tuple[Indices, NDArray[np.int32]]:
        """Return the positions of rows, and the candidates, whose projections on a line do not rule out a near pair."""
        balls, margin = self._balls, ROUNDING_MARGIN * (self._radius + farthest)
        here, there = ((balls.values[rows] - self._centre) @ direction for rows in (self.rows, candidates))
        bounds = there.min() - here - margin
        kept = bounds <= self._limits[self._component]
        self.lower_bounds[~kept] = np.minimum(self.lower_bounds[~kept], bounds[~kept])
        near = there - here[kept].max(initial=-np.inf) - margin <= self._limits.max()
        if not near.all():
            self.lower_bounds[kept] = np.minimum(self.lower_bounds[kept], there[~near].min() - here[kept] - margin)
        return np.flatnonzero(kept), candidates[near]


def _split_blocks(values: Floats, labels: NDArray[np.int32]) -> list[Indices]:
    """Return the rows in blocks: blocks of one component for large components, shared blocks for small ones.

    Components are ordered by the position of their lowest row in a bisection of all rows.
    """
    sizes = np.bincount(labels)
    own = sizes >= max(_MIN_BLOCK_ROWS, len(labels) // _MAX_BLOCKS)
    rows = np.argsort(labels, kind="stable")
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    lowest = np.array([part[0] for part in parts])[own]
    position = np.empty(len(labels), dtype=np.int64)
    position[np.concatenate(_bisect_rows(values, np.arange(len(labels))))] = np.arange(len(labels))
    large = np.flatnonzero(own)[np.argsort(position[lowest])]
    blocks = [block for c in large for block in _bisect_rows(values, parts[c])]
    shared = np.flatnonzero(~own[labels])
    return blocks + _bisect_rows(values, shared) if shared.size else blocks


def _bisect_rows(values: Floats, rows: Indices) -> list[Indices]:
    """Return rows in blocks of at most BLOCK_ROWS, halved at the median of the column of largest variance."""
    blocks, waiting = [], [rows]
    while waiting:
        part = waiting.pop()
        if len(part) <= BLOCK_ROWS:
            blocks.append(part)
            continue
        column = np.argmax(values[part[:: max(1, len(part) // _VARIANCE_SAMPLE)]].var(axis=0))
        halves = np.argpartition(values[part, column], len(part) // 2)
        waiting += [part[halves[len(part) // 2 :]], part[halves[: len(part) // 2]]]
    return blocks


# Values per block of work.
_CHUNK_VALUES = 2**21
# Blocks of work after which the limits are updated.
_CHUNKS_PER_BATCH = 8
# Beyond this exponent, squares of values or differences may overflow or underflow.
_MAX_EXPONENT = 300
# Listed neighbours, which decide nearly every edge: of 70,000 MNIST digits, all but a few hundred rows need no other search.
_N_NEIGHBORS = 15
# Up to this number of rows are searched together, without choosing components with few rows.
_MIN_SEARCH_ROWS = 4096


@dataclass(frozen=True)
class OutsideNeighbors:
    """The nearest rows of other components ("outside rows") of some rows, nearest first, padded with the row itself at
    infinity.

    `min_unlisted` is a lower bound of the distances to rows of components without a listed row, infinite if every component has
    one. For the order of ties, `min_unlisted_row` is a lower bound of the lower row of an edge to such a row at exactly this
    distance.
    """

    rows: NDArray[np.int32]
    outside_rows: NDArray[np.int32]
    lengths: Floats
    min_unlisted: Floats
    min_unlisted_row: NDArray[np.int32]

    @classmethod
    def concatenate(cls, parts: list[OutsideNeighbors]) -> OutsideNeighbors:
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


class OutsideSearch(ABC):
    """Abstract base class of searches for the nearest rows of other components; `n_listed` of them are listed for each row."""

    n_listed: int

    @abstractmethod
    def nearest(
        self, rows: NDArray[np.int32], labels: NDArray[np.int32], limits: Floats, min_unlisted: Floats
    ) -> OutsideNeighbors:
        """Return the nearest outside rows, at least for every row that may have the shortest edge out of its component.

        `labels` are the components of all rows, `limits` the lengths of the shortest known edges out of the components: longer
        edges need not be found. `min_unlisted` are known lower bounds of the distance from each row to its outside rows.
        """


def choose_outside_search(points: Points, labels: NDArray[np.int32]) -> OutsideSearch:
    """Return the search for these points; later components must be unions of the components `labels`."""
    values = points.euclidean_values()
    return DistanceOutsideSearch(points) if values is None else BallOutsideSearch(points, values, labels)


class DistanceOutsideSearch(OutsideSearch):
    """Computes all distances of each row, for rows with small lower bounds first.

    The nearest row of each of several components is listed, so that a row need not be searched again as soon as its component is
    merged with the nearest other one.
    """

    n_listed = 8

    def __init__(self, points: Points) -> None:
        self._points = points

    def nearest(
        self, rows: NDArray[np.int32], labels: NDArray[np.int32], limits: Floats, min_unlisted: Floats
    ) -> OutsideNeighbors:
        limits = limits.copy()
        waiting = rows[np.argsort(min_unlisted[rows], kind="stable")]
        size = max(1, _CHUNK_VALUES // self._points.n_samples)
        found: list[OutsideNeighbors] = []

        def search(part: NDArray[np.int32]) -> OutsideNeighbors:
            distances = self._points.block(self._points.take(part.astype(np.intp)), 0, len(part))
            near = np.empty((len(part), self.n_listed), dtype=np.int32)
            lengths = np.empty(near.shape)
            nearest_by_component(distances, part, labels, len(limits), near, lengths)
            last = lengths[:, -1] if len(limits) - 1 > self.n_listed else np.full(len(part), np.inf)
            return OutsideNeighbors(part, near, lengths, last, np.minimum(part, near[:, -1] + 1))

        while waiting.size:
            batch, waiting = np.split(waiting, [_CHUNKS_PER_BATCH * size])
            for part in parallel.map_blocks(search, np.split(batch, range(size, len(batch), size))):
                np.minimum.at(limits, labels[part.rows], part.lengths[:, 0])
                found.append(part)
            waiting = waiting[min_unlisted[waiting] <= limits[labels[waiting]] * (1 + ROUNDING_MARGIN)]
        return OutsideNeighbors.concatenate(found)


class BallOutsideSearch(OutsideSearch):
    """Compares blocks of rows by matrix products if the bounding balls of the blocks are near enough."""

    n_listed = 1

    def __init__(self, points: Points, values: Floats, labels: NDArray[np.int32]) -> None:
        self._points = points
        exponent = int(np.frexp(max(values.max(), -values.min()))[1])
        # Scaling by a power of two changes no digit.
        self._scale = 1.0 if abs(exponent) <= _MAX_EXPONENT else float(np.ldexp(1.0, min(-exponent, 1000)))
        self._balls = BallBlocks(values if self._scale == 1.0 else values * self._scale, labels)

    def nearest(
        self, rows: NDArray[np.int32], labels: NDArray[np.int32], limits: Floats, min_unlisted: Floats
    ) -> OutsideNeighbors:
        block_components = self._balls.block_components(labels)
        max_distances = np.full(len(limits), np.inf)
        for c in np.unique(labels[rows]):
            max_distances[c] = self._points.to_euclidean(float(limits[c])) * self._scale * (1 + ROUNDING_MARGIN)
        bound = self._nearest_ball_distances(rows, block_components, max_distances)
        limit = max_distances[labels[rows]]
        far = bound > limit
        found = [self._certain_neighbors(rows[far], np.full(far.sum(), np.inf), rows[far], bound[far])]
        in_reach = min_unlisted[rows] <= self._metric_distances(limit) * (1 + ROUNDING_MARGIN)
        near = np.flatnonzero(~far & in_reach)
        near = near[np.argsort(self._balls.positions[rows[near]])]
        parts = np.split(near, range(CHUNK_ROWS, len(near), CHUNK_ROWS)) if len(near) else []
        # The chunks with the smallest bounds are searched first, because they lower the limits for the others.
        parts.sort(key=lambda part: float(bound[part].min()))
        size = _CHUNKS_PER_BATCH
        while parts:
            batch, parts = parts[:size], parts[size:]
            chunks = [OutsideChunk(self._balls, rows[part], labels, block_components, max_distances) for part in batch]
            # Limits are updated after each batch only, so that the result does not depend on the number of threads.
            for chunk in list(parallel.map_blocks(OutsideChunk.search, chunks)):
                np.minimum.at(max_distances, labels[chunk.rows], chunk.best_distances * (1 + ROUNDING_MARGIN))
                found.append(
                    self._certain_neighbors(chunk.rows, chunk.best_distances, chunk.nearest_rows, chunk.lower_bounds)
                )
            size *= 2
        return OutsideNeighbors.concatenate(found)

    def _metric_distances(self, distances: Floats) -> Floats:
        return self._points.from_euclidean(distances / self._scale)

    def _nearest_ball_distances(
        self, rows: NDArray[np.int32], block_components: NDArray[np.int32], limits: Floats
    ) -> Floats:
        """Return the lower bound of each row's distance to outside rows, and lower the limits to the upper bounds, in place."""
        blocks, member = np.unique(self._balls.block_of_row[rows], return_inverse=True)
        size = max(1, _CHUNK_VALUES // 8 // len(block_components))

        def nearest_bounds(part: NDArray[np.int32]) -> tuple[Floats, Floats]:
            lower, upper = self._balls.distance_bounds(part, block_components)
            return lower.min(axis=1), upper.min(axis=1)

        parts = list(parallel.map_blocks(nearest_bounds, np.split(blocks, range(size, len(blocks), size))))
        lower, upper = (np.concatenate(bounds) for bounds in zip(*parts, strict=True))
        single = block_components[blocks] >= 0
        np.minimum.at(limits, block_components[blocks][single], upper[single])
        return np.asarray(lower[member])

    def _certain_neighbors(
        self, rows: NDArray[np.int32], best: Floats, other: NDArray[np.int32], bound: Floats
    ) -> OutsideNeighbors:
        """Return the nearest outside rows that are certain: those nearer than the lower bound of the rows that were skipped."""
        certain = distance_keys(best) < distance_keys(bound)
        lengths = np.where(certain, self._metric_distances(best), np.inf)
        min_unlisted = np.where(certain, lengths, self._metric_distances(bound))
        near = np.where(certain, other, rows)
        low = np.where(certain, np.minimum(rows, other + 1), np.int32(0))
        return OutsideNeighbors(rows, near[:, None], lengths[:, None], min_unlisted, low)


@dataclass(frozen=True)
class SpanningTree:
    """The minimum spanning tree of rows: edges from a lower row (head) to a higher one (tail), sorted by (length, head, tail).

    Of edges whose lengths are a tie, the one with the lower rows is used, which makes the tree unique.
    """

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    lengths: Floats


def spanning_tree(index: NeighborIndex) -> SpanningTree:
    """Return the minimum spanning tree of all points of an exact index; of equal rows, an index of the distinct ones is built.

    Boruvka's algorithm: in each round every component is joined by its shortest outgoing edge. A row needs no other search if
    its farthest listed neighbour is farther than a known edge out of its component. If every component has rows that need one,
    the components with few such rows are searched, and never the one with the most. Cost: one search of 15 neighbours, O(n k)
    per round, and O(p) for each pair of rows that the bounds do not exclude, at most O(n^2 p log n).
    """
    forest = _Forest(index.points, np.arange(index.points.n_samples))
    if forest.n_components > 1:
        forest.list_neighbors(index)
    return forest.build_tree()


def longest_edge(index: NeighborIndex) -> float:
    """Return the length of the longest edge of the minimum spanning tree, the smallest radius whose graph is connected."""
    return float(spanning_tree(index).lengths.max(initial=0.0))


def connecting_edges(
    index: NeighborIndex, labels: NDArray[np.integer]
) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    """Return heads, tails and lengths of the shortest edges that join components, in the order of a `SpanningTree`.

    They are the minimum spanning tree of the components, whose distance is that of their nearest rows. The result is exact for any
    index, because only its points are used.
    """
    forest = _Forest(index.points, labels)
    # With many small components nearly every row needs a search, and listing neighbours first is cheaper.
    if forest.n_components > max(1, len(forest.rows) // _N_NEIGHBORS):
        forest.list_neighbors()
    tree = forest.build_tree()
    return tree.heads, tree.tails, tree.lengths


class _Forest:
    """The components during Boruvka's algorithm; equal rows are represented by the lowest of them (`rows`).

    Row p has listed rows with their lengths, nearest first, of which those before _cursor[p] are in its own component. Edges to
    rows that are not listed are after (_min_unlisted[p], _min_unlisted_row[p]) in the order of (length, lower row).
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
        """Join components that contain equal rows, by edges of length 0 from the lowest of these rows."""
        repeated = np.flatnonzero(first != np.arange(len(first)))
        _, once = np.unique(first[repeated] * np.int64(len(first)) + self._labels[repeated], return_index=True)
        tails = repeated[np.sort(once)].astype(np.int32)
        heads = first[tails]
        order = np.lexsort((tails, heads))
        self._join_components(heads[order], tails[order], np.zeros(len(tails)), np.arange(len(first)))

    def list_neighbors(self, index: NeighborIndex | None = None) -> None:
        """List the nearest neighbours of every row, from `index` if it contains exactly these rows."""
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
        order = np.lexsort((tails, heads, distance_keys(lengths)))
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
        self, heads: NDArray[np.int32], tails: NDArray[np.int32], lengths: Floats, rows: Indices
    ) -> None:
        """Join components by edges, and store the edges that join two components; `rows` are the original row numbers."""
        kept = np.empty(len(heads), dtype=np.bool_)
        self.n_components = join_components(heads, tails, self.n_components, self._labels, kept)
        self._edges.append((rows[heads[kept]].astype(np.int32), rows[tails[kept]].astype(np.int32), lengths[kept]))
        progress.report_progress("Spanning tree", self._n_edges - self.n_components + 1, self._n_edges)

    def _store_neighbors(self, neighbors: OutsideNeighbors) -> None:
        """Replace the lists of the searched rows by the outside rows that were found."""
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


def _components_to_search(n_waiting: Indices) -> Masks:
    """Return the components to search: those with the fewest waiting rows, up to half of all rows, but never the largest.

    The shortest edges out of the other components may then already be known from their other end.
    """
    order = np.argsort(n_waiting, kind="stable")
    order = order[n_waiting[order] > 0]
    enough = np.searchsorted(np.cumsum(n_waiting[order]), max(n_waiting.sum() // 2, _MIN_SEARCH_ROWS), side="right")
    chosen = np.zeros(len(n_waiting), dtype=np.bool_)
    chosen[order[: max(1, min(enough, len(order) - 1))]] = True
    return chosen
