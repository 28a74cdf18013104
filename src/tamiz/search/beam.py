"""Beam search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamiz.arrays import Floats, Indices, Masks
from tamiz.runtime.validation import check_integer
from tamiz.search.base import Columns, Problem, Search, Walk, max_moves
from tamiz.search.forward import starting_mask
from tamiz.subsets.candidates import Candidates


class Beam(Search):
    """Add every column to each of the best `width` sets of the previous step, until a step no longer raises the merit.

    With `n_features` the search continues to the largest allowed size.

    Parameters
    ----------
    width : int, default=5
        How many sets of a step are extended in the next step.
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are added together.

    Notes
    -----
    A step is one batch of at most width p evaluations for p columns, and there are at most p + 1 steps. With a width of 1 it is
    `Forward`; a wider beam is mostly but not always better. Among equal merits the set whose parent ranked higher is extended,
    then the set with the first column.

    References
    ----------
    Lowerre (1976), The HARPY speech recognition system, PhD thesis, Carnegie Mellon University; Aha and Bankert (1996),
    A comparative evaluation of sequential feature selection algorithms, Learning from Data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Beam
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Beam(3)).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    def __init__(
        self,
        width: int = 5,
        *,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, column_groups=column_groups)
        self.width = width

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield the additions of each step."""
        width = check_integer("width", self.width, low=1)
        beam = [starting_mask(problem)]
        merit = (yield Candidates.from_masks(beam[0]))[0]
        while True:
            additions = [(mask, units) for mask in beam if (units := problem.additions(mask))]
            if not additions:
                reached = problem.size_requested and max(mask.sum() for mask in beam) == problem.max_size
                return "the requested size is reached" if reached else "no column is left to add"
            merits = yield Candidates.concatenate([Candidates.from_flips(mask, units) for mask, units in additions])
            if not (problem.size_requested or merits.max() > merit):
                return "no further column raises the merit"
            merit = merits.max()
            beam = _best_sets(additions, merits, width)

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of evaluations with full beams, or of all sets of a step where these are fewer."""
        mask = starting_mask(problem)
        units = [unit for unit in problem.units if not mask[unit[0]]]
        n_evaluations, n_sets = 1, 1
        for step in range(max_moves(units, problem.max_size - int(mask.sum()))):
            n_parents = min(n_sets, check_integer("width", self.width, low=1))
            n_sets = n_sets * (len(units) - step) // (step + 1)
            n_evaluations += min(n_parents * (len(units) - step), n_sets)
        return n_evaluations


def _best_sets(additions: list[tuple[Masks, list[Indices]]], merits: Floats, width: int) -> list[Masks]:
    """Return the best distinct sets, best first."""
    origin = [(mask, unit) for mask, units in additions for unit in units]
    best: dict[bytes, Masks] = {}
    for number in np.argsort(-merits, kind="stable").tolist():
        mask, unit = origin[number]
        child = mask.copy()
        child[unit] = True
        best.setdefault(child.tobytes(), child)
        if len(best) == width:
            break
    return list(best.values())
