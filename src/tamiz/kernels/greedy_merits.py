"""Merits that are the sum of the gains of a greedy order: of conditional mutual information, and of quotients.

The columns of a set are added in the order of their gains, the first of equals first. The first gain is the relevance of a column.
Later gains depend on a term of the column with each of the columns before it: the relevance minus the largest term, or the
relevance over the mean term. The terms of column s are the row matrix[row_of[s]], if that is not -1.
"""

from __future__ import annotations

import numpy as np
from numba.types import boolean, float64, int64, void

from tamiz.kernels import jit, ro, rw


@jit(float64(ro(float64, 2), ro(int64), int64, int64))
def _pair_term(matrix, row_of, a, b):
    return matrix[row_of[a], b] if row_of[a] >= 0 else matrix[row_of[b], a]


@jit(float64(ro(float64), ro(float64, 2), ro(int64), ro(int64), int64, boolean, float64, rw(float64)))
def _sum_of_gains(relevances, matrix, row_of, members, size, by_quotient, least_term, penalties):
    """Return the sum of the gains of members[:size], in ascending order; `penalties` is work space of at least `size` numbers."""
    added = np.zeros(size, dtype=np.bool_)
    merit = 0.0
    for step in range(size):
        at, best = -1, 0.0
        for k in range(size):
            if added[k]:
                continue
            gain = relevances[members[k]]
            if step > 0:
                gain = gain / (penalties[k] / step) if by_quotient else gain - penalties[k]
            if at < 0 or gain > best:
                at, best = k, gain
        added[at] = True
        merit += best
        for k in range(size):
            if added[k]:
                continue
            term = max(_pair_term(matrix, row_of, members[at], members[k]), least_term)
            if step == 0:
                penalties[k] = term
            elif by_quotient:
                penalties[k] += term
            else:
                penalties[k] = max(penalties[k], term)
    return merit


@jit(int64(rw(int64), int64, int64))
def _flip(members, size, column):
    """Add a column to the ascending members[:size], or remove it, and return the new size."""
    at = 0
    while at < size and members[at] < column:
        at += 1
    if at < size and members[at] == column:
        for k in range(at, size - 1):
            members[k] = members[k + 1]
        return size - 1
    for k in range(size, at, -1):
        members[k] = members[k - 1]
    members[at] = column
    return size + 1


@jit(
    void(
        *(ro(float64), ro(float64, 2), ro(int64), ro(int64), ro(int64), ro(int64), ro(int64), ro(int64)),
        *(boolean, float64, rw(float64)),
    )
)
def greedy_merits(
    relevances,
    matrix,
    row_of,
    parent_starts,
    parent_members,
    parent,
    starts,
    flipped,
    by_quotient,
    least_term,
    out,
):
    """Fill out with the merits of sets: set c is parent[c] with the columns flipped[starts[c] : starts[c + 1]] flipped.

    Parent p has the parent_members[parent_starts[p] : parent_starts[p + 1]], in ascending order. Terms below `least_term` count
    as this.
    """
    most = 0
    for c in range(out.shape[0]):
        n_parent = parent_starts[parent[c] + 1] - parent_starts[parent[c]]
        most = max(most, n_parent + starts[c + 1] - starts[c])
    members, penalties = np.empty(most + 1, dtype=np.int64), np.empty(most + 1)
    for c in range(out.shape[0]):
        first = parent_starts[parent[c]]
        size = parent_starts[parent[c] + 1] - first
        for k in range(size):
            members[k] = parent_members[first + k]
        for f in range(starts[c], starts[c + 1]):
            size = _flip(members, size, flipped[f])
        out[c] = _sum_of_gains(relevances, matrix, row_of, members, size, by_quotient, least_term, penalties)
