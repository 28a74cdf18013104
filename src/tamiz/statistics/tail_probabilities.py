"""Logarithms of the tail probabilities of the F and the chi-squared distribution, finite where the probabilities underflow."""

from __future__ import annotations

import numpy as np
from scipy import special

from tamiz.arrays import Floats, Masks

# Probabilities above this have all their digits; smaller ones are computed as logarithms, by continued fractions.
_MIN_PROBABILITY = 1e-290
# The smallest share of the variance within groups: with it, an infinite F has a finite logarithm.
_LOG_TINY = float(np.log(np.finfo(np.float64).tiny))
_MAX_TERMS = 100_000


def log_f_sf(statistic: Floats, df_between: Floats, df_within: Floats) -> Floats:
    r"""Return the logarithm of P(F > statistic), natural.

    .. math:: P(F > f) = I_x(d_2 / 2, d_1 / 2), \qquad x = \frac{d_2}{d_2 + d_1 f}

    with the regularised incomplete beta function I.

    Parameters
    ----------
    statistic, df_between, df_within : ndarray of shape (n_tests,)
        F, from 0 to infinity, and its degrees of freedom d1 and d2; an infinite F counts as the one with x = 2.2e-308.

    Returns
    -------
    ndarray of shape (n_tests,)
        At most 0 and finite, with a relative error of about 1e-10; NaN where F is NaN.

    Notes
    -----
    Where the probability underflows, the continued fraction of the incomplete beta function is evaluated, which needs
    O(sqrt(d1 + d2)) terms (Press, Teukolsky, Vetterling and Flannery 2007, Numerical Recipes, section 6.4).
    """
    f, d1, d2 = (np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (statistic, df_between, df_within))
    f, d1, d2 = np.broadcast_arrays(f, d1, d2)
    a, b = d2 / 2, d1 / 2
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        odds = d1 / d2 * f
        # x or 1 - x, whichever is smaller and has all its digits.
        probability = np.where(
            odds < 1, special.betaincc(b, a, odds / (1 + odds)), special.betainc(a, b, 1 / (1 + odds))
        )
        logs = np.log(probability)
    small = np.flatnonzero(probability < _MIN_PROBABILITY)
    if small.size:
        a, b = a[small], b[small]
        with np.errstate(over="ignore"):
            log_x = np.maximum(-np.log1p(odds[small]), _LOG_TINY)
        x = np.exp(log_x)
        fraction = _beta_fraction(a, b, x)
        logs[small] = a * log_x + b * np.log1p(-x) - special.betaln(a, b) - np.log(a) + np.log(fraction)
    return np.minimum(logs, 0.0)


def log_chi2_sf(statistic: Floats, df: Floats) -> Floats:
    r"""Return the logarithm of P(X > statistic) of the chi-squared distribution, natural.

    .. math:: P(X > s) = Q(d / 2, s / 2)

    with the regularised upper incomplete gamma function Q.

    Parameters
    ----------
    statistic, df : ndarray of shape (n_tests,)
        Finite statistics of at least 0, and their degrees of freedom d.

    Returns
    -------
    ndarray of shape (n_tests,)
        At most 0 and finite, with a relative error of about 1e-10; NaN where the statistic is NaN.

    Notes
    -----
    Where the probability underflows, the continued fraction of the incomplete gamma function is evaluated, which needs O(sqrt(d))
    terms (Press, Teukolsky, Vetterling and Flannery 2007, Numerical Recipes, section 6.2).
    """
    s, d = np.broadcast_arrays(*(np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (statistic, df)))
    a, x = d / 2, s / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        probability = special.gammaincc(a, x)
        logs = np.log(probability)
    small = np.flatnonzero(probability < _MIN_PROBABILITY)
    if small.size:
        a, x = a[small], x[small]
        logs[small] = a * np.log(x) - x - special.gammaln(a) + np.log(_gamma_fraction(a, x))
    return np.minimum(logs, 0.0)


def _beta_fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """Return the continued fraction of I_x(a, b) for x < (a + 1) / (a + b + 2), by the modified method of Lentz."""
    d = 1 / (1 - (a + b) * x / (a + 1))
    c, value, converged = np.ones_like(x), d.copy(), np.zeros(x.shape, dtype=bool)
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / (1 + even * d), 1 + even / c
        value *= np.where(converged, 1.0, d * c)
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / (1 + odd * d), 1 + odd / c
        value *= np.where(converged, 1.0, d * c)
        converged |= _is_near_one(d * c)
        if converged.all():
            break
    return value


def _gamma_fraction(a: Floats, x: Floats) -> Floats:
    """Return the continued fraction of Q(a, x) for x > a + 1, by the modified method of Lentz."""
    partial = x + 1 - a
    c, d = np.full_like(x, np.inf), 1 / partial
    value, converged = d.copy(), np.zeros(x.shape, dtype=bool)
    for m in range(1, _MAX_TERMS):
        numerator = -m * (m - a)
        partial = partial + 2
        d, c = 1 / (numerator * d + partial), partial + numerator / c
        value *= np.where(converged, 1.0, d * c)
        converged |= _is_near_one(d * c)
        if converged.all():
            break
    return value


def _is_near_one(factor: Floats) -> Masks:
    """Return whether a factor no longer changes the value. Later factors differ from 1 by rounding errors, at times by more."""
    return np.asarray(np.abs(factor - 1) < 4 * np.finfo(np.float64).eps)
