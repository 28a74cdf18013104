"""Rows of a mixed table as inputs and targets of an autoencoder, and reconstructions as values of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, IntegerArray, Invariants, ListOf
from tamiz.table.base import Table
from tamiz.table.encoding import check_has_features, coordinate_moments
from tamiz.table.factory import align_to_schema
from tamiz.table.schema import Schema

# Most levels of a categorical column, and so most outputs of its softmax head: rarer levels are merged into one.
MAX_LEVELS = 64
# The level that replaces the rarer ones.
OTHER_LEVELS = "(other levels)"
# Largest number of columns named in a note.
_MAX_NAMED_COLUMNS = 5


@dataclass(frozen=True)
class EncodedRows:
    """Rows as numbers and codes.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_numeric)
        The scaled numeric columns; 0, which is the mean, for a missing value.
    present : ndarray of shape (n_rows, n_numeric), bool, or None
        Where a number is not missing; None if none is.
    codes : ndarray of shape (n_rows, n_categorical), int32
        Levels after merging; -1 for a missing value.
    """

    numbers: NDArray[Any]
    present: Masks | None
    codes: NDArray[np.int32]

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        if len(parts) == 1:
            return parts[0]
        present = [np.ones(part.numbers.shape, dtype=bool) if part.present is None else part.present for part in parts]
        return cls(
            np.concatenate([part.numbers for part in parts]),
            None if all(part.present is None for part in parts) else np.concatenate(present),
            np.concatenate([part.codes for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: Indices | slice) -> EncodedRows:
        present = None if self.present is None else self.present[rows]
        return EncodedRows(self.numbers[rows], present, self.codes[rows])


@dataclass(frozen=True)
class LevelTable:
    """A categorical column.

    Attributes
    ----------
    merged : ndarray of shape (n_levels,), int32
        For each level of the table, its number after merging.
    shares : ndarray of shape (n_merged,)
        Share of each level among the present values.
    """

    merged: NDArray[np.int32]
    shares: Floats

    invariants: ClassVar[Invariants] = {
        "shares": FloatArray("k", low=0.0, high=1.0),
        "merged": (
            IntegerArray("l", dtypes=(np.int32,)),
            Condition(lambda it: len(it.merged) == 0 or it.merged.max() < len(it.shares), "has no share for a level"),
        ),
    }

    @classmethod
    def from_shares(cls, shares: Floats) -> Self:
        """Merge the rarest levels, the last of equal ones first, if there are more than `MAX_LEVELS`."""
        merged = np.arange(len(shares), dtype=np.int32)
        if len(shares) > MAX_LEVELS:
            frequent = np.sort(np.argsort(-shares, kind="stable")[: MAX_LEVELS - 1])
            merged = np.full(len(shares), MAX_LEVELS - 1, dtype=np.int32)
            merged[frequent] = np.arange(MAX_LEVELS - 1)
            shares = np.bincount(merged, weights=shares, minlength=MAX_LEVELS).astype(np.float64)
        return cls(merged, shares)

    @property
    def variance(self) -> float:
        return float(np.sum(self.shares * (1.0 - self.shares)))

    @property
    def entropy(self) -> float:
        present = self.shares[self.shares > 0]
        return -float(np.sum(present * np.log(present)))

    @cached_property
    def coordinates(self) -> Floats:
        """The centred indicators of each level, divided by the root of their total variance.

        The last row is that of a missing value, 0.
        """
        table = np.zeros((len(self.shares) + 1, len(self.shares)))
        if (variance := self.variance) > 0:
            table[:-1] = (np.eye(len(self.shares)) - self.shares) / np.sqrt(variance)
        return table

    def level_names(self, levels: tuple[str, ...]) -> list[str]:
        names = [OTHER_LEVELS] * len(self.shares)
        if len(self.shares) == len(levels):
            return list(levels)
        for level, code in zip(levels, self.merged.tolist(), strict=True):
            if code < len(names) - 1:
                names[code] = level
        return names


def _matches_schema(it: Any) -> bool:
    """Return whether the fields of an encoder have one entry for each column of its schema, and as many levels."""
    columns, levels = it.schema.columns, [len(table.merged) for table in it.levels]
    return (
        len(it.mean) == len(it.schema.numeric)
        and levels == [len(columns[j].levels) for j in it.schema.categorical]
        and len(it.variances) == len(it.mean) + len(levels)
    )


@dataclass(frozen=True)
class TableEncoder:
    """Encoder of the columns of a table: scaled numbers, and codes of levels.

    The columns of an encoded table are its numeric columns, then its categorical columns. The coordinates are the numbers, then an
    indicator for each level.

    Attributes
    ----------
    schema : Schema
    mean, scale : ndarray of shape (n_numeric,)
        A number is (x - mean) / scale, where the scale is a standard deviation with n. A scale of 0 marks a constant column, whose
        number is 0.
    variances : ndarray of shape (n_columns,)
        Variance of each encoded column, in total over the indicators of a categorical one; 0 for a constant column.
    levels : tuple of LevelTable
    """

    schema: Schema
    mean: Floats
    scale: Floats
    variances: Floats
    levels: tuple[LevelTable, ...]

    invariants: ClassVar[Invariants] = {
        "schema": InstanceOf(Schema),
        "mean": FloatArray("p"),
        "scale": FloatArray("p", low=0.0),
        "variances": FloatArray("q", low=0.0),
        "levels": (
            ListOf(InstanceOf(LevelTable)),
            Condition(_matches_schema, "does not fit the columns of the schema"),
        ),
    }

    @classmethod
    def fit(cls, table: Table, *, standardize: bool) -> Self:
        """Compute means, scales and shares in one pass over the data.

        Without `standardize`, all numeric columns are divided by the root of their mean variance, which keeps the ratios of their
        variances.
        """
        schema = table.schema
        check_has_features(schema)
        moments, p = coordinate_moments(table), len(schema.numeric)
        # With n, as the errors are means over the rows, so that predictions of the means lose 1.
        spread = np.sqrt(divide_or_zero(moments.squared_deviations, moments.present_weight)[:p])
        start, tables = p, []
        for j in schema.categorical:
            stop = start + len(schema.columns[j].levels)
            tables.append(LevelTable.from_shares(moments.mean[start:stop]))
            start = stop
        largest = spread.max(initial=0.0)
        common = largest * np.sqrt(np.mean((spread / largest) ** 2)) if largest > 0 else 0.0
        scale = spread if standardize else np.where(spread > 0, common, 0.0)
        numbers = np.divide(spread, scale, out=np.zeros(p), where=scale > 0) ** 2
        variances = np.concatenate([numbers, [float(one.variance > 0) for one in tables]])
        if not variances.any():
            raise DataError("All columns are constant, so that there is nothing to encode.")
        return cls(schema, moments.mean[:p], scale, variances, tuple(tables))

    def table_schema(self) -> Schema:
        return self.schema

    @property
    def columns(self) -> tuple[int, ...]:
        return self.schema.numeric + self.schema.categorical

    @cached_property
    def level_spans(self) -> list[slice]:
        ends = np.cumsum([len(self.mean), *(len(table.shares) for table in self.levels)]).tolist()
        return [slice(start, stop) for start, stop in pairwise(ends)]

    @property
    def n_coordinates(self) -> int:
        return self.level_spans[-1].stop if self.levels else len(self.mean)

    def merged_level_notes(self) -> list[Verdict]:
        """Return a note on columns whose rarest levels are merged; empty if there are none."""
        names = [self.schema.columns[j].name for j in self.schema.categorical]
        merged = {
            name: f"{len(table.merged) - MAX_LEVELS + 1:,} of {len(table.merged):,} levels of {name}"
            for name, table in zip(names, self.levels, strict=True)
            if len(table.merged) > len(table.shares)
        }
        if not merged:
            return []
        more = f", and of {len(merged) - _MAX_NAMED_COLUMNS:,} more columns" if len(merged) > _MAX_NAMED_COLUMNS else ""
        listed = ", ".join(list(merged.values())[:_MAX_NAMED_COLUMNS])
        return [Verdict("TZ505", f"Autoencoder: the rarest levels are merged: {listed}{more}.", merged)]

    def read(self, X: Any) -> Table:
        """Align new rows with the columns of the fit; unknown levels become missing, with a warning."""
        return align_to_schema(X, self.schema)

    def encode(self, block: Block, dtype: type[np.floating[Any]] = np.float64) -> EncodedRows:
        values = block.matrix(self.schema.numeric)
        present = ~np.isnan(values)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.divide(
                values - self.mean, self.scale, out=np.zeros_like(values), where=present & (self.scale > 0)
            )
            numbers = values.astype(dtype, copy=False)
        codes = np.empty((len(values), len(self.levels)), dtype=np.int32)
        for k, (j, table) in enumerate(zip(self.schema.categorical, self.levels, strict=True)):
            # The last entry is that of a missing value, -1.
            codes[:, k] = np.append(table.merged, np.int32(-1))[block.column(j)]
        return EncodedRows(numbers, None if present.all() else present, codes)

    def coordinates(self, rows: EncodedRows) -> NDArray[Any]:
        """Return the inputs of the network, of shape (n_rows, n_coordinates); a missing value is 0 in each coordinate."""
        if not self.levels:
            return np.ascontiguousarray(rows.numbers)
        points = np.empty((len(rows), self.n_coordinates), rows.numbers.dtype)
        points[:, : len(self.mean)] = rows.numbers
        for k, (table, span) in enumerate(zip(self.levels, self.level_spans, strict=True)):
            points[:, span] = table.coordinates[rows.codes[:, k]]
        return points

    def decode(self, outputs: Floats) -> dict[str, NDArray[Any]]:
        """Return reconstructed columns by name: numbers in the units of the table, and the most probable level of each category.

        Parameters
        ----------
        outputs : ndarray of shape (n_rows, n_coordinates)
            Numbers, and for each level the logarithm of its probability up to a constant.
        """
        columns = self.schema.columns
        found: dict[str, NDArray[Any]] = {}
        for k, j in enumerate(self.schema.numeric):
            found[columns[j].name] = outputs[:, k] * self.scale[k] + self.mean[k]
        for j, table, span in zip(self.schema.categorical, self.levels, self.level_spans, strict=True):
            levels = table.level_names(columns[j].levels)
            is_boolean = columns[j].kind == "boolean" and set(levels) <= {"False", "True"}
            names = np.array([level == "True" for level in levels] if is_boolean else levels, dtype=object)
            found[columns[j].name] = names[outputs[:, span].argmax(axis=1)]
        return {columns[j].name: found[columns[j].name] for j in self.schema.used.tolist()}

    def to_frame(self, columns: dict[str, NDArray[Any]], like: nw.DataFrame[Any]) -> Any:
        """Return columns from `decode` as a data frame of the library of another frame; dates become dates again."""
        kinds = {column.name: column.kind for column in self.schema.columns}
        series = [
            nw.new_series(name, self._to_native(values, kinds[name]), backend=like.implementation)
            for name, values in columns.items()
        ]
        frame = nw.from_dict({one.name: one for one in series}).to_native()
        if like.implementation.is_pandas():
            frame.index = like.to_native().index
        return frame

    @staticmethod
    def _to_native(values: NDArray[Any], kind: str) -> Any:
        if kind == "date":
            return values.round().astype("datetime64[s]").astype("datetime64[us]")
        return values.tolist() if values.dtype == object else values
