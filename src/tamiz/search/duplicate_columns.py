"""Columns that duplicate another column exactly: a search leaves out all but one, so that they are never selected together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Problem
from tamiz.table.base import Table
from tamiz.table.duplicate_detection import compute_fingerprints, find_duplicate_columns

_MAX_LISTED = 5
ALLOW_DUPLICATES = "allow_duplicates=True (--allow-duplicates)"


def unsearched_duplicates(table: Table, problem: Problem) -> dict[int, int]:
    """Return the columns that a search leaves out, each with the column that it duplicates and that is searched.

    Parameters
    ----------
    table : Table
    problem : Problem
        The problem over all usable columns.

    Returns
    -------
    dict of int to int
        Columns are duplicates where their numbers are equal, or their levels except for the names of the levels. The first of
        them is searched; or those that are fixed or in `start`, where there are such. Excluded columns and columns of column
        groups are not compared, because the user has joined the latter deliberately.

    Notes
    -----
    Cost one pass over the columns, and another over those with equal fingerprints, which are compared value by value.
    """
    fingerprints = compute_fingerprints(table, rows=False, distinct_values=False).columns
    grouped = {int(j) for unit in problem.units if len(unit) > 1 for j in unit}
    compared = {j: value for j, value in fingerprints.items() if not problem.excluded[j] and j not in grouped}
    equal_sets: dict[int, list[int]] = {}
    for later, first in find_duplicate_columns(table, compared).items():
        equal_sets.setdefault(first, [first]).append(later)
    duplicates: dict[int, int] = {}
    for equal in equal_sets.values():
        required = [j for j in equal if problem.fixed[j] or (problem.start is not None and problem.start[j])]
        kept = required or equal[:1]
        duplicates |= {j: kept[0] for j in equal if j not in kept}
    return dict(sorted(duplicates.items()))


def describe_duplicate_columns(duplicates: Mapping[int, int], names: Sequence[str]) -> list[Verdict]:
    """Return a note on the columns that are not searched, in a list that is empty where there are none."""
    pairs = [(names[j], names[kept]) for j, kept in duplicates.items()]
    if not pairs:
        return []
    columns = dict.fromkeys(name for pair in pairs for name in pair)
    if len(pairs) == 1:
        ((name, kept),) = pairs
        sentence = f"{name!r} duplicates {kept!r} exactly and is not searched; use {ALLOW_DUPLICATES} to search both."
        return [Verdict("TZ301", sentence, columns)]
    listed = ", ".join(f"{name!r} duplicates {kept!r}" for name, kept in pairs[:_MAX_LISTED])
    more = f", and {len(pairs) - _MAX_LISTED:,} more" if len(pairs) > _MAX_LISTED else ""
    sentence = (
        f"{len(pairs):,} columns duplicate another exactly and are not searched: {listed}{more}; use {ALLOW_DUPLICATES} to search "
        "them as well."
    )
    return [Verdict("TZ301", sentence, columns)]
