"""The ranking of a study: the scores of every column by every criterion."""

from __future__ import annotations

from typing import Any

from tamiz.criteria.discretization import MDL, ColumnCoder
from tamiz.sources.base import Source
from tamiz.steps.column_tests import describe_uncut_columns
from tamiz.steps.scoring import RankingCriterion, score_columns


def describe_ranking(source: Source, ranking_criteria: list[RankingCriterion]) -> dict[str, Any]:
    """Return the scores of every column by every criterion, the cut points behind them, and what is known of columns without."""
    schema = source.schema
    found, known = score_columns(ranking_criteria, source)
    used = set(schema.used.tolist())
    scores = {name: values.tolist() for name, values in found.items()}
    cuts: dict[str, list[float]] = {}
    if schema.has_classes and schema.numeric:
        coder = ColumnCoder(MDL(), schema, with_target=True, caller="study")
        if not coder.requires(known):
            edges = coder.coding(known).edges
            cuts = {schema.columns[j].name: edges[j].tolist() for j in schema.numeric}
    return {
        "criteria": [
            {
                "id": one.name,
                "label": one.label,
                "unit": one.relevance.unit,
                "summary": _docstring_summary(one.relevance),
                "needs_target": bool(one.relevance.needs_target),
            }
            for one in ranking_criteria
        ],
        "columns": schema.names,
        "scores": {name: [v if j in used else None for j, v in enumerate(values)] for name, values in scores.items()},
        "cuts": cuts,
        "uncut": describe_uncut_columns(source, known),
        "constant": [schema.columns[j].name for j in schema.used.tolist() if schema.columns[j].constant],
        "combined": None,
    }


def _docstring_summary(method: Any) -> str:
    return (type(method).__doc__ or "").strip().partition("\n")[0]
