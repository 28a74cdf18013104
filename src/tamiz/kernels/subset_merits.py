"""Exhaustive evaluation of the merit c'x / sqrt(x'Ax): of all codes of a range, or of all combinations with a common prefix.

A unit is a group of one or more columns that are selected together. c and A are split into heads and tails
(`tamiz.statistics.exact_sums`), whose sums are exact in any order: a merit depends only on its set, and equal merits have equal
bits. The first axis of `c`, `unit_totals` and `pairs` is head and tail. `unit_totals` is what a unit alone, with its pairs with
the fixed columns, adds to the total x'Ax; `pairs` is what two units add together, 0 for a unit with itself. `base` has head and
tail of the relevance c'x of the fixed columns, then of their total. `absolute_sums` has the sums of the absolute values of all
terms of relevances and of totals.

Most sets are far below the best merit m. A vectorised loop therefore tests many sets together, by r |r| >= m |m| t with a
margin for rounding; only a block in which a set passes is evaluated exactly.

`splitter` is 1.5 * 2^26 times the scale of the numbers: adding and subtracting it rounds a number to its head, a multiple of
2^-26 of the scale; the rest is the tail.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.types import boolean, float64, int64, void
from numpy.typing import NDArray

from tamiz.kernels import jit, record, ro, rw


class UnitTerms(NamedTuple):
    """Read-only arrays of a merit by units, as the head of this file describes them, and the limits on the sizes of sets.

    `size_limits` has the number of fixed columns, and the least and largest number of columns of a set.
    """

    c: NDArray[np.float64]
    unit_totals: NDArray[np.float64]
    pairs: NDArray[np.float64]
    unit_sizes: NDArray[np.int64]
    base: NDArray[np.float64]
    absolute_sums: NDArray[np.float64]
    size_limits: NDArray[np.int64]


_TERMS = record(
    UnitTerms, ro(float64, 2), ro(float64, 2), ro(float64, 3), ro(int64), ro(float64), ro(float64), ro(int64)
)


@jit(void(ro(float64, 2), ro(int64), float64, rw(float64), rw(float64)))
def add_split_rows(matrix, rows, splitter, heads, tails):
    for k in range(rows.shape[0]):
        row = matrix[rows[k]]
        for j in range(row.shape[0]):
            head = (row[j] + splitter) - splitter
            heads[j] += head
            tails[j] += row[j] - head


@jit(void(ro(float64, 2), ro(int64), ro(float64), ro(int64), ro(int64), float64, rw(float64, 2)))
def subset_pair_sums(matrix, row_of, diagonal, starts, members, splitter, out):
    """Fill out with the sums of heads and of tails over all pairs of members of each set, the diagonal included.

    Set c has the members[starts[c] : starts[c + 1]]; the row of column j is matrix[row_of[j]].
    """
    for c in range(starts.shape[0] - 1):
        heads, tails = 0.0, 0.0
        for a in range(starts[c], starts[c + 1]):
            row = matrix[row_of[members[a]]]
            part_heads, part_tails = 0.0, 0.0
            for b in range(starts[c], a):
                value = row[members[b]]
                head = (value + splitter) - splitter
                part_heads += head
                part_tails += value - head
            own = diagonal[members[a]]
            head = (own + splitter) - splitter
            heads += 2.0 * part_heads + head
            tails += 2.0 * part_tails + (own - head)
        out[c, 0] = heads
        out[c, 1] = tails


# Relative to the sums of absolute values: far above the rounding error of a hundred additions, far below differences of merits.
ROUNDING_SLACK = 1e-13


@jit(float64(float64, float64))
def _merit(relevance, total):
    return relevance / math.sqrt(total) if total > 0.0 else 0.0


@jit(float64(float64))
def _merit_threshold(merit):
    """Return m |m| minus a margin for rounding: the threshold of r |r| / t."""
    square = merit * abs(merit)
    return square - abs(square) * ROUNDING_SLACK if math.isfinite(square) else square


@jit(void(ro(float64, 2), ro(float64, 2), ro(float64, 3), ro(int64), rw(float64, 2), rw(float64)))
def _fill_low_sums(c, unit_totals, pairs, unit_sizes, sums, sizes):
    """Fill the sums (head and tail of relevance, then of the total) and the sizes of all sets of the last units.

    Bit b of the number of a set is unit n - 1 - b.
    """
    n = c.shape[1]
    sums[:, 0] = 0.0
    sizes[0] = 0.0
    b = 0
    while (1 << b) < sizes.shape[0]:
        u = n - 1 - b
        for k in range(1 << b):
            s = (1 << b) + k
            sizes[s] = sizes[k] + unit_sizes[u]
            for part in range(2):
                sums[part, s] = sums[part, k] + c[part, u]
                total = sums[2 + part, k] + unit_totals[part, u]
                for e in range(b):
                    if (k >> e) & 1:
                        total += pairs[part, u, n - 1 - e]
                sums[2 + part, s] = total
        b += 1


@jit(int64(int64, float64, ro(float64, 2), ro(float64, 2), ro(float64, 3), ro(int64), rw(float64), rw(float64, 2)))
def _toggle_unit(u, sign, c, unit_totals, pairs, unit_sizes, sums, increments):
    """Add unit u to the set (sign 1) or remove it (-1), and return the change in the number of columns."""
    for part in range(2):
        sums[part] += sign * c[part, u]
        sums[2 + part] += sign * (unit_totals[part, u] + increments[part, u])
        for j in range(increments.shape[1]):
            increments[part, j] += sign * pairs[part, u, j]
    return int(sign) * unit_sizes[u]


@jit(int64(_TERMS, int64, int64, int64, int64, rw(float64), rw(int64)))
def evaluate_codes(terms, n_low, first, last, max_sets, best_merit, best_set):
    """Evaluate the sets of the codes first * 2^n_low .. last * 2^n_low, at most `max_sets`, and return their number.

    The low bits of a code are the last n_low units, the last unit being the lowest bit; the higher bits are the other units in
    Gray code order. best_merit[0] is the best merit so far, and best_set the size (-1 for none) and code of its set, with the
    first unit as the highest bit.
    """
    c, unit_totals, pairs, unit_sizes, base, absolute_sums, size_limits = terms
    n = c.shape[1]
    n_high, n_sets = n - n_low, 1 << n_low
    slack_r, slack_t = ROUNDING_SLACK * absolute_sums[0], ROUNDING_SLACK * absolute_sums[1]
    low, low_sizes = np.empty((4, n_sets)), np.empty(n_sets)
    _fill_low_sums(c, unit_totals, pairs, unit_sizes, low, low_sizes)
    relevances, totals = low[0] + low[1], low[2] + low[3]
    widest = int(low_sizes[n_sets - 1])
    # below[s]: number of sets of the last units with fewer than s columns.
    below = np.zeros(widest + 2, dtype=np.int64)
    for s in range(n_sets):
        below[int(low_sizes[s]) + 1] += 1
    for s in range(widest + 1):
        below[s + 1] += below[s]

    row, with_low = np.zeros((2, n)), np.zeros(n_sets)
    sums = base.copy()
    size, code, n_evaluated = size_limits[0], 0, 0
    for step in range(first, last):
        changed = code ^ step ^ (step >> 1)
        code ^= changed
        for b in range(n_high):
            if (changed >> b) & 1:
                sign = 1.0 if (code >> b) & 1 else -1.0
                size += _toggle_unit(n_high - 1 - b, sign, c, unit_totals, pairs, unit_sizes, sums, row)
        fewest, most = max(size_limits[1] - size, 0), min(size_limits[2] - size, widest)
        if fewest > most or below[most + 1] == below[fewest]:
            continue
        cut = below[most + 1] - below[fewest] > max_sets - n_evaluated
        for b in range(n_low):
            pair = row[0, n - 1 - b] + row[1, n - 1 - b]
            for k in range(1 << b):
                with_low[(1 << b) + k] = with_low[k] + pair
        reach = _merit_threshold(best_merit[0])
        # The smallest total within rounding, or the largest if merits are negative.
        relevance, total = sums[0] + sums[1] + slack_r, sums[2] + sums[3] - math.copysign(slack_t, reach)
        any_candidate = cut
        if fewest == 0 and most == widest:
            for s in range(n_sets):
                r, t = relevance + relevances[s], total + totals[s] + with_low[s]
                any_candidate |= (r * abs(r) >= reach * t) | (t <= 2.0 * slack_t)
        else:
            low_end, high_end = float(fewest), float(most)
            for s in range(n_sets):
                r, t = relevance + relevances[s], total + totals[s] + with_low[s]
                is_candidate = (r * abs(r) >= reach * t) | (t <= 2.0 * slack_t)
                any_candidate |= is_candidate & (low_sizes[s] >= low_end) & (low_sizes[s] <= high_end)
        if not any_candidate:
            n_evaluated += below[most + 1] - below[fewest]
            continue
        for s in range(n_sets):
            if not fewest <= low_sizes[s] <= most:
                continue
            if n_evaluated == max_sets:
                return n_evaluated
            n_evaluated += 1
            r, t = relevance + relevances[s], total + totals[s] + with_low[s]
            if r * abs(r) >= reach * t or t <= 2.0 * slack_t:
                head, tail = sums[2] + low[2, s], sums[3] + low[3, s]
                for b in range(n_low):
                    if (s >> b) & 1:
                        head += row[0, n - 1 - b]
                        tail += row[1, n - 1 - b]
                merit = _merit((sums[0] + low[0, s]) + (sums[1] + low[1, s]), head + tail)
                columns, full_code = size + int(low_sizes[s]), (code << n_low) | s
                if merit > best_merit[0] or (
                    merit == best_merit[0]
                    and (
                        best_set[0] < 0 or columns < best_set[0] or (columns == best_set[0] and full_code > best_set[1])
                    )
                ):
                    best_merit[0], best_set[0], best_set[1] = merit, columns, full_code
                    reach = _merit_threshold(merit)
                    total = sums[2] + sums[3] - math.copysign(slack_t, reach)
    return n_evaluated


@jit(boolean(ro(int64), int64, int64, ro(int64)))
def _precedes(prefix, depth, j, best_set):
    """Return whether the set prefix[:depth] with j precedes the best set in lexicographic order."""
    for d in range(min(depth + 1, best_set[1])):
        unit = prefix[d] if d < depth else j
        if unit != best_set[2 + d]:
            return unit < best_set[2 + d]
    return False


class _Path(NamedTuple):
    """Sets along a path of the search: a set at every level, one unit larger than that of the level above.

    `units` has the units of the prefix and then those added, `columns` the number of columns, `sums` the sums of the set, and
    `increments` what each unit adds to the total.
    """

    units: NDArray[np.int64]
    columns: NDArray[np.int64]
    sums: NDArray[np.float64]
    increments: NDArray[np.float64]


_PATH = record(_Path, rw(int64), rw(int64), rw(float64, 2), rw(float64, 3))


@jit(
    int64(
        *(ro(float64, 2), ro(int64), ro(int64), _PATH, int64, int64, int64, int64),
        *(ro(float64), int64, rw(float64), rw(int64)),
    )
)
def _evaluate_children(
    c, unit_sizes, size_limits, path, level, depth, first, last, slack, max_sets, best_merit, best_set
):
    """Evaluate the set of a level with each one of the units first .. last added, at most `max_sets`; return their number.

    `depth` is the number of its units, and `slack` the margins for rounding of a relevance and of a total.
    """
    units, columns, sums, increments = path
    slack_r, slack_t = slack[0], slack[1]
    fewest, most = size_limits[1] - columns[level], size_limits[2] - columns[level]
    allowed = 0
    # Views that begin at 0: loops with indices that could be negative are not vectorised.
    wide = unit_sizes[first:last]
    for k in range(last - first):
        allowed += (wide[k] >= fewest) & (wide[k] <= most)
    if allowed == 0:
        return 0
    reach = _merit_threshold(best_merit[0])
    relevance = sums[level, 0] + sums[level, 1] + slack_r
    total = sums[level, 2] + sums[level, 3] - math.copysign(slack_t, reach)
    any_candidate = allowed > max_sets
    relevances, totals = c[2, first:last], increments[level, 2, first:last]
    for k in range(last - first):
        r, t = relevance + relevances[k], total + totals[k]
        any_candidate |= (r * abs(r) >= reach * t) | (t <= 2.0 * slack_t)
    if not any_candidate:
        return allowed
    n_evaluated = 0
    for j in range(first, last):
        if not fewest <= unit_sizes[j] <= most:
            continue
        if n_evaluated == max_sets:
            break
        n_evaluated += 1
        merit = _merit(
            (sums[level, 0] + c[0, j]) + (sums[level, 1] + c[1, j]),
            (sums[level, 2] + increments[level, 0, j]) + (sums[level, 3] + increments[level, 1, j]),
        )
        if merit < best_merit[0]:
            continue
        size = columns[level] + unit_sizes[j]
        if merit > best_merit[0] or (
            best_set[0] < 0 or size < best_set[0] or (size == best_set[0] and _precedes(units, depth, j, best_set))
        ):
            best_merit[0], best_set[0], best_set[1] = merit, size, depth + 1
            for d in range(depth):
                best_set[2 + d] = units[d]
            best_set[2 + depth] = j
    return n_evaluated


@jit(int64(_TERMS, ro(int64), int64, int64, boolean, int64, rw(float64), rw(int64)))
def evaluate_combinations(terms, prefix, first, last, include_descendants, max_sets, best_merit, best_set):
    """Evaluate the sets of the prefix, one unit of first .. last, and any later units, at most `max_sets`; return their number.

    Without `include_descendants` there are no later units. `best_merit` is that of `evaluate_codes`; `best_set` has the size (-1
    for none), the number of units and the units, in order, of the best set.
    """
    c, unit_totals, pairs, unit_sizes, base, absolute_sums, size_limits = terms
    n, top = c.shape[1], prefix.shape[0]
    slack = np.empty(2)
    slack[0], slack[1] = ROUNDING_SLACK * absolute_sums[0], ROUNDING_SLACK * absolute_sums[1]
    # after[j]: number of columns of the units j, j + 1, ...
    after = np.zeros(n + 1, dtype=np.int64)
    narrowest = unit_sizes[0]
    for j in range(n - 1, -1, -1):
        after[j] = after[j + 1] + unit_sizes[j]
        narrowest = min(narrowest, unit_sizes[j])
    # One level for every unit beyond the prefix; increments: what each unit adds to the total (head, tail and both).
    n_levels = min(n, max(size_limits[2] - size_limits[0], 0) // narrowest) - top + 2
    units, cursor = np.empty(top + n_levels, dtype=np.int64), np.empty(n_levels, dtype=np.int64)
    sums, increments = np.zeros((n_levels, 4)), np.empty((n_levels, 3, n))
    columns = np.empty(n_levels, dtype=np.int64)
    both = np.empty((3, n))
    both[0], both[1], both[2] = c[0], c[1], c[0] + c[1]
    sums[0], columns[0], row = base, size_limits[0], np.zeros((2, n))
    for d in range(top):
        units[d] = prefix[d]
        columns[0] += _toggle_unit(prefix[d], 1.0, c, unit_totals, pairs, unit_sizes, sums[0], row)
    increments[0, 0], increments[0, 1] = unit_totals[0] + row[0], unit_totals[1] + row[1]
    increments[0, 2] = increments[0, 0] + increments[0, 1]
    path = _Path(units, columns, sums, increments)
    n_evaluated = _evaluate_children(
        both, unit_sizes, size_limits, path, 0, top, first, last, slack, max_sets, best_merit, best_set
    )
    level = 0
    cursor[0] = first
    while level >= 0 and n_evaluated < max_sets and include_descendants:
        j = cursor[level]
        if j >= (last if level == 0 else n):
            level -= 1
            continue
        cursor[level] = j + 1
        size = columns[level] + unit_sizes[j]
        if j + 1 >= n or size + narrowest > size_limits[2] or size + after[j + 1] < size_limits[1]:
            continue
        units[top + level] = j
        for part in range(2):
            sums[level + 1, part] = sums[level, part] + c[part, j]
            sums[level + 1, 2 + part] = sums[level, 2 + part] + increments[level, part, j]
        above, here = increments[level, :, j + 1 :], increments[level + 1, :, j + 1 :]
        pair = pairs[:, j, j + 1 :]
        for i in range(n - j - 1):
            head, tail = above[0, i] + pair[0, i], above[1, i] + pair[1, i]
            here[0, i], here[1, i], here[2, i] = head, tail, head + tail
        level += 1
        columns[level], cursor[level] = size, j + 1
        n_left = max_sets - n_evaluated
        n_evaluated += _evaluate_children(
            both, unit_sizes, size_limits, path, level, top + level, j + 1, n, slack, n_left, best_merit, best_set
        )
    return n_evaluated
