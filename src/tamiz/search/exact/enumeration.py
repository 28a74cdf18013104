"""Part of all sets, judged by kernels piece by piece."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels import subset_merits as kernels
from tamiz.runtime import parallel
from tamiz.search.base import Problem
from tamiz.search.exact.quadratic import Incumbent, UnitQuadraticForm, no_candidates
from tamiz.search.unit_sets import count_completions
from tamiz.subsets.candidates import Candidates, Masks, Proposal, ScanResult

Block = TypeVar("Block")


class BlockResult(NamedTuple):
    """What came of a piece: how many sets were judged, and merit, size and units of the best; None where none is better."""

    n_sets: int
    merit: float
    size: int
    members: Masks | None


@dataclass(frozen=True)
class EnumerationProposal(Proposal, Generic[Block]):
    """Sets to be judged.

    Attributes
    ----------
    problem : Problem
    form : UnitQuadraticForm
    best : Incumbent
        What is to be beaten; it is kept up to date.
    n_total : int
        How many sets the whole search judges.
    """

    problem: Problem
    form: UnitQuadraticForm
    best: Incumbent
    n_total: int

    @property
    @abstractmethod
    def blocks(self) -> list[Block]:
        """What one thread judges at a time."""

    @property
    @abstractmethod
    def n_sets(self) -> float:
        """How many sets there are at most."""

    @abstractmethod
    def evaluate_block(self, block: Block, budget: int) -> BlockResult:
        """Judge the sets of a piece, at most `budget`."""

    def scan(self, budget: int | None) -> ScanResult:
        """Judge the sets, as many as there is room for, and return the best of them where it is better."""
        if budget is None or budget >= self.n_sets:
            found = list(parallel.map_blocks(partial(self.evaluate_block, budget=2**62), self.blocks))
        else:
            # Only the last proposal before the end is cut: one piece after the other, each with what room is left.
            found = []
            for piece in self.blocks:
                found.append(self.evaluate_block(piece, budget - sum(one.n_sets for one in found)))
        gained = False
        for one in found:
            gained |= one.members is not None and self.best.update(one.merit, one.size, one.members)
        sets = self.best.to_candidates(self.problem) if gained else no_candidates(self.problem)
        return ScanResult(sets, sum(one.n_sets for one in found) - len(sets), None, self.n_total)


# MERGED: All sets one by one, for a merit of which only the values are known.
_CANDIDATES_PER_BATCH = 1024


def all_candidates(problem: Problem) -> Iterator[Candidates]:
    """Yield the sets that may be chosen by their number of units, those of one number in the order of the units.

    A set comes as its units but the last, and the last flipped: what is known of the parent serves all its children.
    """
    n_fixed = int(problem.fixed.sum())
    if problem.min_size <= n_fixed <= problem.max_size:
        yield Candidates.from_masks(problem.fixed)
    batch: list[Candidates] = []
    n_sets = 0
    for prefix, units in _prefix_families(problem, n_fixed):
        parent = problem.fixed.copy()
        for number in prefix:
            parent[problem.units[number]] = True
        batch.append(Candidates.from_flips(parent, units))
        n_sets += len(units)
        if n_sets >= _CANDIDATES_PER_BATCH:
            yield Candidates.concatenate(batch)
            batch, n_sets = [], 0
    if batch:
        yield Candidates.concatenate(batch)


def _prefix_families(problem: Problem, n_fixed: int) -> Iterator[tuple[tuple[int, ...], list[NDArray[np.intp]]]]:
    """Yield units that sets begin with, and the last units that make them sets of a size that may be chosen."""
    widths = np.array([len(unit) for unit in problem.units], dtype=np.intp)
    lightest = n_fixed + np.cumsum(np.sort(widths))
    heaviest = n_fixed + np.cumsum(np.sort(widths)[::-1])
    for k in np.flatnonzero((lightest <= problem.max_size) & (heaviest >= problem.min_size)).tolist():
        for prefix in combinations(range(len(widths)), k):
            first = prefix[-1] + 1 if prefix else 0
            sizes = n_fixed + widths[list(prefix)].sum() + widths[first:]
            last = np.flatnonzero((sizes >= problem.min_size) & (sizes <= problem.max_size)) + first
            if last.size:
                yield prefix, [problem.units[number] for number in last.tolist()]


# MERGED: All sets of few units, as the numbers of a binary counter.
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


# MERGED: All sets of some sizes, as combinations that begin alike.
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
