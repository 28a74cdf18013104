"""Forward selection."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from tamiz.search.base import Problem, Search, Walk, max_moves
from tamiz.subsets.candidates import Candidates, Masks
from tamiz.subsets.evaluator import Floats


class Forward(Search):
    """Start with no column; add the best one again and again, until none raises the merit.

    With a size asked for it goes on until that size is reached, with a range to its end: the best set of an allowed size is the
    result.

    Parameters
    ----------
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out.
    groups : list of lists of column names or numbers, default=None
        Columns that come in together.

    Notes
    -----
    At most p (p + 1) / 2 + 1 evaluations for p columns. Among equal merits the first column is taken.

    References
    ----------
    Whitney (1971), A direct method of nonparametric measurement selection, IEEE Transactions on Computers C-20.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Forward
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Forward()).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield the candidates step by step."""
        return (yield from forward_path(problem)).stop_reason

    def max_evaluations(self, problem: Problem) -> int:
        """Return what a climb costs that adds as many columns as may come in."""
        mask = starting_mask(problem)
        units = [unit for unit in problem.units if not mask[unit[0]]]
        n_steps = max_moves(units, problem.max_size - int(mask.sum()))
        return 1 + sum(len(units) - step for step in range(n_steps))


class ForwardPath(NamedTuple):
    """Where a climb came to: the set, the merits on the way by number of columns, and why it ended."""

    mask: Masks
    merit_by_size: dict[int, float]
    stop_reason: str


def starting_mask(problem: Problem) -> Masks:
    """Return the set that a search begins with when it adds columns."""
    return problem.fixed.copy() if problem.start is None else problem.start.copy()


def forward_path(problem: Problem) -> Generator[Candidates, Floats, ForwardPath]:
    """Add the best column again and again while the merit rises, or to the largest size asked for."""
    mask = starting_mask(problem)
    merit = float((yield Candidates.from_masks(mask))[0])
    path = {int(mask.sum()): merit}
    while units := problem.additions(mask):
        merits = yield Candidates.from_flips(mask, units)
        best = int(np.argmax(merits))
        if not (problem.size_requested or merits[best] > merit):
            return ForwardPath(mask, path, "no further column raises the merit")
        mask[units[best]] = True
        merit = float(merits[best])
        path[int(mask.sum())] = merit
    reached = problem.size_requested and mask.sum() == problem.max_size
    return ForwardPath(mask, path, "the size asked for is reached" if reached else "no column is left to add")
