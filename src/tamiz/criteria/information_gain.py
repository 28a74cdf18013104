"""Information gain."""

from __future__ import annotations

from tamiz.criteria.entropy_relevance import EntropyRelevance
from tamiz.statistics.base import Floats


class InformationGain(EntropyRelevance):
    """Information that a column gives about the target, in bits.

    .. math:: I(X; Y) = H(X) + H(Y) - H(X, Y)

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Share the counts of missing values out in proportion to the present ones, or make missing a value of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numbers are cut into intervals; None is MDL. A numeric target is cut likewise, and then needs one of the latter two.

    Raises
    ------
    DataError
        When there is no target, or a numeric one under MDL.

    Notes
    -----
    Cost O(n p), and O(n log n) for each numeric column. A constant column, and a numeric one that MDL leaves in one piece, scores
    0. Columns of many values score high by chance alone; GainRatio and SymmetricUncertainty allow for that.

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
