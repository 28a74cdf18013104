"""Blocks of rows in balls, and the nearest outside rows of a few rows among them."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tamiz import parallel
from tamiz.kernels.spanning import RUN, factors, line_places, measure_balls, nearest_outside
from tamiz.statistics.base import Floats

# Rows of one block at most, and rows that meet blocks together.
BLOCK, CHUNK = 512, 1024
# Rows of one product, so that it stays in the cache until it is read.
_TILE = 128
# A component of fewer rows shares its blocks with others; there are not many more blocks than these and those that fill up.
_SMALLEST_BLOCK, _MOST_BLOCKS = 16, 8192
# Bounds are moved by this share, which is more than rounding can be.
ROOM = 1e-10
# Rows whose spread stands for that of many.
_SAMPLE = 256


class Balls:
    """Rows in blocks, with the ball around each block.

    The rows of a block are of one component, or of several small ones. Components are joined later on but never cut, so
    that a block of one component stays so.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_columns)
    order : ndarray of shape (n_samples,), int32
        The rows, block by block; `place` is where a row is in it.
    starts : ndarray of shape (n_blocks + 1,), int64
    block : ndarray of shape (n_samples,), int32
        The block of every row.
    centres : ndarray of shape (n_blocks, n_columns)
    radii : ndarray of shape (n_blocks,)
    """

    def __init__(self, values: Floats, labels: NDArray[np.int32]) -> None:
        self.values = np.ascontiguousarray(values)
        parts = _blocks(self.values, labels)
        n, n_blocks = len(values), len(parts)
        self.sizes = np.array([len(part) for part in parts])
        self.order = np.concatenate(parts).astype(np.int32)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.place, self.block = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        self.place[self.order] = np.arange(n)
        self.block[self.order] = np.repeat(np.arange(n_blocks), self.sizes)
        self.centres, self.radii = np.empty((n_blocks, values.shape[1])), np.empty(n_blocks)
        self.workspaces = parallel.Lent(partial(Workspace, values.shape[1]))

        def measure(span: tuple[int, int]) -> None:
            measure_balls(self.values, self.order, self.starts, *span, self.centres, self.radii)

        for _ in parallel.map_blocks(measure, parallel.spans(n_blocks, 64)):
            pass

    def owners(self, labels: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the component of every block, -1 where there are several."""
        along = labels[self.order]
        least, most = (np.asarray(f.reduceat(along, self.starts[:-1])) for f in (np.minimum, np.maximum))
        return np.where(least == most, least, np.int32(-1))

    def gaps(self, blocks: NDArray[np.int32], owner: NDArray[np.int32]) -> tuple[Floats, Floats]:
        """Return the least and the most that rows of two balls can be apart; infinite where none is outside the other's component.

        The most is infinite too where a block has several components, for the rows may be of one.
        """
        apart = cdist(self.centres[blocks], self.centres)
        radii = self.radii[blocks][:, None] + self.radii
        single = (owner[blocks] >= 0)[:, None] & (owner >= 0)
        same = single & (owner[blocks][:, None] == owner)
        least = np.where(same, np.inf, apart * (1 - ROOM) - radii * (1 + ROOM))
        return least, np.where(single & ~same, (apart + radii) * (1 + ROOM), np.inf)

    def rows(self, blocks: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return the rows of some blocks."""
        return np.concatenate([self.order[self.starts[b] : self.starts[b + 1]] for b in blocks])


class Workspace:
    """Room for the factors of a chunk of rows and of the blocks that it meets, and for their product."""

    def __init__(self, n_columns: int) -> None:
        self.left = np.empty((CHUNK, n_columns + 2), dtype=np.float32)
        n_right = -(-max(CHUNK, BLOCK) // RUN) * RUN
        self.right = np.empty((n_right, n_columns + 2), dtype=np.float32)
        self.squares = np.empty(_TILE * n_right, dtype=np.float32)


class Chunk:
    """Some rows, and the nearest outside rows found for them among blocks.

    Blocks are taken in the order of how near their balls come, a few at a time, until the next is farther than the shortest
    edge out of the rows' components. What balls cannot tell in many columns, the places of rows on the line to far blocks
    do. Products are of single precision, about the middle of the rows: they only say which distances are worth taking.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,), int32
    best : ndarray of shape (n_rows,)
        Distance from the nearest outside row that was found, infinite where none was.
    other : ndarray of shape (n_rows,), int32
        That row.
    bound : ndarray of shape (n_rows,)
        Outside rows that were passed over are at least as far.
    """

    def __init__(
        self, balls: Balls, rows: NDArray[np.int32], labels: NDArray[np.int32], owner: NDArray[np.int32], caps: Floats
    ) -> None:
        self.rows = np.ascontiguousarray(rows)
        self.best, self.bound = np.full(len(rows), np.inf), np.full(len(rows), np.inf)
        self.other = self.rows.copy()
        self._balls, self._labels, self._owner = balls, labels, owner
        components, self._component = np.unique(labels[rows], return_inverse=True)
        self._caps = caps[components]

    def explore(self) -> Chunk:
        """Find the nearest outside rows."""
        with self._balls.workspaces.borrowed() as self._room:
            self._explore()
        return self

    def _explore(self) -> None:
        balls = self._balls
        groups, member = np.unique(balls.block[self.rows], return_inverse=True)
        gaps = balls.gaps(groups, self._owner)[0]
        passed = np.full(len(groups), np.inf)

        def within(blocks: NDArray[np.intp]) -> NDArray[np.intp]:
            """Return the blocks that may be near enough, and remember how near the others come."""
            limit = np.zeros(len(groups))
            np.maximum.at(limit, member, self._caps[self._component])
            wanted = (gaps[:, blocks] <= limit[:, None]).any(axis=0)
            np.minimum(passed, gaps[:, blocks[~wanted]].min(axis=1, initial=np.inf), out=passed)
            return blocks[wanted]

        waiting = within(np.argsort(gaps.min(axis=0), kind="stable"))
        self._enter(groups)
        # The nearest block first: what it shows spares others. Then as many as there is room for.
        room = BLOCK
        while len(waiting):
            count = max(1, int(np.searchsorted(np.cumsum(balls.sizes[waiting]), room, side="right")))
            self._meet(waiting[:count])
            np.minimum.at(self._caps, self._component, self.best)
            waiting, room = within(waiting[count:]), CHUNK
        self.bound = np.minimum(self.bound, passed[member])

    def _enter(self, groups: NDArray[np.int32]) -> None:
        """Place the rows about their middle, in a unit in which no square is too large."""
        balls = self._balls
        self._middle = balls.centres[groups].mean(axis=0)
        self._away = (cdist(self._middle[None], balls.centres)[0] + balls.radii) * (1 + ROOM)
        self._radius = self._away[groups].max()
        self._scale = 1.0 / (self._radius + self._away.max())
        self._left = self._room.left[: len(self.rows)]
        factors(balls.values, self.rows, self._middle, self._scale, True, self._left)

    def _meet(self, blocks: NDArray[np.intp]) -> None:
        """Look for the nearest outside rows in some blocks."""
        balls = self._balls
        columns, farthest = balls.rows(blocks), self._away[blocks].max()
        across = balls.centres[blocks].mean(axis=0) - self._middle
        gap = float(np.sqrt(across @ across))
        if not gap > self._caps.max():
            self._compare(columns, farthest)
            return
        kept, columns = self._facing(columns, across / gap, farthest)
        if len(kept) and len(columns):
            self._compare(columns, farthest, kept if len(kept) < len(self.rows) else None)

    def _compare(self, columns: NDArray[np.int32], farthest: float, kept: NDArray[np.intp] | None = None) -> None:
        """Look for the nearest outside rows of all rows, or of those at some places, among columns."""
        balls, n_runs = self._balls, -(-len(columns) // RUN)
        right = self._room.right[: n_runs * RUN]
        factors(balls.values, columns, self._middle, self._scale, False, right[: len(columns)])
        # What fills the last run up is nowhere near.
        right[len(columns) :] = np.nan
        here = (self._left, self.rows, self.best, self.other)
        left, rows, best, other = here if kept is None else (all_rows[kept] for all_rows in here)
        slack = (right.shape[1] + 16) * 2.0**-23 * ((self._radius + farthest) * self._scale) ** 2
        for start, stop in parallel.spans(len(rows), _TILE):
            squares = self._room.squares[: (stop - start) * len(right)].reshape(stop - start, len(right))
            np.dot(left[start:stop], right.T, out=squares)
            nearest_outside(
                squares.reshape(stop - start, n_runs, RUN), rows[start:stop], columns, self._labels, balls.values,
                self._scale, slack, best[start:stop], other[start:stop],
            )  # fmt: skip
        if kept is not None:
            self.best[kept], self.other[kept] = best, other

    def _facing(
        self, columns: NDArray[np.int32], direction: Floats, farthest: float
    ) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Return the rows, as places among the chunk's, and the columns that may be near by their places on a line."""
        balls, room = self._balls, ROOM * (self._radius + farthest)
        here, there = np.empty(len(self.rows)), np.empty(len(columns))
        line_places(balls.values, self.rows, self._middle, direction, here)
        line_places(balls.values, columns, self._middle, direction, there)
        apart = there.min() - here - room
        kept = apart <= self._caps[self._component]
        self.bound[~kept] = np.minimum(self.bound[~kept], apart[~kept])
        facing = there - here[kept].max(initial=-np.inf) - room <= self._caps.max()
        if not facing.all():
            self.bound[kept] = np.minimum(self.bound[kept], there[~facing].min() - here[kept] - room)
        return np.flatnonzero(kept), columns[facing]


def _blocks(values: Floats, labels: NDArray[np.int32]) -> list[NDArray[np.intp]]:
    """Return the rows in blocks: those of every large component apart, those of the small ones together.

    Components come in the order of where their lowest rows are when all rows are halved.
    """
    sizes = np.bincount(labels)
    own = sizes >= max(_SMALLEST_BLOCK, len(labels) // _MOST_BLOCKS)
    rows = np.argsort(labels, kind="stable")
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    lowest = np.array([part[0] for part in parts])[own]
    place = np.empty(len(labels), dtype=np.int64)
    place[np.concatenate(_halved(values, np.arange(len(labels))))] = np.arange(len(labels))
    blocks = [block for c in np.flatnonzero(own)[np.argsort(place[lowest])] for block in _halved(values, parts[c])]
    shared = np.flatnonzero(~own[labels])
    return blocks + _halved(values, shared) if shared.size else blocks


def _halved(values: Floats, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return rows in blocks, halved at the middle of the column that varies most until they are small enough."""
    blocks, waiting = [], [rows]
    while waiting:
        part = waiting.pop()
        if len(part) <= BLOCK:
            blocks.append(part)
            continue
        column = np.argmax(values[part[:: max(1, len(part) // _SAMPLE)]].var(axis=0))
        halves = np.argpartition(values[part, column], len(part) // 2)
        waiting += [part[halves[len(part) // 2 :]], part[halves[: len(part) // 2]]]
    return blocks
