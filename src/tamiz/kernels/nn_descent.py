"""Nearest-neighbour descent (NN-descent) and the random-projection trees that start it.

Lists of the nearest rows found so far are improved by comparing each row with the neighbours of its neighbours. Rows are in an
order in which similar rows are close, so that the rows of a *group*, GROUP_SIZE consecutive rows, share most of their
candidates and are compared by one matrix product. An entry of a list is 2 * row + 1 until the link to that row has been
followed, 2 * row afterwards, and negative if there is none. Distances in lists are squared, in float32: near ties may be in the
wrong order, so lists are longer than needed, and their candidates are measured again.

A random-projection tree splits the rows of a node at the median of their projection on the line through two of them. The leaves
of a tree are runs of `leaf_size` positions of its order; the first is shorter by `offset`, and the last may be shorter. A node
is a range of leaves [a, b) and is split before leaf c = (a + b) // 2. Every c from 1 to n_leaves - 1 splits one node, so c is
the number of the split.
"""

from __future__ import annotations

import numpy as np
from numba.types import float32, float64, int32, int64, uint8, void

from tamiz.kernels import jit, ro, rw
from tamiz.kernels.primitives import is_nearer


@jit(float32(ro(float32, 2), int64, ro(float32, 2), int64), reassociate=True)
def squared_distance(rows, i, others, j):
    """Return the squared distance between two rows in float32."""
    total = np.float32(0.0)
    for d in range(rows.shape[1]):
        difference = rows[i, d] - others[j, d]
        total += difference * difference
    return total


@jit(float32(ro(float32, 2), int64, ro(float32, 2), int64), reassociate=True)
def project_row(rows, i, directions, c):
    total = np.float32(0.0)
    for d in range(rows.shape[1]):
        total += rows[i, d] * directions[c, d]
    return total


@jit(void(ro(float32, 2), rw(int32), int64, int64, ro(float64, 2), int64, rw(float32, 2)), reassociate=True)
def choose_direction(rows, order, start, stop, draws, c, directions):
    """Fill directions[c] with the difference of two rows of a node: the farthest of a few random pairs."""
    farthest = np.float32(-1.0)
    first = second = order[start]
    for t in range(0, draws.shape[1], 2):
        i = order[start + int(draws[c, t] * (stop - start))]
        j = order[start + int(draws[c, t + 1] * (stop - start))]
        distance = squared_distance(rows, i, rows, j)
        if distance > farthest:
            farthest, first, second = distance, i, j
    for d in range(rows.shape[1]):
        directions[c, d] = rows[first, d] - rows[second, d]


@jit(void(ro(float32, 2), ro(int32), int64, int64, ro(float32, 2), int64, rw(float32)), reassociate=True)
def project_node(rows, order, start, stop, directions, c, projections):
    for p in range(start, stop):
        projections[p] = project_row(rows, order[p], directions, c)


@jit(void(rw(int32), rw(float32), int64, int64, int64))
def quickselect(order, projections, start, stop, middle):
    """Reorder [start, stop) so that projections before `middle` are at most, and those after at least, projections[middle]."""
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
    """Sort `order`, a permutation of the rows, into leaves; fill directions[c] and thresholds[c] with split c.

    `draws` has random numbers in [0, 1) for every split, which choose its pairs of rows.
    """
    n = rows.shape[0]
    projections = np.empty(n, np.float32)
    stack = np.empty((64, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, thresholds.shape[0]
    top = 1
    while top > 0:
        top -= 1
        a, b = stack[top, 0], stack[top, 1]
        if b - a > 1:
            c = (a + b) // 2
            start, middle, stop = max(a * leaf_size - offset, 0), c * leaf_size - offset, min(b * leaf_size - offset, n)
            choose_direction(rows, order, start, stop, draws, c, directions)
            project_node(rows, order, start, stop, directions, c, projections)
            quickselect(order, projections, start, stop, middle)
            thresholds[c] = projections[middle]
            stack[top, 0], stack[top, 1] = a, c
            stack[top + 1, 0], stack[top + 1, 1] = c, b
            top += 2


@jit(void(ro(float32, 2), ro(float32, 2), ro(float32), rw(int32)))
def find_leaves(rows, directions, thresholds, leaves):
    """Fill leaves[i] with the leaf of row i in a tree."""
    for i in range(rows.shape[0]):
        a, b = 0, thresholds.shape[0]
        while b - a > 1:
            c = (a + b) // 2
            if project_row(rows, i, directions, c) < thresholds[c]:
                b = c
            else:
                a = c
        leaves[i] = a


# A constant, so that loops over a group are unrolled.
GROUP_SIZE = 64
# Candidates of one matrix product: their rows and products stay in the second-level cache.
BATCH_SIZE = 256
# Rounding error of a squared distance, relative to the squared norms: with norms inflated by this factor, rounding makes no two
# rows far from the centre look close.
ROUNDING_SHARE = np.float32(2.0**-20)
LENGTH_INFLATION = np.float32(1.0 + 2.0**-20)
# The rounding error that a list tolerates, relative to its last distance.
ROUNDING_TOLERANCE = np.float32(2.0**-5)


@jit(void(ro(float32, 2), ro(int32), rw(float32), rw(float32, 2), rw(float32)), reassociate=True)
def load_group(rows, members, centre, block, squares):
    """Fill block, a column for each member, with the centred rows and a 1; and `squares` with their squared norms."""
    n_columns = rows.shape[1]
    centre[:] = 0.0
    for row in members:
        for d in range(n_columns):
            centre[d] += rows[row, d]
    share = np.float32(1.0) / np.float32(members.shape[0])
    for d in range(n_columns):
        centre[d] *= share
    block[:] = 0.0
    squares[:] = 0.0
    for j in range(members.shape[0]):
        row = members[j]
        total = np.float32(0.0)
        for d in range(n_columns):
            difference = rows[row, d] - centre[d]
            block[d, j] = difference
            total += difference * difference
        block[n_columns, j] = 1.0
        squares[j] = total * LENGTH_INFLATION


@jit(void(ro(float32, 2), ro(int32), ro(float32), rw(float32, 2)), reassociate=True)
def load_batch(rows, candidates, centre, batch):
    """Fill batch with rows minus the centre, followed by minus half their squared norm."""
    n_columns = rows.shape[1]
    for i in range(candidates.shape[0]):
        row = candidates[i]
        total = np.float32(0.0)
        for d in range(n_columns):
            difference = rows[row, d] - centre[d]
            batch[i, d] = difference
            total += difference * difference
        batch[i, n_columns] = np.float32(-0.5) * LENGTH_INFLATION * total


@jit(float32(rw(float32, 2), rw(int32, 2), int64, float32, int32))
def insert_neighbor(distances, entries, row, distance, other):
    """Insert a row into the list of another; it is nearer than the last entry and not in the list. Return the new last distance."""
    t = entries.shape[1] - 1
    while t > 0 and distances[row, t - 1] > distance:
        distances[row, t] = distances[row, t - 1]
        entries[row, t] = entries[row, t - 1]
        t -= 1
    distances[row, t] = distance
    entries[row, t] = 2 * other + 1
    return distances[row, entries.shape[1] - 1]


@jit(void(rw(float32, 2), ro(int32), ro(int32), ro(float32), rw(float32), rw(float32, 2), rw(int32, 2)))
def offer_candidates(products, candidates, members, squares, limits, distances, entries):
    """Insert candidates into the lists of members: those nearer than the last entry, whose product is above the limit."""
    for i in range(candidates.shape[0]):
        other = candidates[i]
        for j in range(0, GROUP_SIZE, 16):
            near = np.int32(0)
            for t in range(16):
                near |= np.int32(products[i, j + t] > limits[j + t])
            if near == 0:
                continue
            for t in range(j, min(j + 16, members.shape[0])):
                row = members[t]
                if products[i, t] > limits[t] and row != other:
                    known = 0
                    for s in range(entries.shape[1]):
                        known += (entries[row, s] >> 1) == other
                    if known == 0:
                        distance = max(squares[t] - np.float32(2.0) * products[i, t], np.float32(0.0))
                        last = insert_neighbor(distances, entries, row, distance, other)
                        limits[t] = np.float32(0.5) * (squares[t] - last)


@jit(
    void(
        ro(float32, 2),
        ro(int32),
        ro(int32),
        rw(float32, 2),
        rw(float32, 2),
        rw(float32, 2),
        rw(float32, 2),
        rw(int32, 2),
    )
)
def compare_group(rows, members, candidates, block, batch_buffer, products, distances, entries):
    """Improve the lists of at most GROUP_SIZE members by the candidates; block, batch_buffer and products are buffers.

    |x - v|^2 = |x|^2 - 2 (x.v - |v|^2 / 2), relative to the mean of the members, so that few digits cancel.
    """
    squares, limits = np.empty(GROUP_SIZE, np.float32), np.full(GROUP_SIZE, np.inf, np.float32)
    centre = np.empty(rows.shape[1], np.float32)
    load_group(rows, members, centre, block, squares)
    for j in range(members.shape[0]):
        limits[j] = np.float32(0.5) * (squares[j] - distances[members[j], distances.shape[1] - 1])
    for start in range(0, candidates.shape[0], BATCH_SIZE):
        part = candidates[start : start + BATCH_SIZE]
        load_batch(rows, part, centre, batch_buffer)
        np.dot(batch_buffer[: part.shape[0]], block, products[: part.shape[0]])
        offer_candidates(products, part, members, squares, limits, distances, entries)


@jit(int64(rw(int32), int64, ro(float32, 2), ro(float32, 2)), reassociate=True)
def partition_near(members, first, rows, distances):
    """Move the members near members[first] directly behind it; return the start of the others.

    Near means so near that rounding errors change no list. A group that consists of distant clusters is compared cluster by
    cluster.
    """
    pivot, stop = members[first], first + 1
    for j in range(first + 1, members.shape[0]):
        row = members[j]
        if (
            squared_distance(rows, row, rows, pivot) * ROUNDING_SHARE
            <= ROUNDING_TOLERANCE * distances[row, distances.shape[1] - 1]
        ):
            members[j], members[stop] = members[stop], row
            stop += 1
    return stop


@jit(void(ro(float32, 2), ro(int32), int64, int64, int64, rw(float32, 2), rw(int32, 2)))
def join_leaves(rows, order, offset, start, stop, distances, entries):
    """Compare the rows of every leaf with each other; leaves are runs of GROUP_SIZE in order[start - offset : stop - offset]."""
    block = np.empty((rows.shape[1] + 1, GROUP_SIZE), np.float32)
    batch, products = (
        np.empty((BATCH_SIZE, rows.shape[1] + 1), np.float32),
        np.empty((BATCH_SIZE, GROUP_SIZE), np.float32),
    )
    for p in range(start - offset, stop - offset, GROUP_SIZE):
        leaf = order[max(p, 0) : min(p + GROUP_SIZE, order.shape[0])]
        members = leaf.copy()
        first = 0
        while first < members.shape[0]:
            last = partition_near(members, first, rows, distances)
            compare_group(rows, members[first:last], leaf, block, batch, products, distances, entries)
            first = last


@jit(void(ro(int32, 2), int64, int64, int64, rw(int32, 2), rw(int32)))
def build_links(entries, width, start, stop, links, n_links):
    """Fill links[v], v in [start, stop), with the first `width` entries of the list of v and with the rows that have v among
    theirs.

    Of the latter the first ones, until the row of `links` is full. `n_links[v]` is the number of links.
    """
    for v in range(start, stop):
        n_links[v] = 0
        for t in range(width):
            if entries[v, t] >= 0:
                links[v, n_links[v]] = entries[v, t]
                n_links[v] += 1
    for u in range(entries.shape[0]):
        for t in range(width):
            v = entries[u, t] >> 1
            if v >= start and v < stop and n_links[v] < links.shape[1]:
                known = 0
                for s in range(width):
                    known += (entries[v, s] >> 1) == u
                if known == 0:
                    links[v, n_links[v]] = 2 * u + (entries[u, t] & 1)
                    n_links[v] += 1


@jit(int64(ro(int32, 2), ro(int32), int64, int64, rw(uint8), rw(int32), rw(int32)))
def gather_candidates(links, n_links, start, stop, mark, linked, candidates):
    """Fill `candidates` with the rows that a row of the group reaches by two links, at least one of them new; return their number.

    `mark` is 0 for every row, before and after. Rows that the group reaches by old links alone have been compared with it before.
    """
    n_near = 0
    for u in range(start, stop):
        for t in range(n_links[u]):
            v = links[u, t] >> 1
            linked[n_near] = v
            n_near += mark[v] == 0
            mark[v] |= np.uint8(3) if links[u, t] & 1 == 0 else np.uint8(1)
    n_found = 0
    for i in range(n_near):
        fresh = mark[linked[i]] == 1
        mark[linked[i]] = fresh
        candidates[n_found] = linked[i]
        n_found += fresh
        linked[i] = 2 * linked[i] + fresh
    for i in range(n_near):
        fresh = linked[i] & 1
        u = linked[i] >> 1
        for t in range(n_links[u]):
            # Without branches, which the processor would mispredict every third time.
            v = links[u, t] >> 1
            take = np.uint8((links[u, t] | fresh) & 1)
            candidates[n_found] = v
            n_found += take & (1 - mark[v])
            mark[v] |= take
    for i in range(n_found):
        mark[candidates[i]] = 0
    return n_found


@jit(int64(ro(float32, 2), ro(int32, 2), ro(int32), int64, int64, rw(float32, 2), rw(int32, 2)))
def join_groups(rows, links, n_links, start, stop, distances, entries):
    """Compare every group in the rows start .. stop with its candidates; return the number of pairs compared."""
    n = rows.shape[0]
    mark, found = np.zeros(n, np.uint8), np.empty(n + 1, np.int32)
    near = np.empty(GROUP_SIZE * links.shape[1] + 1, np.int32)
    block = np.empty((rows.shape[1] + 1, GROUP_SIZE), np.float32)
    batch, products = (
        np.empty((BATCH_SIZE, rows.shape[1] + 1), np.float32),
        np.empty((BATCH_SIZE, GROUP_SIZE), np.float32),
    )
    n_pairs = 0
    for first in range(start, stop, GROUP_SIZE):
        last = min(first + GROUP_SIZE, stop)
        n_found = gather_candidates(links, n_links, first, last, mark, near, found)
        members = np.arange(first, last).astype(np.int32)
        begin = 0
        while begin < members.shape[0]:
            end = partition_near(members, begin, rows, distances)
            compare_group(rows, members[begin:end], found[:n_found], block, batch, products, distances, entries)
            begin = end
        n_pairs += n_found * (last - first)
    return n_pairs


@jit(void(ro(float32, 2), ro(int32, 2), ro(int32), ro(float32, 2), ro(int32, 2), ro(int32, 2), rw(int32, 2)))
def best_first_search(rows, links, n_links, queries, starts, orders, out):
    """Fill out[i] with the nearest rows found for query i, nearest first, padded with -1.

    The search starts from the leaves at starts[i, t] of orders[t]. It follows the links of the nearest row that has not been
    followed, until there is none in the list.
    """
    n, size = rows.shape[0], out.shape[1]
    mark, marked = np.zeros(n, np.uint8), np.empty(n, np.int32)
    distances, entries = np.empty((1, size), np.float32), np.empty((1, size), np.int32)
    for i in range(queries.shape[0]):
        distances[:] = np.inf
        entries[:] = -1
        n_marked = 0
        for t in range(starts.shape[1]):
            for p in range(max(starts[i, t], 0), min(starts[i, t] + GROUP_SIZE, n)):
                v = orders[t, p]
                if mark[v] == 0:
                    mark[v] = 1
                    marked[n_marked] = v
                    n_marked += 1
                    distance = squared_distance(queries, i, rows, v)
                    if distance < distances[0, size - 1]:
                        insert_neighbor(distances, entries, 0, distance, v)
        at = 0
        while at < size and entries[0, at] >= 0:
            if entries[0, at] & 1 == 0:
                at += 1
                continue
            entries[0, at] -= 1
            u = entries[0, at] >> 1
            for t in range(n_links[u]):
                v = links[u, t] >> 1
                if mark[v] == 0:
                    mark[v] = 1
                    marked[n_marked] = v
                    n_marked += 1
                    distance = squared_distance(queries, i, rows, v)
                    if distance < distances[0, size - 1]:
                        insert_neighbor(distances, entries, 0, distance, v)
            at = 0
        for t in range(size):
            out[i, t] = entries[0, t] >> 1
        for t in range(n_marked):
            mark[marked[t]] = 0


@jit(void(ro(int32, 2), ro(float64, 2), ro(int32), ro(int64), rw(float64, 2), rw(int32, 2)))
def expand_neighbor_lists(candidates, candidate_distances, members, starts, dist, rows):
    """Fill every row of dist and rows with the rows that its candidates represent: nearest first, equal distances by row.

    Lists are padded with infinity and -1. Point j represents `members[starts[j] : starts[j + 1]]`, ascending. Negative candidates
    are skipped, and duplicates are inserted once.
    """
    size = dist.shape[1]
    dist[:] = np.inf
    rows[:] = -1
    for i in range(dist.shape[0]):
        count = 0
        for c in range(candidates.shape[1]):
            if candidates[i, c] < 0:
                continue
            d = candidate_distances[i, c]
            for m in range(starts[candidates[i, c]], starts[candidates[i, c] + 1]):
                row = members[m]
                p = count
                while p > 0 and is_nearer(d, row, dist[i, p - 1], rows[i, p - 1]):
                    p -= 1
                if p == size:
                    break
                if p > 0 and dist[i, p - 1] == d and rows[i, p - 1] == row:
                    continue
                count = min(count + 1, size)
                for q in range(count - 1, p, -1):
                    dist[i, q], rows[i, q] = dist[i, q - 1], rows[i, q - 1]
                dist[i, p], rows[i, p] = d, row
