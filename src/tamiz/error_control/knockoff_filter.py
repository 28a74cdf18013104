"""The knockoff filter: thresholds of antisymmetric statistics, and e-values that combine several draws of knockoffs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz.statistics.base import Floats

# Relative rounding error that is allowed where an estimate equals the bound, such as 3 / 30 and 0.1.
_ROUNDING = 1e-12


def knockoff_threshold(statistics: Floats, fdr: float, *, offset: int = 1) -> float:
    """Return the smallest threshold with an estimated false discovery proportion of at most `fdr`, infinity if there is none.

    .. math:: T = \\min\\Big\\{t > 0 : \\frac{c + \\#\\{j : W_j \\le -t\\}}{\\max(1, \\#\\{j : W_j \\ge t\\})} \\le q\\Big\\}

    Parameters
    ----------
    statistics : ndarray of shape (n_columns,)
        W: positive where the column is more important than its knockoff.
    fdr : float
        q.
    offset : {0, 1}, default=1
        c.

    Examples
    --------
    >>> import numpy as np
    >>> knockoff_threshold(np.array([5.0, 4.0, 3.0, -2.0, 1.0]), 0.4)
    3.0
    """
    thresholds, estimates = estimated_proportions(statistics, offset=offset)
    below = np.flatnonzero(estimates <= fdr * (1 + _ROUNDING))
    return float(thresholds[below[0]]) if len(below) else np.inf


def estimated_proportions(statistics: Floats, *, offset: int = 1) -> tuple[Floats, Floats]:
    """Return the possible thresholds, ascending, and the estimated false discovery proportion at each."""
    thresholds = np.unique(np.abs(statistics[statistics != 0]))
    ascending, negated = np.sort(statistics), np.sort(-statistics)
    n_selected = len(statistics) - np.searchsorted(ascending, thresholds)
    n_negative = len(statistics) - np.searchsorted(negated, thresholds)
    return thresholds, (offset + n_negative) / np.maximum(1, n_selected)


def knockoff_e_values(statistics: Floats, fdr: float) -> tuple[Floats, float]:
    """Return the e-values of a draw of knockoffs, and the threshold.

    .. math:: e_j = \\frac{p \\, 1\\{W_j \\ge T\\}}{1 + \\#\\{k : W_k \\le -T\\}}

    Parameters
    ----------
    statistics : ndarray of shape (n_columns,)
    fdr : float
        The bound of the threshold T, with offset 1.

    References
    ----------
    Ren and Barber (2024), Derandomised knockoffs: leveraging e-values for false discovery rate control, Journal of the
    Royal Statistical Society B 86.

    Examples
    --------
    >>> import numpy as np
    >>> knockoff_e_values(np.array([5.0, 4.0, 3.0, -2.0, 1.0]), 0.4)
    (array([5., 5., 5., 0., 0.]), 3.0)
    """
    threshold = knockoff_threshold(statistics, fdr)
    n_negative = np.count_nonzero(statistics <= -threshold)
    return np.where(statistics >= threshold, len(statistics) / (1 + n_negative), 0.0), threshold


def select_by_e_values(e_values: Floats, fdr: float) -> NDArray[np.bool_]:
    """Return what the e-BH procedure selects: the k largest e-values, for the largest k with all of them at least n / (q k).

    Parameters
    ----------
    e_values : ndarray of shape (n,)
        Their expectations under the null hypotheses sum to at most n.
    fdr : float
        q, the bound of the false discovery rate.

    References
    ----------
    Wang and Ramdas (2022), False discovery rate control with e-values, Journal of the Royal Statistical Society B 84.

    Examples
    --------
    >>> import numpy as np
    >>> select_by_e_values(np.array([8.0, 0.0, 7.0, 1.0]), 0.3)
    array([ True, False,  True, False])
    """
    descending = np.sort(e_values)[::-1]
    ranks = np.arange(1, len(e_values) + 1)
    enough = np.flatnonzero(descending * fdr * ranks >= len(e_values) * (1 - _ROUNDING))
    return e_values >= descending[enough[-1]] if len(enough) else np.zeros(len(e_values), dtype=bool)
