"""Sets at random, as a baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamiz.runtime.validation import check_integer
from tamiz.search.base import Columns, Problem, Search, ShorthandParameter, Walk
from tamiz.search.subset_index import SubsetIndex
from tamiz.search.unit_sets import UnitSetSampler, count_sets, expand_units
from tamiz.subsets.candidates import Candidates

_BATCH = 256


class RandomSubsets(Search):
    """Draw sets of columns at random: what any other search has to beat with as many evaluations.

    Every size in the range asked for (without one, every size) has the same chance, and so has every set of that size. No set
    is drawn twice.

    Parameters
    ----------
    n_subsets : int, default=1000
        How many sets are drawn; all of them where there are no more.
    start, fixed, excluded : list of column names or numbers, default=None
        The first set, columns to keep in every set, and columns to keep out.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are drawn together.

    Notes
    -----
    Cost `n_subsets` evaluations, 256 at a time. Drawing a set takes some 20 microseconds; to draw nearly all sets that there
    are takes many times as many draws, for which `Exhaustive` is the better choice. Among equal merits the archive keeps the
    smaller set, then the one of earlier columns.

    References
    ----------
    Bergstra and Bengio (2012), Random search for hyper-parameter optimization, Journal of Machine Learning Research 13.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import RandomSubsets
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), RandomSubsets(16), random_state=0).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    shorthand = ShorthandParameter("n_subsets")

    def __init__(
        self,
        n_subsets: int = 1000,
        *,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, column_groups=column_groups)
        self.n_subsets = n_subsets

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:
        """Yield the sets, some hundred at a time."""
        most = check_integer("n_subsets", self.n_subsets, low=1)
        n_fixed = int(problem.fixed.sum())
        choices, seen = UnitSetSampler(problem.units, problem.max_size - n_fixed), SubsetIndex(problem.n_columns)
        # How many sets of every size are not drawn yet; a number of that order is never used up.
        left = np.rint(np.exp(np.minimum(choices.log_counts(), 700.0)))
        left[: problem.min_size - n_fixed] = 0
        if problem.start is not None:
            first = Candidates.from_masks(problem.start)
            yield first
            seen.add(seen.keys(first))
            if problem.min_size <= problem.start.sum() <= problem.max_size:
                left[int(problem.start.sum()) - n_fixed] -= 1
        while len(seen) < most and left.any():
            there = np.flatnonzero(left)
            sizes = there[rng.integers(len(there), size=min(_BATCH, most - len(seen)))]
            masks = expand_units(problem, choices.draw(sizes, rng))
            keys = seen.keys(Candidates.from_masks(masks))
            new = seen.are_new(keys)
            seen.add(keys[new])
            left -= np.bincount(sizes[new], minlength=len(left))
            if new.any():
                yield Candidates.from_masks(masks[new])
        return f"{most:,} sets were drawn" if len(seen) == most else "every set was drawn"

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number asked for, or that of all sets where it is smaller."""
        most = check_integer("n_subsets", self.n_subsets, low=1)
        # A start of another size is one more.
        return min(most, count_sets(problem) + (problem.start is not None))
