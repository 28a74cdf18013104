"""Best-first search."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from tamiz.arrays import Floats, Indices, Masks
from tamiz.runtime.validation import check_choice, check_integer, check_real
from tamiz.search.base import Candidates, Columns, Problem, Search, ShorthandParameter, Walk

Direction = Literal["forward", "backward", "bidirectional"]
_DIRECTIONS = ("forward", "backward", "bidirectional")


class BestFirst(Search):
    """Expand the best set that is not yet expanded: evaluate it with every single column added or dropped.

    With `n_features`, a set of an allowed size is expanded to sets of allowed sizes only. A search that runs out of patience before
    it has reached an allowed size continues greedily from the set that is nearest to one.

    Parameters
    ----------
    direction : {"forward", "backward", "bidirectional"}, default="forward"
        Start with no column and add columns; start with all columns and drop columns; or start with no column and try every
        addition, then every drop.
    patience : int, default=5
        Stop after this many consecutive steps without a better set; a step expands one set.
    min_gain : float, default=1e-5
        An addition is a gain when its merit is higher than the best by more than this. A drop is a gain when its merit is higher
        than the best, or equal to it with fewer columns.
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are added and dropped together.

    Notes
    -----
    An expansion costs at most one evaluation for each column; the number of expansions has no useful bound. Among equal merits the
    smaller set is expanded first, and among equal sizes the set that was evaluated first, so that sets which differ only in useless
    columns do not end the search. No set is expanded twice. Weka's BestFirst expands a set again whenever another path reaches it
    and counts that as an expansion without a gain; it may therefore stop earlier.

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
    >>> SubsetSelector(CFS(), BestFirst(patience=3)).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    shorthand: ClassVar[ShorthandParameter | None] = ShorthandParameter("direction", _DIRECTIONS)

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
        """Yield one expansion at a time."""
        check_choice("direction", self.direction, _DIRECTIONS)
        check_integer("patience", self.patience, low=1)
        check_real("min_gain", self.min_gain, low=0)
        backward = self.direction == "backward" and problem.start is None
        first = problem.largest_start if backward else problem.smallest_start
        best = _Incumbent(int(first.sum()), float((yield Candidates.from_masks(first))[0]), self.min_gain)
        frontier = _Frontier(first, best.merit)
        expanded: set[bytes] = set()
        n_without_gain, nearest = 0, first
        while (mask := frontier.pop()) is not None:
            key = np.packbits(mask).tobytes()
            units = [] if key in expanded else self._moves(problem, mask)
            expanded.add(key)
            if not units:
                continue
            merits = yield Candidates.from_flips(mask, units)
            frontier.push(mask, units, merits)
            n_without_gain = 0 if best.update(mask, units, merits) else n_without_gain + 1
            child = _best_child(mask, units, merits)
            nearest = child if _size_distance(problem, child) < _size_distance(problem, nearest) else nearest
            if n_without_gain >= self.patience:
                break
        else:
            return "every reachable set was expanded"
        # Best-first order would expand all better small sets before a worse set of an allowed size: continue greedily instead.
        while _size_distance(problem, nearest):
            units = problem.additions(nearest) if nearest.sum() < problem.min_size else problem.removals(nearest)
            if not units:
                break
            merits = yield Candidates.from_flips(nearest, units)
            nearest = _best_child(nearest, units, merits)
        return f"no improvement in {self.patience} consecutive {'step' if self.patience == 1 else 'steps'}"

    def _moves(self, problem: Problem, mask: Masks) -> list[Indices]:
        additions = [] if self.direction == "backward" else problem.additions(mask)
        return additions if self.direction == "forward" else additions + problem.removals(mask)


def _size_distance(problem: Problem, mask: Masks) -> int:
    """Return how many columns a set has too few or too many."""
    size = int(mask.sum())
    return max(problem.min_size - size, size - problem.max_size, 0)


def _best_child(mask: Masks, units: list[Indices], merits: Floats) -> Masks:
    child = mask.copy()
    child[units[int(np.argmax(merits))]] ^= True
    return child


class _Incumbent:
    """The best merit so far, and the number of columns of its set."""

    def __init__(self, size: int, merit: float, min_gain: float) -> None:
        self.size = size
        self.merit = merit
        self._min_gain = min_gain

    def update(self, mask: Masks, units: list[Indices], merits: Floats) -> bool:
        """Compare the children of a set with the best, and return whether one of them is a gain."""
        gained = False
        for number in np.flatnonzero(merits >= self.merit).tolist():
            merit, unit = float(merits[number]), units[number]
            size = int(mask.sum()) + (-len(unit) if mask[unit[0]] else len(unit))
            dropped = bool(mask[unit[0]])
            fewer = dropped and size < self.size
            # A drop needs no minimum gain, because it makes the set smaller.
            is_gain = merit > self.merit if dropped else merit - self.merit > self._min_gain
            if is_gain or (merit == self.merit and fewer):
                self.size, self.merit, gained = size, merit, True
        return gained


class _Frontier:
    """The sets to expand: highest merit first, among equal merits the smaller set, among equal sizes the one that was added first.

    The children of an expansion are stored sorted, and a heap contains the best remaining child of each expansion: one sort for an
    expansion instead of an insertion into the heap for each of thousands of columns.
    """

    def __init__(self, mask: Masks, merit: float) -> None:
        self._batches: list[tuple[Masks, list[Indices], Floats, Indices, Indices]] = []
        self._heap: list[tuple[float, int, int, int]] = []
        self.push(mask, [np.empty(0, dtype=np.intp)], np.array([merit]))

    def push(self, mask: Masks, units: list[Indices], merits: Floats) -> None:
        sizes = int(mask.sum()) + np.array([-len(unit) if mask[unit].any() else len(unit) for unit in units])
        self._batches.append((mask.copy(), units, merits, sizes, np.lexsort((sizes, -merits))))
        self._queue(len(self._batches) - 1, 0)

    def _queue(self, batch: int, position: int) -> None:
        _, units, merits, sizes, order = self._batches[batch]
        if position < len(units):
            child = order[position]
            heapq.heappush(self._heap, (-float(merits[child]), int(sizes[child]), batch, position))

    def pop(self) -> Masks | None:
        """Remove and return the best set, None when there is none."""
        if not self._heap:
            return None
        *_, batch, position = heapq.heappop(self._heap)
        self._queue(batch, position + 1)
        mask, units, _, _, order = self._batches[batch]
        child = mask.copy()
        child[units[order[position]]] ^= True
        return child
