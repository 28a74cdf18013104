"""Equivalent columns: copies and one-to-one recodings, of which a search needs only one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from tamiz.criteria.column_associations import COPY, EQUIVALENT, associate_columns, one_sided_associations
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Problem
from tamiz.table.base import Table
from tamiz.table.duplicate_detection import compute_fingerprints, find_duplicate_columns
from tamiz.table.views import select_columns, select_rows

# Pairs of columns that a sentence names: of columns that are not searched, and of selected copies.
_MAX_LISTED, _MAX_COPIES = 5, 3
ALLOW_DUPLICATES = "allow_duplicates=True (--allow-duplicates)"


def unsearched_duplicates(table: Table, problem: Problem) -> dict[int, int]:
    """Return the columns that a search leaves out, each with the column that it duplicates and that is searched.

    Columns are duplicates where their numbers are equal, or their levels except for the names of the levels. The first of them is
    searched; or those that are fixed or in `start`, where there are such. Excluded columns and columns of column groups are not
    compared, because the user has joined the latter deliberately. The cost is one pass over the columns, and another over those
    with equal fingerprints, which are compared value by value.
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
    listed = list_names([f"{name!r} duplicates {kept!r}" for name, kept in pairs], limit=_MAX_LISTED, as_text=str)
    sentence = (
        f"{len(pairs):,} columns duplicate another exactly and are not searched: {listed}; use {ALLOW_DUPLICATES} to search "
        "them as well."
    )
    return [Verdict("TZ301", sentence, columns)]


def selected_copies_warnings(table: Table, problem: Problem, selected: Sequence[int]) -> list[Verdict]:
    """Return a warning on selected columns that are copies or recodings of each other, unless they had to be selected."""
    if len(selected) < 2:
        return []
    names = table.schema.names
    same = leave_out_equivalents(select_columns(table, selected), problem, COPY)[1]
    pairs = [f"{names[j]!r} and {names[kept]!r}" for j, kept in same.items()]
    if not pairs:
        return []
    listed = list_names(pairs, limit=_MAX_COPIES, as_text=str)
    advice = "One of a pair is enough; RedundancyFilter(threshold=0.99) before the search keeps one."
    columns = [names[j] for j in sorted({*same, *same.values()})]
    return [Verdict("TZ301", f"Selected columns are copies or recodings of each other: {listed}. {advice}", columns)]


# Limits: columns that are compared at all, and rows of a sample: 8e9 pairs of columns times rows take some seconds of one core.
_MAX_COLUMNS, _MAX_ROWS, _MIN_ROWS, _MAX_WORK = 3000, 100_000, 1000, 8_000_000_000


def equivalent_columns(
    table: Table,
    columns: Sequence[int] | None = None,
    required: Collection[int] = (),
    threshold: float = EQUIVALENT,
) -> dict[int, int]:
    """Return the columns that are equivalent to another one, each with that one, which is to be kept.

    Parameters
    ----------
    columns : sequence of column numbers, default=None
        The columns to compare; None is all used ones that are not constant.
    required : collection of column numbers
        Columns that are always kept.

    Notes
    -----
    Two columns are equivalent if their association (`KindAssociations`) is at least the threshold, and if each determines the other
    (`one_sided_associations`): copies that are equal, linear or monotone, with noise of up to 2 % of the variance, and one-to-one
    recodings. At least half of the rows of the rarer column must have both values. Of equivalent columns that with the fewest
    missing values is kept, of equals the first. Cost as of `associate_columns`.
    """
    schema = table.schema
    if columns is None:
        columns = [j for j in schema.used.tolist() if not schema.columns[j].constant]
    if len(columns) < 2:
        return {}
    found = associate_columns(table, columns)
    present = found.n_common.diagonal()
    sided = one_sided_associations(found, table, threshold)
    same = np.minimum(sided, sided.T) >= threshold
    same &= 2 * found.n_common >= np.minimum(present, present[:, None])
    order = sorted(
        range(len(columns)),
        key=lambda k: (columns[k] not in required, schema.columns[columns[k]].n_missing, columns[k]),
    )
    kept: list[int] = []
    kept_for: dict[int, int] = {}
    for k in order:
        partner = next((i for i in kept if same[k, i]), None)
        if partner is None or columns[k] in required:
            kept.append(k)
        else:
            kept_for[columns[k]] = columns[partner]
    return dict(sorted(kept_for.items()))


def leave_out_equivalents(
    table: Table, problem: Problem | None = None, threshold: float = EQUIVALENT
) -> tuple[Table, dict[int, int]]:
    """Return a view of the table with one column of each set of equivalent ones, and the others with the one that is kept.

    Columns that the problem of a search fixes, or starts with, are kept; those that it excludes and those of column groups are not
    compared. Of more than 3,000 columns, and of a table with infinite values, all are kept. Of very many rows evenly spaced ones
    are compared.
    """
    schema = table.schema
    columns = [j for j in schema.used.tolist() if not schema.columns[j].constant]
    required: set[int] = set()
    if problem is not None:
        grouped = {int(j) for unit in problem.units if len(unit) > 1 for j in unit}
        columns = [j for j in columns if not problem.excluded[j] and j not in grouped]
        required = {j for j in columns if problem.fixed[j] or (problem.start is not None and problem.start[j])}
    if not 2 <= len(columns) <= _MAX_COLUMNS or table.infinite_digest:
        return table, {}
    n_rows = min(_MAX_ROWS, max(_MIN_ROWS, _MAX_WORK // len(columns) ** 2))
    rows = table
    if n_rows < schema.n_rows:
        rows = select_rows(table, np.linspace(0, schema.n_rows - 1, n_rows).astype(np.intp))
        columns = [j for j in columns if j in rows.schema.used and not rows.schema.columns[j].constant]
    same = equivalent_columns(rows, columns, required, threshold)
    if not same:
        return table, {}
    reasons = {j: f"it is equivalent to {schema.names[kept]!r}" for j, kept in same.items()}
    return select_columns(table, [j for j in schema.used.tolist() if j not in same], reasons), same


def describe_equivalents(same: Mapping[int, int], names: Sequence[str]) -> list[Verdict]:
    """Return a note on columns that are left out because others are equivalent, in a list that is empty if there are none."""
    if not same:
        return []
    pairs = [f"{names[j]!r} is equivalent to {names[kept]!r}" for j, kept in same.items()]
    number = "1 column is" if len(pairs) == 1 else f"{len(pairs):,} columns are"
    return [
        Verdict(
            "TZ301",
            f"{number} not searched, because each has an association of at least 0.99 with another one: "
            f"{list_names(pairs, limit=_MAX_LISTED, as_text=str)}.",
            [names[j] for j in sorted({*same, *same.values()})],
        )
    ]
