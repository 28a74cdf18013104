"""The record of the neighbour graph of a study, for the report."""

from __future__ import annotations

import inspect
from typing import Any

from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.row_graph import RowGraph
from tamiz.report.records.maps import GraphRecord
from tamiz.runtime.codec import Named, extend_record


def describe_graph(row_graph: RowGraph, label: Named) -> GraphRecord | None:
    """Return the record of the graph for the report; None without a graph."""
    graph, builder, connected = row_graph.graph, row_graph.builder, row_graph.connected_graph
    if graph is None:
        return None
    described = graph.describe()
    built = isinstance(builder, GraphBuilder)
    return extend_record(
        GraphRecord,
        described,
        id=label.id if built else "given",
        label=label.label if built else "A prebuilt graph",
        parameters=_parameters(builder) if built else "",
        description=builder.describe(unweighted=described.unweighted) if isinstance(builder, GraphBuilder) else "",
        by_class=builder is not None and builder.needs_classes,
        n_joining_edges=None if connected is None else connected.n_edges - graph.n_edges,
    )


def _parameters(method: Any) -> str:
    """Return the parameters of a builder as Python arguments, without keyword-only ones at their default."""
    values = method.get_params(deep=False)
    signature = inspect.signature(type(method)).parameters.values()
    names = [p.name for p in signature if p.kind is not p.KEYWORD_ONLY or values[p.name] != p.default]
    return ", ".join(f"{name}={values[name]!r}" for name in names)
