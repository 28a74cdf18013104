"""The vector s of Gaussian knockoffs: how much each knockoff differs from its column, `equicorrelated` and `mvr`.

The joint covariance of columns and knockoffs is

.. math:: G = \\begin{pmatrix} \\Sigma & \\Sigma - S \\\\ \\Sigma - S & \\Sigma \\end{pmatrix}, \\quad S = \\mathrm{diag}(s),

which is positive semidefinite where :math:`2 \\Sigma - S` and S are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamiz.arrays import Floats

METHODS = ("mvr", "equicorrelated")
# Steps whose rank-one updates of the inverse are applied at once, as one matrix product.
_BLOCK_STEPS = 32
_MAX_SWEEPS, _TOLERANCE = 200, 1e-7


def knockoff_variances(covariance: Floats, method: str, check: Callable[[], None] = lambda: None) -> Floats:
    """Return the vector s of a method.

    Parameters
    ----------
    covariance : ndarray of shape (p, p)
        Positive definite.
    method : {"mvr", "equicorrelated"}
    check : callable, optional
        Called before every sweep; it raises an error to end the computation.

    Returns
    -------
    ndarray of shape (p,)
        In the units of the variances. Without columns it is empty.
    """
    if not len(covariance):
        return np.empty(0)
    std = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(std, std)
    return (equicorrelated(correlation) if method == "equicorrelated" else mvr(correlation, check)) * std**2


def equicorrelated(correlation: Floats) -> Floats:
    """Return the same s for all columns, the largest that is allowed: min(2 lambda_min, 1).

    Parameters
    ----------
    correlation : ndarray of shape (p, p)
        Its smallest eigenvalue is lambda_min.

    Notes
    -----
    Cost O(p^3).

    References
    ----------
    Barber and Candès (2015), Controlling the false discovery rate via knockoffs, Annals of Statistics 43.

    Examples
    --------
    >>> import numpy as np
    >>> equicorrelated(np.array([[1.0, 0.8], [0.8, 1.0]])).round(6)
    array([0.4, 0.4])
    """
    smallest = float(np.linalg.eigvalsh(correlation)[0])
    return np.full(len(correlation), min(max(2 * smallest, 0.0), 1.0))


def mvr(correlation: Floats, check: Callable[[], None] = lambda: None) -> Floats:
    """Return the s of minimum variance-based reconstructability, which minimises the trace of the inverse of G.

    .. math:: L(s) = \\mathrm{tr}(G^{-1}) = \\sum_j 1 / s_j + \\mathrm{tr}((2 \\Sigma - S)^{-1})

    Parameters
    ----------
    correlation : ndarray of shape (p, p)
        Positive definite.
    check : callable, optional
        As in `knockoff_variances`.

    Notes
    -----
    L is convex. Coordinate descent: with :math:`A = (2 \\Sigma - S)^{-1}` and its column :math:`a_j`, the change d of
    :math:`s_j` changes A by the rank-one matrix :math:`d a_j a_j^T / (1 - d A_{jj})`, and the best change is :math:`(1
    - \\|a_j\\| s_j) / (\\|a_j\\| + A_{jj})`. Sweeps end when no s changes by more than 1e-7 of itself. Cost O(p^3) for
    a sweep; the inverse is computed again for each, so that rounding errors do not accumulate.

    References
    ----------
    Spector and Janson (2022), Powerful knockoffs via minimizing reconstructability, Annals of Statistics 50.

    Examples
    --------
    >>> import numpy as np
    >>> mvr(np.array([[1.0, 0.8], [0.8, 1.0]])).round(4)
    array([0.2342, 0.2342])
    """
    # Strictly inside: the smallest eigenvalue of 2 Sigma - S is at least that of Sigma.
    s = equicorrelated(correlation) / 2
    for _ in range(_MAX_SWEEPS):
        check()
        inverse = np.asarray(np.linalg.inv(2 * correlation - np.diag(s)), dtype=np.float64)
        if _sweep(inverse, s) <= _TOLERANCE:
            break
    return s


def _sweep(inverse: Floats, s: Floats) -> float:
    """Minimise over each s in turn; update the inverse and s, and return the largest relative change of an s."""
    n, largest = len(s), 0.0
    for start in range(0, n, _BLOCK_STEPS):
        steps = range(start, min(start + _BLOCK_STEPS, n))
        vectors, factors = np.empty((n, len(steps)), order="F"), np.empty(len(steps))
        for k, j in enumerate(steps):
            # The column of the inverse after the steps of this block.
            column = inverse[j] + vectors[:, :k] @ (factors[:k] * vectors[j, :k])
            norm = np.sqrt(column @ column)
            change = (1 - norm * s[j]) / (norm + column[j])
            largest = max(largest, abs(change) / s[j])
            s[j] += change
            vectors[:, k], factors[k] = column, change / (1 - change * column[j])
        inverse += (vectors * factors) @ vectors.T
    return largest
