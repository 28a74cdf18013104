"""One function per metric that reads a table as points under this metric, with the encoder for new rows."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.kernels.distance_blocks import gower_block
from tamiz.neighbors.points import CityBlockPoints, CosinePoints, EuclideanPoints, Points
from tamiz.neighbors.precomputed import PrecomputedDistances, SparseDistances
from tamiz.neighbors.sparse_points import choose_sparse_points
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_memory
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Integer, IntegerArray, Invariants, ListOf
from tamiz.table.base import Table
from tamiz.table.encode import IdentityEncoder, RowEncoder, SchemaEncoder, TableEncoder, refuse_empty_rows
from tamiz.table.factory import align_to_schema, as_table, find_sparse_matrix, row_numbers
from tamiz.table.schema import Schema


@dataclass(frozen=True)
class GowerScale:
    """The ranges of the columns of the training rows, by which differences are divided; `columns` are those that vary.

    Values are stored divided by two to the power of `exponents`, which scales a numeric column's range to about 1 without
    rounding, and `inverse_ranges` are those of the stored values; 1 for the codes of a categorical column.
    """

    schema: Schema
    columns: tuple[int, ...]
    exponents: NDArray[Any]
    inverse_ranges: Floats

    invariants: ClassVar[Invariants] = {
        "schema": InstanceOf(Schema),
        "schema.n_columns": Integer(size="p"),
        "columns": (
            ListOf(Integer(below="p"), "c"),
            Condition(lambda it: {*it.columns} <= {*it.schema.used.tolist()}, "has no such column"),
        ),
        "exponents": IntegerArray("c", low=-1100, below=1100, dtypes=(np.int32,)),
        "inverse_ranges": FloatArray("c", low=0.0),
    }

    @classmethod
    def fit(cls, table: Table) -> GowerScale:
        """Compute the ranges; constant columns are left out."""
        schema, used = table.schema, table.schema.used.tolist()
        least, largest = np.full(len(used), np.nan), np.full(len(used), np.nan)
        for k, j in enumerate(used):
            values = table.column(j)
            present = values if schema.columns[j].is_number else values[values >= 0]
            if len(present):
                least[k], largest[k] = np.fmin.reduce(present), np.fmax.reduce(present)
        varies = np.flatnonzero(largest > least)
        if len(varies) == 0:
            n = schema.n_columns
            raise DataError(f"Gower's distance requires a column that varies; none of the {n:,} columns does.")
        columns = tuple(used[k] for k in varies.tolist())
        ranges, exponents = np.frexp((largest - least)[varies])
        codes = [not schema.columns[j].is_number for j in columns]
        ranges[codes], exponents[codes] = 1.0, 0
        return cls(schema, columns, exponents, 1.0 / ranges)

    def scale_values(self, table: Table) -> Floats:
        """Return the scaled values of a table with one row per column, NaN for missing values.

        Category codes are treated as numbers: two levels differ by at least 1, which is the largest contribution of a column.
        """
        n_rows = table.schema.n_rows
        check_memory(
            8.0 * n_rows * len(self.columns),
            f"{n_rows:,} rows of {len(self.columns):,} columns",
            "Keep fewer columns first, with RankSelector.",
        )
        values = np.empty((len(self.columns), n_rows))
        for k, (j, scaled) in enumerate(zip(self.columns, values, strict=True)):
            if self.schema.columns[j].is_number:
                # A value that overflows is outside the range, so its difference counts as 1 in any case.
                with np.errstate(over="ignore"):
                    np.ldexp(table.column(j), -self.exponents[k], out=scaled)
            else:
                scaled[:] = table.column(j)
                scaled[scaled < 0] = np.nan
        return values


class GowerPoints(Points):
    """Rows of mixed columns at Gower's dissimilarity, in [0, 1].

    .. math:: d(x, y) = \\frac{\\sum_k \\delta_k(x, y) d_k(x_k, y_k)}{\\sum_k \\delta_k(x, y)}

    :math:`\\delta_k` is 1 if column k is present in both rows, else 0. For a number or a date, :math:`d_k` is :math:`|x_k -
    y_k|` divided by the column's range in the training rows, at most 1; for a category it is 0 or 1. Columns that are constant
    in the training rows are ignored. Rows without a common present column have dissimilarity 1, the largest value. If no column
    varies, or a row has only missing values in those that do, DataError names it.

    Cost O(n p) per row. Without missing values the square root of d is Euclidean. With missing values the triangle inequality
    may fail, and rows that differ only where a value is missing have dissimilarity 0.

    References
    ----------
    Gower (1971), A general coefficient of similarity and some of its properties, Biometrics 27.
    """

    metric = "gower"
    invariants: ClassVar[Invariants] = {
        "values": FloatArray("c", "n", allow_missing=True),
        "scale": InstanceOf(GowerScale),
        "scale.inverse_ranges": FloatArray("c"),
    }

    def __init__(self, values: Floats, scale: GowerScale, row_numbers: Indices) -> None:
        refuse_empty_rows(values, row_numbers)
        self.values = values
        self.scale = scale
        self.n_samples = values.shape[1]
        self._has_missing = np.isnan(values).any(axis=1)

    @classmethod
    def from_table(cls, table: Table) -> Self:
        """Return the rows of a table, with ranges fitted on them."""
        scale = GowerScale.fit(table)
        return cls(scale.scale_values(table), scale, table.row_numbers)

    def get_state(self) -> dict[str, Any]:
        return {"values": self.values, "scale": self.scale}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        return cls(**state, row_numbers=np.arange(state["values"].shape[1]))

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        out = np.empty((stop - start, self.n_samples))
        gower_block(queries.values, start, stop, self.values, self.scale.inverse_ranges, self._has_missing, out)
        return out

    def row_keys(self, rows: Indices) -> list[bytes]:
        """Return the bytes of the rows, with one NaN for all missing values."""
        values = np.ascontiguousarray(self.values[:, rows].T)
        values += 0.0
        values[np.isnan(values)] = np.nan
        return [row.tobytes() for row in values]

    def row_hashes(self) -> Floats:
        """Return the projections of the rows on a random direction, with missing values as 0."""
        directions = np.random.default_rng(0).standard_normal(len(self.values))
        along = np.zeros(self.n_samples)
        # Values of new rows may overflow to inf or nan; such a row equals no training row, and its hash then matches none.
        with np.errstate(over="ignore", invalid="ignore"):
            for direction, column in zip(directions, self.values, strict=True):
                along += direction * np.where(np.isnan(column), 0.0, column)
        return along

    def take(self, rows: Indices) -> Self:
        taken = copy(self)
        taken.values = np.ascontiguousarray(self.values[:, rows])
        taken.n_samples = taken.values.shape[1]
        return taken

    def new_points(self, rows: Any) -> Self:
        """Return new rows scaled by the ranges of the training rows; an unknown level is a missing value."""
        table = align_to_schema(rows, self.scale.schema)
        return type(self)(self.scale.scale_values(table), self.scale, table.row_numbers)


def euclidean_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    """Return rows under the Euclidean distance; numeric columns are used unchanged."""
    if (matrix := find_sparse_matrix(X)) is not None:
        return choose_sparse_points(matrix, "euclidean")
    rows, encoder = _encode_table(X, standardize=False, fill_missing=fill_missing)
    return EuclideanPoints(rows), encoder


def standardized_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    """Return rows under the Euclidean distance, with numeric columns divided by their standard deviation."""
    if sparse.issparse(X):
        raise DataError(
            "'seuclidean' centres columns, which makes sparse rows dense. Divide the columns yourself and use 'euclidean'."
        )
    rows, encoder = _encode_table(X, standardize=True, fill_missing=fill_missing)
    return EuclideanPoints(rows), encoder


def cityblock_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    """Return rows under the city block distance; numeric columns are used unchanged."""
    if sparse.issparse(X):
        raise DataError("City block distances require dense rows, got a sparse matrix; X.toarray() is dense.")
    rows, encoder = _encode_table(X, standardize=False, fill_missing=fill_missing)
    return CityBlockPoints(rows), encoder


def cosine_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    """Return rows under the cosine distance, 1 minus the cosine of the angle between two rows."""
    if (matrix := find_sparse_matrix(X)) is not None:
        return choose_sparse_points(matrix, "cosine")
    rows, encoder = _encode_table(X, standardize=False, fill_missing=fill_missing)
    return CosinePoints(rows, row_numbers(X)), encoder


def gower_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:  # noqa: ARG001 - Gower allows missing values
    """Return rows of mixed columns with missing values under Gower's dissimilarity."""
    table = as_table(X)
    warn_user(table.schema.excluded_column_notes)
    return GowerPoints.from_table(table), SchemaEncoder(table.schema)


def precomputed_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:  # noqa: ARG001 - no distance may be missing
    """Return rows under the distances in the matrix X; a sparse matrix contains those of some pairs."""
    return SparseDistances(X) if sparse.issparse(X) else PrecomputedDistances(X), IdentityEncoder()


def _encode_table(X: Any, *, standardize: bool, fill_missing: bool) -> tuple[Floats, RowEncoder]:
    table = as_table(X)
    warn_user(table.schema.excluded_column_notes)
    return TableEncoder.fit(table, standardize=standardize, fill_missing=fill_missing)
