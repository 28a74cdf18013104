"""The rows of a table whose gaps are filled by its own components."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.reduction.principal.gaps import Completed, complete
from tamiz.reduction.principal.rows import CentredRows
from tamiz.reduction.principal.table import TableReading, TableRows
from tamiz.statistics.base import Floats
from tamiz.validation import check_memory


class CompletedRows(CentredRows):
    """Rows of a table without gaps: those there were hold what k components give.

    Attributes
    ----------
    completed : Completed
    """

    def __init__(self, table: TableRows, k: int) -> None:
        self._table, self.schema = table, table.schema
        self.n_rows, self.n_coordinates = table.n_rows, table.n_coordinates
        most = min(self.n_rows - 1, self.n_coordinates - 1)
        if most < 1:
            raise ValueError("missing='iterative' fills gaps from other columns, and there is one only; use 'mean'.")
        if k > most:
            raise ValueError(
                f"missing='iterative' fills gaps from fewer components than rows and columns allow: n_components must be from 1 to "
                f"{most}, got {k}."
            )
        check_memory(
            8.0 * 6 * self.n_rows * self.n_coordinates,
            f"Filling the gaps of {self.n_rows:,} rows of {self.n_coordinates:,} coordinates",
            "Use missing='pairwise', which reads the rows once.",
        )
        blocks = list(table.source.blocks())
        points = np.concatenate([table.encoding.rows(block, fill=False) for block in blocks])
        weight = np.concatenate([block.weights for block in blocks])
        self._weight = None if (weight == 1.0).all() else weight
        self.completed: Completed = complete(points, self._weight, k)

    @cached_property
    def _rooted(self) -> Floats:
        values = self.completed.values
        return values if self._weight is None else values * np.sqrt(self._weight)[:, None]

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return self._table.total

    @property
    def reading(self) -> TableReading:
        """How they are read: about the mean of the completed rows."""
        encoding = self._table.encoding
        centre = encoding.centre + self.completed.mean * encoding.scale
        fill = np.zeros_like(centre)
        return TableReading(self._table.source.schema, replace(encoding, centre=centre, fill=fill), fill=False)

    @property
    def variances(self) -> Floats:
        """The variance of every coordinate, completed."""
        return np.asarray((self._rooted**2).sum(axis=0)) / (self.total - 1)

    def sentences(self) -> list[str]:
        """Return which columns take no part, and whether the gaps came to rest."""
        told = self._table.sentences()
        if not self.completed.converged:
            told.append(
                f"PCA: the missing values did not come to rest in {self.completed.n_steps:,} steps; the last one moved them by "
                f"{self.completed.change:.1g} of their size. Fewer components are easier to find."
            )
        return told

    def covariance(self) -> Floats:
        """Return the covariance of the completed rows."""
        return np.asarray(self._rooted.T @ self._rooted) / (self.total - 1)

    def times_covariance(self, X: Floats) -> Floats:
        """Return X times the covariance."""
        return np.asarray((X @ self._rooted.T) @ self._rooted) / (self.total - 1)

    def whole(self) -> Floats:
        """Return the completed rows, each times the root of its weight."""
        return self._rooted.copy()

    def places(self, directions: Floats) -> NDArray[Any]:
        """Return the rows along directions, by what is present of each."""
        return self.reading.places(self._table.source, directions)
