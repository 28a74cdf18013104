"""Row encoders, which convert rows of a table to coordinates the same way in fit and transform, and checks of these rows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.storage.invariants import InstanceOf, Invariants
from tamiz.table.base import Table
from tamiz.table.encode import RowEncoder, describe_rows
from tamiz.table.factory import as_table
from tamiz.table.in_memory import as_frame, check_matrix, eager_frame, is_frame
from tamiz.table.kinds import LARGEST_NUMBER
from tamiz.table.schema import Schema


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
