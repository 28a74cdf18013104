"""Matrices of complete numbers, which are no table: sparse rows, rows beside a covariance, and the covariance itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.kernels.matrix_products import project_rows
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_integer
from tamiz.storage.invariants import InstanceOf, Invariants
from tamiz.table.base import Table
from tamiz.table.encode import (
    CoordinateEncoder,
    Encoding,
)
from tamiz.table.factory import as_array, check_n_columns, find_sparse_matrix
from tamiz.table.in_memory import check_two_dimensions, eager_frame, is_frame, to_matrix
from tamiz.table.kinds import LARGEST_NUMBER

# Columns are indexed by int32.
_MAX_COLUMNS = 2**31 - 1
# Entries of a sparse matrix, or values of a dense one, per task.
_ENTRIES_PER_TASK = 2**18
# Asymmetry of a covariance that counts as rounding, relative to the largest entry.
_SYMMETRY_TOLERANCE = 1e-8


@dataclass(frozen=True)
class MatrixEncoder(CoordinateEncoder):
    """Encoder of the rows of a matrix of complete numbers: sparse, or dense beside a covariance.

    Attributes
    ----------
    reads_sparse : bool
        Whether rows are read as a sparse matrix; else as a dense one.
    has_mean : bool
        Whether the mean is known; without it no row can be encoded.
    """

    encoding: Encoding
    reads_sparse: bool
    has_mean: bool = True

    invariants: ClassVar[Invariants] = {
        "encoding": InstanceOf(Encoding),
        "reads_sparse": InstanceOf(bool),
        "has_mean": InstanceOf(bool),
    }

    def read(self, X: Any) -> Any:
        if self.reads_sparse:
            rows = read_sparse_rows(X)
            check_n_columns(rows.shape[1], self.n_coordinates)
            return rows
        if not self.has_mean:
            raise ValueError(
                "The covariance was fitted without a mean, so no row can be mapped: pass mean= to fit_covariance."
            )
        given = X.frame() if isinstance(X, Table) else X
        if sparse.issparse(given):
            raise TypeError("X is sparse: beside a covariance rows are a dense array, X.toarray().")
        rows = read_float_matrix(given, "X")
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise DataError(
                f"Row {row}, column {self.encoding.names[column]} is {rows[row, column]}; fill it in or leave the row out."
            )
        return rows

    def encode(self, X: Any) -> Floats:
        return np.concatenate(list(self.coordinates(self.read(X))))

    def coordinates(self, rows: Any) -> Iterator[Floats]:
        for start, stop in parallel.block_ranges(rows.shape[0], max(1, _ENTRIES_PER_TASK // self.n_coordinates)):
            part = rows[start:stop]
            yield ((part.toarray() if self.reads_sparse else part) - self.encoding.centre) / self.encoding.scale

    def project(self, rows: Any, directions: Floats) -> NDArray[Any]:
        if self.reads_sparse:
            scaled = directions / self.encoding.scale
            # A product with sparse rows is computed entry by entry, so each row is independent of the others.
            return np.asarray(rows @ scaled.T) - scaled @ self.encoding.centre
        out = np.empty((len(rows), len(directions)))
        project_rows((rows - self.encoding.centre) / self.encoding.scale, np.ascontiguousarray(directions), out)
        return out


def read_float_matrix(data: Any, what: str) -> Floats:
    """Return an array or a data frame as a matrix of float64; `what` begins the error for one without numbers."""
    try:
        return np.ascontiguousarray(to_matrix(data), dtype=np.float64)
    except (ValueError, TypeError) as error:
        if "convert" not in str(error) and "float()" not in str(error):
            raise
        raise DataError(f"{what} must contain numbers: {error}.") from None


def read_sparse_rows(matrix: Any) -> sparse.csr_array:
    """Return rows in canonical CSR form; raise DataError if there are none or a number cannot be squared."""
    rows = canonical_csr(matrix)
    if 0 in rows.shape:
        raise DataError(f"X has {rows.shape[0]:,} rows and {rows.shape[1]:,} columns; at least one of each is needed.")
    odd = np.flatnonzero(~(np.abs(rows.data) <= LARGEST_NUMBER))
    if len(odd):
        row = int(np.searchsorted(rows.indptr, odd[0], side="right")) - 1
        raise DataError(
            f"Row {row}, column x{rows.indices[odd[0]]} is {rows.data[odd[0]]}; sparse rows need finite numbers that can be "
            "squared. Leave the row out, or pass a dense array, in which missing values are allowed."
        )
    return rows


def canonical_csr(matrix: Any) -> sparse.csr_array:
    """Return rows in canonical CSR form as float64, without changing the caller's matrix."""
    table = find_sparse_matrix(matrix)
    if table is None:
        table = as_array(matrix, "New rows for sparse training rows must be a sparse matrix or an array")
    check_two_dimensions(table)
    if table.dtype.kind not in "fiub":
        raise TypeError(f"Sparse rows must contain real numbers, got {table.dtype}.")
    if table.shape[1] > _MAX_COLUMNS:
        raise DataError(f"Sparse rows may have {_MAX_COLUMNS:,} columns, got {table.shape[1]:,}. Hash them into fewer.")
    rows = sparse.csr_array(table.astype(np.float64, copy=False))
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


@dataclass(frozen=True)
class CovarianceInput:
    """A covariance of coordinates, the encoder of its rows, their number (NaN if unknown), and whether the columns have names."""

    covariance: Floats
    encoder: MatrixEncoder
    n_rows: float
    has_names: bool


def read_covariance(covariance: Any, mean: Any, n_samples: int | None, *, standardize: bool) -> CovarianceInput:
    """Check a covariance, and divide it by the standard deviations if requested."""
    named = is_frame(covariance)
    frame = eager_frame(covariance) if named else None
    if sparse.issparse(covariance):
        raise TypeError("The covariance is sparse: pass a dense array, covariance.toarray().")
    matrix = read_float_matrix(covariance, "The covariance")
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
    encoder = MatrixEncoder(Encoding.of_numbers(names, centre, scale), reads_sparse=False, has_mean=mean is not None)
    return CovarianceInput(scaled, encoder, total, named)


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
