"""Direction and size of the columns of a ranking and interactions, as sentences, and remarks on the table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tamiz.assessment.associations import describe_distributions
from tamiz.assessment.findings import DistributionsRecord
from tamiz.exceptions import DataError
from tamiz.report.records.columns import RankingRecord
from tamiz.report.text import count_with_noun, format_number, shorten
from tamiz.runtime.random import make_rng
from tamiz.runtime.user_warnings import note_user
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import select_rows

# Columns over which p-values are adjusted, and rows that are read: fewer of many columns.
_MAX_COLUMNS, _MAX_ROWS, _MIN_ROWS, _MAX_VALUES, _MAX_PAIR_ROWS = 500, 20_000, 2_000, 1_000_000, 5_000
_N_PAIRS_NAMED, _MAX_NAME = 3, 60
_CODES = {"heavy tails": "TZ217", "coded missing": "TZ205", "drift": "TZ212"}


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
