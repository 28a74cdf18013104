"""Is the stress of a map lower than that of a map of nothing? A permutation test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from tamiz.comparison.null import clone_estimator, create_null, fit_map
from tamiz.comparison.permutations import lower_p_value
from tamiz.display.chance import draw_null_histogram
from tamiz.random import Seed, make_rng
from tamiz.statistics.base import Floats
from tamiz.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class StressTest:
    """The stress of a map beside that of maps of permuted data.

    Attributes
    ----------
    estimator : BaseEstimator
        Fitted to the data as they are.
    stress : float
        Kruskal's stress-1 of that map.
    null_stress : ndarray of shape (n_permutations,)
        The stress of the maps of permuted data.
    p_value : float
        The share of orders with a stress as small, the given one among them.
    permute : str
        What was permuted: "columns" or "pairs".
    """

    estimator: BaseEstimator
    stress: float
    null_stress: Floats
    p_value: float
    permute: str

    def __repr__(self) -> str:
        return (
            f"<StressTest: stress={self.stress:.4f}, p={self.p_value:.4g}, {len(self.null_stress):,} permutations of "
            f"{self.permute} from {self.null_stress.min():.4f}>"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the stress of the maps of permuted data, and the one found.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return draw_null_histogram(self.null_stress, self.stress, "Kruskal's stress-1", self.p_value, ax)


def stress_test(
    X: Any,
    *,
    estimator: BaseEstimator | None = None,
    permute: str | None = None,
    weights: Any = None,
    n_permutations: int = 99,
    random_state: Seed = None,
) -> StressTest:
    """Return how likely a stress as small is when the data have no structure: when they are permuted.

    Parameters
    ----------
    X : array, data frame or Source
        What the estimator maps: rows, or numbers of their pairs.
    estimator : MDS, default=None
        Not fitted; None is `MDS()`.
    permute : {"columns", "pairs"}, default=None
        What chance is. "columns": every column of the table in an order of its own; the null hypothesis is that the columns are
        independent, each with the values it has. "pairs": the dissimilarities that are present, each at another pair; the null
        hypothesis is that any dissimilarity could be that of any pair. Missing ones and weights stay where they are. None is
        "columns" for rows, and "pairs" where dissimilarities or similarities are given.
    weights : array-like of shape (n_samples, n_samples), default=None
        Of pairs, as in `MDS.fit`.
    n_permutations : int, default=99
    random_state : int, Generator or None, default=None
        Of the permutations, and of random starts of their maps.

    Returns
    -------
    StressTest

    Raises
    ------
    ValueError
        When columns are to be permuted and no rows are given.

    Notes
    -----
    Every permutation is mapped as the data are, p is (1 + the maps of permuted data with a stress as small) / (1 + all). "pairs" is
    an easy null: permuted distances break the triangle inequality, so that nearly all that are distances of anything pass; it tells
    noise from structure and not a good map from a bad one. "columns" leaves the distances of a table.

    Cost that of n_permutations + 1 maps, two or more at a time up to 2,000 rows; "pairs" takes memory O(n^2) for each of these.

    References
    ----------
    Mair, Borg and Rusch (2016), Goodness-of-fit assessment in multidimensional scaling and unfolding, Multivariate Behavioral
    Research 51; Spence and Ogilvie (1973), A table of expected stress values for random rankings in nonmetric multidimensional
    scaling, Multivariate Behavioral Research 8.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.comparison import stress_test
    >>> X = load_iris().data[::5]
    >>> tested = stress_test(X, n_permutations=19, random_state=0)
    >>> tested.p_value, bool(tested.stress < tested.permuted.min())
    (0.05, True)
    """
    n_permutations = check_integer("n_permutations", n_permutations, low=1)
    mapped = fit_map(clone_estimator(estimator), X, weights)
    permute, model = create_null(X, mapped, weights, permute)
    permuted = model.draw_stress([mapped.n_components], n_permutations, make_rng(random_state))[:, 0]
    stress = float(mapped.stress_)
    return StressTest(mapped, stress, permuted, lower_p_value(permuted, stress), permute)
