"""Linear models for many sets of columns: a Cholesky factor of the rows and columns of a Gram matrix that a set has.

Gram matrices have 1 in their diagonal, and shape (n_folds, n_columns, n_columns). Tested rows are one fold after the other, those
of fold f are folds[f] .. folds[f + 1], in the units of that fold's Gram matrix. Every set is factorised in the order of its
columns, whatever parent it comes from: its numbers are its own.
"""

from __future__ import annotations

import math

import numpy as np
from numba.types import bool_, float64, int64, void

from tamiz.kernels import jit, ro, rw

# Parents, the parent, where flips begin, what is flipped, and the range of candidates.
_CANDIDATES = (ro(bool_, 2), ro(int64), ro(int64), ro(int64), int64, int64)
# Rows whose sums stay in the nearest cache.
_BLOCK_ROWS = 128
# What one addition or product loses, as a share.
_EPS = 2.3e-16
# Products of columns lose as much where a condition number blows it up: 50 times what was ever seen.
_PRODUCT_ROUNDING = 2.0 * _EPS
# A smaller part of a column that others do not explain may be rounding alone.
_MIN_PIVOT = 1e-13
# The share of a sum of squares that rounding may change.
_MAX_CHANGE = 2e-10


@jit(int64(ro(bool_, 2), int64, ro(int64), int64, int64, rw(bool_), rw(int64)))
def _read_members(parents, parent, flipped, first, stop, inside, members):
    """Fill `members` with the columns of a candidate, ascending; return how many there are."""
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
    """Fill the Cholesky factor of some rows and columns, the transpose of its inverse, and the diagonal of the matrix's inverse.

    Return the sum of that diagonal, at least the largest eigenvalue of the inverse; infinity where there is none.
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
        # What is no number is no pivot either.
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
    """Fill the solution for a right side, and on the way that of the factor's triangle alone."""
    half[:n] = 0.0
    for b in range(n):
        for c in range(b, n):
            half[c] += inverse[b, c] * right[b]
    for b in range(n):
        total = 0.0
        for c in range(b, n):
            total += inverse[b, c] * half[c]
        solution[b] = total


@jit(float64(ro(float64, 2), ro(int64), int64, ro(float64)), reassociate=True)
def _squared_errors_by_gram(tested_gram, members, n, solution):
    """Return a sum of squared errors from products of columns: what cancels is lost. The target is the last column."""
    last = tested_gram[tested_gram.shape[0] - 1]
    total = last[tested_gram.shape[0] - 1]
    for a in range(n):
        row = tested_gram[members[a]]
        inner = -2.0 * last[members[a]]
        for b in range(n):
            inner += row[members[b]] * solution[b]
        total += solution[a] * inner
    return total


@jit(float64(ro(float64, 2), int64, int64, ro(int64), int64, ro(float64), rw(float64)), reassociate=True)
def _squared_errors_by_rows(tested, first, stop, members, n, solution, residuals):
    """Return a sum of squared errors, row by row."""
    n_columns = tested.shape[0] - 1
    total = 0.0
    row = first
    while row < stop:
        n_rows = min(_BLOCK_ROWS, stop - row)
        target = tested[n_columns]
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


@jit(
    void(
        ro(float64, 3),
        *[ro(float64, 2)] * 5,
        ro(float64, 3),
        ro(float64, 2),
        ro(int64),
        float64,
        bool_,
        *_CANDIDATES,
        rw(float64, 2),
        rw(bool_, 2),
    )
)
def linear_squared_errors(
    gram,
    cross,
    scale,
    tested_squares,
    largest_raw,
    fold_limits,
    tested_gram,
    tested,
    folds,
    rank_tolerance,
    scale_sensitive,
    parents,
    parent,
    starts,
    flipped,
    first,
    stop,
    squared_errors,
    needs_refit,
):
    """Fill the sums of squared errors of least squares over the candidates first .. stop, in every fold.

    `cross` holds the products of columns and target, `scale` the columns' units, `tested_squares` the sums of squares of the tested rows,
    `largest_raw` the largest absolute value of a column before it was centred, the target's last, in units of `scale`. `fold_limits` has for
    every fold the most columns it can tell apart, the norm of the target in the rows learned from, and the roots of the weights
    tested and learned from. The products of tested columns are in `tested_gram`, which has no fold where rows are few.

    `needs_refit` says of a candidate and fold that the refit may differ by more than a share of 2e-10: rounding is blown up by columns
    that are nearly collinear, or the refit cuts off directions `rank_tolerance` times as long as the longest. `scale_sensitive` says that the refit
    loses digits where units of columns differ.
    """
    n_folds, n_columns = cross.shape
    inside, members = np.empty(n_columns, dtype=np.bool_), np.empty(n_columns, dtype=np.int64)
    factor, inverse = np.empty((n_columns, n_columns)), np.empty((n_columns, n_columns))
    diagonal, right = np.empty(n_columns), np.empty(n_columns)
    half, solution = np.empty(n_columns), np.empty(n_columns)
    apart = np.empty(_BLOCK_ROWS)
    for c in range(first, stop):
        n = _read_members(parents, parent[c], flipped, starts[c], starts[c + 1], inside, members)
        for f in range(n_folds):
            needs_refit[c, f] = True
            blown = _factorize(gram[f], members, n, factor, inverse, diagonal) if n <= fold_limits[f, 0] else np.inf
            if blown == np.inf:
                continue
            longest, shortest = 0.0, 0.0
            for a in range(n):
                unit = scale[f, members[a]] * scale[f, members[a]]
                right[a] = cross[f, members[a]]
                longest += unit
                shortest += diagonal[a] / unit
            # At least the condition number of the columns as they are.
            condition = math.sqrt(longest * shortest)
            if not 2.0 * rank_tolerance * condition < 1.0:
                continue
            _solve(inverse, n, right, half, solution)
            norm, reach, noise = 0.0, 0.0, largest_raw[f, n_columns]
            for a in range(n):
                norm += solution[a] * solution[a]
                reach += tested_squares[f, members[a]]
                noise += abs(solution[a]) * largest_raw[f, members[a]]
            norm, reach = math.sqrt(norm), math.sqrt(reach)
            # The refit's predictions and ours may be so far apart, as a norm over the rows tested.
            between = (
                _PRODUCT_ROUNDING * blown * (norm + fold_limits[f, 1]) * reach + 4.0 * _EPS * noise * fold_limits[f, 2]
            )
            if scale_sensitive:
                between += _PRODUCT_ROUNDING * condition * fold_limits[f, 1] * fold_limits[f, 2] / fold_limits[f, 3]
            total = -1.0
            if tested_gram.shape[0] > 0:
                total = _squared_errors_by_gram(tested_gram[f], members, n, solution)
                size = math.sqrt(tested_gram[f, n_columns, n_columns]) + norm * reach
                if not _PRODUCT_ROUNDING * size * size < 0.01 * _MAX_CHANGE * total:
                    total = -1.0
            if total < 0.0:
                total = _squared_errors_by_rows(tested, folds[f], folds[f + 1], members, n, solution, apart)
            squared_errors[c, f] = total
            needs_refit[c, f] = not 2.0 * between < _MAX_CHANGE * math.sqrt(total)


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
    """Return whether the spread of the centres in some direction may be less than `rank_tolerance` times that in the widest.

    The centres are of the classes whose share is positive, in units in which the classes are round.
    """
    mean[:n] = 0.0
    n_present = 0
    for k in range(n_classes):
        n_present += priors[k] > 0.0
        for a in range(n):
            mean[a] += priors[k] * centres[k, a]
    # The matrix with the fewest rows that has those spreads: of columns, or of classes, which has one direction without a spread.
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
    """Add the weights of tested rows by class and class of the largest sum; return whether two largest are ever as near as `margin`.

    Rows of class t are bounds[t] .. bounds[t + 1]. The sum of the class `reference_class` is 0; one that begins at minus infinity is left out.
    `sums` has room for the sum of a class, the largest two so far, and the class of the largest.
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
                # Each is read before it is written: else there is a branch for every row.
                for i in range(here):
                    own, best, second, chosen = sums[0, i], sums[1, i], sums[2, i], sums[3, i]
                    above = own > best
                    runner_up = best if above else own
                    sums[1, i] = own if above else best
                    sums[2, i] = runner_up if runner_up > second else second
                    sums[3, i] = code if above else chosen
            for i in range(here):
                # What is no number is no decision either.
                n_unsure += 0 if sums[1, i] - sums[2, i] > margin else 1
            for k in range(reference_class, n_classes):
                code, total = float(k), 0.0
                for i in range(here):
                    total += weights[row + i] * (1.0 if sums[3, i] == code else 0.0)
                confusion[t, k] += total
            row += here
    return n_unsure > 0


@jit(
    void(
        ro(float64, 3),
        ro(float64, 3),
        *[ro(float64, 2)] * 3,
        ro(int64),
        ro(float64, 2),
        ro(float64),
        ro(int64, 2),
        float64,
        *_CANDIDATES,
        rw(float64, 4),
        rw(bool_, 2),
    )
)
def discriminant_confusion(
    gram,
    centres,
    priors,
    largest_centred,
    largest_raw,
    max_columns,
    tested,
    weights,
    bounds,
    rank_tolerance,
    parents,
    parent,
    starts,
    flipped,
    first,
    stop,
    confusion,
    needs_refit,
):
    """Fill the weights of tested rows by class and class predicted by linear discriminants, for the candidates first .. stop.

    `gram` holds the correlations of columns within classes, and columns are in units of their deviation within classes.
    `centres` are those of the classes, shape (n_folds, n_classes, n_columns), `priors` their prior probabilities, 0 for a class
    that a fold does not learn. Rows tested by a fold are in the order of their classes, those of class t are bounds[fold, t] ..
    bounds[fold, t + 1]. `largest_centred` and `largest_raw` are the largest absolute values of tested rows, centred and not; `max_columns` is the
    largest number of columns that a fold can tell apart.

    `needs_refit` says of a candidate and a fold that rounding may decide a prediction, or that the refit may leave out directions:
    those `rank_tolerance` times as wide as others.
    """
    n_folds, n_classes, n_columns = centres.shape
    inside, members = np.empty(n_columns, dtype=np.bool_), np.empty(n_columns, dtype=np.int64)
    room = max(n_columns, n_classes)
    factor, inverse = np.empty((room, room)), np.empty((room, room))
    other, products = np.empty((room, room)), np.empty((room, room))
    diagonal, right, half = np.empty(room), np.empty(room), np.empty(room)
    solution, mean = np.empty(room), np.empty(room)
    slopes, whitened = np.empty((n_classes, n_columns)), np.empty((n_classes, n_columns))
    begin, sums = np.empty(n_classes), np.empty((4, _BLOCK_ROWS))
    for c in range(first, stop):
        n = _read_members(parents, parent[c], flipped, starts[c], starts[c + 1], inside, members)
        for f in range(n_folds):
            needs_refit[c, f] = True
            blown = _factorize(gram[f], members, n, factor, inverse, diagonal) if n <= max_columns[f] else np.inf
            if not 4.0 * rank_tolerance * rank_tolerance * blown < 1.0:
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
                # Against the first class, which itself has 0 everywhere.
                middle, norm, noise = 0.0, 0.0, 0.0
                for a in range(n):
                    slopes[k, a] = solution[a]
                    middle += solution[a] * (centres[f, k, members[a]] + centres[f, base, members[a]])
                    norm += solution[a] * solution[a]
                    noise += abs(solution[a]) * largest_raw[f, members[a]]
                prior = math.log(priors[f, k] / priors[f, base])
                begin[k] = prior - 0.5 * middle
                lost = blown * math.sqrt(norm * furthest) + abs(prior) + abs(middle) + noise
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
