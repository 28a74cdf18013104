"""Correlation-based feature selection."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Candidates
from tamiz.criteria.base import Association, Gather, Merit, Pairs
from tamiz.criteria.discretization import EqualFrequency
from tamiz.criteria.entropy_family import MISSING, Missing
from tamiz.criteria.uncertainty import SymmetricUncertainty
from tamiz.criteria.weka import WekaCorrelation, WekaUncertainty
from tamiz.evaluator import Evaluator
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.validation import check_choice, check_memory

Convention = Literal["hall", "weka"]


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
        correlations are rounded to single precision, and for a numeric target U is |Pearson| weighted by the columns'
        standard deviations.

    Raises
    ------
    DataError
        When there is no target.

    Notes
    -----
    A set of no columns scores 0. Pairs are counted as a search asks for them: a search that keeps k of p columns
    needs k p of them, O(n) each, and each candidate then costs an addition to its parent's sums.

    References
    ----------
    Hall (1999), Correlation-based feature selection for machine learning, PhD thesis, University of Waikato.

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
        missing: Missing = "distribute",
        convention: Convention = "hall",
    ) -> None:
        self.association = association
        self.missing = missing
        self.convention = convention

    def check(self, schema: Schema) -> None:
        """Refuse a table without a target, or with one that the association cannot use."""
        super().check(schema)
        check_choice("convention", self.convention, ("hall", "weka"))
        check_choice("missing", self.missing, MISSING)
        if self.association is not None and self.missing != "distribute":
            raise ValueError(f"missing={self.missing!r} is for the default association; give it to the one you pass.")
        if self.association is not None and not isinstance(self.association, Association):
            raise TypeError(f"CFS takes an association such as SymmetricUncertainty(), got {self.association!r}.")
        self._association(schema).check(schema)

    def _association(self, schema: Schema) -> Association:
        if self.convention == "weka" and not schema.has_classes:
            return WekaCorrelation()
        rule = None if schema.has_classes else EqualFrequency(10)
        association = self.association or SymmetricUncertainty(missing=self.missing, discretization=rule)
        return WekaUncertainty(association) if self.convention == "weka" else association

    def prepare(self, gather: Gather, schema: Schema, rng: np.random.Generator) -> Evaluator:  # noqa: ARG002 - not random
        """Return the evaluator over one table."""
        self.check(schema)
        pairs = self._association(schema).prepare(gather, schema)
        return _CFSEvaluator(pairs, schema.n_columns, schema.used)


class _CFSEvaluator(Evaluator):
    """Merits from the row of sums of the parent: :math:`r_j = \\sum_{i \\in S} A_{ij}`.

    The row is summed anew from the rows of the matrix, in column order, for every parent: a merit depends on the parent
    and the flip, never on what was evaluated before, so that a resumed search repeats it to the bit.
    """

    def __init__(self, pairs: Pairs, n_columns: int, used: NDArray[np.intp]) -> None:
        self._pairs = pairs
        self._used = used
        self._target = np.zeros(n_columns)
        self._target[used] = pairs.pairs(used, np.full(len(used), n_columns))
        self._diagonal = np.zeros(n_columns)
        self._diagonal[used] = pairs.own(used)
        self._row_of: dict[int, Floats] = {}
        self._room = 0

    def _rows(self, columns: NDArray[np.intp]) -> list[Floats]:
        n_wanted = len(self._row_of) + sum(column not in self._row_of for column in columns.tolist())
        if n_wanted > self._room:
            # Asked for twice as many each time, so that a long search does not ask at every step.
            room = min(max(n_wanted, 2 * self._room), len(self._used))
            check_memory(
                8.0 * (room - len(self._row_of)) * len(self._target),
                f"{room:,} rows of {len(self._target):,} associations",
                "Keep fewer columns first, with RankSelector, or search forward.",
            )
            self._room = room
        for column in columns.tolist():
            if column not in self._row_of:
                self._row_of[column] = self._row(column)
        return [self._row_of[column] for column in columns.tolist()]

    def _row(self, column: int) -> Floats:
        row = np.zeros(len(self._target))
        row[column] = self._diagonal[column]
        for other, known in self._row_of.items():
            row[other] = known[column]
        rest = np.array([j for j in self._used.tolist() if j != column and j not in self._row_of], dtype=np.intp)
        row[rest] = self._between(np.full(len(rest), column), rest)
        return row

    def _between(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
        # Always from the lower column to the higher: the two ways round differ in their last bit.
        return self._pairs.pairs(np.minimum(i, j), np.maximum(i, j))

    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the merit of every candidate."""
        merits = np.empty(len(candidates))
        for parent, mask in enumerate(candidates.parents):
            members = np.flatnonzero(mask)
            relevance = self._target[members].sum()
            row = np.zeros(len(self._target))
            for part in self._rows(members):
                row += part
            total = row[members].sum()
            for where, columns in candidates.flips_of(parent):
                merits[where] = self._flipped(mask, relevance, total, row, columns)
        return merits

    def _flipped(
        self, mask: NDArray[np.bool_], relevance: float, total: float, row: Floats, columns: NDArray[Any]
    ) -> Floats:
        """Return the merits of the parent with each row of `columns` (m, w) flipped."""
        relevances, totals = np.full(len(columns), relevance), np.full(len(columns), total)
        sizes = np.full(len(columns), int(mask.sum()))
        for w in range(columns.shape[1]):
            flipped = columns[:, w]
            sign = np.where(mask[flipped], -1.0, 1.0)
            relevances += sign * self._target[flipped]
            totals += 2 * sign * row[flipped] + self._diagonal[flipped]
            sizes += sign.astype(np.intp)
            for earlier in range(w):
                other = columns[:, earlier]
                totals += 2 * sign * np.where(mask[other], -1.0, 1.0) * self._between(flipped, other)
        usable = (sizes > 0) & (totals > 0)
        return np.divide(relevances, np.sqrt(np.abs(totals)), out=np.zeros(len(columns)), where=usable)

    def quadratic(self) -> tuple[Floats, Floats]:
        """Return c and A of merit = c'x / sqrt(x'Ax)."""
        matrix = np.zeros((len(self._target), len(self._target)))
        matrix[self._used] = self._rows(self._used)
        return self._target.copy(), matrix
