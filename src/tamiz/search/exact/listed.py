"""All sets one by one, for a merit of which only the values are known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Candidates
from tamiz.search.base import Problem

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
