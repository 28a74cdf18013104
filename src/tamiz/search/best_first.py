"""Best-first search."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tamiz.runtime.validation import check_choice, check_integer, check_real
from tamiz.search.base import Columns, Problem, Search, ShorthandParameter, Walk
from tamiz.search.forward import starting_mask
from tamiz.subsets.candidates import Candidates, Masks
from tamiz.subsets.evaluator import Floats

Direction = Literal["forward", "backward", "bidirectional"]
_DIRECTIONS = ("forward", "backward", "bidirectional")


class BestFirst(Search):
    """Change one column of the best set that was not yet expanded; go back to an earlier one when the way leads nowhere.

    With a size asked for, no set leaves its range once it is in it; a search that stops before it has come there goes on from
    its nearest set, by the best column again and again.

    Parameters
    ----------
    direction : {"forward", "backward", "bidirectional"}, default="forward"
        Add columns, beginning with none; drop columns, beginning with all; or try every addition and then every drop,
        beginning with none.
    patience : int, default=5
        Stop after this many expansions in a row without a gain.
    min_gain : float, default=1e-5
        An addition is a gain where the merit exceeds the best so far by more than this; a drop where it exceeds it at all, or
        equals it with fewer columns.
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out.
    column_groups : list of lists of column names or numbers, default=None
        Columns that move together.

    Notes
    -----
    Each expansion costs at most one evaluation a column; how many there are has no useful bound. Among equal merits the smaller
    set is expanded first, and of equal sizes the one seen first: sets that differ in useless columns only do not end the search.
    No set is expanded twice. Weka's BestFirst expands a set again whenever another path reaches
    it, each time counts as an expansion without a gain, and so it may stop earlier.

    References
    ----------
    Rich and Knight (1991), Artificial Intelligence; Hall (1999), Correlation-based feature selection for machine learning.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import BestFirst
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), BestFirst(stale=3)).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    shorthand = ShorthandParameter("direction", _DIRECTIONS)

    def __init__(
        self,
        *,
        direction: Direction = "forward",
        patience: int = 5,
        min_gain: float = 1e-5,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, column_groups=column_groups)
        self.direction = direction
        self.patience = patience
        self.min_gain = min_gain

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield the candidates, one expansion at a time."""
        check_choice("direction", self.direction, _DIRECTIONS)
        check_integer("patience", self.patience, low=1)
        check_real("min_gain", self.min_gain, low=0)
        backward = self.direction == "backward" and problem.start is None
        first = ~problem.excluded if backward else starting_mask(problem)
        best = _Incumbent(int(first.sum()), float((yield Candidates.from_masks(first))[0]), self.min_gain)
        front = _Frontier(first, best.merit)
        expanded: set[bytes] = set()
        stale, nearest = 0, first
        while (mask := front.pop()) is not None:
            name = np.packbits(mask).tobytes()
            units = [] if name in expanded else self._moves(problem, mask)
            expanded.add(name)
            if not units:
                continue
            merits = yield Candidates.from_flips(mask, units)
            front.push(mask, units, merits)
            stale = 0 if best.update(mask, units, merits) else stale + 1
            child = _best_child(mask, units, merits)
            nearest = child if _size_distance(problem, child) < _size_distance(problem, nearest) else nearest
            if stale >= self.patience:
                break
        else:
            return "every set within reach was expanded"
        # Best first would go through all small sets before it came to a large one that is worse: straight on instead.
        while _size_distance(problem, nearest):
            units = problem.additions(nearest) if nearest.sum() < problem.min_size else problem.removals(nearest)
            if not units:
                break
            merits = yield Candidates.from_flips(nearest, units)
            nearest = _best_child(nearest, units, merits)
        return f"{self.patience} expansions in a row without a gain"

    def _moves(self, problem: Problem, mask: Masks) -> list[NDArray[np.intp]]:
        additions = [] if self.direction == "backward" else problem.additions(mask)
        return additions if self.direction == "forward" else additions + problem.removals(mask)


def _size_distance(problem: Problem, mask: Masks) -> int:
    """Return how many columns a set lacks, or has too many."""
    size = int(mask.sum())
    return max(problem.min_size - size, size - problem.max_size, 0)


def _best_child(mask: Masks, units: list[NDArray[np.intp]], merits: Floats) -> Masks:
    child = mask.copy()
    child[units[int(np.argmax(merits))]] ^= True
    return child


class _Incumbent:
    """The best merit so far, and how many columns it takes."""

    def __init__(self, size: int, merit: float, min_gain: float) -> None:
        self.size = size
        self.merit = merit
        self._min_gain = min_gain

    def update(self, mask: Masks, units: list[NDArray[np.intp]], merits: Floats) -> bool:
        """Take in the children of a set, and return whether one of them is a gain."""
        gained = False
        for place in np.flatnonzero(merits >= self.merit).tolist():
            merit, unit = float(merits[place]), units[place]
            size = int(mask.sum()) + (-len(unit) if mask[unit[0]] else len(unit))
            dropped = bool(mask[unit[0]])
            fewer = dropped and size < self.size
            # A drop has no least gain, as it makes the set smaller.
            gains = merit > self.merit if dropped else merit - self.merit > self._min_gain
            if gains or (merit == self.merit and fewer):
                self.size, self.merit, gained = size, merit, True
        return gained


class _Frontier:
    """The sets that wait for expansion, best merit first, of equal merits the smaller, and of equal sizes the one that came first.

    Every expansion keeps its children sorted; a heap holds the best child left of each. A table of thousands of columns
    thus costs one sort an expansion instead of thousands of insertions.
    """

    def __init__(self, mask: Masks, merit: float) -> None:
        self._batches: list[tuple[Masks, list[NDArray[np.intp]], Floats, NDArray[np.intp], NDArray[np.intp]]] = []
        self._heap: list[tuple[float, int, int, int]] = []
        self.push(mask, [np.empty(0, dtype=np.intp)], np.array([merit]))

    def push(self, mask: Masks, units: list[NDArray[np.intp]], merits: Floats) -> None:
        """Take in the children of a set."""
        sizes = int(mask.sum()) + np.array([-len(unit) if mask[unit].any() else len(unit) for unit in units])
        self._batches.append((mask.copy(), units, merits, sizes, np.lexsort((sizes, -merits))))
        self._queue(len(self._batches) - 1, 0)

    def _queue(self, batch: int, place: int) -> None:
        _, units, merits, sizes, order = self._batches[batch]
        if place < len(units):
            heapq.heappush(self._heap, (-float(merits[order[place]]), int(sizes[order[place]]), batch, place))

    def pop(self) -> Masks | None:
        """Return the best set that waits, None when there is none."""
        if not self._heap:
            return None
        *_, batch, place = heapq.heappop(self._heap)
        self._queue(batch, place + 1)
        mask, units, _, _, order = self._batches[batch]
        child = mask.copy()
        child[units[order[place]]] ^= True
        return child
