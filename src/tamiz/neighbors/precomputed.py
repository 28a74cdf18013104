"""Rows known by their distances alone."""

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
# Significant bits that the mean of two halves is rounded to: a third of the tolerance or less is lost, and numbers of few digits
# that differ in their last bits become equal, but for about one in 2**16 (in float32 one in 16) that lies between two steps.
_SIGNIFICANT_BITS = {np.dtype(np.float64): 36, np.dtype(np.float32): 20}


class PrecomputedDistances(PairwisePoints):
    """Rows at the distances of a matrix.

    Parameters
    ----------
    matrix : array-like of shape (n_samples, n_samples)
        Symmetric, non-negative, 0 on the diagonal. float64 and float32 are kept as they lie, without a copy.

    Raises
    ------
    DataError
        When it is not such a matrix; the message names the row and the column.

    Notes
    -----
    Checked in one pass of O(n^2) with memory O(1) beyond the matrix. Symmetric is what differs by at most 1e-10 of the larger
    of a pair's two distances (1e-5 in float32); where any do, the mean of each pair is taken, in a copy, and all are rounded to 36
    significant bits (20 in float32), so that what was tied before rounding made halves differ is tied again. Rows whose distances
    differ by no more than that are equal.
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
        """Keep a matrix with the rows that are these points' own, and the columns that are the distances to them."""
        self._distances, self._rows, self._columns = distances, rows, columns
        self._all_rows = np.array_equal(rows, np.arange(len(distances)))
        self._all_columns = np.array_equal(columns, np.arange(distances.shape[1]))
        self.n_samples = len(rows)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What the matrix holds."""
        return self._distances.dtype

    @property
    def has_missing(self) -> bool:
        """Whether some are missing."""
        return False

    def get_state(self) -> dict[str, Any]:
        """Return the matrix, and which of its rows and columns these points are."""
        return {"distances": self._distances, "rows": self._rows, "columns": self._columns}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the points as they were; the matrix was checked when they were made."""
        return cls._from_matrix(state["distances"], state["rows"], state["columns"])

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return distances: rows of the queries' matrix."""
        if len(self._columns) != self.n_samples:
            raise ValueError("New rows are known by their distances to the training rows only: search among those.")
        distances = queries._distances[queries._rows[start:stop]]
        if not self._all_columns:
            distances = distances[:, self._columns]
        return np.ascontiguousarray(distances, dtype=np.float64)

    def block_view(self, queries: Self, start: int, stop: int) -> Floats:
        """Return what `block` does, without a copy where the matrix holds it so: to be read only."""
        if self._all_columns and queries._all_rows:
            return np.ascontiguousarray(queries._distances[start:stop], dtype=np.float64)
        return self.block(queries, start, stop)

    def row_keys(self, rows: NDArray[np.intp]) -> list[bytes]:
        """Return a digest of the distances to all training rows."""
        return [blake2b(self._distances[row].astype(np.float64) + 0.0).digest() for row in self._rows[rows]]

    def row_hashes(self) -> Floats:
        """Return the first of the training rows that is nearest: a training row is itself, or equal to it."""
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
    """Return the means of a pair's two distances, rounded so that equal distances stay ties."""
    means = some.astype(np.float64) * 0.5 + others * 0.5
    # Veltkamp's splitting: the leading bits of every number, to nearest.
    scaled = means * (2.0 ** (53 - _SIGNIFICANT_BITS[some.dtype]) + 1.0)
    rounded: NDArray[Any] = (scaled - (scaled - means)).astype(some.dtype)
    return rounded


def nearly_equal(some: NDArray[Any], others: NDArray[Any]) -> bool:
    """Return whether distances are equal but for what the two numbers of a pair may differ by."""
    tolerance = max(SYMMETRY_TOLERANCE[some.dtype], SYMMETRY_TOLERANCE[others.dtype])
    gaps = np.abs(some.astype(np.float64) - others)
    return bool((gaps <= tolerance * np.maximum(some, others)).all())


def _tile_fault(matrix: NDArray[Any], rows: Span, columns: Span) -> MatrixFault | None:
    """Look at a tile, at its mirror image and at what the two differ by."""
    part, mirrored = matrix[slice(*rows), slice(*columns)], matrix[slice(*columns), slice(*rows)].T
    fault = worst_fault([_value_fault(matrix, rows, columns), _value_fault(matrix, columns, rows)])
    if fault is not None:
        return fault
    if rows == columns and (diagonal := part.diagonal()).any():
        at = int(np.argmax(diagonal))
        return MatrixFault(
            2, float(diagonal[at]), rows[0] + at, rows[0] + at,
            f"Row {rows[0] + at} is at {diagonal[at]:.6g} from itself; the diagonal must be 0. Similarities must be turned "
            "into distances first; numpy.fill_diagonal(D, 0) clears what rounding left.",
        )  # fmt: skip
    differ = largest_asymmetry(part, mirrored, np.maximum(part, mirrored))
    if differ is None:
        return None
    gap, i, j = differ
    row, column = rows[0] + i, columns[0] + j
    return MatrixFault(
        3, gap, row, column,
        f"Precomputed distances must be symmetric: row {row}, column {column} holds {part[i, j]:.12g} and row {column}, column "
        f"{row} holds {mirrored[i, j]:.12g}, a difference of {gap:.3g}. (D + D.T) / 2 is symmetric.",
    )  # fmt: skip


def _value_fault(matrix: NDArray[Any], rows: Span, columns: Span) -> MatrixFault | None:
    """Look for what no distance can be."""
    part = matrix[slice(*rows), slice(*columns)]
    least, largest = float(part.min(initial=0.0)), float(part.max(initial=0.0))
    if least >= 0.0 and largest <= LARGEST_NUMBER:
        return None
    odd = ~np.isfinite(part)
    kind, where = (0, np.argmax(odd)) if odd.any() else (1, np.argmin(part) if least < 0.0 else np.argmax(part))
    i, j = np.unravel_index(int(where), part.shape)
    row, column, value = rows[0] + int(i), columns[0] + int(j), part[i, j]
    if kind == 0:
        sentence = f"Row {row}, column {column} holds {value}; a distance must be a finite number. Fill it in or leave the row out."
    elif least < 0.0:
        sentence = f"Row {row}, column {column} holds {value:.6g}; a distance must be at least 0."
    else:
        sentence = (
            f"Row {row}, column {column} holds {value:.6g}; a distance above {LARGEST_NUMBER:g} is too large to be squared. "
            "Change the unit."
        )
    return MatrixFault(kind, abs(float(value)) if kind else 0.0, row, column, sentence)


# MERGED: Rows known by distances of which some may be missing.
_INCOMPLETE_QUANTITY, _INCOMPLETE_REQUEST = "distances", "dissimilarity='precomputed'"


class IncompleteDistances(PrecomputedDistances):
    """Rows at the distances of a matrix, NaN where one is not known.

    Parameters
    ----------
    matrix : array-like of shape (n_samples, n_samples)
        As in `PrecomputedDistances` but for NaN. Of a pair that is there once the one number is taken.

    Notes
    -----
    A matrix with NaN is copied.
    """

    def __init__(self, matrix: Any) -> None:
        given = as_float_matrix(matrix, _INCOMPLETE_QUANTITY, _INCOMPLETE_REQUEST)
        check_square(given, _INCOMPLETE_QUANTITY)
        try:
            super().__init__(given)
        except DataError:
            if not _has_nan(given):
                raise
            self._read_incomplete(given)

    def _read_incomplete(self, matrix: NDArray[Any]) -> None:
        """Read a matrix with NaN."""
        n = len(matrix)
        check_memory(2.25 * matrix.nbytes, f"A copy of {n:,} x {n:,} distances", "Pass fewer rows.")
        missing = np.isnan(matrix)
        known = np.where(missing, matrix.T, matrix)
        missing &= missing.T.copy()
        np.fill_diagonal(missing, False)
        known[missing] = 0.0
        np.fill_diagonal(known, np.nan_to_num(known.diagonal(), nan=0.0, posinf=np.inf))
        # What is checked is our own copy, so that it can be written to afterwards.
        super().__init__(known)
        self._distances[missing] = np.nan

    @property
    def has_missing(self) -> bool:
        """Whether some are missing."""
        return _has_nan(self._distances)

    def row_hashes(self) -> Floats:
        """Return the first of the training rows that is nearest."""
        nearest = np.empty(len(self._distances))
        for start, stop in parallel.block_ranges(len(nearest), TILE_SIZE):
            part = self._distances[start:stop]
            nearest[start:stop] = np.where(np.isnan(part), np.inf, part).argmin(axis=1)
        return nearest[self._rows]

    def _matches(self, queries: Self, query: int, point: int) -> bool:
        asked, known = queries._distances[queries._rows[query]], self._distances[self._rows[point]]
        missing = np.isnan(asked)
        return bool((missing == np.isnan(known)).all()) and nearly_equal(asked[~missing], known[~missing])

    def new_points(self, rows: Any) -> Self:
        """Return new rows: their distances to all training rows, NaN where one is not known."""
        given = as_float_matrix(rows, _INCOMPLETE_QUANTITY, _INCOMPLETE_REQUEST)
        missing: NDArray[np.bool_] = np.isnan(given)
        if not missing.any():
            return super().new_points(given)
        checked = super().new_points(np.where(missing, 0.0, given))
        # One NaN in the place of all there are: rows are told apart by their bytes.
        checked._distances[missing] = np.nan
        return checked


def _has_nan(distances: NDArray[Any]) -> bool:
    return any(
        np.isnan(distances[start:stop]).any() for start, stop in parallel.block_ranges(len(distances), TILE_SIZE)
    )
