"""Exhaustive search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tamiz.search.base import Columns, Problem, Search, Walk
from tamiz.search.exact.enumeration import MAX_CODE_UNITS, all_candidates, code_ranges, combination_proposals
from tamiz.search.exact.quadratic import BoundedCandidates, Incumbent, UnitQuadraticForm, no_candidates
from tamiz.search.unit_sets import count_sets
from tamiz.subsets.candidates import Candidates, Proposal

# Enumerating all codes takes about 1 ns for each, enumerating combinations of allowed sizes 10 to 100 ns: codes are used up to this
# many codes for each allowed set.
_MAX_CODES_PER_SET = 32


class Exhaustive(Search):
    """Evaluate every set of an allowed size; the result is optimal.

    Parameters
    ----------
    fixed, excluded : list of column names or numbers, default=None
        Columns to keep in every set, and to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are added together.

    Notes
    -----
    Cost 2^p evaluations for p columns. For a merit such as CFS, c'x / sqrt(x'Ax), a set takes about 1 nanosecond on one core; the
    archive then records every set that was the best when it was found, and counts the others. For any other merit it records all
    sets, ordered by the number of units (columns or column groups), those with equally many units in column order. Among equal
    merits the smaller set is best, then the one of earlier columns.

    References
    ----------
    Knuth (2011), The Art of Computer Programming 4A, section 7.2.1.1: the Gray code, in which one column changes at each step.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Exhaustive
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = SubsetSelector(CFS(), Exhaustive()).fit(X, y)
    >>> selector.get_support(indices=True), selector.n_evaluations_, selector.certificate_.is_optimal
    (array([2, 3]), 16, True)
    """

    # All sets are evaluated: there is no set to start with.
    start = None

    def __init__(
        self,
        *,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        self.fixed = fixed
        self.excluded = excluded
        self.column_groups = column_groups

    def max_evaluations(self, problem: Problem) -> int:
        """Return the number of allowed sets."""
        return count_sets(problem)

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield all sets, in batches."""
        best = -np.inf
        for proposal in _proposals(problem, count_sets(problem)):
            merits = yield proposal
            best = float(np.fmax.reduce(merits, initial=best))
        if best > -np.inf:
            yield BoundedCandidates(no_candidates(problem), best)
        return "every set of an allowed size was evaluated"


def _proposals(problem: Problem, n_total: int) -> Iterator[Proposal]:
    """Yield proposals that together contain all allowed sets."""
    form = UnitQuadraticForm.from_problem(problem)
    if form is None:
        yield from all_candidates(problem)
        return
    best = Incumbent(len(form))
    if len(form) <= MAX_CODE_UNITS and 2 ** len(form) <= _MAX_CODES_PER_SET * max(n_total, 2**16):
        yield from code_ranges(problem, form, best, n_total)
        return
    n_fixed = int(problem.fixed.sum())
    if problem.min_size <= n_fixed <= problem.max_size:
        none = np.zeros(len(form), dtype=bool)
        best.update(form.merit(none), n_fixed, none)
        yield Candidates.from_masks(problem.fixed)
    yield from combination_proposals(problem, form, best, n_total)
