"""Rows known by their similarities alone."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.exceptions import DataError
from tamiz.graphs.metrics.pair_matrix import (
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
from tamiz.kernels.pairs import check_similarity_rows
from tamiz.sources.kinds import LARGEST_NUMBER
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import FloatArray, Invariants

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
