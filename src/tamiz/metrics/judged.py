"""Rows and their map, read and checked together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.graphs.builder import read_points
from tamiz.graphs.points import Points, Rows
from tamiz.graphs.reading import array_of
from tamiz.metrics.neighbors import Nearest, nearest_others
from tamiz.metrics.passes import Found, Wanted, survey
from tamiz.metrics.slabs import Numbers, Space, space_of
from tamiz.sources.base import Source
from tamiz.statistics.base import Floats
from tamiz.validation import check_integer, check_memory

# What a neighbour comes to with its ranks on both sides.
_BYTES = 100.0


@dataclass(frozen=True)
class Judged:
    """Points, and their places on a map.

    Attributes
    ----------
    data : Points
    mapped : Rows
    rows : ndarray of row numbers, ascending
        Those that are compared with all.
    """

    data: Points
    mapped: Rows
    rows: Numbers

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.data.n_samples

    @cached_property
    def spaces(self) -> tuple[Space, Space]:
        """The data and the map, ready for passes."""
        return space_of(self.data), space_of(self.mapped)

    def sampled(self, m: int | None, rng: np.random.Generator) -> Judged:
        """Return the same with so many rows, drawn, to compare with all; None is as they are."""
        if m is None:
            return self
        check_integer("sample", m, low=2, high=self.n)
        return self if m == self.n else replace(self, rows=np.sort(rng.choice(self.n, m, replace=False)))

    def data_neighbors(self, k: int) -> Nearest:
        """Return the k nearest others of the rows in the data."""
        return self._nearest(self.data, k)

    def map_neighbors(self, k: int) -> Nearest:
        """Return the k nearest others of the rows on the map."""
        return self._nearest(self.mapped, k)

    def _nearest(self, points: Points, k: int) -> Nearest:
        n_rows = len(self.rows)
        check_memory(
            _BYTES * n_rows * k, f"{k:,} neighbours of {n_rows:,} rows", "Lower n_neighbors, or judge a sample of rows."
        )
        return nearest_others(points, self.rows, k)

    def survey(self, **wanted: Any) -> Found:
        """Count what is wanted of the rows, as `Wanted` names it."""
        return survey(*self.spaces, Wanted(self.rows, **wanted))


def read(X: Any, embedding: Any, metric: str) -> Judged:
    """Return rows and their map, every row to be compared with all.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Source
    embedding : array or data frame of shape (n_samples, n_components)
    metric : str
        A name of `tamiz.graphs.metrics`.
    """
    places = _places(embedding)
    if isinstance(X, Source) and X.schema.weight is not None:
        raise DataError(
            f"The numbers of a map count every row once, and the source has the weights {X.schema.weight!r}; open it without "
            "weight."
        )
    points, _ = read_points(X, metric, fill=True)
    n = points.n_samples
    if len(places) != n:
        raise DataError(f"embedding has {len(places):,} rows and X has {n:,}; give the coordinates of the rows of X.")
    return Judged(points, Rows(places), np.arange(n))


def _places(embedding: Any) -> Floats:
    if sparse.issparse(embedding):
        raise TypeError("embedding must be a dense array of coordinates; its toarray() is one.")
    given = array_of(embedding, "embedding takes an array of coordinates")
    if given.dtype.kind not in "fiub":
        raise TypeError(f"embedding must hold real numbers, got {given.dtype}.")
    places = np.ascontiguousarray(given, dtype=np.float64)
    odd = np.flatnonzero(~np.isfinite(places).all(axis=1))
    if len(odd):
        raise DataError(
            f"Row {odd[0]} of the embedding holds a NaN or an infinite number. Leave rows without a place out, of X as well."
        )
    return places


def check_below_half(k: Any, n: int) -> int:
    """Return the number of neighbours where the measures that are normalised for few of them are defined."""
    k = check_integer("n_neighbors", k, low=1)
    if 2 * k >= n:
        raise ValueError(
            f"n_neighbors must be below n_samples / 2 = {n / 2:g}, got {k}. Lower n_neighbors or pass more rows."
        )
    return k


def check_below_all(k: Any, n: int) -> int:
    """Return the number of neighbours where a row has so many others."""
    k = check_integer("n_neighbors", k, low=1)
    if k >= n:
        raise ValueError(f"n_neighbors must be below n_samples = {n}, got {k}. Lower n_neighbors or pass more rows.")
    return k


def check_three(n: int) -> None:
    """Refuse rows of which each has one other, which is always the nearest."""
    if n < 3:
        raise DataError(f"X has {n} rows; ranks need at least 3 to differ.")
