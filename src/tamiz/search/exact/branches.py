"""Branch and bound for a merit c'x / sqrt(x'Ax): the nodes that are open, worked through by a kernel."""

from __future__ import annotations

import heapq
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.candidates import Candidates, Masks, Proposal, ScanResult
from tamiz.kernels import branching as kernels
from tamiz.search.base import Problem
from tamiz.search.choices import expand_units
from tamiz.search.exact.climbing import hill_climb, smallest_allowed_set
from tamiz.search.exact.convex import ConvexRelaxation
from tamiz.search.exact.sums import BoundedCandidates, Incumbent, UnitQuadraticForm, no_candidates
from tamiz.statistics.base import Floats

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
