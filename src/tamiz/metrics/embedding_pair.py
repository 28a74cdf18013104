"""The data and a map of the same rows: reading, checks, nearest neighbours and passes over their pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.kernels.primitives import distance_keys
from tamiz.metrics.pair_scan import PairDistances, PairScanRequest, PairScanResult, pair_distances_of, scan_pairs
from tamiz.neighbors.base import drop_own_rows
from tamiz.neighbors.exact_search import choose_exact_search
from tamiz.neighbors.metrics import read_points
from tamiz.neighbors.points import EuclideanPoints, Points
from tamiz.runtime.validation import check_integer, check_memory
from tamiz.table.base import Table
from tamiz.table.factory import as_array

PointIndices = NDArray[np.int32]


class NeighborRanks(NamedTuple):
    """The k nearest neighbours of some rows, nearest first, ties in the order of row numbers.

    A rank is one plus the number of other rows that are strictly nearer.
    """

    points: PointIndices
    ranks: NDArray[np.int64]


def nearest_neighbors(points: Points, rows: Indices, k: int) -> NeighborRanks:
    """Return the k nearest neighbours of the rows with these ascending numbers, a row itself excluded."""
    check_memory(
        _BYTES_PER_NEIGHBOR * len(rows) * k,
        f"{k:,} neighbours of {len(rows):,} rows",
        "Lower n_neighbors, or evaluate a sample of rows.",
    )
    index = choose_exact_search(points).fit(points)
    if len(rows) == points.n_samples:
        found = index.query(k)
        return _rank_distances(found.indices.reshape(-1, k), found.distances.reshape(-1, k))
    found = index.query(k + 1, points.take(rows))
    return _rank_distances(
        *drop_own_rows(rows, found.indices.reshape(-1, k + 1), found.distances.reshape(-1, k + 1)),
    )


def _rank_distances(indices: PointIndices, distances: Floats) -> NeighborRanks:
    ranks = np.broadcast_to(np.arange(1, distances.shape[1] + 1), distances.shape).copy()
    keys = distance_keys(distances)
    ranks[:, 1:][keys[:, 1:] == keys[:, :-1]] = 0
    return NeighborRanks(indices, np.maximum.accumulate(ranks, axis=1))


# Memory of a neighbour with its ranks in data and map, measured upper bound.
_BYTES_PER_NEIGHBOR = 100.0


@dataclass(frozen=True)
class EmbeddingPair:
    """Points of the data and the coordinates of the same rows on a map; `rows` are compared with all rows."""

    data: Points
    embedding: EuclideanPoints
    rows: Indices

    @property
    def n(self) -> int:
        return self.data.n_samples

    @cached_property
    def spaces(self) -> tuple[PairDistances, PairDistances]:
        return pair_distances_of(self.data), pair_distances_of(self.embedding)

    def sample_rows(self, m: int | None, rng: np.random.Generator) -> EmbeddingPair:
        """Return the pair restricted to m rows drawn at random; None keeps the rows."""
        if m is None:
            return self
        check_integer("sample", m, low=2, high=self.n)
        return self if m == self.n else replace(self, rows=np.sort(rng.choice(self.n, m, replace=False)))

    def data_neighbors(self, k: int) -> NeighborRanks:
        return nearest_neighbors(self.data, self.rows, k)

    def map_neighbors(self, k: int) -> NeighborRanks:
        return nearest_neighbors(self.embedding, self.rows, k)

    def scan(self, **requested: Any) -> PairScanResult:
        """Make one pass over the pairs; keywords are those of `PairScanRequest`."""
        return scan_pairs(*self.spaces, PairScanRequest(self.rows, **requested))


def read_embedding_pair(X: Any, embedding: Any, metric: str) -> EmbeddingPair:
    """Read the data and the map and check that they have the same rows; every row is compared with all."""
    coordinates = _read_embedding(embedding)
    if isinstance(X, Table) and X.schema.weight is not None:
        raise DataError(
            f"Map quality is not defined for weighted rows, and the table has the weights {X.schema.weight!r}; open it without "
            "weight."
        )
    points, _ = read_points(X, metric, fill_missing=True)
    n = points.n_samples
    if len(coordinates) != n:
        raise DataError(
            f"embedding has {len(coordinates):,} rows and X has {n:,}; give the coordinates of the rows of X."
        )
    return EmbeddingPair(points, EuclideanPoints(coordinates), np.arange(n))


def _read_embedding(embedding: Any) -> Floats:
    if sparse.issparse(embedding):
        raise TypeError(
            "embedding must be a dense array of coordinates, got a sparse matrix. Pass embedding.toarray()."
        )
    array = as_array(embedding, "embedding must be an array of coordinates")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"embedding must contain real numbers, got {array.dtype}.")
    coordinates = np.ascontiguousarray(array, dtype=np.float64)
    invalid = np.flatnonzero(~np.isfinite(coordinates).all(axis=1))
    if len(invalid):
        raise DataError(
            f"Row {invalid[0]} of the embedding contains a NaN or an infinite number. Remove rows without coordinates from the "
            "embedding and from X."
        )
    return coordinates


def check_neighbors_below_half(k: Any, n: int) -> int:
    """Return k, or raise ValueError unless k < n / 2, as trustworthiness and continuity require."""
    k = check_integer("n_neighbors", k, low=1)
    if 2 * k >= n:
        raise ValueError(
            f"n_neighbors must be below n_samples / 2 = {n / 2:g}, got {k}. Lower n_neighbors or pass more rows."
        )
    return k


def check_neighbors_below_n(k: Any, n: int) -> int:
    """Return k, or raise ValueError unless k < n."""
    k = check_integer("n_neighbors", k, low=1)
    if k >= n:
        raise ValueError(f"n_neighbors must be below n_samples = {n}, got {k}. Lower n_neighbors or pass more rows.")
    return k


def check_three_rows(n: int) -> None:
    """Raise DataError for fewer than 3 rows, where every rank is 1."""
    if n < 3:
        raise DataError(f"X has {n} rows; ranks need at least 3 to differ.")
