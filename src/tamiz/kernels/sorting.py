"""Values of a column in ascending order with the class of each: split by class, sorted class by class, merged.

To sort bare numbers takes a fifteenth of the time that it takes to find their order.
"""

from __future__ import annotations

import numpy as np
from numba.types import float64, int32, int64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(float64), ro(int32), rw(int64), rw(float64)))
def split_classes(values, labels, ends, class_values):
    """Add the present values of each class to its part, which ends at `ends`."""
    for r in range(values.shape[0]):
        value = values[r]
        if value == value:
            c = labels[r]
            class_values[ends[c]] = value
            ends[c] += 1


@jit(void(ro(float64), ro(int64), ro(int64), rw(float64), rw(int32)))
def merge_classes(class_values, starts, ends, values, labels):
    """Fill values and labels, ascending, from the sorted part [start, end) of every class; equal values by class."""
    n = 0
    at = np.empty(starts.shape[0], np.int64)
    which = np.empty(starts.shape[0], np.int32)
    heads = np.empty(starts.shape[0])
    for c in range(starts.shape[0]):
        if starts[c] < ends[c]:
            at[n], which[n], heads[n] = starts[c], c, class_values[starts[c]]
            n += 1
    for r in range(values.shape[0]):
        least = 0
        for i in range(1, n):
            if heads[i] < heads[least]:
                least = i
        values[r] = heads[least]
        labels[r] = which[least]
        at[least] += 1
        if at[least] < ends[which[least]]:
            heads[least] = class_values[at[least]]
        else:
            n -= 1
            for i in range(least, n):
                at[i], which[i], heads[i] = at[i + 1], which[i + 1], heads[i + 1]
