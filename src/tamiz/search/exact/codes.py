"""All sets of few units, as the numbers of a binary counter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tamiz import parallel
from tamiz.kernels import subsets as kernels
from tamiz.search.base import Problem
from tamiz.search.exact.judging import BlockResult, EnumerationProposal
from tamiz.search.exact.sums import Incumbent, UnitQuadraticForm

# Codes have 62 bits.
MAX_CODE_UNITS = 62
# Units of which all sets are judged at once: 4 kB for each of the four numbers that a set needs.
_N_LOW_UNITS = 9
# Sets that a thread judges in one piece, 2 to 30 ms, and that one proposal looks at: 10 ms, and ten times as long while no set has
# a merit above 0.
_CODES_PER_BLOCK, _CODES_PER_PROPOSAL = 2**21, 2**24


@dataclass(frozen=True)
class CodeRange(EnumerationProposal[tuple[int, int]]):
    """The sets of a range of codes, in runs of the sets of the last units."""

    first: int
    last: int

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of runs."""
        spans = parallel.block_ranges(self.last - self.first, _CODES_PER_BLOCK >> self._n_low)
        return [(self.first + start, self.first + stop) for start, stop in spans]

    @property
    def n_sets(self) -> float:
        """Return the number of codes."""
        return (self.last - self.first) << self._n_low

    @property
    def _n_low(self) -> int:
        return min(len(self.form), _N_LOW_UNITS)

    def evaluate_block(self, block: tuple[int, int], budget: int) -> BlockResult:
        """Judge the sets of a piece."""
        sums, n = self.form, len(self.form)
        best = np.array([self.best.merit])
        # A set of this merit counts where it is smaller, or begins earlier.
        code = int("0" + "".join(map(str, self.best.members.astype(int).tolist())), 2)
        found = np.array([self.best.size, code], dtype=np.int64)
        judged = kernels.evaluate_codes(
            *(
                sums.c,
                sums.self_terms,
                sums.pair_terms,
                sums.widths,
                sums.fixed_terms,
                sums.magnitudes,
                sums.size_limits,
            ),
            *(self._n_low, *block, budget, best, found),
        )
        size, reached = found.tolist()
        if best[0] == self.best.merit and (size, reached) == (self.best.size, code):
            return BlockResult(judged, self.best.merit, size, None)
        members = np.array([reached >> (n - 1 - j) & 1 for j in range(n)], dtype=bool)
        return BlockResult(judged, float(best[0]), size, members)


def code_ranges(problem: Problem, form: UnitQuadraticForm, best: Incumbent, n_total: int) -> Iterator[CodeRange]:
    """Yield ranges that hold all sets."""
    n_low = min(len(form), _N_LOW_UNITS)
    n_runs, run = 1 << (len(form) - n_low), _CODES_PER_PROPOSAL >> n_low
    # The number of ranges may be beyond any list.
    first = 0
    while first < n_runs:
        yield CodeRange(problem, form, best, n_total, first, min(first + run, n_runs))
        first += run
