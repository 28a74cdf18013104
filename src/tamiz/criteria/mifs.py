"""Merits of relevance, with or without redundancy in pairs: MIM and MIFS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tamiz.arrays import Floats
from tamiz.criteria.association_matrix import AssociationMatrix
from tamiz.criteria.chance_information import InformationCorrection
from tamiz.criteria.entropy_relevance import MissingRule
from tamiz.criteria.information_merit import InformationEvaluator, InformationMerit, PairSumEvaluator, PairTerms
from tamiz.criteria.joint_information import PairInformation
from tamiz.runtime.validation import check_real
from tamiz.statistics.cuts import Discretization
from tamiz.table.base import Table
from tamiz.table.schema import Schema


class MIM(InformationMerit):
    r"""Mutual information maximisation: the sum of the mutual information of each column with the target, in bits.

    .. math:: M(S) = \sum_{j \in S} I(j; Y)

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL for classes, and EqualFrequency(10)
        for a numeric target.
    correction : {"none", "chance"}, default="none"
        With "chance" the expectation under independence is subtracted from all information. Without it columns of many values, such
        as a patient number, score high by chance: `SubsetSelector` warns of those that it selects.

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

    label: ClassVar[str] = "MIM"
    uses_conditional: ClassVar[bool] = False

    def _pair_terms(self, tables: Sequence[Table]) -> PairTerms:
        """Return the relevances; no pair is counted."""
        pairs = super()._pair_terms(tables)
        return PairTerms(pairs.relevances, 0.0, lambda i, j: np.zeros(max(i.size, j.size)), pairs.information)

    def _terms(self, pairs: PairInformation) -> Floats:
        return np.zeros_like(pairs.redundancies)

    def _make_evaluator(self, relevances: Floats, matrix: AssociationMatrix) -> InformationEvaluator:
        return PairSumEvaluator(self.label, relevances, matrix, weight=0.0, by_size=False)


class MIFS(InformationMerit):
    r"""Mutual information feature selection: relevance of the columns minus their redundancy in pairs, in bits.

    .. math:: M(S) = \sum_{j \in S} I(j; Y) - \beta \sum_{i < j \in S} I(i; j)

    Parameters
    ----------
    beta : float, default=1.0
        Weight of the redundancy, at least 0.
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL for classes, and EqualFrequency(10)
        for a numeric target.
    correction : {"none", "chance"}, default="none"
        With "chance" the expectation under independence is subtracted from all information. Without it columns of many values, such
        as a patient number, score high by chance: `SubsetSelector` warns of those that it selects.

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

    label: ClassVar[str] = "MIFS"
    uses_conditional: ClassVar[bool] = False

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

    def _terms(self, pairs: PairInformation) -> Floats:
        return pairs.redundancies

    def _make_evaluator(self, relevances: Floats, matrix: AssociationMatrix) -> InformationEvaluator:
        return PairSumEvaluator(self.label, relevances, matrix, weight=float(self.beta), by_size=False)
