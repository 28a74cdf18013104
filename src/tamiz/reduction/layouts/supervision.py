"""Supervised UMAP: memberships of the rows, weakened between rows whose targets differ."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.graphs.builders import KNearest
from tamiz.graphs.edges import Binary
from tamiz.reduction.layouts.affinities import fuzzy_union, row_memberships
from tamiz.table.in_memory import read_target_vector

# Logarithms of the factors: of an edge to a row without a target, and of one between classes at weight 0.
_UNKNOWN, _DIFFERENT = -1.0, -2.5
# Bounds of the membership of pairs without an edge in one of two graphs, as in the reference implementation.
_LEAST_MEMBERSHIP, _MOST_LEAST_MEMBERSHIP = 1e-8, 1e-4


def intersect_target(memberships: sparse.csr_array, y: ArrayLike, weight: float, n_neighbors: int) -> sparse.csr_array:
    """Return memberships for which near rows have a similar target too.

    Parameters
    ----------
    memberships : csr_array of shape (n, n)
    y : array of shape (n,)
        Classes or numbers; rows with a missing value have no target.
    weight : float
        From 0, where different classes are joined by a twelfth and numbers hardly count, to 1, where only rows of the same class,
        or of near values, are joined.
    n_neighbors : int
        Rows of the most similar values for each row, itself included.
    """
    values, is_number = read_target_vector(y, "y")
    n = memberships.shape[0]
    if len(values) != n:
        raise DataError(f"y has {len(values):,} values for {n:,} rows: inconsistent numbers of samples.")
    known = ~np.isnan(values) if is_number else values >= 0
    if not known.any():
        return memberships
    if is_number:
        found = _intersect_values(memberships, values, known, weight, n_neighbors)
    else:
        found = _intersect_classes(memberships, values, known, weight)
    # The strongest edge of every row has the membership 1 again.
    largest = found.max(axis=1).toarray().ravel()
    found.data /= np.repeat(np.where(largest > 0.0, largest, 1.0), np.diff(found.indptr)).astype(found.dtype)
    return fuzzy_union(found)


def _intersect_classes(memberships: sparse.csr_array, values: Any, known: Any, weight: float) -> sparse.csr_array:
    found = memberships.copy()
    rows = np.repeat(np.arange(len(values)), np.diff(found.indptr))
    both = known[rows] & known[found.indices]
    different = both & (values[rows] != values[found.indices])
    with np.errstate(divide="ignore"):
        strength = float(np.exp(np.divide(_DIFFERENT, 1.0 - weight)))
    found.data[different] *= np.float32(strength)
    found.data[~both] *= np.float32(np.exp(_UNKNOWN))
    found.eliminate_zeros()
    return found


def _intersect_values(
    memberships: sparse.csr_array, values: Any, known: Any, weight: float, n_neighbors: int
) -> sparse.csr_array:
    of_target = _target_memberships(values, known, n_neighbors)
    pairs = sparse.csr_array(memberships + of_target)
    for matrix in (pairs, memberships, of_target):
        matrix.sort_indices()
    rows = np.repeat(np.arange(len(values)), np.diff(pairs.indptr))
    left, right = _values_of_pairs(memberships, pairs), _values_of_pairs(of_target, pairs, _MOST_LEAST_MEMBERSHIP)
    unknown = ~(known[rows] & known[pairs.indices])
    right[unknown] = np.exp(_UNKNOWN)
    # The larger exponent is 1.
    powers = (1.0, weight / (1.0 - weight)) if weight < 0.5 else ((1.0 - weight) / weight, 1.0)
    pairs.data = (left ** powers[0] * right ** powers[1]).astype(np.float32)
    pairs.eliminate_zeros()
    return pairs


def _target_memberships(values: Any, known: Any, n_neighbors: int) -> sparse.csr_array:
    """Return the memberships of the rows of the nearest values, among the rows that have one.

    They are directed, as in the reference implementation: the union after the intersection makes them symmetric.
    """
    n, rows = len(values), np.flatnonzero(known)
    k = min(n_neighbors, len(rows)) - 1
    if k < 1 or np.ptp(values[rows]) == 0.0:
        return sparse.csr_array((n, n), dtype=np.float32)
    graph = KNearest(k, weight=Binary(), symmetry="directed").build_quietly(values[rows, None])
    edges = graph.edges
    found = row_memberships(edges.indptr, edges.lengths, 1.0).astype(np.float32)
    return sparse.csr_array((found, (rows[edges.rows], rows[edges.indices])), shape=(n, n))


def _values_of_pairs(graph: sparse.csr_array, pairs: sparse.csr_array, most: float = np.inf) -> Floats:
    """Return the memberships of pairs that contain the edges of the graph; of others, half its least membership."""
    least = max(float(graph.data.min()) / 2.0, _LEAST_MEMBERSHIP) if graph.nnz else _LEAST_MEMBERSHIP
    found = np.full(pairs.nnz, min(least, most))
    keys = [np.repeat(np.arange(m.shape[0]), np.diff(m.indptr)) * m.shape[1] + m.indices for m in (pairs, graph)]
    found[np.searchsorted(*keys)] = graph.data
    return found
