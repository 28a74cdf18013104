"""Points: rows under a metric. The abstract class, dense rows of numbers, and rows of mixed columns at Gower's dissimilarity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels.distance_blocks import gower_block
from tamiz.kernels.nearest_neighbors import hash_rows
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Integer, IntegerArray, Invariants, ListOf
from tamiz.storage.records import Serializable
from tamiz.table.base import Table
from tamiz.table.encode import refuse_empty_rows, refuse_not_finite, refuse_zero_rows
from tamiz.table.factory import align_to_schema, check_n_columns
from tamiz.table.schema import Schema

# Keys that are compared at a time.
_KEY_BATCH = 1024
# Values per block of work.
_UNIT_CHUNK = 2**18


class Points(Serializable, ABC):
    """Abstract base class of rows under a metric.

    Attributes
    ----------
    metric : str
    n_samples : int
    """

    metric: str
    n_samples: int

    @abstractmethod
    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return the distances of the queries `start : stop` to all points, of shape (stop - start, n_samples).

        The distance of a pair does not depend on the other rows of the block, to the bit.
        """

    def block_view(self, queries: Self, start: int, stop: int) -> Floats:
        """Return `block` without a copy if possible; do not write to the result."""
        return self.block(queries, start, stop)

    def upper_block(self, start: int, stop: int) -> Floats:
        """Return the distances of the points `start : stop` to the points from `start` on; do not write to the result."""
        return self.take(np.arange(start, self.n_samples)).block(self, start, stop)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers from which distances are computed."""
        return np.dtype(np.float64)

    @property
    def has_missing(self) -> bool:
        """Whether distances may be missing (NaN)."""
        return False

    @property
    def n_coordinates(self) -> int | None:
        """Number of coordinates of a row for `new_points`; None if it reads tables or matrices of any width."""
        return None

    def euclidean_values(self) -> Floats | None:
        """Return coordinates whose Euclidean distances have the same order as the distances, or None if there are none."""
        return None

    def from_euclidean(self, distances: Floats) -> Floats:
        """Convert Euclidean distances between `euclidean_values` to distances of the metric."""
        return distances

    def to_euclidean(self, distance: float) -> float:
        """Convert a distance of the metric to the Euclidean distance between `euclidean_values`."""
        return distance

    @abstractmethod
    def row_keys(self, rows: Indices) -> list[bytes]:
        """Return keys of some rows: two rows have the same key if and only if they are equal."""

    @abstractmethod
    def row_hashes(self) -> NDArray[Any]:
        """Return a hash of every row: equal for equal rows, independent of other rows, and rarely equal for different rows."""

    def first_occurrences(self) -> Indices:
        """Return for every row the lowest row that is equal to it."""
        # Keys are computed only for rows that share a hash.
        _, inverse, counts = np.unique(self.row_hashes(), return_inverse=True, return_counts=True)
        shared = np.flatnonzero(counts[inverse] > 1)
        seen: dict[bytes, int] = {}
        first = np.arange(self.n_samples)
        for row, key in zip(shared.tolist(), self.row_keys(shared), strict=True):
            first[row] = seen.setdefault(key, row)
        return first

    def match_rows(self, queries: Self) -> tuple[Indices, Indices]:
        """Return the queries that are equal to a point, in ascending order, and the lowest such point of each.

        Distance 0 does not imply equality: rows with missing values may be at distance 0 from different rows, and the squares of
        tiny differences underflow.
        """
        hashes, query_hashes = self.row_hashes(), queries.row_hashes()
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        at, last = np.searchsorted(ordered, query_hashes), np.searchsorted(ordered, query_hashes, side="right")
        found = np.full(queries.n_samples, self.n_samples)
        open_queries = np.flatnonzero(at < last)
        while len(open_queries):
            rows = order[at[open_queries]]
            spans = [slice(*span) for span in parallel.block_ranges(len(rows), _KEY_BATCH)]
            same = np.concatenate([self._rows_equal(rows[span], queries, open_queries[span]) for span in spans])
            found[open_queries[same]] = rows[same]
            at[open_queries] += 1
            open_queries = open_queries[~same & (at[open_queries] < last[open_queries])]
        equal = np.flatnonzero(found < self.n_samples)
        return equal, found[equal]

    def _rows_equal(self, rows: Indices, queries: Self, others: Indices) -> Masks:
        """Return for each row whether it equals the query at the same position of `others`."""
        keys = zip(self.row_keys(rows), queries.row_keys(others), strict=True)
        return np.array([key == other for key, other in keys], dtype=bool)

    @abstractmethod
    def take(self, rows: Indices) -> Self:
        """Return some of the points."""

    @abstractmethod
    def new_points(self, rows: Any) -> Self:
        """Return new rows as points under the same metric, with the scales of these points."""


class DensePoints(Points):
    """Abstract base class of rows of numbers.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_coordinates)
    """

    values: Floats

    @property
    def n_coordinates(self) -> int:
        return int(self.values.shape[1])

    def euclidean_values(self) -> Floats | None:
        return self.values

    def row_keys(self, rows: Indices) -> list[bytes]:
        """Return the bytes of the rows, with -0.0 replaced by 0.0."""
        return [(self.values[row] + 0.0).tobytes() for row in rows]

    def row_hashes(self) -> NDArray[np.uint64]:
        return hash_values(self.values)

    def take(self, rows: Indices) -> Self:
        taken = copy(self)
        taken.values = self.values[rows]
        taken.n_samples = len(taken.values)
        return taken


def hash_values(values: Floats) -> NDArray[np.uint64]:
    """Return a hash of every row."""
    hashes = np.empty(len(values), dtype=np.uint64)
    hash_rows(np.ascontiguousarray(values).view(np.uint64), hashes)
    return hashes


class EuclideanPoints(DensePoints):
    """Rows of numbers under the Euclidean distance."""

    metric = "euclidean"
    invariants: ClassVar[Invariants] = {"values": FloatArray("n", "d")}

    def __init__(self, values: Floats) -> None:
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.n_samples = len(self.values)

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        return np.asarray(cdist(queries.values[start:stop], self.values))

    def new_points(self, rows: Any) -> Self:
        return type(self)(rows)


class CosinePoints(DensePoints):
    """Rows of numbers under the cosine distance, 1 - x.y / (|x| |y|), in [0, 2]; `values` are the unit rows.

    A row with only zeros, or with NaN or an infinite number, raises DataError with its number in the user's table
    (`row_numbers`). The distance is computed as |u - v|^2 / 2 of the unit rows u and v. This keeps the digits of small
    distances, which 1 - u.v loses, and has the order of the Euclidean distances of the unit rows. The distance of a row and its
    multiple is at most 1e-31.
    """

    metric = "cosine"
    invariants: ClassVar[Invariants] = {"values": FloatArray("n", "d", low=-1.0 - 1e-9, high=1.0 + 1e-9)}

    def __init__(self, values: Any, row_numbers: Indices | None = None) -> None:
        self.values = _unit_rows(values.toarray() if sparse.issparse(values) else np.asarray(values), row_numbers)
        self.n_samples = len(self.values)

    def get_state(self) -> dict[str, Any]:
        return {"values": self.values}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the points of unit rows; normalising them again would change their last bits."""
        points = cls.__new__(cls)
        points.values = state["values"]
        points.n_samples = len(points.values)
        return points

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        return _half_squares(np.asarray(cdist(queries.values[start:stop], self.values)))

    def from_euclidean(self, distances: Floats) -> Floats:
        """Return d^2 / 2."""
        return _half_squares(np.array(distances, dtype=np.float64))

    def to_euclidean(self, distance: float) -> float:
        """Return the square root of 2 d."""
        return float(np.sqrt(2.0 * distance))

    def new_points(self, rows: Any) -> Self:
        points = type(self)(rows)
        check_n_columns(points.values.shape[1], self.values.shape[1])
        return points


def _half_squares(distances: Floats) -> Floats:
    """Replace d by d^2 / 2 in place, at most 2."""
    np.multiply(distances, distances, out=distances)
    distances *= 0.5
    return np.minimum(distances, 2.0, out=distances)


def _unit_rows(values: NDArray[Any], row_numbers: Indices | None) -> Floats:
    """Return the rows normalised to length 1; raise DataError for rows without a direction."""
    n_rows, n_columns = values.shape
    check_memory(8.0 * n_rows * n_columns, f"{n_rows:,} rows at length 1", "Keep fewer columns first.")
    unit = np.empty((n_rows, n_columns))
    largest = np.zeros(n_rows)

    def fill(span: tuple[int, int]) -> None:
        part, out = np.asarray(values[slice(*span)], dtype=np.float64), unit[slice(*span)]
        np.maximum(part.max(axis=1, initial=0.0), -part.min(axis=1, initial=0.0), out=largest[slice(*span)])
        # A power of two scales the largest number of a row to about 1, so that no square overflows or underflows.
        exponent = np.frexp(largest[slice(*span)])[1]
        with np.errstate(invalid="ignore", divide="ignore"):
            np.multiply(part, np.ldexp(1.0, -np.clip(exponent, -1000, 1000))[:, None], out=out)
            out /= np.sqrt((out * out).sum(axis=1))[:, None]

    parallel.run_blocks(fill, parallel.block_ranges(n_rows, max(1, _UNIT_CHUNK // max(n_columns, 1))))
    numbers = np.arange(n_rows) if row_numbers is None else row_numbers
    refuse_not_finite(numbers[~np.isfinite(largest)])
    refuse_zero_rows(numbers[largest == 0.0])
    return unit


class CityBlockPoints(EuclideanPoints):
    """Rows of numbers under the city block (Manhattan) distance, the sum of absolute differences."""

    metric = "cityblock"

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        return np.asarray(cdist(queries.values[start:stop], self.values, "cityblock"))

    def euclidean_values(self) -> None:
        """Return None: city block distances do not have the order of Euclidean distances of any coordinates."""


@dataclass(frozen=True)
class GowerScale:
    """The ranges of the columns of the training rows, by which differences are divided; `columns` are those that vary.

    Values are stored divided by two to the power of `exponents`, which scales a numeric column's range to about 1 without
    rounding, and `inverse_ranges` are those of the stored values; 1 for the codes of a categorical column.
    """

    schema: Schema
    columns: tuple[int, ...]
    exponents: NDArray[Any]
    inverse_ranges: Floats

    invariants: ClassVar[Invariants] = {
        "schema": InstanceOf(Schema),
        "schema.n_columns": Integer(size="p"),
        "columns": (
            ListOf(Integer(below="p"), "c"),
            Condition(lambda it: {*it.columns} <= {*it.schema.used.tolist()}, "has no such column"),
        ),
        "exponents": IntegerArray("c", low=-1100, below=1100, dtypes=(np.int32,)),
        "inverse_ranges": FloatArray("c", low=0.0),
    }

    @classmethod
    def fit(cls, table: Table) -> GowerScale:
        """Compute the ranges; constant columns are left out."""
        schema, used = table.schema, table.schema.used.tolist()
        least, largest = np.full(len(used), np.nan), np.full(len(used), np.nan)
        for k, j in enumerate(used):
            values = table.column(j)
            present = values if schema.columns[j].is_number else values[values >= 0]
            if len(present):
                least[k], largest[k] = np.fmin.reduce(present), np.fmax.reduce(present)
        varies = np.flatnonzero(largest > least)
        if len(varies) == 0:
            n = schema.n_columns
            raise DataError(f"Gower's distance requires a column that varies; none of the {n:,} columns does.")
        columns = tuple(used[k] for k in varies.tolist())
        ranges, exponents = np.frexp((largest - least)[varies])
        codes = [not schema.columns[j].is_number for j in columns]
        ranges[codes], exponents[codes] = 1.0, 0
        return cls(schema, columns, exponents, 1.0 / ranges)

    def scale_values(self, table: Table) -> Floats:
        """Return the scaled values of a table with one row per column, NaN for missing values.

        Category codes are treated as numbers: two levels differ by at least 1, which is the largest contribution of a column.
        """
        n_rows = table.schema.n_rows
        check_memory(
            8.0 * n_rows * len(self.columns),
            f"{n_rows:,} rows of {len(self.columns):,} columns",
            "Keep fewer columns first, with RankSelector.",
        )
        values = np.empty((len(self.columns), n_rows))
        for k, (j, scaled) in enumerate(zip(self.columns, values, strict=True)):
            if self.schema.columns[j].is_number:
                # A value that overflows is outside the range, so its difference counts as 1 in any case.
                with np.errstate(over="ignore"):
                    np.ldexp(table.column(j), -self.exponents[k], out=scaled)
            else:
                scaled[:] = table.column(j)
                scaled[scaled < 0] = np.nan
        return values


class GowerPoints(Points):
    """Rows of mixed columns at Gower's dissimilarity, in [0, 1].

    .. math:: d(x, y) = \\frac{\\sum_k \\delta_k(x, y) d_k(x_k, y_k)}{\\sum_k \\delta_k(x, y)}

    :math:`\\delta_k` is 1 if column k is present in both rows, else 0. For a number or a date, :math:`d_k` is :math:`|x_k -
    y_k|` divided by the column's range in the training rows, at most 1; for a category it is 0 or 1. Columns that are constant
    in the training rows are ignored. Rows without a common present column have dissimilarity 1, the largest value. If no column
    varies, or a row has only missing values in those that do, DataError names it.

    Cost O(n p) per row. Without missing values the square root of d is Euclidean. With missing values the triangle inequality
    may fail, and rows that differ only where a value is missing have dissimilarity 0.

    References
    ----------
    Gower (1971), A general coefficient of similarity and some of its properties, Biometrics 27.
    """

    metric = "gower"
    invariants: ClassVar[Invariants] = {
        "values": FloatArray("c", "n", allow_missing=True),
        "scale": InstanceOf(GowerScale),
        "scale.inverse_ranges": FloatArray("c"),
    }

    def __init__(self, values: Floats, scale: GowerScale, row_numbers: Indices) -> None:
        refuse_empty_rows(values, row_numbers)
        self.values = values
        self.scale = scale
        self.n_samples = values.shape[1]
        self._has_missing = np.isnan(values).any(axis=1)

    @classmethod
    def from_table(cls, table: Table) -> Self:
        """Return the rows of a table, with ranges fitted on them."""
        scale = GowerScale.fit(table)
        return cls(scale.scale_values(table), scale, table.row_numbers)

    def get_state(self) -> dict[str, Any]:
        return {"values": self.values, "scale": self.scale}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        return cls(**state, row_numbers=np.arange(state["values"].shape[1]))

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        out = np.empty((stop - start, self.n_samples))
        gower_block(queries.values, start, stop, self.values, self.scale.inverse_ranges, self._has_missing, out)
        return out

    def row_keys(self, rows: Indices) -> list[bytes]:
        """Return the bytes of the rows, with one NaN for all missing values."""
        values = np.ascontiguousarray(self.values[:, rows].T)
        values += 0.0
        values[np.isnan(values)] = np.nan
        return [row.tobytes() for row in values]

    def row_hashes(self) -> Floats:
        """Return the projections of the rows on a random direction, with missing values as 0."""
        directions = np.random.default_rng(0).standard_normal(len(self.values))
        along = np.zeros(self.n_samples)
        # Values of new rows may overflow to inf or nan; such a row equals no training row, and its hash then matches none.
        with np.errstate(over="ignore", invalid="ignore"):
            for direction, column in zip(directions, self.values, strict=True):
                along += direction * np.where(np.isnan(column), 0.0, column)
        return along

    def take(self, rows: Indices) -> Self:
        taken = copy(self)
        taken.values = np.ascontiguousarray(self.values[:, rows])
        taken.n_samples = taken.values.shape[1]
        return taken

    def new_points(self, rows: Any) -> Self:
        """Return new rows scaled by the ranges of the training rows; an unknown level is a missing value."""
        table = align_to_schema(rows, self.scale.schema)
        return type(self)(self.scale.scale_values(table), self.scale, table.row_numbers)
