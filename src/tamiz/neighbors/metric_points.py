"""What reads a table as the points of a metric, a function for each."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.neighbors.gower import GowerPoints
from tamiz.neighbors.points import CityBlockPoints, CosinePoints, EuclideanPoints, Points
from tamiz.neighbors.precomputed import PrecomputedDistances
from tamiz.neighbors.row_encoders import IdentityEncoder, RowEncoder, SchemaEncoder, TableEncoder, row_numbers
from tamiz.neighbors.sparse_points import choose_sparse_points
from tamiz.runtime.user_warnings import warn_user
from tamiz.sources.factory import as_source
from tamiz.sources.sparse import find_sparse_matrix
from tamiz.statistics.base import Floats


def euclidean_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    """Return rows at their Euclidean distances, numbers as they are."""
    if (held := find_sparse_matrix(X)) is not None:
        return choose_sparse_points(held, "euclidean")
    rows, reading = _encode_table(X, standardize=False, fill_missing=fill_missing)
    return EuclideanPoints(rows), reading


def standardized_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    """Return rows at their Euclidean distances, numeric columns divided by their standard deviation."""
    if sparse.issparse(X):
        raise DataError("'seuclidean' centres columns, and sparse rows would be no more; divide them before.")
    rows, reading = _encode_table(X, standardize=True, fill_missing=fill_missing)
    return EuclideanPoints(rows), reading


def cityblock_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    """Return rows at their city block distances, numbers as they are."""
    if sparse.issparse(X):
        raise DataError("City block distances are of dense rows, got a sparse matrix; X.toarray() makes them so.")
    rows, reading = _encode_table(X, standardize=False, fill_missing=fill_missing)
    return CityBlockPoints(rows), reading


def cosine_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    """Return rows at their cosine distances, one less the cosine of their angle."""
    if (held := find_sparse_matrix(X)) is not None:
        return choose_sparse_points(held, "cosine")
    rows, reading = _encode_table(X, standardize=False, fill_missing=fill_missing)
    return CosinePoints(rows, row_numbers(X)), reading


def gower_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:  # noqa: ARG001 - a gap is no trouble here
    """Return rows of mixed columns with gaps at Gower's distances."""
    source = as_source(X)
    warn_user(source.schema.excluded_column_notes)
    return GowerPoints.from_source(source), SchemaEncoder(source.schema)


def precomputed_points(X: Any, *, fill_missing: bool) -> tuple[Points, RowEncoder]:  # noqa: ARG001 - no distance may be missing
    """Return rows at the distances that X holds."""
    return PrecomputedDistances(X), IdentityEncoder()


def _encode_table(X: Any, *, standardize: bool, fill_missing: bool) -> tuple[Floats, RowEncoder]:
    source = as_source(X)
    warn_user(source.schema.excluded_column_notes)
    return TableEncoder.fit(source, standardize=standardize, fill_missing=fill_missing)
