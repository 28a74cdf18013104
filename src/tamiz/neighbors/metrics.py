"""A table read as points under a metric, with the encoder that reads new rows the same way."""

from __future__ import annotations

from typing import Any

from scipy import sparse
from sklearn.utils import Tags

from tamiz.exceptions import DataError
from tamiz.neighbors.metric_registry import registry
from tamiz.neighbors.points import CityBlockPoints, CosinePoints, EuclideanPoints, GowerPoints, Points
from tamiz.neighbors.precomputed import PrecomputedDistances, SparseDistances
from tamiz.neighbors.sparse_points import SPARSE_METRICS, choose_sparse_points
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice
from tamiz.table.encode import IdentityEncoder, RowEncoder, SchemaEncoder, TableEncoder
from tamiz.table.factory import as_table, find_sparse_matrix, row_numbers

# The description of each metric by its name.
METRICS: dict[str, str] = {entry.name: entry.label for entry in registry}
# Metrics for which X is a matrix with a number for every pair of rows.
_PAIRWISE_METRICS = ("precomputed", "similarity")
# Why a metric needs dense rows.
_DENSE_REASONS = {
    "seuclidean": "'seuclidean' centres columns, which makes sparse rows dense. Divide the columns yourself and use 'euclidean'.",
    "cityblock": "City block distances require dense rows, got a sparse matrix; X.toarray() is dense.",
}


def metric_tags(tags: Tags, metric: str) -> Tags:
    """Return an estimator's tags with its input tags set for a metric."""
    # Gower's dissimilarity reads a sparse matrix column by column.
    tags.input_tags.sparse = metric in (*SPARSE_METRICS, "gower")
    tags.input_tags.pairwise = metric in _PAIRWISE_METRICS
    if tags.input_tags.pairwise:
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = False
    return tags


def read_points(X: Any, metric: str, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    """Return the rows as points under a metric, and the encoder that reads new rows the same way."""
    check_choice("metric", metric, METRICS)
    points, encoder = _read_rows(X, metric, fill_missing=fill_missing)
    if points.n_samples < 2:
        samples = "1 sample (row)" if points.n_samples == 1 else f"{points.n_samples} samples (rows)"
        raise DataError(f"X has {samples}; a graph needs at least 2.")
    return points, encoder


def _read_rows(X: Any, metric: str, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    if metric == "precomputed":
        return SparseDistances(X) if sparse.issparse(X) else PrecomputedDistances(X), IdentityEncoder()
    if metric in SPARSE_METRICS and (matrix := find_sparse_matrix(X)) is not None:
        return choose_sparse_points(matrix, metric)
    if metric in _DENSE_REASONS and sparse.issparse(X):
        raise DataError(_DENSE_REASONS[metric])
    table = as_table(X)
    warn_user(table.schema.excluded_column_notes)
    if metric == "gower":
        return GowerPoints.from_table(table), SchemaEncoder(table.schema)
    rows, encoder = TableEncoder.fit(table, standardize=metric == "seuclidean", fill_missing=fill_missing)
    if metric == "cosine":
        return CosinePoints(rows, row_numbers(X)), encoder
    return CityBlockPoints(rows) if metric == "cityblock" else EuclideanPoints(rows), encoder
