"""One function per metric that reads a table as points under this metric, with the encoder for new rows."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.neighbors.gower import GowerPoints
from tamiz.neighbors.points import CityBlockPoints, CosinePoints, EuclideanPoints, Points
from tamiz.neighbors.precomputed import PrecomputedDistances, SparseDistances
from tamiz.neighbors.row_encoders import IdentityEncoder, SchemaEncoder, row_numbers
from tamiz.neighbors.sparse_points import choose_sparse_points
from tamiz.runtime.user_warnings import warn_user
from tamiz.table.encode import RowEncoder, TableEncoder
from tamiz.table.factory import as_table
from tamiz.table.sparse import find_sparse_matrix


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
