"""Forward selection."""

from __future__ import annotations

import numpy as np

from tamiz.candidates import Candidates
from tamiz.search.base import Problem, Search, Walk


class Forward(Search):
    """Start with no column; add the best one again and again, until none raises the merit.

    With a size asked for it goes on until that size is reached.

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
        mask = problem.fixed.copy() if problem.start is None else problem.start.copy()
        merit = (yield Candidates.of(mask))[0]
        while units := problem.additions(mask):
            merits = yield Candidates.flips(mask, units)
            best = int(np.argmax(merits))
            wanted = problem.sized and mask.sum() < problem.least
            if not (wanted or merits[best] > merit):
                return "no further column raises the merit"
            mask[units[best]] = True
            merit = merits[best]
        return (
            "the size asked for is reached"
            if problem.sized and mask.sum() == problem.most
            else "no column is left to add"
        )
