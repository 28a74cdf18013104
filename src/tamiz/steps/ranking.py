"""The ranking of a study: the scores of every column by every criterion."""

from __future__ import annotations

from typing import Any

from tamiz.criteria.discretization import MDL, Coder
from tamiz.sources.base import Source
from tamiz.steps.column_tests import describe_uncut
from tamiz.steps.scoring import Ranked, score_columns


def describe_ranking(source: Source, ranked: list[Ranked]) -> dict[str, Any]:
    """Return the scores of every column by every criterion, the cut points behind them, and what is known of columns without."""
    schema = source.schema
    found, known = score_columns(ranked, source)
    used = set(schema.used.tolist())
    scores = {name: values.tolist() for name, values in found.items()}
    cuts: dict[str, list[float]] = {}
    if schema.has_classes and schema.numeric:
        coder = Coder(MDL(), schema, with_target=True, owner="study")
        if not coder.requires(known):
            edges = coder.coding(known).edges
            cuts = {schema.columns[j].name: edges[j].tolist() for j in schema.numeric}
    return {
        "criteria": [
            {
                "id": one.name,
                "label": one.label,
                "unit": one.relevance.unit,
                "summary": _first_line(one.relevance),
                "needs_target": bool(one.relevance.needs_target),
            }
            for one in ranked
        ],
        "columns": schema.names,
        "scores": {name: [v if j in used else None for j, v in enumerate(values)] for name, values in scores.items()},
        "cuts": cuts,
        "uncut": describe_uncut(source, known),
        "constant": [schema.columns[j].name for j in schema.used.tolist() if schema.columns[j].constant],
        "combined": None,
    }


def _first_line(part: Any) -> str:
    return (type(part).__doc__ or "").strip().partition("\n")[0]
