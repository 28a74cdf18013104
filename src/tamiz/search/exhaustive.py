"""Exhaustive search.

`all_candidates` yields every set for a merit of which only the values are known. For a merit c'x / sqrt(x'Ax) a kernel evaluates
the sets in blocks, in one of two orders: `code_ranges` counts through all sets as binary codes (about 1 ns for each code, also
for the sets of sizes that are not allowed), `combination_proposals` enumerates only the combinations of allowed sizes (10 to 100
ns each).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from tamiz.arrays import Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels import subset_merits as kernels
from tamiz.runtime import parallel
from tamiz.search.base import (
    Candidates,
    Columns,
    Problem,
    Proposal,
    ScanResult,
    Search,
    Walk,
    count_completions,
    count_sets,
)
from tamiz.search.quadratic import BoundedCandidates, Incumbent, UnitQuadraticForm, no_candidates

# Enumerating all codes takes about 1 ns for each, enumerating combinations of allowed sizes 10 to 100 ns: codes are used up to this
# many codes for each allowed set.
_MAX_CODES_PER_SET = 32
# At 1 ns for each, a minute.
_MAX_SETS = 2**36
_CANDIDATES_PER_BATCH = 1024
# A code is a nonnegative int64.
_MAX_CODE_UNITS = 62
# The last units, of which a kernel call evaluates all sets in one run: 4 kB for each of the four numbers of a set.
_N_LOW_UNITS = 9
# Codes that a thread evaluates in one block (2 to 30 ms), and codes of one proposal (10 ms; 100 ms while no merit is above 0).
_CODES_PER_BLOCK, _CODES_PER_PROPOSAL = 2**21, 2**24
# Combinations that a thread evaluates in one block at most (some milliseconds), and combinations of one proposal.
_SETS_PER_BLOCK, _SETS_PER_PROPOSAL = 2**18, 2**23

Block = TypeVar("Block")


class Exhaustive(Search):
    """Evaluate every set of an allowed size; the result is optimal.

    Parameters
    ----------
    fixed, excluded : list of column names or numbers, default=None
        Columns to keep in every set, and to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are added together.

    Notes
    -----
    Cost 2^p evaluations for p columns. For a merit such as CFS, c'x / sqrt(x'Ax), a set takes about 1 nanosecond on one core; the
    archive then records every set that was the best when it was found, and counts the others. For any other merit it records all
    sets, ordered by the number of units (columns or column groups), those with equally many units in column order. Among equal
    merits the smaller set is best, then the one of earlier columns.

    References
    ----------
    Knuth (2011), The Art of Computer Programming 4A, section 7.2.1.1: the Gray code, in which one column changes at each step.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Exhaustive
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = SubsetSelector(CFS(), Exhaustive()).fit(X, y)
    >>> selector.get_support(indices=True), selector.n_evaluations_, selector.certificate_.is_optimal
    (array([2, 3]), 16, True)
    """

    # All sets are evaluated: there is no set to start with.
    start = None

    def __init__(
        self,
        *,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        self.fixed = fixed
        self.excluded = excluded
        self.column_groups = column_groups

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of allowed sets."""
        return count_sets(problem)

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield all sets, in batches."""
        best, n_sets = -np.inf, count_sets(problem)
        if n_sets > _MAX_SETS:
            raise DataError(
                f"An exhaustive search would evaluate {n_sets:.2g} sets, and at most {_MAX_SETS:.2g} can be evaluated. Limit their "
                "size with n_features (--n-features), or use branch-and-bound, which finds the optimum without all sets."
            )
        for proposal in _proposals(problem, n_sets):
            merits = yield proposal
            best = float(np.fmax.reduce(merits, initial=best))
        if best > -np.inf:
            yield BoundedCandidates(no_candidates(problem), best)
        return "every set of an allowed size was evaluated"


def _proposals(problem: Problem, n_total: int) -> Iterator[Proposal]:
    """Yield proposals that together contain all allowed sets."""
    form = UnitQuadraticForm.from_problem(problem)
    if form is None:
        yield from all_candidates(problem)
        return
    best = Incumbent(len(form))
    if len(form) <= _MAX_CODE_UNITS and 2 ** len(form) <= _MAX_CODES_PER_SET * max(n_total, 2**16):
        yield from code_ranges(problem, form, best, n_total)
        return
    n_fixed = int(problem.fixed.sum())
    if problem.min_size <= n_fixed <= problem.max_size:
        none = np.zeros(len(form), dtype=bool)
        best.update(form.merit(none), n_fixed, none)
        yield Candidates.from_masks(problem.fixed)
    yield from combination_proposals(problem, form, best, n_total)


def all_candidates(problem: Problem) -> Iterator[Candidates]:
    """Yield the allowed sets by their number of units, those with equally many units in lexicographic order.

    A candidate is the set of all its units but the last one, with the last one flipped: all candidates of one parent share the
    evaluator's sums over the parent.
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


def _prefix_families(problem: Problem, n_fixed: int) -> Iterator[tuple[tuple[int, ...], list[Indices]]]:
    """Yield prefixes of sets, and for each the last units that complete it to a set of an allowed size."""
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


class BlockResult(NamedTuple):
    """The number of evaluated sets of a block, and merit, size and units of its best set where that is better than before."""

    n_sets: int
    best: tuple[float, int, Masks] | None = None


@dataclass(frozen=True)
class EnumerationProposal(Proposal, Generic[Block]):
    """A proposal whose sets a kernel evaluates in blocks, each by one thread; it returns only the best of them.

    `scan` updates the best set so far. `n_total` is the number of sets of the whole search, and `n_sets` the largest one of the
    proposal. evaluate_block(form, best, block, budget) evaluates at most `budget` sets of a block.
    """

    problem: Problem
    form: UnitQuadraticForm
    best: Incumbent
    n_total: int
    evaluate_block: Callable[[UnitQuadraticForm, Incumbent, Block, int], BlockResult]
    blocks: list[Block]
    n_sets: float

    def scan(self, budget: int | None) -> ScanResult:
        """Evaluate the sets, at most `budget`, and return the best of them where it is better than the best so far."""
        evaluate = partial(self.evaluate_block, self.form, self.best)
        if budget is None or budget >= self.n_sets:
            results = list(parallel.map_blocks(lambda block: evaluate(block, 2**62), self.blocks))
        else:
            # The budget cuts the last proposal of a search: its blocks are evaluated one after the other, with the remaining
            # budget.
            results = []
            for block in self.blocks:
                results.append(evaluate(block, budget - sum(result.n_sets for result in results)))
        improved = False
        for result in results:
            improved |= result.best is not None and self.best.update(*result.best)
        candidates = self.best.to_candidates(self.problem) if improved else no_candidates(self.problem)
        n_unrecorded = sum(result.n_sets for result in results) - len(candidates)
        return ScanResult(candidates, n_unrecorded, None, self.n_total)


def code_ranges(
    problem: Problem, form: UnitQuadraticForm, best: Incumbent, n_total: int
) -> Iterator[EnumerationProposal[tuple[int, int]]]:
    """Yield proposals that together contain all sets: ranges of runs of codes. A run is all sets with the same high units."""
    n_low = min(len(form), _N_LOW_UNITS)
    n_runs, n_runs_per_proposal = 1 << (len(form) - n_low), _CODES_PER_PROPOSAL >> n_low
    # No range(): the number of proposals can exceed its limit.
    first = 0
    while first < n_runs:
        n = min(n_runs_per_proposal, n_runs - first)
        blocks = [(first + start, first + stop) for start, stop in parallel.block_ranges(n, _CODES_PER_BLOCK >> n_low)]
        yield EnumerationProposal(problem, form, best, n_total, _evaluate_codes, blocks, n << n_low)
        first += n


def _evaluate_codes(form: UnitQuadraticForm, best: Incumbent, runs: tuple[int, int], budget: int) -> BlockResult:
    n = len(form)
    best_merit = np.array([best.merit])
    # A set of the same merit is better where it is smaller, or of equal size with earlier units.
    code = int("0" + "".join(map(str, best.members.astype(int).tolist())), 2)
    best_set = np.array([best.size, code], dtype=np.int64)
    n_low = min(n, _N_LOW_UNITS)
    n_evaluated = kernels.evaluate_codes(form.unit_terms(), n_low, *runs, budget, best_merit, best_set)
    size, best_code = best_set.tolist()
    if best_merit[0] == best.merit and (size, best_code) == (best.size, code):
        return BlockResult(n_evaluated)
    members = np.array([best_code >> (n - 1 - j) & 1 for j in range(n)], dtype=bool)
    return BlockResult(n_evaluated, (float(best_merit[0]), size, members))


class PrefixRange(NamedTuple):
    """The sets that consist of a prefix and one of the units from `first` to `last` (exclusive).

    Where `with_descendants`, the sets with further, later units belong to the range, too.
    """

    prefix: tuple[int, ...]
    first: int
    last: int
    with_descendants: bool
    n_sets: float


def _evaluate_combinations(form: UnitQuadraticForm, best: Incumbent, block: PrefixRange, budget: int) -> BlockResult:
    units = np.flatnonzero(best.members)
    best_merit = np.array([best.merit])
    # Size, number of units, and the units.
    best_set = np.full(len(form) + 2, -1, dtype=np.int64)
    best_set[:2] = best.size, len(units)
    best_set[2 : 2 + len(units)] = units
    before = best_set.copy()
    prefix, *units_and_depth, _ = block
    n_evaluated = kernels.evaluate_combinations(
        form.unit_terms(), np.array(prefix, dtype=np.int64), *units_and_depth, budget, best_merit, best_set
    )
    n_units = best_set[1]
    if np.array_equal(best_set[: 2 + n_units], before[: 2 + n_units]):
        return BlockResult(n_evaluated)
    members = np.isin(np.arange(len(form)), best_set[2 : 2 + n_units])
    return BlockResult(n_evaluated, (float(best_merit[0]), int(best_set[0]), members))


def combination_proposals(
    problem: Problem, form: UnitQuadraticForm, best: Incumbent, n_total: int
) -> Iterator[EnumerationProposal[PrefixRange]]:
    """Yield proposals that together contain all allowed sets except the one without units."""
    make = partial(EnumerationProposal, problem, form, best, n_total, _evaluate_combinations)
    batch: list[PrefixRange] = []
    n_sets = 0.0
    for prefix_range in _prefix_ranges(problem):
        batch.append(prefix_range)
        n_sets += prefix_range.n_sets
        if n_sets >= _SETS_PER_PROPOSAL:
            yield make(batch, n_sets)
            batch, n_sets = [], 0.0
    if batch:
        yield make(batch, n_sets)


def _prefix_ranges(problem: Problem) -> Iterator[PrefixRange]:
    """Yield ranges of at most `_SETS_PER_BLOCK` sets that together contain all allowed sets except the one without units."""
    counts = count_completions(problem)
    widths = [len(unit) for unit in problem.units]
    max_free = counts.shape[1] - 1
    # Prefixes that are not yet complete: the units, their number of columns, and the first unit that may follow.
    stack: list[tuple[tuple[int, ...], int, int]] = [((), 0, 0)]
    while stack:
        prefix, size, first = stack.pop()
        n_sets = 0.0
        for j in range(first, len(widths)):
            extended_size = size + widths[j]
            count = counts[j + 1, extended_size] if extended_size <= max_free else 0.0
            if n_sets and n_sets + count > _SETS_PER_BLOCK:
                yield PrefixRange(prefix, first, j, True, n_sets)
                first, n_sets = j, 0.0
            if count > _SETS_PER_BLOCK:
                yield PrefixRange(prefix, j, j + 1, False, float(counts[-1, extended_size]))
                # The stack returns to the rest of this prefix after the sets with the prefix and unit j.
                stack += [(prefix, size, j + 1), ((*prefix, j), extended_size, j + 1)]
                break
            n_sets += count
        else:
            if n_sets:
                yield PrefixRange(prefix, first, len(widths), True, n_sets)
