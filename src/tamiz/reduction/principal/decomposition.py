"""The directions of largest variance, by the cheapest of three ways."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg

from tamiz.reduction.krylov import leading
from tamiz.reduction.principal.rows import CentredRows
from tamiz.statistics.base import Floats
from tamiz.statistics.cross_products import Scatter
from tamiz.statistics.signs import signs
from tamiz.validation import check_integer, check_memory

SOLVERS = ("auto", "covariance", "svd", "randomized")

# Readings of the rows that block Krylov takes, and operations of a decomposition next to the cube of its size: what the ways are
# weighed by.
_READINGS, _DENSE = 15, 10.0
# A decomposition of fewer operations is done before a search has begun.
_LARGE = 2e10
# The share of the directions up to which LAPACK finds those alone sooner than all by divide and conquer.
_FEW = 1 / 7
# Columns that block Krylov carries beside those wanted.
_BESIDE = 12
# Directions have no sign of their own, and those of a decomposition are exact to nearly all digits.
_EQUAL = 1e-9


@dataclass(frozen=True)
class Components:
    """Directions of largest variance.

    Attributes
    ----------
    variances : ndarray of shape (k,)
        Descending.
    directions : ndarray of shape (k, n_coordinates)
        Orthonormal.
    total : float
        The variance of all coordinates.
    solver : {"covariance", "svd", "randomized"}
    residuals : ndarray of shape (k,)
        |C v - variance v|, 0 but for the randomized way.
    least : float
        The least eigenvalue, or one not below it where it cannot be below 0.
    """

    variances: Floats
    directions: Floats
    total: float
    solver: str
    residuals: Floats
    least: float

    def noise(self, n_rows: float) -> float:
        """Return the mean variance of the directions left out, of as many as n_rows (NaN: not known) can have."""
        k, q = self.directions.shape
        beside = (q if np.isnan(n_rows) else min(n_rows, q)) - k
        return max(self.total - float(self.variances.sum()), 0.0) / beside if beside > 0 else 0.0


def check_n_components(value: Any, most: int) -> int | float:
    """Return the number of components that is asked for, or the share of the variance that they hold."""
    if value is None:
        return most
    if isinstance(value, bool) or not isinstance(value, Real):
        estimate = " To estimate how many, fit all (None) and call parallel_analysis()." if value == "mle" else ""
        raise TypeError(
            f"n_components must be a whole number, a share of the variance above 0 and up to 1.0, or None, got {value!r}.{estimate}"
        )
    if not isinstance(value, int | np.integer):
        if not 0.0 < float(value) <= 1.0:
            raise ValueError(
                f"n_components must be a whole number from 1 to {most}, or a share of the variance above 0 and up to 1.0, got "
                f"{value}."
            )
        return float(value)
    return check_integer("n_components", value, low=1, high=most)


def decompose(rows: CentredRows, wanted: int | float, solver: str) -> Components:
    """Return so many components, or as many as hold a share of the variance."""
    way = _choose(rows, wanted) if solver == "auto" else solver
    found = {"covariance": _by_covariance, "svd": _by_svd, "randomized": _by_products}[way](rows, wanted)
    return _signed(found)


def decompose_covariance(covariance: Floats, wanted: int | float) -> Components:
    """Return the components of a covariance that is at hand."""
    return _signed(_of_covariance(covariance, wanted, definite=False))


def _choose(rows: CentredRows, wanted: int | float) -> str:
    """Return the way with the fewest operations, from counts alone: the same on every machine."""
    n, q = float(rows.n_rows), float(rows.n_coordinates)
    cost = {"covariance": n * q * q * rows.density + _DENSE * q**3, "svd": _DENSE * n * n * q if n < q else np.inf}
    if not isinstance(wanted, float):
        width = wanted + _BESIDE
        if width < min(n, q) / 4 and min(cost.values()) > _LARGE:
            cost["randomized"] = 4 * n * q * rows.density * width * _READINGS
    return min(cost, key=lambda way: cost[way])


def _by_covariance(rows: CentredRows, wanted: int | float) -> Components:
    q = rows.n_coordinates
    check_memory(
        Scatter.work_bytes(q),
        f"The cross products of {q:,} coordinates",
        "Keep fewer columns first, with RankSelector, or ask for few components with solver='randomized'.",
    )
    return _of_covariance(rows.covariance(), wanted, definite=rows.definite)


def _of_covariance(covariance: Floats, wanted: int | float, *, definite: bool) -> Components:
    q, total = len(covariance), float(np.trace(covariance))
    if isinstance(wanted, float) or wanted > _FEW * q:
        values, vectors = linalg.eigh(covariance, driver="evd")
        k = _enough(values[::-1], wanted, total) if isinstance(wanted, float) else wanted
        least = float(values[0])
        values, vectors = values[q - k :], vectors[:, q - k :]
    else:
        k = wanted
        values, vectors = linalg.eigh(covariance, subset_by_index=(q - k, q - 1))
        least = float(values[0] if definite else linalg.eigvalsh(covariance, subset_by_index=(0, 0))[0])
    return Components(values[::-1], vectors[:, ::-1].T, total, "covariance", np.zeros(k), least)


def _by_svd(rows: CentredRows, wanted: int | float) -> Components:
    n, q = rows.n_rows, rows.n_coordinates
    check_memory(
        8.0 * 4 * n * q,
        f"The decomposition of {n:,} rows of {q:,} coordinates",
        "Ask for few components with solver='randomized', or keep fewer columns first, with RankSelector.",
    )
    _, sizes, directions = linalg.svd(rows.whole(), full_matrices=False, overwrite_a=True, check_finite=False)
    values = sizes**2 / (rows.total - 1)
    total = float(rows.variances.sum())
    k = _enough(values, wanted, total) if isinstance(wanted, float) else wanted
    return Components(values[:k], directions[:k], total, "svd", np.zeros(k), 0.0)


def _by_products(rows: CentredRows, wanted: int | float) -> Components:
    if isinstance(wanted, float):
        raise ValueError(
            f"solver='randomized' finds a number of components, and n_components={wanted} is a share of the variance: say how "
            "many, or leave the solver to 'auto'."
        )
    found = leading(rows.times_covariance, rows.n_coordinates, wanted, tol=rows.resolution)
    total = float(rows.variances.sum())
    return Components(found.values, found.vectors, total, "randomized", found.residuals, 0.0)


def _enough(values: Floats, share: float, total: float) -> int:
    """Return how many of the values are needed to hold a share of the total; a hair of slack for the last bits."""
    if total <= 0:
        return 1
    held = np.cumsum(np.maximum(values, 0.0)) / total
    return min(int(np.searchsorted(held, share - 1e-12)) + 1, len(values))


def _signed(found: Components) -> Components:
    directions = found.directions * signs(found.directions.T, equal=_EQUAL)[:, None]
    values = np.maximum(found.variances, 0.0)
    return Components(values, directions, found.total, found.solver, found.residuals, found.least)
