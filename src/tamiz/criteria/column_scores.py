"""Scores of all columns of a table by one relevance, with one target or with each column of a target as the target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tamiz.arrays import Floats
from tamiz.criteria.base import Relevance, RowRelevance, StatisticRelevance, gather_statistics
from tamiz.statistics.independence import ColumnTests
from tamiz.table.base import Table
from tamiz.table.row_groups import weight_groups_equally


class ColumnScores(NamedTuple):
    """Scores of the columns of a table.

    Attributes
    ----------
    scores : ndarray of shape (n_columns,)
    std : ndarray of shape (n_columns,) or None
        Of scores that are means over random draws, the standard deviations of what is averaged.
    tests : ColumnTests or None
        Tests of the columns, where the relevance has p-values.
    per_output : ndarray of shape (n_outputs, n_columns) or None
        The scores with each column of the target, where it has several.
    """

    scores: Floats
    std: Floats | None = None
    tests: ColumnTests | None = None
    per_output: Floats | None = None


def score_columns(relevance: Relevance, table: Table) -> ColumnScores:
    if isinstance(relevance, RowRelevance):
        return ColumnScores(*relevance.score_with_std(table))
    assert isinstance(relevance, StatisticRelevance)
    cache = gather_statistics([relevance], weight_groups_equally(table).reduce, table.schema)
    return ColumnScores(relevance.scores(cache, table.schema), tests=relevance.column_tests(cache, table.schema))


def score_rows(relevance: Relevance, rows: Table) -> Floats:
    """Return the scores of the columns from rows that count by their own weights, whatever their groups."""
    if isinstance(relevance, RowRelevance):
        return relevance.score(rows)
    assert isinstance(relevance, StatisticRelevance)
    return relevance.scores(gather_statistics([relevance], rows.reduce, rows.schema), rows.schema)


def score_outputs(relevance: Relevance, *tables: Table) -> ColumnScores:
    """Return the combined scores and tests of a table, which is passed once with each column of a target as its target."""
    assert isinstance(relevance, StatisticRelevance)
    found = [score_columns(relevance, table) for table in tables]
    per_output = np.stack([one.scores for one in found])
    tests = [one.tests for one in found if one.tests is not None]
    combined = ColumnTests.over_outputs(tests) if tests else None
    return ColumnScores(relevance.combine_outputs(per_output), tests=combined, per_output=per_output)
