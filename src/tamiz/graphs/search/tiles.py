"""Tiles: the bounds of some rows and some points, visited until all pairs have been."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel, progress
from tamiz.graphs.search.bounds import Bounds, Singles, left_of
from tamiz.kernels.nearest import RUN

# Points of one block, at most, and rows of one product: a tile stays in the cache that its product left it in.
_BLOCK, ROWS = 2048, 256
# Blocks that there should be, so that many threads find pairs of blocks that do not meet.
_BLOCKS = 16

Answer = TypeVar("Answer")


class Tiles:
    """The tiles of points among themselves, and of queries and points."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        n_padded = len(bounds.right)
        size = max(RUN, min(_BLOCK, -(-n_padded // (_BLOCKS * RUN)) * RUN))
        self.blocks = parallel.spans(n_padded, size)
        self._rooms = parallel.Lent(partial(_room, ROWS * size))

    def among_points(self, visit: Callable[[NDArray[np.float32], int, int, bool], Answer]) -> Iterator[Answer]:
        """Yield `visit(tile, i, j, triangle)` for all tiles: row r and candidate c are the points i + r and j + c.

        Every pair of points is in one tile; of a triangle the half i + r < j + c counts. Two visits to the same points are
        never made at a time; their order is not fixed, that of the answers is.
        """
        locks = [threading.Lock() for _ in self.blocks]

        def compare(pair: tuple[int, int]) -> list[Answer]:
            (low, high), (begun, end) = pair, self.blocks[pair[1]]
            answers = []
            with ExitStack() as stack:
                for block in sorted({low, high}):
                    stack.enter_context(locks[block])
                room = stack.enter_context(self._rooms.borrowed())
                for start, stop in self._rows(low):
                    first = start if low == high else begun
                    tile = self.bounds.tile(left_of(self.bounds.right[start:stop]), first, end, room)
                    answers.append(visit(tile, start, first, low == high))
            return answers

        pairs = _rounds(len(self.blocks))
        for answers in progress.track("Neighbours", parallel.map_blocks(compare, pairs), len(pairs)):
            yield from answers

    def _rows(self, block: int) -> list[tuple[int, int]]:
        start, stop = self.blocks[block]
        stop = min(stop, self.bounds.n_points)
        return [(start + a, start + b) for a, b in parallel.spans(stop - start, ROWS)]

    def of_queries(self, right: NDArray[np.floating]) -> Iterator[tuple[Singles, int]]:
        """Yield the tiles of at most ROWS queries, each with the point that its first candidate is; they share one room."""
        left = left_of(right)
        with self._rooms.borrowed() as room:
            for begun, end in self.blocks:
                yield self.bounds.tile(left, begun, end, room), begun


def _room(size: int) -> Singles:
    return np.empty(size, dtype=np.float32)


def _rounds(n_blocks: int) -> list[tuple[int, int]]:
    """Return all pairs of blocks, in rounds in which no block is twice, as in a tournament; first each with itself."""
    n_places = n_blocks + n_blocks % 2 - 1
    pairs = [(block, block) for block in range(n_blocks)]
    for around in range(n_places):
        met = [((around + step) % n_places, (around - step) % n_places) for step in range(1, (n_places + 1) // 2)]
        met += [(around, n_blocks - 1)] if n_blocks % 2 == 0 else []
        pairs += [(min(pair), max(pair)) for pair in met]
    return pairs
