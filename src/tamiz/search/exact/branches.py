"""Branch and bound for a merit c'x / sqrt(x'Ax): the nodes that are open, worked through by a kernel."""

from __future__ import annotations

import heapq
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.candidates import Candidates, Found, Masks, Proposal
from tamiz.kernels import branching as kernels
from tamiz.search.base import Problem
from tamiz.search.choices import columns_of
from tamiz.search.exact.climbing import climbed, first_set
from tamiz.search.exact.convex import Relaxed
from tamiz.search.exact.sums import Bounded, Incumbent, UnitSums, nothing
from tamiz.statistics.base import Floats

# Nodes that are worked on before what each found is told to the others, bounds a piece of work takes (5 to 50 ms), and open nodes
# after which a piece takes twice as many, so that what is open grows ever more slowly.
_PIECES, _TESTS, _MANY = 16, 1000, 20_000
# The share of units that must go for another look at what is left.
_SHRUNK = 0.9
# Units that come in before a node is put back among the open ones.
_LEVELS = 64


@dataclass(frozen=True)
class Node:
    """Sets of some units with one or more of the undecided ones; none of them has a merit above the bound."""

    members: Masks
    undecided: Masks
    bound: float


@dataclass(frozen=True)
class _Worked:
    """What came of working on a node: how many sets were judged, the best of them (size -1 for none), what is left open."""

    judged: int
    merit: float
    size: int
    members: Masks
    left: list[Node]


class Branching:
    """The open nodes of a search, and the best set so far.

    Parameters
    ----------
    problem : Problem
    sums : UnitSums
    gap : float
        A node is closed where nothing in it is better than the best by more than this.
    """

    def __init__(self, problem: Problem, sums: UnitSums, gap: float) -> None:
        self.problem = problem
        self.gap = gap
        self.best = Incumbent(len(sums))
        # What a set has to be better by to be looked for: where the first of all sets has a merit of 0, no other of merit 0
        # comes before it, and any above 0 is above this.
        self._needed = gap
        self._all = sums
        # The units that the best set may have; the sums and nodes are over these.
        self._units = np.arange(len(sums))
        self._sums = sums
        # Best bound first; of equal ones the one that came first.
        self._open: list[tuple[float, int, bytes, bytes]] = []
        self._n_nodes = 0

    def __bool__(self) -> bool:
        """Tell whether a node is open."""
        return bool(self._open)

    @property
    def bound(self) -> float:
        """What no set that may be chosen exceeds."""
        return max(self.best.merit + self.gap, -self._open[0][0] if self._open else -np.inf)

    def take(self, members: Masks) -> None:
        """Take a set of units where it is the best so far."""
        self.best.take(self._all.merit(members), self._all.size(members), members)

    def begin(self) -> None:
        """Open the node that holds all sets but the one of the fixed columns."""
        sums = self._all
        first = first_set(self.problem) if self.best.merit == 0 else None
        if first is not None and np.array_equal(self.best.members, first):
            self._needed = max(self.gap, 1e-20 * self._tiny())
        own, pairs = sums.own.sum(axis=0), sums.pairs.sum(axis=0)
        # Every set then has a total above 0.
        grows = bool((own > 0).all() and (pairs >= 0).all() and (sums.sizes[0] == 0 or sums.base[2:].sum() > 0))
        if grows and self.best.merit >= 0 and sums.sizes[1] <= sums.sizes[0]:
            # A unit that raises no relevance is in no best set: without it there is a smaller one.
            self._keep(sums.c.sum(axis=0) > 0)
        n_before = np.inf
        while 0 < len(self._sums) < _SHRUNK * n_before:
            # Of fewer units a larger part is convex, which may show that fewer still are wanted.
            n_before = len(self._sums)
            self._relaxed = Relaxed.of(self._sums)
            wanted = np.empty(n_before, dtype=bool)
            one = self._sums
            kernels.mark_wanted(
                *(one.c, one.own, one.widths, one.base, one.sizes, self._relaxed.convex, self._relaxed.negative),
                *(self.best.merit + self._needed - self.gap, wanted),
            )
            self._keep(wanted)
            self._relaxed = self._relaxed.only(wanted, self._sums)
        if len(self._sums):
            none, undecided = np.zeros(len(self._sums), dtype=bool), np.ones(len(self._sums), dtype=bool)
            self._push(Node(none, undecided, self._bound(none, undecided, np.inf)))

    def _keep(self, chosen: Masks) -> None:
        self._units, self._sums = self._units[chosen], self._sums.only(chosen)

    def work(self, room: int | None) -> int:
        """Work on the nodes of the best bounds, judging at most `room` sets, and return how many were judged."""
        n_tests = max(int(_TESTS * min((100 / len(self._sums)) ** 2, 1.0)), 8) * (1 + len(self._open) // _MANY)
        nodes = [self._pop() for _ in range(min(_PIECES, len(self._open)))]
        if room is None or room >= n_tests * len(nodes):
            worked = list(parallel.map_blocks(lambda node: self._worked(node, n_tests, n_tests), nodes))
        else:
            worked = []
            for node in nodes:
                left = room - sum(one.judged for one in worked)
                worked.append(self._worked(node, n_tests, left))
        for one in worked:
            if one.size >= 0:
                self.best.take(one.merit, one.size, one.members)
            for node in one.left:
                self._push(node)
        return sum(one.judged for one in worked)

    def _worked(self, node: Node, n_tests: int, room: int) -> _Worked:
        best, size = np.array([self.best.merit]), np.array([self.best.size])
        before = self.best.members[self._units]
        members = before.copy()
        open_members, open_undecided = np.empty((2, _LEVELS, len(self._sums)), dtype=bool)
        judged, n_open = kernels.branch(
            *(*self._arrays(), self._relaxed.alike, node.members, node.undecided, self._needed, n_tests, room),
            *(best, size, members, open_members, open_undecided),
        )
        changed = best[0] > self.best.merit or not np.array_equal(members, before)
        found = np.zeros(len(self._all), dtype=bool)
        found[self._units] = members
        left = [
            Node(a.copy(), b.copy(), self._bound(a, b, node.bound))
            for a, b in zip(open_members[:n_open], open_undecided[:n_open], strict=True)
        ]
        return _Worked(judged, float(best[0]), int(size[0]) if changed else -1, found, left)

    def _bound(self, members: Masks, undecided: Masks, high: float) -> float:
        low = max(self.best.merit, 1e-6 * self._tiny())
        return max(float(kernels.bound_of(*self._arrays(), members, undecided, low, high)), low)

    def _tiny(self) -> float:
        """Return the merit that there would be if relevances were added up and totals too: others are of this size or above."""
        relevance, total = self._all.absolute
        return float((relevance or 1.0) / np.sqrt(total or 1.0))

    def _arrays(self) -> tuple[Floats | NDArray[np.int64], ...]:
        sums, relaxed = self._sums, self._relaxed
        parts = (sums.c, sums.own, sums.pairs, sums.widths, sums.base, sums.sizes)
        return (*parts, relaxed.convex, relaxed.negative)

    def _push(self, node: Node) -> None:
        if node.bound >= self.best.merit + self.gap:
            packed = np.packbits(node.members).tobytes(), np.packbits(node.undecided).tobytes()
            heapq.heappush(self._open, (-node.bound, self._n_nodes, *packed))
            self._n_nodes += 1

    def _pop(self) -> Node:
        bound, _, *packed = heapq.heappop(self._open)
        n = len(self._sums)
        members, undecided = (np.unpackbits(np.frombuffer(part, np.uint8), count=n).astype(bool) for part in packed)
        return Node(members, undecided, -bound)


@dataclass(frozen=True)
class Branches(Proposal):
    """Work on the open nodes."""

    branching: Branching

    def look(self, room: int | None) -> Found:
        """Work on some nodes, and return the best set where it is better, with what is proven."""
        before = self.branching.best.merit, self.branching.best.members
        judged = self.branching.work(room)
        best = self.branching.best
        problem = self.branching.problem
        changed = best.merit > before[0] or not np.array_equal(best.members, before[1])
        sets = best.written(problem) if changed else nothing(problem)
        bound = self.branching.bound
        return Found(sets, judged - len(sets), bound if np.isfinite(bound) else None)


def branches(problem: Problem, sums: UnitSums, gap: float) -> Generator[Proposal, Floats, None]:
    """Yield proposals after which the best set is proven to be best."""
    branching = Branching(problem, sums, gap)
    starts = _starts(problem, sums)
    if not starts:
        return
    for members in starts:
        branching.take(members)
    merits = yield Candidates.of(columns_of(problem, np.array(starts)))
    # As it was evaluated: a merit that is added up another way may differ in its last bit.
    best = float(merits.max())
    branching.begin()
    while branching:
        merits = yield Branches(branching)
        best = float(np.fmax.reduce(merits, initial=best))
    yield Bounded(nothing(problem), best + gap)


def _starts(problem: Problem, sums: UnitSums) -> list[Masks]:
    """Return good sets to begin with, the one that was given and that of the fixed columns where their sizes are allowed."""
    none = np.zeros(len(sums), dtype=bool)
    given = []
    if problem.start is not None:
        given.append(np.array([problem.start[unit].all() for unit in problem.units], dtype=bool))
    found = [climbed(sums, members) for members in (*given, none)]
    allowed = [members for members in (*given, none, *found) if sums.sizes[1] <= sums.size(members) <= sums.sizes[2]]
    first = None if any(sums.merit(members) > 0 for members in allowed) else first_set(problem)
    if first is not None:
        # Where nothing has a merit above 0, this one comes first among those of merit 0.
        allowed += [first, climbed(sums, first)]
    return list({members.tobytes(): members for members in allowed}.values())
