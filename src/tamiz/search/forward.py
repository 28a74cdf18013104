"""Forward selection."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from tamiz.arrays import Floats, Masks
from tamiz.search.base import Problem, Search, Walk, max_moves
from tamiz.subsets.candidates import Candidates


class Forward(Search):
    """Start with no column and add the best one, step by step, until no column raises the merit.

    With `n_features` the search continues to the largest allowed size; the result is the best set of an allowed size.

    Parameters
    ----------
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are added together.

    Notes
    -----
    At most p (p + 1) / 2 + 1 evaluations for p columns. Among equal merits the first column is added.

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
        """Yield the additions of each step."""
        return (yield from forward_path(problem)).stop_reason

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of evaluations when columns are added up to the largest allowed size."""
        mask = starting_mask(problem)
        units = [unit for unit in problem.units if not mask[unit[0]]]
        n_steps = max_moves(units, problem.max_size - int(mask.sum()))
        return 1 + sum(len(units) - step for step in range(n_steps))


class ForwardPath(NamedTuple):
    """The last set of a forward selection, the merits of its steps by number of columns, and why it ended."""

    mask: Masks
    merit_by_size: dict[int, float]
    stop_reason: str


def starting_mask(problem: Problem) -> Masks:
    """Return the set that a search starts with when it adds columns."""
    return problem.fixed.copy() if problem.start is None else problem.start.copy()


def forward_path(problem: Problem) -> Generator[Candidates, Floats, ForwardPath]:
    """Add the best column step by step while the merit rises, or up to the largest requested size."""
    mask = starting_mask(problem)
    merit = float((yield Candidates.from_masks(mask))[0])
    merit_by_size = {int(mask.sum()): merit}
    while units := problem.additions(mask):
        merits = yield Candidates.from_flips(mask, units)
        best = int(np.argmax(merits))
        if not (problem.size_requested or merits[best] > merit):
            return ForwardPath(mask, merit_by_size, "no further column raises the merit")
        mask[units[best]] = True
        merit = float(merits[best])
        merit_by_size[int(mask.sum())] = merit
    reached = problem.size_requested and mask.sum() == problem.max_size
    stop_reason = "the requested size is reached" if reached else "no column is left to add"
    return ForwardPath(mask, merit_by_size, stop_reason)
