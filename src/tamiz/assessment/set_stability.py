"""Stability of column sets that were selected on different samples of the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tamiz.exceptions import DataError
from tamiz.runtime.codec import JsonResult


@dataclass(frozen=True, eq=False)
class Stability(JsonResult):
    """The stability of a selection.

    Attributes
    ----------
    estimate : float
        1 if all sets are equal, about 0 if they agree like random sets, negative if they agree less.
    variance : float
        The variance of the estimate.
    low, high : float
        The 95 % confidence interval, cut at 1.
    n_sets, n_columns : int
    mean_size : float
        The mean number of columns in a set.
    """

    json_properties: ClassVar[tuple[str, ...]] = ("sentence",)

    estimate: float
    variance: float
    low: float
    high: float
    n_sets: int
    n_columns: int
    mean_size: float

    @property
    def sentence(self) -> str:
        """The estimate with its interval and meaning, in words."""
        values = f"{self.estimate:.2f} (95% interval {self.low:.2f} to {self.high:.2f})"
        if not self.mean_size:
            return f"{values}: none of the {self.n_sets} folds selects a column."
        if self.low == self.high == 1.0:
            return f"{values}: all {self.n_sets} folds select the same columns."
        return f"{values}; 1: every fold selects the same columns, 0: no more agreement than random sets."


def stability(sets: ArrayLike) -> Stability:
    """Return the stability of column sets, corrected for chance agreement.

    .. math::

        \\Phi = 1 - \\frac{\\frac{1}{d} \\sum_f s_f^2}{\\frac{\\bar k}{d} (1 - \\frac{\\bar k}{d})}, \\quad
        s_f^2 = \\frac{M}{M - 1} p_f (1 - p_f)

    with :math:`p_f` the share of the M sets that contain column f, d columns, and :math:`\\bar k` the mean size of a set.

    Parameters
    ----------
    sets : array-like of shape (n_sets, n_columns), bool
        A row for every set, True for its columns.

    Returns
    -------
    Stability
        The estimate, its variance, and the 95 % confidence interval by the normal distribution.

    Notes
    -----
    If every set contains all columns, or none, the quotient is 0 / 0; the sets are then equal, and the estimate is 1 with a
    variance of 0, as for all other equal sets.

    Folds share most of their rows, so their sets agree more than sets from new rows would.

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
    masks = np.asarray(sets)
    if masks.ndim != 2 or masks.shape[1] == 0 or not np.isin(masks, (0, 1)).all():
        raise DataError(f"sets must be a matrix of 0 and 1, a row for every set of columns, got shape {masks.shape}.")
    n_sets, n_columns = masks.shape
    if n_sets < 2:
        raise DataError(f"Stability compares sets of columns: at least 2 are needed, got {n_sets}.")
    masks = masks.astype(np.float64)
    share = masks.mean(axis=0)
    fill = masks.mean(axis=1)
    mean = float(fill.mean())
    size = float(masks.sum()) / n_sets
    if (masks == masks[0]).all():
        return Stability(1.0, 0.0, 1.0, 1.0, n_sets, n_columns, size)
    by_chance = mean * (1 - mean)
    estimate = 1 - float((share * (1 - share)).mean()) * n_sets / (n_sets - 1) / by_chance
    own = (masks @ share / n_columns - fill * mean + estimate / 2 * (2 * fill * mean - fill - mean + 1)) / by_chance
    variance = 4 / n_sets**2 * float(((own - own.mean()) ** 2).sum())
    half = float(special.ndtri(0.975)) * variance**0.5
    return Stability(estimate, variance, estimate - half, min(estimate + half, 1.0), n_sets, n_columns, size)
