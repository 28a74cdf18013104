"""Blocks of rows with bounding balls, and the search of the nearest rows of other components among them."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tamiz.arrays import Floats, Indices
from tamiz.kernels.primitives import TIE_WIDTH
from tamiz.kernels.spanning_tree import RUN_LENGTH, distance_factors, fit_balls, nearest_outside, project_on_line
from tamiz.runtime import parallel

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
    one component remains one.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_columns)
    order, positions : ndarray of shape (n_samples,), int32
        The rows, block by block, and the inverse permutation.
    starts : ndarray of shape (n_blocks + 1,), int64
        The rows of block b are `order[starts[b] : starts[b + 1]]`.
    block_of_row : ndarray of shape (n_samples,), int32
    centres : ndarray of shape (n_blocks, n_columns)
    radii : ndarray of shape (n_blocks,)
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
        self.workspaces = parallel.BufferPool(partial(ChunkWorkspace, values.shape[1]))

        def fit(span: tuple[int, int]) -> None:
            fit_balls(self.values, self.order, self.starts, *span, self.centres, self.radii)

        parallel.run_blocks(fit, parallel.block_ranges(n_blocks, 64))

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


class ChunkWorkspace:
    """Buffers for the factors of a chunk of rows and of the blocks it is compared with, and for their product."""

    def __init__(self, n_columns: int) -> None:
        self.left = np.empty((CHUNK_ROWS, n_columns + 2), dtype=np.float32)
        n_right = -(-max(CHUNK_ROWS, BLOCK_ROWS) // RUN_LENGTH) * RUN_LENGTH
        self.right = np.empty((n_right, n_columns + 2), dtype=np.float32)
        self.squares = np.empty(_TILE_ROWS * n_right, dtype=np.float32)


class OutsideChunk:
    """A chunk of rows, and the search of their nearest outside rows: rows of other components.

    Blocks are visited in the order of the lower bounds from their balls, a few at a time, until the bound exceeds the shortest
    known edge out of the rows' components. In many columns these bounds are weak, so rows are also projected on the line to
    distant blocks. Bounds from float32 products, centred on the rows, decide which distances are computed in float64.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,), int32
    best_distances : ndarray of shape (n_rows,)
        Distance to the nearest outside row that was found, infinite if none was found.
    nearest_rows : ndarray of shape (n_rows,), int32
        That outside row, or the row itself.
    lower_bounds : ndarray of shape (n_rows,)
        Lower bound of the distances to outside rows that were skipped.
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
        with self._balls.workspaces.acquire() as self._workspace:
            self._search_blocks()
        return self

    def _search_blocks(self) -> None:
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

    def _center_rows(self, own_blocks: NDArray[np.int32]) -> None:
        """Compute the factors of the rows, centred and scaled so that no square overflows in float32."""
        balls = self._balls
        self._centre = balls.centres[own_blocks].mean(axis=0)
        self._max_distances = (cdist(self._centre[None], balls.centres)[0] + balls.radii) * (1 + ROUNDING_MARGIN)
        self._radius = self._max_distances[own_blocks].max()
        self._scale = 1.0 / (self._radius + self._max_distances.max())
        self._left = self._workspace.left[: len(self.rows)]
        distance_factors(balls.values, self.rows, self._centre, self._scale, True, self._left)

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
        right = self._workspace.right[: n_runs * RUN_LENGTH]
        distance_factors(balls.values, candidates, self._centre, self._scale, False, right[: len(candidates)])
        # NaN in the padding of the last run compares as not near.
        right[len(candidates) :] = np.nan
        here = (self._left, self.rows, self.best_distances, self.nearest_rows)
        left, rows, best, other = here if positions is None else (all_rows[positions] for all_rows in here)
        slack = (right.shape[1] + 16) * 2.0**-23 * ((self._radius + farthest) * self._scale) ** 2
        for start, stop in parallel.block_ranges(len(rows), _TILE_ROWS):
            squares = self._workspace.squares[: (stop - start) * len(right)].reshape(stop - start, len(right))
            np.dot(left[start:stop], right.T, out=squares)
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
        here, there = np.empty(len(self.rows)), np.empty(len(candidates))
        project_on_line(balls.values, self.rows, self._centre, direction, here)
        project_on_line(balls.values, candidates, self._centre, direction, there)
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
