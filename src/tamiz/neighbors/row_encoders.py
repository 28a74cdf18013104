"""Row encoders, which convert rows of a table to coordinates the same way in fit and transform, and checks of these rows."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices, is_missing
from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import ImputationNote, list_names, warn_user
from tamiz.runtime.validation import check_memory
from tamiz.statistics.base import Block
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Invariants, Nullable
from tamiz.table.base import Table
from tamiz.table.encoding import Encoding
from tamiz.table.factory import align_to_schema, as_table
from tamiz.table.in_memory import as_frame, check_matrix, eager_frame, is_frame
from tamiz.table.kinds import LARGEST_NUMBER
from tamiz.table.schema import Schema
from tamiz.table.views import weights_or_ones


def describe_rows(rows: NDArray[np.integer]) -> str:
    """Return "Row 3 has" or "Rows 3, 8 and 11 more have"."""
    return f"Row {rows[0]} has" if len(rows) == 1 else f"Rows {list_names(rows)} have"


def refuse_not_finite(rows: Indices) -> None:
    """Raise DataError if there are rows with values that are not finite."""
    if len(rows):
        raise DataError(
            f"{describe_rows(rows)} a NaN or an infinite value; distances need finite ones. "
            "Fill such values in or leave such rows out."
        )


def refuse_too_large(rows: Indices) -> None:
    """Raise DataError if there are rows with numbers that are too large."""
    if len(rows):
        raise DataError(
            f"{describe_rows(rows)} a number above {LARGEST_NUMBER:g}, too large to be squared. Change the unit."
        )


def refuse_zero_rows(rows: Indices) -> None:
    """Raise DataError if there are rows of zeros."""
    if len(rows):
        raise DataError(
            f"{describe_rows(rows)} only zeros and so no direction, which is what the cosine distance compares. "
            "Leave such rows out, or use the Euclidean distance."
        )


def check_n_features(n_features: int, n_fitted: int) -> None:
    """Raise DataError if new rows have another number of columns than the fitted rows."""
    if n_features != n_fitted:
        raise DataError(f"X has {n_features} features, but {n_fitted} were there in fit.")


def refuse_empty_rows(values: Floats, row_numbers: Indices) -> None:
    """Raise DataError if a row has only missing values; `values` has one row per column of the table."""
    empty = np.ones(values.shape[1], dtype=bool)
    for column in values:
        empty &= np.isnan(column)
    if empty.any():
        rows = describe_rows(row_numbers[np.flatnonzero(empty)])
        raise DataError(
            f"{rows} no value in any column that varies, and so no distance to others. Leave such rows out."
        )


def check_missing_values(table: Table, *, fill_missing: bool, new_rows: bool = False) -> None:
    """Raise DataError for rows with missing values, or with `fill_missing` warn that column means replace them.

    In new rows an unknown level is a missing value too.
    """
    columns = table.schema.columns
    incomplete = [j for j in table.schema.used.tolist() if columns[j].n_missing]
    n_missing = table.schema.n_missing
    if not incomplete:
        return
    if fill_missing:
        values, were = ("value", "was") if n_missing == 1 else ("values", "were")
        if new_rows and any(not columns[j].is_number for j in incomplete):
            values += " or unknown level" + values.removeprefix("value")
        of_rows = " of new rows" if new_rows else ""
        text = f"{n_missing:,} missing {values}{of_rows} {were} replaced by column means before computing distances."
        warn_user([ImputationNote(text, "the distances of rows")])
        return
    missing = np.column_stack([is_missing(table.column(j)) for j in incomplete])
    rows = np.flatnonzero(missing.any(axis=1))
    if not len(rows):
        # The table is a part of a table, and the missing values are in other rows.
        return
    column = columns[incomplete[int(np.argmax(missing[rows[0]]))]]
    what = "a missing value or an unknown level" if new_rows and not column.is_number else "a missing value"
    where = f"in column {column.name}" if len(rows) == 1 else f"the first in column {column.name}"
    why, remedy = (
        ("the graph was built without any", "build the graph with fill_missing=True")
        if new_rows
        else ("distances need all of them", "use metric='gower'")
    )
    raise DataError(
        f"{describe_rows(table.row_numbers[rows])} {what}, {where}; {why}. Fill them in, leave the rows out, or {remedy}."
    )


class RowEncoder(ABC):
    """Abstract base class of row encoders, which convert new rows the same way as the rows that a graph was built from."""

    @abstractmethod
    def encode(self, X: Any) -> Any:
        """Return new rows in the form that `Points.new_points` accepts."""

    @property
    def n_coordinates(self) -> int | None:
        """Number of coordinates of an encoded row; None if rows are not encoded."""
        return None

    def table_schema(self) -> Schema | None:
        """Return the schema of the table that the graph was built from; None if it was not a table."""
        return None


@dataclass(frozen=True)
class IdentityEncoder(RowEncoder):
    """Encoder of rows that are used unchanged: sparse rows and distances."""

    def encode(self, X: Any) -> Any:
        return X


@dataclass(frozen=True)
class SchemaEncoder(RowEncoder):
    """Encoder of tables that the points read themselves, such as `GowerPoints`.

    Attributes
    ----------
    schema : Schema
    """

    schema: Schema

    invariants: ClassVar[Invariants] = {"schema": InstanceOf(Schema)}

    def encode(self, X: Any) -> Any:
        return X

    def table_schema(self) -> Schema:
        return self.schema


@dataclass(frozen=True)
class TableEncoder(RowEncoder):
    """Encoder of tables of mixed columns.

    Attributes
    ----------
    schema : Schema
    encoding : Encoding or None
        None if all columns are numeric without missing values, and the coordinates are the columns.
    fill_values : ndarray of shape (n_coordinates,) or None
        Values that replace missing values of new rows; None if there is an encoding, or missing values raise an error.
    fill_missing : bool
        Whether missing values of new rows are replaced, with a warning, or raise an error.
    """

    schema: Schema
    encoding: Encoding | None
    fill_values: Floats | None
    fill_missing: bool

    invariants: ClassVar[Invariants] = {
        "schema": InstanceOf(Schema),
        "encoding": (
            Nullable(InstanceOf(Encoding)),
            Condition(
                lambda it: it.encoding is None or it.encoding.matches(it.schema),
                "does not fit the columns of the schema",
            ),
        ),
        "fill_values": (
            Nullable(FloatArray("d")),
            Condition(
                lambda it: it.fill_values is None or len(it.fill_values) == len(it.schema.numeric),
                "does not fit the columns of the schema",
            ),
        ),
        "fill_missing": InstanceOf(bool),
    }

    @classmethod
    def fit(cls, table: Table, *, standardize: bool, fill_missing: bool) -> tuple[Floats, TableEncoder]:
        """Return the coordinates of a table's rows and their encoder; `fill_missing` as in `GraphBuilder.build`."""
        check_missing_values(table, fill_missing=fill_missing)
        schema = table.schema
        plain = not schema.categorical and not any(schema.columns[j].n_missing for j in schema.numeric)
        if not plain or not schema.numeric or standardize:
            encoding = Encoding.fit(table, standardize=standardize, centred=standardize)
            encoder = cls(schema, encoding, None, fill_missing)
            return encoder.encode_table(table), encoder
        rows = cls(schema, None, None, fill_missing).encode_table(table)
        weights = weights_or_ones(table)
        return rows, cls(schema, None, weights @ rows / weights.sum() if fill_missing else None, fill_missing)

    def table_schema(self) -> Schema:
        return self.schema

    def encode(self, X: Any) -> Floats:
        """Return the coordinates of new rows; missing values and unknown levels become column means or raise an error."""
        table = align_to_schema(X, self.schema)
        check_missing_values(table, fill_missing=self.fill_missing, new_rows=True)
        return self.encode_table(table)

    @property
    def n_coordinates(self) -> int:
        return len(self.schema.numeric) if self.encoding is None else len(self.encoding.names)

    def encode_table(self, table: Table) -> Floats:
        """Return the coordinates of a table's rows, without a copy if the table stores them as one matrix."""
        blocks = list(table.blocks())
        if self.encoding is None and len(blocks) == 1 and blocks[0].numeric_matrix is not None:
            return self._encode_block(blocks[0])
        check_memory(
            8.0 * table.schema.n_rows * self.n_coordinates,
            f"{table.schema.n_rows:,} rows of {self.n_coordinates:,} coordinates",
            "Keep fewer columns first, with RankSelector.",
        )
        parts = [self._encode_block(block) for block in blocks]
        return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _encode_block(self, block: Block) -> Floats:
        if self.encoding is not None:
            return self.encoding.transform(block)
        rows = block.matrix(self.schema.numeric)
        return rows if self.fill_values is None else np.where(np.isnan(rows), self.fill_values, rows)


def count_rows(X: Any) -> int:
    """Return the number of rows of any input that is accepted as a table."""
    if isinstance(X, Table):
        return X.schema.n_rows
    if sparse.issparse(X):
        return int(X.shape[0])
    if isinstance(X, str | os.PathLike):
        return as_table(X).schema.n_rows
    if (frame := as_frame(X)) is not None:
        # For a lazy frame only the number of rows is computed.
        return int(frame.lazy().select(nw.len()).collect().item())
    return len(check_matrix(X))


def row_numbers(X: Any) -> Indices | None:
    """Return the numbers of the rows in the user's table; None if they are counted from 0."""
    return X.row_numbers if isinstance(X, Table) else None


def as_array(X: Any, expectation: str) -> NDArray[Any]:
    """Return X as a two-dimensional array; raise TypeError with `expectation` for a table."""
    if isinstance(X, Table):
        schema = X.schema
        raise TypeError(
            f"{expectation}, got a Table of {schema.n_rows:,} rows and {schema.n_columns:,} columns. Its frame() is one."
        )
    return check_matrix(eager_frame(X).to_numpy() if is_frame(X) else X)
