"""Rows known by their distances alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz import parallel
from tamiz.exceptions import DataError
from tamiz.graphs.points import Points
from tamiz.graphs.reading import array_of
from tamiz.sources.kinds import LARGEST_NUMBER
from tamiz.statistics.base import Floats
from tamiz.validation import check_memory

# A tile and its mirror image stay in the second-level cache.
_TILE = 128
# A pair's two distances may differ by this share of the larger one: the last kind of fault, and no fault.
_ROUNDED = 4
_SYMMETRY = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}


class PrecomputedDistances(Points):
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
    of a pair's two distances (1e-5 in float32); where any do, the smaller one of each pair is taken, in a copy.
    """

    metric = "precomputed"

    def __init__(self, matrix: Any) -> None:
        distances = _as_floats(matrix)
        n_rows, n_columns = distances.shape
        if n_rows != n_columns:
            raise DataError(
                f"Precomputed distances must be a square matrix, every row to every row, got {n_rows:,} rows and "
                f"{n_columns:,} columns."
            )
        fault = _worst_fault(distances, _faults_of_tile, _tiles(n_rows))
        if fault is not None and fault.kind != _ROUNDED:
            raise DataError(fault.sentence)
        if fault is not None:
            check_memory(distances.nbytes, f"A copy of {n_rows:,} x {n_rows:,} distances", fault.sentence)
            distances = np.minimum(distances, distances.T)
        everything = np.arange(n_rows)
        self._hold(distances, everything, everything)

    def _hold(self, distances: NDArray[Any], rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
        """Keep a matrix with the rows that are these points' own, and the columns that are the distances to them."""
        self._distances, self._rows, self._columns = distances, rows, columns
        self._all_columns = np.array_equal(columns, np.arange(distances.shape[1]))
        self.n_samples = len(rows)

    def stored(self) -> dict[str, Any]:
        """Return the matrix, and which of its rows and columns these points are."""
        return {"distances": self._distances, "rows": self._rows, "columns": self._columns}

    @classmethod
    def restored(cls, made_of: dict[str, Any]) -> Self:
        """Return the points as they were; the matrix was checked when they were made."""
        return cls._of(made_of["distances"], made_of["rows"], made_of["columns"])

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return distances: rows of the queries' matrix."""
        if len(self._columns) != self.n_samples:
            raise ValueError("New rows are known by their distances to the training rows only: search among those.")
        distances = queries._distances[queries._rows[start:stop]]
        if not self._all_columns:
            distances = distances[:, self._columns]
        return np.ascontiguousarray(distances, dtype=np.float64)

    def row_keys(self, rows: NDArray[np.intp]) -> list[bytes]:
        """Return a digest of the distances to all training rows."""
        return [blake2b(self._distances[row].astype(np.float64) + 0.0).digest() for row in self._rows[rows]]

    def hashes(self) -> Floats:
        """Return the first of the training rows that is nearest: a training row is itself, or equal to it."""
        return self._distances.argmin(axis=1)[self._rows].astype(np.float64)

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the points; the matrix is shared."""
        return self._of(self._distances, self._rows[rows], self._columns[rows] if len(self._columns) else self._columns)

    def like(self, rows: Any) -> Self:
        """Return new rows.

        Parameters
        ----------
        rows : array-like of shape (n_new, n_samples)
            The distances of new rows to all training rows.
        """
        distances = _as_floats(rows)
        n_fitted = self._distances.shape[1]
        if distances.shape[1] != n_fitted:
            raise DataError(
                f"New rows must come with their distances to the {n_fitted:,} training rows, got "
                f"{distances.shape[1]:,} columns."
            )
        bands = [[(span, (0, n_fitted))] for span in parallel.spans(len(distances), _TILE)]
        _refuse(_worst_fault(distances, _faults_of_values, bands))
        return self._of(distances, np.arange(len(distances)), np.arange(0))

    @classmethod
    def _of(cls, distances: NDArray[Any], rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Self:
        points = cls.__new__(cls)
        points._hold(distances, rows, columns)
        return points


class _Fault(NamedTuple):
    """What is wrong with a matrix, and where; the kinds in the order in which they are told."""

    kind: int
    size: float
    row: int
    column: int
    sentence: str


_Span = tuple[int, int]
_Tile = tuple[_Span, _Span]
_Look = Callable[[NDArray[Any], _Span, _Span], _Fault | None]


def _as_floats(matrix: Any) -> NDArray[Any]:
    """Return distances as an array of rows, the user's own memory where it can be."""
    if sparse.issparse(matrix):
        raise TypeError(
            "Precomputed distances must be a dense array: in a sparse one, distance 0 and no distance look the same. "
            "Graph.from_sparse takes a sparse matrix of weights."
        )
    given = array_of(matrix, "metric='precomputed' takes an array of distances")
    if given.dtype.kind not in "fiub":
        raise TypeError(f"Precomputed distances must be real numbers, got {given.dtype}.")
    if given.dtype in _SYMMETRY and given.flags.c_contiguous:
        return given
    dtype = given.dtype if given.dtype in _SYMMETRY else np.dtype(np.float64)
    check_memory(
        float(dtype.itemsize) * given.size,
        f"A copy of {given.shape[0]:,} x {given.shape[1]:,} distances",
        "Pass a C-contiguous array of float64 or float32, which is not copied.",
    )
    return np.ascontiguousarray(given, dtype=dtype)


def _tiles(n: int) -> list[list[_Tile]]:
    """Return the tiles on and above the diagonal, a list for each band of rows."""
    spans = parallel.spans(n, _TILE)
    return [[(rows, columns) for columns in spans[k:]] for k, rows in enumerate(spans)]


def _worst(faults: Iterable[_Fault | None]) -> _Fault | None:
    """Return the fault of the first kind there is, the largest of it, the first of equals."""
    found = (fault for fault in faults if fault is not None)
    return min(found, key=lambda fault: (fault.kind, -fault.size, fault.row, fault.column), default=None)


def _worst_fault(matrix: NDArray[Any], look: _Look, bands: list[list[_Tile]]) -> _Fault | None:
    return _worst(parallel.map_blocks(lambda band: _worst(look(matrix, *tile) for tile in band), bands))


def _refuse(fault: _Fault | None) -> None:
    if fault is not None:
        raise DataError(fault.sentence)


def _faults_of_tile(matrix: NDArray[Any], rows: _Span, columns: _Span) -> _Fault | None:
    """Look at a tile, at its mirror image and at what the two differ by."""
    part, mirrored = matrix[slice(*rows), slice(*columns)], matrix[slice(*columns), slice(*rows)].T
    fault = _worst([_faults_of_values(matrix, rows, columns), _faults_of_values(matrix, columns, rows)])
    if fault is not None:
        return fault
    if rows == columns and (diagonal := part.diagonal()).any():
        at = int(np.argmax(diagonal))
        return _Fault(
            2, float(diagonal[at]), rows[0] + at, rows[0] + at,
            f"Row {rows[0] + at} is at {diagonal[at]:.6g} from itself; the diagonal must be 0. Similarities must be turned "
            "into distances first; numpy.fill_diagonal(D, 0) clears what rounding left.",
        )  # fmt: skip
    gap = np.abs(part - mirrored)
    if not gap.any():
        return None
    gap[gap <= _SYMMETRY[matrix.dtype] * np.maximum(part, mirrored)] = 0.0
    i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
    if gap[i, j] == 0.0:
        return _Fault(
            _ROUNDED, 0.0, rows[0], columns[0], "Pass distances that are symmetric to the bit, which are not copied."
        )
    row, column = rows[0] + int(i), columns[0] + int(j)
    return _Fault(
        3, float(gap[i, j]), row, column,
        f"Precomputed distances must be symmetric: row {row}, column {column} holds {part[i, j]:.12g} and row {column}, column "
        f"{row} holds {mirrored[i, j]:.12g}, a difference of {gap[i, j]:.3g}. (D + D.T) / 2 is symmetric.",
    )  # fmt: skip


def _faults_of_values(matrix: NDArray[Any], rows: _Span, columns: _Span) -> _Fault | None:
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
    return _Fault(kind, abs(float(value)) if kind else 0.0, row, column, sentence)
