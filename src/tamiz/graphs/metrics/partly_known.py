"""Rows known by distances of which some may be missing."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.exceptions import DataError
from tamiz.graphs.metrics.pair_matrix import TILE_SIZE, as_float_matrix, check_square
from tamiz.graphs.metrics.precomputed import PrecomputedDistances, nearly_equal
from tamiz.statistics.base import Floats
from tamiz.validation import check_memory

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
