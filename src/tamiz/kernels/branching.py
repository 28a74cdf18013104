"""Branch and bound for the merit c'x / sqrt(x'Ax): bounds for sets of units, and the search over them.

A node has a set of selected units and a list of undecided units. r = c'x and t = x'Ax are the relevance and the total of the
selected units; h_j is what undecided unit j adds to the total by itself and with the selected units. A set X of undecided units has

    r(X) = r + sum c_j,    t(X) = t + sum h_j + sum of pairs inside X

and exceeds a merit m > 0 where r(X)^2 > m^2 t(X). Two steps prove that no X does.

1. Cells. For r(X) between a and b, r(X)^2 <= (a + b) r(X) - a b: the chord lies above the parabola. So no X of the cell exceeds
   m if (a + b) / m^2 r(X) - t(X) <= a b / m^2 for all X. A cell that is too wide for this proof is split in two.
2. A convex part of the total. Let A = B + D with B positive semidefinite and D diagonal. As x_j^2 = x_j, and as
   (x - y)'B(x - y) >= 0 for every y, x'Ax >= d'x + 2 y'Bx - y'By. This lower bound of the total is a sum over units, so its
   best X has every unit that adds more than it costs. Every y yields a valid bound. The best y maximises a concave quadratic
   function over the unit box; a few rounds of coordinate ascent from the y of the parent node come close to it.

Limits on the number of columns enter as a price for each column, a Lagrange multiplier. (Billionnet, Elloumi and Plateau 2009
transform quadratic 0-1 problems into this convex form.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.types import UniTuple, boolean, float64, int64, void
from numpy.typing import NDArray

from tamiz.kernels import jit, record, ro, rw


class BoundTerms(NamedTuple):
    """Read-only arrays of a merit by units (as in `subset_merits.UnitTerms`), its convex part B, and negative pair terms."""

    c: NDArray[np.float64]
    unit_totals: NDArray[np.float64]
    pairs: NDArray[np.float64]
    unit_sizes: NDArray[np.int64]
    base: NDArray[np.float64]
    size_limits: NDArray[np.int64]
    convex: NDArray[np.float64]
    negative_pairs: NDArray[np.float64]


class BestSet(NamedTuple):
    """The best set so far: its merit and its size (-1 for none), arrays of one number each, and its members."""

    merit: NDArray[np.float64]
    size: NDArray[np.int64]
    members: NDArray[np.bool_]


class _Relaxation(NamedTuple):
    """What bounds are computed from: relevances, negative pair terms, the convex part and the sizes of the units."""

    c: NDArray[np.float64]
    negative_pairs: NDArray[np.float64]
    convex: NDArray[np.float64]
    unit_sizes: NDArray[np.int64]


class _Ascent(NamedTuple):
    """The state of an ascent: y, By, and which limit on columns is active (as in `_ascent_step`)."""

    y: NDArray[np.float64]
    products: NDArray[np.float64]
    side: NDArray[np.int64]


_TERMS = record(
    BoundTerms, ro(float64, 2), ro(float64, 2), ro(float64, 3), ro(int64), ro(float64), ro(int64), ro(float64, 2), ro(float64)
)  # fmt: skip
_BEST_SET = record(BestSet, rw(float64), rw(int64), rw(boolean))
_RELAXATION = record(_Relaxation, rw(float64), ro(float64), ro(float64, 2), ro(int64))
_ASCENT = record(_Ascent, rw(float64), rw(float64), rw(int64))
# Safety margin of every proof, relative to the numbers compared: rounding errors are a million times smaller.
PROOF_MARGIN = 1e-9
# Rounds of ascent for a cell, and cells for a node, before a proof is abandoned.
ASCENT_ROUNDS, MAX_CELLS = 5, 24


@jit(float64(ro(float64), ro(float64, 2), ro(int64), float64, ro(float64), ro(int64), rw(float64), rw(float64)))
def _coordinate_ascent(c, convex, unit_sizes, slope, increments, units, y, products):
    """Maximise the concave function over each unit once, one after the other, and return the number of columns of y."""
    y_columns = 0.0
    for u in units:
        own = convex[u, u]
        gain = slope * c[u] - increments[u] + own - 2.0 * (products[u] - own * y[u])
        change = min(max(gain / (2.0 * own), 0.0), 1.0) - y[u]
        if abs(change) > 1e-4:
            y[u] += change
            for j in range(y.shape[0]):
                products[j] += change * convex[u, j]
        y_columns += unit_sizes[u] * y[u]
    return y_columns


@jit(
    float64(ro(float64), ro(float64, 2), ro(int64), float64, ro(float64), ro(int64), float64, rw(float64), rw(float64))
)
def _pairwise_ascent(c, convex, unit_sizes, slope, increments, units, n_columns, y, products):
    """Bring y to `n_columns` columns, then move weight from the least to the most valuable unit; return the price of a column."""
    y_columns = 0.0
    for u in units:
        y_columns += unit_sizes[u] * y[u]
    price = 0.0
    for _ in range(2 * units.shape[0]):
        first, last, most, least = -1, -1, -np.inf, np.inf
        for u in units:
            worth = (slope * c[u] - increments[u] + convex[u, u] - 2.0 * products[u]) / unit_sizes[u]
            if y[u] < 1.0 and worth > most:
                first, most = u, worth
            if y[u] > 0.0 and worth < least:
                last, least = u, worth
        price = most if last < 0 else (least if first < 0 else 0.5 * (most + least))
        short = n_columns - y_columns
        if abs(short) > 1e-9 * n_columns:
            u = first if short > 0.0 else last
            change = min(short / unit_sizes[u], 1.0 - y[u]) if short > 0.0 else max(short / unit_sizes[u], -y[u])
            # Values within 1e-9 of 0 or 1 are set to it, so that accumulated steps reach the limits.
            y[u] = 1.0 if y[u] + change > 1.0 - 1e-9 else (0.0 if y[u] + change < 1e-9 else y[u] + change)
            y_columns += unit_sizes[u] * change
            for j in range(y.shape[0]):
                products[j] += change * convex[u, j]
            continue
        if first < 0 or last < 0 or most - least <= 1e-4 * abs(price):
            break
        into, out = 1.0 / unit_sizes[first], 1.0 / unit_sizes[last]
        curve = (
            convex[first, first] * into * into + convex[last, last] * out * out - 2.0 * convex[first, last] * into * out
        )
        step = min((1.0 - y[first]) / into, y[last] / out)
        if 2.0 * curve * step > most - least:
            step = (most - least) / (2.0 * curve)
        y[first] = min(y[first] + step * into, 1.0)
        y[last] = max(y[last] - step * out, 0.0)
        for j in range(y.shape[0]):
            products[j] += step * (into * convex[first, j] - out * convex[last, j])
    return price


@jit(
    float64(
        *(ro(float64), ro(float64, 2), ro(int64), float64, ro(float64), ro(int64)),
        *(int64, int64, rw(float64), rw(int64), rw(float64)),
    )
)
def _ascent_step(c, convex, unit_sizes, slope, increments, units, min_columns, max_columns, y, side, products):
    """Move y towards the maximum of the concave function under the limits on columns, and return the price of a column.

    side[0] is 1 if the limit `max_columns` is active, -1 if `min_columns` is, else 0.
    """
    price = 0.0
    if side[0] == 0:
        y_columns = _coordinate_ascent(c, convex, unit_sizes, slope, increments, units, y, products)
        side[0] = 1 if y_columns > max_columns else (-1 if y_columns < min_columns else 0)
    if side[0] != 0:
        columns = max_columns if side[0] > 0 else min_columns
        price = _pairwise_ascent(c, convex, unit_sizes, slope, increments, units, columns, y, products)
        if price * side[0] < 0.0:
            side[0], price = 0, 0.0
    return price


@jit(
    UniTuple(float64, 3)(
        *(ro(float64), ro(float64, 2), ro(int64), float64, float64, ro(float64), ro(int64)),
        *(int64, int64, float64, ro(float64), ro(float64)),
    )
)
def _bound_and_value(
    c, convex, unit_sizes, slope, start, increments, units, min_columns, max_columns, price, y, products
):
    """Return an upper bound of slope r(X) - t(X), the concave function at y, and the number of columns of y.

    `start` is slope r - t.
    """
    reached = start
    bound, y_columns = reached + (price * max_columns if price > 0.0 else price * min_columns), 0.0
    for u in units:
        gain = slope * c[u] - increments[u] + convex[u, u]
        bound += y[u] * products[u] + max(gain - 2.0 * products[u] - price * unit_sizes[u], 0.0)
        reached += y[u] * (gain - products[u])
        y_columns += y[u] * unit_sizes[u]
    return bound, reached, y_columns


@jit(UniTuple(float64, 2)(ro(float64), ro(float64), float64, float64, ro(float64), ro(int64), float64))
def _relevance_range(c, negative_pairs, r, t, increments, units, merit):
    """Return the smallest and largest relevance of a set that exceeds `merit` with one or more of the undecided units."""
    gains, losses, least, below = 0.0, 0.0, np.inf, 0.0
    for u in units:
        gains += max(c[u], 0.0)
        losses += min(c[u], 0.0)
        # The least that the unit adds to the total, whatever other units are selected.
        floor = increments[u] + negative_pairs[u]
        least = min(least, floor)
        below += min(floor, 0.0)
    total = t + (least if below == 0.0 else below)
    return max(r + losses, merit * math.sqrt(max(total, 0.0))), r + gains


@jit(
    boolean(
        *(_RELAXATION, float64, float64, ro(float64), ro(int64)),
        *(int64, int64, float64, float64, float64, _ASCENT),
    )
)
def _may_beat(relaxation, r, t, increments, units, min_columns, max_columns, low, high, merit, ascent):
    """Return whether adding undecided units may yield a set with a relevance from low to high that exceeds `merit`.

    The units added have min_columns .. max_columns columns. `ascent` is the start of the ascent and is updated to its end.
    """
    c, _, convex, unit_sizes = relaxation
    y, products, side = ascent
    square = merit * merit
    below, above = np.empty(MAX_CELLS + 2), np.empty(MAX_CELLS + 2)
    below[0], above[0] = low, high
    n_open, n_cells, price = 1, 0, 0.0
    while n_open > 0:
        n_open -= 1
        n_cells += 1
        a, b = below[n_open], above[n_open]
        slope = (a + b) / square
        # The chord is farthest above the parabola in the middle of the cell; a bound above this value proves no smaller cell
        # either.
        end, parabola = a * b / square, (a + b) * (a + b) / (4.0 * square)
        spare = PROOF_MARGIN * parabola
        proven, n_rounds = False, 0
        while True:
            bound, reached, y_columns = _bound_and_value(
                c,
                convex,
                unit_sizes,
                slope,
                slope * r - t,
                increments,
                units,
                min_columns,
                max_columns,
                price,
                y,
                products,
            )
            proven = bound + spare <= end
            allowed = y_columns >= min_columns - 1e-6 and y_columns <= max_columns + 1e-6
            if proven or n_rounds == ASCENT_ROUNDS or (allowed and reached > parabola):
                break
            price = _ascent_step(
                c, convex, unit_sizes, slope, increments, units, min_columns, max_columns, y, side, products
            )
            n_rounds += 1
        if proven:
            continue
        if bound + spare > parabola or n_cells + n_open + 2 > MAX_CELLS:
            return True
        # Cells are split at the geometric mean; a cell that starts at 0 at a hundredth of its end.
        middle = math.sqrt(a * b) if a > 0.0 else 0.01 * b
        below[n_open], above[n_open] = a, middle
        below[n_open + 1], above[n_open + 1] = middle, b
        n_open += 2
    return False


@jit(
    boolean(
        *(_RELAXATION, float64, float64, ro(float64), ro(int64)),
        *(int64, int64, float64, _ASCENT),
    )
)
def _may_contain_better(relaxation, r, t, increments, units, min_columns, max_columns, merit, ascent):
    """Return whether adding one or more undecided units may yield a set of an allowed size with at least `merit`."""
    c, negative_pairs, convex, unit_sizes = relaxation
    y, products, side = ascent
    columns = 0
    for u in units:
        columns += unit_sizes[u]
    if units.shape[0] == 0 or columns < min_columns:
        return False
    if merit <= 0.0:
        return True
    merit *= 1.0 - PROOF_MARGIN
    low, high = _relevance_range(c, negative_pairs, r, t, increments, units, merit)
    if high <= low:
        return high > low * (1.0 - PROOF_MARGIN)
    products[:] = 0.0
    for u in units:
        if y[u] != 0.0:
            for j in range(y.shape[0]):
                products[j] += y[u] * convex[u, j]
    if (side[0] > 0 and max_columns >= columns) or (side[0] < 0 and min_columns <= 0):
        side[0] = 0
    return _may_beat(relaxation, r, t, increments, units, min_columns, max_columns, low, high, merit, ascent)


@jit(void(_TERMS, float64, rw(boolean)))
def mark_possible_units(terms, merit, possible):
    """Mark the units that a set with at least `merit` may contain; no such set contains any of the others.

    A set with a unit that costs more than it adds has a bound that is lower by the difference.
    """
    c, unit_totals, _, unit_sizes, base, size_limits, convex, negative_pairs = terms
    n = unit_sizes.shape[0]
    relevances, increments, units = c[0] + c[1], unit_totals[0] + unit_totals[1], np.arange(n)
    r, t = base[0] + base[1], base[2] + base[3]
    fewest, most = size_limits[1] - size_limits[0], size_limits[2] - size_limits[0]
    y, products, side = np.zeros(n), np.zeros(n), np.zeros(1, dtype=np.int64)
    merit *= 1.0 - PROOF_MARGIN
    possible[:] = merit <= 0.0
    below, above = _relevance_range(relevances, negative_pairs, r, t, increments, units, merit)
    if merit <= 0.0 or above < below:
        return
    # Cells from the highest to the lowest, each split until no unit is undecided or the cell is narrow.
    ends = np.empty(64)
    ends[0], n_ends = below, 1
    while n_ends > 0:
        below = ends[n_ends - 1]
        slope, end = (below + above) / (merit * merit), below * above / (merit * merit)
        price = 0.0
        for _ in range(ASCENT_ROUNDS):
            price = _ascent_step(
                relevances, convex, unit_sizes, slope, increments, units, fewest, most, y, side, products
            )
        bound, _, _ = _bound_and_value(
            relevances, convex, unit_sizes, slope, slope * r - t, increments, units, fewest, most, price, y, products
        )
        bound += PROOF_MARGIN * (below + above) * slope
        narrow = above < 1.02 * below or n_ends == ends.shape[0]
        n_open_units = 0
        for u in range(n):
            gain = slope * relevances[u] - increments[u] + convex[u, u] - 2.0 * products[u] - price * unit_sizes[u]
            if not possible[u] and bound + min(gain, 0.0) > end:
                possible[u] = narrow
                n_open_units += 1
        if narrow or n_open_units == 0:
            above = below
            n_ends -= 1
        else:
            ends[n_ends] = math.sqrt(below * above) if below > 0.0 else 0.01 * above
            n_ends += 1


@jit(void(ro(boolean), ro(float64, 2), ro(float64, 2), ro(float64, 3), ro(int64), rw(float64), rw(float64, 2)))
def _fill_node_sums(members, c, unit_totals, pairs, unit_sizes, sums, increments):
    """Fill the sums of a set (head and tail of its relevance, of its total, its columns) and what each unit adds to the total."""
    n = members.shape[0]
    for part in range(2):
        for j in range(n):
            increments[part, j] = unit_totals[part, j]
    for u in range(n):
        if members[u]:
            sums[4] += unit_sizes[u]
            for part in range(2):
                sums[part] += c[part, u]
                sums[2 + part] += increments[part, u]
                for j in range(n):
                    increments[part, j] += pairs[part, u, j]
    for j in range(n):
        increments[2, j] = increments[0, j] + increments[1, j]


@jit(boolean(ro(boolean), ro(boolean)))
def _precedes(members, others):
    """Return whether the first unit in which two sets differ is in `members`."""
    for j in range(members.shape[0]):
        if members[j] != others[j]:
            return members[j]
    return False


@jit(float64(_TERMS, ro(boolean), ro(boolean), float64, float64))
def upper_bound(terms, members, undecided, low, high):
    """Return an upper bound of the merits of the members with one or more undecided units, between low and high.

    high is a known upper bound, or infinity; the search for a tighter one ends at low.
    """
    c, unit_totals, pairs, unit_sizes, base, size_limits, convex, negative_pairs = terms
    n = members.shape[0]
    sums, increments = np.zeros(5), np.empty((3, n))
    sums[:4] = base
    sums[4] = size_limits[0]
    _fill_node_sums(members, c, unit_totals, pairs, unit_sizes, sums, increments)
    units = np.flatnonzero(undecided)
    y, products, side = np.full(n, 0.5), np.empty(n), np.zeros(1, dtype=np.int64)
    for u in range(n):
        if not undecided[u]:
            y[u] = 0.0
    relaxation = _Relaxation(c[0] + c[1], negative_pairs, convex, unit_sizes)
    ascent = _Ascent(y, products, side)
    size = int(sums[4])
    # Without a known upper bound, low is doubled until it is one.
    known, middle = math.isfinite(high), high
    for _ in range(60):
        if known and high - low <= 1e-4 * high:
            break
        middle = 0.5 * (low + high) if known else 2.0 * low
        if _may_contain_better(
            *(relaxation, sums[0] + sums[1], sums[2] + sums[3], increments[2], units),
            *(size_limits[1] - size, size_limits[2] - size, middle, ascent),
        ):
            low = middle
        else:
            high, known = middle, True
    return high


@jit(int64(ro(int64), ro(float64), ro(int64)))
def _branching_unit(units, y, duplicate_of):
    """Return the unit with the largest y, or the first of its duplicates."""
    most = units[0]
    for u in units:
        if y[u] > y[most]:
            most = u
    for u in units:
        if duplicate_of[u] == duplicate_of[most]:
            return u
    return most


@jit(void(int64, ro(float64, 2), ro(float64, 3), ro(int64), ro(float64), ro(float64, 2), rw(float64), rw(float64, 2)))
def _add_unit(u, c, pairs, unit_sizes, sums, increments, new_sums, new_increments):
    """Fill the sums of a set after unit u is added, and what each unit adds to its total."""
    new_sums[4] = sums[4] + unit_sizes[u]
    for part in range(2):
        new_sums[part] = sums[part] + c[part, u]
        new_sums[2 + part] = sums[2 + part] + increments[part, u]
    for j in range(increments.shape[1]):
        head, tail = increments[0, j] + pairs[0, u, j], increments[1, j] + pairs[1, u, j]
        new_increments[0, j], new_increments[1, j], new_increments[2, j] = head, tail, head + tail


@jit(boolean(ro(float64), ro(boolean), rw(float64), rw(int64), rw(boolean)))
def _update_best(sums, members, best_merit, best_size, best_members):
    """Store a set that is better than the best, and return False if it is the same set as the best."""
    relevance, total, size = sums[0] + sums[1], sums[2] + sums[3], int(sums[4])
    merit = relevance / math.sqrt(total) if total > 0.0 else 0.0
    if best_size[0] >= 0 and merit == best_merit[0] and size == best_size[0]:
        if not _precedes(members, best_members):
            return _precedes(best_members, members)
    elif best_size[0] >= 0 and (merit < best_merit[0] or (merit == best_merit[0] and size > best_size[0])):
        return True
    best_merit[0], best_size[0] = merit, size
    best_members[:] = members
    return True


@jit(
    UniTuple(int64, 2)(
        *(_TERMS, ro(int64), ro(boolean), ro(boolean), float64, int64, int64),
        *(_BEST_SET, rw(boolean, 2), rw(boolean, 2)),
    )
)
def branch_and_bound(
    terms, duplicate_of, members, undecided, optimality_gap, max_bounds, max_evaluated, best, open_members, open_undecided
):  # fmt: skip
    """Search the sets of the members and undecided units depth first; return how many were evaluated, and how many nodes are open.

    The search stops after `max_bounds` bounds or `max_evaluated` sets. The sets not decided by then are those of the open
    nodes: row k of `open_members` with one or more units of row k of `open_undecided`. `best` is the best set, on entry and on
    return; a node is searched if it may exceed its merit by more than `optimality_gap`. duplicate_of[j] is the first unit with
    the same numbers as unit j: a duplicate is selected only after the earlier ones.
    """
    c, unit_totals, pairs, unit_sizes, base, size_limits, convex, negative_pairs = terms
    best_merit, best_size, best_members = best
    n, n_levels = members.shape[0], open_members.shape[0]
    relaxation = _Relaxation(c[0] + c[1], negative_pairs, convex, unit_sizes)
    sums, increments = np.zeros((n_levels, 5)), np.empty((n_levels, 3, n))
    y, products = np.full((n_levels, n), 0.5), np.empty(n)
    units, n_units = np.empty((n_levels, n), dtype=np.int64), np.zeros(n_levels, dtype=np.int64)
    added_unit, sides = np.empty(n_levels, dtype=np.int64), np.zeros((n_levels, 1), dtype=np.int64)
    inside = members.copy()
    sums[0, :4] = base
    sums[0, 4] = size_limits[0]
    _fill_node_sums(members, c, unit_totals, pairs, unit_sizes, sums[0], increments[0])
    for j in range(n):
        if undecided[j] and sums[0, 4] + unit_sizes[j] <= size_limits[2]:
            units[0, n_units[0]] = j
            n_units[0] += 1
    level, n_evaluated, n_bounds = 0, 0, 0
    while level >= 0 and n_bounds < max_bounds and n_evaluated < max_evaluated and level < n_levels - 1:
        size = int(sums[level, 4])
        n_bounds += 1
        if not _may_contain_better(
            *(relaxation, sums[level, 0] + sums[level, 1], sums[level, 2] + sums[level, 3]),
            *(increments[level, 2], units[level, : n_units[level]], size_limits[1] - size, size_limits[2] - size),
            *(best_merit[0] + optimality_gap, _Ascent(y[level], products, sides[level])),
        ):
            level -= 1
            if level >= 0:
                inside[added_unit[level]] = False
            continue
        u = _branching_unit(units[level, : n_units[level]], y[level], duplicate_of)
        size += unit_sizes[u]
        below, left, kept = level + 1, 0, 0
        for k in range(n_units[level]):
            j = units[level, k]
            if j != u and size + unit_sizes[j] <= size_limits[2]:
                units[below, left] = j
                left += 1
            if duplicate_of[j] != duplicate_of[u]:
                units[level, kept] = j
                kept += 1
        n_units[level], n_units[below], sides[below] = kept, left, sides[level]
        _add_unit(u, c, pairs, unit_sizes, sums[level], increments[level], sums[below], increments[below])
        y[below] = y[level]
        added_unit[level] = u
        inside[u] = True
        level = below
        if size_limits[1] <= size <= size_limits[2]:
            n_evaluated += _update_best(sums[level], inside, best_merit, best_size, best_members)
    n_open = 0
    while level >= 0:
        if n_units[level] > 0:
            open_members[n_open], open_undecided[n_open] = inside, False
            for k in range(n_units[level]):
                open_undecided[n_open, units[level, k]] = True
            n_open += 1
        level -= 1
        if level >= 0:
            inside[added_unit[level]] = False
    return n_evaluated, n_open
