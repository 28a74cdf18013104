"""The one graph of a study: of all rows of the table, or of a sample of a very long one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from tamiz.exceptions import DataError
from tamiz.graphs.builder import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.k_nearest import default_builder
from tamiz.graphs.weights import Binary
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import Rows, rows_of
from tamiz.steps.budget import USUAL, Budget
from tamiz.steps.sampling import rows_with
from tamiz.warn import tell

Part = TypeVar("Part", bound=BaseEstimator)

# Rows that are joined where nobody said how, and the seconds that their neighbours may take.
_MOST_JOINED, _MOST_SECONDS = 100_000, 25.0
# Numbers of the rows that are joined, an indicator for every level among them: of 20 bytes each.
_MOST_VALUES = 3e7
# Seconds of two cores: for a pair of rows and for each of its numbers where all distances are measured, and for a row and each
# of its numbers by descent.
_PAIR, _PAIR_NUMBER, _ROW, _ROW_NUMBER = 1e-9, 2.5e-11, 2e-5, 1.9e-6


@dataclass(frozen=True)
class Joined:
    """The table of a study and the graph of its rows, where it has one.

    Attributes
    ----------
    table : Source
    builder : GraphBuilder, Graph or None
        What the graph was built by, or itself where it was given.
    graph : Graph or None
    whole : Graph or None
        The graph in one piece, by the shortest edges that join its components, for maps; None where nothing can join them.
    source : Source or None
        The rows that are joined: the table, or a sample of it.
    sample : ndarray of shape (n_joined,) or None
        Their numbers in the table; None where it is all of them.
    """

    table: Source
    builder: GraphBuilder | Graph | None = None
    graph: Graph | None = None
    whole: Graph | None = None
    source: Source | None = None
    sample: Rows | None = None

    def lent_to(self, part: Part) -> Part:
        """Return a part that takes a graph and was given none with this one, any other part itself."""
        return clone(part).set_params(graph=self.graph) if takes_graph(part) else part

    def lent_whole_to(self, part: Part) -> Part:
        """Return what `lent_to` does, with the graph in one piece where it can be joined."""
        return clone(part).set_params(graph=self.whole or self.graph) if takes_graph(part) else part

    def read_by(self, part: BaseEstimator) -> Source:
        """Return the rows that a part reads: those joined where it lives on this graph, else the table."""
        graph = part.get_params(deep=False).get("graph")
        lives_on_it = graph is not None and (graph is self.graph or graph is self.whole)
        return self.source if lives_on_it and self.source is not None else self.table

    def numbers(self, rows: Rows, source: Source) -> Rows:
        """Return some rows of the table by their numbers in what a part reads."""
        if self.sample is None or source is self.table:
            return rows
        return np.searchsorted(self.sample, rows)


def takes_graph(part: BaseEstimator) -> bool:
    """Whether a part takes a graph and was given none."""
    parameters = part.get_params(deep=False)
    return "graph" in parameters and parameters["graph"] is None


def usual_builder(n_rows: int) -> GraphBuilder:
    """Return what rows are joined by where nobody said: 15 nearest neighbours, by standardised columns, every edge of weight 1.

    Rows far from all others, of which most tables have some, would hang on a heat kernel's graph by next to nothing and be all
    that its map shows.
    """
    return default_builder(n_rows).set_params(metric="seuclidean", weight=Binary())


def graph_seconds(n_rows: int, n_seen: int) -> float:
    """Return what finding the neighbours of so many rows takes, by all distances or by descent."""
    every, descent = n_rows**2 * (_PAIR + _PAIR_NUMBER * n_seen), n_rows * (_ROW + _ROW_NUMBER * n_seen)
    return min(every, descent)


def most_joined(schema: Schema, n_drawn: int, budget: Budget) -> int:
    """Return how many rows are joined at most where nobody said how."""
    n, n_seen = schema.n_rows, max(schema.n_coordinates, 1)
    seconds = budget.scale * _MOST_SECONDS
    by_time = max(math.sqrt(seconds / (_PAIR + _PAIR_NUMBER * n_seen)), seconds / (_ROW + _ROW_NUMBER * n_seen))
    return min(n, budget.of(_MOST_JOINED, n), max(n_drawn, int(min(by_time, budget.scale * _MOST_VALUES / n_seen, n))))


def join_rows(
    source: Source, asked: GraphBuilder | Graph | None, drawn: Rows, rng: np.random.Generator, budget: Budget = USUAL
) -> Joined:
    """Build the graph of a study.

    Parameters
    ----------
    source : Source
    asked : GraphBuilder, Graph or None
        Of all rows where it is given; else the usual one, of a sample of a very long table.
    drawn : ndarray of row numbers, ascending
        The rows that maps show, to be among the sample.
    rng : Generator
        Draws the rest of the sample.
    budget : Budget
    """
    n, n_seen = source.schema.n_rows, source.schema.n_coordinates
    most = most_joined(source.schema, len(drawn), budget)
    sample, joined = None, source
    if asked is None and n > most:
        sample = rows_with(drawn, n, most, rng)
        joined = rows_of(source, sample)
        wide = most < budget.of(_MOST_JOINED, n)
        why = f": a row has {n_seen:,} numbers, an indicator for every level among them" if wide else ""
        tell(
            [
                f"The graph joins {most:,} of the {n:,} rows, drawn at random{why}. One that is asked for (graph=, --graph) joins "
                "all."
            ]
        )
    builder = usual_builder(joined.schema.n_rows) if asked is None else asked
    graph = builder.build(joined, fill=True)
    whole: Graph | None = None
    try:
        whole = graph.connected()
    except DataError as error:
        tell([f"No map is drawn on the graph: {error}"])
    return Joined(source, builder, graph, whole, joined, sample)
