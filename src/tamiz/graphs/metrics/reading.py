"""What reads a table as the points of a metric, a function for each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.graphs.metrics.cosine import CosineRows
from tamiz.graphs.metrics.gower import GowerRows
from tamiz.graphs.metrics.precomputed import PrecomputedDistances
from tamiz.graphs.metrics.sparse_points import sparse_points
from tamiz.graphs.points import Points, Rows
from tamiz.graphs.reading import AsGiven, Reading, TableReading, named_rows
from tamiz.sources.base import Source
from tamiz.sources.open import as_source
from tamiz.statistics.base import Floats
from tamiz.warn import tell


def euclidean(X: Any, *, fill: bool) -> tuple[Points, Reading]:
    """Return rows at their Euclidean distances, numbers as they are."""
    if sparse.issparse(X):
        return sparse_points(X, "euclidean")
    rows, reading = _table(X, standardize=False, fill=fill)
    return Rows(rows), reading


def standardized(X: Any, *, fill: bool) -> tuple[Points, Reading]:
    """Return rows at their Euclidean distances, numeric columns divided by their standard deviation."""
    if sparse.issparse(X):
        raise DataError("metric='seuclidean' centres columns, and sparse rows would be no more; divide them before.")
    rows, reading = _table(X, standardize=True, fill=fill)
    return Rows(rows), reading


def cosine(X: Any, *, fill: bool) -> tuple[Points, Reading]:
    """Return rows at their cosine distances, one less the cosine of their angle."""
    if sparse.issparse(X):
        return sparse_points(X, "cosine")
    rows, reading = _table(X, standardize=False, fill=fill)
    return CosineRows(rows), reading


def gower(X: Any, *, fill: bool) -> tuple[Points, Reading]:  # noqa: ARG001 - a gap is no trouble here
    """Return rows of mixed columns with gaps at Gower's distances."""
    source = as_source(X)
    tell(source.schema.left_out)
    return GowerRows.of(source), AsGiven()


def precomputed(X: Any, *, fill: bool) -> tuple[Points, Reading]:  # noqa: ARG001 - no distance may be missing
    """Return rows at the distances that X holds."""
    return PrecomputedDistances(X), AsGiven()


def _table(X: Any, *, standardize: bool, fill: bool) -> tuple[Floats, Reading]:
    source = as_source(X)
    tell(source.schema.left_out)
    refuse_gaps(source, fill=fill)
    reading = TableReading.fit(source, standardize=standardize)
    return reading.coordinates(source), reading


def refuse_gaps(source: Source, *, fill: bool) -> None:
    """Refuse rows with missing values, or tell that they are filled with the mean of their column."""
    schema = source.schema
    gappy = [j for j in schema.used.tolist() if schema.columns[j].n_missing]
    n_missing = sum(schema.columns[j].n_missing for j in gappy)
    if not n_missing:
        return
    if fill:
        values = "missing value was" if n_missing == 1 else "missing values were"
        tell([f"{n_missing:,} {values} given the mean of the column before distances were taken."])
        return
    gaps = np.concatenate(
        [
            np.any([np.isnan(v) if v.dtype == np.float64 else v < 0 for v in block.values.values()], axis=0)
            for block in source.blocks(gappy)
        ]
    )
    first = source.row_numbers[np.flatnonzero(gaps)]
    raise DataError(
        f"{named_rows(first)} a missing value (column {schema.columns[gappy[0]].name}); distances need all of them. "
        "Fill them in, leave the rows out, or use metric='gower'."
    )
