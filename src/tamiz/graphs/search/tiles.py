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
from tamiz.graphs.search.bounds import DistanceBounds, Floats32, left_factors
from tamiz.kernels.nearest import RUN_LENGTH

# Points of one block, at most, and rows of one product: a tile stays in the cache that its product left it in.
_BLOCK_POINTS, TILE_ROWS = 2048, 256
# Blocks that there should be, so that many threads find pairs of blocks that do not meet.
_MIN_BLOCKS = 16

Output = TypeVar("Output")


class BoundTiles:
    """The tiles of points among themselves, and of queries and points."""

    def __init__(self, bounds: DistanceBounds) -> None:
        self.bounds = bounds
        n_padded = len(bounds.right_factors)
        size = max(RUN_LENGTH, min(_BLOCK_POINTS, -(-n_padded // (_MIN_BLOCKS * RUN_LENGTH)) * RUN_LENGTH))
        self.blocks = parallel.block_ranges(n_padded, size)
        self._buffers = parallel.BufferPool(partial(_new_buffer, TILE_ROWS * size))

    def map_point_tiles(self, visit: Callable[[NDArray[np.float32], int, int, bool], Output]) -> Iterator[Output]:
        """Yield `visit(tile, i, j, triangle)` for all tiles: row r and candidate c are the points i + r and j + c.

        Every pair of points is in one tile; of a triangle the half i + r < j + c counts. Two visits to the same points are
        never made at a time; their order is not fixed, that of the answers is.
        """
        locks = [threading.Lock() for _ in self.blocks]

        def compare(pair: tuple[int, int]) -> list[Output]:
            (low, high), (begun, end) = pair, self.blocks[pair[1]]
            answers = []
            with ExitStack() as stack:
                for block in sorted({low, high}):
                    stack.enter_context(locks[block])
                room = stack.enter_context(self._buffers.borrow())
                for start, stop in self._block_spans(low):
                    first = start if low == high else begun
                    tile = self.bounds.tile(left_factors(self.bounds.right_factors[start:stop]), first, end, room)
                    answers.append(visit(tile, start, first, low == high))
            return answers

        pairs = _tournament_rounds(len(self.blocks))
        for answers in progress.track_progress("Neighbours", parallel.map_blocks(compare, pairs), len(pairs)):
            yield from answers

    def _block_spans(self, block: int) -> list[tuple[int, int]]:
        start, stop = self.blocks[block]
        stop = min(stop, self.bounds.n_points)
        return [(start + a, start + b) for a, b in parallel.block_ranges(stop - start, TILE_ROWS)]

    def query_tiles(self, right_factors: NDArray[np.floating]) -> Iterator[tuple[Floats32, int]]:
        """Yield the tiles of at most ROWS queries, each with the point that its first candidate is; they share one room."""
        left = left_factors(right_factors)
        with self._buffers.borrow() as room:
            for begun, end in self.blocks:
                yield self.bounds.tile(left, begun, end, room), begun


def _new_buffer(size: int) -> Floats32:
    return np.empty(size, dtype=np.float32)


def _tournament_rounds(n_blocks: int) -> list[tuple[int, int]]:
    """Return all pairs of blocks, in rounds in which no block is twice, as in a tournament; first each with itself."""
    n_places = n_blocks + n_blocks % 2 - 1
    pairs = [(block, block) for block in range(n_blocks)]
    for around in range(n_places):
        met = [((around + step) % n_places, (around - step) % n_places) for step in range(1, (n_places + 1) // 2)]
        met += [(around, n_blocks - 1)] if n_blocks % 2 == 0 else []
        pairs += [(min(pair), max(pair)) for pair in met]
    return pairs
