"""Graphs from a list of edges or a matrix of weights."""

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

# Largest difference of mirror entries that counts as rounding, relative to the largest weight.
_SYMMETRY_TOLERANCE = 1e-12
# Kernels index rows by int32.
_MAX_ROWS = int(np.iinfo(np.int32).max)
_SYMMETRIZERS: dict[str, Callable[[sparse.csr_array], sparse.csr_array]] = {
    "max": lambda S: S.maximum(S.T),
    "mean": lambda S: S * 0.5 + S.T * 0.5,
    "min": lambda S: S.minimum(S.T),
}
# Bytes for a row's pointer, degree and component.
_BYTES_PER_ROW = 24


def build_from_edges(
    heads: ArrayLike,
    tails: ArrayLike,
    weights: ArrayLike | None,
    n_samples: int | None,
    symmetrize: str | None = None,
) -> EdgeGraph:
    """Return the graph of a list of edges, as documented in `Graph.from_edges`."""
    _check_symmetrize(symmetrize)
    i, j = _check_ends(heads, "heads"), _check_ends(tails, "tails")
    if len(i) != len(j):
        raise DataError(f"heads has {len(i):,} rows and tails has {len(j):,}; an edge has one of each.")
    if len(i) == 0 and n_samples is None:
        raise DataError("There are no edges; pass n_samples to make a graph without edges.")
    n_used = int(max(i.max(initial=-1), j.max(initial=-1))) + 1
    n = n_used if n_samples is None else check_integer("n_samples", n_samples, low=1, high=_MAX_ROWS)
    for name, ends in (("heads", i), ("tails", j)):
        if ends.max(initial=-1) >= n:
            raise DataError(f"{name} contains row {ends[ends >= n][0]}, but rows are numbered from 0 to {n - 1}.")
    check_memory(_BYTES_PER_ROW * float(n), f"A graph of {n:,} rows", "Number the rows that have edges from 0 on.")
    w = np.ones(len(i)) if weights is None else _check_reals(weights, "weights")
    if w.shape != i.shape:
        raise DataError(f"weights has the shape {w.shape} for {len(i):,} edges; pass one weight per edge.")
    _check_weights(w, i, j)
    if not w.all():
        at = int(np.flatnonzero(w == 0)[0])
        raise DataError(f"The edge of rows {i[at]} and {j[at]} has weight 0; leave it out.")
    directed = symmetrize is not None
    low, high = (i, j) if directed else (np.minimum(i, j), np.maximum(i, j))
    _, first, counts = np.unique(low * n + high, return_index=True, return_counts=True)
    repeated = np.flatnonzero(counts > 1)
    if repeated.size:
        at, count = int(first[repeated[0]]), int(counts[repeated[0]])
        edge = f"from row {low[at]} to row {high[at]}" if directed else f"of rows {low[at]} and {high[at]}"
        remedy = (
            "list every direction of a pair once."
            if directed
            else "list every pair once, or pass symmetrize='max', 'mean' or 'min' if the edges are directed."
        )
        raise DataError(f"The edge {edge} is listed {count} times; {remedy}")
    if directed:
        return build_from_matrix(sparse.csr_array((w, (i, j)), shape=(n, n)), symmetrize)
    loop = low == high
    rows, columns = np.r_[low, high[~loop]], np.r_[high, low[~loop]]
    return _build_graph(_canonicalize(sparse.csr_array((np.r_[w, w[~loop]], (rows, columns)), shape=(n, n))))


def build_from_matrix(adjacency: Any, symmetrize: str | None = None) -> EdgeGraph:
    """Return the graph of a weight matrix, as documented in `Graph.from_sparse`."""
    _check_symmetrize(symmetrize)
    matrix = adjacency if sparse.issparse(adjacency) else _to_array(adjacency, "A graph's matrix")
    if matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"A graph's matrix must contain real numbers, sparse or dense, got {type(adjacency).__name__} of {matrix.dtype}."
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"A graph's matrix must be square, got the shape {matrix.shape}.")
    S = _canonicalize(sparse.csr_array(matrix, dtype=np.float64, copy=True))
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    _check_weights(S.data, rows, S.indices)
    if symmetrize is not None:
        return _build_graph(_canonicalize(sparse.csr_array(_SYMMETRIZERS[symmetrize](S))))
    asymmetry = abs(S - S.T).tocoo()
    scale = float(S.data.max(initial=0.0))
    if asymmetry.nnz and asymmetry.data.max() > _SYMMETRY_TOLERANCE * scale:
        at = int(np.argmax(asymmetry.data))
        i, j = sorted((int(asymmetry.row[at]), int(asymmetry.col[at])))
        raise DataError(
            f"The matrix is not symmetric: {S[i, j]:.6g} at row {i}, column {j}, and {S[j, i]:.6g} at row {j}, column {i}. "
            "Pass symmetrize='max', 'mean' or 'min' to use one weight for both directions."
        )
    # The mean of both halves removes rounding differences, so that the operator is exactly symmetric.
    return _build_graph(_canonicalize(sparse.csr_array(S * 0.5 + S.T * 0.5)) if asymmetry.nnz else S)


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
        raise DataError(f"{name} contains row {ends[bad][0]}; rows are numbered from 0 to {_MAX_ROWS - 1} at most.")
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
            f"The edge of rows {rows[at]} and {columns[at]} has weight {weights[at]:g}; weights must be finite and at least 0."
        )


def _build_graph(S: sparse.csr_array) -> EdgeGraph:
    """Return the graph of a symmetric weight matrix; raise DataError if degrees or their inverses would over- or underflow."""
    small = np.flatnonzero(S.data < MIN_WEIGHT)
    if small.size:
        at = int(small[0])
        row = int(np.searchsorted(S.indptr, at, side="right")) - 1
        raise DataError(
            f"The edge of rows {row} and {S.indices[at]} has weight {S.data[at]:.4g}; a weight that is not 0 must be at least "
            f"{MIN_WEIGHT:g}. Multiply all weights by a number, which changes no result, or leave the edge out."
        )
    with np.errstate(over="ignore"):
        finite = np.isfinite(S.data.sum())
    if not finite:
        raise DataError(
            f"The weights are up to {S.data.max():.4g}, and their sum is above {np.finfo(np.float64).max:.4g}, the largest "
            "float64. Divide all weights by a number, which changes no result."
        )
    return EdgeGraph(S)


def _canonicalize(S: sparse.csr_array) -> sparse.csr_array:
    S.sum_duplicates()
    S.eliminate_zeros()
    return S
