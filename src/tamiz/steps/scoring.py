"""Columns scored by several criteria, in passes over the rows that these share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tamiz.criteria.base import Known, Relevance, complete
from tamiz.sources.base import Source
from tamiz.statistics.base import Floats


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
