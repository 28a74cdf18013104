"""MRMR: minimum redundancy, maximum relevance, by mutual information or by F statistics and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from tamiz.arrays import Floats, divide_or_zero
from tamiz.criteria.association_matrix import AssociationMatrix
from tamiz.criteria.base import gather_statistics
from tamiz.criteria.chance_information import InformationCorrection
from tamiz.criteria.column_pairs import MIN_COMMON_ROWS, count_common_rows
from tamiz.criteria.entropy_relevance import MissingRule
from tamiz.criteria.fisher import FisherScore
from tamiz.criteria.information_merit import (
    GreedyEvaluator,
    InformationEvaluator,
    InformationMerit,
    PairSumEvaluator,
    PairTerms,
)
from tamiz.criteria.joint_information import PairInformation
from tamiz.exceptions import DataError
from tamiz.runtime.validation import check_choice, check_memory
from tamiz.statistics.cross_products import ScatterMatrix
from tamiz.statistics.cuts import Discretization
from tamiz.statistics.moments import ClassMoments
from tamiz.table.base import Table
from tamiz.table.schema import Schema

PairMeasure = Literal["information", "correlation"]
Scheme = Literal["difference", "quotient"]
# A redundancy below this counts as this in a quotient, as in the package mrmr-selection.
_LEAST_REDUNDANCY = 0.001
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
    correction : {"none", "chance"}, default="none"
        With "chance" the expectation under independence is subtracted from all information. Without it columns of many values, such
        as a patient number, score high by chance: `SubsetSelector` warns of those that it selects.

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

    label: ClassVar[str] = "MRMR"
    uses_conditional: ClassVar[bool] = False

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

    def _terms(self, pairs: PairInformation) -> Floats:
        return pairs.redundancies

    def _make_evaluator(self, relevances: Floats, matrix: AssociationMatrix) -> InformationEvaluator:
        if self.scheme == "difference":
            return PairSumEvaluator(self.label, relevances, matrix, weight=1.0, by_size=True)
        return GreedyEvaluator(self.label, relevances, matrix, by_quotient=True, least_term=_LEAST_REDUNDANCY)


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
