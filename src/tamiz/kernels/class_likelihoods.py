"""Naive Bayes with coded, numeric and count columns, for many sets of columns: log likelihoods are sums over the columns.

Rows are the test rows, fold after fold. Arrays of shape (n_folds, n_classes, ...) have the parameters estimated from the training
rows of each fold. A class that is not `present` among these is never predicted.

The log likelihood of code v in column q under class k is table[table_starts[f, q] + k * n_codes[f, q] + v]. That of a number x is
constant + scale * (x - centre)**2, or 0 if x is missing; of Gaussian naive Bayes, a normal density whose variance depends on the
set. `slots` has for every column its index p among the numeric columns, or -1 - q with its index q among the coded columns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.types import bool_, float64, int64, uint32, void
from numpy.typing import NDArray

from tamiz.kernels import CANDIDATES, LABELLED_ROWS, jit, record, ro, rw

# Rows of a block: their sums stay in the first-level cache.
_BLOCK_ROWS = 256

# Types of read-only arguments.
_F, _F2, _F3 = ro(float64), ro(float64, 2), ro(float64, 3)
_I, _I2, _B, _B2 = ro(int64), ro(int64, 2), ro(bool_), ro(bool_, 2)
_C, _C2 = ro(uint32), ro(uint32, 2)


@jit(void(_F, float64, float64, float64, float64, rw(float64)))
def _add_numbers(values, centre, scale, constant, sign, sums):
    for i in range(values.shape[0]):
        deviation = values[i] - centre
        sums[i] += sign * (constant + scale * deviation * deviation) if deviation == deviation else 0.0


@jit(void(_C, _F, float64, rw(float64)))
def _add_codes(codes, log_likelihoods, sign, sums):
    for i in range(codes.shape[0]):
        sums[i] += sign * log_likelihoods[codes[i]]


class _Columns(NamedTuple):
    """The parameters of all columns from the training rows of one fold, as the head of this file describes them."""

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    constant: NDArray[np.float64]
    table: NDArray[np.float64]
    table_starts: NDArray[np.int64]
    n_codes: NDArray[np.int64]


class CodedValues(NamedTuple):
    """The numbers and codes of the test rows, by columns, and the `slots` of the columns."""

    numbers: NDArray[np.float64]
    codes: NDArray[np.uint32]
    slots: NDArray[np.int64]


class CodedModel(NamedTuple):
    """The parameters of all columns from the training rows of every fold, the log priors, and which classes are present."""

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    constant: NDArray[np.float64]
    table: NDArray[np.float64]
    table_starts: NDArray[np.int64]
    n_codes: NDArray[np.int64]
    prior: NDArray[np.float64]
    present: NDArray[np.bool_]


class LinearModel(NamedTuple):
    """Slopes and constants of all columns, as `linear_confusion` describes them, the log priors, and which classes are present."""

    slope: NDArray[np.float64]
    constant: NDArray[np.float64]
    column_mass: NDArray[np.float64]
    single_slope: NDArray[np.float64]
    prior: NDArray[np.float64]
    present: NDArray[np.bool_]


_COLUMNS = record(_Columns, _F2, _F2, _F2, _F, _I, _I)
_VALUES = record(CodedValues, _F2, _C2, _I)
_CODED_MODEL = record(CodedModel, _F3, _F3, _F3, _F, _I2, _I2, _F2, _B2)
_LINEAR_MODEL = record(LinearModel, _F3, _F3, _F3, _F3, _F2, _B2)


@jit(void(_F2, _C2, int64, _COLUMNS, int64, int64, float64, rw(float64, 2)))
def _add_column(numbers, codes, slot, parameters, first, stop, sign, sums):
    """Add the log likelihoods of one column under every class to the sums of the rows first .. stop, or subtract them (sign -1)."""
    centre, scale, constant, table, table_starts, n_codes = parameters
    p, q = slot, -1 - slot
    for k in range(sums.shape[0]):
        # A slice: its indices cannot be negative, so that loops over it are vectorised.
        own = sums[k, : stop - first]
        if p >= 0:
            _add_numbers(numbers[p, first:stop], centre[k, p], scale[k, p], constant[k, p], sign, own)
        else:
            start = table_starts[q] + k * n_codes[q]
            _add_codes(codes[q, first:stop], table[start : start + n_codes[q]], sign, own)


@jit(void(_F2, _C2, _I, _F2, _F2, _F2, _F, _I, _I, _F, rw(float64, 2)))
def joint_log_likelihoods(numbers, codes, slots, centre, scale, constant, table, table_starts, n_codes, prior, sums):
    """Fill the joint log likelihoods of one model, by class and row: the columns added in their order, then the prior."""
    n_rows = sums.shape[1]
    parameters = _Columns(centre, scale, constant, table, table_starts, n_codes)
    sums[:] = 0.0
    for slot in slots:
        _add_column(numbers, codes, slot, parameters, 0, n_rows, 1.0, sums)
    for k in range(sums.shape[0]):
        for i in range(n_rows):
            sums[k, i] += prior[k]


@jit(void(CANDIDATES, int64, rw(bool_)))
def _fill_members(candidates, c, inside):
    parents, parent, starts, flipped = candidates
    for j in range(inside.shape[0]):
        inside[j] = parents[parent[c], j]
    for t in range(starts[c], starts[c + 1]):
        inside[flipped[t]] = not inside[flipped[t]]


@jit(void(_F2, int64, rw(float64), rw(float64), rw(int64)))
def _choose_classes(sums, n_rows, best, second, chosen):
    """Fill the largest sum of every row, the second largest, and the class of the largest, the first of equal ones."""
    own = sums[0, :n_rows]
    for i in range(own.shape[0]):
        best[i], second[i], chosen[i] = own[i], -np.inf, 0
    for k in range(1, sums.shape[0]):
        own = sums[k, :n_rows]
        for i in range(own.shape[0]):
            above = own[i] > best[i]
            runner_up = best[i] if above else own[i]
            second[i] = max(second[i], runner_up)
            best[i] = own[i] if above else best[i]
            chosen[i] = k if above else chosen[i]


@jit(int64(_F, _B))
def _first_argmax(sums, present):
    """Return the first class with the largest sum among those present, -1 if a sum is NaN."""
    chosen = -1
    for k in range(sums.shape[0]):
        if not present[k]:
            continue
        if sums[k] != sums[k]:
            return -1
        if chosen < 0 or sums[k] > sums[chosen]:
            chosen = k
    return chosen


@jit(int64(_F2, _C2, _I, _COLUMNS, _F, _B, _B, int64, rw(float64)))
def _predict_in_order(numbers, codes, slots, parameters, prior, present, inside, row, sums):
    """Return the class of one row from sums in the order of the columns: the same bits as `joint_log_likelihoods`."""
    centre, scale, constant, table, table_starts, n_codes = parameters
    for k in range(prior.shape[0]):
        total = 0.0
        for j in range(slots.shape[0]):
            if not inside[j]:
                continue
            p, q = slots[j], -1 - slots[j]
            if p >= 0:
                deviation = numbers[p, row] - centre[k, p]
                total += constant[k, p] + scale[k, p] * deviation * deviation if deviation == deviation else 0.0
            else:
                total += table[table_starts[q] + k * n_codes[q] + np.int64(codes[q, row])]
        sums[k] = total + prior[k]
    return _first_argmax(sums, present)


@jit(void(_VALUES, _CODED_MODEL, LABELLED_ROWS, CANDIDATES, int64, int64, rw(float64, 4), rw(bool_, 2)))
def coded_confusion(values, model, rows, candidates, first, stop, confusion, needs_refit):
    """Add the weights of the test rows to confusion matrices by class and predicted class, for the candidates first .. stop.

    The sums of a set are those of its parent plus or minus those of the flipped columns. If rounding could decide the class of
    a row, its sums are computed again in the order of the columns; `needs_refit` is set for a candidate and fold where such a
    sum is NaN.
    """
    numbers, codes, slots = values
    centre, scale, constant, table, table_starts, n_codes, prior, present = model
    classes, weights, folds = rows
    parents, parent, starts, flipped = candidates
    n_folds, n_classes = prior.shape
    n_columns = slots.shape[0]
    base, sums = np.empty((n_classes, _BLOCK_ROWS)), np.empty((n_classes, _BLOCK_ROWS))
    reach, bound, best, second = (
        np.empty(_BLOCK_ROWS),
        np.empty(_BLOCK_ROWS),
        np.empty(_BLOCK_ROWS),
        np.empty(_BLOCK_ROWS),
    )
    chosen, inside = np.empty(_BLOCK_ROWS, dtype=np.int64), np.empty(n_columns, dtype=np.bool_)
    exact = np.empty(n_classes)
    for f in range(n_folds):
        parameters = _Columns(centre[f], scale[f], constant[f], table, table_starts[f], n_codes[f])
        largest = 0.0
        for k in range(n_classes):
            for p in range(centre.shape[2]):
                largest = max(largest, constant[f, k, p])
        for row in range(folds[f], folds[f + 1], _BLOCK_ROWS):
            end = min(row + _BLOCK_ROWS, folds[f + 1])
            n_rows = end - row
            last, n_base = -1, 0
            for c in range(first, stop):
                if parent[c] != last:
                    last, n_base = parent[c], 0
                    for k in range(n_classes):
                        for i in range(n_rows):
                            base[k, i] = 0.0
                    for j in range(n_columns):
                        if parents[last, j]:
                            n_base += 1
                            _add_column(numbers, codes, slots[j], parameters, row, end, 1.0, base)
                    for i in range(n_rows):
                        reach[i] = 0.0
                    for k in range(n_classes):
                        known = base[k, :n_rows]
                        for i in range(known.shape[0]):
                            reach[i] = max(reach[i], abs(known[i]))
                for k in range(n_classes):
                    own, known = sums[k, :n_rows], base[k, :n_rows]
                    for i in range(own.shape[0]):
                        own[i] = known[i] + prior[f, k]
                for t in range(starts[c], starts[c + 1]):
                    j = flipped[t]
                    sign = -1.0 if parents[last, j] else 1.0
                    _add_column(numbers, codes, slots[j], parameters, row, end, sign, sums)
                n_terms = n_base + starts[c + 1] - starts[c] + 2
                # Positive terms are at most `largest`; negative ones have at most the size of `largest` and the sum together.
                for i in range(n_rows):
                    bound[i] = reach[i] + 2.0 * largest * n_terms
                _choose_classes(sums, n_rows, best, second, chosen)
                inside_known = False
                for i in range(n_rows):
                    # NaN compares as false: not certain.
                    if not best[i] - second[i] > 1e-14 * n_terms * (abs(best[i]) + bound[i]):
                        if not inside_known:
                            inside_known = True
                            _fill_members(candidates, c, inside)
                        chosen[i] = _predict_in_order(
                            numbers, codes, slots, parameters, prior[f], present[f], inside, row + i, exact
                        )
                        if chosen[i] < 0:
                            needs_refit[c, f] = True
                            chosen[i] = 0
                    confusion[c, f, classes[row + i], chosen[i]] += weights[row + i]


@jit(void(_F, float64, rw(float64)), reassociate=True)
def _add_products(values, slope, sums):
    for i in range(values.shape[0]):
        sums[i] += slope * values[i]


@jit(void(_F, float64, rw(float64)), reassociate=True)
def _add_magnitudes(values, sign, magnitudes):
    for i in range(values.shape[0]):
        magnitudes[i] += sign * abs(values[i])


@jit(void(_F2, CANDIDATES, int64, int64, rw(float64, 2), rw(int64), rw(bool_)))
def _fill_set_sums(values, candidates, first, stop, sums, sizes, inside):
    """Fill the sums of `values` (one row for each class) over the columns of each set, and the sizes of the sets."""
    parents, parent, starts, flipped = candidates
    last, n_base = -1, 0
    base = np.zeros(values.shape[0])
    for c in range(first, stop):
        removes = False
        for t in range(starts[c], starts[c + 1]):
            removes = removes or parents[parent[c], flipped[t]]
        if parent[c] != last or removes:
            # A subtraction would leave a rounding error behind: the sum is computed again.
            last = -1 if removes else parent[c]
            _fill_members(candidates, c, inside)
            if not removes:
                inside[:] = parents[last]
            base[:] = 0.0
            n_base = 0
            for j in range(values.shape[1]):
                if inside[j]:
                    n_base += 1
                    base += values[:, j]
        sums[c - first], sizes[c - first] = base, n_base
        if not removes:
            for t in range(starts[c], starts[c + 1]):
                sizes[c - first] += 1
                sums[c - first] += values[:, flipped[t]]


@jit(bool_(_F, _F, _F, _F, _B, _I, _F, int64, int64, rw(float64), rw(float64, 2)))
def _single_column_confusion(values, slope, offset, prior, present, classes, weights, first, stop, sums, confusion):
    """Add the weights of rows that one column classifies to the confusion matrix; return whether a sum is NaN."""
    has_nan = False
    for i in range(first, stop):
        for k in range(prior.shape[0]):
            sums[k] = values[i] * slope[k] + (prior[k] + offset[k])
        chosen = _first_argmax(sums, present)
        has_nan = has_nan or chosen < 0
        confusion[classes[i], max(chosen, 0)] += weights[i]
    return has_nan


@jit(void(_F2, _LINEAR_MODEL, LABELLED_ROWS, CANDIDATES, int64, int64, rw(float64, 4), rw(bool_, 2)))
def linear_confusion(values, model, rows, candidates, first, stop, confusion, needs_refit):
    """Add the weights of the test rows to confusion matrices by class and predicted class, for the candidates first .. stop.

    The sum of a class is its prior plus slope * x + constant for every column of the set, minus the sum of the x times the
    logarithm of the sum of the `column_mass` of the set if that is above 0. A set of one column predicts by single_slope * x +
    (prior + constant), and a row of zeros, without constants, is predicted by the prior: neither depends on an order of
    summation. `needs_refit` is set for any other candidate and fold where rounding could decide the class of a row.
    """
    slope, constant, column_mass, single_slope, prior, present = model
    classes, weights, folds = rows
    parents, parent, starts, flipped = candidates
    n_folds, n_classes, n_columns = slope.shape
    n_sets = stop - first
    base, sums = np.empty((n_classes, _BLOCK_ROWS)), np.empty((n_classes, _BLOCK_ROWS))
    base_size, size, bound = np.empty(_BLOCK_ROWS), np.empty(_BLOCK_ROWS), np.empty(_BLOCK_ROWS)
    best, second = np.empty(_BLOCK_ROWS), np.empty(_BLOCK_ROWS)
    chosen, inside = np.empty(_BLOCK_ROWS, dtype=np.int64), np.empty(n_columns, dtype=np.bool_)
    exact = np.empty(n_classes)
    added, logs = np.empty((n_sets, n_classes)), np.empty((n_sets, n_classes))
    n_members = np.empty(n_sets, dtype=np.int64)
    for f in range(n_folds):
        has_mass = column_mass[f].max() > 0.0
        _fill_set_sums(column_mass[f], candidates, first, stop, logs, n_members, inside)
        for c in range(n_sets):
            for k in range(n_classes):
                logs[c, k] = math.log(logs[c, k]) if has_mass and logs[c, k] > 0.0 else 0.0
        _fill_set_sums(constant[f], candidates, first, stop, added, n_members, inside)
        steepest, highest = 0.0, 0.0
        for k in range(n_classes):
            if present[f, k]:
                highest = max(highest, abs(prior[f, k]))
            for j in range(n_columns):
                steepest = max(steepest, abs(slope[f, k, j]))
                highest = max(highest, abs(constant[f, k, j]))
        for row in range(folds[f], folds[f + 1], _BLOCK_ROWS):
            end = min(row + _BLOCK_ROWS, folds[f + 1])
            n_rows = end - row
            last = -1
            for c in range(first, stop):
                if needs_refit[c, f]:
                    continue
                if n_members[c - first] == 1:
                    _fill_members(candidates, c, inside)
                    j = inside.argmax()
                    needs_refit[c, f] = _single_column_confusion(
                        values[j], single_slope[f, :, j].copy(), constant[f, :, j].copy(), prior[f], present[f], classes, weights,
                        row, end, exact, confusion[c, f],
                    )  # fmt: skip
                    continue
                if parent[c] != last:
                    last = parent[c]
                    base[:, :n_rows] = 0.0
                    base_size[:n_rows] = 0.0
                    for j in range(n_columns):
                        if parents[last, j]:
                            _add_magnitudes(values[j, row:end], 1.0, base_size)
                            for k in range(n_classes):
                                _add_products(values[j, row:end], slope[f, k, j], base[k])
                size[:n_rows] = base_size[:n_rows]
                for t in range(starts[c], starts[c + 1]):
                    j = flipped[t]
                    _add_magnitudes(values[j, row:end], -1.0 if parents[last, j] else 1.0, size)
                deepest = 0.0
                for k in range(n_classes):
                    log, offset = logs[c - first, k], added[c - first, k] + prior[f, k]
                    deepest = max(deepest, abs(log))
                    own, known = sums[k, :n_rows], base[k, :n_rows]
                    for i in range(own.shape[0]):
                        own[i] = known[i] - size[i] * log + offset
                    for t in range(starts[c], starts[c + 1]):
                        j = flipped[t]
                        sign = -1.0 if parents[last, j] else 1.0
                        _add_products(values[j, row:end], sign * slope[f, k, j], own)
                n_terms = n_members[c - first] + 2 * (starts[c + 1] - starts[c]) + 2
                for i in range(n_rows):
                    bound[i] = (base_size[i] + abs(size[i])) * (steepest + deepest) + highest * n_terms
                # Slopes are from sums over weighted rows, which a refit may add up in another order.
                _choose_classes(sums, n_rows, best, second, chosen)
                inside_known = False
                for i in range(n_rows):
                    # NaN compares as false: not certain.
                    if not best[i] - second[i] > 1e-15 * (n_terms + 100) * (abs(best[i]) + bound[i]):
                        if not inside_known:
                            inside_known = True
                            _fill_members(candidates, c, inside)
                        zeros = has_mass and steepest < np.inf
                        for j in range(n_columns):
                            zeros = zeros and not (inside[j] and values[j, row + i] != 0.0)
                        chosen[i] = _first_argmax(prior[f], present[f]) if zeros else -1
                        if chosen[i] < 0:
                            needs_refit[c, f] = True
                            chosen[i] = 0
                    confusion[c, f, classes[row + i], chosen[i]] += weights[row + i]


class GaussianModel(NamedTuple):
    """Means and variances of all columns in each class, and over the rows; the log priors, minus infinity for an absent class.

    `relative_offset` is the distance of a column's means from 0, in standard deviations within a class.
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    column_variance: NDArray[np.float64]
    relative_offset: NDArray[np.float64]
    prior: NDArray[np.float64]


_GAUSSIAN_MODEL = record(GaussianModel, ro(float64, 3), ro(float64, 3), ro(float64, 2), ro(float64, 2), ro(float64, 2))


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
    _fill_members(candidates, c, inside)
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


@jit(void(_GAUSSIAN_MODEL, int64, ro(float64, 2), ro(int64), ro(bool_), float64, rw(float64, 2)))
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
    void(
        ro(float64, 2), _GAUSSIAN_MODEL, float64, LABELLED_ROWS, CANDIDATES, int64, int64, rw(float64, 4), rw(bool_, 2)
    ),
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
    best, second, chosen = np.empty(_BLOCK_ROWS), np.empty(_BLOCK_ROWS), np.empty(_BLOCK_ROWS, dtype=np.int64)
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
                            sums, i, chosen[i], margin, members, mean[f], variance[f], prior[f]
                        )
                    confusion[c, f, codes[row + i], chosen[i]] += weights[row + i]
