"""Branch and bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamiz.search.base import Columns, Problem, Search, Walk
from tamiz.search.exact.bounded import branch_by_bounds
from tamiz.search.exact.branches import branch_quadratic
from tamiz.search.exact.counts import count_sets
from tamiz.search.exact.sums import UnitQuadraticForm
from tamiz.validation import check_real


class BranchAndBound(Search):
    """Find the best set and prove that it is: parts of all sets are passed over where none can be better than the best known.

    Parameters
    ----------
    optimality_gap : float, default=0.0
        Be content when no set has a merit higher by more than this.
    start, fixed, excluded : list of column names or numbers, default=None
        A good set to begin with, columns to keep in every set, and columns to keep out.
    column_groups : list of lists of column names or numbers, default=None
        Columns that come in together.

    Raises
    ------
    ValueError
        When the merit has neither `quadratic()` nor `bound()`.

    Notes
    -----
    Cost 2^p evaluations for p columns at worst, mostly far fewer. The proven bound is told with every step and kept when a rule
    or Ctrl-C stops the search: `certificate_` then says how much better another set may be. Ended by itself, the result is that
    of `Exhaustive`, also among equal merits.

    For a merit such as CFS, c'x / sqrt(x'Ax), the total of a set is bounded from below by a convex function, and of what that
    leaves the best set is found by adding up. Columns that hardly go with each other, and nearly copies of others, cost little:
    credit-g with 780 columns of noise and of copies with errors takes two seconds. The archive holds
    the sets that were the best when they came and counts the others. For any other merit its own `bound` is asked, and columns are
    dropped one by one. So it is for CFS in Weka's convention with a numeric target where standard deviations differ by a factor of
    more than 256: up to some 20 columns `Exhaustive` is faster there, and beyond neither ends soon, but the bound is told.

    References
    ----------
    Narendra and Fukunaga (1977), A branch and bound algorithm for feature subset selection, IEEE Transactions on Computers C-26.
    Billionnet, Elloumi and Plateau (2009), Improving the performance of standard solvers for quadratic 0-1 programs by a tight
    convex reformulation, Discrete Applied Mathematics 157.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import BranchAndBound
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = SubsetSelector(CFS(), BranchAndBound()).fit(X, y)
    >>> print(selector.certificate_)
    proven best: no set that may be chosen has a higher merit
    """

    def __init__(
        self,
        *,
        optimality_gap: float = 0.0,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, column_groups=column_groups)
        self.optimality_gap = optimality_gap

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of sets, and of those to begin with: they may be met again."""
        return count_sets(problem) + 2

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield parts of all sets to be looked at."""
        gap = check_real("optimality_gap", self.optimality_gap, low=0)
        sums = UnitQuadraticForm.from_problem(problem)
        if sums is not None:
            yield from branch_quadratic(problem, sums, gap)
        elif problem.merit_properties.upper_bounds(problem.fixed[None]) is not None:
            yield from branch_by_bounds(problem, gap)
        else:
            raise ValueError(
                f"BranchAndBound needs a merit with quadratic() or bound(); {problem.merit_properties.name} has neither. Use Exhaustive for "
                "few columns, or Beam."
            )
        return "no set is better" if gap == 0 else f"no set is better by more than {gap:g}"
