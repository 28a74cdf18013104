"""All sets of some sizes, as combinations that begin alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tamiz.kernels import subsets as kernels
from tamiz.search.base import Problem
from tamiz.search.exact.counts import n_completions
from tamiz.search.exact.judging import Judged, Judging
from tamiz.search.exact.sums import Incumbent, UnitSums

# Sets that a thread judges in one piece at most, some ms, and those of one proposal.
_PIECE, _BATCH = 2**18, 2**23


@dataclass(frozen=True)
class Piece:
    """The sets of a prefix and one of the units from first to last, and where deep those with later units too.

    Attributes
    ----------
    prefix : tuple of int
    first, last : int
    deep : bool
    count : float
        How many sets these are.
    """

    prefix: tuple[int, ...]
    first: int
    last: int
    deep: bool
    count: float


@dataclass(frozen=True)
class Combinations(Judging[Piece]):
    """The sets of some pieces."""

    held: list[Piece] = field(repr=False)

    @property
    def pieces(self) -> list[Piece]:
        """The pieces."""
        return self.held

    @property
    def n_sets(self) -> float:
        """Return the number of their sets."""
        return sum(piece.count for piece in self.held)

    def judge(self, piece: Piece, room: int) -> Judged:
        """Judge the sets of a piece."""
        sums = self.sums
        units = np.flatnonzero(self.best.members)
        best, found = np.array([self.best.merit]), np.full(len(sums) + 2, -1, dtype=np.int64)
        found[:2] = self.best.size, len(units)
        found[2 : 2 + len(units)] = units
        before = found.copy()
        judged = kernels.judge_combinations(
            *(sums.c, sums.own, sums.pairs, sums.widths, sums.base, sums.absolute, sums.sizes),
            *(np.array(piece.prefix, dtype=np.int64), piece.first, piece.last, piece.deep, room, best, found),
        )
        if np.array_equal(found[: 2 + found[1]], before[: 2 + found[1]]):
            return Judged(judged, self.best.merit, self.best.size, None)
        members = np.isin(np.arange(len(sums)), found[2 : 2 + found[1]])
        return Judged(judged, float(best[0]), int(found[0]), members)


def combinations(problem: Problem, sums: UnitSums, best: Incumbent, total: int) -> Iterator[Combinations]:
    """Yield proposals that hold all sets but the one of no unit."""
    pieces: list[Piece] = []
    held = 0.0
    for piece in _pieces(problem):
        pieces.append(piece)
        held += piece.count
        if held >= _BATCH:
            yield Combinations(problem, sums, best, total, pieces)
            pieces, held = [], 0.0
    if pieces:
        yield Combinations(problem, sums, best, total, pieces)


def _pieces(problem: Problem) -> Iterator[Piece]:
    """Yield pieces that hold all sets but the one of no unit, none of more than some hundred thousand sets."""
    counts = n_completions(problem)
    widths = [len(unit) for unit in problem.units]
    room = counts.shape[1] - 1
    # What is still to be split: units of a prefix, its columns, and the first unit that comes next.
    stack: list[tuple[tuple[int, ...], int, int]] = [((), 0, 0)]
    while stack:
        prefix, size, first = stack.pop()
        held = 0.0
        for j in range(first, len(widths)):
            grown = size + widths[j]
            count = counts[j + 1, grown] if grown <= room else 0.0
            if held and held + count > _PIECE:
                yield Piece(prefix, first, j, True, held)
                first, held = j, 0.0
            if count > _PIECE:
                yield Piece(prefix, j, j + 1, False, float(counts[-1, grown]))
                # Back to the rest of this prefix when the sets that begin with unit j are done.
                stack += [(prefix, size, j + 1), ((*prefix, j), grown, j + 1)]
                break
            held += count
        else:
            if held:
                yield Piece(prefix, first, len(widths), True, held)
