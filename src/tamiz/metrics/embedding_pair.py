"""Rows and their map, read and checked together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.graphs.builder import read_points
from tamiz.metrics.distance_blocks import DistanceSpace, RowIndices, create_space
from tamiz.metrics.pair_scan import PairScanRequest, PairScanResult, scan_pairs
from tamiz.neighbors.points import EuclideanPoints, Points
from tamiz.neighbors.row_encoders import as_array
from tamiz.neighbors.search_choice import choose_exact_search
from tamiz.runtime.validation import check_integer, check_memory
from tamiz.sources.base import Source
from tamiz.statistics.base import Floats

# MERGED: The nearest others of some rows.
PointIndices = NDArray[np.int32]


class NeighborRanks(NamedTuple):
    """The k nearest others of some rows, the nearest first, equal distances by the lower row.

    Attributes
    ----------
    points : ndarray of shape (n_rows, k)
    ranks : ndarray of shape (n_rows, k)
        One more than the others that are strictly nearer.
    """

    points: PointIndices
    ranks: NDArray[np.int64]


def nearest_neighbors(points: Points, rows: NDArray[np.intp], k: int) -> NeighborRanks:
    """Return the k nearest others of each of some rows, ascending row numbers."""
    index = choose_exact_search(points).fit(points)
    if len(rows) == points.n_samples:
        found = index.query(k)
        return _rank_distances(found.indices.reshape(-1, k), found.distances.reshape(-1, k))
    found = index.query(k + 1, points.take(rows))
    indices = found.indices.reshape(-1, k + 1)
    other = indices != rows[:, None]
    # Of a row with more than k duplicates below it, the row itself is not among those found.
    other[other.all(axis=1), -1] = False
    return _rank_distances(indices[other].reshape(-1, k), found.distances.reshape(-1, k + 1)[other].reshape(-1, k))


def _rank_distances(indices: PointIndices, distances: Floats) -> NeighborRanks:
    places = np.broadcast_to(np.arange(1, distances.shape[1] + 1), distances.shape).copy()
    places[:, 1:][distances[:, 1:] == distances[:, :-1]] = 0
    return NeighborRanks(indices, np.maximum.accumulate(places, axis=1))


# What a neighbour comes to with its ranks on both sides.
_BYTES_PER_NEIGHBOR = 100.0


@dataclass(frozen=True)
class EmbeddingPair:
    """Points, and their places on a map.

    Attributes
    ----------
    data : Points
    embedding : Rows
    rows : ndarray of row numbers, ascending
        Those that are compared with all.
    """

    data: Points
    embedding: EuclideanPoints
    rows: RowIndices

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.data.n_samples

    @cached_property
    def spaces(self) -> tuple[DistanceSpace, DistanceSpace]:
        """The data and the map, ready for passes."""
        return create_space(self.data), create_space(self.embedding)

    def sample_rows(self, m: int | None, rng: np.random.Generator) -> EmbeddingPair:
        """Return the same with so many rows, drawn, to compare with all; None is as they are."""
        if m is None:
            return self
        check_integer("sample", m, low=2, high=self.n)
        return self if m == self.n else replace(self, rows=np.sort(rng.choice(self.n, m, replace=False)))

    def data_neighbors(self, k: int) -> NeighborRanks:
        """Return the k nearest others of the rows in the data."""
        return self._nearest(self.data, k)

    def map_neighbors(self, k: int) -> NeighborRanks:
        """Return the k nearest others of the rows on the map."""
        return self._nearest(self.embedding, k)

    def _nearest(self, points: Points, k: int) -> NeighborRanks:
        n_rows = len(self.rows)
        check_memory(
            _BYTES_PER_NEIGHBOR * n_rows * k,
            f"{k:,} neighbours of {n_rows:,} rows",
            "Lower n_neighbors, or judge a sample of rows.",
        )
        return nearest_neighbors(points, self.rows, k)

    def scan(self, **wanted: Any) -> PairScanResult:
        """Count what is wanted of the rows, as `Wanted` names it."""
        return scan_pairs(*self.spaces, PairScanRequest(self.rows, **wanted))


def read_embedding_pair(X: Any, embedding: Any, metric: str) -> EmbeddingPair:
    """Return rows and their map, every row to be compared with all.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Source
    embedding : array or data frame of shape (n_samples, n_components)
    metric : str
        A name of `tamiz.neighbors`.
    """
    places = _read_embedding(embedding)
    if isinstance(X, Source) and X.schema.weight is not None:
        raise DataError(
            f"The numbers of a map count every row once, and the source has the weights {X.schema.weight!r}; open it without "
            "weight."
        )
    points, _ = read_points(X, metric, fill_missing=True)
    n = points.n_samples
    if len(places) != n:
        raise DataError(f"embedding has {len(places):,} rows and X has {n:,}; give the coordinates of the rows of X.")
    return EmbeddingPair(points, EuclideanPoints(places), np.arange(n))


def _read_embedding(embedding: Any) -> Floats:
    if sparse.issparse(embedding):
        raise TypeError("embedding must be a dense array of coordinates; its toarray() is one.")
    given = as_array(embedding, "embedding takes an array of coordinates")
    if given.dtype.kind not in "fiub":
        raise TypeError(f"embedding must hold real numbers, got {given.dtype}.")
    places = np.ascontiguousarray(given, dtype=np.float64)
    odd = np.flatnonzero(~np.isfinite(places).all(axis=1))
    if len(odd):
        raise DataError(
            f"Row {odd[0]} of the embedding holds a NaN or an infinite number. Leave rows without a place out, of X as well."
        )
    return places


def check_neighbors_below_half(k: Any, n: int) -> int:
    """Return the number of neighbours where the measures that are normalised for few of them are defined."""
    k = check_integer("n_neighbors", k, low=1)
    if 2 * k >= n:
        raise ValueError(
            f"n_neighbors must be below n_samples / 2 = {n / 2:g}, got {k}. Lower n_neighbors or pass more rows."
        )
    return k


def check_neighbors_below_n(k: Any, n: int) -> int:
    """Return the number of neighbours where a row has so many others."""
    k = check_integer("n_neighbors", k, low=1)
    if k >= n:
        raise ValueError(f"n_neighbors must be below n_samples = {n}, got {k}. Lower n_neighbors or pass more rows.")
    return k


def check_three_rows(n: int) -> None:
    """Refuse rows of which each has one other, which is always the nearest."""
    if n < 3:
        raise DataError(f"X has {n} rows; ranks need at least 3 to differ.")
