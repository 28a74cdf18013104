"""Shallow trees on weighted rows, grown from histograms of columns that were coded once."""

from __future__ import annotations

import numpy as np
from numba.types import UniTuple, boolean, float64, int64, uint8, void

from tamiz.kernels import jit, ro, rw


@jit(float64(ro(float64), boolean))
def explained_squares(sums, is_regression):
    """Return the sum of squares explained by the mean: (sum of w y)^2 / W, for classes summed over the class indicators."""
    if is_regression:
        return sums[1] * sums[1] / sums[0] if sums[0] > 0.0 else 0.0
    total = 0.0
    squares = 0.0
    for k in range(sums.shape[0]):
        total += sums[k]
        squares += sums[k] * sums[k]
    return squares / total if total > 0.0 else 0.0


@jit(float64(ro(float64), boolean))
def total_weight(sums, is_regression):
    if is_regression:
        return sums[0]
    total = 0.0
    for k in range(sums.shape[0]):
        total += sums[k]
    return total


_FILL = void(
    ro(uint8, 2), ro(int64), ro(int64), ro(int64), int64, int64, ro(float64), ro(float64), boolean, rw(float64, 2)
)


@jit(_FILL)
def fill_histograms(codes, coordinates, starts, rows, first, last, target, weight, is_regression, sums):
    for b in range(starts[coordinates.shape[0]]):
        for k in range(sums.shape[1]):
            sums[b, k] = 0.0
    for at in range(coordinates.shape[0]):
        code = codes[coordinates[at]]
        start = starts[at]
        if is_regression:
            for i in range(first, last):
                r = rows[i]
                b = start + code[r]
                sums[b, 0] += weight[r]
                sums[b, 1] += weight[r] * target[r]
        else:
            for i in range(first, last):
                r = rows[i]
                sums[start + code[r], int64(target[r])] += weight[r]


_BEST_SPLIT = float64(ro(float64, 2), int64, ro(int64), ro(float64), float64, rw(int64))


@jit(_BEST_SPLIT)
def best_regression_split(sums, n_coordinates, starts, node_sums, min_weight, split):
    """Return the largest sum of squares that a split explains beyond the mean of the node, 0 if there is no split.

    Parameters
    ----------
    sums : array of shape (n_codes, 2)
        Histograms of the rows of the node over the codes of every coordinate: weight and weighted value.
    node_sums : array of shape (2,)
        Sums of all its rows.
    min_weight : float
        Smaller weights are rounding errors of 0.
    split : array of shape (2,)
        Filled with the coordinate and the last code of the left child; the first of equal splits.
    """
    weight, value = node_sums[0], node_sums[1]
    best = 0.0
    for c in range(n_coordinates):
        on_left = 0.0
        left = 0.0
        for b in range(starts[c], starts[c + 1] - 1):
            here = sums[b, 0]
            if here <= min_weight:
                continue
            on_left += here
            left += sums[b, 1]
            on_right = weight - on_left
            if on_right <= min_weight:
                break
            # The gain is (W left - w value)^2 / (w (W - w) W): this form, unlike a difference of squares, has no cancellation.
            difference = weight * left - on_left * value
            if difference * difference > best * (1.0 + 1e-12) * on_left * on_right:
                best = difference * difference / (on_left * on_right)
                split[0], split[1] = c, b - starts[c]
    return best / weight


@jit(_BEST_SPLIT)
def best_class_split(sums, n_coordinates, starts, node_sums, min_weight, split):
    """Do the same for classes: sums are the weights of the classes."""
    n_sums = node_sums.shape[0]
    weight = total_weight(node_sums, False)
    node_squares = explained_squares(node_sums, False)
    left = np.zeros(n_sums)
    best = 0.0
    for c in range(n_coordinates):
        for s in range(n_sums):
            left[s] = 0.0
        on_left = 0.0
        for b in range(starts[c], starts[c + 1] - 1):
            here = 0.0
            for s in range(n_sums):
                here += sums[b, s]
            if here <= min_weight:
                continue
            on_left += here
            if weight - on_left <= min_weight:
                break
            left_squares = 0.0
            right_squares = 0.0
            for s in range(n_sums):
                left[s] += sums[b, s]
                left_squares += left[s] * left[s]
                right_squares += (node_sums[s] - left[s]) * (node_sums[s] - left[s])
            gain = left_squares / on_left + right_squares / (weight - on_left) - node_squares
            if gain > best * (1.0 + 1e-12):
                best = gain
                split[0], split[1] = c, b - starts[c]
    return best


@jit(int64(rw(int64), int64, int64, ro(uint8), int64, rw(int64)))
def partition_rows(rows, first, last, code, last_left, buffer):
    """Partition the rows [first, last) stably: codes of at most `last_left` first. Return the start of the others."""
    middle = first
    n_right = 0
    for i in range(first, last):
        r = rows[i]
        if code[r] <= last_left:
            rows[middle] = r
            middle += 1
        else:
            buffer[n_right] = r
            n_right += 1
    for i in range(n_right):
        rows[middle + i] = buffer[i]
    return middle


@jit(float64(ro(float64), ro(float64), ro(int64), boolean, rw(float64)))
def sum_rows(target, weight, rows, is_regression, sums):
    """Add rows to `sums`, and return their weighted sum of squares."""
    total = 0.0
    for i in range(rows.shape[0]):
        r = rows[i]
        if is_regression:
            sums[0] += weight[r]
            sums[1] += weight[r] * target[r]
            total += weight[r] * target[r] * target[r]
        else:
            sums[int64(target[r])] += weight[r]
            total += weight[r]
    return total


@jit(UniTuple(int64, 2)(ro(int64), ro(int64), ro(int64), ro(int64)))
def largest_set(n_codes, first_coordinate, sets, set_starts):
    widest = 0
    most = 0
    for t in range(set_starts.shape[0] - 1):
        width, size = 0, 0
        for k in range(set_starts[t], set_starts[t + 1]):
            for c in range(first_coordinate[sets[k]], first_coordinate[sets[k] + 1]):
                width += n_codes[c]
                size += 1
        widest, most = max(widest, width), max(most, size)
    return widest, most


_GROW = void(
    ro(uint8, 2),
    ro(int64),
    ro(int64),
    ro(float64),
    boolean,
    int64,
    ro(float64),
    ro(int64),
    ro(int64),
    int64,
    rw(float64),
)


@jit(_GROW)
def add_tree_importances(
    codes, n_codes, first_coordinate, target, is_regression, n_sums, weight, sets, set_starts, max_depth, importances
):
    """Add to `importances` the share of the target's variation explained by trees, divided among their columns.

    The share of a tree is divided in proportion to the use of each column: the weight of the nodes that it splits, halved at
    each level.

    Parameters
    ----------
    codes : array of shape (n_coordinates, n_rows)
    n_codes : array of shape (n_coordinates,)
    first_coordinate : array of shape (n_columns + 1,)
        The first coordinate of every column.
    target : array of shape (n_rows,)
        Numbers, 0 and 1 for two classes, or codes of more classes.
    n_sums : int
        2 for numbers, else the number of classes.
    weight : array of shape (n_rows,)
    sets, set_starts : arrays
        The columns of every tree, one tree after the other.
    """
    n_all = codes.shape[0]
    all_starts = np.zeros(n_all + 1, dtype=np.int64)
    for c in range(n_all):
        all_starts[c + 1] = all_starts[c] + n_codes[c]
    sampled, n = np.empty(weight.shape[0], dtype=np.int64), 0
    for r in range(weight.shape[0]):
        if weight[r] > 0.0:
            sampled[n] = r
            n += 1
    root = np.empty((all_starts[n_all], n_sums))
    fill_histograms(codes, np.arange(n_all), all_starts, sampled, 0, n, target, weight, is_regression, root)
    root_sums = np.zeros(n_sums)
    total = sum_rows(target, weight, sampled[:n], is_regression, root_sums)
    all_weight = total_weight(root_sums, is_regression)
    total -= explained_squares(root_sums, is_regression)
    if total <= 1e-12 * all_weight:
        return
    # The gain that BIC requires for two parameters, a cut and a difference.
    least = total * 2.0 * np.log(max(all_weight, 1.0)) / all_weight
    least_weight = 1e-9 * all_weight
    widest, most = largest_set(n_codes, first_coordinate, sets, set_starts)
    sums = np.empty((max_depth, 2, widest, n_sums))
    node_sums = np.empty((max_depth, 2, n_sums))
    rows = np.empty(n, dtype=np.int64)
    buffer = np.empty(n, dtype=np.int64)
    coordinates = np.empty(most, dtype=np.int64)
    owner = np.empty(most, dtype=np.int64)
    starts = np.zeros(most + 1, dtype=np.int64)
    use = np.zeros(first_coordinate.shape[0] - 1)
    at = np.zeros(2, dtype=np.int64)
    # A stack of nodes to split: first and last row, depth and slot. One child of each level waits on it.
    stack = np.empty((max_depth + 2, 4), dtype=np.int64)
    for t in range(set_starts.shape[0] - 1):
        size = 0
        for k in range(set_starts[t], set_starts[t + 1]):
            for c in range(first_coordinate[sets[k]], first_coordinate[sets[k] + 1]):
                coordinates[size], owner[size] = c, sets[k]
                starts[size + 1] = starts[size] + n_codes[c]
                for b in range(n_codes[c]):
                    for s in range(n_sums):
                        sums[0, 0, starts[size] + b, s] = root[all_starts[c] + b, s]
                size += 1
        tree_coordinates = coordinates[:size]
        for i in range(n):
            rows[i] = sampled[i]
        for s in range(n_sums):
            node_sums[0, 0, s] = root_sums[s]
        for j in range(use.shape[0]):
            use[j] = 0.0
        gained = 0.0
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n, 0, 0
        n_stacked = 1
        while n_stacked > 0:
            n_stacked -= 1
            first, last = stack[n_stacked, 0], stack[n_stacked, 1]
            depth, slot = stack[n_stacked, 2], stack[n_stacked, 3]
            here = node_sums[depth, slot]
            best_of_kind = sums[depth, slot], size, starts, here, least_weight, at
            gain = best_regression_split(*best_of_kind) if is_regression else best_class_split(*best_of_kind)
            if gain <= 0.0 or gain < least * (1.0 - 1e-12):
                continue
            gained += gain
            use[owner[at[0]]] += 0.5**depth * total_weight(here, is_regression) / all_weight
            if depth + 1 == max_depth:
                continue
            middle = partition_rows(rows, first, last, codes[coordinates[at[0]]], at[1], buffer)
            # The histogram of the smaller child is counted; that of the other is the difference to the node.
            small_first, small_last = (first, middle) if middle - first <= last - middle else (middle, last)
            fill_histograms(
                codes, tree_coordinates, starts[: size + 1], rows, small_first, small_last, target, weight, is_regression,
                sums[depth + 1, 0],
            )  # fmt: skip
            small = node_sums[depth + 1, 0]
            for s in range(n_sums):
                small[s] = 0.0
                for b in range(starts[1]):
                    small[s] += sums[depth + 1, 0, b, s]
            for s in range(n_sums):
                node_sums[depth + 1, 1, s] = here[s] - small[s]
            for b in range(starts[size]):
                for s in range(n_sums):
                    sums[depth + 1, 1, b, s] = sums[depth, slot, b, s] - sums[depth + 1, 0, b, s]
            other_first, other_last = (middle, last) if small_first == first else (first, middle)
            stack[n_stacked, 0], stack[n_stacked, 1] = small_first, small_last
            stack[n_stacked + 1, 0], stack[n_stacked + 1, 1] = other_first, other_last
            for half in range(2):
                stack[n_stacked, 2], stack[n_stacked, 3] = depth + 1, half
                n_stacked += 1
        used = 0.0
        for j in range(use.shape[0]):
            used += use[j]
        if used > 0.0:
            for k in range(set_starts[t], set_starts[t + 1]):
                importances[sets[k]] += gained / total * use[sets[k]] / used
