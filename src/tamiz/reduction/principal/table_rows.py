"""The centred rows of a table, read block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tamiz.arrays import Floats
from tamiz.kernels.matrix_products import multiply_indicators, multiply_indicators_transposed, project_rows
from tamiz.reduction.principal.base import CentredRows, CoordinateEncoder
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import ImputationNote, warn
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.statistics.cross_products import LevelIndicators, ScatterMatrix
from tamiz.storage.invariants import Condition, InstanceOf, Invariants
from tamiz.table.base import Table
from tamiz.table.encoding import (
    INDICATOR_MEANS,
    CoordinateMoments,
    Encoding,
    check_has_features,
    coordinate_moments,
    coordinate_names,
    level_indicators,
)
from tamiz.table.factory import align_to_schema
from tamiz.table.schema import Schema
from tamiz.table.views import weight_array

# Values per task.
_VALUES_PER_TASK = 2**18
# float32 values in a vector register of 512 bits: 104 coordinates cost a sixth more time than 112.
_FLOAT32_LANES = 16
# Columns are multiplied in float32 if all standard deviations are between this and its inverse.
_FLOAT32_RANGE = 1e8
# Values of a batch of incomplete rows.
_VALUES_PER_SOLUTION = 2**20
# With more directions, rows are solved one by one: products of all pairs of directions would need memory quadratic in their number.
_MAX_BATCHED_DIRECTIONS = 32
# Directions that differ by less than this on the present values of a row count as equal there.
_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class TableCoordinateEncoder(CoordinateEncoder):
    """Encoder of the rows of a table.

    Attributes
    ----------
    schema : Schema
    encoding : Encoding
    fill : bool
        Whether missing values are imputed with the mean; else rows are projected by their present values.
    method : str, default="PCA"
        The name of the estimator in warnings.
    """

    schema: Schema
    encoding: Encoding
    fill: bool
    method: str = "PCA"

    invariants: ClassVar[Invariants] = {
        "schema": InstanceOf(Schema),
        "encoding": (
            InstanceOf(Encoding),
            Condition(lambda it: it.encoding.matches(it.schema), "does not fit the columns of the schema"),
        ),
        "fill": InstanceOf(bool),
        "method": InstanceOf(str),
    }

    @property
    def names(self) -> list[str]:  # type: ignore[override]  # read only
        return self.encoding.names

    @property
    def columns(self) -> list[str]:
        levels = (one.column for one in self.encoding.indicators for _ in range(one.n_levels))
        return [self.schema.columns[j].name for j in (*self.encoding.numeric, *levels)]

    @property
    def mean(self) -> Floats:  # type: ignore[override]
        return self.encoding.centre

    @property
    def scale(self) -> Floats:  # type: ignore[override]
        return self.encoding.scale

    @property
    def level_spans(self) -> list[tuple[int, int]]:  # type: ignore[override]
        ends = np.cumsum([len(self.encoding.numeric), *(one.n_levels for one in self.encoding.indicators)]).tolist()
        return list(pairwise(ends))

    @property
    def n_missing(self) -> int:  # type: ignore[override]
        return self.encoding.n_missing

    def table_schema(self) -> Schema:
        return self.schema

    def read(self, X: Any) -> Table:
        """Align new rows with the columns of the fit; warn about missing values and unknown levels that count as the mean."""
        rows = align_to_schema(X, self.schema)
        incomplete = [one for one in map(rows.schema.columns.__getitem__, rows.schema.used.tolist()) if one.n_missing]
        n = sum(column.n_missing for column in incomplete)
        if n and self.fill:
            values = "missing value or unknown level" if n == 1 else "missing values or unknown levels"
            verb = "counts" if n == 1 else "count"
            text = f"{self.method}: {n:,} {values} of new rows {verb} as the mean of the column."
            warn("TZ207", text, [column.name for column in incomplete])
        return rows

    def coordinates(self, rows: Table) -> Iterator[Floats]:
        return (self.encoding.transform(piece, fill=self.fill) for piece in row_pieces(rows, len(self.mean)))

    def project(self, rows: Table, directions: Floats) -> NDArray[Any]:
        dtype = next(rows.blocks()).dtype
        out = np.empty((rows.schema.n_rows, len(directions)), dtype)
        if self.fill:
            split = CoordinateSplit(self.encoding)
            table, of_numbers = (
                split.level_scores(directions).astype(dtype),
                pad_columns(split.numeric_part(directions), dtype),
            )

            def along_levels(piece: Block) -> None:
                there = out[piece.rows.start : piece.rows.stop]
                project_rows(split.numbers.transform(piece, dtype, padded_width=of_numbers.shape[1]), of_numbers, there)
                multiply_indicators(piece.codes, split.level_starts, table, there)

            parallel.run_blocks(along_levels, row_pieces(rows, split.width))
            return out
        wide, q = pad_columns(directions, dtype), len(self.mean)

        def along(piece: Block) -> None:
            points = self.encoding.transform(piece, dtype, fill=False, padded_width=wide.shape[1])
            there = out[piece.rows.start : piece.rows.stop]
            incomplete = np.flatnonzero(np.isnan(points).any(axis=1))
            project_rows(np.nan_to_num(points) if len(incomplete) else points, wide, there)
            if len(incomplete):
                there[incomplete] = project_incomplete_rows(points[incomplete, :q].astype(np.float64), directions)

        parallel.run_blocks(along, row_pieces(rows, q))
        return out


class CoordinateSplit:
    """The coordinates of a table in two parts: numbers, and levels, whose indicator matrix is never formed.

    Parameters
    ----------
    encoding : Encoding
        Centred, so that a missing value is 0 in every coordinate.

    Attributes
    ----------
    numbers : Encoding
        The encoding of the numeric columns alone.
    level_starts : ndarray of shape (n_categorical,), int64
        Index of the first level of each column among all levels.
    width : int
        Number of values of a row.
    """

    def __init__(self, encoding: Encoding) -> None:
        p, columns = len(encoding.numeric), encoding.indicators
        self.numbers = replace(
            encoding,
            names=encoding.names[:p],
            indicators=(),
            **{name: getattr(encoding, name)[:p] for name in ("centre", "scale", "fill")},
        )
        sizes = np.array([column.n_levels for column in columns], dtype=np.int64)
        self.level_starts = np.cumsum(sizes) - sizes
        self.width = p + len(columns)
        self._level_column = np.repeat(np.arange(len(columns)), sizes)
        self._centre, self._scale = encoding.centre[p:, None], encoding.scale[p:, None]

    def numeric_part(self, directions: Floats) -> Floats:
        return np.ascontiguousarray(directions[:, : len(self.numbers.numeric)])

    def level_scores(self, directions: Floats) -> Floats:
        """Return the contribution of each level to the projections on directions, of shape (n_levels, n_directions)."""
        there = np.ascontiguousarray(directions[:, len(self.numbers.numeric) :].T) / self._scale
        return there - self._sum_by_column(self._centre * there)

    def centre_level_sums(self, sums: Floats) -> Floats:
        return (sums - self._centre * self._sum_by_column(sums)) / self._scale

    def _sum_by_column(self, values: Floats) -> Floats:
        """Return for every level the sum over the levels of its column."""
        return np.add.reduceat(values, self.level_starts)[self._level_column] if len(values) else values


class TableRows(CentredRows):
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
        self.n_coordinates = len(coordinate_names(table.schema))
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
    def encoder(self) -> TableCoordinateEncoder:
        return TableCoordinateEncoder(self.table.schema, self.encoding, self._missing == "mean", self._method)

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
        split = CoordinateSplit(self.encoding)
        table, of_numbers = split.level_scores(X), split.numeric_part(X)

        def product(piece: Block) -> tuple[Floats, Floats]:
            numbers = split.numbers.transform(piece, dtype)
            images = numbers @ of_numbers.T.astype(dtype, copy=False)
            sums = np.zeros(table.shape)
            if len(table):
                codes, images = piece.codes, images.astype(np.float64)
                multiply_indicators(codes, split.level_starts, table, images)
            if piece.weight is not None:
                images *= piece.weight[:, None]
            if len(table):
                multiply_indicators_transposed(codes, split.level_starts, images, sums)
            return np.asarray(images.T.astype(dtype, copy=False) @ numbers, dtype=np.float64), sums

        by_number, by_level = np.zeros(of_numbers.shape), np.zeros(table.shape)
        for numbers, levels in parallel.map_blocks(product, row_pieces(self.table, split.width)):
            by_number += numbers
            by_level += levels
        return np.hstack([by_number, split.centre_level_sums(by_level).T]) / (self.total_weight - 1)

    def weighted_rows(self) -> Floats:
        """Return the rows, each times the square root of its weight."""
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
    for start, stop in parallel.block_ranges(n, max(1, _VALUES_PER_SOLUTION // (k * k))):
        some = points[start:stop]
        present = ~np.isnan(some)
        products, sums = np.empty((len(some), k * k)), np.empty((len(some), k))
        project_rows(present.astype(np.float64), pairs, products)
        project_rows(np.where(present, some, 0.0), np.ascontiguousarray(directions), sums)
        inverse = np.linalg.pinv(products.reshape(-1, k, k), rcond=_RANK_TOLERANCE, hermitian=True)
        out[start:stop] = np.einsum("nij,nj->ni", inverse, sums)
    return out


def pad_columns(directions: Floats, dtype: type[np.floating[Any]]) -> NDArray[Any]:
    """Return directions padded with zeros to full vector registers, for which `project` is faster."""
    k, q = directions.shape
    wide = np.zeros((k, -(-q // _FLOAT32_LANES) * _FLOAT32_LANES), dtype)
    wide[:, :q] = directions
    return wide


def row_pieces(table: Table, n_coordinates: int) -> Iterator[Block]:
    """Yield the rows in blocks, one per task."""
    size = max(1, _VALUES_PER_TASK // n_coordinates)
    return (piece for block in table.blocks() for piece in block.split_rows(size))
