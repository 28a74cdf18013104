"""The merit c'x / sqrt(x'Ax) in terms of units (`UnitQuadraticForm`), the best set so far (`Incumbent`), and bounded proposals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Masks
from tamiz.kernels import read_only
from tamiz.kernels.subset_merits import UnitTerms
from tamiz.runtime.validation import check_memory
from tamiz.search.base import Candidates, HasQuadraticForm, Problem, Proposal, ScanResult, expand_units
from tamiz.statistics.exact_sums import SplitNumbers, power_of_two_scale

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class UnitQuadraticForm:
    """c and A by units, each number split into head and tail so that sums are exact; the fixed columns are in every set.

    The relevance of a set is c'x, its total x'Ax; the merit is relevance / sqrt(total).

    Attributes
    ----------
    c, self_terms : ndarray of shape (2, n_units)
        Relevance of every unit, and its contribution to the total by itself and with the fixed columns.
    pair_terms : ndarray of shape (2, n_units, n_units)
        Contribution of every pair of units to the total (both orders), 0 on the diagonal.
    widths : ndarray of shape (n_units,)
        Number of columns of every unit.
    fixed_terms : ndarray of shape (4,)
        Relevance and total of the fixed columns, head and tail each.
    magnitudes : ndarray of shape (2,)
        Sums of the absolute values of c and of A, the scale of rounding errors.
    size_limits : ndarray of shape (3,)
        Number of fixed columns, smallest and largest size of an allowed set.
    """

    c: Floats
    self_terms: Floats
    pair_terms: Floats
    widths: Integers
    fixed_terms: Floats
    magnitudes: Floats
    size_limits: Integers

    @classmethod
    def from_problem(cls, problem: Problem) -> UnitQuadraticForm | None:
        """Return the form of a problem's merit, None where the merit has no such form or has values that are not finite."""
        form = problem.evaluator.quadratic_form() if isinstance(problem.evaluator, HasQuadraticForm) else None
        if form is None or not all(np.isfinite(part).all() for part in form):
            return None
        c, A = form
        n, p = len(problem.units), problem.n_columns
        check_memory(
            8.0 * (4 * p * p + 3 * p * n + 8 * n * n),
            f"The sums over {n:,} units of {p:,} columns",
            "Keep fewer columns first, with RankSelector.",
        )
        unit = np.zeros((n + 1, p))
        for row, columns in zip(unit, problem.units, strict=False):
            row[columns] = 1.0
        unit[n, problem.fixed] = 1.0
        relevance, associations = (
            SplitNumbers.from_values(c, power_of_two_scale(c)),
            SplitNumbers.from_values(A, power_of_two_scale(A)),
        )
        # Sums of heads, and of tails, are exact in any order, so matrix products may be used.
        by_unit = np.stack([unit @ relevance.head, unit @ relevance.tail])
        between = np.stack([unit @ part @ unit.T for part in (associations.head, associations.tail)])
        inner = between[:, :n, :n]
        own = np.einsum("kii->ki", inner) + between[:, :n, n] + between[:, n, :n]
        pairs = inner + inner.transpose(0, 2, 1)
        pairs[:, range(n), range(n)] = 0.0
        n_fixed = int(problem.fixed.sum())
        return cls(
            np.ascontiguousarray(by_unit[:, :n]),
            np.ascontiguousarray(own),
            np.ascontiguousarray(pairs),
            np.array([len(columns) for columns in problem.units], dtype=np.int64),
            np.concatenate([by_unit[:, n], between[:, n, n]]),
            np.array([np.abs(c).sum(), np.abs(A).sum()]),
            np.array([n_fixed, problem.min_size, problem.max_size], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.widths)

    def restrict(self, chosen: Masks) -> UnitQuadraticForm:
        pairs = np.ascontiguousarray(self.pair_terms[:, chosen][:, :, chosen])
        c, own = np.ascontiguousarray(self.c[:, chosen]), np.ascontiguousarray(self.self_terms[:, chosen])
        return UnitQuadraticForm(
            c, own, pairs, self.widths[chosen], self.fixed_terms, self.magnitudes, self.size_limits
        )

    def unit_terms(self) -> UnitTerms:
        """Return the arrays, in the order of the fields, as the parameter of the kernels in `tamiz.kernels.subset_merits`."""
        return UnitTerms(*map(read_only, vars(self).values()))

    def merit(self, members: Masks) -> float:
        """Return the merit of a set of units with the fixed columns."""
        relevance, total = (
            self.fixed_terms[:2] + self.c[:, members].sum(axis=1),
            self.fixed_terms[2:] + self.self_terms[:, members].sum(axis=1),
        )
        # Pair terms are counted twice; halving is exact.
        total = total + self.pair_terms[:, members][:, :, members].sum(axis=(1, 2)) / 2
        return float(relevance.sum() / np.sqrt(total.sum())) if total.sum() > 0 else 0.0

    def size(self, members: Masks) -> int:
        """Return the number of columns of a set of units, with the fixed columns."""
        return int(self.size_limits[0] + self.widths[members].sum())


class Incumbent:
    """The best set of units so far: highest merit, among equal merits the smaller set, then the one of earlier units.

    While there is no set, the merit is minus infinity and the size -1.
    """

    def __init__(self, n_units: int) -> None:
        self.merit = -np.inf
        self.size = -1
        self.members: Masks = np.zeros(n_units, dtype=bool)

    def update(self, merit: float, size: int, members: Masks) -> bool:
        """Replace the best set by a better one, and return whether it was replaced."""
        differ = np.flatnonzero(members != self.members)
        is_earlier = bool(differ.size and members[differ[0]])
        better = self.size < 0 or (merit, -size, is_earlier) > (self.merit, -self.size, False)
        if better:
            self.merit, self.size, self.members = merit, size, members
        return better

    def to_candidates(self, problem: Problem) -> Candidates:
        """Return the set as a candidate, to be evaluated and recorded."""
        return Candidates.from_masks(expand_units(problem, self.members[None]))


def no_candidates(problem: Problem) -> Candidates:
    return Candidates.from_masks(np.empty((0, problem.n_columns), dtype=bool))


@dataclass(frozen=True)
class BoundedCandidates(Proposal):
    """Candidates, possibly none, and the bound that the search has proven, infinite while none is proven."""

    candidates: Candidates
    bound: float

    def scan(self, budget: int | None) -> ScanResult:  # noqa: ARG002 - run_search cuts the candidates to the budget
        return ScanResult(self.candidates, bound=self.bound if np.isfinite(self.bound) else None)
