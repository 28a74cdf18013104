"""Recursive elimination."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.runtime.validation import check_integer, check_real
from tamiz.search.base import Columns, Problem, Search, ShorthandParameter, Walk, max_moves
from tamiz.subsets.candidates import Candidates, Masks
from tamiz.subsets.evaluator import MeritProperties

_IMPORTANCE_DIGITS = 12


class RecursiveElimination(Search):
    """Start with every column; drop again and again those that the merit of the present set owes least to.

    What a set owes to a column is asked of the merit: to `CrossValidated` it is what the score of each fold loses when the rows
    tested exchange their values in that column. So a step takes one model a fold, where `Backward` takes one for every column.
    It goes on to the size asked for, or to the last column; the best set on the way is the result.

    Parameters
    ----------
    step : int or float, default=1
        Columns, or groups of them, to drop at a time; below 1 their share of those that are left, at least one.
    n_repeats : int, default=5
        How often values are exchanged; the importance of a column is the mean loss.
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out.
    column_groups : list of lists of column names or numbers, default=None
        Columns that go out together. Their values are exchanged together too: columns that can stand in for each other would
        otherwise hide what they are worth as a group.

    Raises
    ------
    ValueError
        When the merit does not tell what each column is worth to a set.

    Notes
    -----
    At most p + 1 evaluations for p columns, each with one more model a fold, which predicts `n_repeats` times for every column. Of
    equal importances the last column goes. Columns that repeat each other share their importance: one of them may go early, which
    does no harm while the other stays. What is drawn depends on the set and on the seed alone: a search that goes on from its
    journal takes the same way.

    References
    ----------
    Guyon, Weston, Barnhill and Vapnik (2002), Gene selection for cancer classification using support vector machines, Machine
    Learning 46, where a model's own coefficients decide.
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

    shorthand: ClassVar[ShorthandParameter] = ShorthandParameter("step")

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

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - the merit draws the lots
        """Yield one set a step."""
        step, n_repeats = _check_step(self.step), check_integer("n_repeats", self.n_repeats, low=1)
        mask = ~problem.excluded if problem.start is None else problem.start.copy()
        # Asked for no unit, nothing is computed.
        _importances(problem.merit_properties, mask, [], n_repeats)
        yield Candidates.from_masks(mask)
        while problem.removals(mask):
            inside = [unit for unit in problem.units if mask[unit[0]]]
            worth = _importances(problem.merit_properties, mask, inside, n_repeats)
            order = [inside[u] for u in np.lexsort((-np.arange(len(inside)), worth)).tolist()]
            for _ in range(_n_dropped(step, len(inside))):
                # What may go without leaving the sizes asked for out of reach is another question after every drop.
                allowed = {int(unit[0]) for unit in problem.removals(mask)}
                least = next((unit for unit in order if int(unit[0]) in allowed), None)
                if least is None:
                    break
                mask = mask.copy()
                mask[least] = False
            yield Candidates.from_masks(mask)
        return (
            "the size asked for is reached"
            if problem.size_requested and mask.sum() == problem.min_size
            else "no column is left to drop"
        )

    def max_evaluations(self, problem: Problem) -> int:
        """Return what it costs to drop as many columns as may go out."""
        step = _check_step(self.step)
        mask = ~problem.excluded if problem.start is None else problem.start
        units = [unit for unit in problem.units if mask[unit[0]]]
        left, n_drops, n_steps = len(units), max_moves(units, int(mask.sum()) - problem.min_size), 0
        while n_drops > 0:
            dropped = _n_dropped(step, left)
            left, n_drops, n_steps = left - dropped, n_drops - dropped, n_steps + 1
        return 1 + n_steps


def _importances(
    merit: MeritProperties, mask: Masks, units: list[NDArray[np.intp]], n_repeats: int
) -> NDArray[np.float64]:
    """Return what units are worth to a set, in units of the largest worth."""
    found = merit.importances(mask, units, n_repeats)
    if found is None:
        raise ValueError(
            f"RecursiveElimination needs a merit that tells what each column is worth to a set; {merit.name} does not. Use Backward."
        )
    largest = np.abs(found).max(initial=0.0)
    # Equal importances differ in their last bits where the losses of folds are added up in another order.
    return np.round(found / largest, _IMPORTANCE_DIGITS) if largest else found


def _check_step(step: float) -> float:
    """Return a number of units, or their share."""
    if isinstance(step, Integral):
        return check_integer("step", step, low=1)
    share = check_real("step", step)
    if not 0 < share < 1:
        raise ValueError(
            f"step must be a whole number of at least 1, or a share of the columns between 0 and 1, got {step!r}."
        )
    return share


def _n_dropped(step: float, n_units: int) -> int:
    """Return how many of so many units go at a time."""
    return min(n_units, int(step)) if step >= 1 else max(1, int(step * n_units))
