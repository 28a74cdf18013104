"""Branch and bound: the search class, and the branching over bounds that a merit itself provides (`upper_bounds`)."""

from __future__ import annotations

import heapq
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from tamiz.arrays import Floats, Masks
from tamiz.runtime.validation import check_real
from tamiz.search.base import Columns, Problem, Search, Walk
from tamiz.search.exact.branching import branch_quadratic
from tamiz.search.exact.quadratic import BoundedCandidates, UnitQuadraticForm, no_candidates
from tamiz.search.unit_sets import count_sets, expand_units
from tamiz.subsets.candidates import Candidates, Proposal
from tamiz.subsets.evaluator import HasBounds, merit_name

# Nodes that are expanded together: their children are bounded in one call.
_NODES_PER_BATCH = 32


class BranchAndBound(Search):
    """Find the best set and prove that it is optimal: groups of sets that cannot contain a better one are skipped.

    Parameters
    ----------
    optimality_gap : float, default=0.0
        Stop when it is proven that no set has a merit higher than the best by more than this.
    start, fixed, excluded : list of column names or numbers, default=None
        A good set to start with, columns to keep in every set, and columns to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are added together.

    Raises
    ------
    ValueError
        When the merit has neither `quadratic_form()` nor `upper_bounds()`.

    Notes
    -----
    Cost at most 2^p evaluations for p columns, mostly far fewer. Every step updates the proven bound. Where a stopping rule or
    Ctrl-C ends the search, `certificate_` contains the bound so far and its optimality gap. A search that runs to its end returns
    the set that `Exhaustive` returns, also among equal merits.

    For a merit such as CFS, c'x / sqrt(x'Ax), a convex function bounds the total x'Ax of a set from below; nodes that this bound
    does not close are split until their sets are evaluated one by one. Nearly uncorrelated columns and near copies cost little:
    credit-g with 780 additional columns (noise, and copies with errors) takes two seconds. The archive records the sets that were
    the best when they were found and counts the others.

    For any other merit its `upper_bounds` are used, and columns are dropped one by one. The same applies to CFS in Weka's
    convention with a numeric target where standard deviations differ by a factor of more than 256: `Exhaustive` is faster there
    up to about 20 columns; with more columns neither ends soon, but branch and bound reports a bound.

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
    proven optimal: no allowed set has a higher merit
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
        """Return the number of allowed sets, and 2 for the starting sets, which may be evaluated again."""
        return count_sets(problem) + 2

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield the sets of nodes that may contain a better set than the best so far."""
        optimality_gap = check_real("optimality_gap", self.optimality_gap, low=0)
        form = UnitQuadraticForm.from_problem(problem)
        if form is not None:
            yield from branch_quadratic(problem, form, optimality_gap)
        elif isinstance(problem.merit, HasBounds) and problem.merit.upper_bounds(problem.fixed[None]) is not None:
            yield from _branch_by_bounds(problem, optimality_gap)
        else:
            raise ValueError(
                f"BranchAndBound needs a merit with quadratic_form() or upper_bounds(); {merit_name(problem.merit)} has "
                "neither. Use Exhaustive for few columns, or Beam."
            )
        return "no set is better" if optimality_gap == 0 else f"no set is better by more than {optimality_gap:g}"


@dataclass(frozen=True)
class _Node:
    """A set of units and all its subsets that lack only units from `first` on; every set of units is one node of the tree."""

    members: Masks
    first: int


def _branch_by_bounds(problem: Problem, optimality_gap: float) -> Generator[Proposal, Floats, None]:
    """Yield sets until none of the others can exceed the best by more than the optimality gap; the root is the set of all units."""
    widths = np.array([len(unit) for unit in problem.units], dtype=np.intp)
    n_fixed = int(problem.fixed.sum())
    best = -np.inf
    # Highest bound first; among equal bounds the node that was opened first.
    open_nodes: list[tuple[float, int, _Node]] = []
    n_opened = 0
    new_nodes = [_Node(np.ones(len(widths), dtype=bool), 0)]
    while new_nodes:
        masks = expand_units(problem, np.array([node.members for node in new_nodes]))
        assert isinstance(problem.merit, HasBounds)
        bounds = problem.merit.upper_bounds(masks)
        assert bounds is not None
        kept = [number for number, bound in enumerate(bounds.tolist()) if not bound < best + optimality_gap]
        for number in kept:
            heapq.heappush(open_nodes, (-float(bounds[number]), n_opened + number, new_nodes[number]))
        n_opened += len(new_nodes)
        sizes = masks[kept].sum(axis=1)
        allowed = masks[kept][(sizes >= problem.min_size) & (sizes <= problem.max_size)]
        # The sets of closed nodes exceed the best merit by no more than the optimality gap.
        proven = max(-open_nodes[0][0] if open_nodes else -np.inf, best + optimality_gap)
        merits = yield BoundedCandidates(
            Candidates.from_masks(allowed) if len(allowed) else no_candidates(problem), proven
        )
        best = float(np.fmax.reduce(merits, initial=best))
        new_nodes = []
        # Nodes may have no children: the search ends when no node is open, not when a batch has none.
        while len(new_nodes) < _NODES_PER_BATCH and open_nodes and not -open_nodes[0][0] < best + optimality_gap:
            new_nodes += _children(heapq.heappop(open_nodes)[2], widths, problem, n_fixed)
    if best > -np.inf:
        yield BoundedCandidates(no_candidates(problem), best + optimality_gap)


def _children(
    node: _Node, widths: np.ndarray[tuple[int], np.dtype[np.intp]], problem: Problem, n_fixed: int
) -> list[_Node]:
    size = n_fixed + int(widths[node.members].sum())
    children = []
    for j in range(node.first, len(widths)):
        n_left = size - int(widths[j])
        # Some set of the child must be neither too small nor too large.
        if n_left >= problem.min_size and n_left - int(widths[j + 1 :].sum()) <= problem.max_size:
            members = node.members.copy()
            members[j] = False
            children.append(_Node(members, j + 1))
    return children
