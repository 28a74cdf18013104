"""Rows of a table as points: numbers, optionally standardised, and scaled indicators of the levels of categories.

`Encoding` is the fitted map of the used columns. The encoders apply it, or another way to read rows, to new rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from tamiz.arrays import Floats, Indices, divide_or_zero, is_missing
from tamiz.exceptions import DataError
from tamiz.kernels.matrix_products import project_rows
from tamiz.kernels.moments import centre_rows
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import ImputationNote, list_names, warn_user
from tamiz.runtime.validation import check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.statistics.contingency import Coding, LevelCounts
from tamiz.statistics.cross_products import LevelIndicators, design_matrix
from tamiz.statistics.moments import Moments
from tamiz.storage.invariants import (
    Condition,
    FloatArray,
    InstanceOf,
    Integer,
    Invariants,
    ListOf,
    OneOf,
    Strings,
)
from tamiz.table.base import Table, weights_or_ones
from tamiz.table.factory import align_to_schema
from tamiz.table.kinds import LARGEST_NUMBER
from tamiz.table.schema import Schema

# What imputation by the mean is for the indicators of a categorical column, for notes.
INDICATOR_MEANS = " (in a categorical column, each indicator with the share of its level)"
# Values per task, and of a batch of incomplete rows.
_VALUES_PER_TASK, _VALUES_PER_SOLUTION = 2**18, 2**20
# float32 values in a vector register of 512 bits: 104 coordinates cost a sixth more time than 112.
_FLOAT32_LANES = 16
# With more directions, rows are solved one by one: products of all pairs of directions would need memory quadratic in their number.
_MAX_BATCHED_DIRECTIONS = 32
# Directions that differ by less than this on the present values of a row count as equal there.
_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Encoding:
    """The fitted map from rows to points; it transforms each row independently of the others.

    Attributes
    ----------
    names : list of str
        A name for every coordinate: a column's name, or "column=level".
    numeric : tuple of int
        The numeric columns of the table.
    indicators : tuple of LevelIndicators
        The categorical columns of the table.
    centre, scale, fill : ndarray of shape (n_coordinates,)
        A coordinate is (x - centre) / scale. Where x is missing it is `fill`, the coordinate of the mean.
    n_missing : int
        Number of missing values, which are replaced by the mean of their column.
    """

    names: list[str]
    numeric: tuple[int, ...]
    indicators: tuple[LevelIndicators, ...]
    centre: Floats
    scale: Floats
    fill: Floats
    n_missing: int

    invariants: ClassVar[Invariants] = {
        "names": Strings("d"),
        "numeric": ListOf(Integer()),
        "indicators": (
            ListOf(InstanceOf(LevelIndicators)),
            Condition(
                lambda it: len(it.names) == len(it.numeric) + sum(one.n_levels for one in it.indicators),
                "does not fit the names",
            ),
        ),
        "centre": FloatArray("d"),
        "scale": (
            FloatArray("d", low=0.0),
            Condition(lambda it: it.scale.all(), "contains 0, by which coordinates would be divided"),
        ),
        "fill": FloatArray("d"),
        "n_missing": Integer(),
    }

    @classmethod
    def fit(cls, table: Table, *, standardize: bool, centred: bool = True) -> Encoding:
        """Fit centre and scale in one pass over the data.

        Without centring and standardising, numbers keep their last bits, so that tied distances remain tied. The indicator of a
        level is divided by the square root of the level's share, so that rare levels have as much weight as frequent ones.
        """
        check_has_features(table.schema)
        moments = coordinate_moments(table)
        spread = moments.std[: len(table.schema.numeric)]
        return cls.from_moments(table.schema, moments.mean, spread if standardize else None, centred=centred)

    @classmethod
    def from_moments(
        cls,
        schema: Schema,
        mean: Floats,
        spread: Floats | None,
        *,
        centred: bool = True,
        level_scale: Floats | None = None,
    ) -> Encoding:
        """Return the encoding of columns with known means.

        Numbers are divided by `spread` unless it is None. Indicators are divided by `level_scale`, of shape (n_levels,), by default
        by the square root of their share.
        """
        n_numeric = len(schema.numeric)
        levels = np.sqrt(mean[n_numeric:]) if level_scale is None else level_scale
        scale = np.concatenate([np.ones(n_numeric) if spread is None else spread, levels])
        scale = np.where(scale > 0, scale, 1.0)
        centre = mean if centred else np.zeros_like(mean)
        n_missing = sum(schema.columns[j].n_missing for j in schema.used.tolist())
        fill = (mean - centre) / scale
        return cls(
            coordinate_names(schema),
            schema.numeric,
            level_indicators(schema),
            centre,
            scale,
            fill,
            n_missing,
        )

    @classmethod
    def of_numbers(cls, names: list[str], centre: Floats, scale: Floats) -> Encoding:
        """Return the encoding of columns of complete numbers."""
        return cls(names, tuple(range(len(names))), (), centre, scale, np.zeros(len(names)), 0)

    @cached_property
    def is_identity(self) -> bool:
        """Whether the coordinates of complete rows are the numbers of the table."""
        return not self.indicators and not self.centre.any() and bool((self.scale == 1.0).all())

    @property
    def level_spans(self) -> list[tuple[int, int]]:
        """The coordinates start : stop that are the indicators of a categorical column, for each such column."""
        ends = np.cumsum([len(self.numeric), *(one.n_levels for one in self.indicators)]).tolist()
        return list(pairwise(ends))

    @cached_property
    def numbers(self) -> Encoding:
        """The encoding of the numeric columns alone."""
        p = len(self.numeric)
        parts = {name: getattr(self, name)[:p] for name in ("names", "centre", "scale", "fill")}
        return replace(self, indicators=(), **parts)

    def indicator_matrix(self, block: Block) -> sparse.csr_array:
        """Return the indicators of the levels, of shape (n_rows, n_levels), not centred or scaled; a missing value has none."""
        sizes = np.array([one.n_levels for one in self.indicators])
        codes = np.column_stack([block.column(one.column) for one in self.indicators])
        present = codes >= 0
        levels = (codes + (np.cumsum(sizes) - sizes))[present]
        ends = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return sparse.csr_array((np.ones(len(levels)), levels, ends), shape=(len(codes), int(sizes.sum())))

    def level_products(self, directions: Floats) -> Floats:
        """Return the products of directions with the coordinates of each level in its column, of shape (n_levels, n_directions)."""
        p = len(self.numeric)
        scaled = np.ascontiguousarray(directions[:, p:].T) / self.scale[p:, None]
        return scaled - self.sum_levels(self.centre[p:, None] * scaled)

    def sum_levels(self, values: Floats) -> Floats:
        """Return for every level the sum of the values over the levels of its column."""
        if not self.indicators:
            return values
        sizes = np.array([one.n_levels for one in self.indicators], dtype=np.intp)
        return np.repeat(np.add.reduceat(values, np.cumsum(sizes) - sizes), sizes, axis=0)

    def matches(self, schema: Schema) -> bool:
        """Return whether the used columns of a schema are those of the encoding, with as many levels."""
        return self.numeric == schema.numeric and self.indicators == level_indicators(schema)

    def transform(
        self,
        block: Block,
        dtype: type[np.floating[Any]] = np.float64,
        *,
        fill: bool = True,
        padded_width: int | None = None,
    ) -> NDArray[Any]:
        """Return the points of a block, of shape (n_rows, n_coordinates).

        Without `fill`, missing values remain NaN. With `padded_width`, rows are padded with zeros to this length.
        """
        values = np.ascontiguousarray(design_matrix(block, self.numeric, self.indicators, dtype))
        rounded = self.centre.astype(dtype)
        # The part of the centre that float32 does not represent is subtracted in a second step.
        remainder = (self.centre - rounded).astype(dtype)
        missing = self.fill.astype(dtype) if fill else np.full_like(rounded, np.nan)
        points = np.empty((len(values), padded_width or len(rounded)), dtype)
        centre_rows(values, rounded, remainder, self.scale.astype(dtype), missing, points)
        return points


@dataclass(frozen=True)
class CoordinateMoments:
    """Moments of every coordinate.

    Attributes
    ----------
    mean, squared_deviations, present_weight : ndarray of shape (n_coordinates,)
        The mean of the present values, the weighted sum of squared deviations from it, and the sum of their weights.
    """

    mean: Floats
    squared_deviations: Floats
    present_weight: Floats

    @classmethod
    def of(cls, moments: Moments, counts: LevelCounts) -> CoordinateMoments:
        mean, squares, weights = [moments.mean[0]], [moments.squared_deviations[0]], [moments.weight[0]]
        for count in counts.counts:
            present = float(count[:-1].sum())
            share = count[:-1] / max(present, 1e-300)
            mean.append(share)
            squares.append(present * share * (1 - share))
            weights.append(np.full(len(share), present))
        return cls(np.concatenate(mean), np.concatenate(squares), np.concatenate(weights))

    @property
    def std(self) -> Floats:
        """The standard deviation of the present values, 0 if their weight is at most 1."""
        return np.sqrt(divide_or_zero(self.squared_deviations, self.present_weight - 1))


def coordinate_moments(table: Table) -> CoordinateMoments:
    """Return the moments of every coordinate, in one pass over the data."""
    schema = table.schema
    coding = Coding(schema.n_levels, {})
    moments, counts = table.reduce(Moments(schema.numeric), LevelCounts(schema.categorical, coding))
    return CoordinateMoments.of(moments, counts)


def level_indicators(schema: Schema) -> tuple[LevelIndicators, ...]:
    return tuple(LevelIndicators(j, len(schema.columns[j].levels)) for j in schema.categorical)


def coordinate_names(schema: Schema) -> list[str]:
    """Return a name for every coordinate: a numeric column's own, or "column=level"."""
    names = [schema.columns[j].name for j in schema.numeric]
    for j in schema.categorical:
        names += [f"{schema.columns[j].name}={level}" for level in schema.columns[j].levels]
    return names


def check_has_features(schema: Schema) -> None:
    """Raise a DataError if all columns are excluded."""
    if len(schema.used) == 0:
        reasons = "; ".join(
            f"{column.name}: {column.exclusion_reason}" for column in schema.columns if column.exclusion_reason
        )
        raise DataError(f"No column can be used: {reasons}.")


class RowEncoder(ABC):
    """Converts new rows the same way as the rows of the fit."""

    @abstractmethod
    def encode(self, X: Any) -> Any:
        """Return new rows as points."""

    @property
    def n_coordinates(self) -> int | None:
        """Number of coordinates of an encoded row; None if rows are not encoded."""
        return None

    def table_schema(self) -> Schema | None:
        """Return the schema of the table of the fit; None if it was not a table."""
        return None


class CoordinateEncoder(RowEncoder):
    """Encoder of rows as the coordinates of an encoding, and their projections."""

    encoding: Encoding

    @property
    def n_coordinates(self) -> int:
        return len(self.encoding.names)

    @property
    def columns(self) -> list[str]:
        """The name of the column of every coordinate."""
        return self.encoding.names

    @abstractmethod
    def read(self, X: Any) -> Any:
        """Return new rows in the form that `project` accepts."""

    @abstractmethod
    def coordinates(self, rows: Any) -> Iterator[Floats]:
        """Yield the coordinates of rows, some rows at a time; NaN for missing values that are not imputed."""

    @abstractmethod
    def project(self, rows: Any, directions: Floats) -> NDArray[Any]:
        """Return the projections of rows on directions, each independently, in float32 for float32 rows."""


@dataclass(frozen=True)
class TableEncoder(CoordinateEncoder):
    """Encoder of the rows of a table.

    Attributes
    ----------
    missing : {"mean", "refuse", "keep"}
        Missing values and unknown levels of new rows become the mean of their coordinate with a warning, raise errors, or stay NaN.
    method : str
        The estimator that warnings name; "" for distances.
    """

    schema: Schema
    encoding: Encoding
    missing: str
    method: str = ""

    invariants: ClassVar[Invariants] = {
        "schema": InstanceOf(Schema),
        "encoding": (
            InstanceOf(Encoding),
            Condition(lambda it: it.encoding.matches(it.schema), "does not fit the columns of the schema"),
        ),
        "missing": OneOf("mean", "refuse", "keep"),
        "method": InstanceOf(str),
    }

    @classmethod
    def fit(cls, table: Table, *, standardize: bool, fill_missing: bool) -> tuple[Floats, TableEncoder]:
        """Return the coordinates of a table's rows for distances, and their encoder; `fill_missing` as in `GraphBuilder.build`."""
        missing = "mean" if fill_missing else "refuse"
        check_missing_values(table, missing)
        schema = table.schema
        if standardize or schema.categorical or _incomplete_columns(schema) or not schema.numeric:
            encoder = cls(schema, Encoding.fit(table, standardize=standardize, centred=standardize), missing)
            return encoder.encode_table(table), encoder
        # Numbers without missing values are the coordinates; their means replace missing values of new rows.
        weights, zeros = weights_or_ones(table), np.zeros(len(schema.numeric))
        encoder = cls(schema, Encoding.from_moments(schema, zeros, None, centred=False), missing)
        rows = encoder.encode_table(table)
        if fill_missing:
            fill = weights @ rows / weights.sum()
            encoder = replace(encoder, encoding=replace(encoder.encoding, fill=fill))
        return rows, encoder

    @property
    def columns(self) -> list[str]:
        levels = (one.column for one in self.encoding.indicators for _ in range(one.n_levels))
        return [self.schema.columns[j].name for j in (*self.encoding.numeric, *levels)]

    def table_schema(self) -> Schema:
        return self.schema

    def read(self, X: Any) -> Table:
        """Align new rows with the columns of the fit, and treat their missing values as `missing` states."""
        table = align_to_schema(X, self.schema)
        check_missing_values(table, self.missing, self.method, new_rows=True)
        return table

    def encode(self, X: Any) -> Floats:
        return self.encode_table(self.read(X))

    def encode_table(self, table: Table) -> Floats:
        """Return the coordinates of a table's rows, without a copy if they are one matrix that the table stores."""
        blocks = list(table.blocks())
        if len(blocks) == 1 and self.encoding.is_identity and not _incomplete_columns(table.schema):
            return np.ascontiguousarray(blocks[0].matrix(self.schema.numeric))
        check_memory(
            8.0 * table.schema.n_rows * self.n_coordinates,
            f"{table.schema.n_rows:,} rows of {self.n_coordinates:,} coordinates",
            "Keep fewer columns first, with RankSelector.",
        )
        parts = [self.encoding.transform(block) for block in blocks]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def coordinates(self, rows: Table) -> Iterator[Floats]:
        fill = self.missing == "mean"
        return (self.encoding.transform(piece, fill=fill) for piece in row_pieces(rows, self.n_coordinates))

    def project(self, rows: Table, directions: Floats) -> NDArray[Any]:
        dtype = next(rows.blocks()).dtype
        out = np.empty((rows.schema.n_rows, len(directions)), dtype)
        if self.missing == "keep":
            wide, q = _pad_columns(directions, dtype), self.n_coordinates

            def project_present(piece: Block) -> None:
                points = self.encoding.transform(piece, dtype, fill=False, padded_width=wide.shape[1])
                own = out[piece.rows.start : piece.rows.stop]
                incomplete = np.flatnonzero(np.isnan(points).any(axis=1))
                project_rows(np.nan_to_num(points) if len(incomplete) else points, wide, own)
                if len(incomplete):
                    own[incomplete] = project_incomplete_rows(points[incomplete, :q].astype(np.float64), directions)

            parallel.run_blocks(project_present, row_pieces(rows, q))
            return out
        p, columns = len(self.encoding.numeric), self.encoding.indicators
        of_levels, of_numbers = self.encoding.level_products(directions), _pad_columns(directions[:, :p], dtype)

        def project(piece: Block) -> None:
            own = out[piece.rows.start : piece.rows.stop]
            numbers = self.encoding.numbers.transform(piece, dtype, padded_width=of_numbers.shape[1])
            project_rows(numbers, of_numbers, own)
            if columns:
                own += self.encoding.indicator_matrix(piece) @ of_levels

        parallel.run_blocks(project, row_pieces(rows, p + len(columns)))
        return out


def project_incomplete_rows(points: Floats, directions: Floats) -> Floats:
    """Project points on orthonormal directions by least squares on their present coordinates.

    If the solution is not unique, as for fewer present coordinates than directions, the minimum norm solution is returned.

    Parameters
    ----------
    points : ndarray of shape (n, n_coordinates)
        About the mean, NaN for a missing coordinate.
    directions : ndarray of shape (k, n_coordinates)
    """
    n, k = len(points), len(directions)
    out = np.empty((n, k))
    if k > _MAX_BATCHED_DIRECTIONS:
        for row, point in enumerate(points):
            present = ~np.isnan(point)
            out[row] = (
                linalg.lstsq(directions[:, present].T, point[present], cond=_RANK_TOLERANCE)[0]
                if present.any()
                else 0.0
            )
        return out
    pairs = np.ascontiguousarray((directions[:, None, :] * directions[None, :, :]).reshape(k * k, -1))
    for start, stop in parallel.block_ranges(n, max(1, _VALUES_PER_SOLUTION // (k * k))):
        some = points[start:stop]
        present = ~np.isnan(some)
        products, sums = np.empty((len(some), k * k)), np.empty((len(some), k))
        project_rows(present.astype(np.float64), pairs, products)
        project_rows(np.where(present, some, 0.0), np.ascontiguousarray(directions), sums)
        inverse = np.linalg.pinv(products.reshape(-1, k, k), rcond=_RANK_TOLERANCE, hermitian=True)
        out[start:stop] = np.einsum("nij,nj->ni", inverse, sums)
    return out


def row_pieces(table: Table, n_values: int) -> Iterator[Block]:
    """Yield the rows in blocks, one per task, for `n_values` values of a row."""
    size = max(1, _VALUES_PER_TASK // n_values)
    return (piece for block in table.blocks() for piece in block.split_rows(size))


def _pad_columns(directions: Floats, dtype: type[np.floating[Any]]) -> NDArray[Any]:
    """Return directions padded with zeros to full vector registers, for which `project_rows` is faster."""
    k, q = directions.shape
    wide = np.zeros((k, -(-q // _FLOAT32_LANES) * _FLOAT32_LANES), dtype)
    wide[:, :q] = directions
    return wide


def describe_rows(rows: NDArray[np.integer]) -> str:
    """Return "Row 3 has" or "Rows 3, 8 and 11 more have"."""
    return f"Row {rows[0]} has" if len(rows) == 1 else f"Rows {list_names(rows)} have"


def _incomplete_columns(schema: Schema) -> list[int]:
    return [j for j in schema.used.tolist() if schema.columns[j].n_missing]


def check_missing_values(table: Table, missing: str, method: str = "", *, new_rows: bool = False) -> None:
    """Warn that the mean replaces missing values, or raise DataError for rows with them, as `TableEncoder.missing` states.

    In new rows an unknown level is a missing value too.
    """
    columns = table.schema.columns
    incomplete = _incomplete_columns(table.schema)
    if not incomplete or missing == "keep":
        return
    if missing == "mean":
        warn_user([_imputation_note(table.schema, incomplete, method, new_rows=new_rows)])
        return
    is_absent = np.column_stack([is_missing(table.column(j)) for j in incomplete])
    rows = np.flatnonzero(is_absent.any(axis=1))
    if not len(rows):
        # The table is a part of a table, and the missing values are in other rows.
        return
    column = columns[incomplete[int(np.argmax(is_absent[rows[0]]))]]
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


def _imputation_note(schema: Schema, incomplete: list[int], method: str, *, new_rows: bool) -> Verdict:
    """Return a note on missing values that the mean replaces: for distances, or for new rows of the estimator `method`."""
    names = [schema.columns[j].name for j in incomplete]
    if method:
        n = sum(schema.columns[j].n_missing for j in incomplete)
        values = "missing value or unknown level" if n == 1 else "missing values or unknown levels"
        verb = "counts" if n == 1 else "count"
        return Verdict("TZ207", f"{method}: {n:,} {values} of new rows {verb} as the mean of the column.", names)
    values, were = ("value", "was") if schema.n_missing == 1 else ("values", "were")
    if new_rows and any(not schema.columns[j].is_number for j in incomplete):
        values += " or unknown level" + values.removeprefix("value")
    of_rows = " of new rows" if new_rows else ""
    text = f"{schema.n_missing:,} missing {values}{of_rows} {were} replaced by column means before computing distances."
    return ImputationNote(text, "the distances of rows")


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
