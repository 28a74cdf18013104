"""Branch and bound."""

from __future__ import annotations

import heapq
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from tamiz.runtime.validation import check_real
from tamiz.search.base import Columns, Problem, Search, Walk
from tamiz.search.exact.branching import branch_quadratic
from tamiz.search.exact.quadratic import BoundedCandidates, UnitQuadraticForm, no_candidates
from tamiz.search.unit_sets import count_sets, expand_units
from tamiz.subsets.candidates import Candidates, Masks, Proposal
from tamiz.subsets.evaluator import Floats

# MERGED: Branch and bound for a merit that bounds the merits of all subsets of a set: columns are dropped, best bound first.
# So many nodes and the siblings of the last are bounded and evaluated together.
_NODES_PER_BATCH = 32


@dataclass(frozen=True)
class _Node:
    """A set of units, and its subsets without some of the units from `first` on: every set is in one place of this tree."""

    members: Masks
    first: int


def branch_by_bounds(problem: Problem, optimality_gap: float) -> Generator[Proposal, Floats, None]:
    """Yield sets until none left can be better than the best by more than gap; where units are dropped from is the whole set."""
    widths = np.array([len(unit) for unit in problem.units], dtype=np.intp)
    n_fixed = int(problem.fixed.sum())
    best = -np.inf
    waiting: list[tuple[float, int, _Node]] = []
    n_seen = 0
    coming = [_Node(np.ones(len(widths), dtype=bool), 0)]
    while coming:
        masks = expand_units(problem, np.array([node.members for node in coming]))
        bounds = problem.merit_properties.upper_bounds(masks)
        assert bounds is not None
        kept = [number for number, bound in enumerate(bounds.tolist()) if not bound < best + optimality_gap]
        for number in kept:
            heapq.heappush(waiting, (-float(bounds[number]), n_seen + number, coming[number]))
        n_seen += len(coming)
        sizes = masks[kept].sum(axis=1)
        allowed = masks[kept][(sizes >= problem.min_size) & (sizes <= problem.max_size)]
        # What was closed is better by no more than the gap.
        proven = max(-waiting[0][0] if waiting else -np.inf, best + optimality_gap)
        merits = yield BoundedCandidates(
            Candidates.from_masks(allowed) if len(allowed) else no_candidates(problem), proven
        )
        best = float(np.fmax.reduce(merits, initial=best))
        coming = []
        # Nodes may have no children; the search ends when no node is left, not when some are childless.
        while len(coming) < _NODES_PER_BATCH and waiting and not -waiting[0][0] < best + optimality_gap:
            coming += _children(heapq.heappop(waiting)[2], widths, problem, n_fixed)
    if best > -np.inf:
        yield BoundedCandidates(no_candidates(problem), best + optimality_gap)


def _children(
    node: _Node, widths: np.ndarray[tuple[int], np.dtype[np.intp]], problem: Problem, n_fixed: int
) -> list[_Node]:
    size = n_fixed + int(widths[node.members].sum())
    children = []
    for j in range(node.first, len(widths)):
        left = size - int(widths[j])
        # Neither too small already, nor too large with all that can still go out.
        if left >= problem.min_size and left - int(widths[j + 1 :].sum()) <= problem.max_size:
            members = node.members.copy()
            members[j] = False
            children.append(_Node(members, j + 1))
    return children


class BranchAndBound(Search):
    """Find the best set and prove that it is: parts of all sets are passed over where none can be better than the best known.

    Parameters
    ----------
    optimality_gap : float, default=0.0
        Be content when no set has a merit higher by more than this.
    start, fixed, excluded : list of column names or numbers, default=None
        A good set to begin with, columns to keep in every set, and columns to keep out.
    column_groups : list of lists of column names or numbers, default=None
        Columns that come in together.

    Raises
    ------
    ValueError
        When the merit has neither `quadratic()` nor `bound()`.

    Notes
    -----
    Cost 2^p evaluations for p columns at worst, mostly far fewer. The proven bound is told with every step and kept when a rule
    or Ctrl-C stops the search: `certificate_` then says how much better another set may be. Ended by itself, the result is that
    of `Exhaustive`, also among equal merits.

    For a merit such as CFS, c'x / sqrt(x'Ax), the total of a set is bounded from below by a convex function, and of what that
    leaves the best set is found by adding up. Columns that hardly go with each other, and nearly copies of others, cost little:
    credit-g with 780 columns of noise and of copies with errors takes two seconds. The archive holds
    the sets that were the best when they came and counts the others. For any other merit its own `bound` is asked, and columns are
    dropped one by one. So it is for CFS in Weka's convention with a numeric target where standard deviations differ by a factor of
    more than 256: up to some 20 columns `Exhaustive` is faster there, and beyond neither ends soon, but the bound is told.

    References
    ----------
    Narendra and Fukunaga (1977), A branch and bound algorithm for feature subset selection, IEEE Transactions on Computers C-26.
    Billionnet, Elloumi and Plateau (2009), Improving the performance of standard solvers for quadratic 0-1 programs by a tight
    convex reformulation, Discrete Applied Mathematics 157.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import BranchAndBound
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = SubsetSelector(CFS(), BranchAndBound()).fit(X, y)
    >>> print(selector.certificate_)
    proven best: no set that may be chosen has a higher merit
    """

    def __init__(
        self,
        *,
        optimality_gap: float = 0.0,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, column_groups=column_groups)
        self.optimality_gap = optimality_gap

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of sets, and of those to begin with: they may be met again."""
        return count_sets(problem) + 2

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield parts of all sets to be looked at."""
        gap = check_real("optimality_gap", self.optimality_gap, low=0)
        sums = UnitQuadraticForm.from_problem(problem)
        if sums is not None:
            yield from branch_quadratic(problem, sums, gap)
        elif problem.merit_properties.upper_bounds(problem.fixed[None]) is not None:
            yield from branch_by_bounds(problem, gap)
        else:
            raise ValueError(
                f"BranchAndBound needs a merit with quadratic() or bound(); {problem.merit_properties.name} has neither. Use Exhaustive for "
                "few columns, or Beam."
            )
        return "no set is better" if gap == 0 else f"no set is better by more than {gap:g}"
