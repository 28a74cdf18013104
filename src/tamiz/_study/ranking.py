"""The ranking of a study: the scores of every column by every criterion, and tests of independence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tamiz._study.budget import DEFAULT_BUDGET, Budget
from tamiz.arrays import Floats, Indices
from tamiz.assessment.associations import (
    describe_column_tests,
    describe_distributions,
    describe_uncut_columns,
    run_tests,
)
from tamiz.assessment.findings import DistributionsRecord
from tamiz.assessment.formulas import find_linear_dependences
from tamiz.assessment.mean_ranks import RankingCriterion, score_columns
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
from tamiz.criteria.discretization import ColumnCoder
from tamiz.criteria.entropies import InformationGain, MissingRule
from tamiz.criteria.information import find_chance_level_columns
from tamiz.exceptions import DataError
from tamiz.report.records import ChanceLevelColumn, CriterionInfo, RankingRecord, RedundancyRecord, RedundantGroup
from tamiz.report.text import count_with_noun, format_number, shorten
from tamiz.runtime.codec import Named
from tamiz.runtime.random import make_rng, sample_rows
from tamiz.runtime.user_warnings import note_user, warn
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.cuts import MDL
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import select_columns, select_rows

# Limits: columns that are compared (the best of more), and pairs times rows (a sample of more), seconds of one core.
_MAX_COMPARED_COLUMNS, _MAX_WORK, _MIN_COMPARED_ROWS = 2000, 4_000_000_000, 1_000
# Columns of a selected subset that are compared, and pairs that are named.
_MAX_CHOSEN, _MAX_NAMED = 1000, 3
# Columns of the matrix in the report.
_MAX_DRAWN = 100


def find_redundancy(
    table: Table, ranking: RankingRecord | None, missing: MissingRule, budget: Budget = DEFAULT_BUDGET
) -> RedundancyRecord | None:
    """Return the matrix of the most redundant columns and the groups among all columns; None if there are fewer than two.

    A group is a complete-linkage cluster: *every* pair of it has at least `REDUNDANT` by `KindAssociations`. Of the columns that
    determine all others of the group the one with the largest symmetric uncertainty with the target is kept, the first of equals.
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
    """Return a sentence on pairs of selected columns (of the first 1,000) with an association from `REDUNDANT` on."""
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
    return min(n_columns, max(budget.scale_quadratic(_MAX_COMPARED_COLUMNS, n_columns), 2))


def n_compared_rows(n_columns: int, n_rows: int, budget: Budget) -> int:
    n_pairs = n_columns * (n_columns - 1) // 2
    return min(
        n_rows, max_rows(n_columns), max(_MIN_COMPARED_ROWS, budget.scale_linear(_MAX_WORK / max(n_pairs, 1), n_rows))
    )


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


# Columns over which p-values are adjusted, and rows that are read: fewer of many columns.
_MAX_COLUMNS, _MAX_ROWS, _MIN_ROWS, _MAX_VALUES, _MAX_PAIR_ROWS = 500, 20_000, 2_000, 1_000_000, 5_000
_N_PAIRS_NAMED, _MAX_NAME = 3, 60
_CODES = {"heavy tails": "TZ217", "coded missing": "TZ205", "drift": "TZ212"}


def add_associations(table: Table, ranking: RankingRecord, seed: int) -> RankingRecord:
    """Return the ranking with sentences on its columns and on interactions, and note heavy tails and drift."""
    # Imported late, as it loads much that a table without a target does not need.
    from tamiz.assessment import describe_associations, find_interactions, table_remarks

    # A target of ordered levels has a note from the time when it was read. Drift concerns the folds of models.
    wanted = _CODES.keys() - ({"drift"} if table.schema.target is None else set())
    remarks = [one for one in table_remarks(_sample(table, _MAX_ROWS, seed)) if one.kind in wanted]
    note_user(Verdict(_CODES[one.kind], one.sentence, one.columns) for one in remarks)
    if table.schema.target is None or not 0 < len(table.schema.used) <= _MAX_COLUMNS or not ranking.criteria:
        return ranking
    n_rows = min(_MAX_ROWS, max(_MAX_VALUES // len(table.schema.used), _MIN_ROWS))
    long = _long_names(table.schema)
    described = {
        one.column: tuple(
            _shorten_names(text.removeprefix(f"{one.column}: "), long)
            for text in (one.sentence, one.missing_sentence)
            if text
        )
        for one in describe_associations(_sample(table, n_rows, seed))
    }
    try:
        pairs = find_interactions(_sample(table, _MAX_PAIR_ROWS, seed))
    except DataError:
        return replace(ranking, associations=described)
    interactions = ""
    if pairs.pairs:
        shown = [_shorten_names(text, long) for text in pairs.sentences[:_N_PAIRS_NAMED]]
        n_more = len(pairs.pairs) - len(shown)
        more = f"; and {count_with_noun(n_more, 'other pair')}" if n_more else ""
        interactions = f"Interactions: {'; '.join(shown)}{more}."
    elif pairs.n_pairs:
        interactions = (
            f"No interaction was found among {count_with_noun(pairs.n_pairs, 'pair')} of columns. One of "
            f"{format_number(100 * pairs.detectable, digits=2)}% of what the sums leave would have been found with a power of 80%."
        )
    return replace(ranking, associations=described, interactions=interactions)


def count_distributions(table: Table, ranking: RankingRecord | None, seed: int) -> DistributionsRecord:
    """Return the distributions of the columns, of many those that rank first, on as many rows as the associations read."""
    used = table.schema.used.tolist()
    if len(used) > _MAX_COLUMNS and ranking is not None and ranking.criteria:
        order, _ = ranking.best_first()
        used = sorted(order[:_MAX_COLUMNS])
    n_rows = min(_MAX_ROWS, max(_MAX_VALUES // max(len(used), 1), _MIN_ROWS))
    return describe_distributions(_sample(table, n_rows, seed), used[:_MAX_COLUMNS])


def _long_names(schema: Schema) -> list[str]:
    """Return the names of columns and levels that are too long for a sentence, the longest first."""
    columns = [column for column in (*schema.columns, schema.target) if column is not None]
    names = {name for column in columns for name in (column.name, *column.levels) if len(name) > _MAX_NAME}
    return sorted(names, key=len, reverse=True)


def _shorten_names(text: str, names: list[str]) -> str:
    for name in names:
        text = text.replace(name, shorten(name, _MAX_NAME))
    return text


def _sample(table: Table, n: int, seed: int) -> Table:
    if table.schema.n_rows <= n:
        return table
    return select_rows(table, np.sort(make_rng(seed).choice(table.schema.n_rows, n, replace=False)))


# Columns that are compared with chance: the first ones by each criterion that uses the target, and by the mean rank.
_FIRST_BY_CRITERION, _FIRST_BY_MEAN_RANK = 3, 5


def rank_columns(table: Table, ranking_criteria: Sequence[RankingCriterion]) -> RankingRecord:
    """Return the record of the ranking: scores by criterion, cut points, and tests of the columns without a cut point."""
    schema = table.schema
    found, known = score_columns(ranking_criteria, table)
    tests = run_tests(table, known)
    used = set(schema.used.tolist())
    scores = {name: values.tolist() for name, values in found.items()}
    cut_points: dict[str, tuple[float, ...] | None] = {}
    if schema.has_classes and schema.numeric:
        coder = ColumnCoder(MDL(), schema, with_target=True, caller="study")
        if not coder.requires(known):
            edges = coder.coding(known).edges
            cut_points = {schema.columns[j].name: tuple(edges[j].tolist()) for j in schema.numeric}
    return RankingRecord(
        criteria=tuple(
            CriterionInfo(
                id=one.name,
                label=one.label,
                unit=one.relevance.unit,
                summary=(type(one.relevance).__doc__ or "").strip().partition("\n")[0],
                needs_target=bool(one.relevance.needs_target),
            )
            for one in ranking_criteria
        ),
        columns=tuple(schema.names),
        scores={name: tuple(v if j in used else None for j, v in enumerate(values)) for name, values in scores.items()},
        cut_points=cut_points,
        uncut=describe_uncut_columns(table, known, tests),
        constant=tuple(schema.columns[j].name for j in schema.used.tolist() if schema.columns[j].constant),
        mean_rank=None,
        tests=describe_column_tests(tests, schema),
    )


def find_chance_level(table: Table, ranking: RankingRecord, missing: MissingRule) -> tuple[ChanceLevelColumn, ...]:
    """Return those of the first columns of a ranking that have many values and no more information than chance."""
    supervised = [one.id for one in ranking.criteria if one.needs_target]
    first = {j for name in supervised for j in _first_columns(ranking.scores[name], _FIRST_BY_CRITERION)}
    if supervised and ranking.mean_rank is not None:
        by_rank = [None if rank is None else -rank for rank in ranking.mean_rank.ranks]
        first |= set(_first_columns(by_rank, _FIRST_BY_MEAN_RANK))
    measure = InformationGain(missing=missing).adapt_to(table.schema)
    counts = {} if measure is None else measure.count_classes([table], sorted(first))
    return tuple(
        ChanceLevelColumn(
            name=table.schema.names[level.column],
            n_values=level.n_values,
            information=level.information,
            expected=level.expected,
        )
        for level in find_chance_level_columns(counts)
    )


def _first_columns(scores: Sequence[float | None], n: int) -> list[int]:
    return sorted((j for j, score in enumerate(scores) if score is not None), key=lambda j: -(scores[j] or 0.0))[:n]
