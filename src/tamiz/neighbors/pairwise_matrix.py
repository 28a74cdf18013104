"""Matrices with a number for each pair of rows: conversion without a copy, validation, symmetrisation, and their points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.kernels.pair_matrix_checks import NEARLY_SYMMETRIC as _ROUNDED
from tamiz.kernels.pair_matrix_checks import VALID
from tamiz.neighbors.points import Points
from tamiz.neighbors.row_encoders import as_array
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.table.distance_table import SYMMETRY_TOLERANCE

# A tile and its mirror image stay in the second-level cache.
TILE_SIZE = 128
# The mildest kind of fault: mirror entries differ by rounding. It is corrected, not refused.
ROUNDING_FAULT = 4

Span: TypeAlias = tuple[int, int]


class MatrixFault(NamedTuple):
    """An invalid entry of a matrix; faults of the lowest kind are reported first."""

    kind: int
    size: float
    row: int
    column: int
    message: str


TileCheck: TypeAlias = Callable[[NDArray[Any], Span, Span], MatrixFault | None]
PairCombiner: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


def as_float_matrix(matrix: Any, quantity: str, requested_as: str) -> NDArray[Any]:
    """Return a pairwise matrix as a C-contiguous array of float64 or float32, without a copy if it is one.

    Parameters
    ----------
    matrix : array or data frame
    quantity : str
        What the numbers are, such as "distances"; used in messages.
    requested_as : str
        The parameter that requires such a matrix, such as "metric='precomputed'"; used in messages.
    """
    if sparse.issparse(matrix):
        one = quantity.removesuffix("s") if quantity == "distances" else "similarity"
        raise TypeError(
            f"Precomputed {quantity} must be a dense array: in a sparse one, {one} 0 and no {one} look the same. "
            "Graph.from_sparse accepts a sparse matrix of weights."
        )
    array = as_array(matrix, f"{requested_as} requires an array of {quantity}")
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"Precomputed {quantity} must be real numbers: {error}.") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"Precomputed {quantity} must be real numbers, got {array.dtype}.")
    if array.dtype in SYMMETRY_TOLERANCE and array.flags.c_contiguous:
        return array
    dtype = array.dtype if array.dtype in SYMMETRY_TOLERANCE else np.dtype(np.float64)
    check_memory(
        float(dtype.itemsize) * array.size,
        f"A copy of {array.shape[0]:,} x {array.shape[1]:,} {quantity}",
        "Pass a C-contiguous array of float64 or float32, which is not copied.",
    )
    return np.ascontiguousarray(array, dtype=dtype)


def check_square(matrix: NDArray[Any], quantity: str) -> None:
    """Raise DataError unless the matrix is square."""
    n_rows, n_columns = matrix.shape
    if n_rows != n_columns:
        raise DataError(
            f"Precomputed {quantity} must be a square matrix, every row to every row, got {n_rows:,} rows and "
            f"{n_columns:,} columns."
        )


def check_new_rows(rows: NDArray[Any], n_fitted: int, quantity: str) -> None:
    """Raise DataError unless new rows have a number for each training row."""
    if rows.shape[1] != n_fitted:
        raise DataError(
            f"New rows must contain their {quantity} to the {n_fitted:,} training rows, got {rows.shape[1]:,} columns."
        )


def worst_fault(faults: Iterable[MatrixFault | None]) -> MatrixFault | None:
    """Return the fault of the lowest kind; of these the largest, and of equal ones the first."""
    found = (fault for fault in faults if fault is not None)
    return min(found, key=lambda fault: (fault.kind, -fault.size, fault.row, fault.column), default=None)


def worst_pair_fault(
    matrix: NDArray[Any], quantity: str, fast_check: Callable[[int, int], int], tile_check: TileCheck
) -> MatrixFault | None:
    """Return the worst fault of a square matrix, or None.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
    quantity : str
        What the numbers are; used in messages.
    fast_check : callable
        A kernel that returns whether the rows start : stop, right of the diagonal and mirrored, are valid, rounded or invalid.
    tile_check : callable
        Returns the worst fault of a tile and its mirror image; called for invalid rows.
    """
    spans = parallel.block_ranges(len(matrix), TILE_SIZE)

    def check_band(at: int) -> MatrixFault | None:
        status = fast_check(*spans[at])
        if status == VALID:
            return None
        if status == _ROUNDED:
            sentence = f"Pass exactly symmetric {quantity}, which are not copied."
            return MatrixFault(ROUNDING_FAULT, 0.0, spans[at][0], spans[at][0], sentence)
        return worst_fault(tile_check(matrix, spans[at], columns) for columns in spans[at:])

    return worst_fault(parallel.map_blocks(check_band, range(len(spans))))


def worst_row_fault(matrix: NDArray[Any], tile_check: TileCheck) -> MatrixFault | None:
    whole = (0, matrix.shape[1])
    return worst_fault(
        parallel.map_blocks(lambda rows: tile_check(matrix, rows, whole), parallel.block_ranges(len(matrix), TILE_SIZE))
    )


def raise_fault(fault: MatrixFault | None) -> None:
    """Raise DataError if there is a fault."""
    if fault is not None:
        raise DataError(fault.message)


def largest_asymmetry(part: NDArray[Any], mirrored: NDArray[Any], magnitudes: Floats) -> tuple[float, int, int] | None:
    """Return the largest difference of mirror entries beyond rounding, with its row and column; None if there is none."""
    differences = np.abs(part - mirrored)
    differences[differences <= SYMMETRY_TOLERANCE[part.dtype] * magnitudes] = 0.0
    i, j = np.unravel_index(int(np.argmax(differences)), differences.shape)
    return (float(differences[i, j]), int(i), int(j)) if differences[i, j] else None


def symmetrize(
    matrix: NDArray[Any],
    quantity: str,
    fast_check: Callable[[int, int], int],
    tile_check: TileCheck,
    combine: PairCombiner,
) -> NDArray[Any]:
    """Return an exactly symmetric matrix: the matrix itself, or a copy if mirror entries differ by rounding.

    The copy contains `combine` of the two mirror entries, such as `numpy.maximum`. Worse faults raise DataError. The other
    parameters are those of `worst_pair_fault`.
    """
    fault = worst_pair_fault(matrix, quantity, fast_check, tile_check)
    if fault is None:
        return matrix
    if fault.kind != ROUNDING_FAULT:
        raise DataError(fault.message)
    return _symmetrized_copy(matrix, combine, quantity, fault.message)


def _symmetrized_copy(matrix: NDArray[Any], combine: PairCombiner, quantity: str, reason: str) -> NDArray[Any]:
    """Return a symmetric copy; raise MemoryError with the reason for the copy if it does not fit into memory."""
    n = len(matrix)
    check_memory(matrix.nbytes, f"A copy of {n:,} x {n:,} {quantity}", reason)
    out = np.empty_like(matrix)
    spans = parallel.block_ranges(n, TILE_SIZE)

    def fill_band(at: int) -> None:
        rows = slice(*spans[at])
        for span in spans[at:]:
            columns = slice(*span)
            combined = combine(matrix[rows, columns], matrix[columns, rows].T)
            out[rows, columns], out[columns, rows] = combined, combined.T

    parallel.run_blocks(fill_band, range(len(spans)))
    return out


class PairwisePoints(Points):
    """Abstract base class of rows that are given by one number for each training row.

    Rows are equal if these numbers are, to the bit or up to the symmetry tolerance. The tolerance is needed because symmetrisation
    may have changed the stored numbers, so that a row of the user's matrix no longer equals the stored row to the bit.
    """

    def first_occurrences(self) -> Indices:
        """Return for every row the lowest row that is equal to it, directly or through other rows."""
        first = super().first_occurrences()
        for row in np.flatnonzero(first == np.arange(self.n_samples)).tolist():
            lower = (point for point in self._match_candidates(self, row).tolist() if point < row)
            first[row] = next((point for point in lower if self._matches(self, row, point)), row)
        while (first != first[first]).any():
            first = first[first]
        return first

    def match_rows(self, queries: Self) -> tuple[Indices, Indices]:
        """Return the queries that are equal to a point, and the lowest such point of each, equal to the bit or up to rounding."""
        found = np.full(queries.n_samples, self.n_samples)
        equal, points = super().match_rows(queries)
        found[equal] = points
        for query in np.flatnonzero(found == self.n_samples).tolist():
            candidates = self._match_candidates(queries, query).tolist()
            found[query] = next((point for point in candidates if self._matches(queries, query, point)), self.n_samples)
        equal = np.flatnonzero(found < self.n_samples)
        return equal, found[equal]

    @abstractmethod
    def _match_candidates(self, queries: Self, query: int) -> Indices:
        """Return the points that a query may equal, in ascending order."""

    @abstractmethod
    def _matches(self, queries: Self, query: int, point: int) -> bool:
        """Return whether the numbers of a query are those of a point up to rounding."""
