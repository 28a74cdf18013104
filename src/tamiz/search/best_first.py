"""Best-first search."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Candidates, Masks
from tamiz.search.base import Columns, Problem, Search, Walk
from tamiz.validation import check_integer, check_real


class BestFirst(Search):
    """Add a column to the best set that was not yet expanded; go back to an earlier one when the way leads nowhere.

    With a size asked for, sets of the largest size are not expanded further; a search that has stopped below the least size
    goes on from its largest set, adding the best column again and again.

    Parameters
    ----------
    stale : int, default=5
        Stop after this many expansions in a row without a gain.
    min_gain : float, default=1e-5
        What counts as a gain: more than this above the best merit so far.
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out.
    groups : list of lists of column names or numbers, default=None
        Columns that come in together.

    Notes
    -----
    Each expansion costs at most one evaluation a column. Among equal merits the set seen first is expanded first.

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

    def __init__(
        self,
        *,
        stale: int = 5,
        min_gain: float = 1e-5,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, groups=groups)
        self.stale = stale
        self.min_gain = min_gain

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield the candidates, one expansion at a time."""
        check_integer("stale", self.stale, low=1)
        check_real("min_gain", self.min_gain, low=0)
        first = problem.fixed.copy() if problem.start is None else problem.start.copy()
        best = (yield Candidates.of(first))[0]
        front = _Front(first, best)
        expanded: set[bytes] = set()
        stale, deepest = 0, first
        while (mask := front.pop()) is not None:
            name = np.packbits(mask).tobytes()
            units = [] if name in expanded else problem.additions(mask)
            expanded.add(name)
            if not units:
                continue
            merits = yield Candidates.flips(mask, units)
            front.push(mask, units, merits)
            gained = False
            for merit in merits[merits - best > self.min_gain].tolist():
                if merit - best > self.min_gain:
                    best, gained = merit, True
            child = _best_child(mask, units, merits)
            deepest = child if child.sum() > deepest.sum() else deepest
            stale = 0 if gained else stale + 1
            if stale >= self.stale:
                break
        else:
            return "every set within reach was expanded"
        # Best first would go through all small sets before it came to a large one that is worse: straight on instead.
        while deepest.sum() < problem.least and (units := problem.additions(deepest)):
            merits = yield Candidates.flips(deepest, units)
            deepest = _best_child(deepest, units, merits)
        return f"{self.stale} expansions in a row without a gain"


def _best_child(mask: Masks, units: list[NDArray[np.intp]], merits: NDArray[np.float64]) -> Masks:
    child = mask.copy()
    child[units[int(np.argmax(merits))]] ^= True
    return child


class _Front:
    """The sets that wait for expansion, best merit first, and of equal merits the one that came first.

    Every expansion keeps its children sorted; a heap holds the best child left of each. A table of thousands of columns
    thus costs one sort an expansion instead of thousands of insertions.
    """

    def __init__(self, mask: Masks, merit: float) -> None:
        self._batches: list[tuple[Masks, list[NDArray[np.intp]], NDArray[np.float64], NDArray[np.intp]]] = []
        self._heap: list[tuple[float, int, int]] = []
        self.push(mask, [np.empty(0, dtype=np.intp)], np.array([merit]))

    def push(self, mask: Masks, units: list[NDArray[np.intp]], merits: NDArray[np.float64]) -> None:
        """Take in the children of a set."""
        self._batches.append((mask.copy(), units, merits, np.argsort(-merits, kind="stable")))
        self._queue(len(self._batches) - 1, 0)

    def _queue(self, batch: int, place: int) -> None:
        _, units, merits, order = self._batches[batch]
        if place < len(units):
            heapq.heappush(self._heap, (-float(merits[order[place]]), batch, place))

    def pop(self) -> Masks | None:
        """Return the best set that waits, None when there is none."""
        if not self._heap:
            return None
        _, batch, place = heapq.heappop(self._heap)
        self._queue(batch, place + 1)
        mask, units, _, order = self._batches[batch]
        child = mask.copy()
        child[units[order[place]]] ^= True
        return child
