"""Sums of columns over the rows of classes, for dense and for sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.kernels.sparse_graphs import class_squared_deviations, class_sums_and_extremes
from tamiz.runtime import parallel
from tamiz.statistics.base import Codes, Floats

# Values of one piece of work.
_CHUNK_VALUES = 2**20


@dataclass(frozen=True)
class Variation:
    """How much columns vary along the edges of a graph and in all.

    Attributes
    ----------
    along_edges : ndarray of shape (n_columns,)
        f'Lf = sum over the edges of S_ij (f_i - f_j)^2.
    total : ndarray of shape (n_columns,)
        f'Df, f centred by its D-weighted mean.
    constant : ndarray of shape (n_columns,), bool
    """

    along_edges: Floats
    total: Floats
    constant: NDArray[np.bool_]


@dataclass(frozen=True)
class ClassSums:
    """Sums of columns by class.

    Attributes
    ----------
    sizes : ndarray of shape (n_classes, 1)
        Weight of the rows.
    means, squares : ndarray of shape (n_classes, n_columns)
        Their weighted mean, and the weighted squares of their gaps to it.
    constant : ndarray of shape (n_columns,), bool
    """

    sizes: Floats
    means: Floats
    squares: Floats
    constant: NDArray[np.bool_]

    @classmethod
    def from_rows(cls, rows: Any, labels: Codes, weight: Floats, n_classes: int) -> ClassSums:
        """Read the rows twice: the squares are taken about the means, as raw ones would lose them to rounding."""
        q = rows.shape[1]
        spans = parallel.block_ranges(rows.shape[0], max(1, _CHUNK_VALUES // q))
        first = int(np.argmax(weight > 0))
        (shift,) = next(row_blocks(rows, [(first, first + 1)]))[1]

        def add(piece: tuple[slice, Floats]) -> Floats:
            here, slab = piece
            out = np.stack([np.full((n_classes, q), value) for value in (0.0, np.inf, -np.inf)])
            class_sums_and_extremes(slab, labels[here], weight[here], shift, out)
            return out

        parts = list(parallel.map_blocks(add, row_blocks(rows, spans)))
        least, largest = np.min([part[1] for part in parts], axis=0), np.max([part[2] for part in parts], axis=0)
        sizes = np.asarray(np.bincount(labels, weight, n_classes), dtype=np.float64)[:, None]
        sums = sum((part[0] for part in parts), start=np.zeros((n_classes, q)))
        means = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0) + shift
        # A column that is constant within a class has no spread there: the mean is the value, to the last bit.
        means = np.where(least == largest, least, means)

        def spread(piece: tuple[slice, Floats]) -> Floats:
            here, slab = piece
            out = np.zeros((n_classes, q))
            class_squared_deviations(slab, labels[here], weight[here], means, out)
            return out

        squares = sum(parallel.map_blocks(spread, row_blocks(rows, spans)), start=np.zeros((n_classes, q)))
        # Without any row that counts the least stays above the largest.
        return cls(sizes, means, squares, least.min(axis=0) >= largest.max(axis=0))


def row_blocks(rows: Any, spans: list[tuple[int, int]]) -> Iterator[tuple[slice, Floats]]:
    """Yield ranges of rows and their values; those of sparse rows are written out a slab at a time."""
    for start, stop in spans:
        slab = rows[start:stop]
        yield slice(start, stop), slab.toarray() if sparse.issparse(slab) else slab


def as_row_major(rows: Any) -> Any:
    """Return rows as they are read here: sparse ones in CSR form, dense ones one after the other in memory."""
    if np.iscomplexobj(rows):
        raise DataError("Complex data not supported: columns must be real numbers.")
    if np.ndim(rows) != 2:
        raise DataError(f"X must have rows and columns, got an array of shape {np.shape(rows)}.")
    if not sparse.issparse(rows):
        return np.ascontiguousarray(rows, dtype=np.float64)
    held = sparse.csr_array(rows, dtype=np.float64)
    if not held.has_canonical_format:
        # The values are still those of the caller.
        held = held.copy()
        held.sum_duplicates()
    return held


def check_n_rows(name: str, values: Any, n_samples: int) -> None:
    """Refuse what has not one row for each row of a graph."""
    if np.shape(values)[:1] != (n_samples,):
        n_given = (*np.shape(values), 0)[0]
        raise DataError(f"{name} has {n_given:,} rows and the graph {n_samples:,}; give one for each.")


def rescale_columns(rows: Any, included: NDArray[np.bool_]) -> Any:
    """Return columns that are not constant, each in a unit, a power of two, in which its largest gap is from 1/2 to 1.

    What stands in rows that are not counted is set to 0.
    """
    held: Any = sparse.csc_array(rows, copy=True) if sparse.issparse(rows) else np.where(included[:, None], rows, 0.0)
    least, largest = _column_extremes(held[included])
    with np.errstate(over="ignore"):
        exponents = np.frexp(np.minimum(largest - least, np.finfo(np.float64).max))[1]
    if not sparse.issparse(held):
        return np.ldexp(held, -exponents)
    held.data[~included[held.indices]] = 0.0
    held.data = np.ldexp(held.data, -np.repeat(exponents, np.diff(held.indptr)))
    return sparse.csr_array(held)


def total_variation(rows: Any, degrees: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the weighted squares of every column about its weighted mean, and which columns are constant."""
    if sparse.issparse(rows):
        return _sparse_total_variation(rows, degrees)
    sums = ClassSums.from_rows(rows, np.zeros(len(rows), dtype=np.int32), degrees, 1)
    return sums.squares[0], sums.constant


def _sparse_total_variation(rows: Any, degrees: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    # As in the sums of classes, rows that count for nothing do not make a column vary.
    counted = degrees > 0
    q = rows.shape[1]
    if not counted.any():
        return np.zeros(q), np.ones(q, dtype=bool)
    D = degrees[counted]
    X = sparse.csc_array(rows if counted.all() else rows[counted])
    column, weight = np.repeat(np.arange(q), np.diff(X.indptr)), D[X.indices]
    rest = _implicit_zero_weights(X, D, column)
    near = np.bincount(column, weight * X.data, q) / D.sum()
    # From near the mean, what the mean itself lost to rounding has all its digits. What is not stored is zero.
    stored, zero = X.data - near[column], -near
    mean = (np.bincount(column, weight * stored, q) + rest * zero) / D.sum()
    gap, gap_of_zero = stored - mean[column], zero - mean
    least, largest = _column_extremes(X)
    return np.bincount(column, weight * gap * gap, q) + rest * gap_of_zero * gap_of_zero, least == largest


def _implicit_zero_weights(X: sparse.csc_array, D: Floats, column: NDArray[np.intp]) -> Floats:
    """Return for every column the sum of D over the rows that it does not store.

    A difference of two sums, it would be their rounding where it is small. In multiples of a unit so large that float64 holds
    every sum of them, the difference is exact; what D has beside these is summed in the same way.
    """
    unit = np.ldexp(1.0, np.frexp(D.sum())[1] - 52)
    coarse = np.rint(D / unit) * unit
    rest = sum(part.sum() - np.bincount(column, part[X.indices], X.shape[1]) for part in (coarse, D - coarse))
    return np.where(np.diff(X.indptr) == len(D), 0.0, np.maximum(rest, 0.0))


def _column_extremes(rows: Any) -> tuple[Floats, Floats]:
    """Return the least and the largest value of every column."""
    least, largest = rows.min(axis=0), rows.max(axis=0)
    return (least.toarray().ravel(), largest.toarray().ravel()) if sparse.issparse(rows) else (least, largest)
