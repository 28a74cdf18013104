"""Dissimilarities of rows, read in blocks: computed by a metric, precomputed, or derived from a matrix of similarities.

Precomputed matrices are read without a copy where their type and layout allow.
"""

from __future__ import annotations

from abc import abstractmethod
from hashlib import blake2b
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.neighbors.metrics import METRICS, metric_tags, read_points
from tamiz.neighbors.points import Points
from tamiz.neighbors.precomputed import (
    TILE_SIZE,
    IncompleteDistances,
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
from tamiz.reduction.base import Reducer
from tamiz.runtime import parallel
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Invariants
from tamiz.storage.records import Serializable
from tamiz.table.base import Table
from tamiz.table.distance_table import SYMMETRY_TOLERANCE
from tamiz.table.encode import IdentityEncoder, RowEncoder
from tamiz.table.factory import check_features
from tamiz.table.kinds import LARGEST_NUMBER

_NOUN, _METRIC = "similarities", "dissimilarity='similarity'"


class Similarities(PairwisePoints):
    """Points whose distances are defined by a matrix of similarities.

    .. math:: d_{ij}^2 = s_{ii} + s_{jj} - 2 s_{ij}

    Parameters
    ----------
    matrix : array-like of shape (n_samples, n_samples)
        Symmetric; no entry above the mean of its two diagonal entries. float64 and float32 are used without a copy.

    Raises
    ------
    DataError
        When the matrix violates this; the message names the row and the column.
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
        similarities = symmetrize(
            similarities,
            _NOUN,
            lambda part, rows, columns: _faults_of_tile(part, own, rows, columns),
            np.maximum,
        )
        self._set_arrays(similarities, own, own)

    def _set_arrays(self, similarities: NDArray[Any], own: Floats, fitted: Floats) -> None:
        """Store similarities, the self-similarities of these rows (NaN where unknown) and those of the training rows."""
        self._similarities, self.self_similarities, self._training_self_similarities = similarities, own, fitted
        self.n_samples = len(similarities)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._similarities.dtype

    def get_state(self) -> dict[str, Any]:
        return {
            "similarities": self._similarities,
            "self_similarities": self.self_similarities,
            "fitted": self._training_self_similarities,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Restore the points; the matrix was checked before it was saved."""
        return cls._from_arrays(state["similarities"], state["self_similarities"], state["fitted"])

    def similarities(self, queries: Self, start: int, stop: int) -> Floats:
        """Return the similarities of the queries `start : stop` to all points; do not write to the result."""
        return np.ascontiguousarray(queries._similarities[start:stop], dtype=np.float64)

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return distances; raise DataError for rows whose self-similarity is unknown."""
        own = queries.self_similarities[start:stop]
        if np.isnan(own).any():
            row = start + int(np.argmax(np.isnan(own)))
            raise DataError(
                f"Row {row} is equal to no row of the fit, and its distances are undefined without its similarity to itself. "
                "Use correction='lingoes', which does not need it."
            )
        squared = queries._similarities[start:stop] * -2.0
        squared = squared.astype(np.float64, copy=False)
        squared += own[:, None]
        squared += self._training_self_similarities
        return np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared)

    def row_keys(self, rows: Indices) -> list[bytes]:
        return [blake2b(self._similarities[row].astype(np.float64) + 0.0).digest() for row in rows]

    def row_hashes(self) -> Floats:
        """Return the number of the nearest training row, the first of ties."""
        nearest = np.empty(self.n_samples)
        for start, stop in parallel.block_ranges(self.n_samples, TILE_SIZE):
            nearest[start:stop] = np.argmin(
                self._training_self_similarities - 2.0 * self._similarities[start:stop], axis=1
            )
        return nearest

    def _match_candidates(self, queries: Self, query: int) -> Indices:
        if self.n_samples != len(self._training_self_similarities):
            return np.arange(0)
        # Candidates are the nearest rows by d^2 minus the query's self-similarity, within twice the rounding tolerance.
        similarities = queries._similarities[query].astype(np.float64)
        squared = self._training_self_similarities - 2.0 * similarities
        tolerance = 2.0 * max(SYMMETRY_TOLERANCE[queries.dtype], SYMMETRY_TOLERANCE[self.dtype])
        least = float(
            (squared + tolerance * (np.abs(self._training_self_similarities) + 2.0 * np.abs(similarities))).min()
        )
        return np.flatnonzero(squared - tolerance * np.abs(self._training_self_similarities) <= least)

    def _matches(self, queries: Self, query: int, point: int) -> bool:
        queried = queries._similarities[query].astype(np.float64)
        known = self._similarities[point].astype(np.float64)
        tolerance = max(SYMMETRY_TOLERANCE[queries.dtype], SYMMETRY_TOLERANCE[self.dtype])
        sizes = (abs(float(self._training_self_similarities[point])) + np.abs(self._training_self_similarities)) / 2
        sizes += np.maximum(np.abs(queried), np.abs(known))
        return bool((np.abs(queried - known) <= tolerance * sizes).all())

    def take(self, rows: Indices) -> Self:
        return self._from_arrays(
            self._similarities[rows], self.self_similarities[rows], self._training_self_similarities
        )

    def new_points(self, rows: Any) -> Self:
        """Check the similarities of new rows to all training rows, of shape (n_new, n_samples), and return them as queries."""
        similarities = as_float_matrix(rows, _NOUN, _METRIC)
        check_new_rows(similarities, len(self._training_self_similarities), _NOUN)
        raise_fault(worst_row_fault(similarities, _faults_of_values))
        return self._from_arrays(similarities, np.full(len(similarities), np.nan), self._training_self_similarities)

    def copy_self_values(self, queries: Self, equal: Indices, points: Indices) -> Self:
        own = queries.self_similarities.copy()
        own[equal] = self.self_similarities[points]
        return self._from_arrays(queries._similarities, own, self._training_self_similarities)

    @classmethod
    def _from_arrays(cls, similarities: NDArray[Any], own: Floats, fitted: Floats) -> Self:
        points = cls.__new__(cls)
        points._set_arrays(similarities, own, fitted)
        return points


def _faults_of_tile(matrix: NDArray[Any], own: Floats, rows: Span, columns: Span) -> MatrixFault | None:
    """Check a tile and its mirror image: values, symmetry, and negative squared distances."""
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
            f"Row {row}, column {column} contains {value:.6g}; a similarity must not exceed the mean of its two diagonal entries, "
            f"{(own[row] + own[column]) / 2:.6g}. For distances use dissimilarity='precomputed'.",
        )  # fmt: skip
    differ = largest_asymmetry(part, mirrored, sizes)
    if differ is None:
        return None
    difference, i, j = differ
    row, column = rows[0] + i, columns[0] + j
    return MatrixFault(
        3, difference, row, column,
        f"Precomputed similarities must be symmetric: row {row}, column {column} contains {part[i, j]:.12g} and row {column}, "
        f"column {row} contains {mirrored[i, j]:.12g}, a difference of {difference:.3g}. Pass (S + S.T) / 2.",
    )  # fmt: skip


def _faults_of_values(matrix: NDArray[Any], rows: Span, columns: Span) -> MatrixFault | None:
    """Check for values that are not finite or too large."""
    part = np.abs(matrix[slice(*rows), slice(*columns)])
    if part.max(initial=0.0) <= LARGEST_NUMBER:
        return None
    invalid = ~np.isfinite(part)
    i, j = np.unravel_index(int(np.argmax(invalid) if invalid.any() else np.argmax(part)), part.shape)
    row, column, value = rows[0] + int(i), columns[0] + int(j), matrix[rows[0] + i, columns[0] + j]
    if invalid.any():
        return MatrixFault(
            0, 0.0, row, column,
            f"Row {row}, column {column} contains {value}; a similarity must be a finite number. "
            "Impute it or remove the row.",
        )  # fmt: skip
    return MatrixFault(
        1, float(part[i, j]), row, column,
        f"Row {row}, column {column} contains {value:.6g}; the absolute value of a similarity must be at most {LARGEST_NUMBER:g}. "
        "Rescale the similarities.",
    )  # fmt: skip


# By the type of the input. Distances computed from products lose more digits than distances computed from differences.
_ROUNDING_BY_DTYPE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}
DISSIMILARITIES: tuple[str, ...] = (*METRICS, "similarity")


class Dissimilarities(Serializable):
    """Rows, and numbers b of their pairs from which squared distances are computed: distances, or similarities.

    The squared distance of a pair is `quadratic` b^2 + `linear` b plus a term of its row and a term of its column. The two terms
    vanish in products with centred vectors.

    Attributes
    ----------
    points : Points
    quadratic, linear : float
    trace : float
        The sum over rows of `quadratic` b^2 + `linear` b for each row with itself.
    """

    quadratic: ClassVar[float] = 1.0
    linear: ClassVar[float] = 0.0
    trace: float = 0.0

    invariants: ClassVar[Invariants] = {"points": InstanceOf(Points)}

    def __init__(self, points: Any) -> None:
        self.points = points

    @property
    def n_points(self) -> int:
        """Number of points, the columns of `block`."""
        return int(self.points.n_samples)

    @property
    def rounding_tolerance(self) -> float:
        """Share of the largest eigenvalue below which the absolute value of a negative one may be a rounding error."""
        return _ROUNDING_BY_DTYPE[self.points.dtype]

    def matches_encoder(self, encoder: RowEncoder) -> bool:
        """Return whether the encoder returns rows with as many coordinates as these points."""
        return encoder.n_coordinates in (None, self.points.n_coordinates)

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return the numbers b of the queries `start : stop` and all points; do not write to the result."""
        return np.asarray(self.points.block_view(queries, start, stop))

    def distances(self, queries: Any, start: int, stop: int) -> Floats:
        """Return the distances of the queries `start : stop` to all points; do not write to the result."""
        return self.block(queries, start, stop)

    def euclidean_coordinates(self) -> Floats | None:
        """Return coordinates with these Euclidean distances if there are fewer columns than rows, else None."""
        # The Euclidean values of other metrics only preserve the order of distances.
        values: Floats | None = self.points.euclidean_values() if self.points.metric == "euclidean" else None
        return values if values is not None and values.shape[1] < len(values) else None

    def copy_self_values(self, queries: Any, equal: Indices, points: Indices) -> Any:  # noqa: ARG002
        """Return the queries with the self-similarities of the points that they are equal to, where they matter."""
        return queries

    def require_distances(self, rows: Indices) -> None:
        """Raise DataError if the distances of new rows (by row number) that are equal to no training row are undefined."""


class FromSimilarities(Dissimilarities):
    quadratic, linear = 0.0, -2.0
    points: Similarities

    invariants: ClassVar[Invariants] = {"points": InstanceOf(Similarities)}

    def __init__(self, points: Similarities) -> None:
        super().__init__(points)
        self.trace = -2.0 * float(points.self_similarities.sum())

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return similarities; the self-similarity of a row is a row term, so that new rows do not need it."""
        return self.points.similarities(queries, start, stop)

    def distances(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances of rows that are equal to training rows."""
        return self.points.block(queries, start, stop)

    def require_distances(self, rows: Indices) -> None:
        """Raise DataError if there are such rows."""
        if len(rows):
            raise DataError(
                f"Row {rows[0]} is equal to no row of the fit, and its distances are undefined without its similarity to itself. "
                "To map such rows, fit on distances with dissimilarity='precomputed'."
            )

    def copy_self_values(self, queries: Any, equal: Indices, points: Indices) -> Similarities:
        return self.points.copy_self_values(queries, equal, points)


def read_dissimilarities(X: Any, dissimilarity: str, estimator_name: str) -> tuple[Dissimilarities, RowEncoder]:
    """Read X for an estimator without sample weights; return its dissimilarities and the encoder of new rows."""
    if dissimilarity == "similarity":
        similar = Similarities(X)
        if similar.n_samples < 2:
            raise DataError("X has 1 sample (row); a map needs at least 2.")
        return FromSimilarities(similar), IdentityEncoder()
    if isinstance(X, Table) and X.schema.weight is not None and dissimilarity != "precomputed":
        raise DataError(
            f"{estimator_name} does not support sample weights, and the table has the weights {X.schema.weight!r}; open it "
            "without weight, or use PCA, which supports weights, for Euclidean distances."
        )
    if dissimilarity == "precomputed":
        # Sparse distances are those of a graph.
        X = as_float_matrix(X, "distances", "dissimilarity='precomputed'")
    points, encoder = read_points(X, dissimilarity, fill_missing=True)
    return Dissimilarities(points), encoder


def read_partial_dissimilarities(X: Any, dissimilarity: str, estimator_name: str) -> tuple[Dissimilarities, RowEncoder]:
    """As `read_dissimilarities`, but precomputed distances, also those of new rows, may be missing (NaN)."""
    if dissimilarity != "precomputed":
        return read_dissimilarities(X, dissimilarity, estimator_name)
    points = IncompleteDistances(X)
    if points.n_samples < 2:
        raise DataError(f"X has {points.n_samples} samples (rows); a map needs at least 2.")
    return Dissimilarities(points), IdentityEncoder()


class DissimilarityReducer(Reducer):
    """A map of rows by their dissimilarities, which the parameter `dissimilarity` names."""

    dissimilarity: str
    _dissimilarities: Dissimilarities
    _row_encoder: RowEncoder
    dissimilarities: ClassVar[tuple[str, ...]] = DISSIMILARITIES
    invariants: ClassVar[Invariants] = {
        "_dissimilarities": InstanceOf(Dissimilarities),
        "_row_encoder": (
            InstanceOf(RowEncoder),
            Condition(lambda it: it._dissimilarities.matches_encoder(it._row_encoder), "does not read the rows of fit"),
        ),
    }

    def __sklearn_tags__(self) -> Tags:
        return metric_tags(super().__sklearn_tags__(), self.dissimilarity)

    def _read_rows(
        self, X: Any, n_components: int, *, allow_missing: bool = False
    ) -> tuple[Dissimilarities, RowEncoder]:
        """Return the dissimilarities of the rows of X, which must be more than coordinates, and the encoder of new rows."""
        read = read_partial_dissimilarities if allow_missing else read_dissimilarities
        rows, encoder = read(X, self.dissimilarity, type(self).__name__)
        if n_components >= (n := rows.points.n_samples):
            raise ValueError(f"n_components must be below the number of rows = {n:,}, got {n_components:,}.")
        return rows, encoder

    def _read_new_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        check_features(self, X)
        queries = self._dissimilarities.points.new_points(self._row_encoder.encode(X))
        if queries.n_samples == 0:
            raise DataError("X has 0 samples (rows); there is nothing to map.")
        return queries

    def transform(self, X: Any) -> NDArray[Any]:
        """Map new rows, each independently of the others.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
            New rows; with "precomputed" and "similarity" their distances (NaN for missing, in `MDS`) or similarities to all rows of
            the fit, of shape (n_new, n_samples). Weights of a Table are ignored.
        """
        with parallel.thread_session():
            return self._match_dtype(self._map_new_rows(self._read_new_rows(X)), X)

    @abstractmethod
    def _map_new_rows(self, queries: Any) -> Floats:
        """Return the coordinates of new rows."""
