"""Branch and bound for a merit that bounds the merits of all subsets of a set: columns are dropped, best bound first."""

from __future__ import annotations

import heapq
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from tamiz.candidates import Candidates, Masks, Proposal
from tamiz.evaluator import Floats
from tamiz.search.base import Problem
from tamiz.search.choices import expand_units
from tamiz.search.exact.sums import BoundedCandidates, no_candidates

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
