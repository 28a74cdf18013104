"""The ranking of a study: the scores of every column by every criterion, and tests of independence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tamiz.assessment.column_tests import describe_column_tests, describe_uncut_columns, run_tests
from tamiz.assessment.mean_ranks import RankingCriterion, score_columns
from tamiz.criteria.chance_information import find_chance_level_columns
from tamiz.criteria.discretization import MDL, ColumnCoder
from tamiz.criteria.entropies import InformationGain, MissingRule
from tamiz.report.records.columns import (
    ChanceLevelColumn,
    CriterionInfo,
    RankingRecord,
)
from tamiz.table.base import Table

# Columns that are compared with chance: the first ones by each criterion that uses the target, and by the mean rank.
_FIRST_BY_CRITERION, _FIRST_BY_MEAN_RANK = 3, 5


def describe_ranking(table: Table, ranking_criteria: list[RankingCriterion]) -> RankingRecord:
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
                summary=_docstring_summary(one.relevance),
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


def describe_chance_level(table: Table, ranking: RankingRecord, missing: MissingRule) -> tuple[ChanceLevelColumn, ...]:
    """Return those of the first columns of a ranking that have many values and no more information than chance.

    Parameters
    ----------
    table : Table
    ranking : RankingRecord
        With its mean rank, if there is one.
    missing : {"distribute", "category"}
    """
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


def _docstring_summary(method: Any) -> str:
    return (type(method).__doc__ or "").strip().partition("\n")[0]
