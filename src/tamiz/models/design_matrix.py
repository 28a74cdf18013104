"""The design matrix: the rows of a table as numbers, for estimators of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.models.folds import Fold
from tamiz.models.native_table import column_to_floats, is_number_like
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import ImputationNote
from tamiz.runtime.validation import check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.statistics.cross_products import design_matrix
from tamiz.subsets.candidates import Candidates
from tamiz.table.base import Table
from tamiz.table.encode import Encoding, check_has_features, level_indicators
from tamiz.table.schema import Schema
from tamiz.table.views import weights_or_ones

# "none": numbers as they are. "codes": also the number of every level. "indicators": also a 0/1 indicator for every level; missing
# values stay NaN. "standard": numbers standardised and indicators scaled, by the training rows of every fold.
MatrixEncoding = Literal["none", "codes", "indicators", "standard"]

# What reads the values, in the notes on their imputation.
CROSS_VALIDATED_MODELS = "models in cross-validation"
# Matrices of one fold that exist at once beside the table's: training and test rows of two threads, and intermediate results.
N_FOLD_MATRICES = 4
_FEWER_VALUES = "Leave columns out with kinds, or rows."


class MatrixEncoder:
    """Encodes rows of a table as numbers; a column of the table has one or more coordinates (columns of the numbers).

    "none" has the numbers as they are: False and True become 0 and 1, and text of digits becomes the number. "codes" has these, and
    the number of the level of each other category, with missing values as NaN. "indicators" has the
    numbers, then an indicator for each level of each category, with missing values as NaN. "standard" standardises these numbers
    and divides an indicator by the square root of its share; a missing value is the mean.

    Parameters
    ----------
    schema : Schema
    encoding : {"standard", "indicators", "codes", "none"}
    impute : bool, default=True
        Whether a standardised missing value is replaced by the mean; else it stays NaN.

    Attributes
    ----------
    coordinates : list of ndarray
        For every column of the table its coordinates, ascending; none for an excluded column.
    fitted : list of (Encoding, ndarray)
        For every fold its standard encoding, and which coordinates have no value among its training rows.
    """

    def __init__(self, schema: Schema, encoding: MatrixEncoding, *, impute: bool = True) -> None:
        self.schema, self.encoding, self.impute = schema, encoding, impute and encoding == "standard"
        self.coordinates: list[Indices] = [np.empty(0, dtype=np.intp) for _ in range(schema.n_columns)]
        self.fitted: list[tuple[Encoding, Masks]] = []
        self._coded = {j for j in schema.categorical if not is_number_like(schema.columns[j])}
        if not self.has_indicators:
            for j in sorted(self._coded) if encoding == "none" else ():
                raise DataError(f"Column {schema.columns[j].name!r} contains categories; pass encode=True.")
            for k, j in enumerate(schema.used.tolist()):
                self.coordinates[j] = np.array([k], dtype=np.intp)
            return
        check_has_features(schema)
        done = 0
        for j in (*schema.numeric, *schema.categorical):
            width = 1 if schema.columns[j].is_number else len(schema.columns[j].levels)
            self.coordinates[j] = np.arange(done, done + width, dtype=np.intp)
            done += width

    @property
    def has_indicators(self) -> bool:
        return self.encoding in ("indicators", "standard")

    @property
    def n_coordinates(self) -> int:
        return sum(map(len, self.coordinates))

    def for_columns(self, columns: Indices) -> MatrixEncoder:
        wanted = set(columns.tolist())
        schema = replace(
            self.schema,
            columns=tuple(
                one if j in wanted or one.exclusion_reason else replace(one, exclusion_reason="it is not selected")
                for j, one in enumerate(self.schema.columns)
            ),
        )
        made, at = MatrixEncoder(schema, self.encoding, impute=self.impute), self.coordinates_of(columns)
        for encoding, absent in self.fitted:
            parts = (encoding.centre[at], encoding.scale[at], encoding.fill[at])
            own = Encoding([], schema.numeric, level_indicators(schema), *parts, 0, encoding.total_weight)
            made.fitted.append((own, absent[at]))
        return made

    def values(self, block: Block) -> Floats:
        """Return the rows of a block before they are standardised, of shape (n_rows, n_coordinates)."""
        schema = self.schema
        if self.has_indicators:
            return design_matrix(block, schema.numeric, level_indicators(schema), np.float64)
        values = np.empty((len(block.rows), self.n_coordinates))
        for k, j in enumerate(schema.used.tolist()):
            found = block.column(j)
            values[:, k] = (
                np.where(found < 0, np.nan, found) if j in self._coded else column_to_floats(schema.columns[j], found)
            )
        return values

    def encode(self, values: Floats, fold: int, coordinates: Indices | None = None) -> Floats:
        """Return rows in the encoding of a fold; they are changed in place where it standardises."""
        if self.encoding != "standard":
            return values
        encoding, absent = self.fitted[fold]
        at = slice(None) if coordinates is None else coordinates
        values -= encoding.centre[at]
        values /= encoding.scale[at]
        missing = np.isnan(values)
        if self.impute and missing.any():
            values[missing] = np.broadcast_to(encoding.fill[at], values.shape)[missing]
        values[:, absent[at]] = 0.0
        return values

    def fit_fold(self, total: Floats, mean: Floats, squares: Floats, total_weight: float) -> tuple[Encoding, Masks]:
        """Return the standard encoding of a fold, and which coordinates are absent in it.

        They follow from the weight, mean and sum of squares of every coordinate in its training rows.
        """
        n_numeric = len(self.schema.numeric)
        std = np.sqrt(divide_or_zero(squares, total - 1))
        absent = total == 0
        absent[n_numeric:] |= mean[n_numeric:] == 0
        return Encoding.from_moments(self.schema, mean, std[:n_numeric], total_weight), absent

    def notes(self) -> list[Verdict]:
        schema = self.schema
        of_numbers, of_levels = (
            sum(schema.columns[j].n_missing for j in kind) for kind in (schema.numeric, schema.categorical)
        )
        n = schema.n_missing if self.impute else 0
        values = "1 missing value counts" if n == 1 else f"{n:,} missing values count"
        mean, shares = "as the mean of the column", "as every level in its share"
        how = shares if not of_numbers else f"{mean}, or {shares}," if of_levels else mean
        return [ImputationNote(f"{values} {how} in the training rows of a fold.", CROSS_VALIDATED_MODELS)] if n else []

    def to_coordinates(self, candidates: Candidates) -> Candidates:
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

    def coordinates_of(self, columns: Indices) -> Indices:
        """Return the coordinates of some columns, ascending."""
        return np.sort(np.concatenate([self.coordinates[j] for j in columns.tolist()]))


class EncodedMatrix(MatrixEncoder):
    """The rows of a table as numbers.

    All folds have the coordinates of the whole table. A standardised coordinate whose column or level does not occur in the
    training rows of a fold is 0 in that fold. Only the table's values and the encodings are stored; rows are encoded on request.

    Parameters
    ----------
    table : Table
    folds : sequence of Fold
    encoding : {"standard", "indicators", "codes", "none"}, default="standard"
    impute : bool, default=True
        Whether a standardised missing value is replaced by the mean; else it stays NaN.
    """

    def __init__(
        self, table: Table, folds: Sequence[Fold], encoding: MatrixEncoding = "standard", *, impute: bool = True
    ) -> None:
        super().__init__(table.schema, encoding, impute=impute)
        # The ids of the folds are unique as long as the folds exist.
        self._folds = tuple(folds)
        self._fold_numbers = {id(fold): number for number, fold in enumerate(self._folds)}
        self._values = self._read_values(table)
        if encoding == "standard":
            weight = weights_or_ones(table)
            moments = parallel.map_blocks(lambda fold: self._fold_moments(fold.train, weight), self._folds)
            self.fitted = [self.fit_fold(*one) for one in moments]

    def _read_values(self, table: Table) -> Floats:
        n_rows, width = self.schema.n_rows, self.n_coordinates
        what, advice = f"A matrix of {n_rows:,} rows and {width:,} columns for an estimator", _FEWER_VALUES
        if self.has_indicators:
            what = f"An encoded matrix of {n_rows:,} rows and {width:,} coordinates"
            advice = "Use naive Bayes without encode=True, or fewer rows."
        check_memory((1 + N_FOLD_MATRICES) * 8.0 * n_rows * width, what, advice)
        values = np.empty((n_rows, width))
        for block in table.blocks(self.schema.used.tolist()):
            values[block.rows.start : block.rows.stop] = self.values(block)
        return values

    def train_rows(self, fold: Fold, coordinates: Indices | None = None) -> Floats:
        """Return the training rows of a fold, of shape (n_train, n_coordinates), or some of their coordinates, as a copy."""
        return self._encode_rows(fold, fold.train, coordinates)

    def test_rows(self, fold: Fold, coordinates: Indices | None = None) -> Floats:
        return self._encode_rows(fold, fold.test, coordinates)

    def transposed_values(self) -> Floats | None:
        """Return the whole table as a matrix with a row for every coordinate, None where the encoding differs between folds."""
        return None if self.encoding == "standard" else np.ascontiguousarray(self._values.T)

    def _encode_rows(self, fold: Fold, rows: Indices, coordinates: Indices | None) -> Floats:
        encoded = self._values[rows] if coordinates is None else self._values[np.ix_(rows, coordinates)]
        # Without a standard encoding, rows of any fold are the same numbers.
        return self.encode(encoded, self._fold_numbers.get(id(fold), 0), coordinates)

    def _fold_moments(self, rows: Indices, weights: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Return the weight, mean and sum of squares of every coordinate in some rows, and the weight of the rows."""
        weight = weights[rows]
        total, mean, squares = np.zeros((3, self.n_coordinates))
        for k in range(self.n_coordinates):
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
        return total, mean, squares, float(weight.sum())
