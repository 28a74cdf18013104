"""What rows are apart by, as classical scaling reads it: block by block, the user's own memory where it can be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.graphs.builder import read_points
from tamiz.graphs.metrics.names import registry as metrics
from tamiz.graphs.metrics.partly_known import IncompleteDistances
from tamiz.graphs.metrics.precomputed import PrecomputedDistances
from tamiz.graphs.points import Points
from tamiz.graphs.reading import IdentityEncoder, RowEncoder
from tamiz.reduction.similarities import Similarities
from tamiz.sources.base import Source
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import InstanceOf, Invariants
from tamiz.storage.stored import Serializable

# By the numbers that are given. Distances of a quadratic form lose more digits than those of differences.
_ROUNDING_BY_DTYPE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}
DISSIMILARITIES = (*(entry.name for entry in metrics), "similarity")


class Dissimilarities(Serializable, ABC):
    """Rows, and numbers b of their pairs that squared distances are made of.

    `quadratic` b^2 + `linear` b is the squared distance of a pair, but for a number of its row's own and one of its column's own:
    these drop out of products with centred vectors.

    Attributes
    ----------
    points : Points
    quadratic, linear : float
    trace : float
        The sum over rows of what is made of the number of each row and itself.
    rounding_tolerance : float
        Negative eigenvalues below this share of the largest may come of the rounding of the numbers.
    has_missing : bool
        Whether distances may be NaN, which is missing.
    """

    quadratic: ClassVar[float]
    linear: ClassVar[float]
    trace: float = 0.0
    rounding_tolerance: float = _ROUNDING_BY_DTYPE[np.dtype(np.float64)]
    has_missing: bool = False

    invariants: ClassVar[Invariants] = {"points": InstanceOf(Points)}

    def __init__(self, points: Any) -> None:
        self.points = points

    @property
    def n_points(self) -> int:
        """Points that `block` has numbers of."""
        return int(self.points.n_samples)

    def matches_encoder(self, encoder: RowEncoder) -> bool:
        """Return whether a reading makes rows of as many numbers as these have."""
        return encoder.n_coordinates in (None, self.points.n_coordinates)

    @abstractmethod
    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return the numbers of the queries `start : stop` and all points, to be read only."""

    @abstractmethod
    def distances(self, queries: Any, start: int, stop: int) -> Floats:
        """Return the distances of the queries `start : stop` to all points, to be read only."""

    def upper_block(self, start: int, stop: int) -> Floats:
        """Return the distances of the points `start : stop` to the points from `start` on, to be read only."""
        return self.distances(self.points, start, stop)[:, start:]

    def euclidean_coordinates(self) -> Floats | None:
        """Return fewer columns than rows that the distances are Euclidean ones of, where they are."""
        return None

    def copy_self_values(self, queries: Any, equal: NDArray[np.intp], points: NDArray[np.intp]) -> Any:  # noqa: ARG002
        """Return queries with what is known of them for being equal to points."""
        return queries

    def require_distances(self, rows: NDArray[np.intp]) -> None:
        """Refuse new rows, by their numbers, where rows that are equal to none of fit have no distances."""


class ComputedDissimilarities(Dissimilarities):
    """Rows whose distances are measured when they are asked for."""

    quadratic, linear = 1.0, 0.0

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances."""
        return self.points.block(queries, start, stop)

    def distances(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances."""
        return self.block(queries, start, stop)

    def upper_block(self, start: int, stop: int) -> Floats:
        """Return distances, each pair's measured once."""
        return np.asarray(self.points.take(np.arange(start, self.points.n_samples)).block(self.points, start, stop))

    def euclidean_coordinates(self) -> Floats | None:
        """Return the rows where they are numbers, fewer in each than there are rows."""
        # Other metrics may have rows whose Euclidean distances are only in the same order.
        values = self.points.euclidean_values() if self.points.metric == "euclidean" else None
        return values if values is not None and values.shape[1] < len(values) else None


class PrecomputedDissimilarities(ComputedDissimilarities):
    """Rows whose distances are given."""

    points: PrecomputedDistances

    invariants: ClassVar[Invariants] = {"points": InstanceOf(PrecomputedDistances)}

    def __init__(self, points: Any) -> None:
        super().__init__(points)
        self.rounding_tolerance, self.has_missing = _ROUNDING_BY_DTYPE[points.dtype], points.has_missing

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances."""
        return self.points.block_view(queries, start, stop)

    def upper_block(self, start: int, stop: int) -> Floats:
        """Return distances."""
        return self.block(self.points, start, stop)[:, start:]


class FromSimilarities(Dissimilarities):
    """Rows whose similarities are given."""

    quadratic, linear = 0.0, -2.0
    points: Similarities

    invariants: ClassVar[Invariants] = {"points": InstanceOf(Similarities)}

    def __init__(self, points: Similarities) -> None:
        super().__init__(points)
        self.rounding_tolerance = _ROUNDING_BY_DTYPE[points.dtype]
        self.trace = -2.0 * float(points.self_similarities.sum())

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return similarities. A row's similarity to itself is a number of its own, so that new rows need none."""
        return self.points.block_view(queries, start, stop)

    def distances(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances, of rows that are equal to rows of fit."""
        return self.points.block(queries, start, stop)

    def require_distances(self, rows: NDArray[np.intp]) -> None:
        """Refuse them."""
        if len(rows):
            raise DataError(
                f"Row {rows[0]} is equal to no row of fit, and without its similarity to itself it has no distances. Fit on "
                "distances (dissimilarity='precomputed') to place such rows."
            )

    def copy_self_values(self, queries: Any, equal: NDArray[np.intp], points: NDArray[np.intp]) -> Similarities:
        """Return queries with the similarity to themselves that equal rows of fit have."""
        return self.points.copy_self_values(queries, equal, points)


def read_new_rows(dissimilarities: Dissimilarities, encoder: RowEncoder, X: Any) -> Any:
    """Return new rows as points beside the rows of fit."""
    queries = dissimilarities.points.new_points(encoder.encode(X))
    if queries.n_samples == 0:
        raise DataError("X has 0 samples (rows); there is nothing to place.")
    return queries


def read_dissimilarities(X: Any, dissimilarity: str, estimator_name: str) -> tuple[Dissimilarities, RowEncoder]:
    """Return the rows of a table, and what reads new ones, for an owner who counts every row once."""
    if dissimilarity == "similarity":
        similar = Similarities(X)
        if similar.n_samples < 2:
            raise DataError("X has 1 sample (row); a map needs at least 2.")
        return FromSimilarities(similar), IdentityEncoder()
    if isinstance(X, Source) and X.schema.weight is not None and dissimilarity != "precomputed":
        raise DataError(
            f"{estimator_name} counts every row once, and the source has the weights {X.schema.weight!r}; open it without weight, or "
            "use PCA, which takes weights, for rows at Euclidean distances."
        )
    points, reading = read_points(X, dissimilarity, fill_missing=True)
    rows: type[ComputedDissimilarities] = (
        PrecomputedDissimilarities if dissimilarity == "precomputed" else ComputedDissimilarities
    )
    return rows(points), reading


def read_partial_dissimilarities(X: Any, dissimilarity: str, estimator_name: str) -> tuple[Dissimilarities, RowEncoder]:
    """Return what `read` does; distances that are given, and those of new rows, may be NaN, which is missing."""
    if dissimilarity != "precomputed":
        return read_dissimilarities(X, dissimilarity, estimator_name)
    points = IncompleteDistances(X)
    if points.n_samples < 2:
        raise DataError(f"X has {points.n_samples} samples (rows); a map needs at least 2.")
    return PrecomputedDissimilarities(points), IdentityEncoder()
