"""Branch and bound: the search class, and the branching over bounds that a merit itself provides (`upper_bounds`)."""

from __future__ import annotations

import heapq
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Masks
from tamiz.kernels import branching as kernels
from tamiz.kernels import read_only
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_real
from tamiz.search.base import (
    Candidates,
    Columns,
    HasBounds,
    Problem,
    Proposal,
    ScanResult,
    Search,
    Walk,
    can_reach_size,
    count_sets,
    expand_units,
    merit_name,
)
from tamiz.search.quadratic import BoundedCandidates, Incumbent, UnitQuadraticForm, no_candidates

# Nodes that are processed before their results are shared, bounds computed for one node (5 to 50 ms), and the number of open nodes
# beyond which twice as many bounds are computed for one node (three times beyond twice as many, ...), so that the queue grows
# slowly.
_NODES_PER_STEP, _BOUNDS_PER_NODE, _MANY_OPEN_NODES = 16, 1000, 20_000
# The relaxation is computed again while at least 10 % of the units were excluded.
_SHRINK_RATIO = 0.9
# Largest number of units that a kernel call adds before it returns a node to the queue.
_MAX_DEPTH = 64
# Weights of the logarithmic barrier, step by step: smaller ones at the end improve nothing.
_BARRIERS = np.geomspace(0.5, 1e-3, 12)
# Halvings of a Newton step that leaves the positive definite matrices, before it is given up.
_MAX_HALVINGS = 60
# The smallest eigenvalue of the convex part, relative to its largest: a margin for rounding.
_EIGENVALUE_MARGIN = 1e-9


def branch_quadratic(
    problem: Problem, form: UnitQuadraticForm, optimality_gap: float
) -> Generator[Proposal, Floats, None]:
    """Yield proposals until no set exceeds the best merit by more than the optimality gap."""
    state = BranchingState(problem, form, optimality_gap)
    starts = _starting_sets(problem, form)
    if not starts:
        return
    for members in starts:
        state.update_incumbent(members)
    merits = yield Candidates.from_masks(expand_units(problem, np.array(starts)))
    # The evaluator's merit: the form adds in another order and may differ in the last bit.
    best = float(merits.max())
    state.open_root()
    while state:
        merits = yield BranchingProposal(state)
        best = float(np.fmax.reduce(merits, initial=best))
    yield BoundedCandidates(no_candidates(problem), best + optimality_gap)


def _starting_sets(problem: Problem, form: UnitQuadraticForm) -> list[Masks]:
    """Return distinct allowed sets to start with: `start`, the set without units, and where hill climbs from these end."""
    none = np.zeros(len(form), dtype=bool)
    starts = [none]
    if problem.start is not None:
        starts = [np.array([problem.start[unit].all() for unit in problem.units], dtype=bool), none]
    climbed = [hill_climb(form, members) for members in starts]
    allowed = [
        members for members in (*starts, *climbed) if form.size_limits[1] <= form.size(members) <= form.size_limits[2]
    ]
    first = None if any(form.merit(members) > 0 for members in allowed) else smallest_allowed_set(problem)
    if first is not None:
        # Where no merit is above 0, the smallest allowed set is the best of those with merit 0.
        allowed += [first, hill_climb(form, first)]
    return list({members.tobytes(): members for members in allowed}.values())


@dataclass(frozen=True)
class BranchingProposal(Proposal):
    state: BranchingState

    def scan(self, budget: int | None) -> ScanResult:
        """Process some open nodes; return the best set where it is better than before, and the proven bound."""
        before = self.state.best.merit, self.state.best.members
        n_evaluated = self.state.process_nodes(budget)
        best = self.state.best
        problem = self.state.problem
        changed = best.merit > before[0] or not np.array_equal(best.members, before[1])
        candidates = best.to_candidates(problem) if changed else no_candidates(problem)
        bound = self.state.bound
        return ScanResult(candidates, n_evaluated - len(candidates), bound if np.isfinite(bound) else None)


@dataclass(frozen=True)
class Node:
    """The sets that consist of `members` and one or more undecided units; none of them has a merit above the bound."""

    members: Masks
    undecided: Masks
    bound: float


@dataclass(frozen=True)
class _NodeResult:
    """The number of evaluated sets of a node, the best of them (size -1 for none), and the nodes that stay open."""

    n_evaluated: int
    merit: float
    size: int
    members: Masks
    open_nodes: list[Node]


class BranchingState:
    """The open nodes of a search, and the best set so far.

    A node is closed when none of its sets exceeds the best merit by more than the optimality gap.
    """

    def __init__(self, problem: Problem, form: UnitQuadraticForm, optimality_gap: float) -> None:
        self.problem = problem
        self.optimality_gap = optimality_gap
        self.best = Incumbent(len(form))
        # By how much a set must exceed the best merit. `open_root` raises it where the first of all sets has a merit of 0: no other
        # set of merit 0 ranks before that one.
        self._required_gain = optimality_gap
        self._full_form = form
        # The units that a better set may contain; the form and the nodes are over these.
        self._units = np.arange(len(form))
        self._form = form
        # Highest bound first; among equal bounds the node that was opened first.
        self._open_nodes: list[tuple[float, int, bytes, bytes]] = []
        self._n_nodes = 0

    def __bool__(self) -> bool:
        return bool(self._open_nodes)

    @property
    def bound(self) -> float:
        """Upper bound of the merit of every allowed set."""
        return max(self.best.merit + self.optimality_gap, -self._open_nodes[0][0] if self._open_nodes else -np.inf)

    def update_incumbent(self, members: Masks) -> None:
        """Make a set of units the best set where it is better."""
        self.best.update(self._full_form.merit(members), self._full_form.size(members), members)

    def open_root(self) -> None:
        """Exclude units that no better set contains, and open the node of all sets but the one of the fixed columns alone."""
        form = self._full_form
        first = smallest_allowed_set(self.problem) if self.best.merit == 0 else None
        if first is not None and np.array_equal(self.best.members, first):
            self._required_gain = max(self.optimality_gap, 1e-20 * self._merit_scale())
        own, pairs = form.self_terms.sum(axis=0), form.pair_terms.sum(axis=0)
        all_totals_positive = bool(
            (own > 0).all() and (pairs >= 0).all() and (form.size_limits[0] == 0 or form.fixed_terms[2:].sum() > 0)
        )
        if all_totals_positive and self.best.merit >= 0 and form.size_limits[1] <= form.size_limits[0]:
            # A unit without positive relevance is in no best set: the set without it is at least as good and smaller.
            self._restrict_units(form.c.sum(axis=0) > 0)
        n_before = np.inf
        while 0 < len(self._form) < _SHRINK_RATIO * n_before:
            # With fewer units the convex part is larger, which tightens the bounds and may exclude more units.
            n_before = len(self._form)
            self._relaxation = ConvexRelaxation.from_form(self._form)
            possible = np.empty(n_before, dtype=bool)
            wanted = self.best.merit + self._required_gain - self.optimality_gap
            kernels.mark_possible_units(self._relaxation.bound_terms(self._form), wanted, possible)
            self._restrict_units(possible)
            self._relaxation = self._relaxation.restrict(possible, self._form)
        if len(self._form):
            none, undecided = np.zeros(len(self._form), dtype=bool), np.ones(len(self._form), dtype=bool)
            self._push(Node(none, undecided, self._node_bound(none, undecided, np.inf)))

    def _restrict_units(self, chosen: Masks) -> None:
        self._units, self._form = self._units[chosen], self._form.restrict(chosen)

    def process_nodes(self, budget: int | None) -> int:
        """Process the nodes with the highest bounds, evaluate at most `budget` sets, and return how many were evaluated."""
        n_tests = max(int(_BOUNDS_PER_NODE * min((100 / len(self._form)) ** 2, 1.0)), 8) * (
            1 + len(self._open_nodes) // _MANY_OPEN_NODES
        )
        nodes = [self._pop() for _ in range(min(_NODES_PER_STEP, len(self._open_nodes)))]
        if budget is None or budget >= n_tests * len(nodes):
            results = list(parallel.map_blocks(lambda node: self._process_node(node, n_tests, n_tests), nodes))
        else:
            results = []
            for node in nodes:
                remaining = budget - sum(result.n_evaluated for result in results)
                results.append(self._process_node(node, n_tests, remaining))
        for result in results:
            if result.size >= 0:
                self.best.update(result.merit, result.size, result.members)
            for node in result.open_nodes:
                self._push(node)
        return sum(result.n_evaluated for result in results)

    def _process_node(self, node: Node, n_tests: int, budget: int) -> _NodeResult:
        """Search a node with at most `n_tests` bounds and at most `budget` evaluated sets."""
        best, size = np.array([self.best.merit]), np.array([self.best.size])
        before = self.best.members[self._units]
        members = before.copy()
        open_members, open_undecided = np.empty((2, _MAX_DEPTH, len(self._form)), dtype=bool)
        n_evaluated, n_open = kernels.branch_and_bound(
            self._relaxation.bound_terms(self._form),
            self._relaxation.first_equivalent,
            node.members,
            node.undecided,
            self._required_gain,
            n_tests,
            budget,
            kernels.BestSet(best, size, members),
            open_members,
            open_undecided,
        )
        changed = best[0] > self.best.merit or not np.array_equal(members, before)
        found = np.zeros(len(self._full_form), dtype=bool)
        found[self._units] = members
        open_nodes = [
            Node(a.copy(), b.copy(), self._node_bound(a, b, node.bound))
            for a, b in zip(open_members[:n_open], open_undecided[:n_open], strict=True)
        ]
        return _NodeResult(n_evaluated, float(best[0]), int(size[0]) if changed else -1, found, open_nodes)

    def _node_bound(self, members: Masks, undecided: Masks, high: float) -> float:
        """Return an upper bound of the merits of a node, which is at most `high`."""
        low = max(self.best.merit, 1e-6 * self._merit_scale())
        terms = self._relaxation.bound_terms(self._form)
        return max(float(kernels.upper_bound(terms, members, undecided, low, high)), low)

    def _merit_scale(self) -> float:
        """Return the sum of |c| over the root of the sum of |A|: the scale of the smallest merits that are distinguished from 0."""
        relevance, total = self._full_form.magnitudes
        return float((relevance or 1.0) / np.sqrt(total or 1.0))

    def _push(self, node: Node) -> None:
        if node.bound >= self.best.merit + self.optimality_gap:
            packed = np.packbits(node.members).tobytes(), np.packbits(node.undecided).tobytes()
            heapq.heappush(self._open_nodes, (-node.bound, self._n_nodes, *packed))
            self._n_nodes += 1

    def _pop(self) -> Node:
        bound, _, *packed = heapq.heappop(self._open_nodes)
        n = len(self._form)
        members, undecided = (np.unpackbits(np.frombuffer(part, np.uint8), count=n).astype(bool) for part in packed)
        return Node(members, undecided, -bound)


def smallest_allowed_set(problem: Problem) -> Masks | None:
    """Return the smallest allowed set of units, of these the one of earlier units; None where there is none."""
    widths = [len(unit) for unit in problem.units]
    n_fixed = int(problem.fixed.sum())
    for size in range(max(problem.min_size - n_fixed, 0), problem.max_size - n_fixed + 1):
        if can_reach_size(widths, size, size):
            members = np.zeros(len(widths), dtype=bool)
            for j, width in enumerate(widths):
                if width <= size and can_reach_size(widths[j + 1 :], size - width, size - width):
                    members[j] = True
                    size -= width
            return members
    return None


def hill_climb(form: UnitQuadraticForm, members: Masks) -> Masks:
    """Return a local optimum: the set after the best addition, drop or exchange, repeated until none raises the merit.

    While the set has too few columns, the best addition is made in any case.
    """
    members = members.copy()
    merit = form.merit(members)
    while True:
        too_small = form.size(members) < form.size_limits[1]
        merits = _exchange_merits(form, members, only_additions=too_small)
        a, b = np.unravel_index(int(np.argmax(merits)), merits.shape)
        if not merits[a, b] > -np.inf:
            return members
        moved = members.copy()
        for u in (int(a), int(b)):
            if u < len(form):
                moved[u] ^= True
        moved_merit = form.merit(moved)
        if not (too_small or moved_merit > merit):
            return members
        members, merit = moved, moved_merit


def _exchange_merits(form: UnitQuadraticForm, members: Masks, *, only_additions: bool) -> Floats:
    """Return the merits of a set without the unit of the row and with the unit of the column.

    The last row drops no unit, the last column adds none. Impossible exchanges have a merit of minus infinity.
    """
    n = len(form)
    c, own, pairs = (part.sum(axis=0) for part in (form.c, form.self_terms, form.pair_terms))
    # What each unit adds to the total beside the members.
    increments = own + pairs[members].sum(axis=0)
    indicator = members.astype(np.float64)
    relevance = form.fixed_terms[:2].sum() + c @ indicator
    total = form.fixed_terms[2:].sum() + ((own + increments) @ indicator) / 2
    dropped = np.append(np.flatnonzero(members), n)
    added = np.append(np.flatnonzero(~members), n)
    c, increments, widths = np.append(c, 0.0), np.append(increments, 0.0), np.append(form.widths, 0)
    between = np.zeros((n + 1, n + 1))
    between[:n, :n] = pairs
    if only_additions:
        dropped = dropped[-1:]
    relevances = relevance - c[dropped][:, None] + c[added]
    totals = total - increments[dropped][:, None] + increments[added] - between[np.ix_(dropped, added)]
    sizes = form.size(members) - widths[dropped][:, None] + widths[added]
    possible = sizes <= form.size_limits[2]
    if only_additions:
        possible &= added < n
    else:
        possible &= sizes >= form.size_limits[1]
        possible[-1, -1] = False
    merits = np.full((n + 1, n + 1), -np.inf)
    exchanged = np.divide(relevances, np.sqrt(np.abs(totals)), out=np.zeros(totals.shape), where=totals > 0)
    merits[np.ix_(dropped, added)] = np.where(possible, exchanged, -np.inf)
    return merits


@dataclass(frozen=True)
class ConvexRelaxation:
    """What the bounds need beside the form: a convex part of the total, negative pair terms, and equivalent units.

    Attributes
    ----------
    convex : ndarray of shape (n_units, n_units)
        A positive semidefinite matrix that differs from A only in the diagonal.
    negative_terms : ndarray of shape (n_units,)
        Sum of the negative pair terms of each unit, a lower bound of its pair terms in any set.
    first_equivalent : ndarray of shape (n_units,)
        The first unit that is equivalent to each unit: exchanging them changes no merit.
    """

    convex: Floats
    negative_terms: Floats
    first_equivalent: NDArray[np.int64]

    @classmethod
    def from_form(cls, form: UnitQuadraticForm) -> ConvexRelaxation:
        pairs = form.pair_terms.sum(axis=0)
        own = form.self_terms.sum(axis=0)
        matrix = pairs / 2 + np.diag(own)
        return cls(
            matrix - np.diag(_maximal_diagonal(matrix)), np.minimum(pairs, 0.0).sum(axis=1), _first_equivalents(form)
        )

    def bound_terms(self, form: UnitQuadraticForm) -> kernels.BoundTerms:
        """Return the arrays of a form and of its relaxation as the parameter of the kernels in `tamiz.kernels.branching`."""
        arrays = (form.c, form.self_terms, form.pair_terms, form.widths, form.fixed_terms, form.size_limits)
        return kernels.BoundTerms(*map(read_only, (*arrays, self.convex, self.negative_terms)))

    def restrict(self, chosen: Masks, form: UnitQuadraticForm) -> ConvexRelaxation:
        """Return the relaxation over some of the units; `form` is the form over these."""
        return ConvexRelaxation(
            self.convex[np.ix_(chosen, chosen)], self.negative_terms[chosen], _first_equivalents(form)
        )


def _maximal_diagonal(matrix: Floats) -> Floats:
    """Return a large diagonal D such that matrix - D is positive semidefinite.

    A larger D gives tighter bounds. The smallest eigenvalue in every diagonal element would be valid, but near copies of columns
    make it nearly 0 for all columns. Instead the sum of D is maximised, by Newton steps on sum D + barrier log det(matrix - D) with
    a barrier that decreases from step to step.
    """
    n = len(matrix)
    if n == 0:
        return np.empty(0)
    own = np.abs(np.diagonal(matrix))
    scale = np.sqrt(np.maximum(own, 1e-6 * own.max())) if own.any() else np.ones(n)
    scaled = matrix / np.outer(scale, scale)
    eigenvalues = np.linalg.eigvalsh(scaled)
    diagonal = np.full(n, eigenvalues[0] - max(0.1, 1e-6 * np.abs(eigenvalues).max()))
    for barrier in _BARRIERS:
        inverse = np.linalg.inv(scaled - np.diag(diagonal))
        step = np.linalg.solve(inverse**2, 1.0 / barrier - np.diagonal(inverse))
        for _ in range(_MAX_HALVINGS):
            if _is_definite(scaled - np.diag(diagonal + step)):
                diagonal += step
                break
            step *= 0.5
    # Shift the diagonal so that the smallest eigenvalue is the rounding margin.
    eigenvalues = np.linalg.eigvalsh(scaled - np.diag(diagonal))
    diagonal += eigenvalues[0] - _EIGENVALUE_MARGIN * max(1.0, eigenvalues[-1])
    shifted: Floats = diagonal * scale**2
    return shifted


def _is_definite(matrix: Floats) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _first_equivalents(form: UnitQuadraticForm) -> NDArray[np.int64]:
    """Return for every unit the first unit that can replace it in every set without a change of the merit."""
    first_equivalent = np.arange(len(form))
    firsts: dict[tuple[float, ...], list[int]] = {}
    for j in range(len(form)):
        similar = firsts.setdefault((*form.c[:, j], *form.self_terms[:, j], float(form.widths[j])), [])
        others = np.arange(len(form)) != j
        for i in similar:
            others[i] = False
            if np.array_equal(form.pair_terms[:, i, others], form.pair_terms[:, j, others]):
                first_equivalent[j] = i
                break
            others[i] = True
        else:
            similar.append(j)
    return first_equivalent


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
        elif (
            isinstance(problem.evaluator, HasBounds) and problem.evaluator.upper_bounds(problem.fixed[None]) is not None
        ):
            yield from _branch_by_bounds(problem, optimality_gap)
        else:
            raise ValueError(
                f"BranchAndBound needs a merit with quadratic_form() or upper_bounds(); {merit_name(problem.evaluator)} has "
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
        assert isinstance(problem.evaluator, HasBounds)
        bounds = problem.evaluator.upper_bounds(masks)
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
