"""A target of several columns, for models that predict all of them at once and for criteria of one target at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

from tamiz.arrays import Indices, Masks
from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import warn_user
from tamiz.table.base import Table
from tamiz.table.in_memory import eager_frame, is_frame, to_numpy, to_raw_column
from tamiz.table.kinds import encode_target
from tamiz.table.roles import present_target
from tamiz.table.schema import Column, Schema
from tamiz.table.views import n_original_rows, with_target

_CLASS_TYPES = ("multilabel-indicator", "multiclass-multioutput")


@dataclass(frozen=True)
class MultiOutputTarget:
    """A target of several columns."""

    # For every row of the user's table, in the user's types.
    values: NDArray[Any]
    # Whether all columns are classes (scikit-learn's multilabel-indicator or multiclass-multioutput); else all are numbers.
    has_classes: bool

    @property
    def n_outputs(self) -> int:
        return int(self.values.shape[1])

    def schema_with_target(self, schema: Schema) -> Schema:
        """Return a table's schema with a categorical or numeric target column y."""
        return replace(schema, target=Column("y", "categorical" if self.has_classes else "numeric"))

    def with_combined_target(self, table: Table) -> Table:
        """Return a table whose target is one number per distinct combination of outputs, from which folds are made."""
        numbers = np.unique(self.values[table.row_numbers], axis=0, return_inverse=True)[1].ravel()
        return with_target(table, numbers.astype(np.float64), Column("y", "numeric"))

    def single_output_tables(self, table: Table) -> list[Table]:
        """Return views of a table without a target, each with one column of y as its target (binary relevance).

        Each column is read as a target of its own: integers of up to 20 distinct values are classes, other numbers are numeric.
        """
        self.check_rows(table)
        tables = []
        for number, values in enumerate(self.values.T):
            raw = to_raw_column(values, f"y{number}")
            # No value is missing: all rows are present.
            target, _, _ = present_target(raw, encode_target(raw, None, lambda at: f"row {at}"))
            assert target.values is not None
            warn_user(target.warnings)
            tables.append(with_target(table, target.values[table.row_numbers], target.column))
        return tables

    def check_rows(self, table: Table) -> None:
        """Raise an error for a table with another number of rows, or with a target of its own."""
        if table.schema.target is not None:
            raise TypeError("The table has its own target: open it without a target to pass a y of several columns.")
        if len(self.values) != (n_rows := n_original_rows(table)):
            raise DataError(
                f"The target has {len(self.values):,} rows and the table {n_rows:,}: inconsistent numbers of samples."
            )

    def target_for(self, estimator: Any, rows: Indices) -> NDArray[Any]:
        """Return the targets of rows of the user's table as the estimator is to see them."""
        if not is_classifier(estimator):
            if self.values.dtype.kind not in "biuf":
                raise DataError(
                    f"{type(estimator).__name__} predicts numbers, and the {self.n_outputs} columns of y are classes; pass a "
                    "classifier."
                )
            return self.values[rows].astype(np.float64)
        if not self.has_classes:
            raise DataError(
                f"{type(estimator).__name__} predicts classes, and the {self.n_outputs} columns of y are numbers; pass a regressor."
            )
        return self.values[rows]


def read_multioutput(y: Any) -> MultiOutputTarget | None:
    """Return a target of two columns or more, None for any other; raise DataError for missing or infinite values."""
    if y is None:
        return None
    if sparse.issparse(y):
        values = y.toarray()
    elif is_frame(y):
        values = eager_frame(y).to_numpy()
    else:
        values = to_numpy(y)
    if values.ndim != 2 or values.shape[1] < 2:
        return None
    if (unusable := _is_unusable(values)).any():
        row, column = np.argwhere(unusable)[0].tolist()
        what = "infinite" if isinstance(values[row, column], float) and np.isinf(values[row, column]) else "missing"
        raise DataError(f"The target is {what} in row {row}, column {column} of y; leave such rows out.")
    try:
        kind = type_of_target(values)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"The {values.shape[1]} columns of y cannot be read as targets: {str(error).rstrip('.')}."
        ) from error
    if kind not in (*_CLASS_TYPES, "continuous-multioutput"):
        raise DataError(
            f"The {values.shape[1]} columns of y are neither all numbers nor all classes ({kind}); use one kind for all columns."
        )
    return MultiOutputTarget(values, kind in _CLASS_TYPES)


def _is_unusable(values: NDArray[Any]) -> Masks:
    """Return which values are None, infinite or NaN."""
    if values.dtype.kind == "O":
        return np.frompyfunc(lambda one: one is None or one != one, 1, 1)(values).astype(bool)
    return ~np.isfinite(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)
