"""Hill climbing by random mutations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tamiz.arrays import Indices, Masks
from tamiz.runtime.validation import check_integer
from tamiz.search.base import Candidates, Columns, Problem, Search, ShorthandParameter, Walk


class RandomMutation(Search):
    """Hill climbing by random mutations: one random column is added or dropped, unless that lowers the merit.

    Parameters
    ----------
    n_steps : int, default=1000
        Number of mutations.
    start, fixed, excluded : list of column names or numbers, default=None
        The set to start with, columns to keep in every set, and columns to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are added and dropped together.

    Notes
    -----
    Where no set of another size is allowed, a mutation exchanges a column of the set for another one. At most n_steps + 1
    evaluations.

    References
    ----------
    Skalak (1994), Prototype and feature selection by sampling and random mutation hill climbing algorithms, ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.search import RandomMutation
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = SubsetSelector("cfs", RandomMutation(50), random_state=0).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['petal length (cm)', 'petal width (cm)']
    """

    shorthand: ClassVar[ShorthandParameter | None] = ShorthandParameter("n_steps")

    def __init__(
        self,
        n_steps: int = 1000,
        *,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, column_groups=column_groups)
        self.n_steps = n_steps

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:
        """Yield one set at a time: the current one after a mutation."""
        n_steps = check_integer("n_steps", self.n_steps, low=1)
        mask = problem.smallest_start
        (merit,) = yield Candidates.from_masks(mask)
        for _ in range(n_steps):
            mutation = _draw_mutation(problem, mask, rng)
            if mutation is None:
                return "no column can be added, dropped or exchanged"
            mutant = Candidates.from_flips(mask, [mutation])
            (found,) = yield mutant
            if found >= merit or not problem.min_size <= mask.sum() <= problem.max_size:
                mask, merit = mutant.masks()[0], found
        return f"{n_steps:,} mutations were tried"

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of mutations, and 1 for the start."""
        return check_integer("n_steps", self.n_steps, low=1) + 1


def _draw_mutation(problem: Problem, mask: Masks, rng: np.random.Generator) -> Indices | None:
    """Return the columns to flip, None if no allowed set can be reached."""
    moves = [*problem.additions(mask), *problem.removals(mask)]
    if not moves:
        inside = [unit for unit in problem.units if mask[unit[0]]]
        outside = [unit for unit in problem.units if not mask[unit[0]]]
        moves = [np.concatenate([one, other]) for one in inside for other in outside if len(one) == len(other)]
    return moves[rng.integers(len(moves))] if moves else None
