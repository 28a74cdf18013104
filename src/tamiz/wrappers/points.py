"""The rows of a table as an estimator of numbers sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Candidates
from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.statistics.base import Floats
from tamiz.validation import check_memory
from tamiz.wrappers.folds import Fold, RowIndices
from tamiz.wrappers.given import column_to_floats, is_number_like

# Matrices of one fold that are there at once beside the table's: what two threads learn from and test, and steps on the way.
N_FOLD_MATRICES = 4


class DesignMatrix(ABC):
    """Rows as numbers.

    Attributes
    ----------
    coordinates : list of ndarray
        For every column of the table the coordinates that it has; none where it takes no part.
    n_coordinates : int
    """

    coordinates: list[NDArray[np.intp]]
    n_coordinates: int

    @abstractmethod
    def train_rows(self, fold: Fold, coordinates: RowIndices | None = None) -> Floats:
        """Return the rows that a fold learns from, of shape (n_train, n_coordinates), or some of their coordinates, as a copy."""

    @abstractmethod
    def test_rows(self, fold: Fold, coordinates: RowIndices | None = None) -> Floats:
        """Return the rows that a fold tests, likewise."""

    def notes(self) -> list[str]:
        """Return what the user is to be told of how rows became numbers."""
        return []

    def transposed_values(self) -> Floats | None:
        """Return the rows of the table as a matrix with a row for every coordinate, None where folds see them differently."""
        return None

    def to_coordinates(self, candidates: Candidates) -> Candidates:
        """Return sets of columns as sets of coordinates."""
        widths = np.array([len(own) for own in self.coordinates], dtype=np.intp)
        if self.n_coordinates == len(widths) and (widths == 1).all():
            return candidates
        of = np.repeat(np.arange(len(widths)), widths)
        parents = np.empty((len(candidates.parents), self.n_coordinates), dtype=bool)
        parents[:, np.concatenate(self.coordinates)] = candidates.parents[:, of]
        grown = widths[candidates.flipped]
        starts = np.concatenate([[0], np.cumsum(grown)])[candidates.starts].astype(np.intp)
        flipped = [self.coordinates[j] for j in candidates.flipped.tolist()]
        return Candidates(
            parents, candidates.parent_index, starts, np.concatenate(flipped) if flipped else candidates.flipped
        )

    def coordinates_of(self, columns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the coordinates of some columns, in the columns' order."""
        return np.concatenate([self.coordinates[j] for j in columns.tolist()])


class NumericMatrix(DesignMatrix):
    """Numbers as they are; False and True are 0 and 1, and text that writes numbers is these numbers."""

    def __init__(self, source: Source) -> None:
        schema = source.schema
        for j in schema.categorical:
            if not is_number_like(schema.columns[j]):
                raise DataError(f"Column {schema.columns[j].name!r} holds categories; pass encode=True.")
        used = schema.used.tolist()
        place = {j: k for k, j in enumerate(used)}
        self.coordinates = [np.array([place[j]] if j in place else [], dtype=np.intp) for j in range(schema.n_columns)]
        self.n_coordinates = len(used)
        check_memory(
            (1 + N_FOLD_MATRICES) * 8.0 * schema.n_rows * len(used),
            f"A matrix of {schema.n_rows:,} rows and {len(used):,} columns for an estimator",
            "Leave columns out with kinds, or rows.",
        )
        self._values = np.empty((schema.n_rows, len(used)))
        for block in source.blocks(used):
            for j in used:
                values = column_to_floats(schema.columns[j], block.column(j))
                self._values[block.rows.start : block.rows.stop, place[j]] = values

    def train_rows(self, fold: Fold, coordinates: RowIndices | None = None) -> Floats:
        """Return rows of the matrix."""
        return self._take_rows(fold.train, coordinates)

    def test_rows(self, fold: Fold, coordinates: RowIndices | None = None) -> Floats:
        """Return rows of the matrix."""
        return self._take_rows(fold.test, coordinates)

    def transposed_values(self) -> Floats:
        """Return the matrix, turned."""
        return np.ascontiguousarray(self._values.T)

    def _take_rows(self, rows: RowIndices, coordinates: RowIndices | None) -> Floats:
        return self._values[rows] if coordinates is None else self._values[np.ix_(rows, coordinates)]
