"""The criteria of a ranking, and columns scored by them in passes over the rows that these share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Known, Relevance, complete
from tamiz.criteria.entropy_family import Missing
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.steps.joining import Joined, takes_graph
from tamiz.steps.labels import label_of, named


@dataclass(frozen=True)
class Ranked:
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


def score_columns(ranked: Sequence[Ranked], source: Source) -> tuple[dict[str, Floats], Known]:
    """Return the scores of every column by the criteria's names, and the statistics that were counted for them."""
    schema = source.schema
    for one in ranked:
        one.relevance.check(schema)
    ready = {one.name: one.relevance.ready(one.source) for one in ranked}
    known = complete(list(ready.values()), source.reduce, schema)
    return {name: relevance.scores(known, schema) for name, relevance in ready.items()}, known


def ranked_by(given: Sequence[Relevance] | None, schema: Schema, missing: Missing, joined: Joined) -> list[Ranked]:
    """Return the relevances as the table needs them; by default the registered ones that have a meaning on it and are cheap."""
    taken = [] if given is None else [(label, part.suited(schema) or part) for label, part in _told_apart(given)]
    for entry in criteria.of_kind("relevance") if given is None else ():
        part = entry.load()().with_missing(missing).suited(schema)
        if part is not None and part.by_default and (joined.graph is not None or not takes_graph(part)):
            taken.append((named(entry), part))
    lent = [(label, joined.lent_to(part)) for label, part in taken]
    return [Ranked(label["id"], label["label"], part, joined.read_by(part)) for label, part in lent]


def _told_apart(given: Sequence[Relevance]) -> list[tuple[dict[str, str], Relevance]]:
    """Return relevances with their labels, numbered where a class occurs twice."""
    labels = [label_of(criteria, relevance) for relevance in given]
    taken = [label["id"] for label in labels]
    for k, relevance in enumerate(given):
        if taken.count(taken[k]) > 1:
            labels[k] = {"id": f"{taken[k]}_{taken[: k + 1].count(taken[k])}", "label": repr(relevance)}
    return list(zip(labels, given, strict=True))
