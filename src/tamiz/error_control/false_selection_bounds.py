r"""Bounds on the expected number of false selections by complementary pairs stability selection.

A column is false if its probability of selection from half of the rows is at most the mean, q / p, of all p columns; with an
exchangeable selection of irrelevant columns, these are false. The bounds need no other property of the selection procedure.

References
----------
Meinshausen and Bühlmann (2010), Stability selection, Journal of the Royal Statistical Society B 72. Shah and Samworth (2013),
Variable selection with error control, Journal of the Royal Statistical Society B 75: theorems for any selection, for unimodal and
for r-concave distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from tamiz.arrays import Floats

ASSUMPTIONS = ("unimodal", "r_concave", "none")
# Powers of the shape constraints on the selection by both halves, and by single halves.
_SIMULTANEOUS_R, _SINGLE_R = -1 / 2, -1 / 4
# Beyond this shift, a power of the shift plus 0 .. 2 B is constant to the precision of the bound.
_MAX_SHIFT = 1e7
_GOLDEN = (np.sqrt(5) - 1) / 2
# Of an interval of shifts: the bound changes by less than 1e-12 of itself.
_N_GOLDEN_STEPS = 60


def false_selection_bound(
    n_selected: float, n_columns: int, threshold: float, n_pairs: int, assumption: str = "unimodal"
) -> float:
    r"""Return the bound on the expected number of false selections.

    .. math:: E(V) \le C(\tau) \, \frac{q^2}{p}

    with :math:`C = 1 / (2\tau - 1)` without an assumption. If the distribution of the number of pairs whose halves both select a
    false column is unimodal, :math:`C = 1 / (2 (2\tau - 1 - 1/(2B)))` for a threshold :math:`\tau \le 3/4`, and
    :math:`4 (1 - \tau + 1/(2B)) / (1 + 1/B)` above. If it is -1/2-concave, and that of the halves -1/4-concave, the bound is
    :math:`p \min\{D(q^2/p^2, 2\tau - 1, B, -1/2), D(q/p, \tau, 2B, -1/4)\}` with the tail probability D of `max_tail_probability`.

    Parameters
    ----------
    n_selected : float
        q, the mean number of columns that are selected from half of the rows.
    n_columns : int
        p, the number of columns.
    threshold : float
        The smallest selection frequency of a selected column; it counts as the next multiple of 1 / (2 B).
    n_pairs : int
        B, the number of pairs of halves.
    assumption : {"unimodal", "r_concave", "none"}, default="unimodal"

    Returns
    -------
    float
        Never more than p. A threshold of at most 1/2 has no other bound without the assumption of r-concavity, and neither have a
        q and a threshold outside the conditions of a theorem.

    Examples
    --------
    >>> [round(false_selection_bound(10, 100, 0.6, 50, assumption), 2) for assumption in ("none", "unimodal", "r_concave")]
    [5.0, 2.63, 1.14]
    """
    share = n_selected / n_columns
    # The threshold as a number of halves; a product such as 0.58 * 100 is rounded first.
    n_halves = int(np.ceil(round(threshold * 2 * n_pairs, 8)))
    tau = n_halves / (2 * n_pairs)
    if assumption == "r_concave":
        tails = (
            max_tail_probability(share**2, n_halves - n_pairs, n_pairs, _SIMULTANEOUS_R),
            max_tail_probability(share, n_halves, 2 * n_pairs, _SINGLE_R),
        )
        return n_columns * min(tails)
    factor = 1 / (2 * tau - 1) if tau > 0.5 else np.inf
    if assumption == "unimodal" and share <= 1 / np.sqrt(3) and tau > _smallest_unimodal_threshold(share, n_pairs):
        if tau <= 0.75:
            factor = 1 / (2 * (2 * tau - 1 - 1 / (2 * n_pairs)))
        else:
            factor = 4 * (1 - tau + 1 / (2 * n_pairs)) / (1 + 1 / n_pairs)
    return float(min(n_columns * factor * share**2, n_columns))


def _smallest_unimodal_threshold(share: float, n_pairs: int) -> float:
    return float(min(0.5 + share**2, 0.5 + 1 / (2 * n_pairs) + 0.75 * share**2))


@lru_cache(maxsize=1024)
def max_tail_probability(mean: float, start: int, n: int, r: float) -> float:
    r"""Return D, the largest P(X >= start / n) of r-concave distributions on 0, 1/n .. 1 with a mean of at most `mean`, for r < 0.

    A distribution is r-concave if the r-th power of its probabilities is convex. The extreme ones are proportional to
    :math:`(a + i)^{1/r}` for i = 0 .. k, with a smaller probability at k + 1 so that the mean is exact. For each k the shift a lies
    between those at which k + 1 and k are the last points of a complete sequence.

    Parameters
    ----------
    mean : float
    start : int
    n : int
    r : float

    Returns
    -------
    float
        1 if `start` is at most 2 `mean` n, up to rounding to whole points.
    """
    centre = mean * n
    first = int(np.ceil(round(2 * centre, 8))) + 1
    if start < first or first >= n:
        return 1.0
    if mean == 0:
        return 0.0
    points = np.arange(n + 1.0)
    # A last point before start - 1 leaves no probability in the tail.
    ends = np.arange(max(first, start - 1), n + 1)
    shifts = np.array([_find_shift(centre, k, 1 / r) for k in ends.tolist()])
    last, low, high = ends[:-1, None], shifts[1:], shifts[:-1]
    is_in, room = points <= last, last + 1 - points

    def tail(shift: Floats) -> Floats:
        values = np.where(is_in, (shift[:, None] + points) ** (1 / r), 0.0)
        below = values[:, :start].sum(axis=1)
        tails: Floats = 1 - (last[:, 0] + 1 - centre) * below / (room * values).sum(axis=1)
        return tails

    return float(np.clip(_maximize(tail, low, high).max(initial=0.0), 0.0, 1.0))


def _find_shift(centre: float, last: int, power: float) -> float:
    """Return the shift a at which the distribution proportional to (a + i)^power, i = 0 .. last, has its mean at `centre`."""
    points = np.arange(last + 1.0)

    def excess(log_shift: float) -> float:
        # Relative to the first value: for a small shift its power overflows.
        values = (1 + points / np.exp(log_shift)) ** power
        return float(values @ (points - centre))

    return float(np.exp(brentq(excess, np.log(1e-12), np.log(_MAX_SHIFT), xtol=1e-14, rtol=1e-14)))


def _maximize(function: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return the maxima of unimodal functions over intervals, by golden section of all intervals at once."""
    best = np.maximum(function(low), function(high))
    for _ in range(_N_GOLDEN_STEPS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = function(left), function(right)
        best = np.maximum(best, np.maximum(at_left, at_right))
        low, high = np.where(at_left < at_right, left, low), np.where(at_left < at_right, high, right)
    return best


def choose_n_selected(max_false: float, n_columns: int, threshold: float, n_pairs: int, assumption: str) -> int:
    def allowed(n: int) -> bool:
        return false_selection_bound(n, n_columns, threshold, n_pairs, assumption) <= max_false

    if not allowed(1):
        least = false_selection_bound(1, n_columns, threshold, n_pairs, assumption)
        raise ValueError(
            f"max_false={max_false:g} cannot be reached with threshold={threshold:g}: with one column from each half the bound on "
            f"{n_columns:,} columns is {least:.3g}. Increase threshold, n_pairs or max_false."
        )
    return _last_true(allowed, 1, n_columns)


def choose_threshold(max_false: float, n_selected: float, n_columns: int, n_pairs: int, assumption: str) -> float:
    """Return the smallest threshold above 1/2 with a bound of at most `max_false`, a multiple of 1 / (2 `n_pairs`)."""

    def exceeds(n_halves: int) -> bool:
        return false_selection_bound(n_selected, n_columns, n_halves / (2 * n_pairs), n_pairs, assumption) > max_false

    if exceeds(2 * n_pairs):
        least = false_selection_bound(n_selected, n_columns, 1.0, n_pairs, assumption)
        raise ValueError(
            f"max_false={max_false:g} cannot be reached with {n_selected:g} of {n_columns:,} columns from each half: with a "
            f"threshold of 1 the bound is {least:.3g}. Select fewer columns, or increase max_false or n_pairs."
        )
    return (_last_true(exceeds, n_pairs, 2 * n_pairs) + 1) / (2 * n_pairs)


def _last_true(condition: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number up to `high` for which a condition is true, where it is true from `low` up to that number."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if condition(middle) else (low, middle - 1)
    return low
