"""The test of Gaussian components: the largest contrast of any direction in normal rows, by the expected Euler characteristic.

For normal rows, the mean of log cosh along a unit vector w, less its expectation, is asymptotically a Gaussian field
on the sphere. Whitened rows have the mean 0 and the variance 1 along every w, so of the Hermite expansion of log cosh
only the even terms from 4 on remain. The probability that the field exceeds a level u anywhere is approximately the
expected Euler characteristic of the set where it does, which has a closed form (Adler and Taylor 2007).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tamiz.arrays import Floats

# Nodes of the quadrature of expectations of a normal variable, and terms of the Hermite expansion.
_N_NODES, _N_TERMS = 200, 60
# Distance of the levels at which the Euler characteristic is compared with 1, in units of the deviation of the field.
_LEVEL_STEP = 0.05


@dataclass(frozen=True)
class _NormalContrast:
    """The contrast of a standard normal variable.

    Attributes
    ----------
    mean : float
        The expectation of log cosh.
    deviation : float
        The standard deviation of log cosh without its terms of degree 0 and 2.
    slope : float
        The sum of the degrees of the terms, weighted by their shares of the variance: the derivative of the
        correlation of the field of two directions by the cosine of their angle, at 1.
    """

    mean: float
    deviation: float
    slope: float


@cache
def _normal_contrast() -> _NormalContrast:
    nodes, weights = special.roots_hermitenorm(_N_NODES)
    weights = weights / weights.sum()
    values = np.logaddexp(nodes, -nodes) - math.log(2.0)
    degrees = np.arange(4, _N_TERMS, 2)
    # With normalised polynomials a coefficient is the square root of the variance of its term.
    variances = np.array(
        [(weights @ (values * special.eval_hermitenorm(j, nodes))) ** 2 / special.factorial(j) for j in degrees]
    )
    total = float(variances.sum())
    return _NormalContrast(float(weights @ values), math.sqrt(total), float(degrees @ variances) / total)


def contrast(log_cosh: Floats) -> Floats:
    """Return the mean of log cosh of sources less that of a standard normal variable; below 0 for super-Gaussian sources."""
    return log_cosh - _normal_contrast().mean


def gaussian_p_values(log_cosh: Floats, n_rows: int) -> Floats:
    """Return for each source the probability that normal rows have a contrast as large as its own, of shape (k,).

    Sources are sorted by the size of their contrast. The one of rank r is compared with the largest contrast of any
    direction in the k - r + 1 dimensions of itself and the sources after it, and its probability is at least that of
    the sources before it.
    """
    normal, sizes = _normal_contrast(), np.abs(contrast(log_cosh))
    order = np.argsort(-sizes, kind="stable")
    levels = sizes[order] * math.sqrt(n_rows) / normal.deviation
    found = np.empty(len(sizes))
    found[order] = np.maximum.accumulate(exceedance_probabilities(levels, np.arange(len(sizes), 0, -1)))
    return found


def exceedance_probabilities(levels: Floats, n_dimensions: NDArray[np.int64]) -> Floats:
    """Return the probabilities, at most 1, that the absolute field exceeds a level in some direction of a space, of shape (m,).

    Parameters
    ----------
    levels : ndarray of shape (m,)
    n_dimensions : ndarray of shape (m,), int64
        The dimensions of the space of each level.
    """
    # From the last root on all Hermite polynomials are positive, and the Euler characteristic falls with the level. Below the
    # level where it last reaches 1 it is no probability.
    grids = [
        np.append(level, np.arange(level + _LEVEL_STEP, last_root + _LEVEL_STEP, _LEVEL_STEP))
        for level, last_root in zip(levels, 2.0 * np.sqrt(n_dimensions), strict=True)
    ]
    sizes = np.array([len(grid) for grid in grids])
    starts = np.cumsum(sizes) - sizes
    found = _euler_characteristics(np.concatenate(grids), np.repeat(n_dimensions, sizes))
    return np.where(np.maximum.reduceat(found, starts) >= 1.0, 1.0, np.maximum(found[starts], 0.0))


def _euler_characteristics(levels: Floats, n_dimensions: NDArray[np.int64]) -> Floats:
    """Return the expected Euler characteristic of the directions, up to sign, in which the absolute field exceeds each level."""
    top = n_dimensions - 1
    slope = _normal_contrast().slope
    # Degree 0: half of the sphere for each of the two signs.
    total = np.where(top % 2 == 0, special.erfc(levels / math.sqrt(2.0)), 0.0)
    # Hermite polynomials of degree j - 1 divided by the square root of (j - 1)!.
    before, hermite = np.zeros(len(levels)), np.ones(len(levels))
    for j in range(1, int(top.max()) + 1):
        own = np.flatnonzero((top >= j) & ((top - j) % 2 == 0))
        dimension, here = np.arange(j, top.max() + 1), hermite[own]
        log_volume = (
            math.log(2.0)
            + special.gammaln(dimension + 1) - special.gammaln(j + 1) - special.gammaln(dimension - j + 1)
            + _log_sphere_area(dimension) - _log_sphere_area(dimension - j)
            + 0.5 * j * math.log(slope)
        )  # fmt: skip
        log_scale = log_volume - 0.5 * (j + 1) * math.log(2.0 * math.pi) + 0.5 * special.gammaln(j)
        total[own] += np.sign(here) * np.exp(
            log_scale[top[own] - j]
            + np.log(np.maximum(np.abs(here), np.finfo(np.float64).tiny))
            - levels[own] ** 2 / 2.0
        )
        before, hermite = hermite, (levels * hermite - math.sqrt(j - 1) * before) / math.sqrt(j)
    return total


def _log_sphere_area(dimension: NDArray[np.int64]) -> Floats:
    """Return the logarithms of the areas of the unit spheres of some dimensions."""
    half = (dimension + 1) / 2.0
    return np.asarray(math.log(2.0) + half * math.log(math.pi) - special.gammaln(half))
