"""The criteria of a ranking, and columns scored by them in passes over the rows that these share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Relevance, StatisticsCache, gather_statistics
from tamiz.criteria.entropy_family import MissingRule
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.steps.joining import RowGraph, needs_graph
from tamiz.steps.labels import entry_label, method_label


@dataclass(frozen=True)
class RankingCriterion:
    """A relevance of a ranking.

    Attributes
    ----------
    name, label : str
    relevance : Relevance
    source : Source
        The rows it reads, where it compares rows with rows.
    """

    name: str
    label: str
    relevance: Relevance
    source: Source


def score_columns(
    ranking_criteria: Sequence[RankingCriterion], source: Source
) -> tuple[dict[str, Floats], StatisticsCache]:
    """Return the scores of every column by the criteria's names, and the statistics that were counted for them."""
    schema = source.schema
    for one in ranking_criteria:
        one.relevance.check(schema)
    ready = {one.name: one.relevance.bind(one.source) for one in ranking_criteria}
    known = gather_statistics(list(ready.values()), source.reduce, schema)
    return {name: relevance.scores(known, schema) for name, relevance in ready.items()}, known


def choose_ranking_criteria(
    requested: Sequence[Relevance] | None, schema: Schema, missing: MissingRule, row_graph: RowGraph
) -> list[RankingCriterion]:
    """Return the relevances as the table needs them; by default the registered ones that have a meaning on it and are cheap."""
    taken = (
        []
        if requested is None
        else [(label, part.adapt_to(schema) or part) for label, part in _number_duplicates(requested)]
    )
    for entry in criteria.of_kind("relevance") if requested is None else ():
        part = entry.load()().with_missing(missing).adapt_to(schema)
        if part is not None and part.used_by_default and (row_graph.graph is not None or not needs_graph(part)):
            taken.append((entry_label(entry), part))
    lent = [(label, row_graph.with_graph(part)) for label, part in taken]
    return [RankingCriterion(label["id"], label["label"], part, row_graph.source_for(part)) for label, part in lent]


def _number_duplicates(requested: Sequence[Relevance]) -> list[tuple[dict[str, str], Relevance]]:
    """Return relevances with their labels, numbered where a class occurs twice."""
    labels = [method_label(criteria, relevance) for relevance in requested]
    taken = [label["id"] for label in labels]
    for k, relevance in enumerate(requested):
        if taken.count(taken[k]) > 1:
            labels[k] = {"id": f"{taken[k]}_{taken[: k + 1].count(taken[k])}", "label": repr(relevance)}
    return list(zip(labels, requested, strict=True))
