"""Centred rows of a table, of a sparse matrix or with imputed values, and their principal components by three solvers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from tamiz.arrays import Floats, Indices, Masks, eigenvector_signs
from tamiz.kernels.matrix_products import sparse_cross_products
from tamiz.reduction.krylov import leading_eigenpairs
from tamiz.runtime import parallel, progress
from tamiz.runtime.user_warnings import ImputationNote
from tamiz.runtime.validation import check_integer, check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.statistics.cross_products import LevelIndicators, ScatterMatrix
from tamiz.table.base import Table, check_enough_rows, weight_array
from tamiz.table.encode import (
    INDICATOR_MEANS,
    CoordinateEncoder,
    CoordinateMoments,
    Encoding,
    TableEncoder,
    check_has_features,
    coordinate_moments,
    level_indicators,
    row_pieces,
)
from tamiz.table.in_memory import weight_vector
from tamiz.table.matrix_rows import MatrixEncoder, read_sparse_rows
from tamiz.table.schema import Schema

# Columns are multiplied in float32 if all standard deviations are between this and its inverse.
_FLOAT32_RANGE = 1e8
# Sparse columns with stored entries in a larger share of the weight become dense and are centred: subtracting a large mean from
# sums of squares would cancel digits. Below this share, the mean square is at most twice the variance.
_DENSE_COLUMN_SHARE = 0.5
# A smaller share of the weight counts as none.
_ROUNDING = 1e-12
# Entries of a sparse matrix, or values of a dense one, per task.
_ENTRIES_PER_TASK = 2**18
# Values per task of the imputation.
_IMPUTED_VALUES_PER_TASK = 2**20
# The imputation stops when a step changes the imputed values by less than this share of their norm.
_TOL = 1e-7
_MAX_STEPS = 500
# Previous steps that Anderson acceleration uses, and the relative loss of fit that still counts as no loss.
_ANDERSON_DEPTH, _MISFIT_SLACK = 10, 1e-12
# Relative size of the singular values that count as 0.
_RANK_TOLERANCE = 1e-10
SOLVERS = ("auto", "covariance", "svd", "randomized")
# Cost model: passes of block Krylov over the rows, and operations of a dense decomposition relative to n^3. Distinct eigenvalues
# need about 15 passes and noise 40, and an operation of a product with few vectors takes longer than one of the covariance.
_KRYLOV_PASSES, _DENSE_FACTOR = 30, 10.0
# Below this number of operations a dense decomposition is always faster than block Krylov.
_MIN_KRYLOV_OPERATIONS = 2e10
# Share of the components up to which LAPACK computes a subset faster than all by divide and conquer.
_SUBSET_SHARE = 1 / 7
# Extra vectors of block Krylov.
_EXTRA_COLUMNS = 12
# Tolerance for ties of absolute entries that determine the sign of a direction.
_SIGN_TOLERANCE = 1e-9
# Negative eigenvalues below this share of the largest count as rounding; residuals above this share cause a warning.
_EIGENVALUE_TOLERANCE, _LARGE_RESIDUAL = 1e-9, 1e-6


class CentredRows(ABC):
    """Rows of centred coordinates, divided by their scale.

    Attributes
    ----------
    n_rows, n_coordinates : int
    table : Table or sparse matrix
        The rows in the form that `encoder` projects.
    density : float
        Share of the coordinates that products read.
    schema : Schema or None
        The columns, if the rows are from a table.
    semidefinite : bool
        Whether the covariance is that of one set of rows, not pairwise, so that no eigenvalue is below 0.
    residual_tolerance : float
        Smallest residuals that the products allow, relative to the largest variance; the errors of variances are their squares.
    """

    n_rows: int
    n_coordinates: int
    table: Any
    density: float = 1.0
    schema: Schema | None = None
    semidefinite: bool = True
    residual_tolerance: float = 1e-7

    @property
    @abstractmethod
    def total_weight(self) -> float:
        """Total weight of the rows; their number if they have no weights."""

    @abstractmethod
    def weights(self) -> Floats | None:
        """Return the weight of every row, None if rows have no weights."""

    @property
    @abstractmethod
    def encoder(self) -> CoordinateEncoder:
        """The encoder of the rows."""

    @property
    @abstractmethod
    def variances(self) -> Floats:
        """The variance of every coordinate."""

    def collect_warnings(self) -> list[Verdict]:
        return []

    @abstractmethod
    def covariance(self) -> Floats:
        """Return the covariance of the coordinates."""

    @abstractmethod
    def times_covariance(self, X: Floats) -> Floats:
        """Return X of shape (m, n_coordinates) times the covariance, without forming the covariance."""

    @abstractmethod
    def weighted_rows(self) -> Floats:
        """Return the rows, each times the square root of its weight, as a new array."""

    def project(self, directions: Floats) -> NDArray[Any]:
        return self.encoder.project(self.table, directions)


class CentredTable(CentredRows):
    """The rows of a table.

    Parameters
    ----------
    table : Table
    standardize : bool
    missing : {"mean", "pairwise", "iterative"}
        "iterative" imputes the mean here, before the rows are imputed by components.
    categories : {"balanced", "famd"}
        The total variance of a categorical column of K levels: 1, or K - 1.
    method : str, default="PCA"
        The name of the estimator in warnings.
    """

    def __init__(self, table: Table, *, standardize: bool, missing: str, categories: str, method: str = "PCA") -> None:
        check_has_features(table.schema)
        self.table, self.schema = table, table.schema
        self._standardize, self._missing, self._categories, self._method = standardize, missing, categories, method
        self.n_rows = table.schema.n_rows
        self.n_coordinates = table.schema.n_coordinates
        self._columns_with_missing = tuple(j for j in table.schema.used.tolist() if table.schema.columns[j].n_missing)
        self.n_missing = sum(table.schema.columns[j].n_missing for j in self._columns_with_missing)
        self._scatter: ScatterMatrix | None = None
        self.semidefinite = missing != "pairwise"
        self._is_float32 = next(table.blocks()).dtype == np.float32
        if self._is_float32:
            self.residual_tolerance = 1e-6

    @cached_property
    def _moments(self) -> CoordinateMoments:
        if self._scatter is None:
            return coordinate_moments(self.table)
        scatter = self._scatter
        return CoordinateMoments(scatter.mean, scatter.matrix.diagonal(), scatter.present_weight)

    @cached_property
    def _pairwise_covariance(self) -> tuple[Floats, Floats]:
        """The covariance of every pair over the rows with both values, and their weight; set by `covariance`."""
        assert self._scatter is not None
        return self._scatter.pairwise_covariance()

    @cached_property
    def encoding(self) -> Encoding:
        moments, schema = self._moments, self.table.schema
        spread = moments.std[: len(schema.numeric)] if self._standardize else None
        scale = level_scale(moments, len(schema.numeric), level_indicators(schema), self._categories)
        return Encoding.from_moments(schema, moments.mean, spread, level_scale=scale)

    @cached_property
    def total_weight(self) -> float:
        if self._scatter is not None:
            return self._scatter.total_weight
        return sum(float(block.weight_or_ones.sum()) for block in self.table.blocks([]))

    def weights(self) -> Floats | None:
        return weight_array(self.table)

    @property
    def encoder(self) -> TableEncoder:
        missing = "mean" if self._missing == "mean" else "keep"
        return TableEncoder(self.table.schema, self.encoding, missing, self._method)

    @property
    def variances(self) -> Floats:
        if self._missing == "pairwise" and self._scatter is not None:
            return np.asarray(self._pairwise_covariance[0].diagonal()) / self.encoding.scale**2
        return self._moments.squared_deviations / self.encoding.scale**2 / (self.total_weight - 1)

    def collect_warnings(self) -> list[Verdict]:
        """Return notes on excluded columns and the treatment of missing values."""
        warnings = list(self.table.schema.excluded_column_notes)
        if self.n_missing and self._missing == "mean":
            values = "missing value was" if self.n_missing == 1 else "missing values were"
            columns = [self.table.schema.columns[j] for j in self.table.schema.used.tolist()]
            has_categories = any(column.n_missing and not column.is_number for column in columns)
            means = f"the mean of the column{INDICATOR_MEANS if has_categories else ''}"
            text = f"{self._method}: {self.n_missing:,} {values} imputed with {means}."
            warnings.append(ImputationNote(text, self._method))
        if self._missing == "pairwise" and self._scatter is not None:
            apart = np.argwhere(self._pairwise_covariance[1] < 2)
            if len(apart):
                i, j = apart[0].tolist()
                text = (
                    f"{self._method}: fewer than two rows have both {self.encoding.names[i]} and "
                    f"{self.encoding.names[j]}; the covariance of such pairs is set to 0."
                )
                owners = self.encoder.columns
                warnings.append(Verdict("TZ307", text, dict.fromkeys(owners[k] for k in np.unique(apart).tolist())))
        return warnings

    def covariance(self) -> Floats:
        """Return the covariance, in one pass over the rows."""
        schema = self.table.schema
        constant = {j for j in schema.numeric if schema.columns[j].constant}
        scatter = ScatterMatrix(schema.numeric, level_indicators(schema), self._columns_with_missing)
        scatter = scatter.with_start_centre(next(self.table.blocks()), constant)
        (scatter,) = self.table.reduce(scatter)
        self._scatter = scatter
        raw = (
            self._pairwise_covariance[0] if self._missing == "pairwise" else scatter.matrix / (scatter.total_weight - 1)
        )
        if (self.encoding.scale == 1.0).all():
            return raw
        return raw / np.outer(self.encoding.scale, self.encoding.scale)

    def times_covariance(self, X: Floats) -> Floats:
        """Return X times the covariance, in one pass over the rows."""
        # Squares must stay within the range of float32.
        spread = np.sqrt(self.variances.max())
        dtype = np.float32 if self._is_float32 and 1 / _FLOAT32_RANGE < spread < _FLOAT32_RANGE else np.float64
        encoding, p, n_columns = self.encoding, len(self.encoding.numeric), len(self.encoding.indicators)
        of_numbers, of_levels = np.ascontiguousarray(X[:, :p], dtype=dtype), encoding.level_products(X)

        def product(piece: Block) -> tuple[Floats, Floats]:
            numbers, sums = encoding.numbers.transform(piece, dtype), np.zeros(of_levels.shape)
            images = numbers @ of_numbers.T
            if n_columns:
                indicators = encoding.indicator_matrix(piece)
                images = images + indicators @ of_levels
            if piece.weight is not None:
                images *= piece.weight[:, None]
            if n_columns:
                sums = indicators.T @ images
            return np.asarray(images.T.astype(dtype, copy=False) @ numbers, dtype=np.float64), sums

        by_number, by_level = np.zeros(of_numbers.shape), np.zeros(of_levels.shape)
        for numbers, levels in parallel.map_blocks(product, row_pieces(self.table, p + n_columns)):
            by_number += numbers
            by_level += levels
        by_level = (by_level - encoding.centre[p:, None] * encoding.sum_levels(by_level)) / encoding.scale[p:, None]
        return np.hstack([by_number, by_level.T]) / (self.total_weight - 1)

    def weighted_rows(self) -> Floats:
        rooted = np.empty((self.n_rows, self.n_coordinates))

        def fill(piece: Block) -> None:
            rooted[piece.rows.start : piece.rows.stop] = self.encoding.transform(piece)
            if piece.weight is not None:
                rooted[piece.rows.start : piece.rows.stop] *= np.sqrt(piece.weight)[:, None]

        parallel.run_blocks(fill, row_pieces(self.table, self.n_coordinates))
        return rooted


def level_scale(
    moments: CoordinateMoments, first_level: int, columns: tuple[LevelIndicators, ...], categories: str
) -> Floats:
    """Return the divisors of the indicators of levels, of shape (n_levels,).

    The square root of a level's share gives a column of K levels the total variance K - 1, as FAMD does; with the square root of
    K - 1 as well it is 1, as that of a standardised number. Numbers are standardised with n - 1, and so are indicators: both
    variances are exact, and missing values reduce both alike.

    Parameters
    ----------
    moments : CoordinateMoments
    first_level : int
        The coordinate of the first indicator.
    columns : tuple of LevelIndicators
    categories : {"balanced", "famd"}

    References
    ----------
    Pages (2004), Analyse factorielle de donnees mixtes, Revue de Statistique Appliquee 52.
    """
    scale = [np.empty(0)]
    for column in columns:
        own = slice(first_level, first_level := first_level + column.n_levels)
        share, present = moments.mean[own], moments.present_weight[own]
        freedom = present - 1
        squares = np.divide(share * present, freedom, out=share.copy(), where=freedom > 0)
        if categories == "balanced":
            squares = squares * max(int((share > 0).sum()) - 1, 1)
        scale.append(np.sqrt(squares))
    return np.concatenate(scale)


class CentredSparse(CentredRows):
    """Sparse rows that stay sparse: the mean is subtracted after every product."""

    def __init__(self, matrix: Any, weight: Any, *, standardize: bool) -> None:
        self.table = read_sparse_rows(matrix)
        self.n_rows, self.n_coordinates = self.table.shape
        check_enough_rows(self.n_rows)
        self._weight = weight_vector(weight, self.n_rows)
        self._total_weight = float(self._weight.sum())
        self._standardize = standardize
        self.density = self.table.nnz / max(self.n_rows * self.n_coordinates, 1)

    @property
    def total_weight(self) -> float:
        return self._total_weight

    def weights(self) -> Floats | None:
        return self._weight

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Return the mean of every column, its variance, and the share of the weight in its stored entries."""
        by_column = self.table.tocsc()
        counts = np.diff(by_column.indptr)
        column, weight = np.repeat(np.arange(self.n_coordinates), counts), self._weight[by_column.indices]
        first = np.zeros(self.n_coordinates)
        first[counts > 0] = by_column.data[by_column.indptr[:-1][counts > 0]]
        stored = self._sum_by_column(column, weight)
        deviations = self._sum_by_column(column, weight * (by_column.data - first[column]))
        inner = first + np.divide(deviations, stored, out=np.zeros_like(stored), where=stored > 0)
        share = stored / self._total_weight
        within = self._sum_by_column(column, weight * (by_column.data - inner[column]) ** 2)
        # Sums of equal weights in another order differ in their last bits.
        absent = np.where(1 - share > _ROUNDING, 1 - share, 0.0)
        squares = within + stored * absent * inner**2
        return share * inner, squares / (self._total_weight - 1), share

    def _sum_by_column(self, column: Indices, values: Floats) -> Floats:
        """Return the sum of the values in each column, as floats also where there are none."""
        return np.bincount(column, values, self.n_coordinates).astype(np.float64)

    @cached_property
    def encoder(self) -> MatrixEncoder:
        mean, variance, _ = self._moments
        scale = np.where(variance > 0, np.sqrt(variance), 1.0) if self._standardize else np.ones(self.n_coordinates)
        names = [f"x{j}" for j in range(self.n_coordinates)]
        return MatrixEncoder(Encoding.of_numbers(names, mean, scale), reads_sparse=True)

    @property
    def variances(self) -> Floats:
        return self._moments[1] / self.encoder.encoding.scale**2

    def covariance(self) -> Floats:
        """Return the covariance: from the stored entries alone, except for columns that are stored densely."""
        q, mean = self.n_coordinates, self.encoder.encoding.centre
        full = np.flatnonzero(self._moments[2] > _DENSE_COLUMN_SHARE)
        few = self.table
        products = np.zeros((q, q))
        if len(full):
            few = self.table.copy()
            few.data[np.isin(few.indices, full)] = 0.0
            few.eliminate_zeros()
        at_once = max(_ENTRIES_PER_TASK, q * q // 4)
        spans = parallel.block_ranges(self.n_rows, max(1, self.n_rows * at_once // max(few.nnz, 1)))
        for part in parallel.map_blocks(lambda span: self._cross_products(few, span), spans):
            products += part
        products = products + np.triu(products, 1).T
        thin = mean.copy()
        thin[full] = 0.0
        products -= self._total_weight * np.outer(thin, thin)
        if len(full):
            check_memory(16.0 * self.n_rows * len(full), f"{len(full):,} columns with few zeros", "Pass a dense array.")
            whole = self.table[:, full].toarray() - mean[full]
            weighed = whole * self._weight[:, None]
            # The centred columns sum to 0, so the mean of the others does not change the products.
            across = few.T @ weighed
            products[:, full] += across
            products[full, :] += across.T
            products[np.ix_(full, full)] = whole.T @ weighed
        return products / np.outer(self.encoder.encoding.scale, self.encoder.encoding.scale) / (self._total_weight - 1)

    def _cross_products(self, rows: sparse.csr_array, span: tuple[int, int]) -> Floats:
        out = np.zeros((self.n_coordinates, self.n_coordinates))
        indptr = rows.indptr[span[0] : span[1] + 1].astype(np.int64)
        sparse_cross_products(
            indptr, rows.indices.astype(np.int32, copy=False), rows.data, self._weight[slice(*span)], out
        )
        return out

    def times_covariance(self, X: Floats) -> Floats:
        mean, scale = self.encoder.encoding.centre, self.encoder.encoding.scale
        scaled = X / scale
        images = ((self.table @ scaled.T) - scaled @ mean) * self._weight[:, None]
        found = (self.table.T @ images).T - np.outer(images.sum(axis=0), mean)
        return np.asarray(found / scale) / (self._total_weight - 1)

    def weighted_rows(self) -> Floats:
        dense = (self.table.toarray() - self.encoder.encoding.centre) / self.encoder.encoding.scale
        return np.asarray(dense * np.sqrt(self._weight)[:, None])


class ImputedRows(CentredRows):
    """Rows of a table with missing values imputed by k components."""

    def __init__(self, table: CentredTable, k: int) -> None:
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
        self.imputation = impute_by_components(points, self._weight, k)

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
    def encoder(self) -> TableEncoder:
        """The encoder, which centres rows at the mean of the imputed rows."""
        encoding = self._table.encoding
        centre = encoding.centre + self.imputation.mean * encoding.scale
        fill = np.zeros_like(centre)
        return TableEncoder(self.table.schema, replace(encoding, centre=centre, fill=fill), "keep", "PCA")

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
        return self._weighted_values.copy()


@dataclass(frozen=True)
class Imputation:
    """Imputed values about their mean, and the change of the imputed values in the last step, relative to their size."""

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

    `points` have NaN for missing values, and are overwritten.

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
    spans = parallel.block_ranges(n, max(1, _IMPUTED_VALUES_PER_TASK // q))
    products = np.zeros((q, q))
    for part in parallel.map_blocks(lambda span: rooted[slice(*span)].T @ rooted[slice(*span)], spans):
        products += part
    return np.asarray(linalg.eigh(products, subset_by_index=(q - k, q - 1))[1].T[::-1])


@dataclass(frozen=True)
class PrincipalComponents:
    """Directions of largest variance.

    Attributes
    ----------
    variances : ndarray of shape (k,)
        Descending.
    directions : ndarray of shape (k, n_coordinates)
        Orthonormal.
    total_variance : float
        The variance of all coordinates.
    solver : {"covariance", "svd", "randomized"}
    residuals : ndarray of shape (k,)
        |C v - variance v| for the randomized solver, else 0.
    smallest_eigenvalue : float
        The smallest eigenvalue; for positive semidefinite covariances an upper bound.
    """

    variances: Floats
    directions: Floats
    total_variance: float
    solver: str
    residuals: Floats
    smallest_eigenvalue: float

    def noise_variance(self, n_rows: float) -> float:
        """Return the mean variance of the discarded directions, at most min(n_rows, q); n_rows may be NaN (unknown)."""
        k, q = self.directions.shape
        beside = (q if np.isnan(n_rows) else min(n_rows, q)) - k
        return max(self.total_variance - float(self.variances.sum()), 0.0) / beside if beside > 0 else 0.0


def check_n_components(value: Any, upper: int) -> int | float:
    """Return the requested number of components, or the share of variance that they must explain."""
    if value is None:
        return upper
    if isinstance(value, bool) or not isinstance(value, Real):
        estimate = " To estimate how many, fit all (None) and call parallel_analysis()." if value == "mle" else ""
        raise TypeError(
            f"n_components must be a whole number, a share of the variance above 0 and up to 1.0, or None, got {value!r}.{estimate}"
        )
    if not isinstance(value, int | np.integer):
        if not 0.0 < float(value) <= 1.0:
            raise ValueError(
                f"n_components must be a whole number from 1 to {upper}, or a share of the variance above 0 and up to 1.0, got "
                f"{value}."
            )
        return float(value)
    return check_integer("n_components", value, low=1, high=upper)


def decompose(rows: CentredRows, n_components: int | float, solver: str) -> PrincipalComponents:
    """Return a number of components, or the fewest that explain a share of the variance."""
    chosen = _choose_solver(rows, n_components) if solver == "auto" else solver
    found = {"covariance": _solve_covariance, "svd": _solve_svd, "randomized": _solve_randomized}[chosen](
        rows, n_components
    )
    return _fix_signs(found)


def decompose_covariance(covariance: Floats, n_components: int | float) -> PrincipalComponents:
    return _fix_signs(_eigendecompose(covariance, n_components, semidefinite=False))


def _choose_solver(rows: CentredRows, n_components: int | float) -> str:
    """Return the solver with the fewest operations; the choice depends only on the sizes."""
    n, q = float(rows.n_rows), float(rows.n_coordinates)
    cost = {
        "covariance": n * q * q * rows.density + _DENSE_FACTOR * q**3,
        "svd": _DENSE_FACTOR * n * n * q if n < q else np.inf,
    }
    if not isinstance(n_components, float):
        width = n_components + _EXTRA_COLUMNS
        if width < min(n, q) / 4 and min(cost.values()) > _MIN_KRYLOV_OPERATIONS:
            cost["randomized"] = 4 * n * q * rows.density * width * _KRYLOV_PASSES
    return min(cost, key=lambda name: cost[name])


def _solve_covariance(rows: CentredRows, n_components: int | float) -> PrincipalComponents:
    q = rows.n_coordinates
    check_memory(
        ScatterMatrix.work_bytes(q),
        f"The cross products of {q:,} coordinates",
        "Keep fewer columns first, with RankSelector, or ask for few components with solver='randomized'.",
    )
    return _eigendecompose(rows.covariance(), n_components, semidefinite=rows.semidefinite)


def _eigendecompose(covariance: Floats, n_components: int | float, *, semidefinite: bool) -> PrincipalComponents:
    q, total = len(covariance), float(np.trace(covariance))
    if isinstance(n_components, float) or n_components > _SUBSET_SHARE * q:
        values, vectors = linalg.eigh(covariance, driver="evd")
        k = _count_for_share(values[::-1], n_components, total) if isinstance(n_components, float) else n_components
        least = float(values[0])
        values, vectors = values[q - k :], vectors[:, q - k :]
    else:
        k = n_components
        values, vectors = linalg.eigh(covariance, subset_by_index=(q - k, q - 1))
        least = float(values[0] if semidefinite else linalg.eigvalsh(covariance, subset_by_index=(0, 0))[0])
    return PrincipalComponents(values[::-1], vectors[:, ::-1].T, total, "covariance", np.zeros(k), least)


def _solve_svd(rows: CentredRows, n_components: int | float) -> PrincipalComponents:
    n, q = rows.n_rows, rows.n_coordinates
    check_memory(
        8.0 * 4 * n * q,
        f"The decomposition of {n:,} rows of {q:,} coordinates",
        "Ask for few components with solver='randomized', or keep fewer columns first, with RankSelector.",
    )
    _, sizes, directions = linalg.svd(rows.weighted_rows(), full_matrices=False, overwrite_a=True, check_finite=False)
    values = sizes**2 / (rows.total_weight - 1)
    total = float(rows.variances.sum())
    k = _count_for_share(values, n_components, total) if isinstance(n_components, float) else n_components
    return PrincipalComponents(values[:k], directions[:k], total, "svd", np.zeros(k), 0.0)


def _solve_randomized(rows: CentredRows, n_components: int | float) -> PrincipalComponents:
    if isinstance(n_components, float):
        raise ValueError(
            f"solver='randomized' finds a number of components, and n_components={n_components} is a share of the variance. Pass a "
            "whole number, or use solver='auto'."
        )
    found = leading_eigenpairs(rows.times_covariance, rows.n_coordinates, n_components, tol=rows.residual_tolerance)
    total = float(rows.variances.sum())
    return PrincipalComponents(found.values, found.vectors, total, "randomized", found.residuals, 0.0)


def _count_for_share(values: Floats, share: float, total: float) -> int:
    """Return the number of leading values that reach a share of the total, with a tolerance for rounding."""
    if total <= 0:
        return 1
    cumulative = np.cumsum(np.maximum(values, 0.0)) / total
    return min(int(np.searchsorted(cumulative, share - 1e-12)) + 1, len(values))


def _fix_signs(components: PrincipalComponents) -> PrincipalComponents:
    directions = components.directions * eigenvector_signs(components.directions.T, tolerance=_SIGN_TOLERANCE)[:, None]
    values = np.maximum(components.variances, 0.0)
    return replace(components, variances=values, directions=directions)


def decomposition_warnings(components: PrincipalComponents, advice: str = "") -> list[Verdict]:
    """Return warnings about negative eigenvalues and large residuals of a decomposition."""
    warnings: list[Verdict] = []
    largest = float(components.variances[0])
    if components.smallest_eigenvalue < -_EIGENVALUE_TOLERANCE * largest:
        warnings.append(
            Verdict(
                "TZ402",
                f"PCA: the covariance is not positive semidefinite (smallest eigenvalue {components.smallest_eigenvalue:.3g}), so "
                f"that ratios of explained variance may sum to more than 1. Negative variances are set to 0{advice}.",
            )
        )
    worst = float(components.residuals.max(initial=0.0))
    if worst > _LARGE_RESIDUAL * largest:
        warnings.append(
            Verdict(
                "TZ501",
                f"PCA: a component did not converge: its residual is {worst:.2g}, and the largest variance {largest:.4g}.",
            )
        )
    return warnings
