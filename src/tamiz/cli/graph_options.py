"""`--graph` and `--t`: the graph of the rows, kept as plain values until a command runs."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.options import Command, MethodParam
from tamiz.graphs import registry as graphs
from tamiz.runtime.registry import Entry, command_name

if TYPE_CHECKING:
    from tamiz.graphs.builder import GraphBuilder


_builders = MethodParam(graphs, "builder", "graph")
_DEFAULT_GRAPH = "knn:15"


@dataclass(frozen=True)
class GraphChoice:
    """A graph as the command line specifies it.

    Attributes
    ----------
    entry : Entry
        The entry of the builder in the registry.
    number : float or None
        The number after the colon.
    """

    entry: Entry
    number: float | None

    def __str__(self) -> str:
        return command_name(self.entry)


class GraphName(click.ParamType):  # type: ignore[type-arg]  # not generic in click 8.1
    """A graph by the name of its builder and, after a colon, its number: "knn:15"."""

    name = "graph"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> GraphChoice:
        """Return the registry entry of the builder and the number."""
        if isinstance(value, GraphChoice):
            return value
        name, colon, number = (part.strip() for part in str(value).partition(":"))
        entry = _builders.convert(name, param, ctx)
        if not colon:
            return GraphChoice(entry, None)
        asked = _to_float(number)
        if asked is None or not 0 < asked < math.inf:
            self.fail(f"{value!r}: the value after the colon must be a number above 0, got {number!r}.", param, ctx)
        return GraphChoice(entry, asked)


class KernelWidth(click.ParamType):  # type: ignore[type-arg]
    """The width of a heat kernel: a number above 0, or "inf"."""

    name = "width"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        width = _to_float(str(value))
        if width is None or not width > 0:
            self.fail(f"t must be a number above 0, or inf for weights of 0 and 1, got {str(value)!r}.", param, ctx)
        return width


def _to_float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def graph_options(command: Command) -> Command:
    """Add `--graph` and `--t`."""
    for decorate in reversed(
        [
            click.option(
                "--graph",
                "graph_choice",
                type=GraphName(),
                metavar="NAME[:NUMBER]",
                help=f"The graph of the rows, by distances of standardised columns: {_DEFAULT_GRAPH} (15 nearest neighbours, the "
                f"default) or radius:0.8 (all rows within that distance). Graphs: {_builders.names}. The last needs --target.",
            ),
            click.option(
                "--t",
                "kernel_width",
                type=KernelWidth(),
                metavar="T",
                help="Weight an edge of length d by exp(-d^2 / T); with inf, the default, every edge has weight 1.",
            ),
        ]
    ):
        command = decorate(command)
    return command


def make_graph_builder(
    choice: GraphChoice | None, kernel_width: float | None, target: str | None
) -> GraphBuilder | None:
    """Return the builder that the options specify, None where neither option is used."""
    if choice is None and kernel_width is None:
        return None
    choice = choice or GraphName().convert(_DEFAULT_GRAPH, None, None)
    builder = _instantiate_builder(choice)
    if builder.needs_classes and target is None:
        raise click.UsageError(f"--graph {choice} connects rows of one class: name its column with --target.")
    from tamiz.graphs import Binary, HeatKernel

    settings: dict[str, Any] = {}
    if "metric" in builder.get_params(deep=False):
        settings = {"metric": "seuclidean", "weight": Binary()}
    if kernel_width is not None:
        settings["weight"] = HeatKernel(kernel_width)
    return builder.set_params(**settings)


def _instantiate_builder(choice: GraphChoice) -> GraphBuilder:
    """Return the builder with the number as its first positional parameter."""
    builder = choice.entry.load()
    parameters = inspect.signature(builder).parameters.values()
    positional = next((p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD), None)
    if choice.number is None:
        if positional is not None and positional.default is positional.empty:
            raise click.UsageError(f"--graph {choice} needs a number after a colon, such as {choice}:0.8.")
        return builder()
    if positional is None:
        raise click.UsageError(f"--graph {choice} accepts no number.")
    if positional.annotation != "int":
        return builder(choice.number)
    if not choice.number.is_integer():
        raise click.UsageError(
            f"--graph {choice} requires a whole number, such as {_DEFAULT_GRAPH}, got {choice.number:g}."
        )
    return builder(int(choice.number))
