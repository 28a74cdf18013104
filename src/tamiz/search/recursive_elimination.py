"""Recursive elimination."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from tamiz.runtime.validation import check_integer, check_real
from tamiz.search.base import Columns, Problem, Search, Walk, max_moves
from tamiz.subsets.candidates import Candidates, Masks
from tamiz.subsets.evaluator import MeritProperties

# Equal importances differ in their last bits where the losses of folds are summed in another order: they are rounded to this.
_IMPORTANCE_DIGITS = 12


class RecursiveElimination(Search):
    """Start with every column and drop the least important ones, step by step (recursive feature elimination).

    The merit provides the importances: for `CrossValidated` it is permutation importance, the loss of the score of each fold when
    the values of the column are permuted among the test rows. A step therefore needs one model in each fold, where `Backward`
    needs one for every column. The search continues to the smallest requested size, or to the empty set; the result is the
    best of the sets that it evaluated.

    Parameters
    ----------
    step : int or float, default=1
        Number of columns (or column groups) to drop in a step; below 1, their share of the remaining ones, at least one.
    n_repeats : int, default=5
        Number of permutations; the importance of a column is the mean loss.
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are dropped together. Their values are permuted together, too: otherwise columns that can replace each other
        would conceal the importance of the group.

    Raises
    ------
    ValueError
        When the merit provides no importances.

    Notes
    -----
    At most p + 1 evaluations for p columns, each with one additional model in every fold, which predicts `n_repeats` times for
    every column. Among equal importances the last column is dropped. Redundant columns share their importance: one of them may be
    dropped early, which does no harm while another remains. The random permutations depend only on the set and the seed, so a
    search that is resumed from its journal takes the same steps.

    References
    ----------
    Guyon, Weston, Barnhill and Vapnik (2002), Gene selection for cancer classification using support vector machines, Machine
    Learning 46 (elimination by the coefficients of the model).
    Gregorutti, Michel and Saint-Pierre (2017), Correlation and variable importance in random forests, Statistics and Computing 27.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CrossValidated
    >>> from tamiz.search import RecursiveElimination
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = SubsetSelector(CrossValidated(GaussianNB()), RecursiveElimination(), random_state=0).fit(X, y)
    >>> selector.get_support(indices=True), selector.n_evaluations_
    (array([3]), 5)
    """

    def __init__(
        self,
        step: float = 1,
        *,
        n_repeats: int = 5,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, column_groups=column_groups)
        self.step = step
        self.n_repeats = n_repeats

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - the merit draws the permutations
        """Yield the set that remains after each step."""
        step, n_repeats = _check_step(self.step), check_integer("n_repeats", self.n_repeats, low=1)
        mask = ~problem.excluded if problem.start is None else problem.start.copy()
        # Raises an error for a merit without importances; without units nothing is computed.
        _importances(problem.merit_properties, mask, [], n_repeats)
        yield Candidates.from_masks(mask)
        while problem.removals(mask):
            members = [unit for unit in problem.units if mask[unit[0]]]
            importances = _importances(problem.merit_properties, mask, members, n_repeats)
            order = [members[u] for u in np.lexsort((-np.arange(len(members)), importances)).tolist()]
            for _ in range(_n_dropped(step, len(members))):
                # Every drop changes which units can be dropped so that an allowed size stays reachable.
                allowed = {int(unit[0]) for unit in problem.removals(mask)}
                least_important = next((unit for unit in order if int(unit[0]) in allowed), None)
                if least_important is None:
                    break
                mask = mask.copy()
                mask[least_important] = False
            yield Candidates.from_masks(mask)
        return (
            "the requested size is reached"
            if problem.size_requested and mask.sum() == problem.min_size
            else "no column is left to drop"
        )

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of evaluations when columns are dropped down to the smallest allowed size."""
        step = _check_step(self.step)
        mask = ~problem.excluded if problem.start is None else problem.start
        units = [unit for unit in problem.units if mask[unit[0]]]
        n_left, n_drops, n_steps = len(units), max_moves(units, int(mask.sum()) - problem.min_size), 0
        while n_drops > 0:
            dropped = _n_dropped(step, n_left)
            n_left, n_drops, n_steps = n_left - dropped, n_drops - dropped, n_steps + 1
        return 1 + n_steps


def _importances(
    merit: MeritProperties, mask: Masks, units: list[NDArray[np.intp]], n_repeats: int
) -> NDArray[np.float64]:
    """Return the importances of units in a set, divided by the largest absolute importance."""
    found = merit.importances(mask, units, n_repeats)
    if found is None:
        raise ValueError(
            f"RecursiveElimination needs a merit that provides the importance of each column; {merit.name} does not. Use Backward."
        )
    largest = np.abs(found).max(initial=0.0)
    return np.round(found / largest, _IMPORTANCE_DIGITS) if largest else found


def _check_step(step: float) -> float:
    """Return the step: a number of units of at least 1, or a share between 0 and 1."""
    if isinstance(step, Integral):
        return check_integer("step", step, low=1)
    share = check_real("step", step)
    if not 0 < share < 1:
        raise ValueError(
            f"step must be a whole number of at least 1, or a share of the columns between 0 and 1, got {step!r}."
        )
    return share


def _n_dropped(step: float, n_units: int) -> int:
    """Return how many of `n_units` units are dropped in one step."""
    return min(n_units, int(step)) if step >= 1 else max(1, int(step * n_units))
