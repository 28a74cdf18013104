"""Merits of relevances and of one term of each pair of columns: MIM, MIFS, MRMR, CIFE, ICAP, JMI, DISR and CMIM."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero
from tamiz.criteria.base import MultiOutputMerit, PairwiseAssociations, gather_statistics
from tamiz.criteria.cfs import AssociationMatrix, SetSums
from tamiz.criteria.column_associations import MIN_COMMON_ROWS, count_common_rows
from tamiz.criteria.discretization import ColumnCoder
from tamiz.criteria.entropies import MISSING_RULES, InformationGain, MissingRule
from tamiz.criteria.information import (
    INFORMATION_CORRECTIONS,
    CountingRules,
    InformationCorrection,
    MeanInformation,
    PairInformation,
    chance_level_warnings,
    read_coded_rows,
    uninformative_warnings,
)
from tamiz.criteria.variance import FisherScore
from tamiz.exceptions import DataError
from tamiz.kernels.greedy_merits import greedy_merits
from tamiz.models.multioutput import MultiOutputTarget
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_choice, check_memory, check_real
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Candidates, Evaluator, HasBounds, HasSubsetWarnings, MeritInfo
from tamiz.statistics.cross_products import ScatterMatrix
from tamiz.statistics.cuts import MDL, Discretization, EqualFrequency
from tamiz.statistics.moments import ClassMoments
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import weight_groups_equally

PairMeasure = Literal["information", "correlation"]
Scheme = Literal["difference", "quotient"]
# Candidates that are evaluated as one task.
_TASK_CANDIDATES = 256
# A redundancy below this counts as this in a quotient, as in the package mrmr-selection.
_LEAST_REDUNDANCY = 0.001
# An upper bound exceeds the merits by this share, for rounding errors.
_ROUNDING_MARGIN = 1e-9


class Formula(NamedTuple):
    """What distinguishes the merits of the family.

    Attributes
    ----------
    label : str
        The name of the merit in messages.
    terms : callable or None
        From the information of pairs to their terms; None where no pair counts.
    rule : {"sum", "mean", "greedy", "quotient"}
        The terms of all pairs are subtracted from the relevances, or their sum divided by the number of columns minus 1. Or the
        columns are added in the order of their gains, as `GreedyEvaluator` describes.
    uses_conditional : bool
        Whether terms depend on information within the classes.
    weight : float
        The factor of the terms.
    """

    label: str
    terms: Callable[[PairInformation], Floats] | None
    rule: str = "sum"
    uses_conditional: bool = True
    weight: float = 1.0


def _redundancies(pairs: PairInformation) -> Floats:
    return pairs.redundancies


def _lost_information(pairs: PairInformation) -> Floats:
    """Return I(i; j) - I(i; j | Y): the redundancy of a pair less its conditional redundancy."""
    return pairs.redundancies - pairs.conditional


def _capped_redundancies(pairs: PairInformation) -> Floats:
    return np.maximum(pairs.redundancies - pairs.conditional, 0.0)


def _missing_relevances(pairs: PairInformation) -> Floats:
    # The evaluator subtracts the terms from the relevances: what is left is the ratio.
    joint = pairs.relevances - pairs.redundancies + pairs.conditional
    return pairs.relevances - divide_or_zero(joint, pairs.joint_entropies)


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

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL for classes. For a numeric target it is
        EqualFrequency(10), and for merits that use information within the classes EqualFrequency with 3 to 10 intervals, the cube
        root of n / 5, so that tables of three have about 5 rows in a cell.
    correction : {"none", "chance"}, default="none"
        With "chance" the expectation under independence is subtracted from all information. Without it columns of many values, such
        as a patient number, score high by chance: `SubsetSelector` warns of those that it selects.

    References
    ----------
    Spolaôr, Cherman, Monard and Lee (2013), A comparison of multi-label feature selection methods using the problem transformation
    approach, Electronic Notes in Theoretical Computer Science 292.
    Mandros, Boley and Vreeken (2017), Discovering reliable approximate functional dependencies, KDD.
    """

    formula: ClassVar[Formula]

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
        return min(max(round((n_rows / 5) ** (1 / 3)), 3), 10) if self.formula.uses_conditional else 10

    def _formula(self) -> Formula:
        """Return the formula with the current parameters."""
        return self.formula

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
        formula, pairs = self._formula(), self._pair_terms([weight_groups_equally(one) for one in tables])
        count_classes = None
        if self.uses_counts and self.correction == "none":
            measure = InformationGain(missing=self.missing, discretization=self._rule(tables[0].schema))
            count_classes = partial(measure.count_classes, tables)
        kind = PairSumEvaluator if formula.rule in ("sum", "mean") else GreedyEvaluator
        return kind(formula, pairs, table.schema, count_classes, outputs)

    def _pair_terms(self, tables: Sequence[Table]) -> PairTerms:
        """Return the relevances and the terms of pairs of a table, which is passed once with each output as its target."""
        conditional, terms = self.formula.uses_conditional, self.formula.terms
        coded = [
            read_coded_rows(self._coder(table.schema), table.reduce, table.schema, conditional=conditional)
            for table in tables
        ]
        information = MeanInformation(
            coded,
            CountingRules(
                distribute=self.missing == "distribute",
                conditional=conditional,
                correct=self.correction == "chance",
                sampled=tables[0].schema.weight_kind == "sampling",
            ),
        )
        if terms is None:
            return PairTerms(information.relevances, 0.0, lambda i, j: np.zeros(max(i.size, j.size)), information)
        # A term is a sum of at most two relevances, or a difference of two kinds of information of a pair.
        bound = 4.0 * information.max_entropy
        return PairTerms(information.relevances, bound, lambda i, j: terms(information.of_pairs(i, j)), information)


@dataclass(frozen=True)
class PairTerms(PairwiseAssociations):
    """Relevances of columns, and terms of their pairs, which may be below 0; a column has no term with itself.

    `bound` is an upper bound of the absolute values of all terms, and `information` what they are computed from, if from counts.
    """

    relevances: Floats
    bound: float
    terms: Callable[[NDArray[Any], NDArray[Any]], Floats]
    information: MeanInformation | None = None

    def associations(self, i: Indices, j: Indices) -> Floats:
        return self.terms(i, j)

    def self_associations(self, columns: Indices) -> Floats:
        return np.zeros(len(columns))


class InformationEvaluator(Evaluator, HasBounds, HasSubsetWarnings):
    """Base class of the evaluators of relevances and terms of pairs.

    `count_classes` returns the counts that are compared with chance, None if the information is corrected for chance; `outputs` is
    a target of several columns.
    """

    def __init__(
        self,
        formula: Formula,
        pairs: PairTerms,
        schema: Schema,
        count_classes: Callable[[Sequence[int]], dict[int, list[Floats]]] | None,
        outputs: MultiOutputTarget | None,
    ) -> None:
        self._formula, self._relevances, self._information = formula, pairs.relevances, pairs.information
        self._matrix = AssociationMatrix(pairs, schema.n_columns, schema.used, pairs.bound)
        self._schema, self._count_classes, self._outputs = schema, count_classes, outputs

    def subset_warnings(self, mask: Masks, free: Masks) -> list[Verdict]:
        """Return warnings on columns of one interval, and on those of many values whose information is not above chance."""
        if self._information is None:
            return []
        # A column without information by itself may have some together with others, unless it is constant once it is cut.
        unrelated = [
            j
            for j in np.flatnonzero(free).tolist()
            if abs(self._relevances[j]) < _ROUNDING_MARGIN and self._information.is_constant(j)
        ]
        found = uninformative_warnings(self.info.name, mask, unrelated, self._schema)
        if self._count_classes is None:
            return found
        remedy = "use correction='chance' (--correction chance)"
        counts = self._count_classes(np.flatnonzero(mask).tolist())
        return found + chance_level_warnings(self.info.name, counts, self._schema.names, remedy)

    @property
    def info(self) -> MeritInfo:
        return MeritInfo(self._formula.label, max_bytes=8.0 * len(self._relevances) ** 2)

    def identity_fields(self) -> dict[str, Any]:
        from tamiz.models.evaluator import stable_repr

        return {} if self._outputs is None else {"outputs": stable_repr(self._outputs.values)}

    def upper_bounds(self, masks: Masks) -> Floats:
        """Return the sum of what each column can add to the merit of a subset, with the terms that are best for it."""
        matrix, bounds = self._matrix.to_dense(), np.zeros(len(masks))
        for k, mask in enumerate(masks):
            if mask.any():
                bounds[k] = self._upper_bound(self._relevances[mask], matrix[np.ix_(mask, mask)])
        return bounds + _ROUNDING_MARGIN * np.abs(bounds)

    @abstractmethod
    def _upper_bound(self, own: Floats, terms: Floats) -> float:
        """Return an upper bound of the merits of the subsets of columns with these relevances and terms."""


class PairSumEvaluator(InformationEvaluator):
    """The sum of the relevances of a set, minus the sum or the mean of the terms of its pairs times a weight."""

    @cached_property
    def _sums(self) -> SetSums:
        return SetSums(self._relevances, self._matrix)

    def evaluate(self, candidates: Candidates) -> Floats:
        relevances, totals = self._sums.evaluate(candidates)
        weight: Any = self._formula.weight
        if self._formula.rule == "mean":
            weight = weight / np.maximum(candidates.sizes() - 1, 1)
        # Every pair is in the total twice.
        return relevances - weight * totals / 2.0

    def _upper_bound(self, own: Floats, terms: Floats) -> float:
        gains = -self._formula.weight / 2.0 * terms
        if self._formula.rule == "sum":
            return float(np.maximum(own + np.maximum(gains, 0.0).sum(axis=1), 0.0).sum())
        # The columns of a pair, or of a larger set, add their relevance and a mean of their terms.
        np.fill_diagonal(gains, -np.inf)
        best = np.maximum(own + gains.max(axis=1), 0.0).sum() if len(own) > 1 else 0.0
        return float(max(own.max(), best))


class GreedyEvaluator(InformationEvaluator):
    """The sum of the gains of the columns of a set, added in the order of their gains, the first column of equals first.

    The first gain is the relevance of a column. Later gains are the relevance minus the largest term with a column before it, or
    by the rule "quotient" the relevance over the mean of these terms, each at least 0.001 as in the package mrmr-selection.
    """

    @property
    def _rule(self) -> tuple[bool, float]:
        """Whether gains are quotients, and the least term."""
        return (True, _LEAST_REDUNDANCY) if self._formula.rule == "quotient" else (False, -np.inf)

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
            parents = parent_starts, parent_members
            greedy_merits(self._relevances, matrix, row_index, *parents, *sets, *self._rule, out[start:stop])

        parallel.run_blocks(fill, parallel.block_ranges(len(out), _TASK_CANDIDATES))
        return out

    def _upper_bound(self, own: Floats, terms: Floats) -> float:
        by_quotient, least_term = self._rule
        terms = np.maximum(terms, least_term)
        np.fill_diagonal(terms, 1.0 if by_quotient else 0.0)
        least = terms.min(axis=1)
        # A relevance that is corrected for chance may be below 0.
        return float(np.maximum(own / least if by_quotient else own - least, 0.0).sum())


class MIM(InformationMerit):
    r"""Mutual information maximisation: the sum of the mutual information of each column with the target, in bits.

    .. math:: M(S) = \sum_{j \in S} I(j; Y)

    Parameters
    ----------
    {missing}
    {discretization}
    {correction}

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL; with correction="chance" where counts are not whole numbers.

    Notes
    -----
    Cost O(n p) for n rows and p columns. No column lowers the merit: a search needs `n_features`.

    References
    ----------
    Lewis (1992), Feature selection and feature extraction for text categorization, Workshop on Speech and Natural Language.
    Brown, Pocock, Zhao and Luján (2012), Conditional likelihood maximisation: a unifying framework for information theoretic
    feature selection, JMLR 13.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import MIM
    >>> from tamiz.search import Forward
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SubsetSelector(MIM(), Forward(), n_features=3).fit(X, y).get_support(indices=True)
    array([20, 22, 23])
    """

    formula: ClassVar[Formula] = Formula("MIM", None, uses_conditional=False)


class MIFS(InformationMerit):
    r"""Mutual information feature selection: relevance of the columns minus their redundancy in pairs, in bits.

    .. math:: M(S) = \sum_{j \in S} I(j; Y) - \beta \sum_{i < j \in S} I(i; j)

    Parameters
    ----------
    beta : float, default=1.0
        Weight of the redundancy, at least 0.
    {missing}
    {discretization}
    {correction}

    Raises
    ------
    ValueError
        When beta is below 0.
    DataError
        When there is no target, or a numeric one with MDL; with correction="chance" where counts are not whole numbers.

    Notes
    -----
    Cost O(n), and the cells of its contingency tables, for each pair of columns that a search needs: k p pairs where a forward
    search selects k of p columns.
    The penalty grows with the number of columns faster than the relevance; `MRMR` divides it by that number.

    References
    ----------
    Battiti (1994), Using mutual information for selecting features in supervised neural net learning, IEEE TNN 5.
    Brown, Pocock, Zhao and Luján (2012), Conditional likelihood maximisation: a unifying framework for information theoretic
    feature selection, JMLR 13.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import MIFS
    >>> from tamiz.search import Forward
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SubsetSelector(MIFS(beta=0.5), Forward(), n_features=3).fit(X, y).get_support(indices=True)
    array([21, 22, 27])
    """

    formula: ClassVar[Formula] = Formula("MIFS", _redundancies, uses_conditional=False)

    def __init__(
        self,
        beta: float = 1.0,
        *,
        missing: MissingRule = "distribute",
        discretization: Discretization | None = None,
        correction: InformationCorrection = "none",
    ) -> None:
        super().__init__(missing=missing, discretization=discretization, correction=correction)
        self.beta = beta

    def check(self, schema: Schema) -> None:
        """Raise DataError for a table that the merit does not accept."""
        super().check(schema)
        check_real("beta", self.beta, low=0.0)

    def _formula(self) -> Formula:
        return self.formula._replace(weight=float(self.beta))


# The largest share of the variance in an F statistic: a column that is constant in every class has a finite one, and sums with it
# keep seven digits of the others.
_LARGEST_SHARE = 1.0 - 1e-9


class MRMR(InformationMerit):
    r"""Minimum redundancy, maximum relevance: relevance of the columns, less or over their mean redundancy.

    .. math:: M(S) = \sum_{j \in S} I(j; Y) - \frac{1}{|S| - 1} \sum_{i < j \in S} I(i; j)

    Parameters
    ----------
    association : {"information", "correlation"}, default="information"
        Mutual information in bits; or the F statistic of the analysis of variance (of the regression, for a numeric target) as
        relevance, and the absolute value of Pearson's correlation as redundancy, for tables with numeric columns only. The share of
        the variance that is explained counts as at most 1 - 1e-9, so that F is finite.
    scheme : {"difference", "quotient"}, default="difference"
        Relevance minus or over the mean redundancy.
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own. With
        "correlation" rows with a missing value are left out, and two columns with fewer than 10 rows in common have redundancy 0.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL for classes, and EqualFrequency(10)
        for a numeric target. With "correlation" numbers are not cut, and it must be None.
    {correction}

    Raises
    ------
    ValueError
        When a parameter is unknown, or `discretization` or `correction` is passed with "correlation".
    DataError
        When there is no target, a numeric one with MDL, or a categorical column with "correlation"; with correction="chance" where
        counts are not whole numbers.

    Notes
    -----
    A forward search adds the column j with the largest :math:`I(j; Y) - \frac{1}{|S|} \sum_{s \in S} I(j; s)`, or the largest
    quotient of these two, as in the paper. The merit of the scheme "quotient" is the sum of the quotients when the columns are
    added in the order of their quotients, the first with its relevance alone. Redundancies below 0.001 count as 0.001 there.

    Cost O(n), and the cells of its contingency table, for each pair of columns that a search needs: k p pairs where a forward
    search selects k of p columns; with "correlation" O(n p^2) at once, and p^2 numbers of memory.

    References
    ----------
    Peng, Long and Ding (2005), Feature selection based on mutual information, IEEE TPAMI 27.
    Ding and Peng (2005), Minimum redundancy feature selection from microarray gene expression data, JBCB 3: FCD and FCQ.
    Brown, Pocock, Zhao and Luján (2012), Conditional likelihood maximisation: a unifying framework for information theoretic
    feature selection, JMLR 13.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import MRMR
    >>> from tamiz.search import Forward
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SubsetSelector(MRMR(), Forward(), n_features=3).fit(X, y).get_support(indices=True)
    array([21, 22, 27])
    """

    formula: ClassVar[Formula] = Formula("MRMR", _redundancies, "mean", uses_conditional=False)

    def __init__(
        self,
        association: PairMeasure = "information",
        *,
        scheme: Scheme = "difference",
        missing: MissingRule = "distribute",
        discretization: Discretization | None = None,
        correction: InformationCorrection = "none",
    ) -> None:
        super().__init__(missing=missing, discretization=discretization, correction=correction)
        self.association = association
        self.scheme = scheme

    @property
    def uses_counts(self) -> bool:
        """Whether the association is mutual information."""
        return self.association == "information"

    def check(self, schema: Schema) -> None:
        """Raise DataError for a table that the merit does not accept."""
        check_choice("association", self.association, ("information", "correlation"))
        check_choice("scheme", self.scheme, ("difference", "quotient"))
        super().check(schema)
        if self.uses_counts:
            return
        if self.discretization is not None:
            raise ValueError("discretization applies to association='information' only; leave it out.")
        if self.correction != "none":
            raise ValueError("correction applies to association='information' only; leave it out.")
        if schema.categorical:
            raise DataError(
                f"MRMR with association='correlation' needs numeric columns, but column "
                f"{schema.columns[schema.categorical[0]].name!r} is categorical. Use association='information'."
            )

    def _pair_terms(self, tables: Sequence[Table]) -> PairTerms:
        return super()._pair_terms(tables) if self.uses_counts else _correlation_terms(tables)

    def _formula(self) -> Formula:
        return self.formula._replace(rule="mean" if self.scheme == "difference" else "quotient")


def _correlation_terms(tables: Sequence[Table]) -> PairTerms:
    """Return F statistics and the absolute correlations of numeric columns, as means over the outputs."""
    schema = tables[0].schema
    columns = np.array(schema.numeric, dtype=np.intp)
    statistics, correlations = np.zeros(len(columns)), np.zeros((len(columns), len(columns)))
    for table in tables:
        of_columns, of_pairs = _f_and_correlations(table)
        statistics += of_columns
        correlations += of_pairs
    correlations /= len(tables)
    relevances = np.zeros(schema.n_columns)
    relevances[columns] = statistics / len(tables)
    position = np.zeros(schema.n_columns, dtype=np.intp)
    position[columns] = np.arange(len(columns))
    return PairTerms(relevances, 1.0, lambda i, j: correlations[position[i], position[j]])


def _f_and_correlations(table: Table) -> tuple[Floats, Floats]:
    """Return the F statistics of the numeric columns with the target, and the absolute correlations of the columns."""
    schema = table.schema
    numbers = schema.numeric if schema.has_classes else (*schema.numeric, schema.n_columns)
    incomplete = tuple(j for j in schema.numeric if schema.columns[j].n_missing)
    check_memory(
        ScatterMatrix.work_bytes(len(numbers), len(incomplete)),
        f"{len(numbers):,} x {len(numbers):,} cross products",
        "Keep fewer columns first, with RankSelector, or use association='information'.",
    )
    (products,) = table.reduce(ScatterMatrix(numbers, (), incomplete, with_squares=True))
    correlations = np.abs(products.correlations())
    few = count_common_rows(table, schema.numeric) < min(MIN_COMMON_ROWS, schema.n_rows)
    correlations[: len(few), : len(few)][few] = 0.0
    if schema.has_classes:
        return _class_f_statistics(table), correlations
    shares = correlations[:-1, -1] ** 2
    return _f_statistics(shares, np.ones(len(shares)), products.present_weight[:-1] - 2.0), correlations[:-1, :-1]


def _class_f_statistics(table: Table) -> Floats:
    """Return the F statistic of the analysis of variance of every numeric column."""
    schema, criterion = table.schema, FisherScore()
    cache = gather_statistics([criterion], table.reduce, schema)
    shares = criterion.scores(cache, schema)[list(schema.numeric)]
    weight = cache[ClassMoments(schema.numeric, schema.n_classes)].weight
    n_classes = (weight > 0).sum(axis=0)
    return _f_statistics(shares, n_classes - 1.0, weight.sum(axis=0) - n_classes)


def _f_statistics(shares: Floats, model: Floats, residual: Floats | float) -> Floats:
    """Return F from the explained shares of the variances and the degrees of freedom."""
    shares = np.minimum(shares, _LARGEST_SHARE)
    return divide_or_zero(shares * np.maximum(residual, 0.0), (1.0 - shares) * model)


class CIFE(InformationMerit):
    r"""Conditional infomax feature extraction: relevance minus redundancy plus conditional redundancy in pairs, in bits.

    .. math:: M(S) = \sum_{j \in S} I(j; Y) - \sum_{i < j \in S} \bigl(I(i; j) - I(i; j | Y)\bigr)

    Parameters
    ----------
    {missing}
    {discretization}
    {correction}

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL; with correction="chance" where counts are not whole numbers.

    Notes
    -----
    Cost O(n), and the cells of its contingency tables, for each pair of columns that a search needs: k p pairs where a forward
    search selects k of p columns.
    For two columns the merit is I(i, j; Y), so that an exclusive or is found. For many columns the sums over pairs outgrow the
    information that the target has.

    References
    ----------
    Lin and Tang (2006), Conditional infomax learning: an integrated framework for feature extraction and fusion, ECCV.
    Brown, Pocock, Zhao and Luján (2012), Conditional likelihood maximisation: a unifying framework for information theoretic
    feature selection, JMLR 13.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CIFE
    >>> from tamiz.search import Forward
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SubsetSelector(CIFE(), Forward(), n_features=2).fit(X, y).get_support(indices=True)
    array([22, 27])
    """

    formula: ClassVar[Formula] = Formula("CIFE", _lost_information)


class ICAP(InformationMerit):
    r"""Interaction capping: relevance minus the redundancy that exceeds the conditional redundancy in pairs, in bits.

    .. math:: M(S) = \sum_{j \in S} I(j; Y) - \sum_{i < j \in S} \max\bigl(0, I(i; j) - I(i; j | Y)\bigr)

    Parameters
    ----------
    {missing}
    {discretization}
    {correction}

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL; with correction="chance" where counts are not whole numbers.

    Notes
    -----
    Cost O(n), and the cells of its contingency tables, for each pair of columns that a search needs: k p pairs where a forward
    search selects k of p columns.

    References
    ----------
    Jakulin (2005), Machine learning based on attribute interactions, PhD thesis, University of Ljubljana.
    Brown, Pocock, Zhao and Luján (2012), Conditional likelihood maximisation: a unifying framework for information theoretic
    feature selection, JMLR 13.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import ICAP
    >>> from tamiz.search import Forward
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SubsetSelector(ICAP(), Forward(), n_features=2).fit(X, y).get_support(indices=True)
    array([22, 27])
    """

    formula: ClassVar[Formula] = Formula("ICAP", _capped_redundancies)


class JMI(InformationMerit):
    r"""Joint mutual information of pairs of columns with the target, in bits; a good default of the family.

    .. math:: M(S) = \frac{1}{|S| - 1} \sum_{i < j \in S} I(i, j; Y), \qquad M(\{j\}) = I(j; Y)

    Parameters
    ----------
    {missing}
    {discretization}
    {correction}

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL; with correction="chance" where counts are not whole numbers.

    Notes
    -----
    Cost O(n), and the cells of its contingency tables, for each pair of columns that a search needs: k p pairs where a forward
    search selects k of p columns.
    The merit is the sum of the relevances minus :math:`1 / (|S| - 1)` of the sum of I(i; j) - I(i; j | Y) over the pairs.
    Brown et al. find that it has the best trade-off of accuracy and stability.

    References
    ----------
    Yang and Moody (1999), Data visualization and feature selection: new algorithms for nongaussian data, NIPS.
    Brown, Pocock, Zhao and Luján (2012), Conditional likelihood maximisation: a unifying framework for information theoretic
    feature selection, JMLR 13.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import JMI
    >>> from tamiz.search import Forward
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SubsetSelector(JMI(), Forward(), n_features=3).fit(X, y).get_support(indices=True)
    array([22, 23, 27])
    """

    formula: ClassVar[Formula] = Formula("JMI", _lost_information, "mean")


class DISR(InformationMerit):
    r"""Double input symmetrical relevance: joint mutual information of pairs with the target, over their joint entropy.

    .. math:: M(S) = \frac{1}{|S| - 1} \sum_{i < j \in S} \frac{I(i, j; Y)}{H(i, j, Y)}, \qquad M(\{j\}) = I(j; Y)

    Parameters
    ----------
    {missing}
    {discretization}
    {correction}

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL; with correction="chance" where counts are not whole numbers.

    Notes
    -----
    Cost O(n), and the cells of its contingency tables, for each pair of columns that a search needs: k p pairs where a forward
    search selects k of p columns.
    Merits of one column are in bits, and those of larger sets are shares: pass `n_features`.

    References
    ----------
    Meyer and Bontempi (2006), On the use of variable complementarity for feature selection in cancer classification, EvoWorkshops.
    Brown, Pocock, Zhao and Luján (2012), Conditional likelihood maximisation: a unifying framework for information theoretic
    feature selection, JMLR 13.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import DISR, EqualFrequency
    >>> from tamiz.search import Forward
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SubsetSelector(DISR(discretization=EqualFrequency(5)), Forward(), n_features=3).fit(X, y).get_support(indices=True)
    array([20, 22, 23])
    """

    formula: ClassVar[Formula] = Formula("DISR", _missing_relevances, "mean")


class CMIM(InformationMerit):
    r"""Conditional mutual information maximisation: the least information that each column adds to one before it, in bits.

    .. math:: M(S) = I(s_1; Y) + \sum_{t > 1} \min_{u < t} I(s_t; Y | s_u)

    Parameters
    ----------
    {missing}
    {discretization}
    {correction}

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL; with correction="chance" where counts are not whole numbers.

    Notes
    -----
    The columns s_1, s_2, ... of a set are ordered greedily: each is the one with the largest gain, the first of equals. A forward
    search therefore is the algorithm of the paper. Its fast version also includes I(j; Y) in the minimum, and does not see synergy.

    Cost O(n), and the cells of its contingency tables, for each pair of columns that a search needs: k p pairs where a forward
    search selects k of p columns.
    A set of m columns then costs O(m^2).

    References
    ----------
    Fleuret (2004), Fast binary feature selection with conditional mutual information, JMLR 5.
    Brown, Pocock, Zhao and Luján (2012), Conditional likelihood maximisation: a unifying framework for information theoretic
    feature selection, JMLR 13.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CMIM
    >>> from tamiz.search import Forward
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SubsetSelector(CMIM(), Forward(), n_features=3).fit(X, y).get_support(indices=True)
    array([ 7, 22, 27])
    """

    formula: ClassVar[Formula] = Formula("CMIM", _lost_information, "greedy")
