"""Every set of units judged by c'x / sqrt(x'Ax): all codes of a range, or all combinations that begin alike.

A unit is what moves together, one column or several. c and A come as heads and tails (`tamiz.statistics.exact_sums`), whose sums
are exact in any order: a merit depends on its set alone, and equal merits are equal bits. `c` has two rows, heads and tails,
and so have `own`, what a unit by itself and its pairs with the fixed columns bring to the total, and `pairs`, twice what two
units bring together, 0 for a unit and itself. `base` holds head and tail of the fixed columns' relevance, then of their total;
`absolute` the sums of the sizes of all numbers that relevances, and totals, are made of.

Most sets are far from the best so far. So a loop that becomes vectors asks of many sets at once whether one of them may reach
it, by r |r| >= m |m| t with room for rounding, and only sets that may are judged exactly.
"""

from __future__ import annotations

import math

import numpy as np
from numba.types import boolean, float64, int64, void

from tamiz.kernels import jit, ro, rw


# MERGED: Sums over sets of columns, of numbers split into heads and tails: exact, and so the same in any order.
# MERGED:
# MERGED: `large` is 1.5 times 2^26 of the numbers' scale: what is left of a number after `large` is added and taken away again is
# MERGED: its head, a multiple of 2^-26 of the scale; the rest is its tail. (`tamiz.statistics.exact_sums` says why sums of them are exact.)
@jit(void(ro(float64, 2), ro(int64), float64, rw(float64), rw(float64)))
def add_split_rows(matrix, rows, splitter, heads, tails):
    """Add rows of a matrix to the sums of heads and tails of its columns."""
    for k in range(rows.shape[0]):
        row = matrix[rows[k]]
        for j in range(row.shape[0]):
            head = (row[j] + splitter) - splitter
            heads[j] += head
            tails[j] += row[j] - head


@jit(void(ro(float64, 2), ro(int64), ro(float64), ro(int64), ro(int64), float64, rw(float64, 2)))
def subset_pair_sums(matrix, row_of, diagonal, starts, members, splitter, out):
    """Fill out with the sums of heads and of tails over all pairs of each set's members, each with itself among them.

    Set c has the members[starts[c] : starts[c + 1]]; the row of column j is matrix[place[j]].
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


# Relative to the sums of absolute values: far above the rounding of a hundred additions, far below what tells sets apart.
ROUNDING_SLACK = 1e-13


@jit(float64(float64, float64))
def _merit(relevance, total):
    return relevance / math.sqrt(total) if total > 0.0 else 0.0


@jit(float64(float64))
def _merit_threshold(merit):
    """Return m |m|, a little lower: what r |r| / t has to come to."""
    square = merit * abs(merit)
    return square - abs(square) * ROUNDING_SLACK if math.isfinite(square) else square


@jit(void(ro(float64, 2), ro(float64, 2), ro(float64, 3), ro(int64), rw(float64, 2), rw(float64)))
def _fill_low_sums(c, unit_totals, pairs, unit_sizes, sums, sizes):
    """Fill in the sums (head and tail of c, then of the total) and the sizes of all sets of the last units.

    Bit b of a set's number is the unit b places before the last.
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
    """Take unit u into the set (sign 1) or out of it (-1), and return by how many columns the set grows."""
    for part in range(2):
        sums[part] += sign * c[part, u]
        sums[2 + part] += sign * (unit_totals[part, u] + increments[part, u])
        for j in range(increments.shape[1]):
            increments[part, j] += sign * pairs[part, u, j]
    return int(sign) * unit_sizes[u]


@jit(
    int64(
        *(ro(float64, 2), ro(float64, 2), ro(float64, 3), ro(int64), ro(float64), ro(float64)),
        *(ro(int64), int64, int64, int64, int64, rw(float64), rw(int64)),
    )
)
def evaluate_codes(
    c,
    unit_totals,
    pairs,
    unit_sizes,
    base,
    absolute_sums,
    size_limits,
    n_low,
    first,
    last,
    max_sets,
    best_merit,
    best_set,
):
    """Judge the sets of the codes from first * 2^n_low to last * 2^n_low, at most room of them, and return how many.

    The low bits of a code are the last n_low units, the last unit the lowest bit; the higher bits go through the other units
    by Gray's code. sizes: columns that are fixed, least and most columns of a set. best[0] is the merit to reach, found the
    size and the code of the set that has it (the bits in the order of the units, the first the highest), size -1 for none.
    """
    n = c.shape[1]
    n_high, n_sets = n - n_low, 1 << n_low
    slack_r, slack_t = ROUNDING_SLACK * absolute_sums[0], ROUNDING_SLACK * absolute_sums[1]
    low, low_sizes = np.empty((4, n_sets)), np.empty(n_sets)
    _fill_low_sums(c, unit_totals, pairs, unit_sizes, low, low_sizes)
    relevances, totals = low[0] + low[1], low[2] + low[3]
    widest = int(low_sizes[n_sets - 1])
    # below[s]: how many sets of the last units have less than s columns.
    below = np.zeros(widest + 2, dtype=np.int64)
    for s in range(n_sets):
        below[int(low_sizes[s]) + 1] += 1
    for s in range(widest + 1):
        below[s + 1] += below[s]

    row, with_low = np.zeros((2, n)), np.zeros(n_sets)
    sums = base.copy()
    size, code, judged = size_limits[0], 0, 0
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
        cut = below[most + 1] - below[fewest] > max_sets - judged
        for b in range(n_low):
            pair = row[0, n - 1 - b] + row[1, n - 1 - b]
            for k in range(1 << b):
                with_low[(1 << b) + k] = with_low[k] + pair
        reach = _merit_threshold(best_merit[0])
        # Totals as low as they may be, or as high where merits are below 0.
        relevance, total = sums[0] + sums[1] + slack_r, sums[2] + sums[3] - math.copysign(slack_t, reach)
        some = cut
        if fewest == 0 and most == widest:
            for s in range(n_sets):
                r, t = relevance + relevances[s], total + totals[s] + with_low[s]
                some |= (r * abs(r) >= reach * t) | (t <= 2.0 * slack_t)
        else:
            low_end, high_end = float(fewest), float(most)
            for s in range(n_sets):
                r, t = relevance + relevances[s], total + totals[s] + with_low[s]
                may = (r * abs(r) >= reach * t) | (t <= 2.0 * slack_t)
                some |= may & (low_sizes[s] >= low_end) & (low_sizes[s] <= high_end)
        if not some:
            judged += below[most + 1] - below[fewest]
            continue
        for s in range(n_sets):
            if not fewest <= low_sizes[s] <= most:
                continue
            if judged == max_sets:
                return judged
            judged += 1
            r, t = relevance + relevances[s], total + totals[s] + with_low[s]
            if r * abs(r) >= reach * t or t <= 2.0 * slack_t:
                head, tail = sums[2] + low[2, s], sums[3] + low[3, s]
                for b in range(n_low):
                    if (s >> b) & 1:
                        head += row[0, n - 1 - b]
                        tail += row[1, n - 1 - b]
                merit = _merit((sums[0] + low[0, s]) + (sums[1] + low[1, s]), head + tail)
                columns, whole = size + int(low_sizes[s]), (code << n_low) | s
                if merit > best_merit[0] or (
                    merit == best_merit[0]
                    and (best_set[0] < 0 or columns < best_set[0] or (columns == best_set[0] and whole > best_set[1]))
                ):
                    best_merit[0], best_set[0], best_set[1] = merit, columns, whole
                    reach = _merit_threshold(merit)
                    total = sums[2] + sums[3] - math.copysign(slack_t, reach)
    return judged


@jit(boolean(ro(int64), int64, int64, ro(int64)))
def _precedes(prefix, depth, j, best_set):
    """Tell whether the units prefix[:depth] with j come before the found ones: whose unit comes first where they differ."""
    for d in range(min(depth + 1, best_set[1])):
        unit = prefix[d] if d < depth else j
        if unit != best_set[2 + d]:
            return unit < best_set[2 + d]
    return False


@jit(
    int64(
        *(ro(float64, 2), ro(int64), ro(int64), ro(float64, 2), ro(float64, 3), ro(int64), int64, ro(int64)),
        *(int64, int64, int64, float64, float64, int64, rw(float64), rw(int64)),
    )
)
def _evaluate_children(
    c,
    unit_sizes,
    size_limits,
    sums,
    increments,
    units,
    depth,
    columns,
    top,
    first,
    last,
    slack_r,
    slack_t,
    max_sets,
    best_merit,
    best_set,
):
    """Judge the set at a depth with one of the units from first to last more, at most room, and return how many."""
    level = depth - top
    fewest, most = size_limits[1] - columns[level], size_limits[2] - columns[level]
    allowed = 0
    # Views that begin at 0: a loop that could meet a negative number does not become vectors.
    wide = unit_sizes[first:last]
    for k in range(last - first):
        allowed += (wide[k] >= fewest) & (wide[k] <= most)
    if allowed == 0:
        return 0
    reach = _merit_threshold(best_merit[0])
    relevance = sums[level, 0] + sums[level, 1] + slack_r
    total = sums[level, 2] + sums[level, 3] - math.copysign(slack_t, reach)
    some = allowed > max_sets
    relevances, totals = c[2, first:last], increments[level, 2, first:last]
    for k in range(last - first):
        r, t = relevance + relevances[k], total + totals[k]
        some |= (r * abs(r) >= reach * t) | (t <= 2.0 * slack_t)
    if not some:
        return allowed
    judged = 0
    for j in range(first, last):
        if not fewest <= unit_sizes[j] <= most:
            continue
        if judged == max_sets:
            break
        judged += 1
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
    return judged


@jit(
    int64(
        *(ro(float64, 2), ro(float64, 2), ro(float64, 3), ro(int64), ro(float64), ro(float64), ro(int64)),
        *(ro(int64), int64, int64, boolean, int64, rw(float64), rw(int64)),
    )
)
def evaluate_combinations(
    c,
    unit_totals,
    pairs,
    unit_sizes,
    base,
    absolute_sums,
    size_limits,
    prefix,
    first,
    last,
    include_descendants,
    max_sets,
    best_merit,
    best_set,
):
    """Judge the sets of the prefix's units, one unit from first to last, and later ones, at most room, and return how many.

    Not deep: without later ones. sizes and best as in `evaluate_codes`; found is the size, -1 for none, the number of units and the
    units, in order, of the best set.
    """
    n, top = c.shape[1], prefix.shape[0]
    slack_r, slack_t = ROUNDING_SLACK * absolute_sums[0], ROUNDING_SLACK * absolute_sums[1]
    # after[j]: columns of the units from j on.
    after = np.zeros(n + 1, dtype=np.int64)
    narrowest = unit_sizes[0]
    for j in range(n - 1, -1, -1):
        after[j] = after[j + 1] + unit_sizes[j]
        narrowest = min(narrowest, unit_sizes[j])
    # One level for every unit beyond the prefix; brings: what each unit would bring to the total, head, tail and both.
    n_levels = min(n, max(size_limits[2] - size_limits[0], 0) // narrowest) - top + 2
    units, place = np.empty(top + n_levels, dtype=np.int64), np.empty(n_levels, dtype=np.int64)
    sums, brings = np.zeros((n_levels, 4)), np.empty((n_levels, 3, n))
    columns = np.empty(n_levels, dtype=np.int64)
    both = np.empty((3, n))
    both[0], both[1], both[2] = c[0], c[1], c[0] + c[1]
    sums[0], columns[0], row = base, size_limits[0], np.zeros((2, n))
    for d in range(top):
        units[d] = prefix[d]
        columns[0] += _toggle_unit(prefix[d], 1.0, c, unit_totals, pairs, unit_sizes, sums[0], row)
    brings[0, 0], brings[0, 1] = unit_totals[0] + row[0], unit_totals[1] + row[1]
    brings[0, 2] = brings[0, 0] + brings[0, 1]
    judged = _evaluate_children(
        *(both, unit_sizes, size_limits, sums, brings, units, top, columns, top, first, last),
        *(slack_r, slack_t, max_sets, best_merit, best_set),
    )
    level = 0
    place[0] = first
    while level >= 0 and judged < max_sets and include_descendants:
        j = place[level]
        if j >= (last if level == 0 else n):
            level -= 1
            continue
        place[level] = j + 1
        size = columns[level] + unit_sizes[j]
        if j + 1 >= n or size + narrowest > size_limits[2] or size + after[j + 1] < size_limits[1]:
            continue
        units[top + level] = j
        for part in range(2):
            sums[level + 1, part] = sums[level, part] + c[part, j]
            sums[level + 1, 2 + part] = sums[level, 2 + part] + brings[level, part, j]
        above, here = brings[level, :, j + 1 :], brings[level + 1, :, j + 1 :]
        pair = pairs[:, j, j + 1 :]
        for i in range(n - j - 1):
            head, tail = above[0, i] + pair[0, i], above[1, i] + pair[1, i]
            here[0, i], here[1, i], here[2, i] = head, tail, head + tail
        level += 1
        columns[level], place[level] = size, j + 1
        judged += _evaluate_children(
            *(both, unit_sizes, size_limits, sums, brings, units, top + level, columns, top, j + 1, n),
            *(slack_r, slack_t, max_sets - judged, best_merit, best_set),
        )
    return judged
