"""Backward elimination."""

from __future__ import annotations

import numpy as np

from tamiz.search.base import Problem, Search, Walk, max_moves
from tamiz.subsets.candidates import Candidates


class Backward(Search):
    """Start with every column and drop the least useful one, step by step, until every drop lowers the merit.

    With `n_features` the search continues to the smallest allowed size; the result is the best set of an allowed size. Without it
    the search may stop before it drops any column.

    Parameters
    ----------
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are dropped together.

    Notes
    -----
    At most p (p + 1) / 2 + 1 evaluations for p columns. A column whose drop leaves the merit unchanged is dropped. Among equal
    merits the last column is dropped.

    References
    ----------
    Marill and Green (1963), On the effectiveness of receptors in recognition systems, IEEE Transactions on Information Theory 9.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Backward
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Backward()).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield the drops of each step."""
        mask = ~problem.excluded if problem.start is None else problem.start.copy()
        merit = (yield Candidates.from_masks(mask))[0]
        while units := problem.removals(mask):
            merits = yield Candidates.from_flips(mask, units)
            best = len(merits) - 1 - int(np.argmax(merits[::-1]))
            if not (problem.size_requested or merits[best] >= merit - problem.tolerance):
                return "every further drop lowers the merit"
            mask[units[best]] = False
            merit = max(merit, merits[best]) if problem.tolerance else merits[best]
        return (
            "the requested size is reached"
            if problem.size_requested and mask.sum() == problem.min_size
            else "no column is left to drop"
        )

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of evaluations when columns are dropped down to the smallest allowed size."""
        mask = ~problem.excluded if problem.start is None else problem.start
        units = [unit for unit in problem.units if mask[unit[0]]]
        n_steps = max_moves(units, int(mask.sum()) - problem.min_size)
        return 1 + sum(len(units) - step for step in range(n_steps))
