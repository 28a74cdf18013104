"""All sets of some sizes, as combinations that begin alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tamiz.kernels import subsets as kernels
from tamiz.search.base import Problem
from tamiz.search.exact.counts import count_completions
from tamiz.search.exact.judging import BlockResult, EnumerationProposal
from tamiz.search.exact.sums import Incumbent, UnitQuadraticForm

# Sets that a thread judges in one piece at most, some ms, and those of one proposal.
_SETS_PER_BLOCK, _SETS_PER_PROPOSAL = 2**18, 2**23


@dataclass(frozen=True)
class PrefixRange:
    """The sets of a prefix and one of the units from first to last, and where deep those with later units too.

    Attributes
    ----------
    prefix : tuple of int
    first, last : int
    with_descendants : bool
    n_sets : float
        How many sets these are.
    """

    prefix: tuple[int, ...]
    first: int
    last: int
    with_descendants: bool
    n_sets: float


@dataclass(frozen=True)
class CombinationProposal(EnumerationProposal[PrefixRange]):
    """The sets of some pieces."""

    prefix_ranges: list[PrefixRange] = field(repr=False)

    @property
    def blocks(self) -> list[PrefixRange]:
        """The pieces."""
        return self.prefix_ranges

    @property
    def n_sets(self) -> float:
        """Return the number of their sets."""
        return sum(piece.n_sets for piece in self.prefix_ranges)

    def evaluate_block(self, block: PrefixRange, budget: int) -> BlockResult:
        """Judge the sets of a piece."""
        sums = self.form
        units = np.flatnonzero(self.best.members)
        best, found = np.array([self.best.merit]), np.full(len(sums) + 2, -1, dtype=np.int64)
        found[:2] = self.best.size, len(units)
        found[2 : 2 + len(units)] = units
        before = found.copy()
        judged = kernels.evaluate_combinations(
            *(
                sums.c,
                sums.self_terms,
                sums.pair_terms,
                sums.widths,
                sums.fixed_terms,
                sums.magnitudes,
                sums.size_limits,
            ),
            *(
                np.array(block.prefix, dtype=np.int64),
                block.first,
                block.last,
                block.with_descendants,
                budget,
                best,
                found,
            ),
        )
        if np.array_equal(found[: 2 + found[1]], before[: 2 + found[1]]):
            return BlockResult(judged, self.best.merit, self.best.size, None)
        members = np.isin(np.arange(len(sums)), found[2 : 2 + found[1]])
        return BlockResult(judged, float(best[0]), int(found[0]), members)


def combination_proposals(
    problem: Problem, form: UnitQuadraticForm, best: Incumbent, n_total: int
) -> Iterator[CombinationProposal]:
    """Yield proposals that hold all sets but the one of no unit."""
    pieces: list[PrefixRange] = []
    held = 0.0
    for piece in _prefix_ranges(problem):
        pieces.append(piece)
        held += piece.n_sets
        if held >= _SETS_PER_PROPOSAL:
            yield CombinationProposal(problem, form, best, n_total, pieces)
            pieces, held = [], 0.0
    if pieces:
        yield CombinationProposal(problem, form, best, n_total, pieces)


def _prefix_ranges(problem: Problem) -> Iterator[PrefixRange]:
    """Yield pieces that hold all sets but the one of no unit, none of more than some hundred thousand sets."""
    counts = count_completions(problem)
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
            if held and held + count > _SETS_PER_BLOCK:
                yield PrefixRange(prefix, first, j, True, held)
                first, held = j, 0.0
            if count > _SETS_PER_BLOCK:
                yield PrefixRange(prefix, j, j + 1, False, float(counts[-1, grown]))
                # Back to the rest of this prefix when the sets that begin with unit j are done.
                stack += [(prefix, size, j + 1), ((*prefix, j), grown, j + 1)]
                break
            held += count
        else:
            if held:
                yield PrefixRange(prefix, first, len(widths), True, held)
