"""Merits of relevance, redundancy and conditional redundancy in pairs: CIFE, ICAP, JMI, DISR and CMIM."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tamiz.arrays import Floats, divide_or_zero
from tamiz.criteria.association_matrix import AssociationMatrix
from tamiz.criteria.information_merit import GreedyEvaluator, InformationEvaluator, InformationMerit, PairSumEvaluator
from tamiz.criteria.joint_information import PairInformation


class CIFE(InformationMerit):
    r"""Conditional infomax feature extraction: relevance minus redundancy plus conditional redundancy in pairs, in bits.

    .. math:: M(S) = \sum_{j \in S} I(j; Y) - \sum_{i < j \in S} \bigl(I(i; j) - I(i; j | Y)\bigr)

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL for classes; for a numeric
        target EqualFrequency with 3 to 10 intervals, the cube root of n / 5, so that tables of three have about 5 rows in a cell.
    correction : {"none", "chance"}, default="none"
        With "chance" the expectation under independence is subtracted from all information. Without it columns of many values, such
        as a patient number, score high by chance: `SubsetSelector` warns of those that it selects.

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

    label: ClassVar[str] = "CIFE"

    def _terms(self, pairs: PairInformation) -> Floats:
        return pairs.redundancies - pairs.conditional

    def _make_evaluator(self, relevances: Floats, matrix: AssociationMatrix) -> InformationEvaluator:
        return PairSumEvaluator(self.label, relevances, matrix, weight=1.0, by_size=False)


class ICAP(InformationMerit):
    r"""Interaction capping: relevance minus the redundancy that exceeds the conditional redundancy in pairs, in bits.

    .. math:: M(S) = \sum_{j \in S} I(j; Y) - \sum_{i < j \in S} \max\bigl(0, I(i; j) - I(i; j | Y)\bigr)

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL for classes; for a numeric
        target EqualFrequency with 3 to 10 intervals, the cube root of n / 5, so that tables of three have about 5 rows in a cell.
    correction : {"none", "chance"}, default="none"
        With "chance" the expectation under independence is subtracted from all information. Without it columns of many values, such
        as a patient number, score high by chance: `SubsetSelector` warns of those that it selects.

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

    label: ClassVar[str] = "ICAP"

    def _terms(self, pairs: PairInformation) -> Floats:
        return np.maximum(pairs.redundancies - pairs.conditional, 0.0)

    def _make_evaluator(self, relevances: Floats, matrix: AssociationMatrix) -> InformationEvaluator:
        return PairSumEvaluator(self.label, relevances, matrix, weight=1.0, by_size=False)


class JMI(InformationMerit):
    r"""Joint mutual information of pairs of columns with the target, in bits; a good default of the family.

    .. math:: M(S) = \frac{1}{|S| - 1} \sum_{i < j \in S} I(i, j; Y), \qquad M(\{j\}) = I(j; Y)

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL for classes; for a numeric
        target EqualFrequency with 3 to 10 intervals, the cube root of n / 5, so that tables of three have about 5 rows in a cell.
    correction : {"none", "chance"}, default="none"
        With "chance" the expectation under independence is subtracted from all information. Without it columns of many values, such
        as a patient number, score high by chance: `SubsetSelector` warns of those that it selects.

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

    label: ClassVar[str] = "JMI"

    def _terms(self, pairs: PairInformation) -> Floats:
        return pairs.redundancies - pairs.conditional

    def _make_evaluator(self, relevances: Floats, matrix: AssociationMatrix) -> InformationEvaluator:
        return PairSumEvaluator(self.label, relevances, matrix, weight=1.0, by_size=True)


class DISR(InformationMerit):
    r"""Double input symmetrical relevance: joint mutual information of pairs with the target, over their joint entropy.

    .. math:: M(S) = \frac{1}{|S| - 1} \sum_{i < j \in S} \frac{I(i, j; Y)}{H(i, j, Y)}, \qquad M(\{j\}) = I(j; Y)

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL for classes; for a numeric
        target EqualFrequency with 3 to 10 intervals, the cube root of n / 5, so that tables of three have about 5 rows in a cell.
    correction : {"none", "chance"}, default="none"
        With "chance" the expectation under independence is subtracted from all information. Without it columns of many values, such
        as a patient number, score high by chance: `SubsetSelector` warns of those that it selects.

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

    label: ClassVar[str] = "DISR"

    def _terms(self, pairs: PairInformation) -> Floats:
        # The evaluator subtracts the terms from the relevances: what is left is the ratio.
        joint = pairs.relevances - pairs.redundancies + pairs.conditional
        return pairs.relevances - divide_or_zero(joint, pairs.joint_entropies)

    def _make_evaluator(self, relevances: Floats, matrix: AssociationMatrix) -> InformationEvaluator:
        return PairSumEvaluator(self.label, relevances, matrix, weight=1.0, by_size=True)


class CMIM(InformationMerit):
    r"""Conditional mutual information maximisation: the least information that each column adds to one before it, in bits.

    .. math:: M(S) = I(s_1; Y) + \sum_{t > 1} \min_{u < t} I(s_t; Y | s_u)

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL for classes; for a numeric
        target EqualFrequency with 3 to 10 intervals, the cube root of n / 5, so that tables of three have about 5 rows in a cell.
    correction : {"none", "chance"}, default="none"
        With "chance" the expectation under independence is subtracted from all information. Without it columns of many values, such
        as a patient number, score high by chance: `SubsetSelector` warns of those that it selects.

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

    label: ClassVar[str] = "CMIM"

    def _terms(self, pairs: PairInformation) -> Floats:
        # I(j; Y | i) is the relevance of j minus this.
        return pairs.redundancies - pairs.conditional

    def _make_evaluator(self, relevances: Floats, matrix: AssociationMatrix) -> InformationEvaluator:
        return GreedyEvaluator(self.label, relevances, matrix, by_quotient=False)
