"""Rows given by a matrix of distances: complete (`PrecomputedDistances`) or with missing entries (`IncompleteDistances`)."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.kernels.pair_matrix_checks import check_distance_rows
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
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.sources.kinds import LARGEST_NUMBER
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import FloatArray, IntegerArray, Invariants

_QUANTITY, _REQUEST = "distances", "metric='precomputed'"
_INCOMPLETE_REQUEST = "dissimilarity='precomputed'"
# Significant bits to which the mean of two mirror entries is rounded. The error is at most a third of the tolerance. Numbers of few
# digits that differ in their last bits become equal, except about one in 2**16 (in float32 one in 16) between two steps.
_SIGNIFICANT_BITS = {np.dtype(np.float64): 36, np.dtype(np.float32): 20}


class PrecomputedDistances(PairwisePoints):
    """Rows given by a matrix of distances.

    Parameters
    ----------
    matrix : array-like of shape (n_samples, n_samples)
        Symmetric, non-negative, 0 on the diagonal. C-contiguous float64 and float32 arrays are not copied.

    Raises
    ------
    DataError
        When the matrix is not valid; the message contains the row and the column.

    Notes
    -----
    The matrix is validated in one pass of O(n^2) with O(1) additional memory. Mirror entries may differ by a relative 1e-10 (1e-5
    in float32). If any differ, a copy with their means is used, rounded to 36 significant bits (20 in float32), which restores ties
    that rounding had broken. Rows whose distances differ by no more than the tolerance are equal.
    """

    metric = "precomputed"
    invariants: ClassVar[Invariants] = {
        "distances": FloatArray("r", "c", low=0.0, allow_missing=True, allow_float32=True),
        "rows": IntegerArray("n"),
        "columns": IntegerArray("m", below="c"),
    }

    def __init__(self, matrix: Any) -> None:
        distances = as_float_matrix(matrix, _QUANTITY, _REQUEST)
        check_square(distances, _QUANTITY)
        tolerance = SYMMETRY_TOLERANCE[distances.dtype]
        everything = np.arange(len(distances))
        distances = symmetrize(
            distances,
            _QUANTITY,
            lambda *rows: check_distance_rows(distances, *rows, LARGEST_NUMBER, tolerance),
            _tile_fault,
            _rounded_mean,
        )
        self._store(distances, everything, everything)

    def _store(self, distances: NDArray[Any], rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
        """Store a matrix, the rows of it that belong to these points, and the columns with the distances to them."""
        self._distances, self._rows, self._columns = distances, rows, columns
        self._all_rows = np.array_equal(rows, np.arange(len(distances)))
        self._all_columns = np.array_equal(columns, np.arange(distances.shape[1]))
        self.n_samples = len(rows)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the matrix."""
        return self._distances.dtype

    @property
    def has_missing(self) -> bool:
        """Whether distances are missing."""
        return False

    def get_state(self) -> dict[str, Any]:
        """Return the matrix, and the rows and columns of it that belong to these points."""
        return {"distances": self._distances, "rows": self._rows, "columns": self._columns}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the points from saved state, without validating the matrix again."""
        return cls._from_matrix(state["distances"], state["rows"], state["columns"])

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return distances, which are rows of the queries' matrix."""
        if len(self._columns) != self.n_samples:
            raise ValueError("New rows have distances to the training rows only; search among the training rows.")
        distances = queries._distances[queries._rows[start:stop]]
        if not self._all_columns:
            distances = distances[:, self._columns]
        return np.ascontiguousarray(distances, dtype=np.float64)

    def block_view(self, queries: Self, start: int, stop: int) -> Floats:
        """Return `block` without a copy if possible; the result must not be changed."""
        if self._all_columns and queries._all_rows:
            return np.ascontiguousarray(queries._distances[start:stop], dtype=np.float64)
        return self.block(queries, start, stop)

    def row_keys(self, rows: NDArray[np.intp]) -> list[bytes]:
        """Return a digest of the distances to all training rows."""
        return [blake2b(self._distances[row].astype(np.float64) + 0.0).digest() for row in self._rows[rows]]

    def row_hashes(self) -> Floats:
        """Return the nearest training row of each row, the first of ties; a training row gets itself or a row equal to it."""
        return self._distances.argmin(axis=1)[self._rows].astype(np.float64)

    def _match_candidates(self, queries: Self, query: int) -> NDArray[np.intp]:
        distances = queries._distances[queries._rows[query]]
        return np.flatnonzero((distances if self._all_columns else distances[self._columns]) == 0)

    def _matches(self, queries: Self, query: int, point: int) -> bool:
        return nearly_equal(queries._distances[queries._rows[query]], self._distances[self._rows[point]])

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the points; the matrix is shared."""
        return self._from_matrix(
            self._distances, self._rows[rows], self._columns[rows] if len(self._columns) else self._columns
        )

    def new_points(self, rows: Any) -> Self:
        """Return new rows.

        Parameters
        ----------
        rows : array-like of shape (n_new, n_samples)
            The distances of new rows to all training rows.
        """
        distances = as_float_matrix(rows, _QUANTITY, _REQUEST)
        check_new_rows(distances, self._distances.shape[1], _QUANTITY)
        raise_fault(worst_row_fault(distances, _value_fault))
        return self._from_matrix(distances, np.arange(len(distances)), np.arange(0))

    @classmethod
    def _from_matrix(cls, distances: NDArray[Any], rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Self:
        points = cls.__new__(cls)
        points._store(distances, rows, columns)
        return points


def _rounded_mean(some: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Return the means of mirror entries, rounded so that equal distances stay ties."""
    means = some.astype(np.float64) * 0.5 + others * 0.5
    # Veltkamp's splitting: the leading bits of every number, to nearest.
    scaled = means * (2.0 ** (53 - _SIGNIFICANT_BITS[some.dtype]) + 1.0)
    rounded: NDArray[Any] = (scaled - (scaled - means)).astype(some.dtype)
    return rounded


def nearly_equal(some: NDArray[Any], others: NDArray[Any]) -> bool:
    """Return whether distances are equal up to the symmetry tolerance."""
    tolerance = max(SYMMETRY_TOLERANCE[some.dtype], SYMMETRY_TOLERANCE[others.dtype])
    differences = np.abs(some.astype(np.float64) - others)
    return bool((differences <= tolerance * np.maximum(some, others)).all())


def _tile_fault(matrix: NDArray[Any], rows: Span, columns: Span) -> MatrixFault | None:
    """Return the worst fault of a tile and its mirror image: invalid values, diagonal, asymmetry."""
    part, mirrored = matrix[slice(*rows), slice(*columns)], matrix[slice(*columns), slice(*rows)].T
    fault = worst_fault([_value_fault(matrix, rows, columns), _value_fault(matrix, columns, rows)])
    if fault is not None:
        return fault
    if rows == columns and (diagonal := part.diagonal()).any():
        at = int(np.argmax(diagonal))
        return MatrixFault(
            2, float(diagonal[at]), rows[0] + at, rows[0] + at,
            f"Row {rows[0] + at} is at {diagonal[at]:.6g} from itself; the diagonal must be 0. Convert similarities to distances "
            "first; numpy.fill_diagonal(D, 0) removes rounding errors.",
        )  # fmt: skip
    differ = largest_asymmetry(part, mirrored, np.maximum(part, mirrored))
    if differ is None:
        return None
    difference, i, j = differ
    row, column = rows[0] + i, columns[0] + j
    return MatrixFault(
        3, difference, row, column,
        f"Precomputed distances must be symmetric: row {row}, column {column} is {part[i, j]:.12g} and row {column}, column "
        f"{row} is {mirrored[i, j]:.12g}, a difference of {difference:.3g}. (D + D.T) / 2 is symmetric.",
    )  # fmt: skip


def _value_fault(matrix: NDArray[Any], rows: Span, columns: Span) -> MatrixFault | None:
    """Return the worst value of a tile that is not finite, negative or too large, or None."""
    part = matrix[slice(*rows), slice(*columns)]
    least, largest = float(part.min(initial=0.0)), float(part.max(initial=0.0))
    if least >= 0.0 and largest <= LARGEST_NUMBER:
        return None
    odd = ~np.isfinite(part)
    kind, where = (0, np.argmax(odd)) if odd.any() else (1, np.argmin(part) if least < 0.0 else np.argmax(part))
    i, j = np.unravel_index(int(where), part.shape)
    row, column, value = rows[0] + int(i), columns[0] + int(j), part[i, j]
    if kind == 0:
        sentence = f"Row {row}, column {column} is {value}; a distance must be a finite number. Replace it or leave the row out."
    elif least < 0.0:
        sentence = f"Row {row}, column {column} is {value:.6g}; a distance must be at least 0."
    else:
        sentence = (
            f"Row {row}, column {column} is {value:.6g}; a distance above {LARGEST_NUMBER:g} is too large to be squared. "
            "Change the unit."
        )
    return MatrixFault(kind, abs(float(value)) if kind else 0.0, row, column, sentence)


class IncompleteDistances(PrecomputedDistances):
    """Rows given by a matrix of distances in which missing distances are NaN.

    Parameters
    ----------
    matrix : array-like of shape (n_samples, n_samples)
        As in `PrecomputedDistances`, but entries may be NaN. If one of two mirror entries is NaN, the other one is used.

    Notes
    -----
    A matrix with NaN is copied.
    """

    def __init__(self, matrix: Any) -> None:
        distances = as_float_matrix(matrix, _QUANTITY, _INCOMPLETE_REQUEST)
        check_square(distances, _QUANTITY)
        try:
            super().__init__(distances)
        except DataError:
            if not _has_nan(distances):
                raise
            self._read_incomplete(distances)

    def _read_incomplete(self, matrix: NDArray[Any]) -> None:
        """Validate and store a matrix with NaN."""
        n = len(matrix)
        check_memory(2.25 * matrix.nbytes, f"A copy of {n:,} x {n:,} distances", "Pass fewer rows.")
        missing = np.isnan(matrix)
        known = np.where(missing, matrix.T, matrix)
        missing &= missing.T.copy()
        np.fill_diagonal(missing, False)
        known[missing] = 0.0
        np.fill_diagonal(known, np.nan_to_num(known.diagonal(), nan=0.0, posinf=np.inf))
        # `known` is a private copy, so it can be changed after validation.
        super().__init__(known)
        self._distances[missing] = np.nan

    @property
    def has_missing(self) -> bool:
        """Whether distances are missing."""
        return _has_nan(self._distances)

    def row_hashes(self) -> Floats:
        """Return the nearest training row of each row, the first of ties."""
        nearest = np.empty(len(self._distances))
        for start, stop in parallel.block_ranges(len(nearest), TILE_SIZE):
            part = self._distances[start:stop]
            nearest[start:stop] = np.where(np.isnan(part), np.inf, part).argmin(axis=1)
        return nearest[self._rows]

    def _matches(self, queries: Self, query: int, point: int) -> bool:
        of_query, of_point = queries._distances[queries._rows[query]], self._distances[self._rows[point]]
        missing = np.isnan(of_query)
        return bool((missing == np.isnan(of_point)).all()) and nearly_equal(of_query[~missing], of_point[~missing])

    def new_points(self, rows: Any) -> Self:
        """Return new rows from their distances to all training rows, NaN for missing distances."""
        distances = as_float_matrix(rows, _QUANTITY, _INCOMPLETE_REQUEST)
        missing: NDArray[np.bool_] = np.isnan(distances)
        if not missing.any():
            return super().new_points(distances)
        checked = super().new_points(np.where(missing, 0.0, distances))
        # All NaN get the same bits, because rows are compared by their bytes.
        checked._distances[missing] = np.nan
        return checked


def _has_nan(distances: NDArray[Any]) -> bool:
    return any(
        np.isnan(distances[start:stop]).any() for start, stop in parallel.block_ranges(len(distances), TILE_SIZE)
    )
