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
    """Return the last gain of a best-first search."""
    return best_first_visits(merit_of, p, direction, patience, weka)[0]


def best_first_visits(merit_of, p, direction="forward", patience=5, weka=False):
    """Expand the best open subset, the smaller of equals, then the oldest; `patience` expansions without a gain end it.

    A gain is more than 1e-5 above the best merit, and of a drop anything above it, or the same with fewer columns. A subset is
    opened once; Weka opens it again whenever another path reaches it, and each time is an expansion; of equals it takes the oldest.

    Return the last gain, and all subsets that were looked at.
    """
    best = tuple(range(p)) if direction == "backward" else ()
    opened, seen, stale = [best], [best], 0
    while opened and stale < patience:
        subset = max(opened, key=lambda subset: (merit_of(subset), 0 if weka else -len(subset)))
        opened.remove(subset)
        steps = [s for s in neighbours(subset, p, direction) if weka or s not in seen]
        # Weka counts an expansion also where there is nothing to expand.
        stale += bool(neighbours(subset, p, direction)) or weka
        for candidate in steps:
            seen.append(candidate)
            opened.append(candidate)
            change = merit_of(candidate) - merit_of(best)
            drop = len(candidate) < len(subset)
            if change > (0 if drop else 1e-5) or (change == 0 and drop and len(candidate) < len(best)):
                best, stale = candidate, 0
    return best, seen


def floating(merit_of, p, least=0, most=None):
    """Forward selection; from there, in turn, drops as long as each gives the best subset of its size, and an addition.

    Additions need a gain over the best subset of an allowed size, or a size below `least`. Return all subsets looked at.
    """
    most = p if most is None else most
    current, seen = (), [()]
    best_of_size = {0: merit_of(())}

    def look(direction):
        steps = neighbours(current, p, direction)
        seen.extend(step for step in steps if step not in seen)
        # The last of equal drops.
        return max(steps if direction == "forward" else steps[::-1], key=merit_of)

    climbing = True
    while True:
        while not climbing and current:
            smaller = look("backward")
            if merit_of(smaller) <= best_of_size.get(len(smaller), merit_of(current)):
                break
            current, best_of_size[len(smaller)] = smaller, merit_of(smaller)
        if len(current) == most:
            if not climbing:
                return seen
            climbing = False
            continue
        larger = look("forward")
        allowed = [merit for size, merit in best_of_size.items() if least <= size]
        goal = merit_of(current) if climbing else max(allowed, default=-np.inf)
        # The climb of a range goes to its end.
        if not (climbing and least) and len(current) >= least and merit_of(larger) <= goal:
            if not climbing:
                return seen
            climbing = False
            continue
        current = larger
        best_of_size[len(larger)] = max(merit_of(larger), best_of_size.get(len(larger), -np.inf))


def beam(merit_of, p, width, least=0, most=None):
    """Additions to each of the best `width` subsets of a size, until none beats them. Return all subsets looked at."""
    most = p if most is None else most
    level, seen = [()], [()]
    while len(level[0]) < most:
        steps = list(dict.fromkeys(step for subset in level for step in neighbours(subset, p, "forward")))
        seen += steps
        best = sorted(steps, key=merit_of, reverse=True)[:width]
        # Every size of a range is visited.
        if not least and merit_of(best[0]) <= merit_of(level[0]):
            break
        level = best
    return seen
