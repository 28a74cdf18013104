"""Sparse rows as points, dense where that is faster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tamiz.graphs.metrics.cosine import CosinePoints
from tamiz.graphs.metrics.names import SPARSE_METRICS
from tamiz.graphs.metrics.refusals import check_n_features
from tamiz.graphs.metrics.sparse_rows import SparsePoints, canonical_csr, check_number_range
from tamiz.graphs.points import EuclideanPoints, Points
from tamiz.graphs.reading import IdentityEncoder, RowEncoder
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Integer, Invariants, OneOf
from tamiz.validation import check_choice

# Dense rows are made of sparse ones up to this size.
MAX_DENSE_BYTES = 2**28
# With more rows than this a search of all pairs takes long, and the others need dense rows.
MAX_BRUTE_FORCE_ROWS = 50_000


@dataclass(frozen=True)
class DenseEncoder(RowEncoder):
    """Sparse rows made dense, because the rows that a graph was built from were."""

    n_columns: int
    metric: str

    invariants: ClassVar[Invariants] = {"n_columns": Integer(low=1), "metric": OneOf(*SPARSE_METRICS)}

    @property
    def n_coordinates(self) -> int:
        """Columns of a row."""
        return self.n_columns

    def encode(self, X: Any) -> Floats:
        """Return new rows, sparse or dense, as dense ones."""
        rows = canonical_csr(X)
        check_n_features(rows.shape[1], self.n_columns)
        check_number_range(rows, self.metric)
        return np.asarray(rows.toarray())


def choose_sparse_points(matrix: Any, metric: str) -> tuple[Points, RowEncoder]:
    """Return sparse rows as points: dense ones where those are small and searched faster, else `SparsePoints`.

    Dense up to 256 MB, and then only where the rows are so full, or have so few columns, that products of dense rows cost
    less than those of the numbers stored, or where there are more than 50,000 rows: dense ones alone can be searched by a tree
    or by nearest-neighbour descent.
    """
    check_choice("metric", metric, SPARSE_METRICS)
    rows = canonical_csr(matrix)
    n_rows, n_columns = rows.shape
    share = np.bincount(rows.indices, minlength=n_columns) / max(n_rows, 1)
    # Nanoseconds a pair, measured: an entry that both have, a number of a column held whole, a number of a dense product.
    sparse_work = 1.0 + float(np.minimum(1.2 * share**2, 0.25 * share).sum())
    dense_work = 0.5 + 0.025 * n_columns
    if 8.0 * n_rows * n_columns > MAX_DENSE_BYTES or (dense_work > sparse_work and n_rows <= MAX_BRUTE_FORCE_ROWS):
        return SparsePoints(rows, metric=metric), IdentityEncoder()
    check_number_range(rows, metric)
    dense = rows.toarray()
    return CosinePoints(dense) if metric == "cosine" else EuclideanPoints(dense), DenseEncoder(n_columns, metric)
