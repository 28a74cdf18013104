"""Correlation-based feature selection."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Candidates, Masks
from tamiz.criteria.association_rows import AssociationMatrix
from tamiz.criteria.base import Association, GatherFunction, Merit, PairwiseAssociations
from tamiz.criteria.cone_bound import ConeBound
from tamiz.criteria.discretization import EqualFrequency
from tamiz.criteria.entropy_family import MISSING_RULES, MissingRule
from tamiz.criteria.uncertainty import SymmetricUncertainty
from tamiz.criteria.weka import WekaCorrelation, WekaUncertainty
from tamiz.evaluator import Evaluator
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.statistics.exact import SplitNumbers, power_of_two_scale
from tamiz.validation import check_choice

Convention = Literal["hall", "weka"]
# The merit of a copy of the target is 1 up to so much.
_ROUNDING = 1e-9


class CFS(Merit):
    """Worth of a set of columns that go with the target and not with each other.

    .. math:: M(S) = \\frac{\\sum_{j \\in S} U(A_j, C)}{\\sqrt{\\sum_{i \\in S} \\sum_{j \\in S} U(A_i, A_j)}}, \\quad U(A, A) = 1

    Parameters
    ----------
    association : Association, default=None
        The measure U; None is SymmetricUncertainty(), with 10 intervals of equal frequency for target and numeric columns where
        the target is a number.
    missing : {"distribute", "category"}, default="distribute"
        What the measure does with missing values; an association that is given has a rule of its own.
    convention : {"hall", "weka"}, default="hall"
        "hall" is the formula. "weka" repeats three habits of Weka's CfsSubsetEval: a U of 0 between two columns counts as 1,
        correlations are rounded to single precision, and for a numeric target U is the absolute value of
        Pearson's correlation, weighted by the columns' standard deviations.

    Raises
    ------
    DataError
        When there is no target.

    Notes
    -----
    Cost O(n) for each pair of columns that a search asks for, k p pairs where it keeps k of p columns; each candidate then costs
    an addition to its parent's sums. A set of no columns scores 0.

    The merit can exceed 1. Let A be the matrix of the :math:`U(A_i, A_j)` of the set, c the vector of the :math:`U(A_j, C)`, and R
    the matrix [[A, c], [c', 1]]. The quadratic form of R at :math:`(1 / \\sqrt{1^T A 1}, -1)` is :math:`2 (1 - M)`. So
    :math:`M \\le 1` for every set where R is positive semidefinite, as a correlation matrix is: the merit is then Ghiselli's
    correlation of the sum of the columns with the target. A matrix of symmetric uncertainties need not be. Two independent fair
    bits a and b, their exclusive or, and the target (a, b) have U = 0 between columns and 2/3 with the target: the determinant of R
    is -1/3, and the merit of all three is :math:`2 / \\sqrt{3} = 1.155`. With all :math:`2^k - 1` sums modulo 2 of k bits it is
    :math:`2 \\sqrt{2^k - 1} / (k + 1)`: there is no upper bound, and a merit compares sets of one table only.

    References
    ----------
    Hall (1999), Correlation-based feature selection for machine learning, PhD thesis, University of Waikato.
    Ghiselli (1964), Theory of Psychological Measurement: the correlation of a composite with an outside variable.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import BestFirst
    >>> iris = load_iris(as_frame=True)
    >>> selector = SubsetSelector(CFS(), BestFirst()).fit(iris.data, iris.target)
    >>> selector.get_feature_names_out().tolist(), round(selector.merit_, 4)
    (['petal length (cm)', 'petal width (cm)'], 0.8874)
    """

    needs_target: ClassVar[bool] = True

    def __init__(
        self,
        association: Association | None = None,
        *,
        missing: MissingRule = "distribute",
        convention: Convention = "hall",
    ) -> None:
        self.association = association
        self.missing = missing
        self.convention = convention

    def check(self, schema: Schema) -> None:
        """Refuse a table without a target, or with one that the association cannot use."""
        super().check(schema)
        check_choice("convention", self.convention, ("hall", "weka"))
        check_choice("missing", self.missing, MISSING_RULES)
        if self.association is not None and self.missing != "distribute":
            raise ValueError(f"missing={self.missing!r} is for the default association; give it to the one you pass.")
        if self.association is not None and not isinstance(self.association, Association):
            raise TypeError(f"CFS takes an association such as SymmetricUncertainty(), got {self.association!r}.")
        self._choose_association(schema).check(schema)

    def _choose_association(self, schema: Schema) -> Association:
        if self.convention == "weka" and not schema.has_classes:
            return WekaCorrelation()
        rule = None if schema.has_classes else EqualFrequency(10)
        association = self.association or SymmetricUncertainty(missing=self.missing, discretization=rule)
        return WekaUncertainty(association) if self.convention == "weka" else association

    def make_evaluator(self, gather: GatherFunction, schema: Schema, rng: np.random.Generator) -> Evaluator:  # noqa: ARG002 - not random
        """Return the evaluator over one table."""
        self.check(schema)
        pairs = self._choose_association(schema).pairwise(gather, schema)
        return _CFSEvaluator(pairs, schema.n_columns, schema.used)


class _CFSEvaluator(Evaluator):
    """Merits from sums of associations.

    Sums are exact (`tamiz.statistics.exact`): a merit depends on its set alone, to the bit, whatever parent it is reached
    from and whatever was evaluated before, and sets of equal merit are equal to the bit. Where numbers differ too much in size
    for that, every set is added up anew, in column order: what is taken away again would leave its rounding behind.
    """

    def __init__(self, associations: PairwiseAssociations, n_columns: int, used: NDArray[np.intp]) -> None:
        target = np.zeros(n_columns)
        target[used] = associations.associations(used, np.full(len(used), n_columns))
        self._associations = AssociationMatrix(associations, n_columns, used)
        self._relevances = SplitNumbers.from_values(
            target, power_of_two_scale(target) if self._associations.exact else 0.0
        )

    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the merit of every candidate."""
        if not self._associations.exact:
            candidates = Candidates.from_masks(candidates.masks())
        relevances, totals = np.empty((2, len(candidates)))
        whole = np.diff(candidates.starts) == 0
        if whole.any():
            masks = candidates.parents[candidates.parent_index[whole]]
            relevances[whole] = SplitNumbers(masks @ self._relevances.head, masks @ self._relevances.tail).value
            totals[whole] = self._associations.totals(masks)
        for parent in np.unique(candidates.parent_index[~whole]).tolist():
            mask = candidates.parents[parent]
            relevance, sums = self._relevances[mask].sum(), self._associations.column_sums(mask)
            for where, columns in candidates.flips_by_width(parent):
                if columns.shape[1]:
                    signs = np.where(mask[columns], -1.0, 1.0)
                    change = SplitNumbers(
                        (self._relevances.head[columns] * signs).sum(axis=1),
                        (self._relevances.tail[columns] * signs).sum(axis=1),
                    )
                    relevances[where] = (relevance + change).value
                    totals[where] = self._associations.totals_after_flips(mask, sums, columns, signs)
        usable = (candidates.sizes() > 0) & (totals > 0)
        return np.divide(relevances, np.sqrt(np.abs(totals)), out=np.zeros(len(candidates)), where=usable)

    def subset_notes(self, mask: Masks) -> list[str]:
        """Return a sentence on a merit above 1, which a reader may take for an error."""
        (merit,) = self.evaluate(Candidates.from_masks(mask[None])).tolist()
        if merit <= 1 + _ROUNDING:
            return []
        return [
            "A CFS merit can exceed 1, because symmetric uncertainties need not form a correlation matrix; compare it only with "
            "merits on the same table."
        ]

    def quadratic_form(self) -> tuple[Floats, Floats] | None:
        """Return c and A of merit = c'x / sqrt(x'Ax), None where their sums are not exact."""
        return (self._relevances.value, self._associations.to_dense()) if self._associations.exact else None

    def upper_bounds(self, masks: Masks) -> Floats | None:
        """Return what no subset exceeds, where sums are not exact; None where `quadratic` tells more."""
        return None if self._associations.exact else self._cone_bound.upper_bounds(masks)

    @cached_property
    def _cone_bound(self) -> ConeBound:
        return ConeBound(self._relevances.value, self._associations.to_dense())

    def max_bytes(self) -> float:
        """Return the bytes of the whole matrix."""
        return 8.0 * len(self._relevances.head) ** 2
