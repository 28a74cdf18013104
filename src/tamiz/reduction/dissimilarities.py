"""What rows are apart by, as classical scaling reads it: block by block, the user's own memory where it can be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from hashlib import blake2b
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.graphs.builder import read_points
from tamiz.kernels.pair_matrix_checks import check_similarity_rows
from tamiz.neighbors.metric_registry import registry as metrics
from tamiz.neighbors.pairwise_matrix import (
    SYMMETRY_TOLERANCE,
    TILE_SIZE,
    MatrixFault,
    PairwisePoints,
    Span,
    as_float_matrix,
    check_new_rows,
    check_square,
    largest_asymmetry,
    raise_fault,
    symmetrize,
    worst_fault,
    worst_row_fault,
)
from tamiz.neighbors.points import Points
from tamiz.neighbors.precomputed import IncompleteDistances, PrecomputedDistances
from tamiz.neighbors.row_encoders import IdentityEncoder, RowEncoder
from tamiz.runtime import parallel
from tamiz.sources.base import Source
from tamiz.sources.kinds import LARGEST_NUMBER
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import FloatArray, InstanceOf, Invariants
from tamiz.storage.records import Serializable

# MERGED: Rows known by their similarities alone.
_NOUN, _METRIC = "similarities", "dissimilarity='similarity'"


class Similarities(PairwisePoints):
    """Rows at the distances that a matrix of similarities stands for.

    .. math:: d_{ij}^2 = s_{ii} + s_{jj} - 2 s_{ij}

    Parameters
    ----------
    matrix : array-like of shape (n_samples, n_samples)
        Symmetric, none above the mean of the similarities of its two rows to themselves. float64 and float32 are kept as they lie,
        without a copy.

    Raises
    ------
    DataError
        When it is not such a matrix; the message names the row and the column.
    """

    metric = "similarity"
    invariants: ClassVar[Invariants] = {
        "similarities": FloatArray("n", "m", allow_float32=True),
        "self_similarities": FloatArray("n", allow_missing=True),
        "fitted": FloatArray("m"),
    }

    def __init__(self, matrix: Any) -> None:
        similarities = as_float_matrix(matrix, _NOUN, _METRIC)
        check_square(similarities, _NOUN)
        own = np.ascontiguousarray(similarities.diagonal(), dtype=np.float64)
        tolerance = SYMMETRY_TOLERANCE[similarities.dtype]
        similarities = symmetrize(
            similarities,
            _NOUN,
            lambda *rows: check_similarity_rows(similarities, own, *rows, LARGEST_NUMBER, tolerance),
            lambda part, rows, columns: _faults_of_tile(part, own, rows, columns),
            np.maximum,
        )
        self._set_arrays(similarities, own, own)

    def _set_arrays(self, similarities: NDArray[Any], own: Floats, fitted: Floats) -> None:
        """Keep rows, the similarity of each to itself, NaN where nobody knows it, and those of the rows of fit."""
        self._similarities, self.self_similarities, self._training_self_similarities = similarities, own, fitted
        self.n_samples = len(similarities)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What the matrix holds."""
        return self._similarities.dtype

    def get_state(self) -> dict[str, Any]:
        """Return the matrix and what the rows' similarities to themselves are."""
        return {
            "similarities": self._similarities,
            "self_similarities": self.self_similarities,
            "fitted": self._training_self_similarities,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the points as they were; the matrix was checked when they were made."""
        return cls._from_arrays(state["similarities"], state["self_similarities"], state["fitted"])

    def block_view(self, queries: Self, start: int, stop: int) -> Floats:
        """Return the similarities of the queries `start : stop` to all points, to be read only."""
        return np.ascontiguousarray(queries._similarities[start:stop], dtype=np.float64)

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return distances; a row must be known by its similarity to itself too."""
        own = queries.self_similarities[start:stop]
        if np.isnan(own).any():
            row = start + int(np.argmax(np.isnan(own)))
            raise DataError(
                f"Row {row} is equal to no row of fit, and without its similarity to itself it has no distances; "
                "correction='lingoes' needs none."
            )
        squared = queries._similarities[start:stop] * -2.0
        squared = squared.astype(np.float64, copy=False)
        squared += own[:, None]
        squared += self._training_self_similarities
        return np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared)

    def row_keys(self, rows: NDArray[np.intp]) -> list[bytes]:
        """Return a digest of the similarities to all rows of fit."""
        return [blake2b(self._similarities[row].astype(np.float64) + 0.0).digest() for row in rows]

    def row_hashes(self) -> Floats:
        """Return the first of the rows of fit that is nearest."""
        nearest = np.empty(self.n_samples)
        for start, stop in parallel.block_ranges(self.n_samples, TILE_SIZE):
            nearest[start:stop] = np.argmin(
                self._training_self_similarities - 2.0 * self._similarities[start:stop], axis=1
            )
        return nearest

    def _match_candidates(self, queries: Self, query: int) -> NDArray[np.intp]:
        if self.n_samples != len(self._training_self_similarities):
            return np.arange(0)
        # The nearest: d^2 but for the query's own number, and twice what rounding may have made of it.
        asked = queries._similarities[query].astype(np.float64)
        squared = self._training_self_similarities - 2.0 * asked
        tolerance = 2.0 * max(SYMMETRY_TOLERANCE[queries.dtype], SYMMETRY_TOLERANCE[self.dtype])
        least = float((squared + tolerance * (np.abs(self._training_self_similarities) + 2.0 * np.abs(asked))).min())
        return np.flatnonzero(squared - tolerance * np.abs(self._training_self_similarities) <= least)

    def _matches(self, queries: Self, query: int, point: int) -> bool:
        asked = queries._similarities[query].astype(np.float64)
        known = self._similarities[point].astype(np.float64)
        tolerance = max(SYMMETRY_TOLERANCE[queries.dtype], SYMMETRY_TOLERANCE[self.dtype])
        sizes = (abs(float(self._training_self_similarities[point])) + np.abs(self._training_self_similarities)) / 2
        sizes += np.maximum(np.abs(asked), np.abs(known))
        return bool((np.abs(asked - known) <= tolerance * sizes).all())

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the points as new rows."""
        return self._from_arrays(
            self._similarities[rows], self.self_similarities[rows], self._training_self_similarities
        )

    def new_points(self, rows: Any) -> Self:
        """Return new rows.

        Parameters
        ----------
        rows : array-like of shape (n_new, n_samples)
            The similarities of new rows to all rows of fit.
        """
        similarities = as_float_matrix(rows, _NOUN, _METRIC)
        check_new_rows(similarities, len(self._training_self_similarities), _NOUN)
        raise_fault(worst_row_fault(similarities, _faults_of_values))
        return self._from_arrays(similarities, np.full(len(similarities), np.nan), self._training_self_similarities)

    def copy_self_values(self, queries: Self, equal: NDArray[np.intp], points: NDArray[np.intp]) -> Self:
        """Return queries with the similarities to themselves of those that are equal to points."""
        own = queries.self_similarities.copy()
        own[equal] = self.self_similarities[points]
        return self._from_arrays(queries._similarities, own, self._training_self_similarities)

    @classmethod
    def _from_arrays(cls, similarities: NDArray[Any], own: Floats, fitted: Floats) -> Self:
        points = cls.__new__(cls)
        points._set_arrays(similarities, own, fitted)
        return points


def _faults_of_tile(matrix: NDArray[Any], own: Floats, rows: Span, columns: Span) -> MatrixFault | None:
    """Look at a tile, at its mirror image, at what the two differ by and at the distances they stand for."""
    part, mirrored = matrix[slice(*rows), slice(*columns)], matrix[slice(*columns), slice(*rows)].T
    fault = worst_fault([_faults_of_values(matrix, rows, columns), _faults_of_values(matrix, columns, rows)])
    if fault is not None:
        return fault
    a, b = own[slice(*rows), None], own[slice(*columns)]
    sizes = (np.abs(a) + np.abs(b)) / 2 + np.maximum(np.abs(part), np.abs(mirrored))
    above = np.maximum(part, mirrored) - (a + b) / 2
    above[above <= SYMMETRY_TOLERANCE[matrix.dtype] * sizes] = 0.0
    if above.any():
        top, left = np.unravel_index(int(np.argmax(above)), above.shape)
        row, column = rows[0] + int(top), columns[0] + int(left)
        value = max(part[top, left], mirrored[top, left])
        return MatrixFault(
            2, float(above[top, left]), row, column,
            f"Row {row}, column {column} holds {value:.6g}; two rows cannot be more similar than the mean of what they are to "
            f"themselves, {(own[row] + own[column]) / 2:.6g}. Distances go with dissimilarity='precomputed'.",
        )  # fmt: skip
    differ = largest_asymmetry(part, mirrored, sizes)
    if differ is None:
        return None
    gap, i, j = differ
    row, column = rows[0] + i, columns[0] + j
    return MatrixFault(
        3, gap, row, column,
        f"Precomputed similarities must be symmetric: row {row}, column {column} holds {part[i, j]:.12g} and row {column}, column "
        f"{row} holds {mirrored[i, j]:.12g}, a difference of {gap:.3g}. (S + S.T) / 2 is symmetric.",
    )  # fmt: skip


def _faults_of_values(matrix: NDArray[Any], rows: Span, columns: Span) -> MatrixFault | None:
    """Look for what no similarity can be."""
    part = np.abs(matrix[slice(*rows), slice(*columns)])
    if part.max(initial=0.0) <= LARGEST_NUMBER:
        return None
    odd = ~np.isfinite(part)
    i, j = np.unravel_index(int(np.argmax(odd) if odd.any() else np.argmax(part)), part.shape)
    row, column, value = rows[0] + int(i), columns[0] + int(j), matrix[rows[0] + i, columns[0] + j]
    if odd.any():
        return MatrixFault(
            0, 0.0, row, column,
            f"Row {row}, column {column} holds {value}; a similarity must be a finite number. "
            "Fill it in or leave the row out.",
        )  # fmt: skip
    return MatrixFault(
        1, float(part[i, j]), row, column,
        f"Row {row}, column {column} holds {value:.6g}; a similarity above {LARGEST_NUMBER:g} in size is too large. "
        "Change the unit.",
    )  # fmt: skip


# By the numbers that are given. Distances of a quadratic form lose more digits than those of differences.
_ROUNDING_BY_DTYPE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}
DISSIMILARITIES: tuple[str, ...] = (*(entry.name for entry in metrics), "similarity")


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
