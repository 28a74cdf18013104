"""What reads new rows of a table as those were read that a graph was built from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamiz.exceptions import DataError
from tamiz.graphs.metrics.refusals import named_rows
from tamiz.sources.base import Source
from tamiz.sources.conform import conform
from tamiz.sources.encoding import Encoding
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Block, Floats
from tamiz.validation import check_memory


class Reading(ABC):
    """How rows of a table become points; new rows are read as those were that a graph was built from."""

    @abstractmethod
    def rows(self, X: Any) -> Any:
        """Return new rows as `Points.like` takes them."""


@dataclass(frozen=True)
class AsGiven(Reading):
    """Rows that need no reading: sparse ones, distances."""

    def rows(self, X: Any) -> Any:
        """Return what came."""
        return X


@dataclass(frozen=True)
class TableReading(Reading):
    """Mixed columns as coordinates.

    Attributes
    ----------
    schema : Schema
    encoding : Encoding or None
        None where every column is a number that is present in every row.
    """

    schema: Schema
    encoding: Encoding | None

    @classmethod
    def fit(cls, source: Source, *, standardize: bool) -> TableReading:
        """Learn how a table is read."""
        schema = source.schema
        plain = not schema.categorical and not any(schema.columns[j].n_missing for j in schema.numeric)
        if plain and schema.numeric and not standardize:
            return cls(schema, None)
        return cls(schema, Encoding.fit(source, standardize=standardize, centred=standardize))

    def rows(self, X: Any) -> Floats:
        """Return the coordinates of new rows; a gap is at its column's mean."""
        return self.coordinates(conform(X, self.schema))

    def coordinates(self, source: Source) -> Floats:
        """Return the coordinates of a source's rows, its own memory where they lie there side by side."""
        n_coordinates = len(self.encoding.names) if self.encoding else len(self.schema.numeric)
        blocks = list(source.blocks())
        if self.encoding is None and len(blocks) == 1 and blocks[0].whole is not None:
            return self._of(blocks[0])
        check_memory(
            8.0 * source.schema.n_rows * n_coordinates,
            f"{source.schema.n_rows:,} rows of {n_coordinates:,} coordinates",
            "Keep fewer columns first, with RankSelector.",
        )
        parts = [self._of(block) for block in blocks]
        return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _of(self, block: Block) -> Floats:
        if self.encoding is not None:
            return self.encoding.rows(block)
        rows = block.matrix(self.schema.numeric)
        gaps = np.isnan(rows).any(axis=1)
        if gaps.any():
            raise DataError(f"{named_rows(np.flatnonzero(gaps))} a missing value; the graph was built without any.")
        return rows


def count_rows(X: Any) -> int:
    """Return the number of rows of whatever a table can be given as."""
    if isinstance(X, Source):
        return X.schema.n_rows
    return int(X.shape[0]) if hasattr(X, "shape") else len(np.asarray(X))
