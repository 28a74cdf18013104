"""Minimum spanning tree by Boruvka's algorithm: shortest edges out of components, and nearest rows in other components.

Edges are ordered by (key of the length, lower row, higher row), so that no two are equal and the minimum spanning tree is unique.
"""

from __future__ import annotations

import numpy as np
from numba.types import boolean, float32, float64, int32, int64, void

from tamiz.kernels import jit, ro, rw
from tamiz.kernels.primitives import TIE_WIDTH, distance_key, euclidean_distance, is_nearer

# Candidates whose bounds are compared together before any is examined alone.
RUN_LENGTH = 64


@jit(void(ro(int32), ro(int32, 2), ro(float64, 2), rw(int32), rw(float64), rw(int32), rw(int32)))
def shortest_edges(labels, neighbors, lengths, cursor, best, low, high):
    """Fill best, low and high with the shortest listed edge that leaves each component; its length is infinite if there is none.

    neighbors[p] lists the nearest rows of row p, nearest first. cursor[p] is advanced to the first outside the component of p.
    """
    best[:] = np.inf
    low[:] = high[:] = np.iinfo(np.int32).max
    for p in range(neighbors.shape[0]):
        mine = labels[p]
        while cursor[p] < neighbors.shape[1] and labels[neighbors[p, cursor[p]]] == mine:
            cursor[p] += 1
        for e in range(cursor[p], neighbors.shape[1]):
            q = neighbors[p, e]
            if labels[q] != mine:
                length, lower, higher = lengths[p, e], int64(min(p, q)), int64(max(p, q))
                for c in (mine, labels[q]):
                    # Rows are below 2^31, so that one number orders pairs of them.
                    if is_nearer(length, (lower << 32) + higher, best[c], (int64(low[c]) << 32) + high[c]):
                        best[c], low[c], high[c] = length, lower, higher


@jit(void(ro(int32), int64, ro(int32), ro(float64), ro(int32), ro(float64), ro(int32), rw(boolean)))
def mark_undecided(labels, n_listed, cursor, list_end, list_end_low, best, low, out):
    """Fill out[p] with whether an unlisted edge of row p may be shorter than the shortest listed edge of its component.

    Unlisted edges are longer than (list_end[p], list_end_low[p]); an infinite list_end[p] means that there are none.
    """
    for p in range(labels.shape[0]):
        c = labels[p]
        out[p] = (
            cursor[p] == n_listed
            and list_end[p] < np.inf
            and not is_nearer(best[c], low[c], list_end[p], list_end_low[p])
        )


@jit(int64(int64, rw(int64)))
def _root(c, parent):
    while parent[c] != c:
        parent[c] = parent[parent[c]]
        c = parent[c]
    return c


@jit(int64(ro(int32), ro(int32), int64, rw(int32), rw(boolean)))
def join_components(heads, tails, n_components, labels, is_kept):
    """Join the components that the edges connect, renumber the labels and return the number of components left.

    is_kept[e] is filled with whether edge e joined two components.
    """
    parent = np.arange(n_components)
    left = n_components
    for e in range(heads.shape[0]):
        a, b = _root(labels[heads[e]], parent), _root(labels[tails[e]], parent)
        is_kept[e] = a != b
        if a != b:
            parent[max(a, b)] = min(a, b)
            left -= 1
    number = np.empty(n_components, dtype=np.int32)
    used = 0
    for c in range(n_components):
        # The root of a component is its lowest number, so it is renumbered before the others.
        if parent[c] == c:
            number[c] = used
            used += 1
        else:
            number[c] = number[_root(c, parent)]
    for p in range(labels.shape[0]):
        labels[p] = number[labels[p]]
    return left


@jit(
    void(
        *(ro(float32, 3), ro(int32), ro(int32), ro(int32), ro(float64, 2), float64, float64),
        *(rw(float64), rw(int32)),
    )
)
def nearest_outside(squares, rows, columns, labels, values, scale, slack, best, other):
    """Lower best[i] to the distance of rows[i] from the nearest of `columns` outside its component, and set other[i] to that row.

    squares[i] are approximate squared distances from the columns times scale^2, in runs of RUN_LENGTH, with an error of at most
    slack; exact distances are computed only where they may be smaller. NaN pads the last run.
    """
    # The length of a run is read from the array: with a constant, LLVM unrolls the loop before it can vectorise it.
    n_rows, n_runs, length = squares.shape
    for i in range(n_rows):
        mine = labels[rows[i]]
        most = np.float32((best[i] * scale * (1.0 + TIE_WIDTH)) ** 2 + slack)
        for run in range(n_runs):
            any_near = False
            for j in range(length):
                any_near |= squares[i, run, j] <= most
            if any_near:
                for j in range(length):
                    if squares[i, run, j] <= most:
                        q = columns[run * length + j]
                        if labels[q] != mine:
                            distance = euclidean_distance(values, rows[i], values, q)
                            if is_nearer(distance, q, best[i], other[i]):
                                best[i], other[i] = distance, q
                                most = np.float32((distance * scale * (1.0 + TIE_WIDTH)) ** 2 + slack)


@jit(void(ro(float64, 2), ro(int32), ro(int32), int64, rw(int32, 2), rw(float64, 2)))
def nearest_by_component(distances, rows, labels, n_components, neighbors, lengths):
    """Fill neighbors[i] with the nearest row of each of the nearest other components, nearest first, and lengths[i] with their
    distances.

    distances[i] are those of rows[i] from all rows. The rest is padded with rows[i] itself at an infinite distance.
    """
    best, nearest = np.empty(n_components), np.empty(n_components, dtype=np.int32)
    for i in range(rows.shape[0]):
        best[:] = np.inf
        for q in range(labels.shape[0]):
            if distance_key(distances[i, q]) < distance_key(best[labels[q]]):
                best[labels[q]], nearest[labels[q]] = distances[i, q], q
        best[labels[rows[i]]] = np.inf
        for e in range(neighbors.shape[1]):
            neighbors[i, e], lengths[i, e] = rows[i], np.inf
            for c in range(n_components):
                if best[c] < np.inf and is_nearer(best[c], nearest[c], lengths[i, e], neighbors[i, e]):
                    neighbors[i, e], lengths[i, e] = nearest[c], best[c]
            if lengths[i, e] < np.inf:
                best[labels[neighbors[i, e]]] = np.inf
