"""Centred sparse rows that stay sparse: the mean is subtracted after every product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.kernels.matrix_products import sparse_cross_products
from tamiz.neighbors.sparse_points import canonical_csr
from tamiz.reduction.principal.base import CentredRows, CoordinateEncoder
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.storage.invariants import Condition, FloatArray, Integer, Invariants, ListOf, Strings
from tamiz.table.encoded_table import check_enough_rows
from tamiz.table.in_memory import weight_vector
from tamiz.table.kinds import LARGEST_NUMBER

# Columns with stored entries in a larger share of the weight are converted to dense and centred: subtracting a large mean from the
# sums of squares would cancel digits. Below this share, the mean square is at most twice the variance.
_DENSE_COLUMN_SHARE = 0.5
# A smaller share of the weight counts as none.
_ROUNDING = 1e-12
# Entries per task.
_ENTRIES_PER_TASK = 2**18


def _check_sparse_rows(matrix: Any) -> sparse.csr_array:
    """Return rows in CSR form; raise DataError if there are none or a number cannot be squared."""
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


@dataclass(frozen=True)
class SparseCoordinateEncoder(CoordinateEncoder):
    names: list[str]
    mean: Floats
    scale: Floats
    level_spans: list[tuple[int, int]]

    invariants: ClassVar[Invariants] = {
        "names": Strings("d"),
        "mean": FloatArray("d"),
        "scale": (
            FloatArray("d", low=0.0),
            Condition(lambda it: it.scale.all(), "contains 0, which is not a valid divisor"),
        ),
        "level_spans": ListOf(ListOf(Integer(below="d+1"))),
    }

    def read(self, X: Any) -> sparse.csr_array:
        """Return new rows, sparse or dense."""
        rows = _check_sparse_rows(X)
        if rows.shape[1] != len(self.names):
            raise DataError(f"X has {rows.shape[1]} features, but {len(self.names)} were there in fit.")
        return rows

    def coordinates(self, rows: sparse.csr_array) -> Iterator[Floats]:
        """Yield the coordinates of rows as dense blocks."""
        for start, stop in parallel.block_ranges(rows.shape[0], max(1, _ENTRIES_PER_TASK // len(self.names))):
            yield (rows[start:stop].toarray() - self.mean) / self.scale

    def project(self, rows: sparse.csr_array, directions: Floats) -> NDArray[Any]:
        scaled = directions / self.scale
        # A product with sparse rows is computed entry by entry, so each row is independent of the others.
        return np.asarray(rows @ scaled.T) - scaled @ self.mean


class SparseTableRows(CentredRows):
    """Sparse rows.

    Parameters
    ----------
    matrix : sparse of shape (n_samples, n_columns)
    weight : array-like of shape (n_samples,) or None
    standardize : bool
    """

    def __init__(self, matrix: Any, weight: Any, *, standardize: bool) -> None:
        self.table = _check_sparse_rows(matrix)
        self.n_rows, self.n_coordinates = self.table.shape
        check_enough_rows(self.n_rows)
        self._weight = weight_vector(weight, self.n_rows)
        self._total_weight = float(self._weight.sum())
        self._standardize = standardize
        self.density = self.table.nnz / max(self.n_rows * self.n_coordinates, 1)

    @property
    def total_weight(self) -> float:
        return self._total_weight

    def weights(self) -> Floats | None:
        return self._weight

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Return the mean of every column, its variance, and the share of the weight in its stored entries."""
        by_column = self.table.tocsc()
        counts = np.diff(by_column.indptr)
        column, weight = np.repeat(np.arange(self.n_coordinates), counts), self._weight[by_column.indices]
        first = np.zeros(self.n_coordinates)
        first[counts > 0] = by_column.data[by_column.indptr[:-1][counts > 0]]
        stored = self._sum_by_column(column, weight)
        deviations = self._sum_by_column(column, weight * (by_column.data - first[column]))
        inner = first + np.divide(deviations, stored, out=np.zeros_like(stored), where=stored > 0)
        share = stored / self._total_weight
        within = self._sum_by_column(column, weight * (by_column.data - inner[column]) ** 2)
        # Sums of equal weights in another order differ in their last bits.
        absent = np.where(1 - share > _ROUNDING, 1 - share, 0.0)
        squares = within + stored * absent * inner**2
        return share * inner, squares / (self._total_weight - 1), share

    def _sum_by_column(self, column: Indices, values: Floats) -> Floats:
        """Return the sum of the values in each column, as floats also where there are none."""
        return np.bincount(column, values, self.n_coordinates).astype(np.float64)

    @cached_property
    def encoder(self) -> SparseCoordinateEncoder:
        mean, variance, _ = self._moments
        scale = np.where(variance > 0, np.sqrt(variance), 1.0) if self._standardize else np.ones(self.n_coordinates)
        return SparseCoordinateEncoder([f"x{j}" for j in range(self.n_coordinates)], mean, scale, [])

    @property
    def variances(self) -> Floats:
        return self._moments[1] / self.encoder.scale**2

    def covariance(self) -> Floats:
        """Return the covariance: from the stored entries alone, except for columns that are stored densely."""
        q, mean = self.n_coordinates, self.encoder.mean
        full = np.flatnonzero(self._moments[2] > _DENSE_COLUMN_SHARE)
        few = self.table
        products = np.zeros((q, q))
        if len(full):
            few = self.table.copy()
            few.data[np.isin(few.indices, full)] = 0.0
            few.eliminate_zeros()
        at_once = max(_ENTRIES_PER_TASK, q * q // 4)
        spans = parallel.block_ranges(self.n_rows, max(1, self.n_rows * at_once // max(few.nnz, 1)))
        for part in parallel.map_blocks(lambda span: self._cross_products(few, span), spans):
            products += part
        products = products + np.triu(products, 1).T
        thin = mean.copy()
        thin[full] = 0.0
        products -= self._total_weight * np.outer(thin, thin)
        if len(full):
            check_memory(16.0 * self.n_rows * len(full), f"{len(full):,} columns with few zeros", "Pass a dense array.")
            whole = self.table[:, full].toarray() - mean[full]
            weighed = whole * self._weight[:, None]
            # The centred columns sum to 0, so the mean of the others does not change the products.
            across = few.T @ weighed
            products[:, full] += across
            products[full, :] += across.T
            products[np.ix_(full, full)] = whole.T @ weighed
        return products / np.outer(self.encoder.scale, self.encoder.scale) / (self._total_weight - 1)

    def _cross_products(self, rows: sparse.csr_array, span: tuple[int, int]) -> Floats:
        out = np.zeros((self.n_coordinates, self.n_coordinates))
        indptr = rows.indptr[span[0] : span[1] + 1].astype(np.int64)
        sparse_cross_products(
            indptr, rows.indices.astype(np.int32, copy=False), rows.data, self._weight[slice(*span)], out
        )
        return out

    def times_covariance(self, X: Floats) -> Floats:
        mean, scale = self.encoder.mean, self.encoder.scale
        scaled = X / scale
        images = ((self.table @ scaled.T) - scaled @ mean) * self._weight[:, None]
        found = (self.table.T @ images).T - np.outer(images.sum(axis=0), mean)
        return np.asarray(found / scale) / (self._total_weight - 1)

    def weighted_rows(self) -> Floats:
        """Return the rows as a dense array, each times the square root of its weight, to decompose fewer rows than columns."""
        dense = (self.table.toarray() - self.encoder.mean) / self.encoder.scale
        return np.asarray(dense * np.sqrt(self._weight)[:, None])
