"""What rows are apart by, as classical scaling reads it: block by block, the user's own memory where it can be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.graphs.builder import read_points
from tamiz.graphs.metrics.names import registry as metrics
from tamiz.graphs.metrics.partly_known import PartlyKnownDistances
from tamiz.graphs.metrics.precomputed import PrecomputedDistances
from tamiz.graphs.points import Points
from tamiz.graphs.reading import AsGiven, Reading
from tamiz.reduction.similarities import Similarities
from tamiz.sources.base import Source
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Invariants, Is
from tamiz.storage.stored import Stored

# By the numbers that are given. Distances of a quadratic form lose more digits than those of differences.
_ROUNDING = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}
NAMES = (*(entry.name for entry in metrics), "similarity")


class Dissimilarities(Stored, ABC):
    """Rows, and numbers b of their pairs that squared distances are made of.

    `square` b^2 + `linear` b is the squared distance of a pair, but for a number of its row's own and one of its column's own:
    these drop out of products with centred vectors.

    Attributes
    ----------
    points : Points
    square, linear : float
    trace : float
        The sum over rows of what is made of the number of each row and itself.
    rounding : float
        Negative eigenvalues below this share of the largest may come of the rounding of the numbers.
    has_gaps : bool
        Whether distances may be NaN, which is missing.
    """

    square: ClassVar[float]
    linear: ClassVar[float]
    trace: float = 0.0
    rounding: float = _ROUNDING[np.dtype(np.float64)]
    has_gaps: bool = False

    invariants: ClassVar[Invariants] = {"points": Is(Points)}

    def __init__(self, points: Any) -> None:
        self.points = points

    @property
    def n_points(self) -> int:
        """Points that `block` has numbers of."""
        return int(self.points.n_samples)

    def are_read_by(self, reading: Reading) -> bool:
        """Return whether a reading makes rows of as many numbers as these have."""
        return reading.width in (None, self.points.width)

    @abstractmethod
    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return the numbers of the queries `start : stop` and all points, to be read only."""

    @abstractmethod
    def distances(self, queries: Any, start: int, stop: int) -> Floats:
        """Return the distances of the queries `start : stop` to all points, to be read only."""

    def later(self, start: int, stop: int) -> Floats:
        """Return the distances of the points `start : stop` to the points from `start` on, to be read only."""
        return self.distances(self.points, start, stop)[:, start:]

    def columns(self) -> Floats | None:
        """Return fewer columns than rows that the distances are Euclidean ones of, where they are."""
        return None

    def known(self, queries: Any, equal: NDArray[np.intp], points: NDArray[np.intp]) -> Any:  # noqa: ARG002
        """Return queries with what is known of them for being equal to points."""
        return queries

    def refuse_unknown(self, rows: NDArray[np.intp]) -> None:
        """Refuse new rows, by their numbers, where rows that are equal to none of fit have no distances."""


class Measured(Dissimilarities):
    """Rows whose distances are measured when they are asked for."""

    square, linear = 1.0, 0.0

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances."""
        return self.points.block(queries, start, stop)

    def distances(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances."""
        return self.block(queries, start, stop)

    def later(self, start: int, stop: int) -> Floats:
        """Return distances, each pair's measured once."""
        return np.asarray(self.points.take(np.arange(start, self.points.n_samples)).block(self.points, start, stop))

    def columns(self) -> Floats | None:
        """Return the rows where they are numbers, fewer in each than there are rows."""
        # Other metrics may have rows whose Euclidean distances are only in the same order.
        values = self.points.euclidean() if self.points.metric == "euclidean" else None
        return values if values is not None and values.shape[1] < len(values) else None


class Given(Measured):
    """Rows whose distances are given."""

    points: PrecomputedDistances

    invariants: ClassVar[Invariants] = {"points": Is(PrecomputedDistances)}

    def __init__(self, points: Any) -> None:
        super().__init__(points)
        self.rounding, self.has_gaps = _ROUNDING[points.dtype], points.has_gaps

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances."""
        return self.points.block_as_it_lies(queries, start, stop)

    def later(self, start: int, stop: int) -> Floats:
        """Return distances."""
        return self.block(self.points, start, stop)[:, start:]


class Similar(Dissimilarities):
    """Rows whose similarities are given."""

    square, linear = 0.0, -2.0
    points: Similarities

    invariants: ClassVar[Invariants] = {"points": Is(Similarities)}

    def __init__(self, points: Similarities) -> None:
        super().__init__(points)
        self.rounding = _ROUNDING[points.dtype]
        self.trace = -2.0 * float(points.own.sum())

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return similarities. A row's similarity to itself is a number of its own, so that new rows need none."""
        return self.points.as_they_lie(queries, start, stop)

    def distances(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances, of rows that are equal to rows of fit."""
        return self.points.block(queries, start, stop)

    def refuse_unknown(self, rows: NDArray[np.intp]) -> None:
        """Refuse them."""
        if len(rows):
            raise DataError(
                f"Row {rows[0]} is equal to no row of fit, and without its similarity to itself it has no distances. Fit on "
                "distances (dissimilarity='precomputed') to place such rows."
            )

    def known(self, queries: Any, equal: NDArray[np.intp], points: NDArray[np.intp]) -> Similarities:
        """Return queries with the similarity to themselves that equal rows of fit have."""
        return self.points.known(queries, equal, points)


def read_new(rows: Dissimilarities, reading: Reading, X: Any) -> Any:
    """Return new rows as points beside the rows of fit."""
    queries = rows.points.like(reading.rows(X))
    if queries.n_samples == 0:
        raise DataError("X has 0 samples (rows); there is nothing to place.")
    return queries


def read(X: Any, dissimilarity: str, owner: str) -> tuple[Dissimilarities, Reading]:
    """Return the rows of a table, and what reads new ones, for an owner who counts every row once."""
    if dissimilarity == "similarity":
        similar = Similarities(X)
        if similar.n_samples < 2:
            raise DataError("X has 1 sample (row); a map needs at least 2.")
        return Similar(similar), AsGiven()
    if isinstance(X, Source) and X.schema.weight is not None and dissimilarity != "precomputed":
        raise DataError(
            f"{owner} counts every row once, and the source has the weights {X.schema.weight!r}; open it without weight, or "
            "use PCA, which takes weights, for rows at Euclidean distances."
        )
    points, reading = read_points(X, dissimilarity, fill=True)
    rows: type[Measured] = Given if dissimilarity == "precomputed" else Measured
    return rows(points), reading


def read_with_gaps(X: Any, dissimilarity: str, owner: str) -> tuple[Dissimilarities, Reading]:
    """Return what `read` does; distances that are given, and those of new rows, may be NaN, which is missing."""
    if dissimilarity != "precomputed":
        return read(X, dissimilarity, owner)
    points = PartlyKnownDistances(X)
    if points.n_samples < 2:
        raise DataError(f"X has {points.n_samples} samples (rows); a map needs at least 2.")
    return Given(points), AsGiven()
