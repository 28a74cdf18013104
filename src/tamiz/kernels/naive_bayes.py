"""Naive Bayes for many sets of columns: what each column says of a class adds up.

Rows are the rows tested, one fold after the other. Arrays of shape (n_folds, n_classes, ...) hold what the rows that each fold
learns from say.
"""

from __future__ import annotations

import math

import numpy as np
from numba.types import bool_, float64, int64, void

from tamiz.kernels import jit, ro, rw

# Rows whose sums stay in the nearest cache.
_ROWS = 128


@jit(void(ro(float64, 2), ro(int64), ro(float64), rw(float64), rw(float64, 2), rw(float64, 2), rw(float64)))
def class_moments(values, codes, weights, total, mean, variance, spread):
    """Fill the weight of each class, mean and variance (over the weight) of every column in it, and the plain variance of all rows.

    `values` has a row for every column.
    """
    n_columns, n_rows = values.shape
    for i in range(n_rows):
        total[codes[i]] += weights[i]
    for j in range(n_columns):
        column = values[j]
        centre = 0.0
        for i in range(n_rows):
            mean[codes[i], j] += weights[i] * column[i]
            centre += column[i]
        centre /= n_rows
        for k in range(total.shape[0]):
            if total[k] > 0.0:
                mean[k, j] /= total[k]
        for i in range(n_rows):
            apart = column[i] - mean[codes[i], j]
            variance[codes[i], j] += weights[i] * apart * apart
            spread[j] += (column[i] - centre) * (column[i] - centre)
        spread[j] /= n_rows
        for k in range(total.shape[0]):
            if total[k] > 0.0:
                variance[k, j] /= total[k]


@jit(
    void(ro(float64), int64, int64, float64, float64, float64, rw(float64)),
    sums=True,
)
def _add_normal(column, first, stop, mean, variance, sign, sums):
    """Add the logarithm of a normal density of the rows first .. stop of a column to sums, or take it off."""
    scale = -0.5 * sign / variance
    constant = -0.5 * sign * math.log(2.0 * math.pi * variance)
    for i in range(stop - first):
        apart = column[first + i] - mean
        sums[i] += constant + scale * apart * apart


@jit(bool_(rw(float64, 2), ro(float64), int64, float64, rw(float64), rw(float64), rw(float64)))
def _decide(sums, before, n_rows, share, best, second, chosen):
    """Fill `chosen` with the class of the largest sum of every row; return whether rounding may have decided one of them."""
    best[:n_rows] = sums[0, :n_rows]
    second[:n_rows] = -np.inf
    chosen[:n_rows] = 0.0
    for k in range(1, sums.shape[0]):
        row = sums[k]
        for i in range(n_rows):
            above = row[i] > best[i]
            runner_up = best[i] if above else row[i]
            second[i] = max(second[i], runner_up)
            best[i] = row[i] if above else best[i]
            chosen[i] = k if above else chosen[i]
    n_sure = 0
    for i in range(n_rows):
        # What is no number is no decision either.
        n_sure += best[i] - second[i] > share * (abs(best[i]) + before[i])
    return n_sure < n_rows


@jit(
    void(
        ro(float64, 2),
        ro(float64, 3),
        ro(float64, 3),
        ro(float64, 2),
        float64,
        ro(float64, 2),
        ro(int64),
        ro(float64),
        ro(int64),
        ro(bool_, 2),
        ro(int64),
        ro(int64),
        ro(int64),
        int64,
        int64,
        rw(float64, 4),
        rw(bool_, 2),
    )
)
def gaussian_counts(
    values,
    mean,
    variance,
    spread,
    smoothing,
    prior,
    codes,
    weights,
    folds,
    parents,
    parent,
    starts,
    flipped,
    first,
    stop,
    counts,
    doubtful,
):
    """Fill the weights of tested rows by class and predicted class, for the candidates first .. stop.

    `smoothing` times the largest `spread` of a set's columns is added to each of their variances. A set's sums are its parent's
    and those of the columns flipped where both have the same largest spread, and are added up anew where not. `doubtful` says of
    a candidate and a fold that two sums of a row are as near to each other as rounding.
    """
    n_folds, n_classes, n_columns = mean.shape
    base = np.empty((n_classes, folds[n_folds]))
    of_base = np.full(n_folds, -1.0)
    members = np.empty(n_columns, dtype=np.int64)
    sums = np.empty((n_classes, _ROWS))
    before, best, second, chosen = np.empty(_ROWS), np.empty(_ROWS), np.empty(_ROWS), np.empty(_ROWS)
    inside = np.empty(n_columns, dtype=np.bool_)
    last = -1
    for c in range(first, stop):
        if parent[c] != last:
            last = parent[c]
            of_base[:] = -1.0
        inside[:] = parents[last]
        for t in range(starts[c], starts[c + 1]):
            inside[flipped[t]] = not inside[flipped[t]]
        n_members, n_before = 0, 0
        for j in range(n_columns):
            n_before += parents[last, j]
            if inside[j]:
                members[n_members] = j
                n_members += 1
        # A sum of terms that are logarithms, of up to 40 each, and squares, which all have one sign.
        share = 1e-14 * (n_members + n_before + 2)
        for f in range(n_folds):
            largest, earlier = 0.0, 0.0
            for m in range(n_members):
                largest = max(largest, spread[f, members[m]])
            for j in range(n_columns):
                if parents[last, j]:
                    earlier = max(earlier, spread[f, j])
            more = smoothing * largest
            from_base = earlier == largest and starts[c + 1] - starts[c] < n_members
            if from_base and of_base[f] != largest:
                of_base[f] = largest
                for k in range(n_classes):
                    here = base[k, folds[f] : folds[f + 1]]
                    here[:] = prior[f, k]
                    for j in range(n_columns):
                        if parents[last, j]:
                            _add_normal(
                                values[j], folds[f], folds[f + 1], mean[f, k, j], variance[f, k, j] + more, 1.0, here
                            )
            row = folds[f]
            while row < folds[f + 1]:
                end = min(row + _ROWS, folds[f + 1])
                n_rows = end - row
                before[:n_rows] = 40.0 * n_members
                for k in range(n_classes):
                    if from_base:
                        for i in range(n_rows):
                            sums[k, i] = base[k, row + i]
                            before[i] = max(before[i], abs(sums[k, i]))
                        for t in range(starts[c], starts[c + 1]):
                            j = flipped[t]
                            sign = 1.0 if inside[j] else -1.0
                            _add_normal(values[j], row, end, mean[f, k, j], variance[f, k, j] + more, sign, sums[k])
                    else:
                        sums[k, :n_rows] = prior[f, k]
                        for m in range(n_members):
                            j = members[m]
                            _add_normal(values[j], row, end, mean[f, k, j], variance[f, k, j] + more, 1.0, sums[k])
                if _decide(sums, before, n_rows, share, best, second, chosen):
                    doubtful[c, f] = True
                for i in range(n_rows):
                    counts[c, f, codes[row + i], int(chosen[i])] += weights[row + i]
                row = end
