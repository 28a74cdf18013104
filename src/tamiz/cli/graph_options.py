"""`--graph` and `--t`: the graph of the rows, kept as plain values until a command runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tamiz.cli.command import option
from tamiz.cli.options import MethodName, Parsed, usage_errors
from tamiz.graphs import registry as graphs
from tamiz.graphs.named_builders import DEFAULT_GRAPH, NamedBuilder
from tamiz.runtime.registry import Entry

if TYPE_CHECKING:
    from tamiz.graphs.builders import GraphBuilder


def _parse_width(value: str) -> float:
    try:
        width = float(value)
    except ValueError:
        width = math.nan
    if not width > 0:
        raise ValueError(f"t must be a number above 0, or inf for weights of 0 and 1, got {value!r}.")
    return width


@dataclass(frozen=True)
class GraphOptions:
    """The graph that the options specify."""

    graph: NamedBuilder | None = option(
        "--graph NAME[:NUMBER]",
        Parsed(NamedBuilder.parse),
        f"The graph of the rows, by distances of standardised columns: {DEFAULT_GRAPH} (15 nearest neighbours, the default) "
        "or radius:0.8 (all rows within that distance). Graphs: "
        f"{MethodName(graphs, 'builder', 'graph').names}. The last needs --target.",
    )
    kernel_width: float | None = option(
        "--t T",
        Parsed(_parse_width),
        "Weight an edge of length d by exp(-d^2 / T); with inf, the default, every edge has weight 1.",
    )

    def make(self, target: str | None) -> GraphBuilder | None:
        """Return the builder, None where neither option is used."""
        if self.graph is None and self.kernel_width is None:
            return None
        named = self.graph or NamedBuilder.parse(DEFAULT_GRAPH)
        with usage_errors("--graph "):
            builder = named.make(self.kernel_width)
        if builder.needs_classes and target is None:
            raise click.UsageError(f"--graph {named} connects rows of one class: name its column with --target.")
        return builder


def check_uses_graph(label: str, method: Entry) -> None:
    from tamiz.graphs.row_graph import needs_graph

    if not needs_graph(method.load()()):
        raise click.UsageError(f"{label} uses no graph: leave out --graph and --t.")
