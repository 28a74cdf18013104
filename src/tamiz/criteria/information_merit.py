"""Base classes of merits of the information-theoretic family, and their evaluators.

A merit is a function of the relevances of the columns of a set and of one *term* of each pair: what the pair adds to the merit less
than its columns alone. Some merits sum the terms of all pairs, others add the columns in a greedy order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks
from tamiz.criteria.association_matrix import AssociationMatrix, SetSums
from tamiz.criteria.base import MultiOutputMerit, PairwiseAssociations
from tamiz.criteria.chance_information import (
    INFORMATION_CORRECTIONS,
    InformationCorrection,
    chance_level_warnings,
    uninformative_warnings,
)
from tamiz.criteria.discretization import ColumnCoder
from tamiz.criteria.entropy_relevance import MISSING_RULES, MissingRule
from tamiz.criteria.information_gain import InformationGain
from tamiz.criteria.joint_information import MeanInformation, PairInformation, read_coded_rows
from tamiz.exceptions import DataError
from tamiz.kernels.greedy_merits import greedy_merits
from tamiz.models.multioutput import MultiOutputTarget
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_choice
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.cuts import MDL, Discretization, EqualFrequency
from tamiz.subsets.candidates import Candidates
from tamiz.subsets.evaluator import Evaluator
from tamiz.table.base import Table
from tamiz.table.row_groups import weight_groups_equally
from tamiz.table.schema import Schema

# Candidates that are evaluated as one task.
_TASK_CANDIDATES = 256
# An upper bound exceeds the merits by this share, for rounding errors.
_ROUNDING_MARGIN = 1e-9


class InformationMerit(MultiOutputMerit):
    r"""A merit of relevances I(j; Y) and terms of pairs of columns, by default computed from their joint counts.

    With a target of L columns (labels, or several numbers) the information of the definition is replaced by its means over the
    outputs,

    .. math::
        \frac{1}{L} \sum_l I(j; Y_l), \quad \frac{1}{L} \sum_l I(i; j | Y_l), \quad \frac{1}{L} \sum_l H(i, j, Y_l),

    each with the codes and weights of the table whose only target is :math:`Y_l` (binary relevance). I(i; j) depends on the outputs
    only by the cut points of MDL, and is then a mean, too. So are the F statistics and correlations of `MRMR("correlation")`. A
    merit that is linear in the information (MIM, MIFS, CIFE, MRMR by differences, JMI) is therefore the mean of the merits of the
    single outputs. Dependence between outputs is not used. The cost is L times that of one output; pairs are counted once where
    neither I(i; j | Y) nor MDL is used.

    With correction="chance" each I(j; Y), I(i; j) and I(i; j | Y) is the information of the counts minus its expectation under
    independence (`ExpectedInformation`; for I(i; j | Y) under independence within the classes), as in the reliable information of
    Mandros, Boley and Vreeken. Entropies are those of the counts. A corrected information may be below 0. Rows with sampling
    weights count as their effective sample size. Where values are missing it needs missing="category". A pair of columns of five
    values costs about 0.3 milliseconds more for 10,000 rows.

    References
    ----------
    Spolaôr, Cherman, Monard and Lee (2013), A comparison of multi-label feature selection methods using the problem transformation
    approach, Electronic Notes in Theoretical Computer Science 292.
    Mandros, Boley and Vreeken (2017), Discovering reliable approximate functional dependencies, KDD.

    Attributes
    ----------
    label : str
        The name of the merit in messages.
    uses_conditional : bool
        Whether terms depend on information within the classes.
    """

    needs_target: ClassVar[bool] = True
    label: ClassVar[str]
    uses_conditional: ClassVar[bool] = True

    def __init__(
        self,
        *,
        missing: MissingRule = "distribute",
        discretization: Discretization | None = None,
        correction: InformationCorrection = "none",
    ) -> None:
        self.missing = missing
        self.discretization = discretization
        self.correction = correction

    @property
    def uses_counts(self) -> bool:
        """Whether the merit is computed from joint counts of the values."""
        return True

    def check(self, schema: Schema) -> None:
        """Raise DataError for a table without a target, or with a target that the discretization cannot use."""
        super().check(schema)
        check_choice("missing", self.missing, MISSING_RULES)
        check_choice("correction", self.correction, INFORMATION_CORRECTIONS)
        incomplete = [schema.columns[j] for j in schema.used.tolist() if schema.columns[j].n_missing]
        if self.correction == "chance" and self.missing == "distribute" and incomplete:
            raise DataError(
                f"correction='chance' needs whole numbers of rows, but counts of the {incomplete[0].n_missing:,} missing values of "
                f"column {incomplete[0].name!r} would be distributed. Use missing='category' (--missing category)."
            )
        self._coder(schema)

    def _coder(self, schema: Schema) -> ColumnCoder:
        return ColumnCoder(self._rule(schema), schema, with_target=True, caller=type(self).__name__)

    def _rule(self, schema: Schema) -> Discretization:
        if self.discretization is not None:
            return self.discretization
        return MDL() if schema.has_classes else EqualFrequency(self._n_intervals(schema.n_effective))

    def _n_intervals(self, n_rows: float) -> int:
        """Return the number of intervals for a numeric target, so few that tables of three have about five rows in a cell.

        In sparser tables every column seems informative together with another, and noise in full intervals most.
        """
        return min(max(round((n_rows / 5) ** (1 / 3)), 3), 10) if self.uses_conditional else 10

    def bind(
        self,
        table: Table,
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
        outputs: MultiOutputTarget | None = None,
    ) -> Evaluator:
        """Return the evaluator for one table, with `outputs` in place of its target where there are any."""
        tables = [table] if outputs is None else outputs.single_output_tables(table)
        for one in tables:
            self.check(one.schema)
        pairs = self._pair_terms([weight_groups_equally(one) for one in tables])
        matrix = AssociationMatrix(pairs, table.schema.n_columns, table.schema.used, pairs.bound)
        evaluator = self._make_evaluator(pairs.relevances, matrix)
        evaluator.outputs = outputs
        evaluator.information, evaluator.schema = pairs.information, table.schema
        if self.uses_counts and self.correction == "none":
            measure = InformationGain(missing=self.missing, discretization=self._rule(tables[0].schema))
            evaluator.count_classes = partial(measure.count_classes, tables)
        return evaluator

    def _pair_terms(self, tables: Sequence[Table]) -> PairTerms:
        """Return the relevances and the terms of pairs of a table, which is passed once with each output as its target."""
        conditional = self.uses_conditional
        coded = [
            read_coded_rows(self._coder(table.schema), table.reduce, table.schema, conditional=conditional)
            for table in tables
        ]
        information = MeanInformation(
            coded,
            distribute=self.missing == "distribute",
            conditional=conditional,
            correct=self.correction == "chance",
            sampled=tables[0].schema.weight_kind == "sampling",
        )
        # A term is a sum of at most two relevances, or a difference of two kinds of information of a pair.
        return PairTerms(
            information.relevances,
            4.0 * information.max_entropy,
            lambda i, j: self._terms(information.of_pairs(i, j)),
            information,
        )

    @abstractmethod
    def _terms(self, pairs: PairInformation) -> Floats:
        """Return the terms of pairs."""

    @abstractmethod
    def _make_evaluator(self, relevances: Floats, matrix: AssociationMatrix) -> InformationEvaluator:
        """Return the evaluator of relevances and terms."""


class PairTerms(PairwiseAssociations):
    """Relevances of columns, and terms of their pairs, which may be below 0; a column has no term with itself.

    Parameters
    ----------
    relevances : ndarray of shape (n_columns,)
    bound : float
        An upper bound of the absolute values of all terms.
    terms : callable
        From two arrays of columns to the terms of the pairs.
    information : MeanInformation, default=None
        What relevances and terms are computed from, if from counts.
    """

    def __init__(
        self,
        relevances: Floats,
        bound: float,
        terms: Callable[[NDArray[Any], NDArray[Any]], Floats],
        information: MeanInformation | None = None,
    ) -> None:
        self.relevances = relevances
        self.bound = bound
        self._terms = terms
        self.information = information

    def associations(self, i: Indices, j: Indices) -> Floats:
        return self._terms(i, j)

    def self_associations(self, columns: Indices) -> Floats:
        return np.zeros(len(columns))


class InformationEvaluator(Evaluator):
    """Base class of the evaluators of relevances and terms of pairs.

    Parameters
    ----------
    label : str
    relevances : ndarray of shape (n_columns,)
    matrix : AssociationMatrix
        The terms of pairs.

    Attributes
    ----------
    outputs : MultiOutputTarget or None
        The target, where it has several columns. A target of one column is part of the table.
    information : MeanInformation or None
        The information of the merit, if it is computed from counts.
    count_classes : callable or None
        From columns to the counts that are compared with chance; None if the information is corrected for chance.
    schema : Schema
        The columns.
    """

    def __init__(self, label: str, relevances: Floats, matrix: AssociationMatrix) -> None:
        self._label = label
        self._relevances = relevances
        self._matrix = matrix
        self.outputs: MultiOutputTarget | None = None
        self.information: MeanInformation | None = None
        self.count_classes: Callable[[Sequence[int]], dict[int, list[Floats]]] | None = None
        self.schema: Schema | None = None

    def subset_warnings(self, mask: Masks, free: Masks) -> list[Verdict]:
        """Return warnings on columns of one interval, and on those of many values whose information is not above chance."""
        if self.information is None or self.schema is None:
            return []
        # A column without information by itself may have some together with others, unless it is constant once it is cut.
        unrelated = [
            j
            for j in np.flatnonzero(free).tolist()
            if abs(self._relevances[j]) < _ROUNDING_MARGIN and self.information.is_constant(j)
        ]
        found = uninformative_warnings(self._label, mask, unrelated, self.schema)
        if self.count_classes is None:
            return found
        remedy = "use correction='chance' (--correction chance)"
        counts = self.count_classes(np.flatnonzero(mask).tolist())
        return found + chance_level_warnings(self._label, counts, self.schema.names, remedy)

    @property
    def name(self) -> str:
        return self._label

    def max_bytes(self) -> float:
        return 8.0 * len(self._relevances) ** 2

    def identity_fields(self) -> dict[str, Any]:
        from tamiz.models.evaluator import stable_repr

        return {} if self.outputs is None else {"outputs": stable_repr(self.outputs.values)}


class PairSumEvaluator(InformationEvaluator):
    """The sum of the relevances of a set, minus the terms of its pairs times a weight.

    Parameters
    ----------
    label : str
    relevances : ndarray of shape (n_columns,)
    matrix : AssociationMatrix
        The terms of pairs.
    weight : float
    by_size : bool
        Whether the weight is divided by the number of columns minus 1.
    """

    def __init__(
        self, label: str, relevances: Floats, matrix: AssociationMatrix, *, weight: float, by_size: bool
    ) -> None:
        super().__init__(label, relevances, matrix)
        self._sums = SetSums(relevances, matrix)
        self._weight = weight
        self._by_size = by_size

    def evaluate(self, candidates: Candidates) -> Floats:
        relevances, totals = self._sums.evaluate(candidates)
        weight = self._weight / np.maximum(candidates.sizes() - 1, 1) if self._by_size else self._weight
        # Every pair is in the total twice.
        return relevances - weight * totals / 2.0

    def upper_bounds(self, masks: Masks) -> Floats | None:
        """Return the sum of what each column can add to the merit of a subset, with the terms that are best for it."""
        terms = -self._weight / 2.0 * self._matrix.to_dense()
        bounds = np.zeros(len(masks))
        for k, mask in enumerate(masks):
            own, pairs = self._relevances[mask], terms[np.ix_(mask, mask)]
            if not len(own):
                continue
            if self._by_size:
                # The columns of a pair, or of a larger set, add their relevance and a mean of their terms.
                np.fill_diagonal(pairs, -np.inf)
                best = np.maximum(own + pairs.max(axis=1), 0.0).sum() if len(own) > 1 else 0.0
                bounds[k] = max(own.max(), best)
            else:
                bounds[k] = np.maximum(own + np.maximum(pairs, 0.0).sum(axis=1), 0.0).sum()
        return bounds + _ROUNDING_MARGIN * np.abs(bounds)


class GreedyEvaluator(InformationEvaluator):
    """The sum of the gains of the columns of a set, added in the order of their gains, the first column of equals first.

    The first gain is the relevance of a column. Later gains are the relevance minus the largest term with a column before it, or
    the relevance over the mean of these terms.

    Parameters
    ----------
    label : str
    relevances : ndarray of shape (n_columns,)
    matrix : AssociationMatrix
        The terms of pairs.
    by_quotient : bool
    least_term : float, default=-inf
        Terms below it count as this; above 0 for quotients.
    """

    def __init__(
        self,
        label: str,
        relevances: Floats,
        matrix: AssociationMatrix,
        *,
        by_quotient: bool,
        least_term: float = -np.inf,
    ) -> None:
        super().__init__(label, relevances, matrix)
        self._by_quotient = by_quotient
        self._least_term = least_term

    def evaluate(self, candidates: Candidates) -> Floats:
        starts, flipped = candidates.starts.astype(np.int64), candidates.flipped.astype(np.int64)
        needed = np.logical_or.reduce(candidates.parents)
        # The terms of a single added column are in the rows of its parent.
        widths = np.diff(starts)
        needed[flipped[np.repeat(widths > 1, widths)]] = True
        matrix, row_index = self._matrix.rows(needed)
        parent_starts = np.concatenate([[0], np.cumsum(candidates.parents.sum(axis=1))]).astype(np.int64)
        parent_members = np.nonzero(candidates.parents)[1].astype(np.int64)
        parent = candidates.parent_index.astype(np.int64)
        out = np.empty(len(candidates))

        def fill(span: tuple[int, int]) -> None:
            start, stop = span
            sets = parent[start:stop], starts[start : stop + 1], flipped
            rule = self._by_quotient, self._least_term
            parents = parent_starts, parent_members
            greedy_merits(self._relevances, matrix, row_index, *parents, *sets, *rule, out[start:stop])

        parallel.run_blocks(fill, parallel.block_ranges(len(out), _TASK_CANDIDATES))
        return out

    def upper_bounds(self, masks: Masks) -> Floats | None:
        """Return the sum of the largest possible gains of the columns."""
        terms = np.maximum(self._matrix.to_dense(), self._least_term)
        bounds = np.zeros(len(masks))
        for k, mask in enumerate(masks):
            own, pairs = self._relevances[mask], terms[np.ix_(mask, mask)]
            np.fill_diagonal(pairs, 1.0 if self._by_quotient else 0.0)
            least = pairs.min(axis=1, initial=np.inf)
            # A relevance that is corrected for chance may be below 0.
            bounds[k] = np.maximum(own / least if self._by_quotient else own - least, 0.0).sum()
        return bounds + _ROUNDING_MARGIN * np.abs(bounds)
