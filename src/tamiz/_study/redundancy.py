"""Redundancy: the association of every pair of columns, groups of redundant columns, and sums of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamiz._study.budget import DEFAULT_BUDGET, Budget
from tamiz.arrays import Floats, Indices
from tamiz.assessment.linear_dependences import find_linear_dependences
from tamiz.criteria.column_associations import (
    MEASURES,
    MIN_COMMON_ROWS,
    REDUNDANT,
    KindAssociations,
    associate_columns,
    complete_linkage_groups,
    leaf_order,
    max_rows,
    one_sided_associations,
    target_uncertainties,
)
from tamiz.criteria.entropies import MissingRule
from tamiz.exceptions import DataError
from tamiz.report.records.columns import RankingRecord, RedundancyRecord, RedundantGroup
from tamiz.runtime.codec import Named
from tamiz.runtime.random import make_rng, sample_rows
from tamiz.runtime.user_warnings import warn
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import select_columns, select_rows

# Limits: columns that are compared (the best of more), and pairs times rows (a sample of more), seconds of one core.
_MAX_COLUMNS, _MAX_WORK, _MIN_ROWS = 2000, 4_000_000_000, 1_000
# Columns of a selected subset that are compared, and pairs that are named.
_MAX_CHOSEN, _MAX_NAMED = 1000, 3
# Columns of the matrix in the report.
_MAX_DRAWN = 100


def describe_redundancy(
    table: Table, ranking: RankingRecord | None, missing: MissingRule, budget: Budget = DEFAULT_BUDGET
) -> RedundancyRecord | None:
    """Return the matrix of the most redundant columns and the groups among all columns; None if there are fewer than two.

    Parameters
    ----------
    table : Table
    ranking : RankingRecord or None
    missing : {"distribute", "category"}
        How the association with the target treats missing values; two columns are compared on the rows with both values.
    budget : Budget

    Notes
    -----
    The association is that of `KindAssociations`. A group is a complete-linkage cluster: *every* pair of it has at least
    `REDUNDANT`. Of the columns that determine all others of the group the one with the largest symmetric uncertainty with the
    target is kept, the first of equals.
    """
    schema = table.schema
    varied = [j for j in schema.used.tolist() if not schema.columns[j].constant]
    if len(varied) < 2:
        return None
    relevance = _target_relevance(table, ranking, missing)
    selected = _columns_to_compare(varied, relevance, schema, max_compared_columns(len(varied), budget))
    try:
        rows, compared = compare_column_pairs(table, selected, budget)
    except (DataError, MemoryError) as error:
        warn("TZ503", f"The redundancy of the columns is left out: {error}")
        return None
    sided = one_sided_associations(compared, rows, REDUNDANT)
    found = complete_linkage_groups(compared.beyond_chance, REDUNDANT)
    drawn = leaf_order(compared.values, _MAX_DRAWN)
    groups = [_describe_group(compared, sided, relevance, group, schema) for group in found]
    position = {name: j for j, name in enumerate(schema.names)}
    i, j = (drawn[side] for side in np.triu_indices(len(drawn), 1))
    return RedundancyRecord(
        measure=Named(id="kinds", label="Correlation, Cramer's V or eta"),
        columns=tuple(schema.names[compared.columns[k]] for k in drawn),
        pair_steps=np.floor(255 * compared.values[i, j] + 0.5).astype(np.uint8).tobytes(),
        measures=MEASURES,
        pair_measures=compared.measures[i, j].tobytes(),
        groups=tuple(sorted(groups, key=lambda one: (-len(one.columns), [position[name] for name in one.columns]))),
        sums=tuple(one.sentence for one in find_linear_dependences(rows)),
        threshold=REDUNDANT,
        n_columns=len(compared.columns),
        n_not_compared=len(varied) - len(compared.columns),
        n_rows=rows.schema.n_rows,
        method=_comparison_method(rows, compared),
    )


def _describe_group(
    compared: KindAssociations, sided: Floats, relevance: Floats, group: Indices, schema: Schema
) -> RedundantGroup:
    within = compared.values[np.ix_(group, group)] + 2.0 * np.eye(len(group))
    i, j = np.unravel_index(int(within.argmin()), within.shape)
    determining = ((sided[np.ix_(group, group)] >= REDUNDANT) | np.eye(len(group), dtype=bool)).all(axis=1)
    columns = compared.columns[group]
    kept = min(
        (columns[determining] if determining.any() else columns).tolist(),
        key=lambda column: (-relevance[column], column),
    )
    return RedundantGroup(
        columns=tuple(schema.names[column] for column in sorted(columns.tolist())),
        keep=schema.names[kept],
        min_value=float(within[i, j]),
        measure=compared.measure(int(group[i]), int(group[j])),
    )


def redundant_pair_notes(table: Table, chosen_names: Sequence[str], budget: Budget = DEFAULT_BUDGET) -> list[str]:
    """Return a sentence on pairs of selected columns with an association from `REDUNDANT` on; an empty list if there are none.

    Parameters
    ----------
    table : Table
    chosen_names : sequence of str
        The selected columns; of more than 1,000 the first ones are compared.
    budget : Budget
    """
    schema, chosen = table.schema, set(chosen_names)
    columns = [j for j in schema.used.tolist() if schema.names[j] in chosen and not schema.columns[j].constant]
    columns = columns[:_MAX_CHOSEN]
    if len(columns) < 2:
        return []
    try:
        _, compared = compare_column_pairs(table, columns, budget)
    except (DataError, MemoryError) as error:
        warn("TZ503", f"The redundancy of the selected columns was not computed: {error}")
        return []
    beyond_chance = compared.beyond_chance
    first, second = np.nonzero(np.triu(beyond_chance >= REDUNDANT, 1))
    pairs = sorted(zip(first.tolist(), second.tolist(), strict=True), key=lambda pair: -beyond_chance[pair])
    if not pairs:
        return []
    numbers = compared.columns
    named = [
        " and ".join(repr(schema.names[j]) for j in sorted((numbers[i], numbers[k])))
        + f" ({compared.measure(i, k)} {beyond_chance[i, k]:.2f})"
        for i, k in pairs[:_MAX_NAMED]
    ]
    more = f", and {len(pairs) - _MAX_NAMED:,} more" if len(pairs) > _MAX_NAMED else ""
    number = "1 pair of selected columns is" if len(pairs) == 1 else f"{len(pairs):,} pairs of selected columns are"
    return [f"{number} redundant: {', '.join(named)}{more}. One column of a pair may be enough."]


def max_compared_columns(n_columns: int, budget: Budget) -> int:
    return min(n_columns, max(budget.scale_quadratic(_MAX_COLUMNS, n_columns), 2))


def n_compared_rows(n_columns: int, n_rows: int, budget: Budget) -> int:
    n_pairs = n_columns * (n_columns - 1) // 2
    return min(n_rows, max_rows(n_columns), max(_MIN_ROWS, budget.scale_linear(_MAX_WORK / max(n_pairs, 1), n_rows)))


def compare_column_pairs(
    table: Table, columns: list[int], budget: Budget = DEFAULT_BUDGET
) -> tuple[Table, KindAssociations]:
    """Return the rows that are compared, and the association of every pair of columns, in the order of their names."""
    names, n = table.schema.names, table.schema.n_rows
    size = n_compared_rows(len(columns), n, budget)
    rows = select_columns(table, columns)
    if size < n:
        rows = select_rows(rows, sample_rows(n, size, make_rng(0)))
    varied = [j for j in columns if j in rows.schema.used and not rows.schema.columns[j].constant]
    return rows, associate_columns(rows, sorted(varied, key=lambda j: names[j]))


def _target_relevance(table: Table, ranking: RankingRecord | None, missing: MissingRule) -> Floats:
    """Return the symmetric uncertainty of every column with the target, 0 without a target."""
    schema = table.schema
    if schema.target is None:
        return np.zeros(schema.n_columns)
    known = None if ranking is None else ranking.scores.get("symmetric_uncertainty")
    if known is not None:
        return np.array([0.0 if score is None else score for score in known])
    return target_uncertainties(table, missing)


def _columns_to_compare(varied: list[int], relevance: Floats, schema: Schema, max_columns: int) -> list[int]:
    """Return the columns to compare: all, or the most relevant ones for the target."""
    if len(varied) <= max_columns:
        return varied
    which = f"first {max_columns:,}"
    if schema.target is not None:
        which = f"{max_columns:,} most relevant for {schema.target.name!r}"
    warn("TZ503", f"Of {len(varied):,} columns, redundancy was computed among the {which}.")
    return sorted(sorted(varied, key=lambda j: (-relevance[j], j))[:max_columns])


def _comparison_method(rows: Table, compared: KindAssociations) -> str:
    if not any(rows.schema.columns[j].n_missing for j in compared.columns.tolist()):
        return ""
    n_common = compared.n_common
    return (
        f"Two columns are compared on the {n_common.min():,} to {n_common.max():,} rows with both values, and with fewer than "
        f"{MIN_COMMON_ROWS} of these are not redundant."
    )
