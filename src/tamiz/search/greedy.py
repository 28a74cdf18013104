"""Greedy searches: forward and beam selection, floating search, backward and recursive elimination."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from numbers import Integral
from typing import ClassVar, NamedTuple

import numpy as np

from tamiz.arrays import Floats, Indices, Masks
from tamiz.runtime.validation import check_integer, check_real
from tamiz.search.base import (
    Candidates,
    Columns,
    HasImportances,
    ImportanceGetter,
    Problem,
    Search,
    ShorthandParameter,
    Walk,
    merit_name,
)


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
        return (yield from _add_columns(problem, 1)).stop_reason

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of evaluations when columns are added up to the largest allowed size."""
        return _max_additions(problem, 1)


class _Additions(NamedTuple):
    """The best last set of a forward or beam search, the merits of its steps by number of columns, and why it ended."""

    mask: Masks
    merit_by_size: dict[int, float]
    stop_reason: str


def _add_columns(problem: Problem, width: int) -> Generator[Candidates, Floats, _Additions]:
    """Add each column to the best `width` sets of a step while the merit rises, or up to the largest requested size."""
    beam = [problem.smallest_start]
    merit = float((yield Candidates.from_masks(beam[0]))[0])
    merit_by_size = {int(beam[0].sum()): merit}
    while additions := [(mask, units) for mask in beam if (units := problem.additions(mask))]:
        merits = yield Candidates.concatenate([Candidates.from_flips(mask, units) for mask, units in additions])
        if not (problem.size_requested or merits.max() > merit):
            return _Additions(beam[0], merit_by_size, "no further column raises the merit")
        merit = float(merits.max())
        beam = _best_sets(additions, merits, width)
        merit_by_size[int(beam[0].sum())] = merit
    return _Additions(beam[0], merit_by_size, _reason_without_additions(problem, max(int(mask.sum()) for mask in beam)))


def _reason_without_additions(problem: Problem, size: int) -> str:
    reached = problem.size_requested and size == problem.max_size
    return "the requested size is reached" if reached else "no column is left to add"


def _best_sets(additions: list[tuple[Masks, list[Indices]]], merits: Floats, width: int) -> list[Masks]:
    """Return the best distinct sets, best first."""
    origin = [(mask, unit) for mask, units in additions for unit in units]
    best: dict[bytes, Masks] = {}
    for number in np.argsort(-merits, kind="stable").tolist():
        mask, unit = origin[number]
        child = mask.copy()
        child[unit] = True
        best.setdefault(child.tobytes(), child)
        if len(best) == width:
            break
    return list(best.values())


def _max_additions(problem: Problem, width: int) -> int:
    """Return the number of evaluations with full beams, or of all sets of a step where these are fewer."""
    mask = problem.smallest_start
    n_units, n_evaluations, n_sets = sum(not mask[unit[0]] for unit in problem.units), 1, 1
    for step in range(_n_moves(problem, ~mask, problem.max_size - int(mask.sum()))):
        n_parents = min(n_sets, width)
        n_sets = n_sets * (n_units - step) // (step + 1)
        n_evaluations += min(n_parents * (n_units - step), n_sets)
    return n_evaluations


def _n_moves(problem: Problem, movable: Masks, max_columns: int) -> int:
    """Return the largest number of movable units that together have at most `max_columns` columns."""
    widths = np.sort([len(unit) for unit in problem.units if movable[unit[0]]])
    return int(np.searchsorted(np.cumsum(widths), max_columns, side="right"))


class Beam(Search):
    """Add every column to each of the best `width` sets of the previous step, until a step no longer raises the merit.

    With `n_features` the search continues to the largest allowed size.

    Parameters
    ----------
    width : int, default=5
        How many sets of a step are extended in the next step.
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are added together.

    Notes
    -----
    A step is one batch of at most width p evaluations for p columns, and there are at most p + 1 steps. With a width of 1 it is
    `Forward`; a wider beam is mostly but not always better. Among equal merits the set whose parent ranked higher is extended,
    then the set with the first column.

    References
    ----------
    Lowerre (1976), The HARPY speech recognition system, PhD thesis, Carnegie Mellon University; Aha and Bankert (1996),
    A comparative evaluation of sequential feature selection algorithms, Learning from Data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Beam
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Beam(3)).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    shorthand: ClassVar[ShorthandParameter | None] = ShorthandParameter("width")

    def __init__(
        self,
        width: int = 5,
        *,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, column_groups=column_groups)
        self.width = width

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield the additions of each step."""
        return (yield from _add_columns(problem, check_integer("width", self.width, low=1))).stop_reason

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of evaluations with full beams, or of all sets of a step where these are fewer."""
        return _max_additions(problem, check_integer("width", self.width, low=1))


class Bidirectional(Search):
    """Forward selection, then drops of useless columns and further additions, alternating (sequential floating selection).

    The search first runs `Forward`, until no column raises the merit or the largest allowed size is reached. It then drops the
    least useful column as long as the smaller set is the best evaluated set of its size, adds the most useful column, drops
    again, and so on. An addition is kept when it raises the best merit so far, or while the smallest allowed size is not reached.

    Parameters
    ----------
    start, fixed, excluded : list of column names or numbers, default=None
        Columns to start with, to keep in every set, and to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are added and dropped together.

    Notes
    -----
    The search evaluates all sets that `Forward` evaluates and is therefore never worse. The floating search of the paper drops
    columns from the first addition on and can miss the sets of `Forward`: it was worse than `Forward` in 8 of 150 random problems
    of 13 columns. An addition and a drop together cost at most p evaluations for p columns. The search ends, because every drop
    that is not forced by a size raises the best merit of its size; no useful bound on the number of steps is known. Among equal
    merits the first column is added and the last is dropped.

    References
    ----------
    Pudil, Novovicova and Kittler (1994), Floating search methods in feature selection, Pattern Recognition Letters 15.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Bidirectional
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Bidirectional()).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield the additions or drops of each step."""
        mask, merits, _ = yield from _add_columns(problem, 1)
        size = int(mask.sum())
        merit = merits[size]

        def move(unit: Indices, found: float) -> None:
            """Add a unit, or drop it where the set contains it, and store the merit if it is the best of its size."""
            nonlocal size, merit
            mask[unit] ^= True
            size, merit = int(mask.sum()), found
            merits[size] = max(found, merits.get(size, -np.inf))

        while True:
            # Drop columns while the result is the best set of its size, or while the set is too large.
            while units := [unit for unit in problem.units if mask[unit[0]]]:
                found = yield Candidates.from_flips(mask, units)
                last = _last_best(found)
                # A set of a size without a merit so far must be better than the current set.
                limit = merits.get(size - len(units[last]), merit)
                if not (found[last] > limit or size > problem.max_size):
                    break
                move(units[last], float(found[last]))
            if not (units := problem.additions(mask)):
                return _reason_without_additions(problem, size)
            found = yield Candidates.from_flips(mask, units)
            best = int(np.argmax(found))
            allowed = [m for n, m in merits.items() if problem.min_size <= n <= problem.max_size]
            too_small = problem.size_requested and size < problem.min_size
            if not (too_small or found[best] > max(allowed, default=-np.inf)):
                return "no step raises the merit"
            move(units[best], float(found[best]))


def _last_best(merits: Floats) -> int:
    return len(merits) - 1 - int(np.argmax(merits[::-1]))


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
        mask = problem.largest_start
        merit = (yield Candidates.from_masks(mask))[0]
        while units := problem.removals(mask):
            merits = yield Candidates.from_flips(mask, units)
            best = _last_best(merits)
            if not (problem.size_requested or merits[best] >= merit - problem.tolerance):
                return "every further drop lowers the merit"
            mask[units[best]] = False
            merit = max(merit, merits[best]) if problem.tolerance else merits[best]
        return _reason_without_drops(problem, mask)

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of evaluations when columns are dropped down to the smallest allowed size."""
        mask = problem.largest_start
        n_units = sum(bool(mask[unit[0]]) for unit in problem.units)
        return 1 + sum(n_units - step for step in range(_n_moves(problem, mask, int(mask.sum()) - problem.min_size)))


def _reason_without_drops(problem: Problem, mask: Masks) -> str:
    reached = problem.size_requested and mask.sum() == problem.min_size
    return "the requested size is reached" if reached else "no column is left to drop"


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
    shorthand: ClassVar[ShorthandParameter | None] = ShorthandParameter("step", allows_share=True)

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - the merit draws the permutations
        """Yield the set that remains after each step."""
        step, n_repeats = _check_step(self.step), check_integer("n_repeats", self.n_repeats, low=1)
        if not (isinstance(self.importance_getter, str) or callable(self.importance_getter)):
            raise TypeError(
                "importance_getter must be 'auto', 'permutation', the name of an attribute of the fitted model or a callable, got "
                f"{self.importance_getter!r}."
            )
        mask = problem.largest_start
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
        return _reason_without_drops(problem, mask)

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of allowed sizes when columns are dropped down to the smallest one."""
        step, mask = _check_step(self.step), problem.largest_start
        units = [unit for unit in problem.units if mask[unit[0]]]
        n_left, n_drops, n_evaluated = len(units), _n_moves(problem, mask, int(mask.sum()) - problem.min_size), 0
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
        if isinstance(problem.evaluator, HasImportances):
            found = problem.evaluator.importances(mask, units, n_repeats, self.importance_getter)
        if found is None:
            name = merit_name(problem.evaluator)
            raise ValueError(
                f"RecursiveElimination needs a merit that provides the importance of each column; {name} does not. Use Backward."
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
