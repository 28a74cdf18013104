"""Rows given by a matrix of distances: complete (`PrecomputedDistances`), with missing entries (`IncompleteDistances`), sparse
(`SparseDistances`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels.primitives import distance_keys
from tamiz.neighbors.base import NeighborIndex, Neighbors
from tamiz.neighbors.points import Points
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.storage.invariants import Condition, FloatArray, IntegerArray, Invariants
from tamiz.table.distance_table import SYMMETRY_TOLERANCE
from tamiz.table.factory import as_array
from tamiz.table.kinds import LARGEST_NUMBER
from tamiz.table.matrix_rows import canonical_csr

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

    Messages name the quantity, such as "distances", and the parameter that requires it, such as "metric='precomputed'".
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


def worst_pair_fault(matrix: NDArray[Any], quantity: str, tile_check: TileCheck) -> MatrixFault | None:
    """Return the worst fault of a square matrix, or None; `tile_check` finds the worst fault of a tile and its mirror image."""
    spans = parallel.block_ranges(len(matrix), TILE_SIZE)

    def check_band(at: int) -> MatrixFault | None:
        rows = slice(*spans[at])
        faults = [tile_check(matrix, spans[at], columns) for columns in spans[at:]]
        if not any(faults) and not np.array_equal(matrix[rows, rows.start :], matrix[rows.start :, rows].T):
            sentence = f"Pass exactly symmetric {quantity}, which are not copied."
            return MatrixFault(ROUNDING_FAULT, 0.0, rows.start, rows.start, sentence)
        return worst_fault(faults)

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
    if np.array_equal(part, mirrored):
        return None
    differences = np.abs(part - mirrored)
    differences[differences <= SYMMETRY_TOLERANCE[part.dtype] * magnitudes] = 0.0
    i, j = np.unravel_index(int(np.argmax(differences)), differences.shape)
    return (float(differences[i, j]), int(i), int(j)) if differences[i, j] else None


def symmetrize(matrix: NDArray[Any], quantity: str, tile_check: TileCheck, combine: PairCombiner) -> NDArray[Any]:
    """Return an exactly symmetric matrix: the matrix itself, or a copy if mirror entries differ by rounding.

    The copy contains `combine` of the two mirror entries, such as `numpy.maximum`. Worse faults raise DataError.
    """
    fault = worst_pair_fault(matrix, quantity, tile_check)
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

    def upper_block(self, start: int, stop: int) -> Floats:
        return self.block_view(self, start, stop)[:, start:]

    @abstractmethod
    def _match_candidates(self, queries: Self, query: int) -> Indices:
        """Return the points that a query may equal, in ascending order."""

    @abstractmethod
    def _matches(self, queries: Self, query: int, point: int) -> bool:
        """Return whether the numbers of a query are those of a point up to rounding."""


_QUANTITY, _REQUEST = "distances", "metric='precomputed'"
_INCOMPLETE_REQUEST = "dissimilarity='precomputed'"
# Largest rounding of stored distances, in units of the largest: they may come from products of matrices in float32.
_STORED_TOLERANCE = 1e-6


class PrecomputedDistances(PairwisePoints):
    """Rows given by a matrix of distances: symmetric, non-negative, 0 on the diagonal; else DataError names the row and the
    column.

    The matrix is validated in one pass of O(n^2) with O(1) additional memory, and not copied if it is a C-contiguous float64 or
    float32 array. Mirror entries may differ by a relative 1e-10 (1e-5 in float32); if any differ, a copy with their means is
    used. Rows whose distances differ by no more than the tolerance are equal.
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
        everything = np.arange(len(distances))
        distances = symmetrize(distances, _QUANTITY, _tile_fault, lambda some, others: some * 0.5 + others * 0.5)
        self._store(distances, everything, everything)

    def _store(self, distances: NDArray[Any], rows: Indices, columns: Indices) -> None:
        """Store a matrix, the rows of it that belong to these points, and the columns with the distances to them."""
        self._distances, self._rows, self._columns = distances, rows, columns
        self._all_rows = np.array_equal(rows, np.arange(len(distances)))
        self._all_columns = np.array_equal(columns, np.arange(distances.shape[1]))
        self.n_samples = len(rows)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._distances.dtype

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
        if self._all_columns and queries._all_rows:
            return np.ascontiguousarray(queries._distances[start:stop], dtype=np.float64)
        return self.block(queries, start, stop)

    def row_keys(self, rows: Indices) -> list[bytes]:
        return [blake2b(self._distances[row].astype(np.float64) + 0.0).digest() for row in self._rows[rows]]

    def row_hashes(self) -> Floats:
        """Return the nearest training row of each row, the first of ties; a training row gets itself or a row equal to it."""
        return self._distances.argmin(axis=1)[self._rows].astype(np.float64)

    def _match_candidates(self, queries: Self, query: int) -> Indices:
        distances = queries._distances[queries._rows[query]]
        return np.flatnonzero((distances if self._all_columns else distances[self._columns]) == 0)

    def _matches(self, queries: Self, query: int, point: int) -> bool:
        return nearly_equal(queries._distances[queries._rows[query]], self._distances[self._rows[point]])

    def take(self, rows: Indices) -> Self:
        """Return some of the points; the matrix is shared."""
        return self._from_matrix(
            self._distances, self._rows[rows], self._columns[rows] if len(self._columns) else self._columns
        )

    def new_points(self, rows: Any) -> Self:
        """Return new rows from their distances to all training rows, of shape (n_new, n_samples)."""
        distances = as_float_matrix(rows, _QUANTITY, _REQUEST)
        check_new_rows(distances, self._distances.shape[1], _QUANTITY)
        raise_fault(worst_row_fault(distances, _value_fault))
        return self._from_matrix(distances, np.arange(len(distances)), np.arange(0))

    @classmethod
    def _from_matrix(cls, distances: NDArray[Any], rows: Indices, columns: Indices) -> Self:
        points = cls.__new__(cls)
        points._store(distances, rows, columns)
        return points


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
    """Rows given by a matrix of distances in which missing distances are NaN; such a matrix is copied.

    If one of two mirror entries is NaN, the other one is used.
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
        missing: Masks = np.isnan(distances)
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


class SparseDistances(Points):
    """Rows given by a sparse matrix with the distances of some pairs, such as those of nearest neighbours; new rows with
    is_square=False.

    A stored 0 is a distance of 0, and a pair that is not stored is not known. The diagonal is ignored. A distance may be stored
    in one direction. If it is stored in both, the two may differ by 1e-6 of the largest distance, and their mean is used. Rows
    at distance 0 are equal, also through other rows. A matrix that is not valid raises DataError with the row and the column.
    """

    metric = "precomputed"
    invariants: ClassVar[Invariants] = {
        "matrix.shape": Condition(
            lambda it: it.matrix.shape[0] == it.matrix.shape[1], "is not that of a square matrix"
        ),
        "matrix.data": FloatArray("m", low=0.0),
    }

    def __init__(self, matrix: Any, *, is_square: bool = True) -> None:
        self.matrix, self.is_square = canonical_csr(matrix), is_square
        self.n_samples = self.matrix.shape[0]
        self._check_values()
        if is_square:
            check_square(self.matrix, _QUANTITY)
            self.matrix = _average_directions(self.matrix)

    def _check_values(self) -> None:
        bad = np.flatnonzero(~((self.matrix.data >= 0.0) & (self.matrix.data <= LARGEST_NUMBER)))
        if bad.size:
            row, column = _entry_place(self.matrix, int(bad[0]))
            raise DataError(
                f"Row {row}, column {column} is {self.matrix.data[bad[0]]:.6g}; a distance must be a number from 0 to "
                f"{LARGEST_NUMBER:g}. Replace it or leave the row out."
            )

    def block(self, queries: Self, start: int, stop: int) -> Floats:  # noqa: ARG002 - as other points have them
        """Raise DataError: only some distances are known."""
        raise DataError(
            "A sparse matrix contains the distances of some pairs only, and this needs all of them. Pass a dense matrix of all "
            "distances; for a graph of several components, store more neighbours of each row, or set disconnected='per_component'."
        )

    def row_keys(self, rows: Indices) -> list[bytes]:
        return [row.tobytes() for row in self.first_occurrences()[rows]]

    def row_hashes(self) -> Floats:
        return self.first_occurrences().astype(np.float64)

    def first_occurrences(self) -> Indices:
        """Return for every row the lowest row at distance 0, directly or through other rows."""
        rows, zero = _entry_rows(self.matrix), self.matrix.data == 0.0
        pairs = (np.ones(np.count_nonzero(zero)), (rows[zero], self.matrix.indices[zero]))
        labels = connected_components(sparse.csr_array(pairs, shape=self.matrix.shape), directed=False)[1]
        return np.unique(labels, return_index=True)[1][labels]

    def match_rows(self, queries: Self) -> tuple[Indices, Indices]:
        """Return the queries at distance 0 of a point, and the lowest row that is equal to this point."""
        zero = queries.matrix.data == 0.0
        equal, at = np.unique(_entry_rows(queries.matrix)[zero], return_index=True)
        return equal, self.first_occurrences()[queries.matrix.indices[zero][at]]

    def take(self, rows: Indices) -> Self:
        """Return some of the points; of new rows all distances."""
        part = self.matrix[rows]
        return type(self)(part[:, rows] if self.is_square else part, is_square=self.is_square)

    def new_points(self, rows: Any) -> Self:
        if not sparse.issparse(rows):
            raise TypeError("The fitted distances are sparse; pass those of new rows as a sparse matrix, too.")
        check_new_rows(rows, self.n_samples, _QUANTITY)
        return type(self)(rows, is_square=False)


class StoredDistanceIndex(NeighborIndex):
    """Points whose neighbours are among the pairs that a sparse matrix stores."""

    description = "exact, among stored distances"
    points: SparseDistances

    def __init__(self, points: SparseDistances) -> None:
        self.points = points

    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return the k nearest points of every query, or of every point among the others."""
        found = self._stored_neighbors(queries)
        counts = np.diff(found.indptr)
        few = np.flatnonzero(counts < k)
        if few.size:
            kind, others = ("Row", "other") if queries is None else ("New row", "fitted")
            rows = f"{others} row" if counts[few[0]] == 1 else f"{others} rows"
            raise DataError(
                f"{kind} {few[0]} has stored distances to {counts[few[0]]:,} {rows}, fewer than the {k:,} neighbours that are "
                f"needed. Store more, as KNeighborsTransformer(n_neighbors={k}, mode='distance') does, or lower n_neighbors."
            )
        return found.nearest(k)

    def query_radius(self, radius: float, queries: Points | None = None) -> Neighbors:
        """Return all points with a stored distance of at most `radius`, in both directions."""
        found = self._stored_neighbors(queries)
        within = found.select(found.distances <= radius)
        n, rows, others = found.n_points, within.rows.astype(np.int64), within.indices
        alone = np.flatnonzero(~np.isin(rows * n + others, others * np.int64(n) + rows))
        if queries is None and alone.size:
            raise DataError(
                f"The distance of rows {rows[alone[0]]} and {others[alone[0]]} is stored in one direction only. A radius graph "
                "needs all distances within the radius, as RadiusNeighborsTransformer stores them. Use KNearest for others."
            )
        return within

    def _stored_neighbors(self, queries: Points | None) -> Neighbors:
        """Return all stored pairs, nearest first; equal distances by the lower row."""
        matrix = self.points.matrix if queries is None else cast(SparseDistances, queries).matrix
        rows = _entry_rows(matrix)
        # lexsort is stable, so ties stay ordered by the lower row.
        order = np.lexsort((distance_keys(matrix.data), rows))
        if queries is None:
            order = order[rows[order] != matrix.indices[order]]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[order], minlength=matrix.shape[0]))]).astype(np.int64)
        return Neighbors(indptr, matrix.indices[order].astype(np.int32), matrix.data[order], self.points.n_samples)


def _entry_rows(matrix: sparse.csr_array) -> Indices:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _entry_place(matrix: sparse.csr_array, entry: int) -> tuple[int, int]:
    return int(_entry_rows(matrix)[entry]), int(matrix.indices[entry])


def _average_directions(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix with the mean of two mirror entries where both are stored; raise DataError if they differ."""
    n, rows, columns = matrix.shape[0], _entry_rows(matrix), matrix.indices.astype(np.int64)
    tolerance = _STORED_TOLERANCE * matrix.data.max(initial=0.0)
    entries = rows * n + columns
    mirrored = columns * n + rows
    at = np.searchsorted(entries, mirrored)
    stored = np.append(entries, -1)[at] == mirrored
    others = np.where(stored, np.append(matrix.data, 0.0)[at], matrix.data)
    own = rows == columns
    differ = np.flatnonzero(np.where(own, matrix.data, np.abs(matrix.data - others)) > tolerance)
    if differ.size:
        entry = int(differ[0])
        i, j = int(rows[entry]), int(columns[entry])
        if i == j:
            raise DataError(
                f"Row {i} is at {matrix.data[entry]:.6g} from itself; a distance on the diagonal must be 0 or not stored. Pass "
                "distances, such as those of KNeighborsTransformer(mode='distance'), not connectivities or similarities."
            )
        raise DataError(
            f"Precomputed distances must be symmetric where both directions are stored: row {i}, column {j} is "
            f"{matrix.data[entry]:.12g} and row {j}, column {i} is {others[entry]:.12g}. D.maximum(D.T) is symmetric."
        )
    means = np.where(own, 0.0, matrix.data * 0.5 + others * 0.5)
    return sparse.csr_array((means, matrix.indices, matrix.indptr), shape=matrix.shape)
