"""A covariance that came without its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.kernels.projection import project
from tamiz.reduction.principal.rows import Reading
from tamiz.sources.memory import check_matrix, eager_frame, is_frame
from tamiz.statistics.base import Floats
from tamiz.validation import check_integer

# What rounding leaves of a difference between the two halves, next to the largest entry.
_ROUNDING = 1e-8


@dataclass(frozen=True)
class GivenReading(Reading):
    """How rows beside a covariance are read: as an array of its columns."""

    names: list[str]
    mean: Floats
    scale: Floats
    has_mean: bool
    levels: list[tuple[int, int]] = field(default_factory=list)

    def opened(self, X: Any) -> Floats:
        """Return new rows."""
        if not self.has_mean:
            raise ValueError(
                "The covariance came without a mean, so that no row can be placed: pass mean= to fit_covariance."
            )
        rows = np.asarray(check_matrix(eager_frame(X).to_numpy() if is_frame(X) else X), dtype=np.float64)
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise DataError(
                f"Row {row}, column {self.names[column]} holds {rows[row, column]}; fill it in or leave the row out."
            )
        return rows

    def places(self, rows: Floats, directions: Floats) -> NDArray[Any]:
        """Return rows along directions."""
        out = np.empty((len(rows), len(directions)))
        project(np.ascontiguousarray((rows - self.mean) / self.scale), np.ascontiguousarray(directions), out)
        return out


@dataclass(frozen=True)
class Given:
    """A covariance of coordinates, and how rows become these.

    Attributes
    ----------
    covariance : ndarray of shape (n_coordinates, n_coordinates)
    reading : GivenReading
    total : float
        The number of rows behind it, NaN where it is not known.
    named : bool
        Whether the columns came with names.
    """

    covariance: Floats
    reading: GivenReading
    total: float
    named: bool

    def remember(self, estimator: Any) -> None:
        """Set what an estimator knows of its columns."""
        estimator.n_features_in_ = len(self.covariance)
        if self.named:
            estimator.feature_names_in_ = np.array(self.reading.names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_


def read_covariance(given: Any, mean: Any, n_samples: int | None, *, standardize: bool) -> Given:
    """Check a covariance, and divide it by the standard deviations where that is asked for."""
    named = is_frame(given)
    frame = eager_frame(given) if named else None
    matrix = np.asarray(check_matrix(frame.to_numpy() if frame is not None else given), dtype=np.float64)
    n_rows, q = matrix.shape
    names = [str(name) for name in frame.columns] if frame is not None else [f"x{j}" for j in range(q)]
    if n_rows != q:
        raise DataError(f"A covariance must be a square matrix, got {n_rows:,} rows and {q:,} columns.")
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise DataError(f"The covariance of {names[i]} and {names[j]} is {matrix[i, j]}; it must be a finite number.")
    gap = np.abs(matrix - matrix.T)
    if gap.max() > _ROUNDING * np.abs(matrix).max():
        i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
        raise DataError(
            f"A covariance must be symmetric: that of {names[i]} and {names[j]} is {matrix[i, j]:.6g}, and of {names[j]} and "
            f"{names[i]} {matrix[j, i]:.6g}. (C + C.T) / 2 is symmetric."
        )
    variances = np.diag(matrix)
    if (variances < 0).any():
        j = int(np.argmin(variances))
        raise DataError(f"The variance of {names[j]} is {variances[j]:.6g}; it must be at least 0.")
    centre = np.zeros(q) if mean is None else np.asarray(mean, dtype=np.float64).ravel()
    if len(centre) != q or not np.isfinite(centre).all():
        raise DataError(f"mean must be {q:,} finite numbers, one a column of the covariance, got {len(centre):,}.")
    total = np.nan if n_samples is None else float(check_integer("n_samples", n_samples, low=2))
    scale = np.where(variances > 0, np.sqrt(variances), 1.0) if standardize else np.ones(q)
    scaled = (matrix + matrix.T) / 2 / np.outer(scale, scale)
    return Given(scaled, GivenReading(names, centre, scale, mean is not None), total, named)
