"""What reads a table as the points of a metric, a function for each."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.graphs.metrics.city_block import CityBlockRows
from tamiz.graphs.metrics.cosine import CosineRows
from tamiz.graphs.metrics.gower import GowerRows
from tamiz.graphs.metrics.precomputed import PrecomputedDistances
from tamiz.graphs.metrics.sparse_points import sparse_points
from tamiz.graphs.points import Points, Rows
from tamiz.graphs.reading import AsColumns, AsGiven, Reading, TableReading, row_numbers
from tamiz.sources.open import as_source
from tamiz.sources.sparse import sparse_rows
from tamiz.statistics.base import Floats
from tamiz.warn import tell


def euclidean(X: Any, *, fill: bool) -> tuple[Points, Reading]:
    """Return rows at their Euclidean distances, numbers as they are."""
    if (held := sparse_rows(X)) is not None:
        return sparse_points(held, "euclidean")
    rows, reading = _table(X, standardize=False, fill=fill)
    return Rows(rows), reading


def standardized(X: Any, *, fill: bool) -> tuple[Points, Reading]:
    """Return rows at their Euclidean distances, numeric columns divided by their standard deviation."""
    if sparse.issparse(X):
        raise DataError("'seuclidean' centres columns, and sparse rows would be no more; divide them before.")
    rows, reading = _table(X, standardize=True, fill=fill)
    return Rows(rows), reading


def cityblock(X: Any, *, fill: bool) -> tuple[Points, Reading]:
    """Return rows at their city block distances, numbers as they are."""
    if sparse.issparse(X):
        raise DataError("City block distances are of dense rows, got a sparse matrix; X.toarray() makes them so.")
    rows, reading = _table(X, standardize=False, fill=fill)
    return CityBlockRows(rows), reading


def cosine(X: Any, *, fill: bool) -> tuple[Points, Reading]:
    """Return rows at their cosine distances, one less the cosine of their angle."""
    if (held := sparse_rows(X)) is not None:
        return sparse_points(held, "cosine")
    rows, reading = _table(X, standardize=False, fill=fill)
    return CosineRows(rows, row_numbers(X)), reading


def gower(X: Any, *, fill: bool) -> tuple[Points, Reading]:  # noqa: ARG001 - a gap is no trouble here
    """Return rows of mixed columns with gaps at Gower's distances."""
    source = as_source(X)
    tell(source.schema.left_out)
    return GowerRows.of(source), AsColumns(source.schema)


def precomputed(X: Any, *, fill: bool) -> tuple[Points, Reading]:  # noqa: ARG001 - no distance may be missing
    """Return rows at the distances that X holds."""
    return PrecomputedDistances(X), AsGiven()


def _table(X: Any, *, standardize: bool, fill: bool) -> tuple[Floats, Reading]:
    source = as_source(X)
    tell(source.schema.left_out)
    return TableReading.fit(source, standardize=standardize, fill=fill)
