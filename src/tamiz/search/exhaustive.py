"""Exhaustive search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tamiz.candidates import Candidates, Proposal
from tamiz.search.base import Columns, Problem, Search, Walk
from tamiz.search.exact.codes import MOST_UNITS, code_ranges
from tamiz.search.exact.combinations import combinations
from tamiz.search.exact.counts import n_sets
from tamiz.search.exact.listed import all_sets
from tamiz.search.exact.sums import Bounded, Incumbent, UnitSums, nothing

# Going through all codes takes about 1 ns a set, through combinations of one size some 10 to 100: codes where no more than one
# in so many is of a size that may be chosen.
_RARE = 32


class Exhaustive(Search):
    """Look at every set of an allowed size; the best of them is proven to be the best there is.

    Parameters
    ----------
    fixed, excluded : list of column names or numbers, default=None
        Columns to keep in every set, and to keep out.
    groups : list of lists of column names or numbers, default=None
        Columns that come in together.

    Notes
    -----
    Cost 2^p evaluations for p columns. For a merit such as CFS, c'x / sqrt(x'Ax), a set takes about 1 nanosecond a core; the
    archive then holds every set that was the best when it came, and counts the others. For any other merit it holds all sets,
    in the order of their number of units (columns, or groups of them), those of equal numbers in column order. Among equal
    merits the smaller set is best, then the one of earlier columns.

    References
    ----------
    Knuth (2011), The Art of Computer Programming 4A, section 7.2.1.1: Gray's code, by which one column changes at a step.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Exhaustive
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = SubsetSelector(CFS(), Exhaustive()).fit(X, y)
    >>> selector.get_support(indices=True), selector.n_evaluations_, selector.certificate_.proven
    (array([2, 3]), 16, True)
    """

    # Every set is looked at, wherever a search begins.
    start = None

    def __init__(
        self,
        *,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        groups: Sequence[Columns] | None = None,
    ) -> None:
        self.fixed = fixed
        self.excluded = excluded
        self.groups = groups

    def most_evaluations(self, problem: Problem) -> int:
        """Return the number of sets."""
        return n_sets(problem)

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:  # noqa: ARG002 - not random
        """Yield all sets, in pieces."""
        best = -np.inf
        for proposal in _proposals(problem, n_sets(problem)):
            merits = yield proposal
            best = float(np.fmax.reduce(merits, initial=best))
        if best > -np.inf:
            yield Bounded(nothing(problem), best)
        return "every set of an allowed size was looked at"


def _proposals(problem: Problem, total: int) -> Iterator[Proposal]:
    """Yield proposals that hold all sets."""
    sums = UnitSums.of(problem)
    if sums is None:
        yield from all_sets(problem)
        return
    best = Incumbent(len(sums))
    if len(sums) <= MOST_UNITS and 2 ** len(sums) <= _RARE * max(total, 2**16):
        yield from code_ranges(problem, sums, best, total)
        return
    n_fixed = int(problem.fixed.sum())
    if problem.least <= n_fixed <= problem.most:
        none = np.zeros(len(sums), dtype=bool)
        best.take(sums.merit(none), n_fixed, none)
        yield Candidates.of(problem.fixed)
    yield from combinations(problem, sums, best, total)
