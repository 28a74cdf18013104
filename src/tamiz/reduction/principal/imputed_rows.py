"""The rows of a table with missing values imputed by its own components, and the iterative imputation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tamiz.arrays import Floats, Masks
from tamiz.reduction.principal.base import CentredRows
from tamiz.reduction.principal.table_rows import TableCoordinateEncoder, TableRows
from tamiz.runtime import parallel, progress
from tamiz.runtime.validation import check_memory
from tamiz.runtime.verdicts import Verdict

# Values per task.
_VALUES_PER_TASK = 2**20
# The imputation stops when a step changes the imputed values by less than this share of their norm.
_TOL = 1e-7
_MAX_STEPS = 500
# Previous steps that Anderson acceleration uses, and the relative loss of fit that still counts as no loss.
_ANDERSON_DEPTH, _MISFIT_SLACK = 10, 1e-12
# Relative size of the singular values that count as 0.
_RANK_TOLERANCE = 1e-10


class ImputedRows(CentredRows):
    """Rows of a table with missing values imputed by k components.

    Attributes
    ----------
    imputation : Imputation
    """

    def __init__(self, table: TableRows, k: int) -> None:
        self._table, self.table, self.schema = table, table.table, table.schema
        self.n_rows, self.n_coordinates = table.n_rows, table.n_coordinates
        most = min(self.n_rows - 1, self.n_coordinates - 1)
        if most < 1:
            raise ValueError("missing='iterative' needs at least two columns and rows; use missing='mean'.")
        if k > most:
            raise ValueError(f"With missing='iterative' n_components must be from 1 to {most}, got {k}.")
        check_memory(
            8.0 * 6 * self.n_rows * self.n_coordinates,
            f"The imputation of {self.n_rows:,} rows of {self.n_coordinates:,} coordinates",
            "Use missing='pairwise', which reads the rows once.",
        )
        blocks = list(table.table.blocks())
        points = np.concatenate([table.encoding.transform(block, fill=False) for block in blocks])
        weight = np.concatenate([block.weight_or_ones for block in blocks])
        self._weight = None if (weight == 1.0).all() else weight
        self.imputation: Imputation = impute_by_components(points, self._weight, k)

    @cached_property
    def _weighted_values(self) -> Floats:
        values = self.imputation.values
        return values if self._weight is None else values * np.sqrt(self._weight)[:, None]

    @property
    def total_weight(self) -> float:
        return self._table.total_weight

    def weights(self) -> Floats | None:
        return self._weight

    @property
    def encoder(self) -> TableCoordinateEncoder:
        """The encoder, which centres rows at the mean of the imputed rows."""
        encoding = self._table.encoding
        centre = encoding.centre + self.imputation.mean * encoding.scale
        fill = np.zeros_like(centre)
        return TableCoordinateEncoder(self.table.schema, replace(encoding, centre=centre, fill=fill), fill=False)

    @property
    def variances(self) -> Floats:
        return np.asarray((self._weighted_values**2).sum(axis=0)) / (self.total_weight - 1)

    def collect_warnings(self) -> list[Verdict]:
        """Return warnings on excluded columns, and on an imputation that did not converge."""
        warnings = self._table.collect_warnings()
        if not self.imputation.converged:
            warnings.append(
                Verdict(
                    "TZ501",
                    f"PCA: the missing values did not converge in {self.imputation.n_steps:,} steps; the last one moved them by "
                    f"{self.imputation.change:.1g} of their size. Fewer components are easier to find.",
                )
            )
        return warnings

    def covariance(self) -> Floats:
        return np.asarray(self._weighted_values.T @ self._weighted_values) / (self.total_weight - 1)

    def times_covariance(self, X: Floats) -> Floats:
        return np.asarray((X @ self._weighted_values.T) @ self._weighted_values) / (self.total_weight - 1)

    def weighted_rows(self) -> Floats:
        """Return the imputed rows, each times the square root of its weight."""
        return self._weighted_values.copy()


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


def _misfit(residuals: Floats, missing: Masks, weight: Floats | None) -> float:
    squares = np.where(missing, 0.0, residuals**2).sum(axis=1)
    return float(squares.sum() if weight is None else weight @ squares)


def _weighted_mean(points: Floats, weight: Floats | None) -> Floats:
    return np.asarray(points.mean(axis=0) if weight is None else weight @ points / weight.sum())


def _leading_directions(points: Floats, weight: Floats | None, k: int) -> Floats:
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
