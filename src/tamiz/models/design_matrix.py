"""The design matrix: the rows of a table as numbers, for estimators of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.models.folds import Fold, RowIndices
from tamiz.models.native_table import column_to_floats, is_number_like
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import ImputationNote
from tamiz.runtime.validation import check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Floats, divide_or_zero
from tamiz.statistics.cross_products import design_matrix
from tamiz.subsets.candidates import Candidates
from tamiz.table.base import Table
from tamiz.table.encoding import Encoding, check_has_features, level_indicators
from tamiz.table.views import weight_array

# "none": numbers as they are. "codes": also the number of every level. "indicators": also a 0/1 indicator for every level; missing
# values stay NaN. "standard": numbers standardised and indicators scaled, by the training rows of every fold.
MatrixEncoding = Literal["none", "codes", "indicators", "standard"]

# What reads the values, in the notes on their imputation.
CROSS_VALIDATED_MODELS = "models in cross-validation"
# Matrices of one fold that exist at once beside the table's: training and test rows of two threads, and intermediate results.
N_FOLD_MATRICES = 4


class EncodedMatrix:
    """The rows of a table as numbers; a column of the table has one or more coordinates (columns of the matrix).

    "none" has the numbers as they are: False and True become 0 and 1, and text of digits becomes the number. "codes" has these, and
    the number of the level of each other category, with missing values as NaN. "indicators" has the
    numbers, then an indicator for each level of each category, with missing values as NaN. "standard" standardises these numbers
    and divides an indicator by the square root of its share; a missing value is the mean.

    All folds have the coordinates of the whole table. A standardised coordinate whose column or level does not occur in the
    training rows of a fold is 0 in that fold. Only the table's values and the encodings are stored; rows are encoded on request.

    Parameters
    ----------
    table : Table
    folds : sequence of Fold
    encoding : {"standard", "indicators", "codes", "none"}, default="standard"
    impute : bool, default=True
        Whether a standardised missing value is replaced by the mean; else it stays NaN.

    Attributes
    ----------
    coordinates : list of ndarray
        For every column of the table its coordinates, ascending; none for an excluded column.
    n_coordinates : int
    """

    def __init__(
        self, table: Table, folds: Sequence[Fold], encoding: MatrixEncoding = "standard", *, impute: bool = True
    ) -> None:
        schema = table.schema
        self.coordinates: list[NDArray[np.intp]] = [np.empty(0, dtype=np.intp) for _ in range(schema.n_columns)]
        self._schema, self._impute = schema, impute and encoding == "standard"
        # The ids of the folds are unique as long as the folds exist.
        self._folds = tuple(folds)
        self._encodings: dict[int, tuple[Encoding, NDArray[np.bool_]]] | None = None
        if encoding in ("none", "codes"):
            self._values = self._read_numbers(table, codes=encoding == "codes")
            return
        self._values = self._read_indicators(table)
        if encoding == "standard":
            self._weight = weight_array(table)
            fitted = parallel.map_blocks(lambda fold: self._fit_encoding(fold.train), self._folds)
            self._encodings = {id(fold): encoding for fold, encoding in zip(self._folds, fitted, strict=True)}

    @property
    def n_coordinates(self) -> int:
        """The number of coordinates of all columns."""
        return int(self._values.shape[1])

    def _read_numbers(self, table: Table, *, codes: bool) -> Floats:
        schema, used = self._schema, self._schema.used.tolist()
        coded = {j for j in schema.categorical if not is_number_like(schema.columns[j])}
        for j in sorted(coded):
            if not codes:
                raise DataError(f"Column {schema.columns[j].name!r} contains categories; pass encode=True.")
        for k, j in enumerate(used):
            self.coordinates[j] = np.array([k], dtype=np.intp)
        check_memory(
            (1 + N_FOLD_MATRICES) * 8.0 * schema.n_rows * len(used),
            f"A matrix of {schema.n_rows:,} rows and {len(used):,} columns for an estimator",
            "Leave columns out with kinds, or rows.",
        )
        values = np.empty((schema.n_rows, len(used)))
        for block in table.blocks(used):
            for k, j in enumerate(used):
                found = block.column(j)
                values[block.rows.start : block.rows.stop, k] = (
                    np.where(found < 0, np.nan, found) if j in coded else column_to_floats(schema.columns[j], found)
                )
        return values

    def _read_indicators(self, table: Table) -> Floats:
        schema = self._schema
        check_has_features(schema)
        done = 0
        for j in (*schema.numeric, *schema.categorical):
            width = 1 if schema.columns[j].is_number else len(schema.columns[j].levels)
            self.coordinates[j] = np.arange(done, done + width, dtype=np.intp)
            done += width
        check_memory(
            (1 + N_FOLD_MATRICES) * 8.0 * schema.n_rows * done,
            f"An encoded matrix of {schema.n_rows:,} rows and {done:,} coordinates",
            "Use naive Bayes without encode=True, or fewer rows.",
        )
        levels, values = level_indicators(schema), np.empty((schema.n_rows, done))
        for block in table.blocks(schema.used.tolist()):
            values[block.rows.start : block.rows.stop] = design_matrix(block, schema.numeric, levels, np.float64)
        return values

    def notes(self) -> list[Verdict]:
        """Return a note on the imputation of missing values."""
        schema = self._schema
        of_numbers, of_levels = (
            sum(schema.columns[j].n_missing for j in kind) for kind in (schema.numeric, schema.categorical)
        )
        n = schema.n_missing if self._impute else 0
        values = "1 missing value counts" if n == 1 else f"{n:,} missing values count"
        mean, shares = "as the mean of the column", "as every level in its share"
        how = shares if not of_numbers else f"{mean}, or {shares}," if of_levels else mean
        return [ImputationNote(f"{values} {how} in the training rows of a fold.", CROSS_VALIDATED_MODELS)] if n else []

    def train_rows(self, fold: Fold, coordinates: RowIndices | None = None) -> Floats:
        """Return the training rows of a fold, of shape (n_train, n_coordinates), or some of their coordinates, as a copy."""
        return self._encode_rows(fold, fold.train, coordinates)

    def test_rows(self, fold: Fold, coordinates: RowIndices | None = None) -> Floats:
        """Return the test rows of a fold, likewise."""
        return self._encode_rows(fold, fold.test, coordinates)

    def transposed_values(self) -> Floats | None:
        """Return the whole table as a matrix with a row for every coordinate, None where the encoding differs between folds."""
        return np.ascontiguousarray(self._values.T) if self._encodings is None else None

    def to_coordinates(self, candidates: Candidates) -> Candidates:
        """Return sets of columns as sets of coordinates."""
        widths = np.array([len(own) for own in self.coordinates], dtype=np.intp)
        if self.n_coordinates == len(widths) and (widths == 1).all():
            return candidates
        column_of = np.repeat(np.arange(len(widths)), widths)
        parents = np.empty((len(candidates.parents), self.n_coordinates), dtype=bool)
        parents[:, np.concatenate(self.coordinates)] = candidates.parents[:, column_of]
        flipped_widths = widths[candidates.flipped]
        starts = np.concatenate([[0], np.cumsum(flipped_widths)])[candidates.starts].astype(np.intp)
        flipped = [self.coordinates[j] for j in candidates.flipped.tolist()]
        return Candidates(
            parents, candidates.parent_index, starts, np.concatenate(flipped) if flipped else candidates.flipped
        )

    def coordinates_of(self, columns: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the coordinates of some columns, ascending."""
        return np.sort(np.concatenate([self.coordinates[j] for j in columns.tolist()]))

    def _encode_rows(self, fold: Fold, rows: RowIndices, coordinates: RowIndices | None) -> Floats:
        encoded = self._values[rows] if coordinates is None else self._values[np.ix_(rows, coordinates)]
        if self._encodings is None:
            return encoded
        encoding, absent = self._encodings[id(fold)]
        at = slice(None) if coordinates is None else coordinates
        encoded -= encoding.centre[at]
        encoded /= encoding.scale[at]
        missing = np.isnan(encoded)
        if self._impute and missing.any():
            encoded[missing] = np.broadcast_to(encoding.fill[at], encoded.shape)[missing]
        encoded[:, absent[at]] = 0.0
        return encoded

    def _fit_encoding(self, rows: RowIndices) -> tuple[Encoding, NDArray[np.bool_]]:
        """Return the encoding fitted on some rows, and which coordinates have no value among them."""
        weight = np.ones(len(rows)) if self._weight is None else self._weight[rows]
        n = self.n_coordinates
        total, mean, squares = np.zeros((3, n))
        for k in range(n):
            # Column by column: a copy of all values of the fold would be as large as the table.
            values = self._values[rows, k]
            present = ~np.isnan(values)
            here, values = weight[present], values[present]
            total[k] = here.sum()
            if not len(values):
                continue
            # The mean of equal values is exactly that value: a rounding error would be scaled to unit variance.
            mean[k] = values[0] if (values == values[0]).all() else here @ values / total[k]
            squares[k] = here @ (values - mean[k]) ** 2
        std = np.sqrt(divide_or_zero(squares, total - 1))
        n_numeric = len(self._schema.numeric)
        encoding = Encoding.from_moments(self._schema, mean, std[:n_numeric], float(weight.sum()))
        absent = total == 0
        absent[n_numeric:] |= mean[n_numeric:] == 0
        return encoding, absent
