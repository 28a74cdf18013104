"""How many sets of units there are, to the last one."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tamiz.search.base import Problem
from tamiz.statistics.base import Floats


def count_sets(problem: Problem) -> int:
    """Return the number of sets that may be chosen."""
    n_fixed = int(problem.fixed.sum())
    room = problem.max_size - n_fixed
    ways = {0: 1}
    for width, n_alike in sorted(Counter(map(len, problem.units)).items()):
        grown: Counter[int] = Counter()
        for size, count in ways.items():
            chosen = 1
            for taken in range(min(n_alike, (room - size) // width) + 1):
                grown[size + taken * width] += count * chosen
                chosen = chosen * (n_alike - taken) // (taken + 1)
        ways = grown
    return sum(count for size, count in ways.items() if problem.min_size <= n_fixed + size <= problem.max_size)


def count_completions(problem: Problem) -> Floats:
    """Return how many sets a set of units comes to with later ones, itself among them.

    Row j, column s is for a set of s columns beyond the fixed ones that may take the units from j on; infinite where they are
    too many for a float.
    """
    n_fixed = int(problem.fixed.sum())
    size = np.arange(problem.max_size - n_fixed + 1)
    counts = np.empty((len(problem.units) + 1, len(size)))
    counts[-1] = size + n_fixed >= problem.min_size
    for j in range(len(problem.units) - 1, -1, -1):
        width = len(problem.units[j])
        counts[j] = counts[j + 1]
        with np.errstate(over="ignore"):
            counts[j, : max(len(size) - width, 0)] += counts[j + 1, width:]
    return counts
