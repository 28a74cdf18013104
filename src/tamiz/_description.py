"""What a study writes into its Result: plain names and numbers, a function a section."""

from __future__ import annotations

import base64
import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz._joining import Joined, Rows
from tamiz.criteria.base import Relevance, complete
from tamiz.criteria.discretization import MDL, Coder
from tamiz.graphs.graph import Graph
from tamiz.reduction.axes import correlate
from tamiz.reduction.base import Gallery, Reducer
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.schema import Column
from tamiz.statistics.base import Floats
from tamiz.statistics.moments import ClassMoments, Moments

# Points drawn in a map, levels listed, columns offered for colour, evaluations drawn, components sized, bars of a
# histogram, images of a kind, pixels along a side of one: what a reader can still take in.
_MOST_POINTS = 2000
_MOST_LEVELS = 20
_MOST_COLOURS = 40
_MOST_TRACED = 2000
_MOST_SIZED = 10
_MOST_BARS = 40
_MOST_IMAGES = 24
_MOST_PIXELS = 128
# Axes that are explained, and rows that columns and axes are compared over: where there is no rank correlation, the one over so
# many rows has a standard error of 0.007.
_MOST_AXES = 4
_MOST_COMPARED = 20_000
# Next to the widest axis, one of less width is made of rounding, and has no order to be explained.
_ROUNDING = 1e-12


def drawn_rows(n_rows: int, rng: np.random.Generator) -> Rows:
    """Return the rows that maps show: all, or a sample in their order."""
    if n_rows <= _MOST_POINTS:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, _MOST_POINTS, replace=False))


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
    """Return the chosen columns and the course of the search."""
    archive, names = selector.archive_, np.array(selector.schema_.names, dtype=object)
    merits = archive.merits
    numbers = np.unique(np.linspace(0, len(archive) - 1, _MOST_TRACED).astype(int))
    return {
        "merit": merit,
        "search": search,
        "columns": names[selector.support_].tolist(),
        "value": selector.merit_,
        "n_evaluations": len(archive),
        "stopped": archive.stopped,
        "course": [
            {"evaluation": number + 1, "merit": float(merits[number]), "columns": names[archive.mask(number)].tolist()}
            for number in archive.course
        ],
        "trace": {
            "evaluation": (numbers + 1).tolist(),
            "merit": merits[numbers].tolist(),
            "size": archive.sizes[numbers].tolist(),
        },
    }


def describe_map(
    reducer: Reducer, source: Source, rows: Rows | None, label: dict[str, str], seed: int
) -> dict[str, Any]:
    """Return a fitted map: its points at some rows, and what explains it, by rows that the seed draws where there are many."""
    reducer.fit(source)
    facts = reducer.facts()
    points = None if rows is None else reducer.embedding_[rows, :2].tolist()
    return {
        **label,
        "axes": facts.axes[:2],
        "notes": facts.notes,
        "nearness": facts.nearness,
        "common_unit": facts.common_unit,
        "points": points,
        "rows": [] if rows is None else source.row_numbers[rows].tolist(),
        "spectrum": {
            "label": facts.spectrum_label,
            "note": facts.spectrum_note,
            "values": facts.spectrum,
            "cumulative": facts.cumulative,
            "residuals": facts.residuals,
            "reference": facts.reference,
            "reference_title": facts.reference_title,
            "reference_note": facts.reference_note,
        },
        "loadings": {"columns": facts.loading_names, "values": [row[:_MOST_AXES] for row in facts.loadings]},
        "explanation": _explanation(source, reducer.embedding_, facts.axes, seed),
        "galleries": [_gallery(shown) for shown in facts.galleries if rows is not None or not shown.of_rows],
    }


def _explanation(source: Source, embedding: Floats, axes: list[str], seed: int) -> dict[str, Any]:
    """Return how far every column goes along with the first axes."""
    n = len(embedding)
    rows = None
    if n > _MOST_COMPARED:
        rows = np.sort(np.random.default_rng(seed).choice(n, _MOST_COMPARED, replace=False))
    points = np.array(embedding[:, :_MOST_AXES] if rows is None else embedding[rows, :_MOST_AXES], dtype=np.float64)
    spans = np.ptp(points, axis=0)
    points[:, spans <= _ROUNDING * spans.max()] = 0.0
    found = correlate(source, points, rows)
    return {
        "axes": axes[:_MOST_AXES],
        "columns": found.columns,
        "kinds": found.kinds,
        "values": found.values.tolist(),
        "chance": found.chance.tolist(),
        "n_rows": len(points),
        "n_mapped": n,
    }


def _gallery(gallery: Gallery) -> dict[str, Any]:
    """Return images in 256 steps of grey: what a screen shows, and a hundredth of their numbers written out."""
    return {
        "title": gallery.title,
        "note": gallery.note,
        "signed": gallery.signed,
        "n_images": len(gallery.images),
        "images": [
            {"name": name, **_image(np.reshape(np.asarray(pixels, dtype=np.float64), gallery.shape), gallery.signed)}
            for name, pixels in list(zip(gallery.names, gallery.images, strict=True))[:_MOST_IMAGES]
        ],
    }


def _image(values: Floats, signed: bool) -> dict[str, Any]:
    """Return an image as bytes between two values, a large one as the means of squares of its pixels."""
    by = -(-max(values.shape) // _MOST_PIXELS)
    if by > 1:
        starts = [np.arange(0, size, by) for size in values.shape]
        sums = np.add.reduceat(np.add.reduceat(values, starts[0], axis=0), starts[1], axis=1)
        sides = [np.diff(start, append=size) for start, size in zip(starts, values.shape, strict=True)]
        values = sums / np.outer(*sides)
    high = float(np.abs(values).max() if signed else values.max())
    low = -high if signed else float(values.min())
    # An image of one value is grey.
    steps = 255 * (values - low) / (high - low) if high > low else np.full(values.shape, 127.5)
    pixels = np.floor(steps + 0.5).astype(np.uint8)
    return {
        "height": values.shape[0],
        "width": values.shape[1],
        "low": low,
        "high": high,
        "pixels": base64.b64encode(pixels.tobytes()).decode("ascii"),
    }


def describe_colors(source: Source, rows: Rows, ranking: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the target and the best columns at the rows drawn, to colour a map by."""
    schema = source.schema
    columns = schema.used.tolist()
    if ranking is not None and ranking["criteria"]:
        scores = ranking["scores"][ranking["criteria"][0]["id"]]
        columns = sorted(sorted(columns, key=lambda j: -scores[j])[:_MOST_COLOURS])
    columns = columns[:_MOST_COLOURS]
    if schema.target is not None:
        columns = [schema.n_columns, *columns]
    values: dict[int, list[Any]] = {j: [] for j in columns}
    for block in source.blocks([j for j in columns if j < schema.n_columns]):
        here = rows[(rows >= block.rows.start) & (rows < block.rows.stop)] - block.rows.start
        for j in columns:
            values[j] += block.column(j)[here].tolist()
    return [_color(schema.describe(j), values[j]) for j in columns]


def _color(column: Column, values: list[Any]) -> dict[str, Any]:
    if column.is_number:
        shown = [None if value != value else value for value in values]
        return {"name": column.name, "kind": "numeric", "values": shown, "levels": []}
    shown = [None if value < 0 else value for value in values]
    return {"name": column.name, "kind": "categorical", "values": shown, "levels": list(column.levels)}
