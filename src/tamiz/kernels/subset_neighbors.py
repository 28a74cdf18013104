"""Nearest rows for many sets of columns together, and the predictions of k-nearest neighbours from them.

The distance of two rows under a set is the root of the sum of (x - y)^2 over its columns, in the order of the columns; rows are
ordered by `primitives.is_nearer`. The search adds the sums in the order of a tree, so that columns shared by sets are added once;
the last bits may differ from those of the definition. Candidates are stored as *keys*: integers whose high bits are those of a
sum and whose low bits are the number of the row, so that one comparison covers both. If the last of the nearest rows and the next
row may be ties, distances are computed again as defined, and decide.

Values have a row for every column, because loops run over rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.types import UniTuple, bool_, float64, int64, void
from numpy.typing import NDArray

from tamiz.kernels import jit, record, ro, rw
from tamiz.kernels.primitives import TIE_WIDTH, distance_key, is_nearer


class SubsetTree(NamedTuple):
    """Column sets as a tree: a node adds the columns shared by all sets below it that no node above it adds.

    Attributes
    ----------
    guides, common : ndarray
        The coordinates of more than half of the sets, and those of all sets, which node 0 has.
    depth, subtree_ends, parent_nodes, node_sets : ndarray of shape (n_nodes,)
        Nodes are in depth-first order. `subtree_ends` is the node after the last descendant, `node_sets` the number of the set
        that is complete at a node, or -1.
    starts, columns : ndarray
        Node v adds columns[starts[v] : starts[v + 1]].
    first, stop : ndarray of shape (n_columns,)
        Column j has the coordinates first[j] .. stop[j].
    set_starts, set_columns : ndarray
        The coordinates of each set, ascending.
    """

    guides: NDArray[np.int64]
    common: NDArray[np.int64]
    depth: NDArray[np.int64]
    subtree_ends: NDArray[np.int64]
    parent_nodes: NDArray[np.int64]
    node_sets: NDArray[np.int64]
    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    first: NDArray[np.int64]
    stop: NDArray[np.int64]
    set_starts: NDArray[np.int64]
    set_columns: NDArray[np.int64]


_TREE = record(SubsetTree, *[ro(int64)] * 12)


@jit(void(ro(int64, 3), ro(float64, 3), ro(float64), ro(float64), ro(int64), rw(float64)))
def add_squared_errors(nearest, weights, labels, truth, set_index, squared_errors):
    """Add the squared error of every query, predicted by the weighted mean of its neighbours; set c is set_index[c]."""
    for i in range(nearest.shape[0]):
        for c in range(nearest.shape[1]):
            total, weight = 0.0, 0.0
            for t in range(nearest.shape[2]):
                total += labels[nearest[i, c, t]] * weights[i, c, t]
                weight += weights[i, c, t]
            error = truth[i] - total / weight
            squared_errors[set_index[c]] += error * error


# Rows of a block: the sums of a path down the tree stay in the first-level cache.
_BLOCK_ROWS = 64
# The bucket of a sum is its bits shifted right by this: 16 buckets for each doubling.
_LEADING_SHIFT = 48
_N_BUCKETS = 256
# Rows sampled to estimate which are near; rows for each neighbour, and additional rows, that are sorted before the rest.
_SAMPLE_SIZE = 64
_ROWS_PER_NEIGHBOR, _EXTRA_ROWS = 4, 400
# Rows of the first block, before any limit is known.
_FIRST_BLOCK_ROWS = 16
_INFINITE_KEY = np.iinfo(np.int64).max


@jit(void(ro(float64), float64, ro(int64), rw(float64)))
def _add_squares(values, x, block, sums):
    for r in range(block.shape[0]):
        difference = x - values[block[r]]
        sums[r] += difference * difference


@jit(void(ro(float64, 2), ro(float64), ro(int64), rw(float64)))
def _sum_squares(values, query, coordinates, sums):
    sums[:] = 0.0
    for j in coordinates:
        coordinate, x = values[j], query[j]
        for r in range(sums.shape[0]):
            difference = x - coordinate[r]
            sums[r] += difference * difference


@jit(int64(ro(int64), int64))
def _estimate_limit(bits, n_wanted):
    """Return bits such that about `n_wanted` rows have smaller ones, from a sample; infinity if that is about half of the rows."""
    n_rows = bits.shape[0]
    rank = n_wanted * _SAMPLE_SIZE // n_rows + 1
    if 2 * rank > _SAMPLE_SIZE:
        return _INFINITE_KEY
    sample = np.empty(_SAMPLE_SIZE, dtype=np.int64)
    for s in range(_SAMPLE_SIZE):
        one, t = bits[s * n_rows // _SAMPLE_SIZE], s
        while t > 0 and sample[t - 1] > one:
            sample[t] = sample[t - 1]
            t -= 1
        sample[t] = one
    return ((sample[rank] >> _LEADING_SHIFT) + 1) << _LEADING_SHIFT


@jit(UniTuple(int64, 2)(ro(int64), int64, int64, rw(int64), rw(int64), int64))
def _bucket_order(bits, least, limit, counts, order, at):
    """Write the rows with bits in [least, limit) into order[at:], sorted by their leading bits.

    Return the end of the rows written, and the leading bits up to which they are not sorted.
    """
    end = at
    for i in range(bits.shape[0]):
        order[end] = i
        end += (bits[i] >= least) & (bits[i] < limit)
    part = np.empty(end - at, dtype=np.int64)
    for r in range(end - at):
        part[r] = order[at + r]
    largest = 0
    for i in part:
        largest = max(largest, bits[i])
    lowest = max(0, (largest >> _LEADING_SHIFT) - (_N_BUCKETS - 1))
    for b in range(_N_BUCKETS):
        counts[b] = 0
    for i in part:
        counts[max(0, (bits[i] >> _LEADING_SHIFT) - lowest)] += 1
    total = at
    for b in range(_N_BUCKETS):
        total += counts[b]
        counts[b] = total - counts[b]
    for i in part:
        bucket = max(0, (bits[i] >> _LEADING_SHIFT) - lowest)
        order[counts[bucket]] = i
        counts[bucket] += 1
    return end, lowest


@jit(int64(int64, int64))
def _bucket_floor(bits, lowest):
    """Return a lower bound of the bits of this row and of all rows after it in the approximate order."""
    leading = bits >> _LEADING_SHIFT
    return leading << _LEADING_SHIFT if leading > lowest else 0


@jit(void(rw(int64), int64))
def _insert_key(keys, key):
    """Insert a key into an ascending list, replacing the last one."""
    t = keys.shape[0] - 1
    while t > 0 and keys[t - 1] > key:
        keys[t] = keys[t - 1]
        t -= 1
    keys[t] = key


@jit(void(rw(float64), rw(int64), float64, int64))
def _insert_row(distances, rows, distance, row):
    """Insert a row into a list, the nearest first, replacing the last one, unless it is farther than that."""
    t = distances.shape[0] - 1
    if not is_nearer(distance, row, distances[t], rows[t]):
        return
    while t > 0 and is_nearer(distance, row, distances[t - 1], rows[t - 1]):
        distances[t], rows[t] = distances[t - 1], rows[t - 1]
        t -= 1
    distances[t], rows[t] = distance, row


@jit(
    void(
        ro(float64, 2),
        ro(float64),
        ro(int64),
        ro(int64),
        ro(int64),
        int64,
        int64,
        rw(float64),
        rw(float64),
        rw(int64),
    )
)
def _recompute_nearest(values, query, members, order, bits, lowest, reach, sums, distances, rows):
    """Fill a list with the nearest rows under one set, with distances summed in the order of its columns.

    `order` has the rows in the approximate order of their `bits`; rows with bits above `reach` are not needed.
    """
    for t in range(distances.shape[0]):
        distances[t], rows[t] = np.inf, _INFINITE_KEY
    n_rows = order.shape[0]
    at = 0
    while at < n_rows and _bucket_floor(bits[order[at]], lowest) <= reach:
        here = min(_BLOCK_ROWS, n_rows - at)
        block = order[at : at + here]
        for r in range(here):
            sums[r] = 0.0
        for t in range(members.shape[0]):
            column, x = values[members[t]], query[members[t]]
            for r in range(here):
                difference = x - column[block[r]]
                sums[r] += difference * difference
        for r in range(here):
            _insert_row(distances, rows, math.sqrt(sums[r]), block[r])
        at += here


@jit(int64(ro(int64), int64))
def _least_bits(bits, n):
    least = _INFINITE_KEY
    for r in range(n):
        least = min(least, bits[r])
    return least


@jit(void(ro(int64), ro(int64), int64, rw(int64)))
def _insert_near_rows(bits, block, high, keys):
    """Insert the keys of the rows of a block that are nearer than the last of an ascending list."""
    worst, n_near = keys[keys.shape[0] - 1], 0
    for r in range(block.shape[0]):
        n_near += ((bits[r] & high) | block[r]) < worst
    if n_near > 0:
        for r in range(block.shape[0]):
            key = (bits[r] & high) | block[r]
            if key < keys[keys.shape[0] - 1]:
                _insert_key(keys, key)


@jit(void(ro(int64, 2), ro(int64), ro(int64), rw(int64)))
def _update_limits(keys, node_sets, parent_nodes, limits):
    """Fill the largest key of any set at or below each node, beyond which no row changes the result."""
    n_nodes, last = node_sets.shape[0], keys.shape[1] - 1
    for v in range(n_nodes):
        limits[v] = 0
    for v in range(n_nodes - 1, 0, -1):
        if node_sets[v] >= 0:
            limits[v] = keys[node_sets[v], last]
        limits[parent_nodes[v]] = max(limits[parent_nodes[v]], limits[v])


@jit(void(ro(float64, 2), ro(float64, 2), _TREE, ro(bool_), rw(int64, 3), rw(bool_, 2)))
def nearest_by_sets(values, queries, tree, is_exact, nearest, tied):
    """Fill the nearest rows of every query under every set, and whether the next row is as near as the last of them (`tied`).

    Rows are visited in the order of their distance over `guides`. If these are the `common` ones, the search ends at
    the first row whose distance over them exceeds all limits. `is_exact[c]` means that the sums of set c are exact in any
    order.
    """
    (
        guides,
        common,
        depth,
        subtree_ends,
        parent_nodes,
        node_sets,
        starts,
        columns,
        first,
        stop,
        set_starts,
        set_columns,
    ) = tree
    n_rows, n_sets, n_neighbors = values.shape[1], nearest.shape[1], nearest.shape[2]
    n_low = 1
    while (1 << n_low) < n_rows:
        n_low += 1
    high, low = ~((np.int64(1) << n_low) - 1), (np.int64(1) << n_low) - 1
    bounded = guides.shape[0] == common.shape[0]
    n_nodes = depth.shape[0]
    guide_sums, base = np.empty(n_rows), np.empty(n_rows)
    # One more than there are rows: rows that are skipped are written at the end, and overwritten.
    order, counts = np.arange(n_rows + 1), np.empty(_N_BUCKETS, dtype=np.int64)
    deepest = 0
    for v in range(n_nodes):
        deepest = max(deepest, depth[v])
    sums = np.empty((deepest + 1, _BLOCK_ROWS))
    bits, guide_bits = sums.view(np.int64), guide_sums.view(np.int64)
    if bounded:
        base = guide_sums
    least = np.zeros(sums.shape[0], dtype=np.int64)
    n_columns = first.shape[0]
    squares, computed_block = np.empty((n_columns, _BLOCK_ROWS)), np.zeros(n_columns, dtype=np.int64)
    keys, limits = np.empty((n_sets, n_neighbors + 1), dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    pair = np.empty(2, dtype=np.int64)
    last, after = pair.view(np.float64)[:1], pair.view(np.float64)[1:]
    distances, rows = np.empty(n_neighbors + 1), np.empty(n_neighbors + 1, dtype=np.int64)
    n_blocks = 0
    for i in range(queries.shape[0]):
        query = queries[i]
        _sum_squares(values, query, guides, guide_sums)
        n_ordered, lowest, edge = n_rows, np.int64(0), _INFINITE_KEY
        if guides.shape[0] > 0:
            edge = _estimate_limit(guide_bits, _ROWS_PER_NEIGHBOR * (n_neighbors + 1) + _EXTRA_ROWS)
            n_ordered, lowest = _bucket_order(guide_bits, 0, edge, counts, order, 0)
        if not bounded:
            _sum_squares(values, query, common, base)
        for c in range(n_sets):
            for t in range(n_neighbors + 1):
                keys[c, t] = _INFINITE_KEY
        for v in range(n_nodes):
            limits[v] = _INFINITE_KEY
        at, size = 0, (_FIRST_BLOCK_ROWS if bounded else _BLOCK_ROWS)
        while at < n_rows:
            if at == n_ordered:
                if bounded and edge > limits[0]:
                    break
                n_ordered, lowest = _bucket_order(guide_bits, edge, _INFINITE_KEY, counts, order, at)
            if bounded and _bucket_floor(guide_bits[order[at]], lowest) > limits[0]:
                break
            here = min(size, n_ordered - at)
            size = min(2 * size, _BLOCK_ROWS)
            block = order[at : at + here]
            n_blocks += 1
            for r in range(here):
                sums[0, r] = base[block[r]]
            least[0] = _least_bits(bits[0], here) & high
            v = 1
            while v < n_nodes:
                d = depth[v]
                if least[d - 1] > limits[v]:
                    v = subtree_ends[v]
                    continue
                mine, parents = sums[d], sums[d - 1]
                for r in range(here):
                    mine[r] = parents[r]
                for t in range(starts[v], starts[v + 1]):
                    j = columns[t]
                    square = squares[j]
                    if computed_block[j] != n_blocks:
                        computed_block[j] = n_blocks
                        for r in range(here):
                            square[r] = 0.0
                        for coordinate in range(first[j], stop[j]):
                            _add_squares(values[coordinate], query[coordinate], block, square)
                    for r in range(here):
                        mine[r] += square[r]
                c = node_sets[v]
                if c < 0:
                    least[d] = _least_bits(bits[d], here) & high
                else:
                    _insert_near_rows(bits[d], block, high, keys[c])
                v += 1
            _update_limits(keys, node_sets, parent_nodes, limits)
            at += here
        for c in range(n_sets):
            pair[0], pair[1] = keys[c, n_neighbors - 1] & high, keys[c, n_neighbors] & high
            more = keys[c, n_neighbors] != _INFINITE_KEY
            n_members = set_starts[c + 1] - set_starts[c]
            # The rounding error of a sum of squares in two orders, the bits that a key truncates, and the width of a tie.
            slack = 4.0 * (2.0 ** (n_low - 52) + (n_members + 3) * 2.0**-53 + TIE_WIDTH)
            tied[i, c] = False
            if more and not is_exact[c] and not after[0] > last[0] * (1.0 + slack):
                last[0] *= 1.0 + slack
                reach = pair[0] if bounded else _INFINITE_KEY
                if n_ordered < n_rows and reach >= edge:
                    n_ordered, lowest = _bucket_order(guide_bits, edge, _INFINITE_KEY, counts, order, n_ordered)
                members = set_columns[set_starts[c] : set_starts[c + 1]]
                _recompute_nearest(
                    values, query, members, order[:n_ordered], guide_bits, lowest, reach, sums[0], distances, rows
                )
                tied[i, c] = distance_key(distances[n_neighbors]) == distance_key(distances[n_neighbors - 1])
                for t in range(n_neighbors):
                    nearest[i, c, t] = rows[t]
            else:
                tied[i, c] = more and is_exact[c] and pair[0] == pair[1]
                for t in range(n_neighbors):
                    nearest[i, c, t] = keys[c, t] & low


@jit(
    void(
        ro(float64),
        ro(int64),
        ro(float64),
        int64,
        rw(int64, 3),
        rw(bool_, 2),
    )
)
def nearest_by_column(column, order, queries, set_index, nearest, tied):
    """Fill the nearest rows of every query under a set of one column, as set number `set_index`.

    `order` has the rows sorted by value, equal ones ascending.
    """
    n_rows, n_neighbors = column.shape[0], nearest.shape[2]
    levels, starts = np.empty(n_rows), np.empty(n_rows + 1, dtype=np.int64)
    n_levels = 0
    for p in range(n_rows):
        value = column[order[p]]
        if p == 0 or value != levels[n_levels - 1]:
            levels[n_levels], starts[n_levels] = value, p
            n_levels += 1
    starts[n_levels] = n_rows
    distances, rows = np.empty(n_neighbors + 1), np.empty(n_neighbors + 1, dtype=np.int64)
    for i in range(queries.shape[0]):
        for t in range(n_neighbors + 1):
            distances[t], rows[t] = np.inf, _INFINITE_KEY
        above, end = 0, n_levels
        while above < end:
            middle = (above + end) // 2
            if levels[middle] < queries[i]:
                above = middle + 1
            else:
                end = middle
        below = above - 1
        while below >= 0 or above < n_levels:
            down = queries[i] - levels[below] if below >= 0 else np.inf
            up = levels[above] - queries[i] if above < n_levels else np.inf
            lower = below >= 0 and (down <= up or above == n_levels)
            g = below if lower else above
            distance = down if lower else up
            if distance_key(distance) > distance_key(distances[n_neighbors]):
                break
            for p in range(starts[g], min(starts[g + 1], starts[g] + n_neighbors + 1)):
                _insert_row(distances, rows, distance, order[p])
            if lower:
                below -= 1
            else:
                above += 1
        farthest, after = distance_key(distances[n_neighbors - 1]), distance_key(distances[n_neighbors])
        tied[i, set_index] = rows[n_neighbors] != _INFINITE_KEY and after == farthest
        for t in range(n_neighbors):
            nearest[i, set_index, t] = rows[t]


@jit(void(ro(float64, 2), ro(float64, 2), ro(int64), ro(int64), rw(int64, 3), rw(float64, 3)))
def fill_distance_weights(values, queries, set_starts, set_columns, nearest, weights):
    """Sort neighbours, the nearest first, and fill the weight of each: 1 / distance.

    If some are at distance 0, they have weight 1 and all others 0.
    """
    n_neighbors = nearest.shape[2]
    distances, rows = np.empty(n_neighbors), np.empty(n_neighbors, dtype=np.int64)
    for i in range(nearest.shape[0]):
        for c in range(nearest.shape[1]):
            for t in range(n_neighbors):
                distances[t], rows[t] = np.inf, _INFINITE_KEY
            for t in range(n_neighbors):
                row, total = nearest[i, c, t], 0.0
                for m in range(set_starts[c], set_starts[c + 1]):
                    difference = queries[i, set_columns[m]] - values[set_columns[m], row]
                    total += difference * difference
                _insert_row(distances, rows, math.sqrt(total), row)
            for t in range(n_neighbors):
                nearest[i, c, t] = rows[t]
                if distances[0] == 0.0:
                    weights[i, c, t] = 1.0 if distances[t] == 0.0 else 0.0
                else:
                    weights[i, c, t] = 1.0 / distances[t]
