"""Midranks of a column, their sums by group, and their products: equal values share the mean of their ranks."""

from __future__ import annotations

from numba.types import boolean, float64, int64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(float64), ro(int64), ro(boolean), ro(float64), rw(float64), rw(float64)))
def centred_midranks(values, order, included, weight, ranks, out):
    """Fill ranks with the midranks of the included rows minus their mean, and out with their weight and sum of squares.

    `order` sorts the values; a row of weight w counts as w equal rows. The rank of a row that is not included, of a missing value
    or without weight is 0. Ranks of whole weights are multiples of 1/2, so that their sums are exact.
    """
    total = 0.0
    for r in range(values.shape[0]):
        ranks[r] = 0.0
        if included[r] and values[r] == values[r]:
            total += weight[r]
    mean = (total + 1.0) / 2.0
    below, squares = 0.0, 0.0
    start, n_distinct = 0, 0
    while start < order.shape[0]:
        value = values[order[start]]
        stop, tied = start, 0.0
        while stop < order.shape[0] and values[order[stop]] == value:
            if included[order[stop]]:
                tied += weight[order[stop]]
            stop += 1
        if stop == start:
            # Only NaN differs from itself, and is sorted last.
            break
        if tied > 0.0:
            rank = below + (tied + 1.0) / 2.0 - mean
            squares += tied * rank * rank
            for k in range(start, stop):
                if included[order[k]] and weight[order[k]] > 0.0:
                    ranks[order[k]] = rank
            below += tied
            n_distinct += 1
        start = stop
    # The mean of fractional weights is rounded: one value has a rank of nearly 0.
    out[0], out[1] = total, squares if n_distinct > 1 else 0.0


@jit(float64(ro(float64), ro(float64), ro(float64)))
def rank_products(a, b, weight):
    """Return the weighted sum of the products of two columns of centred ranks."""
    total = 0.0
    for r in range(a.shape[0]):
        total += weight[r] * a[r] * b[r]
    return total
