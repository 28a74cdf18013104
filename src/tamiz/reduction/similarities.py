"""Rows known by their similarities alone."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.exceptions import DataError
from tamiz.graphs.metrics.pair_matrix import (
    SYMMETRY,
    TILE,
    Fault,
    PairPoints,
    Span,
    as_floats,
    check_new_rows,
    check_square,
    difference,
    refuse,
    symmetric,
    worst,
    worst_of_rows,
)
from tamiz.kernels.pairs import look_at_similarities
from tamiz.sources.kinds import LARGEST_NUMBER
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Invariants, Numbers

_NOUN, _METRIC = "similarities", "dissimilarity='similarity'"


class Similarities(PairPoints):
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
        "similarities": Numbers("n", "m", single=True),
        "own": Numbers("n", missing=True),
        "fitted": Numbers("m"),
    }

    def __init__(self, matrix: Any) -> None:
        similarities = as_floats(matrix, _NOUN, _METRIC)
        check_square(similarities, _NOUN)
        own = np.ascontiguousarray(similarities.diagonal(), dtype=np.float64)
        tolerance = SYMMETRY[similarities.dtype]
        similarities = symmetric(
            similarities,
            _NOUN,
            lambda *rows: look_at_similarities(similarities, own, *rows, LARGEST_NUMBER, tolerance),
            lambda part, rows, columns: _faults_of_tile(part, own, rows, columns),
            np.maximum,
        )
        self._hold(similarities, own, own)

    def _hold(self, similarities: NDArray[Any], own: Floats, fitted: Floats) -> None:
        """Keep rows, the similarity of each to itself, NaN where nobody knows it, and those of the rows of fit."""
        self._similarities, self.own, self._fitted = similarities, own, fitted
        self.n_samples = len(similarities)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What the matrix holds."""
        return self._similarities.dtype

    def stored(self) -> dict[str, Any]:
        """Return the matrix and what the rows' similarities to themselves are."""
        return {"similarities": self._similarities, "own": self.own, "fitted": self._fitted}

    @classmethod
    def restored(cls, made_of: dict[str, Any]) -> Self:
        """Return the points as they were; the matrix was checked when they were made."""
        return cls._of(made_of["similarities"], made_of["own"], made_of["fitted"])

    def as_they_lie(self, queries: Self, start: int, stop: int) -> Floats:
        """Return the similarities of the queries `start : stop` to all points, to be read only."""
        return np.ascontiguousarray(queries._similarities[start:stop], dtype=np.float64)

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return distances; a row must be known by its similarity to itself too."""
        own = queries.own[start:stop]
        if np.isnan(own).any():
            row = start + int(np.argmax(np.isnan(own)))
            raise DataError(
                f"Row {row} is equal to no row of fit, and without its similarity to itself it has no distances; "
                "correction='lingoes' needs none."
            )
        squared = queries._similarities[start:stop] * -2.0
        squared = squared.astype(np.float64, copy=False)
        squared += own[:, None]
        squared += self._fitted
        return np.sqrt(np.maximum(squared, 0.0, out=squared), out=squared)

    def row_keys(self, rows: NDArray[np.intp]) -> list[bytes]:
        """Return a digest of the similarities to all rows of fit."""
        return [blake2b(self._similarities[row].astype(np.float64) + 0.0).digest() for row in rows]

    def hashes(self) -> Floats:
        """Return the first of the rows of fit that is nearest."""
        nearest = np.empty(self.n_samples)
        for start, stop in parallel.spans(self.n_samples, TILE):
            nearest[start:stop] = np.argmin(self._fitted - 2.0 * self._similarities[start:stop], axis=1)
        return nearest

    def _candidates(self, queries: Self, query: int) -> NDArray[np.intp]:
        if self.n_samples != len(self._fitted):
            return np.arange(0)
        # The nearest: d^2 but for the query's own number, and twice what rounding may have made of it.
        asked = queries._similarities[query].astype(np.float64)
        squared = self._fitted - 2.0 * asked
        tolerance = 2.0 * max(SYMMETRY[queries.dtype], SYMMETRY[self.dtype])
        least = float((squared + tolerance * (np.abs(self._fitted) + 2.0 * np.abs(asked))).min())
        return np.flatnonzero(squared - tolerance * np.abs(self._fitted) <= least)

    def _agrees(self, queries: Self, query: int, point: int) -> bool:
        asked = queries._similarities[query].astype(np.float64)
        known = self._similarities[point].astype(np.float64)
        tolerance = max(SYMMETRY[queries.dtype], SYMMETRY[self.dtype])
        sizes = (abs(float(self._fitted[point])) + np.abs(self._fitted)) / 2
        sizes += np.maximum(np.abs(asked), np.abs(known))
        return bool((np.abs(asked - known) <= tolerance * sizes).all())

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return some of the points as new rows."""
        return self._of(self._similarities[rows], self.own[rows], self._fitted)

    def like(self, rows: Any) -> Self:
        """Return new rows.

        Parameters
        ----------
        rows : array-like of shape (n_new, n_samples)
            The similarities of new rows to all rows of fit.
        """
        similarities = as_floats(rows, _NOUN, _METRIC)
        check_new_rows(similarities, len(self._fitted), _NOUN)
        refuse(worst_of_rows(similarities, _faults_of_values))
        return self._of(similarities, np.full(len(similarities), np.nan), self._fitted)

    def known(self, queries: Self, equal: NDArray[np.intp], points: NDArray[np.intp]) -> Self:
        """Return queries with the similarities to themselves of those that are equal to points."""
        own = queries.own.copy()
        own[equal] = self.own[points]
        return self._of(queries._similarities, own, self._fitted)

    @classmethod
    def _of(cls, similarities: NDArray[Any], own: Floats, fitted: Floats) -> Self:
        points = cls.__new__(cls)
        points._hold(similarities, own, fitted)
        return points


def _faults_of_tile(matrix: NDArray[Any], own: Floats, rows: Span, columns: Span) -> Fault | None:
    """Look at a tile, at its mirror image, at what the two differ by and at the distances they stand for."""
    part, mirrored = matrix[slice(*rows), slice(*columns)], matrix[slice(*columns), slice(*rows)].T
    fault = worst([_faults_of_values(matrix, rows, columns), _faults_of_values(matrix, columns, rows)])
    if fault is not None:
        return fault
    a, b = own[slice(*rows), None], own[slice(*columns)]
    sizes = (np.abs(a) + np.abs(b)) / 2 + np.maximum(np.abs(part), np.abs(mirrored))
    above = np.maximum(part, mirrored) - (a + b) / 2
    above[above <= SYMMETRY[matrix.dtype] * sizes] = 0.0
    if above.any():
        top, left = np.unravel_index(int(np.argmax(above)), above.shape)
        row, column = rows[0] + int(top), columns[0] + int(left)
        value = max(part[top, left], mirrored[top, left])
        return Fault(
            2, float(above[top, left]), row, column,
            f"Row {row}, column {column} holds {value:.6g}; two rows cannot be more similar than the mean of what they are to "
            f"themselves, {(own[row] + own[column]) / 2:.6g}. Distances go with dissimilarity='precomputed'.",
        )  # fmt: skip
    differ = difference(part, mirrored, sizes)
    if differ is None:
        return None
    gap, i, j = differ
    row, column = rows[0] + i, columns[0] + j
    return Fault(
        3, gap, row, column,
        f"Precomputed similarities must be symmetric: row {row}, column {column} holds {part[i, j]:.12g} and row {column}, column "
        f"{row} holds {mirrored[i, j]:.12g}, a difference of {gap:.3g}. (S + S.T) / 2 is symmetric.",
    )  # fmt: skip


def _faults_of_values(matrix: NDArray[Any], rows: Span, columns: Span) -> Fault | None:
    """Look for what no similarity can be."""
    part = np.abs(matrix[slice(*rows), slice(*columns)])
    if part.max(initial=0.0) <= LARGEST_NUMBER:
        return None
    odd = ~np.isfinite(part)
    i, j = np.unravel_index(int(np.argmax(odd) if odd.any() else np.argmax(part)), part.shape)
    row, column, value = rows[0] + int(i), columns[0] + int(j), matrix[rows[0] + i, columns[0] + j]
    if odd.any():
        return Fault(
            0, 0.0, row, column,
            f"Row {row}, column {column} holds {value}; a similarity must be a finite number. "
            "Fill it in or leave the row out.",
        )  # fmt: skip
    return Fault(
        1, float(part[i, j]), row, column,
        f"Row {row}, column {column} holds {value:.6g}; a similarity above {LARGEST_NUMBER:g} in size is too large. "
        "Change the unit.",
    )  # fmt: skip
