"""`--graph` and `--t`: the graph of the rows, kept as plain values until a command runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.options import Command, MethodParam, apply_options
from tamiz.graphs import registry as graphs
from tamiz.graphs.named_builders import DEFAULT_GRAPH, NamedBuilder
from tamiz.runtime.registry import Entry

if TYPE_CHECKING:
    from tamiz.graphs.builder import GraphBuilder


class GraphName(click.ParamType):  # type: ignore[type-arg]  # not generic in click 8.1
    """A graph by the name of its builder and, after a colon, its number: "knn:15"."""

    name = "graph"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> NamedBuilder:
        """Return the builder by its name, which is made when the command runs."""
        if isinstance(value, NamedBuilder):
            return value
        try:
            return NamedBuilder.parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class KernelWidth(click.ParamType):  # type: ignore[type-arg]
    """The width of a heat kernel: a number above 0, or "inf"."""

    name = "width"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        try:
            width = float(value)
        except ValueError:
            width = math.nan
        if not width > 0:
            self.fail(f"t must be a number above 0, or inf for weights of 0 and 1, got {str(value)!r}.", param, ctx)
        return width


_names = MethodParam(graphs, "builder", "graph").names
_OPTIONS = (
    click.option(
        "--graph",
        "graph_choice",
        type=GraphName(),
        metavar="NAME[:NUMBER]",
        help=f"The graph of the rows, by distances of standardised columns: {DEFAULT_GRAPH} (15 nearest neighbours, the "
        f"default) or radius:0.8 (all rows within that distance). Graphs: {_names}. The last needs --target.",
    ),
    click.option(
        "--t",
        "kernel_width",
        type=KernelWidth(),
        metavar="T",
        help="Weight an edge of length d by exp(-d^2 / T); with inf, the default, every edge has weight 1.",
    ),
)


def graph_options(command: Command) -> Command:
    """Add `--graph` and `--t`."""
    return apply_options(command, _OPTIONS)


def check_uses_graph(label: str, method: Entry) -> None:
    """Raise a usage error for a graph of a method that uses none."""
    from tamiz.graphs.row_graph import needs_graph

    if not needs_graph(method.load()()):
        raise click.UsageError(f"{label} uses no graph: leave out --graph and --t.")


def make_graph_builder(
    choice: NamedBuilder | None, kernel_width: float | None, target: str | None
) -> GraphBuilder | None:
    """Return the builder that the options specify, None where neither option is used."""
    if choice is None and kernel_width is None:
        return None
    choice = choice or NamedBuilder.parse(DEFAULT_GRAPH)
    try:
        builder = choice.make(kernel_width)
    except ValueError as error:
        raise click.UsageError(f"--graph {error}") from error
    if builder.needs_classes and target is None:
        raise click.UsageError(f"--graph {choice} connects rows of one class: name its column with --target.")
    return builder
