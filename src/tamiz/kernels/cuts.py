"""Sorting of a column together with its classes, and its cut points by minimum description length (Fayyad and Irani 1993).

The values are split by class, sorted class by class and merged: sorting plain numbers takes a fifteenth of the time of an argsort.
"""

from __future__ import annotations

import numpy as np
from numba.types import Tuple, float64, int32, int64, void

from tamiz.kernels import jit, ro, rw
from tamiz.kernels.primitives import n_log_n


@jit(void(ro(float64), ro(int32), rw(int64), rw(float64)))
def split_classes(values, labels, ends, class_values):
    """Append the values that are not missing to the part of their class, whose end is ends[class]."""
    for r in range(values.shape[0]):
        value = values[r]
        if value == value:
            c = labels[r]
            class_values[ends[c]] = value
            ends[c] += 1


@jit(int64(ro(float64), ro(int64), ro(int64), rw(float64), rw(int32), rw(float64)))
def merge_classes(class_values, starts, ends, values, labels, counts):
    """Merge the sorted parts [starts[c], ends[c]) of all classes, and return the number of different pairs of value and label.

    The pairs ascend, equal values by class, each with the number of its rows. Measured values repeat, so what follows is short.
    """
    n = 0
    n_rows = 0
    m = 0
    at = np.empty(starts.shape[0], np.int64)
    which = np.empty(starts.shape[0], np.int32)
    heads = np.empty(starts.shape[0])
    for c in range(starts.shape[0]):
        if starts[c] < ends[c]:
            at[n], which[n], heads[n] = starts[c], c, class_values[starts[c]]
            n += 1
            n_rows += ends[c] - starts[c]
    for _ in range(n_rows):
        least = 0
        for i in range(1, n):
            if heads[i] < heads[least]:
                least = i
        if m > 0 and labels[m - 1] == which[least] and values[m - 1] == heads[least]:
            counts[m - 1] += 1.0
        else:
            values[m], labels[m], counts[m] = heads[least], which[least], 1.0
            m += 1
        at[least] += 1
        if at[least] < ends[which[least]]:
            heads[least] = class_values[at[least]]
        else:
            n -= 1
            for i in range(least, n):
                at[i], which[i], heads[i] = at[i + 1], which[i + 1], heads[i + 1]
    return m


@jit(float64(ro(float64), ro(float64)))
def scaled_entropy(counts, log_table):
    """Return N log2 N - sum of n_c log2 n_c: the entropy of the counts times their sum."""
    total = 0.0
    inner = 0.0
    for c in range(counts.shape[0]):
        total += counts[c]
        inner += n_log_n(counts[c], log_table)
    return n_log_n(total, log_table) - inner


@jit(Tuple((float64, int64))(ro(float64)))
def weight_and_classes(counts):
    """Return the sum of the counts and the number of counts above 0."""
    total = 0.0
    n_classes = 0
    for c in range(counts.shape[0]):
        total += counts[c]
        n_classes += counts[c] != 0.0
    return total, n_classes


@jit(float64(float64, float64))
def midpoint(a, b):
    """Return the midpoint of two adjacent values, less than b: a value equal to a cut belongs to its left."""
    middle = (a + b) / 2.0
    if np.isinf(middle):
        middle = a / 2.0 + b / 2.0
    return middle if middle < b else a


_FIND_CUT = int64(ro(float64), ro(int32), ro(float64), ro(float64), int64, int64, int64)


@jit(_FIND_CUT)
def find_cut(values, labels, weight, log_table, n_classes, first, last):
    """Return the row after which MDL cuts the interval [first, last), or -1 if it accepts no cut."""
    right = np.zeros(n_classes)
    for r in range(first, last):
        right[labels[r]] += weight[r]
    n, k = weight_and_classes(right)
    before = scaled_entropy(right, log_table)
    left, best_left = np.zeros(n_classes), np.zeros(n_classes)
    best = before
    best_row = -1
    n_cuts = 0
    n_left = 0.0
    start = first
    pure_before = -1
    # One step for each distinct value, in the rows [start, stop). The best cut lies where the class changes
    # (Fayyad and Irani 1992), but all possible cuts enter the description length.
    while start < last:
        stop = start
        pure = labels[start]
        while stop < last and values[stop] == values[start]:
            if labels[stop] != pure:
                pure = -2
            stop += 1
        if start > first:
            n_cuts += 1
            if pure < 0 or pure != pure_before:
                inner = 0.0
                inner_right = 0.0
                for c in range(n_classes):
                    inner += n_log_n(left[c], log_table)
                    inner_right += n_log_n(right[c], log_table)
                after = (n_log_n(n_left, log_table) + n_log_n(n - n_left, log_table)) - (inner + inner_right)
                if after < best:
                    best = after
                    best_row = start - 1
                    for c in range(n_classes):
                        best_left[c] = left[c]
        for r in range(start, stop):
            left[labels[r]] += weight[r]
            right[labels[r]] -= weight[r]
            n_left += weight[r]
        pure_before = pure
        start = stop
    if best_row < 0 or n_cuts == 0:
        return -1
    for c in range(n_classes):
        right[c] = left[c] - best_left[c]
    n_left, k_left = weight_and_classes(best_left)
    n_right, k_right = weight_and_classes(right)
    entropy_left = scaled_entropy(best_left, log_table) / n_left
    entropy_right = scaled_entropy(right, log_table) / n_right
    gain = (before - best) / n
    # 3^k overflows from k = 647, and subtracting 2 has no effect long before.
    all_splits = np.log2(3.0**k - 2.0) if k < 600 else k * np.log2(3.0)
    delta = all_splits - (k * before / n - k_left * entropy_left - k_right * entropy_right)
    if gain > (np.log2(float(n_cuts)) + delta) / n:
        return best_row
    return -1


@jit(int64(ro(float64), ro(int32), ro(float64), ro(float64), int64, rw(float64)))
def mdl_cuts(values, labels, weight, log_table, n_classes, cuts):
    """Fill `cuts` with the cut points of a sorted column that MDL accepts, unsorted, and return their number."""
    n_cuts = 0
    # A stack of intervals; each cut adds one interval.
    stack = np.empty((cuts.shape[0] + 2, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1], n_stacked = 0, values.shape[0], 1
    while n_stacked > 0:
        n_stacked -= 1
        first, last = stack[n_stacked, 0], stack[n_stacked, 1]
        if last - first < 2:
            continue
        row = find_cut(values, labels, weight, log_table, n_classes, first, last)
        if row >= 0:
            cuts[n_cuts] = midpoint(values[row], values[row + 1])
            n_cuts += 1
            stack[n_stacked, 0], stack[n_stacked, 1] = first, row + 1
            stack[n_stacked + 1, 0], stack[n_stacked + 1, 1] = row + 1, last
            n_stacked += 2
    return n_cuts
