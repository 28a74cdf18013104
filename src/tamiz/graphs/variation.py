"""Sums of columns over the rows of classes, for dense and for sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz import parallel
from tamiz.kernels.variation import class_squares, class_sums
from tamiz.statistics.base import Codes, Floats

# Values of one piece of work.
_PIECE_VALUES = 2**20


@dataclass(frozen=True)
class Variation:
    """How much columns vary along the edges of a graph and in all.

    Attributes
    ----------
    within : ndarray of shape (n_columns,)
        f'Lf = sum over the edges of S_ij (f_i - f_j)^2.
    total : ndarray of shape (n_columns,)
        f'Df, f centred by its D-weighted mean.
    constant : ndarray of shape (n_columns,), bool
    """

    within: Floats
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
    def of(cls, rows: Any, labels: Codes, weight: Floats, n_classes: int) -> ClassSums:
        """Read the rows twice: the squares are taken about the means, as raw ones would lose them to rounding."""
        q = rows.shape[1]
        spans = parallel.spans(rows.shape[0], max(1, _PIECE_VALUES // q))
        (shift,) = next(slabs(rows, [(0, 1)]))[1]

        def add(piece: tuple[slice, Floats]) -> Floats:
            here, slab = piece
            out = np.stack([np.full((n_classes, q), value) for value in (0.0, np.inf, -np.inf)])
            class_sums(slab, labels[here], weight[here], shift, out)
            return out

        parts = list(parallel.map_blocks(add, slabs(rows, spans)))
        least, largest = np.min([part[1] for part in parts], axis=0), np.max([part[2] for part in parts], axis=0)
        sizes = np.asarray(np.bincount(labels, weight, n_classes), dtype=np.float64)[:, None]
        sums = sum((part[0] for part in parts), start=np.zeros((n_classes, q)))
        means = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0) + shift
        # A column that is constant within a class has no spread there: the mean is the value, to the last bit.
        means = np.where(least == largest, least, means)

        def spread(piece: tuple[slice, Floats]) -> Floats:
            here, slab = piece
            out = np.zeros((n_classes, q))
            class_squares(slab, labels[here], weight[here], means, out)
            return out

        squares = sum(parallel.map_blocks(spread, slabs(rows, spans)), start=np.zeros((n_classes, q)))
        return cls(sizes, means, squares, least.min(axis=0) == largest.max(axis=0))


def slabs(rows: Any, spans: list[tuple[int, int]]) -> Iterator[tuple[slice, Floats]]:
    """Yield ranges of rows and their values; those of sparse rows are written out a slab at a time."""
    for start, stop in spans:
        slab = rows[start:stop]
        yield slice(start, stop), slab.toarray() if sparse.issparse(slab) else slab


def rowwise(rows: Any) -> Any:
    """Return rows as they are read here: sparse ones in CSR form, dense ones one after the other in memory."""
    if not sparse.issparse(rows):
        return np.ascontiguousarray(rows, dtype=np.float64)
    held = sparse.csr_array(rows, dtype=np.float64)
    held.sum_duplicates()
    return held


def total_variation(rows: Any, degrees: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the weighted squares of every column about its weighted mean, and which columns are constant."""
    if sparse.issparse(rows):
        return _sparse_total(rows, degrees)
    sums = ClassSums.of(rows, np.zeros(len(rows), dtype=np.int32), degrees, 1)
    return sums.squares[0], sums.constant


def _sparse_total(rows: Any, degrees: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    X = sparse.coo_array(rows)
    q = X.shape[1]
    D = degrees[X.row]
    mean = np.bincount(X.col, D * X.data, q) / degrees.sum()
    # What is not stored is zero, and its gap to the mean is the mean.
    rest = degrees.sum() - np.bincount(X.col, D, q)
    total = np.bincount(X.col, D * (X.data - mean[X.col]) ** 2, q) + np.maximum(rest, 0.0) * mean**2
    # As in the sums of classes, rows that count for nothing do not make a column vary.
    held = sparse.csc_array(sparse.csr_array(rows)[degrees > 0])
    least, largest = held.min(axis=0), held.max(axis=0)
    return total, np.asarray(least.toarray() == largest.toarray()).ravel()
