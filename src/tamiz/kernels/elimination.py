"""Elimination of the rows of a graph's Laplacian L and a ground G, a diagonal matrix, without a subtraction.

Eliminating a row joins its neighbours, and the ground, by new edges: what remains is such a matrix again. Its factors are
therefore sums, products and quotients of positive numbers, and right to the last digits for weights of any spread.
L + G = F D F' with F = 1 - C, where column k of C holds the shares in which row k is given to later rows. A row that has neither
edges nor a ground keeps 1 / D = 0.
"""

from __future__ import annotations

import numpy as np
from numba.types import float64, int32, int64, uint64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(int64), ro(int32), ro(int32), ro(int32), rw(int32), rw(int64)))
def count_factor_entries(indptr, indices, order, position, parent, counts):
    """Fill counts with the entries of every column of C, and parent with the first of them, -1 for none."""
    n = order.shape[0]
    reached = np.full(n, -1, dtype=np.int32)
    parent[:] = -1
    counts[:] = 0
    for k in range(n):
        reached[k] = k
        for e in range(indptr[order[k]], indptr[order[k] + 1]):
            j = position[indices[e]]
            while j < k and reached[j] != k:
                if parent[j] == -1:
                    parent[j] = k
                counts[j] += 1
                reached[j] = k
                j = parent[j]


@jit(void(ro(int64), ro(int32), ro(int32), ro(int32), ro(int32), ro(int64), rw(int32)))
def fill_factor_rows(indptr, indices, order, position, parent, starts, rows):
    """Fill rows with those of the entries of C, column by column from `starts`, ascending in each."""
    n = order.shape[0]
    reached = np.full(n, -1, dtype=np.int32)
    ends = starts.copy()
    for k in range(n):
        reached[k] = k
        for e in range(indptr[order[k]], indptr[order[k] + 1]):
            j = position[indices[e]]
            while j < k and reached[j] != k:
                rows[ends[j]] = k
                ends[j] += 1
                reached[j] = k
                j = parent[j]


@jit(
    void(
        ro(int64), ro(int32), ro(float64), rw(float64), ro(int32), ro(int32),
        ro(int64), ro(int32), rw(float64), rw(float64),
    ),
    reassociate=True,
)  # fmt: skip
def factorize(indptr, indices, weights, ground, order, position, starts, rows, factor, inverse_pivots):
    """Fill shares with the values of C, in the places of `rows`, and inverse with 1 / D; ground is in `order`, and used up."""
    n = order.shape[0]
    edge = np.zeros(n)
    # The columns whose next entry is in a row, as linked lists.
    first = np.full(n, -1, dtype=np.int32)
    following = np.full(n, -1, dtype=np.int32)
    cursor = starts.copy()
    pivot = np.zeros(n)
    for k in range(n):
        for e in range(indptr[order[k]], indptr[order[k] + 1]):
            j = position[indices[e]]
            if j > k:
                edge[j] += weights[e]
        j = first[k]
        while j != -1:
            after = following[j]
            at = cursor[j]
            stop = starts[j + 1]
            through = factor[at] * pivot[j]
            for p in range(uint64(at + 1), uint64(stop)):
                edge[uint64(rows[p])] += through * factor[p]
            cursor[j] = at + 1
            if at + 1 < stop:
                following[j] = first[rows[at + 1]]
                first[rows[at + 1]] = j
            j = after
        total = ground[k]
        for p in range(starts[k], starts[k + 1]):
            total += edge[rows[p]]
        pivot[k] = total
        inverse_pivots[k] = 1.0 / total if total > 0.0 else 0.0
        for p in range(starts[k], starts[k + 1]):
            factor[p] = edge[rows[p]] * inverse_pivots[k]
            ground[rows[p]] += factor[p] * ground[k]
            edge[rows[p]] = 0.0
        if starts[k] < starts[k + 1]:
            following[k] = first[rows[starts[k]]]
            first[rows[starts[k]]] = k


@jit(void(ro(int64), ro(int32), ro(float64), ro(float64), rw(float64, 2)), reassociate=True)
def substitute(starts, rows, factor, inverse_pivots, x):
    """Solve (L + G) x = x in place, for four columns in the order of elimination."""
    n = inverse_pivots.shape[0]
    for k in range(uint64(n)):
        x_0, x_1, x_2, x_3 = x[k, 0], x[k, 1], x[k, 2], x[k, 3]
        for p in range(uint64(starts[k]), uint64(starts[k + uint64(1)])):
            i = uint64(rows[p])
            share = factor[p]
            x[i, 0] += share * x_0
            x[i, 1] += share * x_1
            x[i, 2] += share * x_2
            x[i, 3] += share * x_3
        d = inverse_pivots[k]
        x[k, 0], x[k, 1], x[k, 2], x[k, 3] = d * x_0, d * x_1, d * x_2, d * x_3
    for back in range(uint64(n)):
        k = uint64(n - 1) - back
        x_0 = x_1 = x_2 = x_3 = 0.0
        for p in range(uint64(starts[k]), uint64(starts[k + uint64(1)])):
            i = uint64(rows[p])
            share = factor[p]
            x_0 += share * x[i, 0]
            x_1 += share * x[i, 1]
            x_2 += share * x[i, 2]
            x_3 += share * x[i, 3]
        x[k, 0] += x_0
        x[k, 1] += x_1
        x[k, 2] += x_2
        x[k, 3] += x_3
