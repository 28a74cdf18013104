"""Adjustment of p-values for the number of tests."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tamiz.arrays import Floats
from tamiz.runtime.validation import check_choice

Correction: TypeAlias = Literal["benjamini_hochberg", "benjamini_yekutieli", "holm", "bonferroni"]
CORRECTIONS: tuple[Correction, ...] = ("benjamini_hochberg", "benjamini_yekutieli", "holm", "bonferroni")


def adjust_p_values(p_values: ArrayLike, method: Correction = "benjamini_hochberg") -> Floats:
    r"""Return p-values adjusted for the number of tests.

    With the sorted p-values :math:`p_{(1)} \le \dots \le p_{(m)}`, the adjusted ones are at most 1 and

    .. math::
        \text{Benjamini-Hochberg: } \min_{k \ge i} \frac{m}{k} p_{(k)}, \qquad
        \text{Benjamini-Yekutieli: } \min_{k \ge i} \frac{m}{k} p_{(k)} \sum_{l=1}^m \frac{1}{l},

    .. math::
        \text{Holm: } \max_{k \le i} (m - k + 1) p_{(k)}, \qquad \text{Bonferroni: } m p_{(i)}.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        From 0 to 1; NaN where there was no test, which does not count.
    method : {"benjamini_hochberg", "benjamini_yekutieli", "holm", "bonferroni"}, default="benjamini_hochberg"
        The tests with an adjusted p-value of at most q have a false discovery rate of at most q with Benjamini-Hochberg, where the
        p-values are independent or positively dependent, and with Benjamini-Yekutieli under any dependence. The probability of
        any false discovery is at most q with Holm and Bonferroni; Holm is never less powerful.

    Returns
    -------
    ndarray of shape (n_tests,)
        NaN where the p-value is NaN.

    Raises
    ------
    ValueError
        When a p-value is below 0 or above 1, or the method is unknown.

    Notes
    -----
    Cost O(m log m).

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the false discovery rate, Journal of the Royal Statistical Society B 57.
    Benjamini and Yekutieli (2001), The control of the false discovery rate in multiple testing under dependency, Annals of
    Statistics 29. Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> from tamiz.criteria import adjust_p_values
    >>> adjust_p_values([0.01, 0.04, 0.03, 0.5])
    array([0.04      , 0.05333333, 0.05333333, 0.5       ])
    >>> adjust_p_values([0.01, 0.04, 0.03, 0.5], "bonferroni")
    array([0.04, 0.16, 0.12, 1.  ])
    """
    check_choice("method", method, CORRECTIONS)
    p = np.array(p_values, dtype=np.float64, ndmin=1)
    if p.ndim != 1:
        raise ValueError(f"p_values must have one dimension, got {p.ndim}: adjust each family of tests by itself.")
    outside = np.flatnonzero((p < 0) | (p > 1))
    if outside.size:
        raise ValueError(f"p_values must be from 0 to 1, got {p[outside[0]]:g} at position {outside[0]}.")
    tested = np.flatnonzero(~np.isnan(p))
    m = len(tested)
    if not m:
        return p
    order = tested[np.argsort(p[tested], kind="stable")]
    ranks = np.arange(1, m + 1)
    if method == "bonferroni":
        adjusted = m * p[order]
    elif method == "holm":
        adjusted = np.maximum.accumulate((m - ranks + 1) * p[order])
    else:
        factor = float((1 / ranks).sum()) if method == "benjamini_yekutieli" else 1.0
        adjusted = np.minimum.accumulate((factor * m / ranks * p[order])[::-1])[::-1]
    p[order] = np.minimum(adjusted, 1.0)
    return p
