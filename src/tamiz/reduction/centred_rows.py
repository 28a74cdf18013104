"""Centred rows of a table, of a sparse matrix or with imputed values: their covariance, products with it, and projections.

A covariance without rows is read here too, with the encoder of the rows that it describes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels.matrix_products import project_rows, sparse_cross_products
from tamiz.neighbors.sparse_points import canonical_csr
from tamiz.runtime import parallel, progress
from tamiz.runtime.user_warnings import ImputationNote
from tamiz.runtime.validation import check_integer, check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.statistics.cross_products import LevelIndicators, ScatterMatrix
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Invariants, Strings
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
from tamiz.table.in_memory import check_matrix, eager_frame, is_frame, weight_vector
from tamiz.table.kinds import LARGEST_NUMBER
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
# Asymmetry of a covariance that counts as rounding, relative to the largest entry.
_SYMMETRY_TOLERANCE = 1e-8


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
        return CoordinateMoments(scatter.mean, scatter.matrix.diagonal(), scatter.present_weight, scatter.total_weight)

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
        return Encoding.from_moments(schema, moments.mean, spread, moments.total_weight, level_scale=scale)

    @property
    def total_weight(self) -> float:
        return self.encoding.total_weight

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
        return self._moments.squared_deviations / self.encoding.scale**2 / (self._moments.total_weight - 1)

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
        return MatrixEncoder([f"x{j}" for j in range(self.n_coordinates)], mean, scale, reads_sparse=True)

    @property
    def variances(self) -> Floats:
        return self._moments[1] / self.encoder.scale**2

    def covariance(self) -> Floats:
        """Return the covariance: from the stored entries alone, except for columns that are stored densely."""
        q, mean = self.n_coordinates, self.encoder.mean
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
        return products / np.outer(self.encoder.scale, self.encoder.scale) / (self._total_weight - 1)

    def _cross_products(self, rows: sparse.csr_array, span: tuple[int, int]) -> Floats:
        out = np.zeros((self.n_coordinates, self.n_coordinates))
        indptr = rows.indptr[span[0] : span[1] + 1].astype(np.int64)
        sparse_cross_products(
            indptr, rows.indices.astype(np.int32, copy=False), rows.data, self._weight[slice(*span)], out
        )
        return out

    def times_covariance(self, X: Floats) -> Floats:
        mean, scale = self.encoder.mean, self.encoder.scale
        scaled = X / scale
        images = ((self.table @ scaled.T) - scaled @ mean) * self._weight[:, None]
        found = (self.table.T @ images).T - np.outer(images.sum(axis=0), mean)
        return np.asarray(found / scale) / (self._total_weight - 1)

    def weighted_rows(self) -> Floats:
        dense = (self.table.toarray() - self.encoder.mean) / self.encoder.scale
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
class MatrixEncoder(CoordinateEncoder):
    """Encoder of the rows of a matrix of complete numbers: sparse, or dense beside a covariance.

    Attributes
    ----------
    reads_sparse : bool
        Whether rows are read as a sparse matrix; else as a dense one.
    has_mean : bool
        Whether the mean is known; without it no row can be encoded.
    """

    names: list[str]
    mean: Floats
    scale: Floats
    reads_sparse: bool
    has_mean: bool = True

    invariants: ClassVar[Invariants] = {
        "names": Strings("d"),
        "mean": FloatArray("d"),
        "scale": (
            FloatArray("d", low=0.0),
            Condition(lambda it: it.scale.all(), "contains 0, which is not a valid divisor"),
        ),
        "reads_sparse": InstanceOf(bool),
        "has_mean": InstanceOf(bool),
    }

    @property
    def columns(self) -> list[str]:  # type: ignore[override]  # read only
        return self.names

    @property
    def level_spans(self) -> list[tuple[int, int]]:  # type: ignore[override]
        return []

    @property
    def n_missing(self) -> int:  # type: ignore[override]
        return 0

    @property
    def n_coordinates(self) -> int:
        return len(self.names)

    def read(self, X: Any) -> Any:
        if self.reads_sparse:
            rows = read_sparse_rows(X)
            if rows.shape[1] != len(self.names):
                raise DataError(f"X has {rows.shape[1]} features, but {len(self.names)} were there in fit.")
            return rows
        if not self.has_mean:
            raise ValueError(
                "The covariance was fitted without a mean, so no row can be mapped: pass mean= to fit_covariance."
            )
        given = X.frame() if isinstance(X, Table) else X
        if sparse.issparse(given):
            raise TypeError("X is sparse: beside a covariance rows are a dense array, X.toarray().")
        rows = read_float_matrix(given, "X")
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise DataError(
                f"Row {row}, column {self.names[column]} is {rows[row, column]}; fill it in or leave the row out."
            )
        return rows

    def encode(self, X: Any) -> Floats:
        return np.concatenate(list(self.coordinates(self.read(X))))

    def coordinates(self, rows: Any) -> Iterator[Floats]:
        for start, stop in parallel.block_ranges(rows.shape[0], max(1, _ENTRIES_PER_TASK // len(self.names))):
            part = rows[start:stop]
            yield ((part.toarray() if self.reads_sparse else part) - self.mean) / self.scale

    def project(self, rows: Any, directions: Floats) -> NDArray[Any]:
        if self.reads_sparse:
            scaled = directions / self.scale
            # A product with sparse rows is computed entry by entry, so each row is independent of the others.
            return np.asarray(rows @ scaled.T) - scaled @ self.mean
        out = np.empty((len(rows), len(directions)))
        project_rows((rows - self.mean) / self.scale, np.ascontiguousarray(directions), out)
        return out


def read_float_matrix(data: Any, what: str) -> Floats:
    """Return an array or a data frame as a matrix of float64; `what` begins the error for one without numbers."""
    try:
        matrix = check_matrix(eager_frame(data).to_numpy() if is_frame(data) else data)
        return np.ascontiguousarray(matrix, dtype=np.float64)
    except (ValueError, TypeError) as error:
        if "convert" not in str(error) and "float()" not in str(error):
            raise
        raise DataError(f"{what} must contain numbers: {error}.") from None


def read_sparse_rows(matrix: Any) -> sparse.csr_array:
    """Return rows in canonical CSR form; raise DataError if there are none or a number cannot be squared."""
    rows = canonical_csr(matrix)
    if 0 in rows.shape:
        raise DataError(f"X has {rows.shape[0]:,} rows and {rows.shape[1]:,} columns; at least one of each is needed.")
    odd = np.flatnonzero(~(np.abs(rows.data) <= LARGEST_NUMBER))
    if len(odd):
        row = int(np.searchsorted(rows.indptr, odd[0], side="right")) - 1
        raise DataError(
            f"Row {row}, column x{rows.indices[odd[0]]} is {rows.data[odd[0]]}; sparse rows need finite numbers that can be "
            "squared. Leave the row out, or pass a dense array, in which missing values are allowed."
        )
    return rows


@dataclass(frozen=True)
class CovarianceInput:
    """A covariance of coordinates, the encoder of its rows, their number (NaN if unknown), and whether the columns have names."""

    covariance: Floats
    encoder: MatrixEncoder
    n_rows: float
    has_names: bool


def _row_names(frame: nw.DataFrame[Any]) -> list[str] | None:
    """Return the row labels of a pandas data frame as text, None if they are integers."""
    if not frame.implementation.is_pandas():
        return None
    index = frame.to_native().index
    return None if index.inferred_type == "integer" else [*map(str, index)]


def _read_mean(mean: Any, names: list[str]) -> Floats:
    """Return the mean of every column; a mean with the names of the columns is matched by name."""
    series = nw.from_native(mean, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series) and series.implementation.is_pandas():
        called = [*map(str, mean.index)]
        if sorted(called) == sorted(names):
            mean = mean.to_numpy()[[called.index(name) for name in names]]
    try:
        centre = np.asarray(mean, dtype=np.float64).ravel()
    except (ValueError, TypeError) as error:
        raise DataError(f"mean must contain numbers, one per column of the covariance: {error}.") from None
    if len(centre) != len(names):
        raise DataError(f"mean must be {len(names):,} numbers, one a column of the covariance, got {len(centre):,}.")
    if not np.isfinite(centre).all():
        j = int(np.argmin(np.isfinite(centre)))
        raise DataError(f"The mean of {names[j]} is {centre[j]}; it must be a finite number.")
    return centre


def read_covariance(covariance: Any, mean: Any, n_samples: int | None, *, standardize: bool) -> CovarianceInput:
    """Check a covariance, and divide it by the standard deviations if requested."""
    named = is_frame(covariance)
    frame = eager_frame(covariance) if named else None
    if sparse.issparse(covariance):
        raise TypeError("The covariance is sparse: pass a dense array, covariance.toarray().")
    matrix = read_float_matrix(covariance, "The covariance")
    n_rows, q = matrix.shape
    names = [str(name) for name in frame.columns] if frame is not None else [f"x{j}" for j in range(q)]
    if n_rows != q:
        raise DataError(f"A covariance must be a square matrix, got {n_rows:,} rows and {q:,} columns.")
    if frame is not None and (called := _row_names(frame)) not in (None, names):
        raise DataError(f"The rows of the covariance are {called} and its columns {names}; put them in one order.")
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise DataError(f"The covariance of {names[i]} and {names[j]} is {matrix[i, j]}; it must be a finite number.")
    if not (np.abs(matrix) <= LARGEST_NUMBER).all():
        raise DataError(
            f"The covariance contains numbers above {LARGEST_NUMBER:g}, which are too large. Change the unit."
        )
    asymmetry = np.abs(matrix - matrix.T)
    if asymmetry.max() > _SYMMETRY_TOLERANCE * np.abs(matrix).max():
        i, j = np.unravel_index(int(np.argmax(asymmetry)), asymmetry.shape)
        raise DataError(
            f"A covariance must be symmetric: that of {names[i]} and {names[j]} is {matrix[i, j]:.6g}, and of {names[j]} and "
            f"{names[i]} {matrix[j, i]:.6g}. (C + C.T) / 2 is symmetric."
        )
    variances = np.diag(matrix)
    if (variances < 0).any():
        j = int(np.argmin(variances))
        raise DataError(f"The variance of {names[j]} is {variances[j]:.6g}; it must be at least 0.")
    centre = np.zeros(q) if mean is None else _read_mean(mean, names)
    total = np.nan if n_samples is None else float(check_integer("n_samples", n_samples, low=2))
    scale = np.where(variances > 0, np.sqrt(variances), 1.0) if standardize else np.ones(q)
    scaled = (matrix + matrix.T) / 2 / np.outer(scale, scale)
    encoder = MatrixEncoder(names, centre, scale, reads_sparse=False, has_mean=mean is not None)
    return CovarianceInput(scaled, encoder, total, named)
