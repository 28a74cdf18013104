"""A matrix of one number for each pair of rows: read as it lies, and looked through for what cannot be."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.kernels.pair_matrix_checks import NEARLY_SYMMETRIC as _ROUNDED
from tamiz.kernels.pair_matrix_checks import VALID
from tamiz.neighbors.points import Points
from tamiz.neighbors.row_encoders import as_array
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.statistics.base import Floats

# A tile and its mirror image stay in the second-level cache.
TILE_SIZE = 128
# A pair's two numbers may differ by this share of the larger one.
SYMMETRY_TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}
# The last kind of fault, and no fault: a pair's two numbers differ by rounding.
ROUNDING_FAULT = 4

Span: TypeAlias = tuple[int, int]


class MatrixFault(NamedTuple):
    """What is wrong with a matrix, and where; the kinds in the order in which they are told."""

    kind: int
    size: float
    row: int
    column: int
    message: str


TileCheck: TypeAlias = Callable[[NDArray[Any], Span, Span], MatrixFault | None]
PairCombiner: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


def as_float_matrix(matrix: Any, quantity: str, requested_as: str) -> NDArray[Any]:
    """Return numbers of pairs as an array of rows, the user's own memory where it can be.

    Parameters
    ----------
    matrix : array or data frame
    quantity : str
        What the numbers are, such as "distances".
    requested_as : str
        How they were asked for, such as "metric='precomputed'".
    """
    if sparse.issparse(matrix):
        one = quantity.removesuffix("s") if quantity == "distances" else "similarity"
        raise TypeError(
            f"Precomputed {quantity} must be a dense array: in a sparse one, {one} 0 and no {one} look the same. "
            "Graph.from_sparse takes a sparse matrix of weights."
        )
    given = as_array(matrix, f"{requested_as} takes an array of {quantity}")
    if given.dtype.kind == "O":
        try:
            given = given.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"Precomputed {quantity} must be real numbers: {error}.") from None
    if given.dtype.kind not in "fiub":
        raise TypeError(f"Precomputed {quantity} must be real numbers, got {given.dtype}.")
    if given.dtype in SYMMETRY_TOLERANCE and given.flags.c_contiguous:
        return given
    dtype = given.dtype if given.dtype in SYMMETRY_TOLERANCE else np.dtype(np.float64)
    check_memory(
        float(dtype.itemsize) * given.size,
        f"A copy of {given.shape[0]:,} x {given.shape[1]:,} {quantity}",
        "Pass a C-contiguous array of float64 or float32, which is not copied.",
    )
    return np.ascontiguousarray(given, dtype=dtype)


def check_square(matrix: NDArray[Any], quantity: str) -> None:
    """Refuse a matrix that has not a number for every row and every row."""
    n_rows, n_columns = matrix.shape
    if n_rows != n_columns:
        raise DataError(
            f"Precomputed {quantity} must be a square matrix, every row to every row, got {n_rows:,} rows and "
            f"{n_columns:,} columns."
        )


def check_new_rows(rows: NDArray[Any], n_fitted: int, quantity: str) -> None:
    """Refuse new rows that do not come with a number for each row of fit."""
    if rows.shape[1] != n_fitted:
        raise DataError(
            f"New rows must come with their {quantity} to the {n_fitted:,} training rows, got {rows.shape[1]:,} columns."
        )


def worst_fault(faults: Iterable[MatrixFault | None]) -> MatrixFault | None:
    """Return the fault of the first kind there is, the largest of it, the first of equals."""
    found = (fault for fault in faults if fault is not None)
    return min(found, key=lambda fault: (fault.kind, -fault.size, fault.row, fault.column), default=None)


def worst_pair_fault(
    matrix: NDArray[Any], quantity: str, fast_check: Callable[[int, int], int], tile_check: TileCheck
) -> MatrixFault | None:
    """Return what is worst in a square matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
    quantity : str
        What it holds.
    glance : callable
        Whether rows start .. stop, right of the diagonal and mirrored, are clean, rounded or faulty: a quick kernel.
    tile_check : callable
        The fault of a tile and its mirror image, where some are faulty.
    """
    spans = parallel.block_ranges(len(matrix), TILE_SIZE)

    def band(at: int) -> MatrixFault | None:
        came = fast_check(*spans[at])
        if came == VALID:
            return None
        if came == _ROUNDED:
            sentence = f"Pass {quantity} that are symmetric to the bit, which are not copied."
            return MatrixFault(ROUNDING_FAULT, 0.0, spans[at][0], spans[at][0], sentence)
        return worst_fault(tile_check(matrix, spans[at], columns) for columns in spans[at:])

    return worst_fault(parallel.map_blocks(band, range(len(spans))))


def worst_row_fault(matrix: NDArray[Any], tile_check: TileCheck) -> MatrixFault | None:
    """Return what is worst in rows without mirror images."""
    whole = (0, matrix.shape[1])
    return worst_fault(
        parallel.map_blocks(lambda rows: tile_check(matrix, rows, whole), parallel.block_ranges(len(matrix), TILE_SIZE))
    )


def raise_fault(fault: MatrixFault | None) -> None:
    """Refuse what has a fault."""
    if fault is not None:
        raise DataError(fault.message)


def largest_asymmetry(part: NDArray[Any], mirrored: NDArray[Any], magnitudes: Floats) -> tuple[float, int, int] | None:
    """Return the largest difference of mirror images beyond rounding and where it is, None without any."""
    gap = np.abs(part - mirrored)
    gap[gap <= SYMMETRY_TOLERANCE[part.dtype] * magnitudes] = 0.0
    i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
    return (float(gap[i, j]), int(i), int(j)) if gap[i, j] else None


def symmetrize(
    matrix: NDArray[Any],
    quantity: str,
    fast_check: Callable[[int, int], int],
    tile_check: TileCheck,
    combine: PairCombiner,
) -> NDArray[Any]:
    """Return a matrix that is symmetric to the bit: itself, or a copy where a pair's two numbers differ by rounding.

    In the copy every pair has the number that is chosen of its two, such as by `numpy.maximum`. What is worse is refused. All
    else is as in `worst_pair_fault`.
    """
    fault = worst_pair_fault(matrix, quantity, fast_check, tile_check)
    if fault is None:
        return matrix
    if fault.kind != ROUNDING_FAULT:
        raise DataError(fault.message)
    return _symmetrized_copy(matrix, combine, quantity, fault.message)


def _symmetrized_copy(matrix: NDArray[Any], combine: PairCombiner, quantity: str, reason: str) -> NDArray[Any]:
    """Return a symmetric copy; refused, saying why it is made, where it does not fit into memory."""
    n = len(matrix)
    check_memory(matrix.nbytes, f"A copy of {n:,} x {n:,} {quantity}", reason)
    out = np.empty_like(matrix)
    spans = parallel.block_ranges(n, TILE_SIZE)

    def band(at: int) -> None:
        rows = slice(*spans[at])
        for span in spans[at:]:
            columns = slice(*span)
            chosen = combine(matrix[rows, columns], matrix[columns, rows].T)
            out[rows, columns], out[columns, rows] = chosen, chosen.T

    for _ in parallel.map_blocks(band, range(len(spans))):
        pass
    return out


class PairwisePoints(Points):
    """Rows known by one number for each row of fit.

    Rows are equal where these numbers are, to the bit or as nearly as a pair's two numbers must be: of those only one is kept, and
    a row of the user's matrix is then not to the bit what was kept of it.
    """

    def first_occurrences(self) -> NDArray[np.intp]:
        """Return for every row the lowest row that is equal to it, or to one that is."""
        first = super().first_occurrences()
        for row in np.flatnonzero(first == np.arange(self.n_samples)).tolist():
            lower = (point for point in self._match_candidates(self, row).tolist() if point < row)
            first[row] = next((point for point in lower if self._matches(self, row, point)), row)
        while (first != first[first]).any():
            first = first[first]
        return first

    def match_rows(self, queries: Self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the queries that are equal to a point, and of each the lowest point that is so to the bit, else to rounding."""
        found = np.full(queries.n_samples, self.n_samples)
        equal, points = super().match_rows(queries)
        found[equal] = points
        for query in np.flatnonzero(found == self.n_samples).tolist():
            candidates = self._match_candidates(queries, query).tolist()
            found[query] = next((point for point in candidates if self._matches(queries, query, point)), self.n_samples)
        equal = np.flatnonzero(found < self.n_samples)
        return equal, found[equal]

    @abstractmethod
    def _match_candidates(self, queries: Self, query: int) -> NDArray[np.intp]:
        """Return the points that a query may be equal to, ascending."""

    @abstractmethod
    def _matches(self, queries: Self, query: int, point: int) -> bool:
        """Return whether the numbers of a query are those of a point but for rounding."""
