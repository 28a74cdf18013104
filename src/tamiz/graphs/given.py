"""Graphs that someone made elsewhere: given by edges, or by a matrix of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.graphs.edge_graph import EdgeGraph

# Weights that differ by less of their size came out of rounding.
_ASYMMETRY = 1e-12


def graph_of_edges(heads: ArrayLike, tails: ArrayLike, weights: ArrayLike | None, n_samples: int | None) -> EdgeGraph:
    """Return the graph of edges that are each given once."""
    i, j = _ends(heads, "heads"), _ends(tails, "tails")
    if len(i) != len(j):
        raise DataError(f"heads has {len(i):,} rows and tails {len(j):,}; an edge has one of each.")
    if len(i) == 0 and n_samples is None:
        raise DataError("There is no edge; say n_samples for a graph without any.")
    n = int(max(i.max(initial=-1), j.max(initial=-1)) + 1) if n_samples is None else int(n_samples)
    for name, ends in (("heads", i), ("tails", j)):
        if ends.size and (ends.min() < 0 or ends.max() >= n):
            bad = int(ends[(ends < 0) | (ends >= n)][0])
            raise DataError(f"{name} names row {bad}, but rows go from 0 to {n - 1}.")
    w = np.ones(len(i)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != i.shape:
        raise DataError(f"weights has the shape {w.shape} for {len(i):,} edges; give one for each.")
    _check_weights(w, i, j)
    if not w.all():
        at = int(np.flatnonzero(w == 0)[0])
        raise DataError(f"The edge of rows {i[at]} and {j[at]} has the weight 0; leave it out.")
    low, high = np.minimum(i, j), np.maximum(i, j)
    _, first, counts = np.unique(low * n + high, return_index=True, return_counts=True)
    if (counts > 1).any():
        at = int(first[counts > 1][0])
        raise DataError(
            f"The edge of rows {low[at]} and {high[at]} is given {counts.max()} times; give every pair once."
        )
    loop = low == high
    rows, columns = np.r_[low, high[~loop]], np.r_[high, low[~loop]]
    return EdgeGraph(_canonical(sparse.csr_array((np.r_[w, w[~loop]], (rows, columns)), shape=(n, n))))


def graph_of_matrix(adjacency: Any) -> EdgeGraph:
    """Return the graph of a symmetric matrix of weights."""
    S = sparse.csr_array(adjacency, dtype=np.float64)
    if S.shape[0] != S.shape[1]:
        raise DataError(f"A graph's matrix is square, got the shape {S.shape}.")
    S = _canonical(S.copy())
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    _check_weights(S.data, rows, S.indices)
    gap = abs(S - S.T).tocoo()
    scale = float(S.data.max(initial=0.0))
    if gap.nnz and gap.data.max() > _ASYMMETRY * scale:
        at = int(np.argmax(gap.data))
        i, j = sorted((int(gap.row[at]), int(gap.col[at])))
        raise DataError(
            f"The matrix is not symmetric: {S[i, j]:.6g} at row {i}, column {j}, and {S[j, i]:.6g} at row {j}, column {i}. "
            "Pass S.maximum(S.T), or another rule of yours."
        )
    # What rounding left between the halves is taken away, so that the operator is symmetric to the bit.
    return EdgeGraph(_canonical(sparse.csr_array((S + S.T) * 0.5)) if gap.nnz else S)


def _ends(given: ArrayLike, name: str) -> NDArray[np.int64]:
    ends = np.asarray(given)
    if ends.ndim != 1 or (ends.size and ends.dtype.kind not in "iu"):
        raise DataError(f"{name} must be a list of row numbers, got an array of shape {ends.shape} and {ends.dtype}.")
    return ends.astype(np.int64)


def _check_weights(weights: NDArray[np.float64], rows: NDArray[Any], columns: NDArray[Any]) -> None:
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"The edge of rows {rows[at]} and {columns[at]} has the weight {weights[at]:g}; weights are finite and at least 0."
        )


def _canonical(S: sparse.csr_array) -> sparse.csr_array:
    S.sum_duplicates()
    S.eliminate_zeros()
    return S
