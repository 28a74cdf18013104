"""Columns that repeat another exactly: one of them is searched, so that they are never chosen together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tamiz.search.base import Problem
from tamiz.sources.base import Source
from tamiz.sources.duplicate_detection import compute_fingerprints, find_duplicate_columns

_MAX_LISTED = 5
ALLOW_DUPLICATES = "allow_duplicates=True (--allow-duplicates)"


def unsearched_duplicates(source: Source, problem: Problem) -> dict[int, int]:
    """Return the columns that a search is better made without, each with the column that it repeats and that is searched.

    Parameters
    ----------
    source : Source
    problem : Problem
        Of all columns that take part.

    Returns
    -------
    dict of int to int
        Of columns that are equal, number for number, or level for level but for the names of the levels, the first one is searched.
        A column that is fixed, or to start with, stays, and the others that repeat it are left out. Excluded columns, and those of
        column groups, are not looked at: what moves with others was joined to them by the user.

    Notes
    -----
    One pass over the columns, and another over those that are equal, which are compared value by value.
    """
    prints = compute_fingerprints(source, rows=False, distinct_values=False).columns
    grouped = {int(j) for unit in problem.units if len(unit) > 1 for j in unit}
    free = {j: mark for j, mark in prints.items() if not problem.excluded[j] and j not in grouped}
    sets: dict[int, list[int]] = {}
    for later, first in find_duplicate_columns(source, free).items():
        sets.setdefault(first, [first]).append(later)
    repeats: dict[int, int] = {}
    for equal in sets.values():
        wanted = [j for j in equal if problem.fixed[j] or (problem.start is not None and problem.start[j])]
        kept = wanted or equal[:1]
        repeats |= {j: kept[0] for j in equal if j not in kept}
    return dict(sorted(repeats.items()))


def describe_duplicate_columns(duplicates: Mapping[int, int], names: Sequence[str]) -> list[str]:
    """Return the sentence on columns that are not searched, none where there are none."""
    pairs = [(names[j], names[kept]) for j, kept in duplicates.items()]
    if not pairs:
        return []
    if len(pairs) == 1:
        ((name, kept),) = pairs
        return [f"{name!r} repeats {kept!r} exactly and is not searched; {ALLOW_DUPLICATES} lets both in."]
    listed = ", ".join(f"{name!r} repeats {kept!r}" for name, kept in pairs[:_MAX_LISTED])
    more = f", and {len(pairs) - _MAX_LISTED:,} more" if len(pairs) > _MAX_LISTED else ""
    return [
        f"{len(pairs):,} columns repeat another exactly and are not searched: {listed}{more}; {ALLOW_DUPLICATES} lets them in."
    ]
