"""Graph builders by their names on the command line, such as "knn:15"; nothing heavy is imported before one is made."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamiz.graphs import registry
from tamiz.runtime.registry import Entry, command_name

if TYPE_CHECKING:
    from tamiz.graphs.builders import GraphBuilder
    from tamiz.graphs.graph import Graph

DEFAULT_GRAPH = "knn:15"


@dataclass(frozen=True)
class NamedBuilder:
    """A graph builder by its entry in the registry and the number after a colon."""

    entry: Entry
    number: float | None

    @classmethod
    def parse(cls, text: str) -> NamedBuilder:
        """Return the builder of a name such as "knn:15"; raise ValueError for a name or a number that is none."""
        name, colon, number = (part.strip() for part in text.partition(":"))
        entry = registry.find(name, "builder", "graph")
        if not colon:
            return cls(entry, None)
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise ValueError(f"{text!r}: the value after the colon must be a number above 0, got {number!r}.")
        return cls(entry, value)

    def make(self, kernel_width: float | None = None) -> GraphBuilder:
        """Return the builder, by distances of standardised columns, with edges of weight 1 or of a heat kernel."""
        from tamiz.graphs.edges import Binary, HeatKernel

        builder = self._make_with_number()
        settings: dict[str, Any] = {}
        if "metric" in builder.get_params(deep=False):
            settings = {"metric": "seuclidean", "weight": Binary()}
        if kernel_width is not None:
            settings["weight"] = HeatKernel(kernel_width)
        return builder.set_params(**settings)

    def _make_with_number(self) -> GraphBuilder:
        """Return the builder with the number as its first positional parameter."""
        builder = self.entry.load()
        parameters = inspect.signature(builder).parameters.values()
        positional = next((p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD), None)
        made: GraphBuilder
        if self.number is None:
            if positional is not None and positional.default is positional.empty:
                raise ValueError(f"{self} needs a number after a colon, such as {self}:0.8.")
            made = builder()
        elif positional is None:
            raise ValueError(f"{self} accepts no number.")
        elif positional.annotation != "int":
            made = builder(self.number)
        elif not self.number.is_integer():
            raise ValueError(f"{self} requires a whole number, such as {DEFAULT_GRAPH}, got {self.number:g}.")
        else:
            made = builder(int(self.number))
        return made

    def __str__(self) -> str:
        return command_name(self.entry)


def resolve_graph(graph: GraphBuilder | Graph | str) -> GraphBuilder | Graph:
    """Return the value of a parameter `graph`, or the builder that it names."""
    from tamiz.graphs.builders import check_builder_or_graph

    return NamedBuilder.parse(graph).make() if isinstance(graph, str) else check_builder_or_graph(graph)
