"""Blocks of rows in balls, and the nearest outside rows of a few rows among them."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tamiz.kernels.spanning_tree import RUN_LENGTH, distance_factors, fit_balls, nearest_outside, project_on_line
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats

# Rows of one block at most, and rows that meet blocks together.
BLOCK_ROWS, CHUNK_ROWS = 512, 1024
# Rows of one product, so that it stays in the cache until it is read.
_TILE_ROWS = 128
# A component of fewer rows shares its blocks with others; there are not many more blocks than these and those that fill up.
_MIN_BLOCK_ROWS, _MAX_BLOCKS = 16, 8192
# Bounds are moved by this share, which is more than rounding can be.
ROUNDING_MARGIN = 1e-10
# Rows whose spread stands for that of many.
_VARIANCE_SAMPLE = 256


class BallBlocks:
    """Rows in blocks, with the ball around each block.

    The rows of a block are of one component, or of several small ones. Components are joined later on but never cut, so
    that a block of one component stays so.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_columns)
    order : ndarray of shape (n_samples,), int32
        The rows, block by block; `positions` is where a row is in it.
    starts : ndarray of shape (n_blocks + 1,), int64
    block_of_row : ndarray of shape (n_samples,), int32
        The block of every row.
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

        def measure(span: tuple[int, int]) -> None:
            fit_balls(self.values, self.order, self.starts, *span, self.centres, self.radii)

        for _ in parallel.map_blocks(measure, parallel.block_ranges(n_blocks, 64)):
            pass

    def block_components(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the component of every block, -1 where there are several."""
        along = labels[self.order]
        least, most = (np.asarray(f.reduceat(along, self.starts[:-1])) for f in (np.minimum, np.maximum))
        return np.where(least == most, least, np.int32(-1))

    def distance_bounds(self, blocks: NDArray[np.int32], block_components: NDArray[np.int32]) -> tuple[Floats, Floats]:
        """Return the least and the most that rows of two balls can be apart; infinite where none is outside the other's component.

        The most is infinite too where a block has several components, for the rows may be of one.
        """
        apart = cdist(self.centres[blocks], self.centres)
        radii = self.radii[blocks][:, None] + self.radii
        single = (block_components[blocks] >= 0)[:, None] & (block_components >= 0)
        same = single & (block_components[blocks][:, None] == block_components)
        least = np.where(same, np.inf, apart * (1 - ROUNDING_MARGIN) - radii * (1 + ROUNDING_MARGIN))
        return least, np.where(single & ~same, (apart + radii) * (1 + ROUNDING_MARGIN), np.inf)

    def rows(self, blocks: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the rows of some blocks."""
        return np.concatenate([self.order[self.starts[b] : self.starts[b + 1]] for b in blocks])


class ChunkWorkspace:
    """Room for the factors of a chunk of rows and of the blocks that it meets, and for their product."""

    def __init__(self, n_columns: int) -> None:
        self.left = np.empty((CHUNK_ROWS, n_columns + 2), dtype=np.float32)
        n_right = -(-max(CHUNK_ROWS, BLOCK_ROWS) // RUN_LENGTH) * RUN_LENGTH
        self.right = np.empty((n_right, n_columns + 2), dtype=np.float32)
        self.squares = np.empty(_TILE_ROWS * n_right, dtype=np.float32)


class OutsideChunk:
    """Some rows, and the nearest outside rows found for them among blocks.

    Blocks are taken in the order of how near their balls come, a few at a time, until the next is farther than the shortest
    edge out of the rows' components. What balls cannot tell in many columns, the places of rows on the line to far blocks
    do. Products are of single precision, about the middle of the rows: they only say which distances are worth taking.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,), int32
    best_distances : ndarray of shape (n_rows,)
        Distance from the nearest outside row that was found, infinite where none was.
    nearest_rows : ndarray of shape (n_rows,), int32
        That row.
    lower_bounds : ndarray of shape (n_rows,)
        Outside rows that were passed over are at least as far.
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
        """Find the nearest outside rows."""
        with self._balls.workspaces.borrow() as self._workspace:
            self._search_blocks()
        return self

    def _search_blocks(self) -> None:
        balls = self._balls
        groups, member = np.unique(balls.block_of_row[self.rows], return_inverse=True)
        gaps = balls.distance_bounds(groups, self._block_components)[0]
        passed = np.full(len(groups), np.inf)

        def within(blocks: NDArray[np.intp]) -> NDArray[np.intp]:
            """Return the blocks that may be near enough, and remember how near the others come."""
            limit = np.zeros(len(groups))
            np.maximum.at(limit, member, self._limits[self._component])
            wanted = (gaps[:, blocks] <= limit[:, None]).any(axis=0)
            np.minimum(passed, gaps[:, blocks[~wanted]].min(axis=1, initial=np.inf), out=passed)
            return blocks[wanted]

        waiting = within(np.argsort(gaps.min(axis=0), kind="stable"))
        self._center_rows(groups)
        # The nearest block first: what it shows spares others. Then as many as there is room for.
        room = BLOCK_ROWS
        while len(waiting):
            count = max(1, int(np.searchsorted(np.cumsum(balls.sizes[waiting]), room, side="right")))
            self._visit_blocks(waiting[:count])
            np.minimum.at(self._limits, self._component, self.best_distances)
            waiting, room = within(waiting[count:]), CHUNK_ROWS
        self.lower_bounds = np.minimum(self.lower_bounds, passed[member])

    def _center_rows(self, groups: NDArray[np.int32]) -> None:
        """Place the rows about their middle, in a unit in which no square is too large."""
        balls = self._balls
        self._centre = balls.centres[groups].mean(axis=0)
        self._max_distances = (cdist(self._centre[None], balls.centres)[0] + balls.radii) * (1 + ROUNDING_MARGIN)
        self._radius = self._max_distances[groups].max()
        self._scale = 1.0 / (self._radius + self._max_distances.max())
        self._left = self._workspace.left[: len(self.rows)]
        distance_factors(balls.values, self.rows, self._centre, self._scale, True, self._left)

    def _visit_blocks(self, blocks: NDArray[np.intp]) -> None:
        """Look for the nearest outside rows in some blocks."""
        balls = self._balls
        columns, farthest = balls.rows(blocks), self._max_distances[blocks].max()
        across = balls.centres[blocks].mean(axis=0) - self._centre
        gap = float(np.sqrt(across @ across))
        if not gap > self._limits.max():
            self._compare(columns, farthest)
            return
        kept, columns = self._filter_by_line(columns, across / gap, farthest)
        if len(kept) and len(columns):
            self._compare(columns, farthest, kept if len(kept) < len(self.rows) else None)

    def _compare(self, columns: NDArray[np.int32], farthest: float, positions: NDArray[np.intp] | None = None) -> None:
        """Look for the nearest outside rows of all rows, or of those at some places, among columns."""
        balls, n_runs = self._balls, -(-len(columns) // RUN_LENGTH)
        right = self._workspace.right[: n_runs * RUN_LENGTH]
        distance_factors(balls.values, columns, self._centre, self._scale, False, right[: len(columns)])
        # What fills the last run up is nowhere near.
        right[len(columns) :] = np.nan
        here = (self._left, self.rows, self.best_distances, self.nearest_rows)
        left, rows, best, other = here if positions is None else (all_rows[positions] for all_rows in here)
        slack = (right.shape[1] + 16) * 2.0**-23 * ((self._radius + farthest) * self._scale) ** 2
        for start, stop in parallel.block_ranges(len(rows), _TILE_ROWS):
            squares = self._workspace.squares[: (stop - start) * len(right)].reshape(stop - start, len(right))
            np.dot(left[start:stop], right.T, out=squares)
            nearest_outside(
                squares.reshape(stop - start, n_runs, RUN_LENGTH), rows[start:stop], columns, self._labels, balls.values,
                self._scale, slack, best[start:stop], other[start:stop],
            )  # fmt: skip
        if positions is not None:
            self.best_distances[positions], self.nearest_rows[positions] = best, other

    def _filter_by_line(
        self, columns: NDArray[np.int32], direction: Floats, farthest: float
    ) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Return the rows, as places among the chunk's, and the columns that may be near by their places on a line."""
        balls, room = self._balls, ROUNDING_MARGIN * (self._radius + farthest)
        here, there = np.empty(len(self.rows)), np.empty(len(columns))
        project_on_line(balls.values, self.rows, self._centre, direction, here)
        project_on_line(balls.values, columns, self._centre, direction, there)
        apart = there.min() - here - room
        kept = apart <= self._limits[self._component]
        self.lower_bounds[~kept] = np.minimum(self.lower_bounds[~kept], apart[~kept])
        facing = there - here[kept].max(initial=-np.inf) - room <= self._limits.max()
        if not facing.all():
            self.lower_bounds[kept] = np.minimum(self.lower_bounds[kept], there[~facing].min() - here[kept] - room)
        return np.flatnonzero(kept), columns[facing]


def _split_blocks(values: Floats, labels: NDArray[np.int32]) -> list[NDArray[np.intp]]:
    """Return the rows in blocks: those of every large component apart, those of the small ones together.

    Components come in the order of where their lowest rows are when all rows are halved.
    """
    sizes = np.bincount(labels)
    own = sizes >= max(_MIN_BLOCK_ROWS, len(labels) // _MAX_BLOCKS)
    rows = np.argsort(labels, kind="stable")
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    lowest = np.array([part[0] for part in parts])[own]
    place = np.empty(len(labels), dtype=np.int64)
    place[np.concatenate(_bisect_rows(values, np.arange(len(labels))))] = np.arange(len(labels))
    blocks = [block for c in np.flatnonzero(own)[np.argsort(place[lowest])] for block in _bisect_rows(values, parts[c])]
    shared = np.flatnonzero(~own[labels])
    return blocks + _bisect_rows(values, shared) if shared.size else blocks


def _bisect_rows(values: Floats, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return rows in blocks, halved at the middle of the column that varies most until they are small enough."""
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
