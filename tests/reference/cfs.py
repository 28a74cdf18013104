"""CFS over a matrix of symmetric uncertainties, and plain searches over any merit; subsets are sorted tuples."""

from itertools import combinations

import numpy as np


def weka_redundancy(between):
    """Weka's habit: two columns that share nothing count as equal."""
    return np.where(between == 0, 1.0, between)


def merit(subset, with_target, between):
    """sum_j U(A_j, C) / sqrt(sum_i sum_j U(A_i, A_j)), i = j included."""
    if not subset:
        return 0.0
    together = sum(1.0 if i == j else between[i, j] for i in subset for j in subset)
    return float(sum(with_target[j] for j in subset) / np.sqrt(together))


def exhaustive(merit_of, p):
    """The best subset; of equals the smaller, then the first in column order."""
    subsets = [s for size in range(p + 1) for s in combinations(range(p), size)]
    return max(subsets, key=merit_of)


def neighbours(subset, p, direction):
    """Subsets one column larger (forward), smaller (backward), or the larger ones and then the smaller ones."""
    added = [tuple(sorted((*subset, j))) for j in range(p) if j not in subset]
    removed = [tuple(i for i in subset if i != j) for j in subset]
    return {"forward": added, "backward": removed, "bidirectional": added + removed}[direction]


def greedy(merit_of, p, direction, weka=False):
    """One column a step, the first of the best, until no step is a strict gain (backward: until each is a loss).

    Going backward Weka takes the last of the best.
    """
    current = () if direction == "forward" else tuple(range(p))
    while True:
        steps = neighbours(current, p, direction)
        if weka and direction == "backward":
            steps.reverse()
        if not steps:
            return current
        best = max(steps, key=merit_of)
        change = merit_of(best) - merit_of(current)
        if change < 0 or (change == 0 and direction == "forward"):
            return current
        current = best


def best_first(merit_of, p, direction="forward", patience=5, weka=False):
    """Expand the best open subset, the oldest of equals; `patience` expansions without a gain above 1e-5 end it.

    A subset is opened once. Weka opens it again whenever another path reaches it, and each time is an expansion; and to
    Weka it is a gain when taking a column away leaves the best merit exactly as it was, with fewer columns.
    """
    best = tuple(range(p)) if direction == "backward" else ()
    opened, seen, stale = [best], {best}, 0
    while opened and stale < patience:
        subset = max(opened, key=merit_of)
        opened.remove(subset)
        stale += 1
        for candidate in neighbours(subset, p, direction):
            if candidate in seen and not weka:
                continue
            seen.add(candidate)
            opened.append(candidate)
            change = merit_of(candidate) - merit_of(best)
            smaller = len(candidate) < min(len(best), len(subset))
            if change > 1e-5 or (weka and change == 0 and smaller):
                best, stale = candidate, 0
    return best
