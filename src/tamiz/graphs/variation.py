"""Variation of columns along the edges of a graph and in total, from sums over classes of dense or sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from tamiz.arrays import Codes, Floats, Indices, Masks, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.kernels.sparse_graphs import (
    class_squared_deviations,
    class_sums_and_extremes,
    edge_variation,
    sparse_edge_variation,
)
from tamiz.runtime import parallel

# Values per block of work: sums over classes, and sums over edges.
_CHUNK_VALUES, _EDGE_CHUNK_VALUES = 2**20, 2**19


@dataclass(frozen=True)
class Variation:
    """Variation of columns f along the edges of a graph, f'Lf, and in total, f'Df with f centred by its D-weighted mean."""

    along_edges: Floats
    total: Floats
    constant: Masks


@dataclass(frozen=True)
class ClassSums:
    """Sums of columns by class: of the weights, of shape (n_classes, 1), and weighted means and squared deviations from these.

    `constant` is whether each column is constant over all rows of positive weight.
    """

    sizes: Floats
    means: Floats
    squares: Floats
    constant: Masks

    @classmethod
    def from_rows(cls, rows: Any, labels: Codes, weight: Floats, n_classes: int) -> ClassSums:
        """Compute the sums in two passes: squared deviations from the means, because raw squares lose digits to rounding."""
        q = rows.shape[1]
        spans = parallel.block_ranges(rows.shape[0], max(1, _CHUNK_VALUES // q))
        first = int(np.argmax(weight > 0))
        (shift,) = next(row_blocks(rows, [(first, first + 1)]))[1]

        def sum_block(block: tuple[slice, Floats]) -> Floats:
            part, values = block
            out = np.stack([np.full((n_classes, q), value) for value in (0.0, np.inf, -np.inf)])
            class_sums_and_extremes(values, labels[part], weight[part], shift, out)
            return out

        parts = list(parallel.map_blocks(sum_block, row_blocks(rows, spans)))
        least, largest = np.min([part[1] for part in parts], axis=0), np.max([part[2] for part in parts], axis=0)
        sizes = np.asarray(np.bincount(labels, weight, n_classes), dtype=np.float64)[:, None]
        sums = sum((part[0] for part in parts), start=np.zeros((n_classes, q)))
        means = divide_or_zero(sums, sizes) + shift
        # The mean of a column that is constant within a class is its value, to the last bit, so that its deviations are 0.
        means = np.where(least == largest, least, means)

        def sum_squares(block: tuple[slice, Floats]) -> Floats:
            part, values = block
            out = np.zeros((n_classes, q))
            class_squared_deviations(values, labels[part], weight[part], means, out)
            return out

        squares = sum(parallel.map_blocks(sum_squares, row_blocks(rows, spans)), start=np.zeros((n_classes, q)))
        # If no row has a positive weight, least is inf and largest -inf.
        return cls(sizes, means, squares, least.min(axis=0) >= largest.max(axis=0))


def row_blocks(rows: Any, spans: list[tuple[int, int]]) -> Iterator[tuple[slice, Floats]]:
    """Yield ranges of rows and their values; sparse rows are made dense one range at a time."""
    for start, stop in spans:
        block = rows[start:stop]
        yield slice(start, stop), block.toarray() if sparse.issparse(block) else block


def as_row_major(rows: Any) -> Any:
    """Return sparse rows in canonical CSR form, or dense rows as a C-contiguous float64 array."""
    if np.iscomplexobj(rows):
        raise DataError("Complex data not supported: columns must be real numbers.")
    if np.ndim(rows) != 2:
        raise DataError(f"X must have rows and columns, got an array of shape {np.shape(rows)}.")
    if not sparse.issparse(rows):
        return np.ascontiguousarray(rows, dtype=np.float64)
    csr = sparse.csr_array(rows, dtype=np.float64)
    if not csr.has_canonical_format:
        # Copied first, because csr may share the caller's arrays.
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def check_n_rows(name: str, values: Any, n_samples: int) -> None:
    """Raise DataError unless `values` has one row for each row of the graph."""
    if np.shape(values)[:1] != (n_samples,):
        n_rows = (*np.shape(values), 0)[0]
        raise DataError(f"{name} has {n_rows:,} rows and the graph has {n_samples:,}; the numbers must be equal.")


def rescale_columns(rows: Any, included: Masks) -> Any:
    """Return the columns divided by powers of two that bring their ranges over the included rows into [1/2, 1).

    No column may be constant. Values of rows that are not included are set to 0.
    """
    scaled: Any = sparse.csc_array(rows, copy=True) if sparse.issparse(rows) else np.where(included[:, None], rows, 0.0)
    least, largest = _column_extremes(scaled[included])
    with np.errstate(over="ignore"):
        exponents = np.frexp(np.minimum(largest - least, np.finfo(np.float64).max))[1]
    if not sparse.issparse(scaled):
        return np.ldexp(scaled, -exponents)
    scaled.data[~included[scaled.indices]] = 0.0
    scaled.data = np.ldexp(scaled.data, -np.repeat(exponents, np.diff(scaled.indptr)))
    return sparse.csr_array(scaled)


def total_variation(rows: Any, degrees: Floats) -> tuple[Floats, Masks]:
    """Return the degree-weighted squared deviations of every column from its weighted mean, and which columns are constant."""
    if sparse.issparse(rows):
        return _sparse_total_variation(rows, degrees)
    sums = ClassSums.from_rows(rows, np.zeros(len(rows), dtype=np.int32), degrees, 1)
    return sums.squares[0], sums.constant


def _sparse_total_variation(rows: Any, degrees: Floats) -> tuple[Floats, Masks]:
    # As in ClassSums, rows of degree 0 do not make a column vary.
    included = degrees > 0
    q = rows.shape[1]
    if not included.any():
        return np.zeros(q), np.ones(q, dtype=bool)
    D = degrees[included]
    X = sparse.csc_array(rows if included.all() else rows[included])
    column, weight = np.repeat(np.arange(q), np.diff(X.indptr)), D[X.indices]
    zero_weight = _implicit_zero_weights(X, D, column)
    first_mean = np.bincount(column, weight * X.data, q) / D.sum()
    # The mean is refined: after subtracting a first estimate, its rounding error is computed with all digits. Values that are not
    # stored are 0.
    stored, zero = X.data - first_mean[column], -first_mean
    mean = (np.bincount(column, weight * stored, q) + zero_weight * zero) / D.sum()
    deviation, zero_deviation = stored - mean[column], zero - mean
    least, largest = _column_extremes(X)
    squares = np.bincount(column, weight * deviation * deviation, q)
    return squares + zero_weight * zero_deviation * zero_deviation, least == largest


def _implicit_zero_weights(X: sparse.csc_array, D: Floats, column: Indices) -> Floats:
    """Return for every column the sum of D over the rows whose value is not stored.

    A plain difference of two sums would be dominated by rounding where it is small. So D is split into multiples of a unit,
    whose sums are exact in float64, and a remainder; the differences of both are added.
    """
    unit = np.ldexp(1.0, np.frexp(D.sum())[1] - 52)
    coarse = np.rint(D / unit) * unit
    rest = sum(part.sum() - np.bincount(column, part[X.indices], X.shape[1]) for part in (coarse, D - coarse))
    return np.where(np.diff(X.indptr) == len(D), 0.0, np.maximum(rest, 0.0))


def _column_extremes(rows: Any) -> tuple[Floats, Floats]:
    least, largest = rows.min(axis=0), rows.max(axis=0)
    return (least.toarray().ravel(), largest.toarray().ravel()) if sparse.issparse(rows) else (least, largest)


def variation_along_edges(rows: Any, S: sparse.csr_array, weights: Floats) -> Floats:
    """Return f'Lf of every column of dense or sparse rows, for edges at the entries of S that have these weights."""
    n, q = rows.shape
    edges = (S.indptr.astype(np.int64, copy=False), S.indices.astype(np.int32, copy=False), weights)
    if sparse.issparse(rows):
        csr = (rows.indptr.astype(np.int64, copy=False), rows.indices.astype(np.int32, copy=False), rows.data)
        add_variation, n_rows = partial(sparse_edge_variation, *edges, *csr), n * _EDGE_CHUNK_VALUES // max(n, rows.nnz)
    else:
        add_variation, n_rows = partial(edge_variation, rows, *edges), _EDGE_CHUNK_VALUES // q

    def vary(span: tuple[int, int]) -> Floats:
        out = np.zeros(q)
        add_variation(*span, out)
        return out

    return sum(parallel.map_blocks(vary, parallel.block_ranges(n, max(1, n_rows))), start=np.zeros(q))
