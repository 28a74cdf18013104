"""A good set to begin with: what branch and bound has to beat from the start."""

from __future__ import annotations

import numpy as np

from tamiz.candidates import Masks
from tamiz.search.base import Problem
from tamiz.search.exact.sums import UnitQuadraticForm
from tamiz.search.sizes import can_reach_size
from tamiz.statistics.base import Floats


def smallest_allowed_set(problem: Problem) -> Masks | None:
    """Return the smallest set of units that may be chosen, of those the one of earlier units; None where there is none."""
    widths = [len(unit) for unit in problem.units]
    n_fixed = int(problem.fixed.sum())
    for size in range(max(problem.min_size - n_fixed, 0), problem.max_size - n_fixed + 1):
        if can_reach_size(widths, size, size):
            members = np.zeros(len(widths), dtype=bool)
            for j, width in enumerate(widths):
                if width <= size and can_reach_size(widths[j + 1 :], size - width, size - width):
                    members[j] = True
                    size -= width
            return members
    return None


def hill_climb(form: UnitQuadraticForm, members: Masks) -> Masks:
    """Return where a set comes to by the best of all additions, removals and exchanges, again and again.

    It grows, by the best addition, as long as it has too few columns. It stays as it is where nothing is better.
    """
    members = members.copy()
    merit = form.merit(members)
    while True:
        short = form.size(members) < form.size_limits[1]
        gains = _exchange_merits(form, members, only_additions=short)
        a, b = np.unravel_index(int(np.argmax(gains)), gains.shape)
        if not gains[a, b] > -np.inf:
            return members
        moved = members.copy()
        for u in (int(a), int(b)):
            if u < len(form):
                moved[u] ^= True
        reached = form.merit(moved)
        if not (short or reached > merit):
            return members
        members, merit = moved, reached


def _exchange_merits(form: UnitQuadraticForm, members: Masks, *, only_additions: bool) -> Floats:
    """Return the merits of a set without the unit of a row and with the unit of a column; the last of each stands for none.

    Minus infinity where that is not possible. A set that is too short is only added to.
    """
    n = len(form)
    c, own, pairs = (part.sum(axis=0) for part in (form.c, form.self_terms, form.pair_terms))
    brings = own + pairs[members].sum(axis=0)
    inside = members.astype(np.float64)
    relevance = form.fixed_terms[:2].sum() + c @ inside
    total = form.fixed_terms[2:].sum() + ((own + brings) @ inside) / 2
    out = np.append(np.flatnonzero(members), n)
    come = np.append(np.flatnonzero(~members), n)
    c, brings, widths = np.append(c, 0.0), np.append(brings, 0.0), np.append(form.widths, 0)
    between = np.zeros((n + 1, n + 1))
    between[:n, :n] = pairs
    if only_additions:
        out = out[-1:]
    relevances = relevance - c[out][:, None] + c[come]
    totals = total - brings[out][:, None] + brings[come] - between[np.ix_(out, come)]
    sizes = form.size(members) - widths[out][:, None] + widths[come]
    possible = sizes <= form.size_limits[2]
    if only_additions:
        possible &= come < n
    else:
        possible &= sizes >= form.size_limits[1]
        possible[-1, -1] = False
    merits = np.full((n + 1, n + 1), -np.inf)
    found = np.divide(relevances, np.sqrt(np.abs(totals)), out=np.zeros(totals.shape), where=totals > 0)
    merits[np.ix_(out, come)] = np.where(possible, found, -np.inf)
    return merits
