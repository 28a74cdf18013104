"""Nearest-neighbour distances and counts of mutual information estimators.

Of each point, the estimators count the points that are nearer in a subspace than its k-th neighbour in all coordinates. In a table
with ties other points may be *at* that distance, in the *shell*. They are ordered at random, and the mean over all orders is
computed exactly: with S points in the shell of all coordinates, the k-th neighbour is the j-th of them in a random order, and R
points that are only in the shell of the subspace are anywhere between them.

Distances are equal if they differ by no more than a few rounding errors of the values, so that ties of decimal fractions are ties.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.types import float64, int32, int64, uint64, void

from tamiz.kernels import jit, ro, rw

# Points of a leaf of the tree; fewer make more boxes to compare with, more make more points.
LEAF_SIZE = 8
# The rounding error of a difference of two values, relative to the larger of them, is a few units of 2**-52.
TOLERANCE = 16 * 2.0**-52
# The share of subnormal numbers would be 0, and the k-th neighbour would not be beyond the nearer ones.
MIN_SLACK = 5e-324

_DIGIT_BITS, _N_DIGITS = 11, 6


@jit(void(ro(float64), ro(int32), rw(int64), rw(float64), rw(int64)))
def split_classes(values, codes, starts, by_class, places):
    """Fill by_class with the values of one class after another, in their order, and `places` with their positions in `values`.

    starts[c] is where class c begins, and afterwards where it ends.
    """
    for i in range(values.shape[0]):
        to = starts[codes[i]]
        starts[codes[i]] = to + 1
        by_class[to], places[to] = values[i], i


@jit(int64(ro(float64), int64, int64, float64, float64))
def _end_within(values, start, end, x, reach):
    """Return the end of the values from `start` on, of sorted values, that exceed x by at most `reach`.

    By steps of doubled length, then by bisection.
    """
    inside, step = start - 1, int64(1)
    while inside + step < end and values[inside + step] - x <= reach:
        inside += step
        step *= 2
    outside = min(inside + step, end)
    while outside - inside > 1:
        middle = (inside + outside) // 2
        if values[middle] - x <= reach:
            inside = middle
        else:
            outside = middle
    return outside


@jit(int64(ro(float64), int64, int64, float64, float64))
def _start_within(values, start, begin, x, reach):
    inside, step = start, int64(1)
    while inside - step >= begin and x - values[inside - step] <= reach:
        inside -= step
        step *= 2
    outside = max(inside - step, begin - 1)
    while inside - outside > 1:
        middle = (inside + outside) // 2
        if x - values[middle] <= reach:
            inside = middle
        else:
            outside = middle
    return inside


@jit(float64(int64, int64, int64, int64, int64, ro(float64)))
def expected_digamma(n_nearer, n_ties, n_own, n_others, rank, psi):
    """Return the mean of psi(1 + the points of a subspace before the k-th neighbour) over all orders of the shell.

    `n_nearer` points are nearer than the shell. The k-th neighbour is number `rank` of the `n_ties` points of the shell of all
    coordinates, of which `n_own` are also in the shell of the subspace; `n_others` are only in that of the subspace. Of the n_own,
    a are before it (hypergeometric), and of the others t (negative hypergeometric).
    """
    total = weight = 0.0
    of_own = 1.0
    for a in range(max(0, rank - 1 - n_ties + n_own), min(rank - 1, n_own) + 1):
        inner = inner_weight = 0.0
        of_others = 1.0
        for t in range(n_others + 1):
            inner += of_others * psi[n_nearer + 1 + a + t]
            inner_weight += of_others
            if t < n_others:
                ratio = (t + rank) / (t + 1) * ((n_others - t) / (n_ties + n_others - t - rank))
                of_others *= ratio
                if ratio < 1.0 and of_others < 1e-18 * inner_weight:
                    break
                if of_others > 1e200:
                    of_others, inner, inner_weight = of_others * 1e-200, inner * 1e-200, inner_weight * 1e-200
        total += of_own * inner / inner_weight
        weight += of_own
        of_own *= (n_own - a) * (rank - 1 - a) / ((a + 1) * (n_ties - n_own - rank + a + 2))
        if weight > 1e200:
            of_own, total, weight = of_own * 1e-200, total * 1e-200, weight * 1e-200
    return total / weight


@jit(float64(ro(float64), ro(int64), ro(float64), int64, ro(float64)))
def class_terms(own, places, values, n_neighbors, psi):
    """Return the sum, over the sorted values `own` of one class, of psi(k) - the mean of psi(nearer values in all classes).

    `values` are the sorted values of all classes, with own[i] at places[i]. The k-th neighbour of a value is in a window of k + 1
    values. The windows move only forward, and so do the ends of the values that are nearer, because the distance to the k-th
    neighbour changes by no more than the value does.
    """
    n, n_all = own.shape[0], values.shape[0]
    k = min(n_neighbors, n - 1)
    first = low = high = int64(0)
    total = of_equal = 0.0
    last_equal = np.nan
    for i in range(n):
        x = own[i]
        if x == last_equal:
            total += of_equal
            continue
        first = max(first, i - k)
        while first < i and first + k + 1 < n and own[first + k + 1] - x < x - own[first]:
            first += 1
        to_left, to_right = x - own[first], own[first + k] - x
        distance = max(to_left, to_right)
        slack = max(TOLERANCE * (abs(x) + distance), MIN_SLACK)
        nearer, within = distance - slack, distance + slack
        if nearer <= 0.0:
            # The psi of an equal value: the mean over all orders of them, in closed form.
            n_own = _end_within(own, i, n, x, within) - _start_within(own, i, 0, x, within)
            n_equal = _end_within(values, places[i], n_all, x, within) - _start_within(values, places[i], 0, x, within)
            last_equal, of_equal = x, psi[n_own] - psi[n_equal]
            total += of_equal
            continue
        # The k-th neighbour is at one end of the interval.
        if to_left > to_right:
            low = places[first] + 1
        else:
            high = places[first + k]
        while low > 0 and x - values[low - 1] <= nearer:
            low -= 1
        while x - values[low] > nearer:
            low += 1
        high = max(high, low)
        while high > low and values[high - 1] - x > nearer:
            high -= 1
        while high < n_all and values[high] - x <= nearer:
            high += 1
        n_shell = _end_within(values, high, n_all, x, within) - high + low - _start_within(values, low, 0, x, within)
        if n_shell == 1:
            total += psi[k] - psi[high - low]
            continue
        begin, end = _start_within(own, i, 0, x, nearer), _end_within(own, i, n, x, nearer)
        n_ties = _end_within(own, end, n, x, within) - end + begin - _start_within(own, begin, 0, x, within)
        rank = k - (end - begin - 1)
        total += psi[k] - expected_digamma(high - low - 1, n_ties, n_ties, n_shell - n_ties, rank, psi)
    return total


@jit(void(ro(float64), ro(int64), ro(float64), ro(float64), rw(int64), rw(int64)))
def count_sorted(values, starts, nearer, within, n_nearer, n_within):
    """Count the values of the group of i that are at most nearer[i], and at most within[i], away from it; also i itself.

    The values of group g are values[starts[g] : starts[g + 1]], sorted.
    """
    for g in range(starts.shape[0] - 1):
        begin, end = starts[g], starts[g + 1]
        for i in range(begin, end):
            x = values[i]
            # Where nothing is nearer, i itself is.
            high = _end_within(values, i + 1, end, x, nearer[i])
            low = _start_within(values, i, begin, x, nearer[i])
            n_nearer[i] = high - low
            n_within[i] = _end_within(values, high, end, x, within[i]) - _start_within(values, low, begin, x, within[i])


@jit(void(ro(int64), ro(int64), ro(int64, 2), int64, ro(float64), rw(float64)))
def fill_terms(n_nearer, n_within, ties, subspace, psi, terms):
    """Fill the mean of psi for each point in a subspace from its counts and the ties of `find_reaches`."""
    for i in range(n_nearer.shape[0]):
        n_ties, rank, n_own = ties[i, 0], ties[i, 1], ties[i, 2 + subspace]
        n_others = n_within[i] - n_nearer[i] - n_own
        if n_ties == 0:
            terms[i] = psi[n_within[i]]
        elif n_ties == 1 and n_others == 0:
            terms[i] = psi[n_nearer[i]]
        else:
            terms[i] = expected_digamma(n_nearer[i] - 1, n_ties, n_own, n_others, rank, psi)


@jit(void(rw(float64, 2), rw(int64), int64, int64))
def _swap(points, order, a, b):
    order[a], order[b] = order[b], order[a]
    for j in range(points.shape[1]):
        points[a, j], points[b, j] = points[b, j], points[a, j]


@jit(void(rw(float64, 2), rw(int64), int64, int64, int64, int64))
def _select(points, order, begin, end, middle, axis):
    """Order the points begin .. end so that none before `middle` is larger along the axis than any from `middle` on.

    Quickselect; pivots are pseudo-random, so that no order of the rows makes it quadratic, and points equal to the pivot stop both
    scans, so that ties are divided evenly.
    """
    state = uint64(begin + 1)
    last = end - 1
    while begin < last:
        state = state * uint64(6364136223846793005) + uint64(1442695040888963407)
        pivot = points[begin + int64((state >> uint64(33)) % uint64(last - begin + 1)), axis]
        a, b = begin, last
        while a <= b:
            while points[a, axis] < pivot:
                a += 1
            while points[b, axis] > pivot:
                b -= 1
            if a <= b:
                _swap(points, order, a, b)
                a += 1
                b -= 1
        if middle <= b:
            last = b
        elif middle >= a:
            begin = a
        else:
            return


_TREE = types.Tuple((rw(float64, 2), rw(int64), rw(float64, 2), rw(float64, 2), rw(int64), rw(int64)))


@jit(_TREE(ro(float64, 2), int64, int64))
def _build_tree(points, begin, n):
    """Return a k-d tree of n points: reordered copies, their old positions, and the boxes and ranges of points of the nodes.

    Node 0 is the root and has all points; the children of node v are 2v + 1 and 2v + 2, with half of its points each. The split is
    at the median of the widest side of the box.
    """
    n_axes, n_leaves = points.shape[1], 1
    while n_leaves * LEAF_SIZE < n:
        n_leaves *= 2
    n_nodes = 2 * n_leaves - 1
    own, order = np.empty((n, n_axes)), np.arange(n)
    for i in range(n):
        for j in range(n_axes):
            own[i, j] = points[begin + i, j]
    low, high = np.empty((n_nodes, n_axes)), np.empty((n_nodes, n_axes))
    first, end = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    first[0], end[0] = 0, n
    for node in range(n_nodes):
        start, stop = first[node], end[node]
        widest, width = 0, 0.0
        for j in range(n_axes):
            least = most = own[start, j]
            for i in range(start + 1, stop):
                least, most = min(least, own[i, j]), max(most, own[i, j])
            low[node, j], high[node, j] = least, most
            if most - least > width:
                widest, width = j, most - least
        if 2 * node + 2 < n_nodes:
            middle = (start + stop) // 2
            if width > 0.0:
                _select(own, order, start, stop, middle, widest)
            first[2 * node + 1], end[2 * node + 1] = start, middle
            first[2 * node + 2], end[2 * node + 2] = middle, stop
    return own, order, low, high, first, end


_SEARCHED = (ro(float64, 2), ro(float64, 2), ro(float64, 2), ro(int64), ro(int64))


@jit(float64(ro(float64, 2), ro(float64, 2), ro(float64, 2), int64, int64))
def _box_distance(points, low, high, i, node):
    distance = 0.0
    for j in range(points.shape[1]):
        x = points[i, j]
        distance = max(distance, low[node, j] - x, x - high[node, j])
    return distance


@jit(float64(ro(float64, 2), int64, int64))
def _distance(points, a, b):
    distance = 0.0
    for j in range(points.shape[1]):
        distance = max(distance, abs(points[a, j] - points[b, j]))
    return distance


@jit(void(*_SEARCHED, int64, rw(float64), rw(int64), rw(int64), rw(float64)))
def _find_nearest(points, low, high, first, end, i, nearest, neighbors, stack, bounds):
    """Fill the nearest other points of point i and their ascending distances by the maximum norm; infinite if they are fewer."""
    last = nearest.shape[0] - 1
    for t in range(last + 1):
        nearest[t] = np.inf
    n_open = 1
    stack[0], bounds[0] = 0, 0.0
    while n_open:
        n_open -= 1
        node = stack[n_open]
        if bounds[n_open] >= nearest[last]:
            continue
        while 2 * node + 2 < first.shape[0]:
            near, far = 2 * node + 1, 2 * node + 2
            to_near = _box_distance(points, low, high, i, near)
            to_far = _box_distance(points, low, high, i, far)
            # Of two boxes with the point: the half that it is stored in.
            if to_far < to_near or (to_far == to_near and i >= first[far]):
                near, far, to_far = far, near, to_near
            if to_far < nearest[last]:
                stack[n_open], bounds[n_open] = far, to_far
                n_open += 1
            node = near
        for other in range(first[node], end[node]):
            distance = _distance(points, i, other)
            if distance < nearest[last] and other != i:
                t = last
                while t > 0 and nearest[t - 1] > distance:
                    nearest[t], neighbors[t] = nearest[t - 1], neighbors[t - 1]
                    t -= 1
                nearest[t], neighbors[t] = distance, other


@jit(void(*_SEARCHED, int64, float64, float64, rw(int64), rw(int64)))
def _count_inside(points, low, high, first, end, i, nearer, within, counts, stack):
    """Count the points at most `nearer`, and at most `within`, away from point i in every coordinate; also i itself."""
    counts[0] = counts[1] = 0
    n_open = 1
    stack[0] = 0
    while n_open:
        n_open -= 1
        node = stack[n_open]
        nearest = farthest = 0.0
        for j in range(points.shape[1]):
            x = points[i, j]
            nearest = max(nearest, low[node, j] - x, x - high[node, j])
            farthest = max(farthest, high[node, j] - x, x - low[node, j])
        if nearest > within:
            continue
        if farthest <= nearer or (nearest > nearer and farthest <= within):
            counts[0] += (end[node] - first[node]) * (farthest <= nearer)
            counts[1] += end[node] - first[node]
        elif 2 * node + 2 < first.shape[0]:
            stack[n_open], stack[n_open + 1] = 2 * node + 1, 2 * node + 2
            n_open += 2
        else:
            for other in range(first[node], end[node]):
                distance = _distance(points, i, other)
                counts[0] += distance <= nearer
                counts[1] += distance <= within


@jit(void(ro(float64, 2), ro(types.bool_, 2), int64, int64, float64, rw(int64, 2), int64))
def _add_to_shells(points, subspaces, i, other, nearer, ties, to):
    for v in range(subspaces.shape[0]):
        distance = 0.0
        for j in range(points.shape[1]):
            if subspaces[v, j]:
                distance = max(distance, abs(points[other, j] - points[i, j]))
        ties[to, 2 + v] += distance > nearer


@jit(void(*_SEARCHED, ro(types.bool_, 2), int64, float64, float64, rw(int64, 2), int64, rw(int64)))
def _count_shell(points, low, high, first, end, subspaces, i, nearer, within, ties, to, stack):
    """Fill ties[to] with the sizes of the shell of point i and of its parts in the shells of subspaces, and the nearer points."""
    for column in range(ties.shape[1]):
        ties[to, column] = 0
    n_open = 1
    stack[0] = 0
    while n_open:
        n_open -= 1
        node = stack[n_open]
        if _box_distance(points, low, high, i, node) > within:
            continue
        if 2 * node + 2 < first.shape[0]:
            stack[n_open], stack[n_open + 1] = 2 * node + 1, 2 * node + 2
            n_open += 2
            continue
        for other in range(first[node], end[node]):
            distance = _distance(points, i, other)
            if other == i or distance > within:
                continue
            if distance <= nearer:
                ties[to, 1] += 1
            else:
                ties[to, 0] += 1
                _add_to_shells(points, subspaces, i, other, nearer, ties, to)


@jit(void(ro(float64, 2), ro(int64), ro(types.bool_, 2), int64, rw(float64), rw(float64), rw(int64), rw(int64, 2)))
def find_reaches(points, starts, subspaces, n_neighbors, nearer, within, n_inside, ties):
    """Find the distance of each point to its k-th neighbour in its group, by the maximum norm, and the ties at that distance.

    Group g is points[starts[g] : starts[g + 1]], of at least 2 points; k is min(n_neighbors, size - 1). `subspaces` are masks of
    coordinates. nearer[i] and within[i] are distances a little below and above that of the k-th neighbour. ties[i] is the size of
    the shell, the rank of the k-th neighbour in it, and the number of its points in the shell of each subspace. If the distance is
    0, ties[i, 0] is 0, and n_inside[i] the number of equal points with i itself; otherwise n_inside[i] is k.
    """
    stack, bounds, counts = np.empty(128, np.int64), np.empty(128), np.empty(2, np.int64)
    for g in range(starts.shape[0] - 1):
        begin, n = starts[g], starts[g + 1] - starts[g]
        own, order, low, high, first, end = _build_tree(points, begin, n)
        k = min(n_neighbors, n - 1)
        nearest, neighbors = np.empty(k + 1), np.empty(k + 1, np.int64)
        for i in range(n):
            _find_nearest(own, low, high, first, end, i, nearest, neighbors, stack, bounds)
            largest = 0.0
            for j in range(points.shape[1]):
                largest = max(largest, abs(own[i, j]))
            to, distance = begin + order[i], nearest[k - 1]
            slack = max(TOLERANCE * (largest + distance), MIN_SLACK)
            nearer[to], within[to], n_inside[to] = distance - slack, distance + slack, k
            if distance <= slack:
                _count_inside(own, low, high, first, end, i, within[to], within[to], counts, stack)
                n_inside[to], ties[to, 0] = counts[1], 0
            elif nearest[k] <= within[to] or (k > 1 and nearest[k - 2] > nearer[to]):
                _count_shell(own, low, high, first, end, subspaces, i, nearer[to], within[to], ties, to, stack)
                ties[to, 1] = k - ties[to, 1]
            else:
                ties[to, 0], ties[to, 1] = 1, 1
                for v in range(subspaces.shape[0]):
                    ties[to, 2 + v] = 0
                _add_to_shells(own, subspaces, i, neighbors[k - 1], nearer[to], ties, to)


@jit(void(ro(float64, 2), ro(int64), ro(float64), ro(float64), rw(int64), rw(int64)))
def count_within(points, starts, nearer, within, n_nearer, n_within):
    """Count the points of the group of i that are at most nearer[i], and at most within[i], away in every coordinate; also i."""
    stack, counts = np.empty(128, np.int64), np.empty(2, np.int64)
    for g in range(starts.shape[0] - 1):
        begin, n = starts[g], starts[g + 1] - starts[g]
        own, order, low, high, first, end = _build_tree(points, begin, n)
        for i in range(n):
            to = begin + order[i]
            _count_inside(own, low, high, first, end, i, nearer[to], within[to], counts, stack)
            n_nearer[to], n_within[to] = counts[0], counts[1]
