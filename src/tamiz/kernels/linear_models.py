"""Least squares and linear discriminant analysis for many sets of columns, by Cholesky factors of submatrices of Gram matrices.

Gram matrices have a unit diagonal, and shape (n_folds, n_columns, n_columns). Test rows are fold after fold: those of fold f are
folds[f] .. folds[f + 1], in the units of the Gram matrix of the fold. Every set is factorised in the order of its columns, so its
result does not depend on the parent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.types import bool_, float64, int64, void
from numpy.typing import NDArray

from tamiz.kernels import CANDIDATES, jit, record, ro, rw

# Rows of a block: their sums stay in the first-level cache.
_BLOCK_ROWS = 128
# Relative rounding error of one addition or product.
_EPS = 2.3e-16
# Relative error of products of columns, multiplied by a condition number: 50 times the largest error observed.
_PRODUCT_ROUNDING = 2.0 * _EPS
# A smaller pivot, the part of a column that others do not explain, may be a rounding error.
_MIN_PIVOT = 1e-13
# The relative change of a sum of squares that rounding may cause.
_MAX_CHANGE = 2e-10


class LeastSquaresFolds(NamedTuple):
    """Products of columns, and test rows, of every fold, for one or more targets.

    `cross` has the products of targets and columns, `scale` the units of the columns, `tested_squares` the sums of squares of
    the test rows, and `largest_raw` the largest absolute values of columns before centring, the targets last, in units of
    `scale`. `fold_limits` has for every fold the largest possible rank, the square roots of the test and training weights, and
    the norms of the targets in the training rows. `tested_gram` has the products of the test columns, and no folds if rows are
    few. `tested` has the test columns, and the targets last; it has no rows if they are not in memory.
    """

    gram: NDArray[np.float64]
    cross: NDArray[np.float64]
    scale: NDArray[np.float64]
    tested_squares: NDArray[np.float64]
    largest_raw: NDArray[np.float64]
    fold_limits: NDArray[np.float64]
    tested_gram: NDArray[np.float64]
    tested: NDArray[np.float64]
    folds: NDArray[np.int64]


class DiscriminantFolds(NamedTuple):
    """Correlations of columns within classes, and test rows, of every fold; columns are in units of their deviation within classes.

    `centres` has the class means, shape (n_folds, n_classes, n_columns), and `priors` the prior probabilities, 0 for a class
    without training rows. `largest_centred` and `largest_raw` are the largest absolute values of the test rows, centred and not;
    `max_columns` is the largest possible rank of a fold. The test rows of a fold are sorted by class: those of class t are
    bounds[fold, t] .. bounds[fold, t + 1].
    """

    gram: NDArray[np.float64]
    centres: NDArray[np.float64]
    priors: NDArray[np.float64]
    largest_centred: NDArray[np.float64]
    largest_raw: NDArray[np.float64]
    max_columns: NDArray[np.int64]
    tested: NDArray[np.float64]
    weights: NDArray[np.float64]
    bounds: NDArray[np.int64]


_LEAST_SQUARES = record(
    LeastSquaresFolds, *[ro(float64, 3)] * 2, *[ro(float64, 2)] * 4, ro(float64, 3), ro(float64, 2), ro(int64)
)
_DISCRIMINANT = record(
    DiscriminantFolds,
    *[ro(float64, 3)] * 2,
    *[ro(float64, 2)] * 3,
    ro(int64),
    ro(float64, 2),
    ro(float64),
    ro(int64, 2),
)


@jit(int64(ro(bool_, 2), int64, ro(int64), int64, int64, rw(bool_), rw(int64)))
def _read_members(parents, parent, flipped, first, stop, inside, members):
    """Fill `members` with the columns of a candidate, ascending; return their number."""
    for j in range(inside.shape[0]):
        inside[j] = parents[parent, j]
    for t in range(first, stop):
        inside[flipped[t]] = not inside[flipped[t]]
    n = 0
    for j in range(inside.shape[0]):
        if inside[j]:
            members[n] = j
            n += 1
    return n


@jit(float64(ro(float64, 2), ro(int64), int64, rw(float64, 2), rw(float64, 2), rw(float64)), reassociate=True)
def _factorize(gram, members, n, factor, inverse, diagonal):
    """Fill the Cholesky factor of a submatrix, the transpose of its inverse, and the diagonal of the inverse of the submatrix.

    Return the trace of that inverse, an upper bound of its largest eigenvalue; infinity if a pivot is too small.
    """
    for a in range(n):
        row, of = factor[a], gram[members[a]]
        for b in range(a):
            other = factor[b]
            rest = of[members[b]]
            for c in range(b):
                rest -= row[c] * other[c]
            row[b] = rest * inverse[b, b]
        pivot = of[members[a]]
        for c in range(a):
            pivot -= row[c] * row[c]
        # NaN compares as false, like a pivot that is too small.
        if not pivot > _MIN_PIVOT:
            return np.inf
        inverse[a, a] = 1.0 / math.sqrt(pivot)
        for b in range(a):
            rest = 0.0
            for c in range(b, a):
                rest += row[c] * inverse[b, c]
            inverse[b, a] = -rest * inverse[a, a]
    trace = 0.0
    for b in range(n):
        squared = 0.0
        for c in range(b, n):
            squared += inverse[b, c] * inverse[b, c]
        diagonal[b] = squared
        trace += squared
    return trace


@jit(void(ro(float64, 2), int64, ro(float64), rw(float64), rw(float64)), reassociate=True)
def _solve(inverse, n, right, half, solution):
    """Fill `solution` for a right-hand side, and `half` with the solution of the triangular system alone."""
    half[:n] = 0.0
    for b in range(n):
        for c in range(b, n):
            half[c] += inverse[b, c] * right[b]
    for b in range(n):
        total = 0.0
        for c in range(b, n):
            total += inverse[b, c] * half[c]
        solution[b] = total


@jit(float64(ro(float64, 2), int64, ro(int64), int64, ro(float64)), reassociate=True)
def _squared_errors_by_gram(tested_gram, target, members, n, solution):
    """Return a sum of squared errors from products of columns, which may cancel; `target` is the column of the target."""
    own = tested_gram[target]
    total = own[target]
    for a in range(n):
        row = tested_gram[members[a]]
        inner = -2.0 * own[members[a]]
        for b in range(n):
            inner += row[members[b]] * solution[b]
        total += solution[a] * inner
    return total


@jit(float64(ro(float64, 2), ro(float64), int64, int64, ro(int64), int64, ro(float64), rw(float64)), reassociate=True)
def _squared_errors_by_rows(tested, target, first, stop, members, n, solution, residuals):
    """Return a sum of squared errors, computed row by row."""
    total = 0.0
    row = first
    while row < stop:
        n_rows = min(_BLOCK_ROWS, stop - row)
        for i in range(n_rows):
            residuals[i] = target[row + i]
        for a in range(n):
            column, slope = tested[members[a]], solution[a]
            for i in range(n_rows):
                residuals[i] -= slope * column[row + i]
        for i in range(n_rows):
            total += residuals[i] * residuals[i]
        row += n_rows
    return total


@jit(void(_LEAST_SQUARES, float64, bool_, CANDIDATES, int64, int64, rw(float64, 3), rw(bool_, 3)))
def linear_squared_errors(
    fold_arrays, rank_tolerance, scale_sensitive, candidates, first, stop, squared_errors, needs_refit
):
    """Fill the sums of squared errors of least squares for the candidates first .. stop, in every fold and for every target.

    `needs_refit` is set for a candidate, fold and target if the refit may differ by more than 2e-10 relative: rounding errors are
    amplified by nearly collinear columns, or the refit truncates singular values below `rank_tolerance` times the largest.
    `scale_sensitive` means that the refit loses digits if units of columns differ.
    """
    gram, cross, scale, tested_squares, largest_raw, fold_limits, tested_gram, tested, folds = fold_arrays
    parents, parent, starts, flipped = candidates
    n_folds, n_targets, n_columns = cross.shape
    inside, members = np.empty(n_columns, dtype=np.bool_), np.empty(n_columns, dtype=np.int64)
    factor, inverse = np.empty((n_columns, n_columns)), np.empty((n_columns, n_columns))
    diagonal, right = np.empty(n_columns), np.empty(n_columns)
    half, solution = np.empty(n_columns), np.empty(n_columns)
    residuals = np.empty(_BLOCK_ROWS)
    for c in range(first, stop):
        n = _read_members(parents, parent[c], flipped, starts[c], starts[c + 1], inside, members)
        for f in range(n_folds):
            needs_refit[c, f] = True
            inverse_trace = (
                _factorize(gram[f], members, n, factor, inverse, diagonal) if n <= fold_limits[f, 0] else np.inf
            )
            if inverse_trace == np.inf:
                continue
            longest, shortest, reach = 0.0, 0.0, 0.0
            for a in range(n):
                unit = scale[f, members[a]] * scale[f, members[a]]
                longest += unit
                shortest += diagonal[a] / unit
                reach += tested_squares[f, members[a]]
            # An upper bound of the condition number of the columns in their own units.
            condition, reach = math.sqrt(longest * shortest), math.sqrt(reach)
            if not 2.0 * rank_tolerance * condition < 1.0:
                continue
            for t in range(n_targets):
                for a in range(n):
                    right[a] = cross[f, t, members[a]]
                _solve(inverse, n, right, half, solution)
                norm, noise, target_norm = 0.0, largest_raw[f, n_columns + t], fold_limits[f, 3 + t]
                for a in range(n):
                    norm += solution[a] * solution[a]
                    noise += abs(solution[a]) * largest_raw[f, members[a]]
                norm = math.sqrt(norm)
                # An upper bound of the norm of the difference between these predictions and those of a refit, over the
                # test rows.
                prediction_error = (
                    _PRODUCT_ROUNDING * inverse_trace * (norm + target_norm) * reach
                    + 4.0 * _EPS * noise * fold_limits[f, 1]
                )
                if scale_sensitive:
                    prediction_error += (
                        _PRODUCT_ROUNDING * condition * target_norm * fold_limits[f, 1] / fold_limits[f, 2]
                    )
                total = -1.0
                if tested_gram.shape[0] > 0:
                    total = _squared_errors_by_gram(tested_gram[f], n_columns + t, members, n, solution)
                    size = math.sqrt(tested_gram[f, n_columns + t, n_columns + t]) + norm * reach
                    if not _PRODUCT_ROUNDING * size * size < 0.01 * _MAX_CHANGE * total:
                        total = -1.0
                if total < 0.0 and tested.shape[1] == 0:
                    continue
                if total < 0.0:
                    target = tested[n_columns + t]
                    total = _squared_errors_by_rows(
                        tested, target, folds[f], folds[f + 1], members, n, solution, residuals
                    )
                squared_errors[c, f, t] = total
                needs_refit[c, f, t] = not 2.0 * prediction_error < _MAX_CHANGE * math.sqrt(total)


@jit(
    bool_(
        ro(float64, 2),
        ro(float64),
        int64,
        int64,
        float64,
        *[rw(float64, 2)] * 2,
        *[rw(float64)] * 2,
        rw(float64, 2),
    )
)
def _is_rank_deficient(centres, priors, n_classes, n, rank_tolerance, products, factor, diagonal, mean, inverse):
    """Return whether the smallest standard deviation of the class centres may be below `rank_tolerance` times the largest.

    Only classes with a positive prior count; the centres are whitened by the covariance within classes.
    """
    mean[:n] = 0.0
    n_present = 0
    for k in range(n_classes):
        n_present += priors[k] > 0.0
        for a in range(n):
            mean[a] += priors[k] * centres[k, a]
    # The smaller of two matrices with the same eigenvalues: of columns, or of classes, which has one eigenvalue 0.
    of_columns = n < n_present
    size = n if of_columns else n_classes
    trace = 0.0
    for a in range(size):
        for b in range(size):
            total = 0.0
            if of_columns:
                for k in range(n_classes):
                    total += priors[k] * (centres[k, a] - mean[a]) * (centres[k, b] - mean[b])
            else:
                for j in range(n):
                    total += (centres[a, j] - mean[j]) * (centres[b, j] - mean[j])
                total *= math.sqrt(priors[a] * priors[b])
            products[a, b] = total
        trace += products[a, a]
    members = np.arange(size)
    for a in range(size):
        for b in range(size):
            products[a, b] /= trace
            if not of_columns:
                products[a, b] += math.sqrt(priors[a] * priors[b])
                if a == b and priors[a] == 0.0:
                    products[a, b] = 1.0
    return (
        not 4.0 * rank_tolerance * rank_tolerance * _factorize(products, members, size, factor, inverse, diagonal) < 1.0
    )


@jit(
    bool_(
        ro(float64, 2),
        ro(float64),
        ro(int64),
        ro(int64),
        int64,
        ro(float64, 2),
        ro(float64),
        int64,
        float64,
        rw(float64, 2),
        rw(float64, 2),
    ),
    reassociate=True,
)
def _add_confusion(tested, weights, bounds, members, n, slopes, intercepts, reference_class, margin, sums, confusion):
    """Add the weights of the test rows by class and class of the largest sum; return whether two largest sums differ by <=
    `margin`.

    Class t has the rows bounds[t] .. bounds[t + 1]. The sum of `reference_class` is 0; classes with an intercept of minus
    infinity are skipped. The rows of the buffer `sums` are: sum of a class, largest sum, second largest sum, class of the
    largest.
    """
    n_classes = intercepts.shape[0]
    n_unsure = 0
    for t in range(n_classes):
        row = bounds[t]
        while row < bounds[t + 1]:
            here = min(_BLOCK_ROWS, bounds[t + 1] - row)
            for i in range(here):
                sums[1, i], sums[2, i], sums[3, i] = 0.0, -np.inf, reference_class
            for k in range(reference_class + 1, n_classes):
                if intercepts[k] == -np.inf:
                    continue
                for i in range(here):
                    sums[0, i] = intercepts[k]
                for a in range(n):
                    column, slope = tested[members[a]], slopes[k, a]
                    for i in range(here):
                        sums[0, i] += slope * column[row + i]
                code = float(k)
                # All are read before any is written: otherwise the loop has a branch for every row.
                for i in range(here):
                    own, best, second, chosen = sums[0, i], sums[1, i], sums[2, i], sums[3, i]
                    above = own > best
                    runner_up = best if above else own
                    sums[1, i] = own if above else best
                    sums[2, i] = runner_up if runner_up > second else second
                    sums[3, i] = code if above else chosen
            for i in range(here):
                # NaN compares as false: undecided.
                n_unsure += 0 if sums[1, i] - sums[2, i] > margin else 1
            for k in range(reference_class, n_classes):
                code, total = float(k), 0.0
                for i in range(here):
                    total += weights[row + i] * (1.0 if sums[3, i] == code else 0.0)
                confusion[t, k] += total
            row += here
    return n_unsure > 0


@jit(void(_DISCRIMINANT, float64, CANDIDATES, int64, int64, rw(float64, 4), rw(bool_, 2)))
def discriminant_confusion(fold_arrays, rank_tolerance, candidates, first, stop, confusion, needs_refit):
    """Add the weights of the test rows to confusion matrices of linear discriminant analysis, for the candidates first .. stop.

    `needs_refit` is set for a candidate and fold if rounding may decide a prediction, or if the refit may drop directions with a
    standard deviation below `rank_tolerance` times the largest.
    """
    gram, centres, priors, largest_centred, largest_raw, max_columns, tested, weights, bounds = fold_arrays
    parents, parent, starts, flipped = candidates
    n_folds, n_classes, n_columns = centres.shape
    inside, members = np.empty(n_columns, dtype=np.bool_), np.empty(n_columns, dtype=np.int64)
    largest_size = max(n_columns, n_classes)
    factor, inverse = np.empty((largest_size, largest_size)), np.empty((largest_size, largest_size))
    other, products = np.empty((largest_size, largest_size)), np.empty((largest_size, largest_size))
    diagonal, right, half = np.empty(largest_size), np.empty(largest_size), np.empty(largest_size)
    solution, mean = np.empty(largest_size), np.empty(largest_size)
    slopes, whitened = np.empty((n_classes, n_columns)), np.empty((n_classes, n_columns))
    begin, sums = np.empty(n_classes), np.empty((4, _BLOCK_ROWS))
    for c in range(first, stop):
        n = _read_members(parents, parent[c], flipped, starts[c], starts[c + 1], inside, members)
        for f in range(n_folds):
            needs_refit[c, f] = True
            inverse_trace = (
                _factorize(gram[f], members, n, factor, inverse, diagonal) if n <= max_columns[f] else np.inf
            )
            if not 4.0 * rank_tolerance * rank_tolerance * inverse_trace < 1.0:
                continue
            base, n_present, furthest = -1, 0, 0.0
            for a in range(n):
                furthest += largest_centred[f, members[a]] * largest_centred[f, members[a]]
            wide = 0.0
            for k in range(n_classes):
                begin[k] = -np.inf
                whitened[k, :n] = 0.0
                if priors[f, k] == 0.0:
                    continue
                n_present += 1
                base = k if base < 0 else base
                for a in range(n):
                    right[a] = centres[f, k, members[a]] - centres[f, base, members[a]]
                _solve(inverse, n, right, half, solution)
                whitened[k, :n] = half[:n]
                # Relative to the first class, whose own slopes are 0.
                middle, norm, noise = 0.0, 0.0, 0.0
                for a in range(n):
                    slopes[k, a] = solution[a]
                    middle += solution[a] * (centres[f, k, members[a]] + centres[f, base, members[a]])
                    norm += solution[a] * solution[a]
                    noise += abs(solution[a]) * largest_raw[f, members[a]]
                prior = math.log(priors[f, k] / priors[f, base])
                begin[k] = prior - 0.5 * middle
                lost = inverse_trace * math.sqrt(norm * furthest) + abs(prior) + abs(middle) + noise
                wide = max(wide, 64.0 * _EPS * lost)
            if n_present > 2 and n > 1:
                cut = _is_rank_deficient(
                    whitened, priors[f], n_classes, n, rank_tolerance, products, other, diagonal, mean, factor
                )
                if cut:
                    continue
            needs_refit[c, f] = _add_confusion(
                tested, weights, bounds[f], members, n, slopes, begin, base, wide, sums, confusion[c, f]
            )
