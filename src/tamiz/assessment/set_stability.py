"""How much sets of columns, chosen from samples of the same rows, are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tamiz.exceptions import DataError


@dataclass(frozen=True)
class Stability:
    """The stability of a choice of columns.

    Attributes
    ----------
    estimate : float
        1 where all sets are the same, about 0 where they have no more in common than sets drawn at random, below 0 where less.
    variance : float
        Of the estimate.
    low, high : float
        The 95 % interval, cut at 1.
    n_sets, n_columns : int
    mean_size : float
        The number of columns in a set, on average.
    """

    estimate: float
    variance: float
    low: float
    high: float
    n_sets: int
    n_columns: int
    mean_size: float

    @property
    def sentence(self) -> str:
        """What the number says."""
        told = f"{self.estimate:.2f} ({self.low:.2f} to {self.high:.2f})"
        if not self.mean_size:
            return f"{told}: no column in any of the {self.n_sets} sets."
        if self.low == self.high == 1.0:
            return f"{told}: the same columns in all {self.n_sets} sets."
        return f"{told}; 1 is the same columns every time, 0 what sets drawn at random have in common."


def stability(sets: ArrayLike) -> Stability:
    """Return how much sets of columns are alike, corrected for what chance makes alike.

    .. math::

        \\Phi = 1 - \\frac{\\frac{1}{d} \\sum_f s_f^2}{\\frac{\\bar k}{d} (1 - \\frac{\\bar k}{d})}, \\quad
        s_f^2 = \\frac{M}{M - 1} p_f (1 - p_f)

    with :math:`p_f` the share of the M sets that hold column f, d columns, and :math:`\\bar k` the mean size of a set.

    Parameters
    ----------
    sets : array-like of shape (n_sets, n_columns), bool
        A row for every set, True for its columns.

    Returns
    -------
    Stability
        The estimate, its variance, and the 95 % interval by the normal distribution.

    Notes
    -----
    Where every set holds all columns, or none, the quotient is 0 / 0; the sets are then the same, and the estimate is 1 with a
    variance of 0, as for any other sets that are all the same.

    Sets from folds that share most of their rows are more alike than sets from new rows would be.

    References
    ----------
    Nogueira, Sechidis and Brown (2018), On the stability of feature selection algorithms, Journal of Machine Learning Research 18.

    Examples
    --------
    >>> from tamiz.assessment import stability
    >>> found = stability([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]])
    >>> round(found.estimate, 3), round(found.variance, 4)
    (0.333, 0.0329)
    """
    held = np.asarray(sets)
    if held.ndim != 2 or held.shape[1] == 0 or not np.isin(held, (0, 1)).all():
        raise DataError(f"sets must be a matrix of 0 and 1, a row for every set of columns, got shape {held.shape}.")
    n_sets, n_columns = held.shape
    if n_sets < 2:
        raise DataError(f"Stability compares sets of columns: at least 2 are needed, got {n_sets}.")
    held = held.astype(np.float64)
    share = held.mean(axis=0)
    filled = held.mean(axis=1)
    mean = float(filled.mean())
    size = float(held.sum()) / n_sets
    if (held == held[0]).all():
        return Stability(1.0, 0.0, 1.0, 1.0, n_sets, n_columns, size)
    by_chance = mean * (1 - mean)
    estimate = 1 - float((share * (1 - share)).mean()) * n_sets / (n_sets - 1) / by_chance
    own = (
        held @ share / n_columns - filled * mean + estimate / 2 * (2 * filled * mean - filled - mean + 1)
    ) / by_chance
    variance = 4 / n_sets**2 * float(((own - own.mean()) ** 2).sum())
    half = float(stats.norm.ppf(0.975)) * variance**0.5
    return Stability(estimate, variance, estimate - half, min(estimate + half, 1.0), n_sets, n_columns, size)
