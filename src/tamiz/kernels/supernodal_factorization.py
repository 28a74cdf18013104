"""Sparse Cholesky factorisation by supernodes: the symbolic steps, the assembly of dense fronts, and triangular solutions.

A supernode is a run of columns of the factor with the same rows below them. Its front is a dense matrix of its own columns and
these rows. Dense libraries eliminate the columns of a front; what remains, the update matrix, is added to the front of the parent
(the multifrontal method). All indices are positions in the elimination order.
"""

from __future__ import annotations

import numpy as np
from numba.types import float64, int32, int64, uint64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(int32), rw(int32)))
def postorder(parent, order):
    """Fill order with the columns of an elimination forest, children before their parent and subtree after subtree."""
    n = parent.shape[0]
    first = np.full(n, -1, dtype=np.int32)
    following = np.full(n, -1, dtype=np.int32)
    stack = np.empty(n, dtype=np.int32)
    for back in range(n):
        j = n - 1 - back
        if parent[j] >= 0:
            following[j] = first[parent[j]]
            first[parent[j]] = j
    filled = 0
    for root in range(n):
        if parent[root] >= 0:
            continue
        depth = 0
        stack[0] = root
        while depth >= 0:
            j = stack[depth]
            if first[j] >= 0:
                depth += 1
                stack[depth] = first[j]
                first[j] = following[first[j]]
            else:
                order[filled] = j
                filled += 1
                depth -= 1


@jit(int64(ro(int32), ro(int64), rw(int32)))
def find_supernodes(parent, counts, starts):
    """Fill starts with the first columns of the supernodes of a postordered forest; return their number.

    A supernode is merged with its parent if the columns are adjacent and the merged front has few additional zeros: up to 16
    columns with half of them zeros, or any number of columns with a tenth.
    """
    n = parent.shape[0]
    # Per open supernode: first column, rows below it, zeros in its panel.
    width = np.empty(n, dtype=np.int64)
    below = np.empty(n, dtype=np.int64)
    zeros = np.zeros(n)
    number = 0
    for j in range(n):
        starts[number] = j
        width[number] = 1
        below[number] = counts[j]
        zeros[number] = 0.0
        while number > 0:
            child = number - 1
            # The columns of the child must be a child of the first column here, or of one that is merged with it.
            last = starts[number] - 1
            if parent[last] < starts[number] or parent[last] > j:
                break
            rows = width[number] + below[number]
            extra = zeros[child] + zeros[number] + width[child] * float64(rows - below[child])
            merged = width[child] + width[number]
            size = merged * (merged + 1) / 2.0 + merged * float64(below[number])
            if extra > 0.0 and extra > (0.5 if merged <= 16 else 0.1) * size:
                break
            zeros[child] = extra
            width[child] = merged
            below[child] = below[number]
            number = child
        number += 1
    starts[number] = n
    return number


@jit(void(ro(int64), ro(int32), ro(int32), ro(int32), ro(int32), ro(int64), rw(int32)))
def fill_supernode_rows(indptr, indices, order, position, starts, row_starts, rows):
    """Fill rows with the rows of every front, its own columns first; those of supernode s begin at `row_starts[s]`."""
    n = order.shape[0]
    number = row_starts.shape[0] - 1
    owner = np.empty(n, dtype=np.int32)
    for s in range(number):
        for j in range(starts[s], starts[s + 1]):
            owner[j] = s
    seen = np.full(n, -1, dtype=np.int32)
    first_child = np.full(number, -1, dtype=np.int32)
    next_child = np.full(number, -1, dtype=np.int32)
    for s in range(number):
        filled = row_starts[s]
        stop = starts[s + 1]
        for j in range(starts[s], stop):
            seen[j] = s
            rows[filled] = j
            filled += 1
        lowest = n
        for j in range(starts[s], stop):
            for e in range(indptr[order[j]], indptr[order[j] + 1]):
                i = position[indices[e]]
                if i >= stop and seen[i] != s:
                    seen[i] = s
                    rows[filled] = i
                    filled += 1
                    lowest = min(lowest, i)
        child = first_child[s]
        while child >= 0:
            for e in range(row_starts[child], row_starts[child + 1]):
                i = rows[e]
                if i >= stop and seen[i] != s:
                    seen[i] = s
                    rows[filled] = i
                    filled += 1
                    lowest = min(lowest, i)
            child = next_child[child]
        if lowest < n:
            next_child[s] = first_child[owner[lowest]]
            first_child[owner[lowest]] = s


@jit(
    void(
        ro(int64), ro(int32), ro(float64), float64, ro(int32), ro(int32),
        int64, int64, ro(int32), rw(int32), rw(float64, 2),
    )
)  # fmt: skip
def assemble_panel(indptr, indices, data, shift, order, position, start, stop, rows, local, panel):
    """Add the entries of the columns start : stop of the matrix, and the shift of its diagonal, to the panel of their front.

    `panel` has a row for every column, and `local` is filled with the place of every row of the front.
    """
    for a in range(rows.shape[0]):
        local[rows[a]] = a
    for j in range(start, stop):
        panel[j - start, j - start] += shift
        for e in range(indptr[order[j]], indptr[order[j] + 1]):
            i = position[indices[e]]
            if i >= j:
                panel[j - start, local[i]] += data[e]


@jit(void(ro(int32), ro(int32), ro(float64, 2), rw(float64, 2), rw(float64, 2)))
def extend_add(rows, local, child, panel, update):
    """Add the lower triangle of a child's update matrix, whose rows are `rows`, to the panel and the update of the parent's front.

    Matrices are stored by columns: `child[b, a]` is row a of column b.
    """
    width = panel.shape[0]
    for b in range(rows.shape[0]):
        for a in range(b, rows.shape[0]):
            i, j = local[rows[a]], local[rows[b]]
            if i < j:
                i, j = j, i
            if j < width:
                panel[j, i] += child[b, a]
            else:
                update[j - width, i - width] += child[b, a]


@jit(void(ro(int32), ro(int64), ro(int32), ro(int64), ro(float64), rw(float64, 2)), reassociate=True)
def solve_supernodes(starts, row_starts, rows, panel_starts, factor, x):
    """Overwrite x, four columns in elimination order, with the solution of L L' y = x."""
    number = panel_starts.shape[0] - 1
    for s in range(number):
        m = row_starts[s + 1] - row_starts[s]
        base = row_starts[s]
        for j in range(starts[s + 1] - starts[s]):
            column = panel_starts[s] + j * m
            k = starts[s] + j
            d = 1.0 / factor[column + j]
            x_0, x_1, x_2, x_3 = d * x[k, 0], d * x[k, 1], d * x[k, 2], d * x[k, 3]
            x[k, 0], x[k, 1], x[k, 2], x[k, 3] = x_0, x_1, x_2, x_3
            for a in range(uint64(j + 1), uint64(m)):
                i = uint64(rows[uint64(base) + a])
                value = factor[uint64(column) + a]
                x[i, 0] -= value * x_0
                x[i, 1] -= value * x_1
                x[i, 2] -= value * x_2
                x[i, 3] -= value * x_3
    for back in range(number):
        s = number - 1 - back
        m = row_starts[s + 1] - row_starts[s]
        base = row_starts[s]
        w = starts[s + 1] - starts[s]
        for behind in range(w):
            j = w - 1 - behind
            column = panel_starts[s] + j * m
            k = starts[s] + j
            x_0, x_1, x_2, x_3 = x[k, 0], x[k, 1], x[k, 2], x[k, 3]
            for a in range(uint64(j + 1), uint64(m)):
                i = uint64(rows[uint64(base) + a])
                value = factor[uint64(column) + a]
                x_0 -= value * x[i, 0]
                x_1 -= value * x[i, 1]
                x_2 -= value * x[i, 2]
                x_3 -= value * x[i, 3]
            d = 1.0 / factor[column + j]
            x[k, 0], x[k, 1], x[k, 2], x[k, 3] = d * x_0, d * x_1, d * x_2, d * x_3
