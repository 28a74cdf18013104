"""Graphs that someone made elsewhere: given by edges, or by a matrix of weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.graphs.edge_graph import EdgeGraph
from tamiz.graphs.weights import MIN_WEIGHT
from tamiz.runtime.validation import check_choice, check_integer, check_memory
from tamiz.statistics.base import Floats

# Weights that differ by less of their size came out of rounding.
_SYMMETRY_TOLERANCE = 1e-12
# Kernels count rows in 32 bits.
_MAX_ROWS = int(np.iinfo(np.int32).max)
# How the two directions of a pair become one weight.
_SYMMETRIZERS: dict[str, Callable[[sparse.csr_array], sparse.csr_array]] = {
    "max": lambda S: S.maximum(S.T),
    "mean": lambda S: S * 0.5 + S.T * 0.5,
    "min": lambda S: S.minimum(S.T),
}
# The pointers of a row, its degree and its component.
_BYTES_PER_ROW = 24


def build_from_edges(
    heads: ArrayLike,
    tails: ArrayLike,
    weights: ArrayLike | None,
    n_samples: int | None,
    symmetrize: str | None = None,
) -> EdgeGraph:
    """Return the graph of edges: each pair given once, or each direction where they are made symmetric."""
    _check_symmetrize(symmetrize)
    i, j = _check_ends(heads, "heads"), _check_ends(tails, "tails")
    if len(i) != len(j):
        raise DataError(f"heads has {len(i):,} rows and tails {len(j):,}; an edge has one of each.")
    if len(i) == 0 and n_samples is None:
        raise DataError("There is no edge; say n_samples for a graph without any.")
    named = int(max(i.max(initial=-1), j.max(initial=-1))) + 1
    n = named if n_samples is None else check_integer("n_samples", n_samples, low=1, high=_MAX_ROWS)
    for name, ends in (("heads", i), ("tails", j)):
        if ends.max(initial=-1) >= n:
            raise DataError(f"{name} names row {ends[ends >= n][0]}, but rows go from 0 to {n - 1}.")
    check_memory(_BYTES_PER_ROW * float(n), f"A graph of {n:,} rows", "Number the rows that have edges from 0 on.")
    w = np.ones(len(i)) if weights is None else _check_reals(weights, "weights")
    if w.shape != i.shape:
        raise DataError(f"weights has the shape {w.shape} for {len(i):,} edges; give one for each.")
    _check_weights(w, i, j)
    if not w.all():
        at = int(np.flatnonzero(w == 0)[0])
        raise DataError(f"The edge of rows {i[at]} and {j[at]} has the weight 0; leave it out.")
    directed = symmetrize is not None
    low, high = (i, j) if directed else (np.minimum(i, j), np.maximum(i, j))
    _, first, counts = np.unique(low * n + high, return_index=True, return_counts=True)
    again = np.flatnonzero(counts > 1)
    if again.size:
        at, count = int(first[again[0]]), int(counts[again[0]])
        edge = f"from row {low[at]} to row {high[at]}" if directed else f"of rows {low[at]} and {high[at]}"
        way_out = (
            "give every direction of a pair once."
            if directed
            else "give every pair once, or say symmetrize='max', 'mean' or 'min' where edges have a direction."
        )
        raise DataError(f"The edge {edge} is given {count} times; {way_out}")
    if directed:
        return build_from_matrix(sparse.csr_array((w, (i, j)), shape=(n, n)), symmetrize)
    loop = low == high
    rows, columns = np.r_[low, high[~loop]], np.r_[high, low[~loop]]
    return _build_graph(_canonicalize(sparse.csr_array((np.r_[w, w[~loop]], (rows, columns)), shape=(n, n))))


def build_from_matrix(adjacency: Any, symmetrize: str | None = None) -> EdgeGraph:
    """Return the graph of a matrix of weights that is symmetric, or is made so."""
    _check_symmetrize(symmetrize)
    given = adjacency if sparse.issparse(adjacency) else _to_array(adjacency, "A graph's matrix")
    if given.dtype.kind not in "biuf":
        raise TypeError(
            f"A graph's matrix holds real numbers, sparse or dense, got {type(adjacency).__name__} of {given.dtype}."
        )
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise DataError(f"A graph's matrix is square, got the shape {given.shape}.")
    S = _canonicalize(sparse.csr_array(given, dtype=np.float64, copy=True))
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    _check_weights(S.data, rows, S.indices)
    if symmetrize is not None:
        return _build_graph(_canonicalize(sparse.csr_array(_SYMMETRIZERS[symmetrize](S))))
    gap = abs(S - S.T).tocoo()
    scale = float(S.data.max(initial=0.0))
    if gap.nnz and gap.data.max() > _SYMMETRY_TOLERANCE * scale:
        at = int(np.argmax(gap.data))
        i, j = sorted((int(gap.row[at]), int(gap.col[at])))
        raise DataError(
            f"The matrix is not symmetric: {S[i, j]:.6g} at row {i}, column {j}, and {S[j, i]:.6g} at row {j}, column {i}. "
            "symmetrize='max', 'mean' or 'min' takes one weight for both directions of a pair."
        )
    # What rounding left between the halves is taken away, so that the operator is symmetric to the bit.
    return _build_graph(_canonicalize(sparse.csr_array(S * 0.5 + S.T * 0.5)) if gap.nnz else S)


def _check_symmetrize(symmetrize: str | None) -> None:
    if symmetrize is not None:
        check_choice("symmetrize, where it is not None,", symmetrize, tuple(_SYMMETRIZERS))


def _to_array(values: ArrayLike, name: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise DataError(f"{name} must be an array of numbers, got lists of unequal lengths.") from error


def _check_ends(values: ArrayLike, name: str) -> NDArray[np.int64]:
    ends = _to_array(values, name)
    if ends.ndim != 1 or (ends.size and ends.dtype.kind not in "iu"):
        raise DataError(f"{name} must be a list of row numbers, got an array of shape {ends.shape} and {ends.dtype}.")
    bad = (ends < 0) | (ends >= _MAX_ROWS)
    if bad.any():
        raise DataError(f"{name} names row {ends[bad][0]}; rows are counted from 0 to {_MAX_ROWS - 1} at most.")
    return ends.astype(np.int64)


def _check_reals(numbers: ArrayLike, name: str) -> Floats:
    values = _to_array(numbers, name)
    if values.dtype.kind not in "biuf":
        raise DataError(f"{name} must be real numbers, got an array of {values.dtype}.")
    return values.astype(np.float64)


def _check_weights(weights: Floats, rows: NDArray[Any], columns: NDArray[Any]) -> None:
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"The edge of rows {rows[at]} and {columns[at]} has the weight {weights[at]:g}; weights are finite and at least 0."
        )


def _build_graph(S: sparse.csr_array) -> EdgeGraph:
    """Return the graph of weights, after a look at whether they can be summed and their sums inverted."""
    small = np.flatnonzero(S.data < MIN_WEIGHT)
    if small.size:
        at = int(small[0])
        row = int(np.searchsorted(S.indptr, at, side="right")) - 1
        raise DataError(
            f"The edge of rows {row} and {S.indices[at]} has the weight {S.data[at]:.4g}; one that is not 0 is at least "
            f"{MIN_WEIGHT:g}. Multiply all weights by a number, which changes no result, or leave the edge out."
        )
    with np.errstate(over="ignore"):
        finite = np.isfinite(S.data.sum())
    if not finite:
        raise DataError(
            f"The weights are up to {S.data.max():.4g}, and their sum is above {np.finfo(np.float64).max:.4g}, the largest "
            "number there is. Divide all of them by a number, which changes no result."
        )
    return EdgeGraph(S)


def _canonicalize(S: sparse.csr_array) -> sparse.csr_array:
    S.sum_duplicates()
    S.eliminate_zeros()
    return S
