"""Sparse factorisation of grounded graph Laplacians without subtractions, and minimum-degree orderings that keep it sparse.

The matrix is L + G, with the Laplacian L of a graph and a ground G, a non-negative diagonal matrix. Eliminating a row joins its
neighbours, and the ground, by new edges: the remaining matrix has the same form. Its factors are therefore sums, products and
quotients of positive numbers, and accurate to the last digits for weights of any range. L + G = F D F' with F = 1 - C, where
column k of C has the shares of row k that its elimination distributes to later rows. A row with neither edges nor a ground has
1 / D = 0.
"""

from __future__ import annotations

import numpy as np
from numba.types import float64, int32, int64, uint64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(int64), ro(int32), ro(int32), ro(int32), rw(int32), rw(int64)))
def count_factor_entries(indptr, indices, order, position, parent, counts):
    """Fill counts with the number of entries of every column of C, and parent with the row of the first, -1 for none."""
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
    """Fill rows with the row indices of the entries of C, column by column from `starts`, ascending in each column."""
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
    """Fill factor with the values of C at the indices `rows`, and inverse_pivots with 1 / D.

    `ground` is in elimination order and is overwritten.
    """
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
    """Overwrite x, four columns in elimination order, with (L + G)^-1 x."""
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


_ABSENT = -1


@jit(int64(rw(int32), rw(int64), ro(int32)))
def _compact(workspace, start, length):
    """Move the lists of live rows and elements to the front of the workspace, in order; return their end."""
    owner = np.full(workspace.shape[0], _ABSENT, dtype=np.int32)
    for i in range(start.shape[0]):
        if start[i] >= 0 and length[i] > 0:
            owner[start[i]] = i
    free = 0
    at = 0
    while at < workspace.shape[0]:
        i = owner[at]
        if i == _ABSENT:
            at += 1
            continue
        start[i] = free
        for e in range(at, at + length[i]):
            workspace[free] = workspace[e]
            free += 1
        at += length[i]
    return free


@jit(float64(ro(int64), ro(int32), float64, rw(int32)))
def minimum_degree(indptr, indices, budget, order):
    """Fill order by approximate minimum degree; return the multiplications of the factorisation, or -1 if they exceed the budget.

    The quotient graph: an eliminated row becomes an element, the list of the rows that it joined; a row has lists of adjacent rows
    and adjacent elements. Indistinguishable rows are eliminated as one. Dense rows, with more entries than 16 and 10 sqrt(n),
    are last in the order. Diagonal entries are ignored.

    Amestoy, Davis and Duff (1996), An approximate minimum degree ordering algorithm, SIAM J. Matrix Anal. Appl. 17.
    """
    n = indptr.shape[0] - 1
    dense = max(16.0, 10.0 * np.sqrt(n))
    start = np.full(n, -1, dtype=np.int64)
    length = np.zeros(n, dtype=np.int32)
    elements = np.zeros(n, dtype=np.int32)
    weight = np.ones(n, dtype=np.int32)
    degree = np.zeros(n, dtype=np.int64)
    is_element = np.zeros(n, dtype=np.bool_)
    is_dense = np.zeros(n, dtype=np.bool_)
    n_entries = 0
    n_dense = 0
    for i in range(n):
        count = 0
        for e in range(indptr[i], indptr[i + 1]):
            count += indices[e] != i
        if count > dense:
            weight[i] = 0
            is_dense[i] = True
            n_dense += 1
        n_entries += count
    workspace = np.empty(n_entries + n_entries // 4 + 2 * n + 1, dtype=np.int32)
    free = 0
    for i in range(n):
        if weight[i] == 0:
            continue
        start[i] = free
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j != i and weight[j] > 0:
                workspace[free] = j
                free += 1
        length[i] = free - start[i]
        degree[i] = length[i]
    # Lists of the live rows by degree, and the members of a row that represents several.
    head = np.full(n + 1, _ABSENT, dtype=np.int32)
    after = np.full(n, _ABSENT, dtype=np.int32)
    before = np.full(n, _ABSENT, dtype=np.int32)
    member = np.full(n, _ABSENT, dtype=np.int32)
    last = np.arange(n).astype(np.int32)
    for i in range(n):
        if weight[i] > 0:
            d = degree[i]
            after[i] = head[d]
            if head[d] != _ABSENT:
                before[head[d]] = i
            head[d] = i
    outside = np.zeros(n, dtype=np.int64)
    stamp = np.int64(1)
    bucket = np.full(n, _ABSENT, dtype=np.int32)
    bucket_of = np.zeros(n, dtype=np.int64)
    chained = np.full(n, _ABSENT, dtype=np.int32)
    seen = np.zeros(n, dtype=np.int64)
    seen_stamp = np.int64(0)
    n_live = n - n_dense
    done = 0
    lowest = 0
    work = 0.0
    filled = 0
    while done < n_live:
        while head[lowest] == _ABSENT:
            lowest += 1
        p = head[lowest]
        head[lowest] = after[p]
        if after[p] != _ABSENT:
            before[after[p]] = _ABSENT
        pivots = weight[p]
        done += pivots
        weight[p] = -pivots
        # The new element: the rows adjacent to p, directly or through an element, each once.
        n_needed = np.int64(length[p] - elements[p])
        for e in range(start[p], start[p] + elements[p]):
            n_needed += length[workspace[e]]
        if free + n_needed > workspace.shape[0]:
            free = _compact(workspace, start, length)
        first = free
        size = np.int64(0)
        for step in range(elements[p] + 1):
            if step < elements[p]:
                q = workspace[start[p] + step]
                begin, stop = start[q], start[q] + length[q]
            else:
                q = p
                begin, stop = start[p] + elements[p], start[p] + length[p]
            for e in range(begin, stop):
                i = workspace[e]
                if weight[i] <= 0:
                    continue
                size += weight[i]
                weight[i] = -weight[i]
                workspace[free] = i
                free += 1
                if before[i] != _ABSENT:
                    after[before[i]] = after[i]
                else:
                    head[degree[i]] = after[i]
                if after[i] != _ABSENT:
                    before[after[i]] = before[i]
            if q != p:
                is_element[q] = False
                length[q] = 0
                start[q] = -1
        start[p] = first
        length[p] = free - first
        elements[p] = 0
        is_element[p] = True
        # The weight of every adjacent element outside the new one.
        for e in range(first, free):
            i = workspace[e]
            own = -weight[i]
            for f in range(start[i], start[i] + elements[i]):
                q = workspace[f]
                if not is_element[q]:
                    continue
                if outside[q] >= stamp:
                    outside[q] -= own
                else:
                    outside[q] = degree[q] + stamp - own
        for e in range(first, free):
            i = workspace[e]
            own = -weight[i]
            begin = start[i]
            to = begin
            external_degree = np.int64(0)
            code = np.int64(p)
            for f in range(begin, begin + elements[i]):
                q = workspace[f]
                if not is_element[q]:
                    continue
                beyond = outside[q] - stamp
                if beyond > 0:
                    external_degree += beyond
                    workspace[to] = q
                    to += 1
                    code += q
                else:
                    # All rows of the element are in the new one.
                    is_element[q] = False
                    length[q] = 0
                    start[q] = -1
            rows_start = to
            for f in range(begin + elements[i], begin + length[i]):
                j = workspace[f]
                if weight[j] > 0:
                    external_degree += weight[j]
                    workspace[to] = j
                    to += 1
                    code += j
            if external_degree == 0:
                # The row is adjacent to the new element only: it is eliminated with p.
                size -= own
                pivots += own
                done += own
                weight[i] = 0
                member[last[p]] = i
                last[p] = last[i]
                length[i] = 0
                start[i] = -1
                continue
            degree[i] = min(degree[i], external_degree)
            # The new element becomes the first entry, and the entries there move to the ends: at least one entry was removed.
            workspace[to] = workspace[rows_start]
            workspace[rows_start] = workspace[begin]
            workspace[begin] = p
            elements[i] = rows_start - begin + 1
            length[i] = to - begin + 1
            code %= n
            bucket_of[i] = code
            chained[i] = bucket[code]
            bucket[code] = i
        # Rows adjacent to the same elements and rows are merged.
        for e in range(first, free):
            i = workspace[e]
            if weight[i] >= 0:
                continue
            at = bucket[bucket_of[i]]
            bucket[bucket_of[i]] = _ABSENT
            while at != _ABSENT and chained[at] != _ABSENT:
                seen_stamp += 1
                for f in range(start[at] + 1, start[at] + length[at]):
                    seen[workspace[f]] = seen_stamp
                previous = at
                j = chained[at]
                while j != _ABSENT:
                    same = length[j] == length[at] and elements[j] == elements[at]
                    if same:
                        for f in range(start[j] + 1, start[j] + length[j]):
                            if seen[workspace[f]] != seen_stamp:
                                same = False
                                break
                    if same:
                        weight[at] += weight[j]
                        weight[j] = 0
                        member[last[at]] = j
                        last[at] = last[j]
                        length[j] = 0
                        start[j] = -1
                        chained[previous] = chained[j]
                    else:
                        previous = j
                    j = chained[j]
                at = chained[at]
        stamp += n + 1
        to = first
        for e in range(first, free):
            i = workspace[e]
            if weight[i] >= 0:
                continue
            own = -weight[i]
            weight[i] = own
            d = min(degree[i] + size - own, n_live - done - own)
            degree[i] = d
            after[i] = head[d]
            before[i] = _ABSENT
            if head[d] != _ABSENT:
                before[head[d]] = i
            head[d] = i
            lowest = min(lowest, d)
            workspace[to] = i
            to += 1
        free = to
        degree[p] = size
        length[p] = to - first
        if to == first:
            is_element[p] = False
            start[p] = -1
        weight[p] = 0
        i = p
        while i != _ABSENT:
            order[filled] = i
            filled += 1
            i = member[i]
        for k in range(pivots):
            column = size + n_dense + k
            work += 0.5 * column * column
        # The remaining rows have about as many neighbours or more, so a graph that fills in is recognised early.
        if work + 0.25 * size * size * (n_live - done) > budget:
            return -1.0
    for i in range(n):
        if is_dense[i]:
            order[filled] = i
            filled += 1
    return work + n_dense * n_dense * n_dense / 6.0
