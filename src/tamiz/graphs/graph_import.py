"""Weights and lengths of edges from a list of edges, matrices of weights and lengths, or the neighbours that a search found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.graphs.edges import MIN_WEIGHT
from tamiz.neighbors.base import Neighbors
from tamiz.runtime.validation import check_choice, check_integer, check_memory

# Largest difference of mirror entries that counts as rounding, relative to the largest weight.
_SYMMETRY_TOLERANCE = 1e-12
# The same for the two lengths of an edge, which may have been computed in float32.
_LENGTH_TOLERANCE = 1e-6
# The same for the distances of a search, which may use half precision.
_DISTANCE_TOLERANCE = 1e-3
# Kernels index rows by int32.
_MAX_ROWS = int(np.iinfo(np.int32).max)
_SYMMETRIZERS: dict[str, Callable[[sparse.csr_array], sparse.csr_array]] = {
    "max": lambda S: S.maximum(S.T),
    "mean": lambda S: S * 0.5 + S.T * 0.5,
    "min": lambda S: S.minimum(S.T),
}
# Bytes for a row's pointer, degree and component.
_BYTES_PER_ROW = 24


def read_edges(
    heads: ArrayLike,
    tails: ArrayLike,
    weights: ArrayLike | None,
    lengths: ArrayLike | None,
    *,
    n_samples: int | None,
    symmetrize: str | None,
) -> tuple[sparse.csr_array, Floats | None]:
    """Return the matrix of weights of a list of edges and the lengths of its entries, as documented in `Graph.from_edges`."""
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
    d = None if lengths is None else _check_reals(lengths, "lengths")
    for name, values in (("weight", w), ("length", d)):
        if values is not None:
            if values.shape != i.shape:
                raise DataError(f"{name}s has the shape {values.shape} for {len(i):,} edges; pass one {name} per edge.")
            _check_edge_values(name, values, i, j)
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
        S = read_matrix(sparse.csr_array((w, (i, j)), shape=(n, n)), None, symmetrize=symmetrize)[0]
    else:
        loop = low == high
        rows, columns = np.r_[low, high[~loop]], np.r_[high, low[~loop]]
        S = _check_scale(_canonicalize(sparse.csr_array((np.r_[w, w[~loop]], (rows, columns)), shape=(n, n))))
    return S, None if d is None else _entry_lengths(S, i, j, d)


def read_matrix(adjacency: Any, lengths: Any, *, symmetrize: str | None) -> tuple[sparse.csr_array, Floats | None]:
    """Return the symmetric matrix of weights and the lengths of its entries, as documented in `Graph.from_sparse`."""
    _check_symmetrize(symmetrize)
    S = _read_square_matrix(adjacency)
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    _check_edge_values("weight", S.data, rows, S.indices)
    joined = _check_scale(_make_symmetric(S, symmetrize))
    return joined, None if lengths is None else _entry_lengths(joined, *_read_lengths(lengths, rows, S))


def read_neighbors(indices: ArrayLike, distances: ArrayLike) -> Neighbors:
    """Return the neighbours that a search found, as documented in `Graph.from_neighbors`."""
    found, d = _to_array(indices, "indices"), _check_reals(distances, "distances")
    if found.ndim != 2 or found.dtype.kind not in "iu":
        raise DataError(
            f"indices must be row numbers, k for each row, got an array of shape {found.shape} and {found.dtype}."
        )
    if d.shape != found.shape:
        raise DataError(f"indices has the shape {found.shape} and distances {d.shape}; they must be equal.")
    n, k = found.shape
    if not (1 < n <= _MAX_ROWS and k > 0):
        raise DataError(
            f"indices has the shape {found.shape}; a graph has 2 to {_MAX_ROWS:,} rows, each with a neighbour."
        )
    outside = np.argwhere((found < 0) | (found >= n))
    if outside.size:
        row, at = outside[0].tolist()
        why = (
            "the search found too few neighbours; let it search more, or pass fewer for each row."
            if found[row, at] < 0
            else f"there are {n:,} rows. Search the neighbours of rows among these rows."
        )
        raise DataError(f"Neighbour {at} of row {row} is {found[row, at]}: {why}")
    own = np.arange(n)[:, None]
    _check_edge_values("length", d.ravel(), np.repeat(own, k), found.ravel())
    is_own = found == own
    if is_own.any():
        # The row itself, or else the farthest one, is sorted to the end and left out.
        d = np.where(is_own, np.inf, d)
        k -= 1
    order = np.lexsort((found, d), axis=1)[:, :k]
    found = np.take_along_axis(found.astype(np.int32), order, axis=1)
    d = np.take_along_axis(d, order, axis=1)
    if not k or not np.isfinite(d).all():
        row = int(np.flatnonzero(~np.isfinite(d).all(axis=1))[0]) if k else 0
        raise DataError(f"Row {row} lists itself more than once, or nothing else; pass other rows as its neighbours.")
    ordered = np.sort(found, axis=1)
    repeated = np.argwhere(ordered[:, 1:] == ordered[:, :-1])
    if repeated.size:
        row, at = repeated[0].tolist()
        raise DataError(f"Row {row} lists row {ordered[row, at]} more than once; a neighbour counts once.")
    return Neighbors.from_arrays(found, _mean_of_directions(own, found, d), n)


def _mean_of_directions(heads: NDArray[Any], tails: NDArray[Any], distances: Floats) -> Floats:
    """Return the distances, as the mean of both directions of a pair of rows that are neighbours of each other."""
    pairs = _pair_numbers(heads, tails, len(heads)).ravel()
    _, inverse, means, differ = _mean_lengths(pairs, distances.ravel(), _DISTANCE_TOLERANCE)
    if differ.size:
        row, at = divmod(int(differ[0]), distances.shape[1])
        one, other = distances[row, at], 2 * means[inverse[differ[0]]] - distances[row, at]
        raise DataError(
            f"The distance of rows {row} and {tails[row, at]} is {one:.6g} in one direction and {other:.6g} in the other; a "
            "distance is the same in both."
        )
    return means[inverse].reshape(distances.shape)


def _read_square_matrix(adjacency: Any) -> sparse.csr_array:
    matrix = adjacency if sparse.issparse(adjacency) else _to_array(adjacency, "A graph's matrix")
    if matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"A graph's matrix must contain real numbers, sparse or dense, got {type(adjacency).__name__} of {matrix.dtype}."
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"A graph's matrix must be square, got the shape {matrix.shape}.")
    return _canonicalize(sparse.csr_array(matrix, dtype=np.float64, copy=True))


def _make_symmetric(S: sparse.csr_array, symmetrize: str | None) -> sparse.csr_array:
    """Return the symmetric matrix that `symmetrize` means; raise DataError if it is None and S is not symmetric."""
    if symmetrize is not None:
        return _canonicalize(sparse.csr_array(_SYMMETRIZERS[symmetrize](S)))
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
    return _canonicalize(sparse.csr_array(S * 0.5 + S.T * 0.5)) if asymmetry.nnz else S


def _read_lengths(lengths: Any, rows: NDArray[Any], S: sparse.csr_array) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Return the lengths of a matrix as rows, columns and values: those that a sparse matrix stores, or those at entries of S."""
    matrix = lengths if sparse.issparse(lengths) else _to_array(lengths, "lengths")
    if matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"lengths must contain real numbers, sparse or dense, got {type(lengths).__name__} of {matrix.dtype}."
        )
    if matrix.shape != S.shape:
        raise DataError(
            f"lengths has the shape {matrix.shape} and the matrix of weights {S.shape}; they must be equal."
        )
    if sparse.issparse(matrix):
        stored = sparse.coo_array(matrix)
        i, j, d = stored.row, stored.col, stored.data.astype(np.float64)
    else:
        i, j, d = rows, S.indices, matrix[rows, S.indices].astype(np.float64)
    _check_edge_values("length", d, i, j)
    return i, j, d


def _entry_lengths(S: sparse.csr_array, i: NDArray[Any], j: NDArray[Any], lengths: Floats) -> Floats:
    """Return the length of every entry of S from those of edges in one direction or both; that of a loop is 0 if not listed."""
    n = S.shape[0]
    pairs, inverse, means, differ = _mean_lengths(_pair_numbers(i, j, n), lengths, _LENGTH_TOLERANCE)
    if differ.size:
        first, *others = lengths[inverse == inverse[differ[0]]]
        raise DataError(
            f"The edge of rows {i[differ[0]]} and {j[differ[0]]} has the lengths {first:.6g} and {others[0]:.6g}; an edge has one "
            "length in both directions."
        )
    rows, columns = np.repeat(np.arange(n), np.diff(S.indptr)), S.indices
    wanted = _pair_numbers(rows, columns, n)
    at = np.searchsorted(pairs, wanted)
    found = np.append(pairs, -1)[at] == wanted
    missing = np.flatnonzero(~found & (rows != columns))
    if missing.size:
        raise DataError(
            f"The edge of rows {rows[missing[0]]} and {columns[missing[0]]} has a weight and no length; a matrix of lengths has an "
            "entry for every edge, also for those of length 0."
        )
    return np.where(found, np.append(means, 0.0)[at], 0.0)


def _mean_lengths(
    pairs: NDArray[np.int64], lengths: Floats, tolerance: float
) -> tuple[NDArray[np.int64], Indices, Floats, Indices]:
    """Return the distinct pairs, that of each length, their mean lengths, and the lengths that differ from these."""
    distinct, inverse, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, lengths, len(distinct)) / counts
    differ = np.flatnonzero(np.abs(lengths - means[inverse]) > 0.5 * tolerance * lengths.max(initial=0.0))
    return distinct, inverse, means, differ


def _pair_numbers(i: NDArray[Any], j: NDArray[Any], n: int) -> NDArray[np.int64]:
    return np.minimum(i, j).astype(np.int64) * n + np.maximum(i, j)


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


def _check_edge_values(name: str, values: Floats, rows: NDArray[Any], columns: NDArray[Any]) -> None:
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"The edge of rows {rows[at]} and {columns[at]} has {name} {values[at]:g}; {name}s must be finite and at least 0."
        )


def _check_scale(S: sparse.csr_array) -> sparse.csr_array:
    """Return a symmetric weight matrix; raise DataError if degrees or their inverses would over- or underflow."""
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
    return S


def _canonicalize(S: sparse.csr_array) -> sparse.csr_array:
    S.sum_duplicates()
    S.eliminate_zeros()
    return S
