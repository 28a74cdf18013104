"""Gaussian naive Bayes for many sets of columns: the log density of a class is a sum over the columns.

Rows are the test rows, fold after fold. Arrays of shape (n_folds, n_classes, ...) have the parameters estimated from the training
rows of each fold.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.types import bool_, float64, int64, void
from numpy.typing import NDArray

from tamiz.kernels import CANDIDATES, LABELLED_ROWS, jit, record, ro, rw

# Rows of a block: their sums stay in the first-level cache.
_BLOCK_ROWS = 128


class GaussianModel(NamedTuple):
    """Means and variances of all columns in each class, and over the rows; the log priors, minus infinity for an absent class.

    `relative_offset` is the distance of a column's means from 0, in standard deviations within a class.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    column_variance: NDArray[np.float64]
    relative_offset: NDArray[np.float64]
    prior: NDArray[np.float64]


_MODEL = record(GaussianModel, ro(float64, 3), ro(float64, 3), ro(float64, 2), ro(float64, 2), ro(float64, 2))


@jit(
    void(ro(float64, 2), ro(int64), ro(int64), ro(float64), rw(float64), rw(float64, 2), rw(float64, 2), rw(float64)),
    reassociate=True,
)
def fold_class_moments(values, rows, class_starts, weights, class_weight, mean, variance, column_variance):
    """Fill the weight of each class, the weighted mean and variance of every column in it, and the unweighted variance over all
    rows.

    `values` has a row for every column. Class k has the rows rows[class_starts[k] : class_starts[k + 1]]; weights are in that
    order.
    """
    n_columns, n_rows = values.shape[0], rows.shape[0]
    n_classes = class_weight.shape[0]
    for k in range(n_classes):
        for i in range(class_starts[k], class_starts[k + 1]):
            class_weight[k] += weights[i]
    own = np.empty(n_rows)
    for j in range(n_columns):
        column = values[j]
        for i in range(n_rows):
            own[i] = column[rows[i]]
        centre = 0.0
        for i in range(n_rows):
            centre += own[i]
        centre /= n_rows
        plain = 0.0
        for i in range(n_rows):
            plain += (own[i] - centre) * (own[i] - centre)
        column_variance[j] = plain / n_rows
        for k in range(n_classes):
            if class_weight[k] == 0.0:
                continue
            first, squares = 0.0, 0.0
            for i in range(class_starts[k], class_starts[k + 1]):
                first += weights[i] * own[i]
            first /= class_weight[k]
            for i in range(class_starts[k], class_starts[k + 1]):
                squares += weights[i] * (own[i] - first) * (own[i] - first)
            mean[k, j] = first
            variance[k, j] = squares / class_weight[k]


@jit(
    void(ro(float64), int64, int64, float64, float64, float64, rw(float64)),
    reassociate=True,
)
def _add_log_densities(column, first, stop, mean, variance, sign, sums):
    """Add the log of a normal density at the rows first .. stop of a column to the sums, or subtract it (sign -1)."""
    scale = -0.5 * sign / variance
    constant = -0.5 * sign * math.log(2.0 * math.pi * variance)
    # A slice: its indices cannot be negative, so that the loop is vectorised.
    own = column[first:stop]
    for i in range(own.shape[0]):
        deviation = own[i] - mean
        sums[i] += constant + scale * deviation * deviation


@jit(void(ro(float64, 2), int64, rw(float64), rw(float64), rw(float64)))
def _choose_classes(sums, n_rows, best, second, chosen):
    """Fill the largest sum of every row, the second largest, and the class of the largest, the first of equal ones."""
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


@jit(bool_(ro(float64, 2), int64, int64, float64, ro(int64), ro(float64, 2), ro(float64, 2), ro(float64)))
def _is_undecided(sums, i, chosen, margin, members, mean, variance, prior):
    """Return whether rounding may have decided the class of row i: another class has a sum within the margin and other parameters.

    Classes with equal priors and mean and variance 0 in all columns have equal sums, also in scikit-learn: the first is predicted.
    """
    for k in range(sums.shape[0]):
        if k == chosen or sums[chosen, i] - sums[k, i] > margin:
            continue
        if prior[k] != prior[chosen]:
            return True
        for j in members:
            for each in (k, chosen):
                if mean[each, j] != 0.0 or variance[each, j] != 0.0:
                    return True
    return False


@jit(int64(CANDIDATES, int64, rw(bool_), rw(int64)))
def _read_members(candidates, c, inside, members):
    """Fill the mask of candidate c and its columns, ascending; return their number."""
    parents, parent, starts, flipped = candidates
    for j in range(inside.shape[0]):
        inside[j] = parents[parent[c], j]
    for t in range(starts[c], starts[c + 1]):
        inside[flipped[t]] = not inside[flipped[t]]
    n_members = 0
    for j in range(inside.shape[0]):
        if inside[j]:
            members[n_members] = j
            n_members += 1
    return n_members


@jit(bool_(ro(float64, 2), ro(float64), ro(int64), ro(int64), ro(float64), rw(float64, 2)))
def _count_constant_rows(mean, prior, members, codes, weights, confusion):
    """Add the weights of rows to the confusion matrix if no column of the set varies; return whether only a refit can predict.

    If every value is 0 every density is 0 / 0, and scikit-learn predicts the first class. If every value is the same other number,
    the rounding of its mean decides, which only a refit reproduces.
    """
    first_class = 0
    while prior[first_class] == -np.inf:
        first_class += 1
    for i in range(codes.shape[0]):
        confusion[codes[i], first_class] += weights[i]
    for j in members:
        for k in range(mean.shape[0]):
            if mean[k, j] != 0.0:
                return True
    return False


@jit(bool_(ro(float64, 2), ro(int64)))
def _has_zero_variance(variance, members):
    """Return whether a class has no variance in a column: its density is NaN or infinite."""
    for j in members:
        for k in range(variance.shape[0]):
            if variance[k, j] == 0.0:
                return True
    return False


@jit(float64(int64, ro(float64), ro(int64), ro(int64)))
def _relative_error(n_terms, relative_offset, members, flips):
    """Return a bound of the rounding errors of sums, relative to the largest sum.

    Terms are squares, all of one sign, and logarithms of up to 40. Values near the mean of a column of large numbers have lost
    their last bits.
    """
    error = 1e-14 * n_terms
    for j in members:
        error = max(error, 1e-14 * relative_offset[j])
    for j in flips:
        error = max(error, 1e-14 * relative_offset[j])
    return error


@jit(void(_MODEL, int64, ro(float64, 2), ro(int64), ro(bool_), float64, rw(float64, 2)))
def _fill_parent_sums(model, f, values, folds, inside, more, base):
    mean, variance, _, _, prior = model
    for k in range(base.shape[0]):
        here = base[k, folds[f] : folds[f + 1]]
        here[:] = prior[f, k]
        for j in range(inside.shape[0]):
            if inside[j]:
                _add_log_densities(
                    values[j], folds[f], folds[f + 1], mean[f, k, j], variance[f, k, j] + more, 1.0, here
                )


@jit(
    void(ro(float64, 2), _MODEL, float64, LABELLED_ROWS, CANDIDATES, int64, int64, rw(float64, 4), rw(bool_, 2)),
)
def gaussian_confusion(values, model, smoothing, rows, candidates, first, stop, confusion, needs_refit):
    """Add the weights of the test rows to confusion matrices by class and predicted class, for the candidates first .. stop.

    `smoothing` times the largest `column_variance` of the columns of a set is added to each of their variances. If that is the
    same as for the parent, the sums of a set are those of the parent plus or minus those of the flipped columns; otherwise they
    are computed again. `needs_refit` is set for a candidate and fold where two sums of a row differ by no more than rounding
    errors.
    """
    mean, variance, column_variance, relative_offset, prior = model
    codes, weights, folds = rows
    parents, parent, starts, flipped = candidates
    n_folds, n_classes, n_columns = mean.shape
    base = np.empty((n_classes, folds[n_folds]))
    is_added_up = np.zeros(n_folds, dtype=np.bool_)
    largest_before = np.zeros(n_folds)
    sums, before = np.empty((n_classes, _BLOCK_ROWS)), np.empty(_BLOCK_ROWS)
    best, second, chosen = np.empty(_BLOCK_ROWS), np.empty(_BLOCK_ROWS), np.empty(_BLOCK_ROWS)
    inside, own_members = np.empty(n_columns, dtype=np.bool_), np.empty(n_columns, dtype=np.int64)
    last, n_before = -1, 0
    for c in range(first, stop):
        if parent[c] != last:
            last = parent[c]
            n_before = 0
            is_added_up[:] = False
            largest_before[:] = 0.0
            for j in range(n_columns):
                if parents[last, j]:
                    n_before += 1
                    for f in range(n_folds):
                        largest_before[f] = max(largest_before[f], column_variance[f, j])
        n_members = _read_members(candidates, c, inside, own_members)
        members, flips = own_members[:n_members], flipped[starts[c] : starts[c + 1]]
        for f in range(n_folds):
            largest = 0.0
            for j in members:
                largest = max(largest, column_variance[f, j])
            if largest == 0.0:
                start, end = folds[f], folds[f + 1]
                needs_refit[c, f] |= _count_constant_rows(
                    mean[f], prior[f], members, codes[start:end], weights[start:end], confusion[c, f]
                )
                continue
            more = smoothing * largest
            if more == 0.0 and _has_zero_variance(variance[f], members):
                needs_refit[c, f] = True
                continue
            from_base = more != 0.0 and largest_before[f] == largest and flips.shape[0] < n_members
            if from_base and not is_added_up[f]:
                is_added_up[f] = True
                _fill_parent_sums(model, f, values, folds, parents[last], more, base)
            error = _relative_error(n_members + n_before + 2, relative_offset[f], members, flips)
            added = flips if from_base else members
            for row in range(folds[f], folds[f + 1], _BLOCK_ROWS):
                end = min(row + _BLOCK_ROWS, folds[f + 1])
                n_rows = end - row
                before[:n_rows] = 40.0 * n_members
                for k in range(n_classes):
                    if from_base:
                        own, known = sums[k], base[k, row:end]
                        for i in range(n_rows):
                            own[i] = known[i]
                            before[i] = max(before[i], abs(known[i]))
                    else:
                        sums[k, :n_rows] = prior[f, k]
                    for j in added:
                        sign = 1.0 if inside[j] else -1.0
                        _add_log_densities(values[j], row, end, mean[f, k, j], variance[f, k, j] + more, sign, sums[k])
                _choose_classes(sums, n_rows, best, second, chosen)
                for i in range(n_rows):
                    margin = error * (abs(best[i]) + before[i])
                    # NaN compares as false: undecided.
                    if not best[i] - second[i] > margin:
                        needs_refit[c, f] |= _is_undecided(
                            sums, i, int(chosen[i]), margin, members, mean[f], variance[f], prior[f]
                        )
                    confusion[c, f, codes[row + i], int(chosen[i])] += weights[row + i]
