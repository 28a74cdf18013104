"""What a study writes into its Result: plain names and numbers, a function a section."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz._joining import Joined
from tamiz.criteria.base import Relevance, complete
from tamiz.criteria.discretization import MDL, Coder
from tamiz.graphs.graph import Graph
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.schema import Column
from tamiz.statistics.moments import ClassMoments, Moments

# Levels listed, sets drawn, sizes of sets on a line, columns named of one, components sized, bars of a histogram: what a
# reader can still take in.
_MOST_LEVELS = 20
_MOST_DRAWN = 3000
_MOST_SIZES = 500
_MOST_NAMED = 20
_MOST_SIZED = 10
_MOST_BARS = 40


def describe_table(source: Source) -> dict[str, Any]:
    """Return the columns, the target and the rows."""
    schema = source.schema
    target = schema.target
    wanted = (*schema.numeric, schema.n_columns) if target is not None and target.is_number else schema.numeric
    (moments,) = source.reduce(Moments(wanted))
    summaries = {j: _summary(moments, k) for k, j in enumerate(wanted)}
    nothing = dict.fromkeys(("mean", "sd", "min", "max"))
    classes = []
    if target is not None and schema.has_classes:
        weights = np.zeros(schema.n_classes)
        for block in source.blocks([]):
            assert block.y is not None
            weights += np.bincount(block.y, block.weight, schema.n_classes)
        classes = [{"name": name, "weight": float(w)} for name, w in zip(target.levels, weights, strict=True)]
    return {
        "n_rows": schema.n_rows + schema.n_dropped,
        "n_rows_used": schema.n_rows,
        "target": target.name if target else None,
        "target_kind": None if target is None else "numeric" if target.is_number else "classes",
        "classes": classes,
        "target_summary": summaries.get(schema.n_columns),
        "weight_column": schema.weight,
        "group_column": schema.groups,
        "time_column": schema.time,
        "columns": [{**_column(c), **summaries.get(j, nothing)} for j, c in enumerate(schema.columns)],
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "n_missing": column.n_missing,
        "n_levels": len(column.levels) or None,
        "levels": list(column.levels[:_MOST_LEVELS]),
        "constant": column.constant,
        "left_out": column.left_out,
    }


def _summary(moments: ClassMoments, k: int) -> dict[str, float | None]:
    weight, squares = float(moments.weight[0, k]), float(moments.squares[0, k])
    return {
        "mean": float(moments.mean[0, k]),
        "sd": float(np.sqrt(squares / (weight - 1))) if weight > 1 else None,
        "min": float(moments.least[0, k]),
        "max": float(moments.largest[0, k]),
    }


def describe_graph(joined: Joined, label: dict[str, str]) -> dict[str, Any] | None:
    """Return how the rows are joined and what came of it, None where they are not."""
    graph, source = joined.graph, joined.source
    if graph is None or source is None:
        return None
    given = joined.builder is graph
    counts = _neighbor_counts(graph)
    return {
        **({"id": "given", "label": "A graph that was given"} if given else label),
        "parameters": "" if given else _parameters(joined.builder),
        "by_class": joined.builder is not None and joined.builder.needs_classes,
        "n_rows": graph.n_samples,
        "n_edges": graph.n_edges,
        "components": {
            "n": len(graph.components),
            "sizes": np.sort(graph.components.sizes)[::-1][:_MOST_SIZED].tolist(),
        },
        "joining": None if joined.whole is None else joined.whole.n_edges - graph.n_edges,
        "neighbors": {**_spread(counts), "histogram": _histogram(counts)},
        "degrees": _spread(graph.degrees),
        "radius": graph.radius,
        "t": graph.t if graph.t is not None and np.isfinite(graph.t) else None,
        "unweighted": bool((graph.degrees == counts).all()),
        "search": graph.search,
        "recall": graph.recall,
    }


def _neighbor_counts(graph: Graph) -> NDArray[np.int64]:
    """Return how many others every row is joined to."""
    sizes = graph.components.sizes.astype(np.int64)
    if graph.search is None and graph.n_edges == int((sizes * (sizes - 1) // 2).sum()):
        # All pairs of every component: they are known without being written out.
        return (sizes - 1)[graph.components.labels]
    adjacency = graph.adjacency
    return np.diff(adjacency.indptr).astype(np.int64) - (adjacency.diagonal() != 0)


def _spread(values: NDArray[Any]) -> dict[str, float]:
    return {"min": float(values.min()), "median": float(np.median(values)), "max": float(values.max())}


def _histogram(counts: NDArray[np.int64]) -> dict[str, Any]:
    """Return how many rows have so many neighbours, in bins of equal width, one a number where there is room."""
    least, most = int(counts.min()), int(counts.max())
    width = -(-(most - least + 1) // _MOST_BARS)
    return {"start": least, "width": width, "rows": np.bincount((counts - least) // width).tolist()}


def _parameters(part: Any) -> str:
    """Return what a part was made with, as Python takes it; what it would be without a word is left out."""
    given = part.get_params(deep=False)
    signature = inspect.signature(type(part)).parameters.values()
    told = [p.name for p in signature if p.kind is not p.KEYWORD_ONLY or given[p.name] != p.default]
    return ", ".join(f"{name}={given[name]!r}" for name in told)


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


def describe_ranking(source: Source, ranked: list[Ranked]) -> dict[str, Any]:
    """Return the scores of every column by every criterion, and the cut points behind them."""
    schema = source.schema
    for one in ranked:
        one.relevance.check(schema)
    ready = {one.name: one.relevance.ready(one.source) for one in ranked}
    known = complete(list(ready.values()), source.reduce, schema)
    used = set(schema.used.tolist())
    scores = {name: relevance.scores(known, schema).tolist() for name, relevance in ready.items()}
    cuts: dict[str, list[float]] = {}
    if schema.has_classes and schema.numeric:
        coder = Coder(MDL(), schema, with_target=True, owner="study")
        if not coder.requires(known):
            edges = coder.coding(known).edges
            cuts = {schema.columns[j].name: edges[j].tolist() for j in schema.numeric}
    return {
        "criteria": [
            {"id": one.name, "label": one.label, "unit": one.relevance.unit, "summary": _first_line(one.relevance)}
            for one in ranked
        ],
        "columns": schema.names,
        "scores": {name: [v if j in used else None for j, v in enumerate(values)] for name, values in scores.items()},
        "cuts": cuts,
    }


def _first_line(part: Any) -> str:
    return (type(part).__doc__ or "").strip().partition("\n")[0]


def describe_subset(selector: SubsetSelector, merit: dict[str, str], search: dict[str, str]) -> dict[str, Any]:
    """Return the chosen columns, the course of the search, and merits against sizes."""
    archive, names = selector.archive_, np.array(selector.schema_.names, dtype=object)
    # What Ctrl-C cut off while it was written down is not counted.
    merits, sizes = archive.merits, archive.sizes
    best, worst = _extremes(sizes, merits, archive.best)
    drawn = _thinned(sizes, merits, np.concatenate([best, worst]))
    certificate = selector.certificate_
    return {
        "merit": merit,
        "how": selector.merit_how_,
        "search": search,
        "columns": names[selector.support_].tolist(),
        "value": selector.merit_,
        "n_evaluations": archive.n_evaluations,
        "n_written": len(archive),
        "certificate": None
        if certificate is None
        else {"bound": float(certificate.bound), "gap": float(certificate.gap), "proven": bool(certificate.proven)},
        "stopped": archive.stopped,
        "course": [
            {"evaluation": number + 1, "merit": float(merits[number]), "columns": names[archive.mask(number)].tolist()}
            for number in archive.course
        ],
        "points": {"size": sizes[drawn].tolist(), "merit": merits[drawn].tolist()},
        "frontier": [
            {
                "size": int(sizes[number]),
                "merit": float(merits[number]),
                "columns": names[archive.mask(number)][:_MOST_NAMED].tolist(),
            }
            for number in best.tolist()
        ],
    }


def _extremes(
    sizes: NDArray[Any], merits: NDArray[np.float64], chosen: int | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return one of the best sets of every size, the chosen where it is one, and one of the worst; of very many sizes some."""
    found = np.arange(len(sizes))
    if chosen is not None:
        found[chosen] = -1
    order = np.lexsort((-found, merits, sizes))
    ends = np.flatnonzero(np.diff(sizes[order], append=-1))
    starts = np.concatenate([[0], ends[:-1] + 1])
    some = np.unique(np.linspace(0, len(ends) - 1, min(len(ends), _MOST_SIZES)).astype(np.intp))
    if chosen is not None:
        some = np.union1d(some, np.flatnonzero(sizes[order[ends]] == sizes[chosen]))
    return order[ends[some]], order[starts[some]]


def _thinned(sizes: NDArray[Any], merits: NDArray[np.float64], kept: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return sets to draw: all, or those to be kept and others evenly spaced by size and, within a size, by merit."""
    n = len(sizes)
    if n <= _MOST_DRAWN:
        return np.arange(n)
    order = np.lexsort((merits, sizes))
    room = max(_MOST_DRAWN - len(np.unique(kept)), 0)
    return np.union1d(kept, order[np.linspace(0, n - 1, room).astype(np.intp)])
