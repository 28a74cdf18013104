"""Scores of all columns of a table by one relevance, with one target or with each column of a target as the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tamiz.arrays import Floats
from tamiz.criteria.base import (
    HasPValues,
    HasStandardDeviations,
    Relevance,
    Reweightable,
    ReweightedScorer,
    RowRelevance,
    StatisticRelevance,
    gather_statistics,
)
from tamiz.statistics.coded_tables import CodedTable, UnsupportedStatisticError, sample_log_table
from tamiz.statistics.independence import ColumnTests
from tamiz.table.base import Table
from tamiz.table.row_groups import weight_groups_equally
from tamiz.table.views import weight_array


@dataclass(frozen=True)
class WeightedScorers:
    """Relevances that can be recomputed under other row weights.

    Attributes
    ----------
    coded_table : CodedTable or None
        The table of the count-based criteria; None if there are none.
    logarithms : ndarray
        From `sample_log_table`.
    count_based : dict of name to StatisticRelevance
        Criteria that are functions of counts.
    model_based : dict of name to ReweightedScorer
        Criteria that fit models.
    """

    table: Table
    coded_table: CodedTable | None
    logarithms: Floats
    count_based: dict[str, StatisticRelevance]
    model_based: dict[str, ReweightedScorer]

    @classmethod
    def from_relevances(cls, relevances: Mapping[str, Relevance], table: Table, n_weightings: int) -> WeightedScorers:
        """Return the relevances, by name, that can be recomputed under row weights, about `n_weightings` times."""
        schema, base = table.schema, weight_array(table)
        known = sample_log_table(base, schema.n_rows)
        counted = {name: one for name, one in relevances.items() if isinstance(one, StatisticRelevance)}
        coded = None
        if counted:
            n_classes = schema.n_classes if schema.has_classes else 0
            coded = CodedTable(table.blocks(), schema.numeric, schema.n_levels, schema.n_columns, n_classes)
            sample = coded.with_weights(np.ones(schema.n_rows) if base is None else base, known)
            for name, relevance in list(counted.items()):
                try:
                    relevance.reweighted_scores(sample, schema)
                except UnsupportedStatisticError:
                    del counted[name]
        found = {
            name: one.make_reweighted_scorer(table, n_weightings)
            for name, one in relevances.items()
            if isinstance(one, Reweightable)
        }
        fitted = {name: reweighting for name, reweighting in found.items() if reweighting is not None}
        return cls(table, coded, known, counted, fitted)

    @property
    def names(self) -> list[str]:
        """The names of the criteria, in the order of `scores`."""
        return [*self.count_based, *self.model_based]

    def scores(self, weights: Floats) -> Floats:
        """Return scores of shape (n_weightings, n_criteria, n_used) under weights of shape (n_weightings, n_rows)."""
        schema = self.table.schema
        found = []
        for weight in weights if self.coded_table is not None else ():
            assert self.coded_table is not None
            sample = self.coded_table.with_weights(weight, self.logarithms)
            found.append([one.reweighted_scores(sample, schema) for one in self.count_based.values()])
        counted = np.array(found).reshape(len(weights), len(self.count_based), schema.n_columns)
        fitted = [reweighting(weights)[:, None] for reweighting in self.model_based.values()]
        return np.concatenate([counted, *fitted], axis=1)[:, :, schema.used]


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
    if isinstance(relevance, HasStandardDeviations):
        return ColumnScores(*relevance.score_with_std(table))
    if isinstance(relevance, RowRelevance):
        return ColumnScores(relevance.score(table))
    assert isinstance(relevance, StatisticRelevance)
    cache = gather_statistics([relevance], weight_groups_equally(table).reduce, table.schema)
    tests = relevance.column_tests(cache, table.schema) if isinstance(relevance, HasPValues) else None
    return ColumnScores(relevance.scores(cache, table.schema), tests=tests)


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
