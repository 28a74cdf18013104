"""A covariance without rows as the input of PCA: reading and checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.kernels.matrix_products import project_rows
from tamiz.reduction.principal.base import CoordinateEncoder
from tamiz.runtime.validation import check_integer
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Integer, Invariants, ListOf, Strings
from tamiz.table.base import Table
from tamiz.table.in_memory import check_matrix, eager_frame, is_frame
from tamiz.table.kinds import LARGEST_NUMBER

# Asymmetry that counts as rounding, relative to the largest entry.
_SYMMETRY_TOLERANCE = 1e-8


@dataclass(frozen=True)
class CovarianceCoordinateEncoder(CoordinateEncoder):
    """Encoder of rows for a covariance: arrays of its columns."""

    names: list[str]
    mean: Floats
    scale: Floats
    has_mean: bool
    level_spans: list[tuple[int, int]] = field(default_factory=list)

    invariants: ClassVar[Invariants] = {
        "names": Strings("d"),
        "mean": FloatArray("d"),
        "scale": (
            FloatArray("d", low=0.0),
            Condition(lambda it: it.scale.all(), "contains 0, which is not a valid divisor"),
        ),
        "has_mean": InstanceOf(bool),
        "level_spans": ListOf(ListOf(Integer(below="d+1"))),
    }

    def read(self, X: Any) -> Floats:
        if not self.has_mean:
            raise ValueError(
                "The covariance was fitted without a mean, so no row can be mapped: pass mean= to fit_covariance."
            )
        given = X.frame() if isinstance(X, Table) else X
        if sparse.issparse(given):
            raise TypeError("X is sparse: beside a covariance rows are a dense array, X.toarray().")
        rows = _as_float_matrix(eager_frame(given).to_numpy() if is_frame(given) else given, "X")
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise DataError(
                f"Row {row}, column {self.names[column]} is {rows[row, column]}; fill it in or leave the row out."
            )
        return rows

    def coordinates(self, rows: Floats) -> Iterator[Floats]:
        yield (rows - self.mean) / self.scale

    def project(self, rows: Floats, directions: Floats) -> NDArray[Any]:
        out = np.empty((len(rows), len(directions)))
        project_rows(np.ascontiguousarray(*self.coordinates(rows)), np.ascontiguousarray(directions), out)
        return out


@dataclass(frozen=True)
class CovarianceInput:
    """A covariance of coordinates, and the encoder of rows.

    Attributes
    ----------
    covariance : ndarray of shape (n_coordinates, n_coordinates)
    encoder : CovarianceCoordinateEncoder
    n_rows : float
        The number of rows of the covariance, NaN if unknown.
    has_names : bool
        Whether the columns have names of their own.
    """

    covariance: Floats
    encoder: CovarianceCoordinateEncoder
    n_rows: float
    has_names: bool

    def set_feature_attributes(self, estimator: Any) -> None:
        estimator.n_features_in_ = len(self.covariance)
        if self.has_names:
            estimator.feature_names_in_ = np.array(self.encoder.names, dtype=object)
        else:
            estimator.__dict__.pop("feature_names_in_", None)


def _as_float_matrix(matrix: Any, what: str) -> Floats:
    try:
        return np.asarray(check_matrix(matrix), dtype=np.float64)
    except (ValueError, TypeError) as error:
        if "convert" not in str(error) and "float()" not in str(error):
            raise
        raise DataError(f"{what} must contain numbers: {error}.") from None


def _row_names(frame: nw.DataFrame[Any]) -> list[str] | None:
    """Return the row labels of a pandas data frame as text, None if they are integers."""
    if not frame.implementation.is_pandas():
        return None
    index = frame.to_native().index
    return None if index.inferred_type == "integer" else [*map(str, index)]


def _read_mean(mean: Any, names: list[str]) -> Floats:
    """Return the mean of every column; a mean with the names of the columns is matched by name."""
    series = nw.from_native(mean, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series) and series.implementation.is_pandas():
        called = [*map(str, mean.index)]
        if sorted(called) == sorted(names):
            mean = mean.to_numpy()[[called.index(name) for name in names]]
    try:
        centre = np.asarray(mean, dtype=np.float64).ravel()
    except (ValueError, TypeError) as error:
        raise DataError(f"mean must contain numbers, one per column of the covariance: {error}.") from None
    if len(centre) != len(names):
        raise DataError(f"mean must be {len(names):,} numbers, one a column of the covariance, got {len(centre):,}.")
    if not np.isfinite(centre).all():
        j = int(np.argmin(np.isfinite(centre)))
        raise DataError(f"The mean of {names[j]} is {centre[j]}; it must be a finite number.")
    return centre


def read_covariance(covariance: Any, mean: Any, n_samples: int | None, *, standardize: bool) -> CovarianceInput:
    """Check a covariance, and divide it by the standard deviations if requested."""
    named = is_frame(covariance)
    frame = eager_frame(covariance) if named else None
    if sparse.issparse(covariance):
        raise TypeError("The covariance is sparse: pass a dense array, covariance.toarray().")
    matrix = _as_float_matrix(frame.to_numpy() if frame is not None else covariance, "The covariance")
    n_rows, q = matrix.shape
    names = [str(name) for name in frame.columns] if frame is not None else [f"x{j}" for j in range(q)]
    if n_rows != q:
        raise DataError(f"A covariance must be a square matrix, got {n_rows:,} rows and {q:,} columns.")
    if frame is not None and (called := _row_names(frame)) not in (None, names):
        raise DataError(f"The rows of the covariance are {called} and its columns {names}; put them in one order.")
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise DataError(f"The covariance of {names[i]} and {names[j]} is {matrix[i, j]}; it must be a finite number.")
    if not (np.abs(matrix) <= LARGEST_NUMBER).all():
        raise DataError(
            f"The covariance contains numbers above {LARGEST_NUMBER:g}, which are too large. Change the unit."
        )
    asymmetry = np.abs(matrix - matrix.T)
    if asymmetry.max() > _SYMMETRY_TOLERANCE * np.abs(matrix).max():
        i, j = np.unravel_index(int(np.argmax(asymmetry)), asymmetry.shape)
        raise DataError(
            f"A covariance must be symmetric: that of {names[i]} and {names[j]} is {matrix[i, j]:.6g}, and of {names[j]} and "
            f"{names[i]} {matrix[j, i]:.6g}. (C + C.T) / 2 is symmetric."
        )
    variances = np.diag(matrix)
    if (variances < 0).any():
        j = int(np.argmin(variances))
        raise DataError(f"The variance of {names[j]} is {variances[j]:.6g}; it must be at least 0.")
    centre = np.zeros(q) if mean is None else _read_mean(mean, names)
    total = np.nan if n_samples is None else float(check_integer("n_samples", n_samples, low=2))
    scale = np.where(variances > 0, np.sqrt(variances), 1.0) if standardize else np.ones(q)
    scaled = (matrix + matrix.T) / 2 / np.outer(scale, scale)
    return CovarianceInput(scaled, CovarianceCoordinateEncoder(names, centre, scale, mean is not None), total, named)
