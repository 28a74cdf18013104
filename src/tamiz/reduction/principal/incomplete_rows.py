"""Rows with missing values: projection by their present values, and imputation by principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tamiz.kernels.matrix_products import project_rows
from tamiz.runtime import parallel, progress
from tamiz.statistics.base import Floats

# Values per task.
_VALUES_PER_TASK = 2**20
# With more directions, rows are solved one by one: products of all pairs of directions would need memory quadratic in their number.
_MAX_BATCHED_DIRECTIONS = 32
# A step that moves the completed values by less than this share of their size is the last one.
_TOL = 1e-7
_MAX_STEPS = 500
# Previous steps that Anderson acceleration uses, and the relative loss of fit that still counts as no loss.
_ANDERSON_DEPTH, _MISFIT_SLACK = 10, 1e-12
# Directions that differ by less than this on the present values of a row count as equal there.
_RANK_TOLERANCE = 1e-10


def project_incomplete_rows(points: Floats, directions: Floats) -> Floats:
    """Project points on orthonormal directions by least squares on their present coordinates.

    If the solution is not unique, as for fewer present coordinates than directions, the minimum norm solution is returned.

    Parameters
    ----------
    points : ndarray of shape (n, n_coordinates)
        About the mean, NaN for a missing coordinate.
    directions : ndarray of shape (k, n_coordinates)
    """
    n, k = len(points), len(directions)
    out = np.empty((n, k))
    if k > _MAX_BATCHED_DIRECTIONS:
        for row, point in enumerate(points):
            present = ~np.isnan(point)
            out[row] = (
                linalg.lstsq(directions[:, present].T, point[present], cond=_RANK_TOLERANCE)[0]
                if present.any()
                else 0.0
            )
        return out
    pairs = np.ascontiguousarray((directions[:, None, :] * directions[None, :, :]).reshape(k * k, -1))
    for start, stop in parallel.block_ranges(n, max(1, _VALUES_PER_TASK // (k * k))):
        some = points[start:stop]
        present = ~np.isnan(some)
        products, sums = np.empty((len(some), k * k)), np.empty((len(some), k))
        project_rows(present.astype(np.float64), pairs, products)
        project_rows(np.where(present, some, 0.0), np.ascontiguousarray(directions), sums)
        inverse = np.linalg.pinv(products.reshape(-1, k, k), rcond=_RANK_TOLERANCE, hermitian=True)
        out[start:stop] = np.einsum("nij,nj->ni", inverse, sums)
    return out


@dataclass(frozen=True)
class Imputation:
    """A table with missing values imputed by its own components.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_coordinates)
        About `mean`.
    mean : ndarray of shape (n_coordinates,)
    change : float
        Change of the imputed values in the last step, relative to their size.
    n_steps : int
    """

    values: Floats
    mean: Floats
    change: float
    n_steps: int

    @property
    def converged(self) -> bool:
        """Whether the values converged."""
        return self.change <= _TOL


def impute_by_components(points: Floats, weight: Floats | None, n_components: int) -> Imputation:
    """Impute missing values by the k components and the mean that fit the present values best by least squares.

    Imputation and decomposition alternate, with Anderson acceleration, until the values converge.

    Parameters
    ----------
    points : ndarray of shape (n_rows, n_coordinates)
        NaN for missing values; overwritten.
    weight : ndarray of shape (n_rows,) or None
    n_components : int

    References
    ----------
    Kiers (1997), Weighted least squares fitting using ordinary least squares algorithms, Psychometrika 62; Josse and Husson (2012),
    Handling missing values in exploratory multivariate data analysis methods, Journal de la Societe Francaise de Statistique 153.
    """
    missing = np.isnan(points)
    points[missing] = 0.0
    if not missing.any():
        mean = _weighted_mean(points, weight)
        return Imputation(points - mean, mean, 0.0, 0)
    at = np.nonzero(missing)
    steps = AndersonAcceleration()
    filled, change, n_steps = np.zeros(len(at[0])), np.inf, 0
    while change > _TOL and n_steps < _MAX_STEPS:
        n_steps += 1
        points[at] = filled
        mean = _weighted_mean(points, weight)
        points -= mean
        directions = _leading_directions(points, weight, n_components)
        along = points @ directions.T
        fitted = np.einsum("ik,ki->i", along[at[0]], directions[:, at[1]]) + mean[at[1]]
        misfit = _misfit(points - along @ directions, missing, weight)
        points += mean
        change = float(np.linalg.norm(fitted - filled)) / (float(np.linalg.norm(fitted)) or 1.0)
        filled = steps.advance(filled, fitted, misfit)
        progress.report_progress("Imputing missing values", n_steps)
    points[at] = fitted
    mean = _weighted_mean(points, weight)
    points -= mean
    return Imputation(points, mean, change, n_steps)


class AndersonAcceleration:
    """Anderson acceleration (1965) of a fixed-point iteration.

    A step with a larger misfit than the best so far is undone, and plain steps continue from there.

    References
    ----------
    Walker and Ni (2011), Anderson acceleration for fixed-point iterations, SIAM Journal on Numerical Analysis 49.
    """

    def __init__(self) -> None:
        self._residuals: list[Floats] = []
        self._images: list[Floats] = []
        self._best_misfit, self._fallback = np.inf, np.empty(0)

    def advance(self, x: Floats, image: Floats, misfit: float) -> Floats:
        """Return the next point after x, from the image of x under the step and the misfit of x."""
        if misfit > self._best_misfit * (1 + _MISFIT_SLACK):
            self._residuals, self._images = [], []
            return self._fallback
        self._best_misfit, self._fallback = min(misfit, self._best_misfit), image
        self._residuals, self._images = (
            [*self._residuals[-_ANDERSON_DEPTH:], image - x],
            [*self._images[-_ANDERSON_DEPTH:], image],
        )
        if len(self._residuals) < 2:
            return image
        moves, images = np.diff(self._residuals, axis=0), np.diff(self._images, axis=0)
        shares = linalg.lstsq(moves @ moves.T, moves @ (image - x), cond=_RANK_TOLERANCE)[0]
        return np.asarray(image - shares @ images)


def _misfit(residuals: Floats, missing: NDArray[np.bool_], weight: Floats | None) -> float:
    """Return the squared residuals of the present values."""
    squares = np.where(missing, 0.0, residuals**2).sum(axis=1)
    return float(squares.sum() if weight is None else weight @ squares)


def _weighted_mean(points: Floats, weight: Floats | None) -> Floats:
    return np.asarray(points.mean(axis=0) if weight is None else weight @ points / weight.sum())


def _leading_directions(points: Floats, weight: Floats | None, k: int) -> Floats:
    """Return the k directions of largest variance of centred points."""
    n, q = points.shape
    rooted = points if weight is None else points * np.sqrt(weight)[:, None]
    if n < q:
        return np.asarray(linalg.svd(rooted, full_matrices=False)[2][:k])
    spans = parallel.block_ranges(n, max(1, _VALUES_PER_TASK // q))
    products = np.zeros((q, q))
    for part in parallel.map_blocks(lambda span: _cross_products(rooted[slice(*span)]), spans):
        products += part
    return np.asarray(linalg.eigh(products, subset_by_index=(q - k, q - 1))[1].T[::-1])


def _cross_products(rows: NDArray[Any]) -> Floats:
    return np.asarray(rows.T @ rows)
