"""Information gain."""

from __future__ import annotations

from tamiz.criteria.entropy_relevance import EntropyRelevance
from tamiz.statistics.base import Floats


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
    cut. Columns with many values score high by chance; GainRatio and SymmetricUncertainty correct for that.

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
