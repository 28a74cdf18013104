"""What reads new rows of a table as those were read that a graph was built from."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.graphs.metrics.refusals import refuse_gaps
from tamiz.sources.base import Source
from tamiz.sources.conform import conform
from tamiz.sources.encoding import Encoding
from tamiz.sources.memory import check_matrix, eager_frame, is_frame
from tamiz.sources.open import as_source
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Block, Floats
from tamiz.storage.invariants import Invariants, Is, Law, Maybe, Numbers
from tamiz.validation import check_memory


class Reading(ABC):
    """How rows of a table become points; new rows are read as those were that a graph was built from."""

    @abstractmethod
    def rows(self, X: Any) -> Any:
        """Return new rows as `Points.like` takes them."""

    @property
    def width(self) -> int | None:
        """Numbers of a row that was read; None where rows are passed on as they came."""
        return None

    def table(self) -> Schema | None:
        """Return the columns as they were taken, None where the rows were not of a table."""
        return None


@dataclass(frozen=True)
class AsGiven(Reading):
    """Rows that need no reading: sparse ones, distances."""

    def rows(self, X: Any) -> Any:
        """Return what came."""
        return X


@dataclass(frozen=True)
class AsColumns(Reading):
    """Rows of a table that the points read themselves.

    Attributes
    ----------
    schema : Schema
    """

    schema: Schema

    invariants: ClassVar[Invariants] = {"schema": Is(Schema)}

    def rows(self, X: Any) -> Any:
        """Return what came."""
        return X

    def table(self) -> Schema:
        """Return the columns as they were taken."""
        return self.schema


@dataclass(frozen=True)
class TableReading(Reading):
    """Mixed columns as coordinates.

    Attributes
    ----------
    schema : Schema
    encoding : Encoding or None
        None where every column is a number that is present in every row: they are the coordinates.
    mean : ndarray of shape (n_coordinates,) or None
        What a gap in a new row is given where there is no encoding; None where there is one, or gaps are refused.
    fill : bool
        Whether gaps of new rows are filled, and told of, or refused.
    """

    schema: Schema
    encoding: Encoding | None
    mean: Floats | None
    fill: bool

    invariants: ClassVar[Invariants] = {
        "schema": Is(Schema),
        "encoding": (
            Maybe(Is(Encoding)),
            Law(
                lambda it: it.encoding is None or it.encoding.reads(it.schema), "does not fit the columns of the schema"
            ),
        ),
        "mean": (
            Maybe(Numbers("d")),
            Law(
                lambda it: it.mean is None or len(it.mean) == len(it.schema.numeric),
                "does not fit the columns of the schema",
            ),
        ),
        "fill": Is(bool),
    }

    @classmethod
    def fit(cls, source: Source, *, standardize: bool, fill: bool) -> tuple[Floats, TableReading]:
        """Return the coordinates of a table's rows, and how they were read; `fill` as in `GraphBuilder.build`."""
        refuse_gaps(source, fill=fill)
        schema = source.schema
        plain = not schema.categorical and not any(schema.columns[j].n_missing for j in schema.numeric)
        if not plain or not schema.numeric or standardize:
            encoding = Encoding.fit(source, standardize=standardize, centred=standardize)
            reading = cls(schema, encoding, None, fill)
            return reading.coordinates(source), reading
        rows = cls(schema, None, None, fill).coordinates(source)
        weights = np.concatenate([block.weights for block in source.blocks([])])
        return rows, cls(schema, None, weights @ rows / weights.sum() if fill else None, fill)

    def table(self) -> Schema:
        """Return the columns as they were taken."""
        return self.schema

    def rows(self, X: Any) -> Floats:
        """Return the coordinates of new rows; a gap, or a level that was not there in fit, is at its column's mean or refused."""
        source = conform(X, self.schema)
        refuse_gaps(source, fill=self.fill, new=True)
        return self.coordinates(source)

    @property
    def width(self) -> int:
        """Coordinates of a row."""
        return len(self.schema.numeric) if self.encoding is None else len(self.encoding.names)

    def coordinates(self, source: Source) -> Floats:
        """Return the coordinates of a source's rows, its own memory where they lie there side by side."""
        blocks = list(source.blocks())
        if self.encoding is None and len(blocks) == 1 and blocks[0].whole is not None:
            return self._of(blocks[0])
        check_memory(
            8.0 * source.schema.n_rows * self.width,
            f"{source.schema.n_rows:,} rows of {self.width:,} coordinates",
            "Keep fewer columns first, with RankSelector.",
        )
        parts = [self._of(block) for block in blocks]
        return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _of(self, block: Block) -> Floats:
        if self.encoding is not None:
            return self.encoding.rows(block)
        rows = block.matrix(self.schema.numeric)
        return rows if self.mean is None else np.where(np.isnan(rows), self.mean, rows)


def count_rows(X: Any) -> int:
    """Return the number of rows of whatever a table can be given as."""
    if isinstance(X, Source):
        return X.schema.n_rows
    if sparse.issparse(X):
        return int(X.shape[0])
    if isinstance(X, str | os.PathLike):
        return as_source(X).schema.n_rows
    if is_frame(X):
        # Of a lazy frame nothing but the number is made.
        return int(nw.from_native(X).lazy().select(nw.len()).collect().item())
    return len(check_matrix(X))


def row_numbers(X: Any) -> NDArray[np.intp] | None:
    """Return the numbers of the rows in the user's table, None where they are counted from 0."""
    return X.row_numbers if isinstance(X, Source) else None


def array_of(X: Any, expected: str) -> NDArray[Any]:
    """Return what was given as an array of rows and columns; a source is refused with what is expected in its place."""
    if isinstance(X, Source):
        schema = X.schema
        raise TypeError(
            f"{expected}, got a source of {schema.n_rows:,} rows and {schema.n_columns:,} columns. Its frame() is one."
        )
    return check_matrix(eager_frame(X).to_numpy() if is_frame(X) else X)
