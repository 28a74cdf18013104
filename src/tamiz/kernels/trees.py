"""Random-projection trees: rows halved, again and again, across the line through two of them.

The leaves of a tree are runs of `leaf` places of its order, the first one shorter by `offset` and the last one too.
A node is a range of leaves [a, b); it is split before leaf c = (a + b) // 2, and every c from 1 to n_leaves - 1 splits
one node, so that the split has the number c.
"""

from __future__ import annotations

import numpy as np
from numba.types import float32, float64, int32, int64, void

from tamiz.kernels import jit, ro, rw


@jit(float32(ro(float32, 2), int64, ro(float32, 2), int64), reassociate=True)
def project_row(rows, i, directions, c):
    """Return how far row i lies along direction c."""
    total = np.float32(0.0)
    for d in range(rows.shape[1]):
        total += rows[i, d] * directions[c, d]
    return total


@jit(void(ro(float32, 2), rw(int32), int64, int64, ro(float64, 2), int64, rw(float32, 2)), reassociate=True)
def choose_direction(rows, order, start, stop, draws, c, directions):
    """Fill directions[c] with the difference of two rows of a node: of a few pairs by chance, the one farthest apart."""
    farthest = np.float32(-1.0)
    first = second = order[start]
    for t in range(0, draws.shape[1], 2):
        i = order[start + int(draws[c, t] * (stop - start))]
        j = order[start + int(draws[c, t + 1] * (stop - start))]
        total = np.float32(0.0)
        for d in range(rows.shape[1]):
            gap = rows[i, d] - rows[j, d]
            total += gap * gap
        if total > farthest:
            farthest, first, second = total, i, j
    for d in range(rows.shape[1]):
        directions[c, d] = rows[first, d] - rows[second, d]


@jit(void(ro(float32, 2), ro(int32), int64, int64, ro(float32, 2), int64, rw(float32)), reassociate=True)
def project_node(rows, order, start, stop, directions, c, projections):
    """Fill place[p] with how far the row order[p] lies along direction c."""
    for p in range(start, stop):
        total = np.float32(0.0)
        for d in range(rows.shape[1]):
            total += rows[order[p], d] * directions[c, d]
        projections[p] = total


@jit(void(rw(int32), rw(float32), int64, int64, int64))
def quickselect(order, projections, start, stop, middle):
    """Reorder [start, stop) so that no place before `middle` lies beyond one after it, and place[middle] is the least of these."""
    low, high = start, stop - 1
    while low < high:
        a, b, c = projections[low], projections[(low + high) // 2], projections[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while projections[i] < pivot:
                i += 1
            while projections[j] > pivot:
                j -= 1
            if i <= j:
                projections[i], projections[j] = projections[j], projections[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            low = high


@jit(void(ro(float32, 2), ro(float64, 2), int64, int64, rw(int32), rw(float32, 2), rw(float32)))
def grow_tree(rows, draws, leaf_size, offset, order, directions, thresholds):
    """Sort `order`, which holds every row once, into leaves; row c of the last two is the split c.

    `draws` holds, for every split, numbers in [0, 1) that choose its pairs of rows.
    """
    n = rows.shape[0]
    place = np.empty(n, np.float32)
    waiting = np.empty((64, 2), np.int64)
    waiting[0, 0], waiting[0, 1] = 0, thresholds.shape[0]
    top = 1
    while top > 0:
        top -= 1
        a, b = waiting[top, 0], waiting[top, 1]
        if b - a > 1:
            c = (a + b) // 2
            start, middle, stop = max(a * leaf_size - offset, 0), c * leaf_size - offset, min(b * leaf_size - offset, n)
            choose_direction(rows, order, start, stop, draws, c, directions)
            project_node(rows, order, start, stop, directions, c, place)
            quickselect(order, place, start, stop, middle)
            thresholds[c] = place[middle]
            waiting[top, 0], waiting[top, 1] = a, c
            waiting[top + 1, 0], waiting[top + 1, 1] = c, b
            top += 2


@jit(void(ro(float32, 2), ro(float32, 2), ro(float32), rw(int32)))
def find_leaves(rows, directions, thresholds, leaves):
    """Fill leaves[i] with the leaf of a tree that row i comes to."""
    for i in range(rows.shape[0]):
        a, b = 0, thresholds.shape[0]
        while b - a > 1:
            c = (a + b) // 2
            if project_row(rows, i, directions, c) < thresholds[c]:
                b = c
            else:
                a = c
        leaves[i] = a
