"""Recursive elimination."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import ClassVar

import numpy as np

from tamiz.arrays import Floats, Indices, Masks
from tamiz.runtime.validation import check_integer, check_real
from tamiz.search.base import Columns, Problem, Search, Walk, max_moves
from tamiz.subsets.candidates import Candidates
from tamiz.subsets.evaluator import HasImportances, ImportanceGetter, merit_name


class RecursiveElimination(Search):
    """Start with every column and drop the least important ones, step by step (recursive feature elimination).

    The merit provides the importances: those of `CrossValidated` are the coefficients or importances of the model, fitted to all
    rows, or permutation importances. A step therefore needs few models, where `Backward` needs one for every column and fold. The
    search continues to the smallest requested size, or to the empty set; the result is the best of the sets of a requested size.

    Parameters
    ----------
    step : int or float, default=1
        Number of columns (or column groups) to drop in a step; below 1, their share of the remaining ones, at least one.
    importance_getter : str or callable, default="auto"
        "auto" is the sum of the squared coefficients of a column (`coef_`), else `feature_importances_`, of the model, or of the
        last step of a pipeline whose other steps keep the columns, such as a scaler; for a model with neither it is "permutation":
        the loss of the score of each fold when the values of the column are permuted among the test rows. Other text is the
        attribute of the fitted model, such as `"named_steps.svc.coef_"`, and a callable gets the fitted model: both give a number
        for each column (and output), whose squares are summed.
    n_repeats : int, default=5
        Number of permutations; the permutation importance of a column is the mean loss.
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are dropped together. Their importances are added; their values are permuted together, because otherwise
        columns that can replace each other would conceal the importance of the group.

    Raises
    ------
    ValueError
        When the merit provides no importances.

    Notes
    -----
    Coefficients are compared on the scale of the columns that the model gets. Encoded columns (`encode` of `CrossValidated`) are
    standardised, and the importance of a category is the sum over its indicators, divided by the square roots of their shares. A
    table of numbers is passed as it is: columns of very different standard deviations are a warning. Coefficients and impurity
    decreases are those of the training rows; "permutation" measures on other rows what the score loses.

    At most p + 1 evaluations for p columns, and one model of all rows for each step; permutation importance needs one additional
    model in every fold, which predicts `n_repeats` times for every column. Larger sets than the requested ones are not evaluated.
    With `importance_getter="auto"` the sets of a path with a whole number as `step` are those of scikit-learn's `RFE`, and
    `SizeSearchCV(SubsetSelector(CrossValidated(model), RecursiveElimination(step)), model)` has the scores of its `RFECV`. Among
    equal importances the last column is dropped. Redundant columns share their importance: one of them may be dropped early,
    which does no harm while another remains. The random permutations depend only on the set and the seed, so a search that is
    resumed from its journal takes the same steps.

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
        importance_getter: ImportanceGetter = "auto",
        n_repeats: int = 5,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, column_groups=column_groups)
        self.step = step
        self.importance_getter = importance_getter
        self.n_repeats = n_repeats

    ignores_merits: ClassVar[bool] = True

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - the merit draws the permutations
        """Yield the set that remains after each step."""
        step, n_repeats = _check_step(self.step), check_integer("n_repeats", self.n_repeats, low=1)
        if not (isinstance(self.importance_getter, str) or callable(self.importance_getter)):
            raise TypeError(
                "importance_getter must be 'auto', 'permutation', the name of an attribute of the fitted model or a callable, got "
                f"{self.importance_getter!r}."
            )
        mask = ~problem.excluded if problem.start is None else problem.start.copy()
        # Raises an error for a merit without importances; without units nothing is computed.
        self._importances(problem, mask, [], n_repeats)
        yield _evaluated(problem, mask)
        while problem.removals(mask):
            members = [unit for unit in problem.units if mask[unit[0]]]
            importances = self._importances(problem, mask, members, n_repeats)
            order = [members[u] for u in np.lexsort((-np.arange(len(members)), importances)).tolist()]
            for _ in range(_n_dropped(step, len(members))):
                # Every drop changes which units can be dropped so that an allowed size stays reachable.
                allowed = {int(unit[0]) for unit in problem.removals(mask)}
                least_important = next((unit for unit in order if int(unit[0]) in allowed), None)
                if least_important is None:
                    break
                mask = mask.copy()
                mask[least_important] = False
            yield _evaluated(problem, mask)
        return (
            "the requested size is reached"
            if problem.size_requested and mask.sum() == problem.min_size
            else "no column is left to drop"
        )

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of allowed sizes when columns are dropped down to the smallest one."""
        step = _check_step(self.step)
        mask = ~problem.excluded if problem.start is None else problem.start
        units = [unit for unit in problem.units if mask[unit[0]]]
        n_left, n_drops, n_evaluated = len(units), max_moves(units, int(mask.sum()) - problem.min_size), 0
        # The smallest size after a number of drops: after fewer drops no set is small enough.
        sizes = int(mask.sum()) - np.cumsum([0, *sorted(map(len, units), reverse=True)])
        while True:
            n_evaluated += bool(sizes[len(units) - n_left] <= problem.max_size)
            if n_drops <= 0:
                return n_evaluated
            dropped = min(_n_dropped(step, n_left), n_drops)
            n_left, n_drops = n_left - dropped, n_drops - dropped

    def _importances(self, problem: Problem, mask: Masks, units: list[Indices], n_repeats: int) -> Floats:
        found = None
        if isinstance(problem.merit, HasImportances):
            found = problem.merit.importances(mask, units, n_repeats, self.importance_getter)
        if found is None:
            raise ValueError(
                f"RecursiveElimination needs a merit that provides the importance of each column; {merit_name(problem.merit)} does "
                "not. Use Backward."
            )
        return found


def _evaluated(problem: Problem, mask: Masks) -> Candidates:
    """Return the proposal to evaluate a set, which is empty on the way to the requested sizes."""
    return Candidates.from_masks(mask[None][: int(mask.sum() <= problem.max_size)])


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
    return min(n_units, int(step)) if step >= 1 else max(1, int(step * n_units))
