"""Random subsets, a baseline for other searches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamiz.runtime.validation import check_integer
from tamiz.search.base import Columns, Problem, Search, Walk
from tamiz.search.subset_index import SubsetIndex
from tamiz.search.unit_sets import UnitSetSampler, count_sets, expand_units
from tamiz.subsets.candidates import Candidates

_BATCH = 256


class RandomSubsets(Search):
    """Evaluate random sets of columns: a baseline for other searches with as many evaluations.

    The size is drawn uniformly from the allowed sizes, and the set uniformly from the sets of that size. No set is drawn twice.

    Parameters
    ----------
    n_subsets : int, default=1000
        Number of sets; all sets where there are fewer.
    start, fixed, excluded : list of column names or numbers, default=None
        The first set, columns to keep in every set, and columns to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are drawn together.

    Notes
    -----
    Cost `n_subsets` evaluations, 256 at a time. Drawing a set takes about 20 microseconds. Where `n_subsets` is close to the number
    of all sets, most draws are repetitions: use `Exhaustive` then. Among equal merits the smaller set is best, then the one of
    earlier columns.

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
        """Yield batches of up to 256 sets."""
        n_subsets = check_integer("n_subsets", self.n_subsets, low=1)
        n_fixed = int(problem.fixed.sum())
        sampler, index = UnitSetSampler(problem.units, problem.max_size - n_fixed), SubsetIndex(problem.n_columns)
        # How many sets of every size are not drawn yet; counts are capped at exp(700), which no search uses up.
        n_left = np.rint(np.exp(np.minimum(sampler.log_counts(), 700.0)))
        n_left[: problem.min_size - n_fixed] = 0
        if problem.start is not None:
            first = Candidates.from_masks(problem.start)
            yield first
            index.add(index.keys(first))
            if problem.min_size <= problem.start.sum() <= problem.max_size:
                n_left[int(problem.start.sum()) - n_fixed] -= 1
        while len(index) < n_subsets and n_left.any():
            available = np.flatnonzero(n_left)
            sizes = available[rng.integers(len(available), size=min(_BATCH, n_subsets - len(index)))]
            masks = expand_units(problem, sampler.draw(sizes, rng))
            keys = index.keys(Candidates.from_masks(masks))
            new = index.are_new(keys)
            index.add(keys[new])
            n_left -= np.bincount(sizes[new], minlength=len(n_left))
            if new.any():
                yield Candidates.from_masks(masks[new])
        return f"{n_subsets:,} sets were drawn" if len(index) == n_subsets else "every set was drawn"

    def max_evaluations(self, problem: Problem) -> int:
        """Return `n_subsets`, or the number of allowed sets where it is smaller."""
        n_subsets = check_integer("n_subsets", self.n_subsets, low=1)
        # The start may have a size that is not allowed: one more set.
        return min(n_subsets, count_sets(problem) + (problem.start is not None))
