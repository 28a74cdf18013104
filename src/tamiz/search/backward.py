"""Backward elimination."""

from __future__ import annotations

import numpy as np

from tamiz.search.base import Problem, Search, Walk, max_moves
from tamiz.subsets.candidates import Candidates


class Backward(Search):
    """Start with every column; drop the least useful one again and again, until each drop lowers the merit.

    With a size asked for it goes on until that size is reached, with a range to its end: the best set of an allowed size is the
    result. Without one it may drop nothing.

    Parameters
    ----------
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out.
    groups : list of lists of column names or numbers, default=None
        Columns that go out together.

    Notes
    -----
    At most p (p + 1) / 2 + 1 evaluations for p columns. A drop that leaves the merit equal is made; among equal ones the last
    column goes.

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
        """Yield the candidates step by step."""
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
            "the size asked for is reached"
            if problem.size_requested and mask.sum() == problem.min_size
            else "no column is left to drop"
        )

    def max_evaluations(self, problem: Problem) -> int:
        """Return what it costs to drop as many columns as may go out."""
        mask = ~problem.excluded if problem.start is None else problem.start
        units = [unit for unit in problem.units if mask[unit[0]]]
        n_steps = max_moves(units, int(mask.sum()) - problem.min_size)
        return 1 + sum(len(units) - step for step in range(n_steps))
