"""Information gain, and its ratio to the entropy of the column."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tamiz.arrays import Floats, divide_or_zero
from tamiz.criteria.entropy_relevance import EntropyRelevance


class InformationGain(EntropyRelevance):
    """Mutual information of a column and the target, in bits.

    .. math:: I(X; Y) = H(X) + H(Y) - H(X, Y)

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL, which requires classes.

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL.

    Notes
    -----
    Cost O(n p), and O(n log n) for each numeric column. A constant column scores 0, and so does a numeric column that MDL does not
    cut.

    Columns with many values score high by chance. GainRatio and SymmetricUncertainty divide by their entropy, which reduces this
    and does not remove it. `RankSelector` warns of selected categorical columns of more than ten values whose information is not
    above chance. A forward search for `MIM(correction="chance")` ranks columns by the information above its expectation by chance.

    References
    ----------
    Quinlan (1986), Induction of decision trees, Machine Learning 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import InformationGain
    >>> iris = load_iris(as_frame=True)
    >>> RankSelector(InformationGain()).fit(iris.data, iris.target).scores_.round(3)
    array([0.698, 0.386, 1.418, 1.378])
    """

    def _score(self, column: Floats, target: Floats, mutual: Floats) -> Floats:  # noqa: ARG002 - one signature for all
        return mutual


class GainRatio(EntropyRelevance):
    """Information gain divided by the entropy of the column in the same intervals, in [0, 1].

    .. math:: GR(X, Y) = I(X; Y) / H(X)

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL, which requires classes.

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL.

    Notes
    -----
    Cost as InformationGain. A constant column scores 0. A column with a small entropy can score high with little information.

    References
    ----------
    Quinlan (1986), Induction of decision trees, Machine Learning 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import GainRatio
    >>> iris = load_iris(as_frame=True)
    >>> RankSelector(GainRatio()).fit(iris.data, iris.target).scores_.round(3)
    array([0.381, 0.247, 0.734, 0.871])
    """

    unit: ClassVar[str] = ""

    def _score(self, column: Floats, target: Floats, mutual: Floats) -> Floats:  # noqa: ARG002 - one signature for all
        return np.minimum(divide_or_zero(mutual, column), 1.0)
