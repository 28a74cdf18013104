"""The sufficient statistics of `MixedNB`, and its input: labelled tables and batches.

`MixedCounts` of two batches can be merged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.statistics.contingency import Coding, ContingencyTables
from tamiz.statistics.moments import ClassMoments
from tamiz.table.base import Table
from tamiz.table.encoded_table import to_row_numbers
from tamiz.table.factory import as_table, open_batch
from tamiz.table.in_memory import from_array_api
from tamiz.table.schema import Column, Schema, sort_levels
from tamiz.table.views import target_array, weights_or_ones, with_target, with_weight

_FIELDS = ("weight", "mean", "squared_deviations", "minimum", "maximum")


def open_labelled_table(X: Any, y: Any, sample_weight: Any) -> tuple[Table, NDArray[Any]]:
    """Return rows and target as a table, and the user's class labels in the order of their codes."""
    if isinstance(X, Table):
        table = as_table(X, y, sample_weight)
        if table.class_labels is None:
            raise DataError(
                "MixedNB predicts classes, and the table has a numeric target or none; pass kinds, or name a target."
            )
        return table, table.class_labels
    if y is None:
        raise ValueError("MixedNB requires y to be passed, but the target y is None.")
    y = _check_labels(y)
    labels, codes = np.unique(y, return_inverse=True)
    if len(labels) == 1:
        raise DataError(f"y has 1 class, {labels[0]!s}, in all {len(y):,} rows; at least 2 are needed.")
    names = pa.array([str(k) for k in range(len(labels))])
    target = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)])
    return _with_raw_weight(as_table(X, target, sample_weight), sample_weight), labels


def read_batch(X: Any, y: Any, sample_weight: Any, classes: NDArray[Any], known_schema: Schema | None) -> Table:
    """Return a batch as a table with class codes that are positions in `classes`."""
    if isinstance(X, Table):
        table, labels = open_labelled_table(X, y, sample_weight)
        return with_target(table, _class_codes(labels, classes)[target_array(table)])
    if y is None:
        raise ValueError("MixedNB requires y to be passed, but the target y is None.")
    codes = _class_codes(_check_labels(y), classes)
    table = open_batch(X, {} if known_schema is None else known_kinds(known_schema))
    check_consistent_length(codes, np.empty(table.schema.n_rows))
    return _with_raw_weight(with_target(table, codes), sample_weight)


def _with_raw_weight(table: Table, sample_weight: Any) -> Table:
    """Return a view with unscaled weights, because sampling weights of all batches have one scale."""
    if sample_weight is None:
        return table
    weight = column_or_1d(from_array_api(sample_weight), dtype=np.float64)
    check_consistent_length(weight, np.empty(table.schema.n_rows))
    return with_weight(table, weight, "sample_weight", to_row_numbers(weight, None, lambda at: f"row {at}")[1])


def _class_codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the positions of labels in `classes`; raise DataError for an unknown label."""
    new = np.setdiff1d(labels, classes)
    if len(new):
        raise DataError(f"The class {new[0]!s} of y is not among the classes {classes.tolist()} of the first call.")
    return np.searchsorted(classes, labels).astype(np.int32)


def _check_labels(y: Any) -> NDArray[Any]:
    """Return the labels as an array; raise DataError if one is missing."""
    labels = column_or_1d(from_array_api(y), warn=True)
    if labels.dtype.kind in "fO" and len(
        missing := np.flatnonzero([one is None or one != one for one in labels.tolist()])
    ):
        raise DataError(f"y has no class in row {missing[0]} (Input y contains NaN or None); leave the row out.")
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    # The check converts numbers to integers, which may overflow.
    with np.errstate(invalid="ignore"):
        check_classification_targets(labels)
    return labels


@dataclass(frozen=True)
class MixedCounts:
    """Weight, moments and level counts by class of all rows so far.

    Attributes
    ----------
    schema : Schema
        The columns, with the levels and the numbers of missing values of all rows so far.
    weight : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    moments : ndarray of shape (5, n_classes, n_numeric)
        Weight, mean, sum of squares about the mean, minimum and maximum of `schema.numeric`.
    tables : tuple of ndarray of shape (n_levels, n_classes)
        Weight of every level, for each of `schema.categorical`.
    squared_weight : float
        Sum of the squared weights of the rows.
    """

    schema: Schema
    weight: Floats
    moments: Floats
    tables: tuple[Floats, ...]
    squared_weight: float

    @classmethod
    def of(cls, table: Table, n_classes: int) -> MixedCounts:
        """Count the rows of a table whose target is class codes below `n_classes`."""
        sums = table.reduce(*cls.statistics(table.schema, n_classes))
        return cls.from_sums(table.schema, *sums, target_array(table), weights_or_ones(table))

    @staticmethod
    def statistics(schema: Schema, n_classes: int) -> tuple[ClassMoments, ContingencyTables]:
        """Return the empty statistics of rows that the counts consist of."""
        coding = Coding({**schema.n_levels, schema.n_columns: n_classes}, {})
        pairs = [(j, schema.n_columns) for j in schema.categorical]
        return ClassMoments(schema.numeric, n_classes), ContingencyTables(pairs, coding)

    @classmethod
    def from_sums(
        cls, schema: Schema, moments: ClassMoments, tables: ContingencyTables, codes: NDArray[Any], weights: Floats
    ) -> MixedCounts:
        """Return the counts of rows with these statistics, classes and weights."""
        return cls(
            schema,
            np.bincount(codes, weights, moments.n_classes).astype(np.float64),
            np.stack([getattr(moments, name) for name in _FIELDS]),
            tuple(one[:-1, :-1] for one in tables.tables),
            float(np.square(weights).sum()),
        )

    def as_row_numbers(self) -> MixedCounts:
        """Return the counts with sampling weights scaled to a sum of the effective sample size of all rows."""
        if self.schema.weight_kind != "sampling":
            return self
        factor = float(self.weight.sum()) / self.squared_weight
        scaled = np.array([factor, 1.0, factor, 1.0, 1.0])[:, None, None]
        return replace(
            self,
            weight=factor * self.weight,
            moments=scaled * self.moments,
            tables=tuple(factor * table for table in self.tables),
        )

    def select_classes(self, codes: Indices) -> MixedCounts:
        """Return the counts of some classes, in the order of their codes."""
        return replace(
            self,
            weight=self.weight[codes],
            moments=self.moments[:, codes],
            tables=tuple(table[:, codes] for table in self.tables),
        )

    def merge(self, other: MixedCounts) -> MixedCounts:
        """Return the counts of both batches; a level or column that only one of them has counts 0 in the other."""
        pairs = zip(self.schema.columns, other.schema.columns, strict=True)
        columns = tuple(_merge_columns(mine, theirs) for mine, theirs in pairs)
        n_rows = self.schema.n_rows + other.schema.n_rows
        kinds = self.schema.weight_kind, other.schema.weight_kind
        kind = "sampling" if "sampling" in kinds else kinds[0] or kinds[1]
        schema = replace(self.schema, columns=columns, n_rows=n_rows, weight_kind=kind)
        moments = self._moments(schema).merge(other._moments(schema))
        # Two batches that are constant may have different values.
        one_value = moments.minimum.min(axis=0, initial=np.inf) == moments.maximum.max(axis=0, initial=-np.inf)
        constant = {j: bool(one) for j, one in zip(schema.numeric, one_value, strict=True)}
        columns = tuple(replace(c, constant=c.constant and constant.get(j, True)) for j, c in enumerate(columns))
        schema = replace(schema, columns=columns)
        tables = zip(self._tables(schema), other._tables(schema), strict=True)
        return MixedCounts(
            schema,
            self.weight + other.weight,
            np.stack([getattr(moments, name) for name in _FIELDS]),
            tuple(mine + theirs for mine, theirs in tables),
            self.squared_weight + other.squared_weight,
        )

    def _moments(self, schema: Schema) -> ClassMoments:
        """Return the moments of the numeric columns of a schema, empty for columns that had no value so far."""
        found = ClassMoments(schema.numeric, len(self.weight))
        at = np.searchsorted(schema.numeric, self.schema.numeric)
        for name, values in zip(_FIELDS, self.moments, strict=True):
            getattr(found, name)[:, at] = values
        return found

    def _tables(self, schema: Schema) -> list[Floats]:
        """Return the level counts of the categorical columns of a schema, in the order of its levels."""
        own = dict(zip(self.schema.categorical, self.tables, strict=True))
        found = []
        for j in schema.categorical:
            code = {level: v for v, level in enumerate(schema.columns[j].levels)}
            table = np.zeros((len(code), len(self.weight)))
            if j in own:
                table[[code[level] for level in self.schema.columns[j].levels]] = own[j]
            found.append(table)
        return found


def known_kinds(schema: Schema) -> dict[str, Any]:
    """Return the kind of every column that had a value, by name, to open the next batch with."""
    return {c.name: c.kind for c in schema.columns if c.exclusion_reason is None or c.kind in ("text", "id")}


def _merge_columns(first: Column, second: Column) -> Column:
    """Return the schema of a column over the rows of two batches."""
    n_missing = first.n_missing + second.n_missing
    if second.exclusion_reason is not None:
        # An excluded kind in both batches, or no value in the second one.
        return replace(first, n_missing=n_missing, constant=first.constant and first.exclusion_reason is not None)
    if first.exclusion_reason is not None:
        return replace(second, n_missing=n_missing, constant=False)
    if first.is_number != second.is_number:
        raise DataError(
            f"Column {first.name!r} is {first.kind} in earlier batches and {second.kind} in this one; open this batch with "
            f"kinds={{{first.name!r}: {first.kind!r}}}."
        )
    levels = first.levels if first.levels == second.levels else tuple(sort_levels({*first.levels, *second.levels}))
    constant = first.constant and second.constant and (first.is_number or len(levels) == 1)
    return replace(first, levels=levels, n_missing=n_missing, constant=constant)
