"""The rows of a table with missing values imputed by its own components."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.reduction.principal.base import CentredRows
from tamiz.reduction.principal.incomplete_rows import Imputation, impute_by_components
from tamiz.reduction.principal.table_rows import TableCoordinateEncoder, TableRows
from tamiz.runtime.validation import check_memory
from tamiz.statistics.base import Floats


class ImputedRows(CentredRows):
    """Rows of a table with missing values imputed by k components.

    Attributes
    ----------
    imputation : Imputation
    """

    def __init__(self, table: TableRows, k: int) -> None:
        self._table, self.schema = table, table.schema
        self.n_rows, self.n_coordinates = table.n_rows, table.n_coordinates
        most = min(self.n_rows - 1, self.n_coordinates - 1)
        if most < 1:
            raise ValueError("missing='iterative' needs at least two columns and rows; use missing='mean'.")
        if k > most:
            raise ValueError(f"With missing='iterative' n_components must be from 1 to {most}, got {k}.")
        check_memory(
            8.0 * 6 * self.n_rows * self.n_coordinates,
            f"The imputation of {self.n_rows:,} rows of {self.n_coordinates:,} coordinates",
            "Use missing='pairwise', which reads the rows once.",
        )
        blocks = list(table.source.blocks())
        points = np.concatenate([table.encoding.transform(block, fill=False) for block in blocks])
        weight = np.concatenate([block.weight_or_ones for block in blocks])
        self._weight = None if (weight == 1.0).all() else weight
        self.imputation: Imputation = impute_by_components(points, self._weight, k)

    @cached_property
    def _weighted_values(self) -> Floats:
        values = self.imputation.values
        return values if self._weight is None else values * np.sqrt(self._weight)[:, None]

    @property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return self._table.total_weight

    @property
    def encoder(self) -> TableCoordinateEncoder:
        """The encoder, which centres rows at the mean of the imputed rows."""
        encoding = self._table.encoding
        centre = encoding.centre + self.imputation.mean * encoding.scale
        fill = np.zeros_like(centre)
        return TableCoordinateEncoder(
            self._table.source.schema, replace(encoding, centre=centre, fill=fill), fill=False
        )

    @property
    def variances(self) -> Floats:
        """The variance of every coordinate after imputation."""
        return np.asarray((self._weighted_values**2).sum(axis=0)) / (self.total_weight - 1)

    def collect_warnings(self) -> list[str]:
        """Return warnings on excluded columns, and on an imputation that did not converge."""
        warnings = self._table.collect_warnings()
        if not self.imputation.converged:
            warnings.append(
                f"PCA: the missing values did not converge in {self.imputation.n_steps:,} steps; the last one moved them by "
                f"{self.imputation.change:.1g} of their size. Fewer components are easier to find."
            )
        return warnings

    def covariance(self) -> Floats:
        """Return the covariance of the imputed rows."""
        return np.asarray(self._weighted_values.T @ self._weighted_values) / (self.total_weight - 1)

    def times_covariance(self, X: Floats) -> Floats:
        """Return X times the covariance."""
        return np.asarray((X @ self._weighted_values.T) @ self._weighted_values) / (self.total_weight - 1)

    def weighted_rows(self) -> Floats:
        """Return the imputed rows, each times the square root of its weight."""
        return self._weighted_values.copy()

    def project(self, directions: Floats) -> NDArray[Any]:
        """Return the projections of rows on directions, from the present values of each row."""
        return self.encoder.project(self._table.source, directions)
