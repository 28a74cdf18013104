"""All sets of few units, as the numbers of a binary counter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tamiz import parallel
from tamiz.kernels import subsets as kernels
from tamiz.search.base import Problem
from tamiz.search.exact.judging import Judged, Judging
from tamiz.search.exact.sums import Incumbent, UnitSums

# Codes have 62 bits.
MOST_UNITS = 62
# Units of which all sets are judged at once: 4 kB for each of the four numbers that a set needs.
_N_LOW = 9
# Sets that a thread judges in one piece, 2 to 30 ms, and that one proposal looks at: 10 ms, and ten times as long while no set has
# a merit above 0.
_PIECE, _RANGE = 2**21, 2**24


@dataclass(frozen=True)
class CodeRange(Judging[tuple[int, int]]):
    """The sets of a range of codes, in runs of the sets of the last units."""

    first: int
    last: int

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """Ranges of runs."""
        spans = parallel.spans(self.last - self.first, _PIECE >> self._n_low)
        return [(self.first + start, self.first + stop) for start, stop in spans]

    @property
    def n_sets(self) -> float:
        """Return the number of codes."""
        return (self.last - self.first) << self._n_low

    @property
    def _n_low(self) -> int:
        return min(len(self.sums), _N_LOW)

    def judge(self, piece: tuple[int, int], room: int) -> Judged:
        """Judge the sets of a piece."""
        sums, n = self.sums, len(self.sums)
        best = np.array([self.best.merit])
        # A set of this merit counts where it is smaller, or begins earlier.
        code = int("0" + "".join(map(str, self.best.members.astype(int).tolist())), 2)
        found = np.array([self.best.size, code], dtype=np.int64)
        judged = kernels.judge_codes(
            *(sums.c, sums.own, sums.pairs, sums.widths, sums.base, sums.absolute, sums.sizes),
            *(self._n_low, *piece, room, best, found),
        )
        size, reached = found.tolist()
        if best[0] == self.best.merit and (size, reached) == (self.best.size, code):
            return Judged(judged, self.best.merit, size, None)
        members = np.array([reached >> (n - 1 - j) & 1 for j in range(n)], dtype=bool)
        return Judged(judged, float(best[0]), size, members)


def code_ranges(problem: Problem, sums: UnitSums, best: Incumbent, total: int) -> Iterator[CodeRange]:
    """Yield ranges that hold all sets."""
    n_low = min(len(sums), _N_LOW)
    n_runs, run = 1 << (len(sums) - n_low), _RANGE >> n_low
    # The number of ranges may be beyond any list.
    first = 0
    while first < n_runs:
        yield CodeRange(problem, sums, best, total, first, min(first + run, n_runs))
        first += run
