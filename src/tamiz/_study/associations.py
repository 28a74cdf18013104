"""Direction and size of the columns of a ranking and interactions, as sentences, and remarks on the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.report.records.columns import ColumnDistribution, DistributionsRecord, RankingRecord, TargetGroup
from tamiz.report.text import count_with_noun, format_number, shorten
from tamiz.runtime.random import make_rng
from tamiz.runtime.user_warnings import note_user
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Floats, is_missing
from tamiz.table.base import Table
from tamiz.table.schema import Column, Schema
from tamiz.table.views import select_rows, target_array, weight_array

# Columns over which p-values are adjusted, and rows that are read: fewer of many columns.
_MAX_COLUMNS, _MAX_ROWS, _MIN_ROWS, _MAX_VALUES, _MAX_PAIR_ROWS = 500, 20_000, 2_000, 1_000_000, 5_000
_N_PAIRS_NAMED, _MAX_NAME = 3, 60
_CODES = {"heavy tails": "TZ217", "coded missing": "TZ205", "drift": "TZ212"}


# Intervals of numbers; levels and classes, of more the most frequent ones; and numbers that are levels where they are so few.
_N_BINS, _MAX_LEVELS, _MAX_GROUPS, _MAX_NUMBERS = 12, 8, 6, 12
# The first and the last interval contain all values beyond these quantiles: one outlier would make the others one bar.
_ENDS = (0.005, 0.995)
# Positive numbers whose end is this many times their median are counted in intervals of equal ratio.
_TAIL = 12.0
_THIRDS = ("lowest third", "middle third", "highest third")


def describe_statistics(table: Table, ranking: RankingRecord, seed: int) -> RankingRecord:
    """Return the ranking with sentences on its columns and on interactions, and note heavy tails and drift.

    Parameters
    ----------
    table : Table
    ranking : RankingRecord
        With its mean rank, if there is one.
    seed : int
        Of the samples of a long table.
    """
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


def describe_shown_distributions(table: Table, ranking: RankingRecord | None, seed: int) -> DistributionsRecord:
    """Return the distributions of the columns, of many those that rank first, on as many rows as the associations read.

    Parameters
    ----------
    table : Table
    ranking : RankingRecord or None
    seed : int
        Of the sample of a long table.
    """
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


def describe_distributions(table: Table, columns: Sequence[int]) -> DistributionsRecord:
    """Return the weighted counts of columns in intervals or by level, for each group of the target.

    Intervals have equal width, and equal ratio where positive numbers have a heavy tail.

    Parameters
    ----------
    table : Table
    columns : sequence of int
        The numbers of the columns.
    """
    groups, of_row = _group_rows(table)
    weight = weight_array(table)
    weight = np.ones(table.schema.n_rows) if weight is None else weight
    return DistributionsRecord(
        n_rows=table.schema.n_rows,
        groups=groups,
        columns=tuple(_count(table.schema.columns[j], table.column(j), of_row, len(groups), weight) for j in columns),
    )


def _group_rows(table: Table) -> tuple[tuple[TargetGroup, ...], NDArray[np.intp]]:
    """Return the groups of the target, and the group of each row; -1 is none."""
    schema = table.schema
    if schema.target is None:
        return (TargetGroup(name="all rows", levels=()),), np.zeros(schema.n_rows, dtype=np.intp)
    y = target_array(table)
    if not schema.has_classes:
        cuts = np.quantile(y, [1 / 3, 2 / 3])
        of_row = np.searchsorted(cuts, y, side="left")
        return tuple(TargetGroup(name=name, levels=()) for name in _THIRDS), of_row
    levels, counts = schema.target.levels, np.bincount(y, minlength=len(schema.target.levels))
    most, group_of = _most_frequent(counts, _MAX_GROUPS if len(levels) <= _MAX_GROUPS else _MAX_GROUPS - 1)
    groups = [TargetGroup(name=levels[code], levels=(int(code),)) for code in most]
    if len(most) < len(levels):
        others = tuple(np.setdiff1d(np.arange(len(levels)), most).tolist())
        groups.append(TargetGroup(name=f"{len(others):,} other classes", levels=others))
    return tuple(groups), group_of[y]


def _most_frequent(counts: NDArray[Any], n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the codes of the `n` most frequent levels in their order, and the place of every level: the others share the last."""
    most = np.sort(np.argsort(-counts, kind="stable")[:n])
    place = np.full(len(counts), len(most))
    place[most] = np.arange(len(most))
    return most, place


def _count(
    column: Column, values: Floats, of_row: NDArray[np.intp], n_groups: int, weight: Floats
) -> ColumnDistribution:
    present = ~is_missing(values)
    values, of_row, weight = values[present], of_row[present], weight[present]
    edges: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    if not column.is_number:
        totals = np.bincount(values, weights=weight, minlength=len(column.levels))
        shown, place = _most_frequent(totals, _MAX_LEVELS)
        levels, at = tuple(column.levels[code] for code in shown), place[values]
        if len(shown) < len(column.levels):
            levels = (*levels, f"{len(column.levels) - len(shown):,} other levels")
    elif 0 < len(found := np.unique(values)) <= _MAX_NUMBERS:
        levels, at = tuple(f"{value:.6g}" for value in found), np.searchsorted(found, values)
    elif len(found):
        low, high = np.quantile(values, _ENDS)
        if not low < high:
            low, high = float(found[0]), float(found[-1])
        # On a linear scale nearly all values of a heavy tail would be in the first interval.
        is_tailed = low > 0 and high > _TAIL * float(np.median(values))
        bounds = (np.geomspace if is_tailed else np.linspace)(low, high, _N_BINS + 1)
        edges = tuple(bounds.tolist())
        at = np.clip(np.searchsorted(bounds, values, side="right") - 1, 0, _N_BINS - 1)
    else:
        at = np.empty(0, dtype=np.intp)
    n = max(len(edges) - 1, 0) or len(levels)
    counts = np.bincount(of_row * n + at, weights=weight, minlength=n_groups * n).reshape(n_groups, n) if n else None
    return ColumnDistribution(
        name=column.name,
        edges=edges,
        levels=levels,
        counts=() if counts is None else tuple(tuple(float(f"{one:.6g}") for one in row) for row in counts.tolist()),
    )
