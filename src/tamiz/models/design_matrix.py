"""The rows of a table as an estimator of numbers sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.models.folds import Fold, RowIndices
from tamiz.models.native_table import column_to_floats, is_number_like
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.sources.base import Source
from tamiz.sources.encoding import Encoding, check_has_features, level_indicators
from tamiz.sources.views import weight_array
from tamiz.statistics.base import Floats
from tamiz.statistics.cross_products import design_matrix
from tamiz.subsets.candidates import Candidates

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


# MERGED: Mixed columns as points, fitted on the rows that each fold learns from.
class EncodedMatrix(DesignMatrix):
    """Standardised numbers with the mean in the gaps, and an indicator for every level divided by the square root of its share.

    Coordinates are those of the whole table. One whose column or level does not occur in the rows learned from is 0 there and in
    the rows tested. Only the table's own values are held, and the encodings: a fold's points are made when they are asked for.

    Parameters
    ----------
    source : Source
    folds : sequence of Fold
    impute : bool, default=True
        Whether a missing value is put at the mean; else it stays NaN.
    """

    def __init__(self, source: Source, folds: Sequence[Fold], *, impute: bool = True) -> None:
        schema = source.schema
        check_has_features(schema)
        self.coordinates = [np.empty(0, dtype=np.intp) for _ in range(schema.n_columns)]
        done = 0
        for j in (*schema.numeric, *schema.categorical):
            width = 1 if schema.columns[j].is_number else len(schema.columns[j].levels)
            self.coordinates[j] = np.arange(done, done + width, dtype=np.intp)
            done += width
        self.n_coordinates = done
        check_memory(
            (1 + N_FOLD_MATRICES) * 8.0 * schema.n_rows * done,
            f"Points of {schema.n_rows:,} rows and {done:,} coordinates",
            "Take a naive Bayes without encode=True, or fewer rows.",
        )
        levels, used = level_indicators(schema), schema.used.tolist()
        self._values = np.empty((schema.n_rows, done))
        for block in source.blocks(used):
            self._values[block.rows.start : block.rows.stop] = design_matrix(block, schema.numeric, levels, np.float64)
        self._weight = weight_array(source)
        self._schema, self._impute = schema, impute
        # The folds' ids stand for them as long as they are there.
        self._folds = tuple(folds)
        fitted = parallel.map_blocks(lambda fold: self._fit_encoding(fold.train), self._folds)
        self._encodings = {id(fold): encoding for fold, encoding in zip(self._folds, fitted, strict=True)}

    def notes(self) -> list[str]:
        """Return the sentence that tells of gaps."""
        schema = self._schema
        of_numbers, of_levels = (
            sum(schema.columns[j].n_missing for j in kind) for kind in (schema.numeric, schema.categorical)
        )
        n = of_numbers + of_levels if self._impute else 0
        values = "1 missing value counts" if n == 1 else f"{n:,} missing values count"
        mean, shares = "as the mean of the column", "as every level in its share"
        how = shares if not of_numbers else f"{mean}, or {shares}," if of_levels else mean
        return [f"{values} {how} in the rows that a fold learns from."] if n else []

    def train_rows(self, fold: Fold, coordinates: RowIndices | None = None) -> Floats:
        """Return the points of the rows that the fold learns from."""
        return self._encode_rows(fold, fold.train, coordinates)

    def test_rows(self, fold: Fold, coordinates: RowIndices | None = None) -> Floats:
        """Return the points of the rows that the fold tests."""
        return self._encode_rows(fold, fold.test, coordinates)

    def _encode_rows(self, fold: Fold, rows: RowIndices, coordinates: RowIndices | None) -> Floats:
        encoding, absent = self._encodings[id(fold)]
        at = slice(None) if coordinates is None else coordinates
        points = self._values[rows] if coordinates is None else self._values[np.ix_(rows, coordinates)]
        points -= encoding.centre[at]
        points /= encoding.scale[at]
        gaps = np.isnan(points)
        if self._impute and gaps.any():
            points[gaps] = np.broadcast_to(encoding.fill[at], points.shape)[gaps]
        points[:, absent[at]] = 0.0
        return points

    def _fit_encoding(self, rows: RowIndices) -> tuple[Encoding, NDArray[np.bool_]]:
        """Return the encoding that some rows teach, and which coordinates have no value among them."""
        weight = np.ones(len(rows)) if self._weight is None else self._weight[rows]
        n = self.n_coordinates
        held, mean, squares = np.zeros((3, n))
        for k in range(n):
            # By columns: a whole fold's values beside the table's would be as large as the table.
            values = self._values[rows, k]
            present = ~np.isnan(values)
            here, values = weight[present], values[present]
            held[k] = here.sum()
            if not len(values):
                continue
            # The mean of equal values is that value: what rounding makes of it would be all there is to be standardised.
            mean[k] = values[0] if (values == values[0]).all() else here @ values / held[k]
            squares[k] = here @ (values - mean[k]) ** 2
        spread = np.sqrt(np.divide(squares, held - 1, out=np.zeros(n), where=held > 1))
        n_numeric = len(self._schema.numeric)
        encoding = Encoding.from_moments(self._schema, mean, spread[:n_numeric], float(weight.sum()))
        absent = held == 0
        absent[n_numeric:] |= mean[n_numeric:] == 0
        return encoding, absent
