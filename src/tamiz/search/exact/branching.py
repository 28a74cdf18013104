"""Branch and bound for a merit c'x / sqrt(x'Ax): the nodes that are open, worked through by a kernel."""

from __future__ import annotations

import heapq
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels import branching as kernels
from tamiz.runtime import parallel
from tamiz.search.base import Problem, can_reach_size
from tamiz.search.exact.quadratic import BoundedCandidates, Incumbent, UnitQuadraticForm, no_candidates
from tamiz.search.unit_sets import expand_units
from tamiz.statistics.base import Floats
from tamiz.subsets.candidates import Candidates, Masks, Proposal, ScanResult

# MERGED: What branch and bound needs of a problem beyond its sums: a convex part of the totals, and units that are alike.
# What is given to the barrier, step by step: less at the end gains nothing more.
_BARRIERS = np.geomspace(0.5, 1e-3, 12)
# So often a step that leads over the edge is halved before it is given up.
_MAX_HALVINGS = 60
# How far the convex part stays from not being convex, beside its largest eigenvalue.
_EIGENVALUE_MARGIN = 1e-9


@dataclass(frozen=True)
class ConvexRelaxation:
    """The parts of a problem that its bounds are made of.

    Attributes
    ----------
    convex : ndarray of shape (n_units, n_units)
        A positive semidefinite matrix that is A but for the diagonal.
    negative_terms : ndarray of shape (n_units,)
        The least that pairs with other units bring to the total, 0 where none is negative.
    first_equivalent : ndarray of shape (n_units,)
        The first of the units that are alike in everything.
    """

    convex: Floats
    negative_terms: Floats
    first_equivalent: NDArray[np.int64]

    @classmethod
    def from_form(cls, form: UnitQuadraticForm) -> ConvexRelaxation:
        """Return the parts."""
        pairs = form.pair_terms.sum(axis=0)
        own = form.self_terms.sum(axis=0)
        matrix = pairs / 2 + np.diag(own)
        return cls(
            matrix - np.diag(_maximal_diagonal(matrix)), np.minimum(pairs, 0.0).sum(axis=1), _first_equivalents(form)
        )

    def restrict(self, chosen: NDArray[np.bool_], form: UnitQuadraticForm) -> ConvexRelaxation:
        """Return the parts of the same problem with some of the units, whose sums are given."""
        return ConvexRelaxation(
            self.convex[np.ix_(chosen, chosen)], self.negative_terms[chosen], _first_equivalents(form)
        )


def _maximal_diagonal(matrix: Floats) -> Floats:
    """Return a large diagonal D such that matrix - D is positive semidefinite.

    The larger it is the better the bounds are. The smallest eigenvalue on all places would do; where some columns are nearly
    copies of each other it is nearly 0 for all the others too. So the sum of D is maximised instead, by Newton's steps on
    sum D + barrier log det(matrix - D), the barrier being lowered from step to step.
    """
    n = len(matrix)
    if n == 0:
        return np.empty(0)
    own = np.abs(np.diagonal(matrix))
    scale = np.sqrt(np.maximum(own, 1e-6 * own.max())) if own.any() else np.ones(n)
    scaled = matrix / np.outer(scale, scale)
    edge = np.linalg.eigvalsh(scaled)
    diagonal = np.full(n, edge[0] - max(0.1, 1e-6 * np.abs(edge).max()))
    for barrier in _BARRIERS:
        inverse = np.linalg.inv(scaled - np.diag(diagonal))
        step = np.linalg.solve(inverse**2, 1.0 / barrier - np.diagonal(inverse))
        for _ in range(_MAX_HALVINGS):
            if _is_definite(scaled - np.diag(diagonal + step)):
                diagonal += step
                break
            step *= 0.5
    # All of it is raised to the edge, or taken back behind it.
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
    """Return for every unit the first one that could stand in its place in every set without a change."""
    alike = np.arange(len(form))
    firsts: dict[tuple[float, ...], list[int]] = {}
    for j in range(len(form)):
        known = firsts.setdefault((*form.c[:, j], *form.self_terms[:, j], float(form.widths[j])), [])
        others = np.arange(len(form)) != j
        for i in known:
            others[i] = False
            if np.array_equal(form.pair_terms[:, i, others], form.pair_terms[:, j, others]):
                alike[j] = i
                break
            others[i] = True
        else:
            known.append(j)
    return alike


# MERGED: A good set to begin with: what branch and bound has to beat from the start.
def smallest_allowed_set(problem: Problem) -> Masks | None:
    """Return the smallest set of units that may be chosen, of those the one of earlier units; None where there is none."""
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
    """Return where a set comes to by the best of all additions, removals and exchanges, again and again.

    It grows, by the best addition, as long as it has too few columns. It stays as it is where nothing is better.
    """
    members = members.copy()
    merit = form.merit(members)
    while True:
        short = form.size(members) < form.size_limits[1]
        gains = _exchange_merits(form, members, only_additions=short)
        a, b = np.unravel_index(int(np.argmax(gains)), gains.shape)
        if not gains[a, b] > -np.inf:
            return members
        moved = members.copy()
        for u in (int(a), int(b)):
            if u < len(form):
                moved[u] ^= True
        reached = form.merit(moved)
        if not (short or reached > merit):
            return members
        members, merit = moved, reached


def _exchange_merits(form: UnitQuadraticForm, members: Masks, *, only_additions: bool) -> Floats:
    """Return the merits of a set without the unit of a row and with the unit of a column; the last of each stands for none.

    Minus infinity where that is not possible. A set that is too short is only added to.
    """
    n = len(form)
    c, own, pairs = (part.sum(axis=0) for part in (form.c, form.self_terms, form.pair_terms))
    brings = own + pairs[members].sum(axis=0)
    inside = members.astype(np.float64)
    relevance = form.fixed_terms[:2].sum() + c @ inside
    total = form.fixed_terms[2:].sum() + ((own + brings) @ inside) / 2
    out = np.append(np.flatnonzero(members), n)
    come = np.append(np.flatnonzero(~members), n)
    c, brings, widths = np.append(c, 0.0), np.append(brings, 0.0), np.append(form.widths, 0)
    between = np.zeros((n + 1, n + 1))
    between[:n, :n] = pairs
    if only_additions:
        out = out[-1:]
    relevances = relevance - c[out][:, None] + c[come]
    totals = total - brings[out][:, None] + brings[come] - between[np.ix_(out, come)]
    sizes = form.size(members) - widths[out][:, None] + widths[come]
    possible = sizes <= form.size_limits[2]
    if only_additions:
        possible &= come < n
    else:
        possible &= sizes >= form.size_limits[1]
        possible[-1, -1] = False
    merits = np.full((n + 1, n + 1), -np.inf)
    found = np.divide(relevances, np.sqrt(np.abs(totals)), out=np.zeros(totals.shape), where=totals > 0)
    merits[np.ix_(out, come)] = np.where(possible, found, -np.inf)
    return merits


# Nodes that are worked on before what each found is told to the others, bounds a piece of work takes (5 to 50 ms), and open nodes
# after which a piece takes twice as many, so that what is open grows ever more slowly.
_NODES_PER_STEP, _BOUNDS_PER_NODE, _MANY_OPEN_NODES = 16, 1000, 20_000
# The share of units that must go for another look at what is left.
_SHRINK_RATIO = 0.9
# Units that come in before a node is put back among the open ones.
_MAX_DEPTH = 64


@dataclass(frozen=True)
class Node:
    """Sets of some units with one or more of the undecided ones; none of them has a merit above the bound."""

    members: Masks
    undecided: Masks
    bound: float


@dataclass(frozen=True)
class _NodeResult:
    """What came of working on a node: how many sets were judged, the best of them (size -1 for none), what is left open."""

    n_evaluated: int
    merit: float
    size: int
    members: Masks
    open_nodes: list[Node]


class BranchingState:
    """The open nodes of a search, and the best set so far.

    Parameters
    ----------
    problem : Problem
    form : UnitQuadraticForm
    optimality_gap : float
        A node is closed where nothing in it is better than the best by more than this.
    """

    def __init__(self, problem: Problem, form: UnitQuadraticForm, optimality_gap: float) -> None:
        self.problem = problem
        self.optimality_gap = optimality_gap
        self.best = Incumbent(len(form))
        # What a set has to be better by to be looked for: where the first of all sets has a merit of 0, no other of merit 0
        # comes before it, and any above 0 is above this.
        self._required_gain = optimality_gap
        self._full_form = form
        # The units that the best set may have; the sums and nodes are over these.
        self._units = np.arange(len(form))
        self._form = form
        # Best bound first; of equal ones the one that came first.
        self._open_nodes: list[tuple[float, int, bytes, bytes]] = []
        self._n_nodes = 0

    def __bool__(self) -> bool:
        """Tell whether a node is open."""
        return bool(self._open_nodes)

    @property
    def bound(self) -> float:
        """What no set that may be chosen exceeds."""
        return max(self.best.merit + self.optimality_gap, -self._open_nodes[0][0] if self._open_nodes else -np.inf)

    def update_incumbent(self, members: Masks) -> None:
        """Take a set of units where it is the best so far."""
        self.best.update(self._full_form.merit(members), self._full_form.size(members), members)

    def open_root(self) -> None:
        """Open the node that holds all sets but the one of the fixed columns."""
        sums = self._full_form
        first = smallest_allowed_set(self.problem) if self.best.merit == 0 else None
        if first is not None and np.array_equal(self.best.members, first):
            self._required_gain = max(self.optimality_gap, 1e-20 * self._merit_scale())
        own, pairs = sums.self_terms.sum(axis=0), sums.pair_terms.sum(axis=0)
        # Every set then has a total above 0.
        grows = bool(
            (own > 0).all() and (pairs >= 0).all() and (sums.size_limits[0] == 0 or sums.fixed_terms[2:].sum() > 0)
        )
        if grows and self.best.merit >= 0 and sums.size_limits[1] <= sums.size_limits[0]:
            # A unit that raises no relevance is in no best set: without it there is a smaller one.
            self._restrict_units(sums.c.sum(axis=0) > 0)
        n_before = np.inf
        while 0 < len(self._form) < _SHRINK_RATIO * n_before:
            # Of fewer units a larger part is convex, which may show that fewer still are wanted.
            n_before = len(self._form)
            self._relaxation = ConvexRelaxation.from_form(self._form)
            wanted = np.empty(n_before, dtype=bool)
            one = self._form
            kernels.mark_possible_units(
                *(
                    one.c,
                    one.self_terms,
                    one.widths,
                    one.fixed_terms,
                    one.size_limits,
                    self._relaxation.convex,
                    self._relaxation.negative_terms,
                ),
                *(self.best.merit + self._required_gain - self.optimality_gap, wanted),
            )
            self._restrict_units(wanted)
            self._relaxation = self._relaxation.restrict(wanted, self._form)
        if len(self._form):
            none, undecided = np.zeros(len(self._form), dtype=bool), np.ones(len(self._form), dtype=bool)
            self._push(Node(none, undecided, self._node_bound(none, undecided, np.inf)))

    def _restrict_units(self, chosen: Masks) -> None:
        self._units, self._form = self._units[chosen], self._form.restrict(chosen)

    def process_nodes(self, budget: int | None) -> int:
        """Work on the nodes of the best bounds, judging at most `budget` sets, and return how many were judged."""
        n_tests = max(int(_BOUNDS_PER_NODE * min((100 / len(self._form)) ** 2, 1.0)), 8) * (
            1 + len(self._open_nodes) // _MANY_OPEN_NODES
        )
        nodes = [self._pop() for _ in range(min(_NODES_PER_STEP, len(self._open_nodes)))]
        if budget is None or budget >= n_tests * len(nodes):
            worked = list(parallel.map_blocks(lambda node: self._process_node(node, n_tests, n_tests), nodes))
        else:
            worked = []
            for node in nodes:
                left = budget - sum(one.n_evaluated for one in worked)
                worked.append(self._process_node(node, n_tests, left))
        for one in worked:
            if one.size >= 0:
                self.best.update(one.merit, one.size, one.members)
            for node in one.open_nodes:
                self._push(node)
        return sum(one.n_evaluated for one in worked)

    def _process_node(self, node: Node, n_tests: int, budget: int) -> _NodeResult:
        best, size = np.array([self.best.merit]), np.array([self.best.size])
        before = self.best.members[self._units]
        members = before.copy()
        open_members, open_undecided = np.empty((2, _MAX_DEPTH, len(self._form)), dtype=bool)
        judged, n_open = kernels.branch_and_bound(
            *(
                *self._kernel_arrays(),
                self._relaxation.first_equivalent,
                node.members,
                node.undecided,
                self._required_gain,
                n_tests,
                budget,
            ),
            *(best, size, members, open_members, open_undecided),
        )
        changed = best[0] > self.best.merit or not np.array_equal(members, before)
        found = np.zeros(len(self._full_form), dtype=bool)
        found[self._units] = members
        left = [
            Node(a.copy(), b.copy(), self._node_bound(a, b, node.bound))
            for a, b in zip(open_members[:n_open], open_undecided[:n_open], strict=True)
        ]
        return _NodeResult(judged, float(best[0]), int(size[0]) if changed else -1, found, left)

    def _node_bound(self, members: Masks, undecided: Masks, high: float) -> float:
        low = max(self.best.merit, 1e-6 * self._merit_scale())
        return max(float(kernels.upper_bound(*self._kernel_arrays(), members, undecided, low, high)), low)

    def _merit_scale(self) -> float:
        """Return the merit that there would be if relevances were added up and totals too: others are of this size or above."""
        relevance, total = self._full_form.magnitudes
        return float((relevance or 1.0) / np.sqrt(total or 1.0))

    def _kernel_arrays(self) -> tuple[Floats | NDArray[np.int64], ...]:
        sums, relaxed = self._form, self._relaxation
        parts = (sums.c, sums.self_terms, sums.pair_terms, sums.widths, sums.fixed_terms, sums.size_limits)
        return (*parts, relaxed.convex, relaxed.negative_terms)

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


@dataclass(frozen=True)
class BranchingProposal(Proposal):
    """Work on the open nodes."""

    state: BranchingState

    def scan(self, budget: int | None) -> ScanResult:
        """Work on some nodes, and return the best set where it is better, with what is proven."""
        before = self.state.best.merit, self.state.best.members
        judged = self.state.process_nodes(budget)
        best = self.state.best
        problem = self.state.problem
        changed = best.merit > before[0] or not np.array_equal(best.members, before[1])
        sets = best.to_candidates(problem) if changed else no_candidates(problem)
        bound = self.state.bound
        return ScanResult(sets, judged - len(sets), bound if np.isfinite(bound) else None)


def branch_quadratic(
    problem: Problem, form: UnitQuadraticForm, optimality_gap: float
) -> Generator[Proposal, Floats, None]:
    """Yield proposals after which the best set is proven to be best."""
    branching = BranchingState(problem, form, optimality_gap)
    starts = _starting_sets(problem, form)
    if not starts:
        return
    for members in starts:
        branching.update_incumbent(members)
    merits = yield Candidates.from_masks(expand_units(problem, np.array(starts)))
    # As it was evaluated: a merit that is added up another way may differ in its last bit.
    best = float(merits.max())
    branching.open_root()
    while branching:
        merits = yield BranchingProposal(branching)
        best = float(np.fmax.reduce(merits, initial=best))
    yield BoundedCandidates(no_candidates(problem), best + optimality_gap)


def _starting_sets(problem: Problem, form: UnitQuadraticForm) -> list[Masks]:
    """Return good sets to begin with, the one that was given and that of the fixed columns where their sizes are allowed."""
    none = np.zeros(len(form), dtype=bool)
    given = []
    if problem.start is not None:
        given.append(np.array([problem.start[unit].all() for unit in problem.units], dtype=bool))
    found = [hill_climb(form, members) for members in (*given, none)]
    allowed = [
        members
        for members in (*given, none, *found)
        if form.size_limits[1] <= form.size(members) <= form.size_limits[2]
    ]
    first = None if any(form.merit(members) > 0 for members in allowed) else smallest_allowed_set(problem)
    if first is not None:
        # Where nothing has a merit above 0, this one comes first among those of merit 0.
        allowed += [first, hill_climb(form, first)]
    return list({members.tobytes(): members for members in allowed}.values())
