"""The maps of a study: those requested or the default ones, and the columns that they use."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances, silhouette_score

from tamiz.arrays import Floats, Indices
from tamiz.comparison.alignment import procrustes_distances
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.row_graph import RowGraph
from tamiz.metrics.evaluation import MapQuality, quality
from tamiz.metrics.stress import ShepardDiagram, shepard
from tamiz.neighbors.metrics import METRICS, read_points
from tamiz.reduction import registry
from tamiz.reduction.axes import correlate_columns
from tamiz.reduction.base import ImageSet, Reducer
from tamiz.reduction.named_maps import find_map_method
from tamiz.reduction.rules import MAX_COLUMNS, describe_clusters, find_clusters, most_correlated_columns
from tamiz.reduction.table_embedding import TableEmbedding
from tamiz.report.records import (
    MAX_EXACT_ROWS,
    AxisCorrelationsRecord,
    ColorColumn,
    GraphRecord,
    GreyImage,
    ImageSetRecord,
    MapClustersRecord,
    MapQualityRecord,
    MapRecord,
    QualityRecord,
    RankingRecord,
)
from tamiz.runtime import parallel
from tamiz.runtime.codec import Named, extend_record
from tamiz.runtime.random import sample_rows
from tamiz.runtime.registry import method_label, number_repeated, suggestion
from tamiz.runtime.user_warnings import ImputationNote, capture_warnings, plain_notes, quote_name, warn, warn_user
from tamiz.runtime.validation import check_choice
from tamiz.table.base import Table, target_array, weight_array
from tamiz.table.encode import TableEncoder
from tamiz.table.schema import Column, Schema
from tamiz.table.views import select_rows

T = TypeVar("T")

# Neighbours that are compared, or half of the other rows if these are fewer.
_N_NEIGHBORS = 15
# Neighbourhood sizes on a curve, and pairs of rows in a Shepard diagram.
_MAX_SIZES = 60
# Rows that the quality is evaluated on, at quadratic cost.
_MAX_EVALUATED = 2000
_MAX_PAIRS = 600
# Rows whose distances to all later rows are computed at a time.
_BLOCK_ROWS = 256
# Random neighbourhoods of the chance level, and the random numbers that they may take.
_MAX_DRAWS, _MAX_DRAWN, _CHANCE_LEVEL = 4_000, 4_000_000, 0.95
# Nearest rows in the table that a picked row is shown with.
_N_NEAREST = 10
# Ranks of distances need at least three rows.
_MIN_ROWS = 3


def measure_quality(
    table: Table, rows: Indices, maps: Sequence[tuple[str, Floats]], dissimilarity: str, seed: int, *, points: bool
) -> QualityRecord | None:
    """Return the quality of embeddings of some rows in ascending order, of a sample of many; None if no map can be evaluated."""
    if len(rows) < _MIN_ROWS or not maps:
        return None
    at = sample_rows(len(rows), _MAX_EVALUATED, np.random.default_rng(seed))
    if len(at) < table.schema.n_rows:
        table = select_rows(table, rows[at])
    labels = target_array(table) if table.schema.has_classes else None
    try:
        distances = _measure_distances(table, dissimilarity)
    except DataError as error:
        warn("TZ503", f"The quality of the maps is left out: {error}")
        return None
    maps = [(label, embedding[at]) for label, embedding in maps]
    found = [_evaluate_map(distances, label, embedding, labels, seed) for label, embedding in maps]
    first = next(filter(None, found), None)
    if first is None:
        return None
    chance = chance_trustworthiness(len(at), first[0].n_neighbors)
    sizes = _curve_sizes(first[0])

    def per_row(values: Sequence[T]) -> tuple[T | None, ...]:
        """Return the value of every shown row, None for rows that were not evaluated; none without points."""
        evaluated = dict(zip(at.tolist(), values, strict=True))
        return tuple(map(evaluated.get, range(len(rows) if points else 0)))

    def describe(card: MapQuality, diagram: ShepardDiagram) -> MapQualityRecord:
        trust = card.points.trustworthiness
        return MapQualityRecord(
            measures=card.measures,
            r_nx=tuple(card.agreement.r_nx[sizes - 1].tolist()),
            pairs=tuple((diagram.scale * diagram.distances[_pairs_shown(diagram)]).tolist()) if points else (),
            stress=per_row(card.points.stress.tolist()),
            trust=per_row(trust.tolist()),
            # Among so few rows that chance is right as well, nothing is above it.
            n_chance_rows=None if chance >= 1 else int(np.count_nonzero(trust <= chance)),
        )

    card, diagram = first
    return QualityRecord(
        metric=Named(id=dissimilarity, label=METRICS[dissimilarity]),
        n_rows=len(at),
        n_neighbors=card.n_neighbors,
        maps=tuple(None if one is None else describe(*one) for one in found),
        sizes=tuple(sizes.tolist()),
        pairs=tuple(diagram.dissimilarities[_pairs_shown(diagram)].tolist()) if points else (),
        all_pairs=diagram.all_pairs and len(diagram.distances) <= _MAX_PAIRS,
        shape_distances=tuple(
            tuple(None if np.isnan(value) else value for value in row)
            for row in procrustes_distances([embedding[:, :2] for _, embedding in maps]).tolist()
        ),
        nearest=per_row(_nearest_rows(distances, at)) if points else (),
        chance_trust=chance,
    )


def chance_trustworthiness(n_rows: int, n_neighbors: int) -> float:
    """Return the trustworthiness that one row in twenty reaches if its neighbours on the map are drawn at random."""
    rng = np.random.default_rng(0)
    n_draws = int(min(_MAX_DRAWS, max(_MAX_DRAWN // n_rows, 100)))
    # The ranks of the neighbours in the table, of n - 1 other rows.
    ranks = 1 + np.argpartition(rng.random((n_draws, n_rows - 1)), n_neighbors - 1, axis=1)[:, :n_neighbors]
    excess = np.maximum(ranks - n_neighbors, 0).sum(axis=1)
    scale = 2.0 / (n_neighbors * (2 * n_rows - 3 * n_neighbors - 1))
    return float(np.quantile(1.0 - scale * excess, _CHANCE_LEVEL))


def _measure_distances(table: Table, metric: str) -> Floats:
    """Return the distances of all pairs of rows, which every map is compared with."""
    # The maps have already issued the other warnings, which differ on a sample.
    with capture_warnings() as captured:
        rows, _ = read_points(table, metric, fill_missing=True)
    warn_user([note for note in captured if isinstance(note, ImputationNote)])
    n = rows.n_samples
    distances = np.zeros((n, n))

    def fill(span: tuple[int, int]) -> None:
        start, stop = span
        block = rows.take(np.arange(start, n)).block(rows, start, stop)
        distances[start:stop, start:], distances[start:, start:stop] = block, block.T

    parallel.run_blocks(fill, parallel.block_ranges(n, _BLOCK_ROWS))
    np.fill_diagonal(distances, 0.0)
    return distances


def _evaluate_map(
    distances: Floats, label: str, embedding: Floats, labels: NDArray[Any] | None, seed: int
) -> tuple[MapQuality, ShepardDiagram] | None:
    n, metric = len(embedding), "precomputed"
    k = min(_N_NEIGHBORS, (n - 1) // 2)
    try:
        card = quality(distances, embedding, metric=metric, n_neighbors=k, labels=labels, sample=n, random_state=seed)
        return card, shepard(distances, embedding, metric=metric, n_pairs=_MAX_PAIRS, random_state=seed)
    except DataError as error:
        warn("TZ503", f"The quality of {label} is left out: {error}")
        return None


def _nearest_rows(distances: Floats, positions: Indices) -> list[tuple[int, ...]]:
    orders = (np.argsort(away, kind="stable") for away in distances)
    return [tuple(positions[order[order != i][:_N_NEAREST]].tolist()) for i, order in enumerate(orders)]


def _curve_sizes(card: MapQuality) -> Indices:
    """Return logarithmically spaced neighbourhood sizes, among them that of the other measures."""
    spread = np.round(np.geomspace(1, len(card.agreement.n_neighbors), _MAX_SIZES)).astype(np.intp)
    return np.union1d(spread, [card.n_neighbors])


def _pairs_shown(diagram: ShepardDiagram) -> Indices:
    n = len(diagram.distances)
    return np.arange(n) if n <= _MAX_PAIRS else np.linspace(0, n - 1, _MAX_PAIRS).astype(np.intp)


# Images of a gallery, and pixels along a side of an image.
_MAX_IMAGES = 24
_MAX_PIXELS = 128
# Axes that are explained, and rows of the rank correlations: of 20,000 rows the standard error at zero correlation is 0.007. With
# many columns fewer rows are ranked, and the standard error is at most 0.022.
_MAX_AXES = 4
_MAX_CORRELATED_ROWS, _MIN_CORRELATED_ROWS, _MAX_RANKED_VALUES = 20_000, 2_000, 10_000_000
# Rows of the clusters: rules of 2,000 rows take tenths of a second.
_MAX_CLUSTERED_ROWS = 2_000
# An axis of a smaller width relative to the widest is rounding error, and is not explained.
_ROUNDING = 1e-12


def record_map(fitted: TableEmbedding, name: Named, shown_rows: Indices | None, seed: int) -> MapRecord:
    """Return the record of a map for the report, without its points if there are no shown rows.

    The seed draws the rows of the correlations and of the clusters if there are many, and the halves that find and test the rules.
    """
    facts = fitted.reducer.describe()
    points = None if shown_rows is None else _round_points(fitted.embedding_of(shown_rows)[:, :2])
    explanation = _axis_correlations(fitted, seed)
    return extend_record(
        MapRecord,
        facts,
        id=name.id,
        label=name.label,
        axes=facts.axes[:2],
        notes=plain_notes([*facts.notes, *fitted.sampling_notes()]),
        points=points,
        rows=() if shown_rows is None else tuple(fitted.table.row_numbers[shown_rows].tolist()),
        loadings=replace(facts.loadings, values=tuple(row[:_MAX_AXES] for row in facts.loadings.values)),
        explanation=explanation,
        clusters=_map_clusters(fitted, explanation, seed, comparable_axes=facts.comparable_axes),
        galleries=tuple(
            _image_set(shown) for shown in fitted.reducer.image_sets() if shown_rows is not None or not shown.shows_rows
        ),
    )


def _axis_correlations(fitted: TableEmbedding, seed: int) -> AxisCorrelationsRecord:
    """Return the rank correlations of every column with the first axes, over the embedded rows or a sample of them."""
    by_columns = _MAX_RANKED_VALUES // max(len(fitted.table.schema.used), 1)
    most = min(_MAX_CORRELATED_ROWS, max(_MIN_CORRELATED_ROWS, by_columns))
    rows, embedding = _sample_embedding(fitted, most, np.random.default_rng(seed))
    points, _ = _without_rounding(embedding[:, :_MAX_AXES])
    found = correlate_columns(fitted.table, points, rows)
    return AxisCorrelationsRecord(
        columns=tuple(found.columns),
        kinds=tuple(found.kinds),
        values=tuple(map(tuple, found.values.tolist())),
        chance=tuple(found.chance_level.tolist()),
        n_rows=len(points),
        n_mapped=fitted.table.schema.n_rows,
    )


def _sample_embedding(fitted: TableEmbedding, size: int, rng: np.random.Generator) -> tuple[Indices | None, Floats]:
    """Return the embedded rows (None is all) with their coordinates, or a sample of at most `size` of them."""
    rows, embedding, n = fitted.rows, fitted.embedding, len(fitted.embedding)
    if n <= size:
        return rows, embedding
    some = np.sort(rng.choice(n, size, replace=False))
    return some if rows is None else rows[some], embedding[some]


def _without_rounding(points: Floats) -> tuple[Floats, Floats]:
    """Return coordinates and the widths of their axes, both 0 on an axis that is rounding error."""
    points = np.asarray(points, dtype=np.float64)
    spans = np.ptp(points, axis=0)
    varies = spans > _ROUNDING * spans.max()
    return np.where(varies, points, 0.0), np.where(varies, spans, 0.0)


def _map_clusters(
    fitted: TableEmbedding, explanation: AxisCorrelationsRecord, seed: int, *, comparable_axes: bool
) -> MapClustersRecord | None:
    """Return the visible clusters on the first two axes and their rules; None for a table without columns."""
    used = fitted.table.schema.used
    if not len(used):
        return None
    rng = np.random.default_rng(seed)
    rows, embedding = _sample_embedding(fitted, _MAX_CLUSTERED_ROWS, rng)
    points = np.array(embedding[:, :2], dtype=np.float64)
    scaled, spans = _without_rounding(points)
    # Axes without a common unit are drawn in the same width.
    if not comparable_axes:
        scaled /= np.where(spans > 0, spans, 1.0)
    columns = used
    if len(used) > MAX_COLUMNS:
        columns = used[most_correlated_columns(np.array(explanation.values), np.array(explanation.chance))]
    found = describe_clusters(
        fitted.table, points, find_clusters(scaled, rng), rng, rows=rows, columns=columns.tolist()
    )
    return MapClustersRecord(
        rules=found.rules,
        n_rows=len(points),
        n_mapped=fitted.table.schema.n_rows,
        n_outside=int(np.count_nonzero(found.numbers == 0)),
        n_considered=len(columns),
        n_columns=len(used),
    )


def _image_set(gallery: ImageSet) -> ImageSetRecord:
    """Return images in 256 grey levels, about a hundredth of the size of the numbers as text."""
    return ImageSetRecord(
        title=gallery.title,
        note=gallery.note,
        n_images=len(gallery.images),
        images=tuple(
            _image(name, np.reshape(np.asarray(pixels, dtype=np.float64), gallery.shape), gallery.signed)
            for name, pixels in list(zip(gallery.names, gallery.images, strict=True))[:_MAX_IMAGES]
        ),
    )


def _image(name: str, values: Floats, signed: bool) -> GreyImage:
    """Return an image as bytes between its extremes; a large one is averaged over square blocks of pixels."""
    by = -(-max(values.shape) // _MAX_PIXELS)
    if by > 1:
        starts = [np.arange(0, size, by) for size in values.shape]
        sums = np.add.reduceat(np.add.reduceat(values, starts[0], axis=0), starts[1], axis=1)
        sides = [np.diff(start, append=size) for start, size in zip(starts, values.shape, strict=True)]
        values = sums / np.outer(*sides)
    high = float(np.abs(values).max() if signed else values.max())
    low = -high if signed else float(values.min())
    # A constant image is mid-grey.
    steps = 255 * (values - low) / (high - low) if high > low else np.full(values.shape, 127.5)
    pixels = np.floor(steps + 0.5).astype(np.uint8)
    height, width = values.shape
    return GreyImage(name=name, height=height, width=width, low=low, high=high, pixels=pixels.tobytes())


def _round_points(points: Floats) -> tuple[tuple[float, ...], ...]:
    """Return points; many of them are rounded to less than 1/65536 of the longer axis, which is finer than a screen."""
    span = float(np.ptp(points, axis=0).max(initial=0.0))
    if span == 0 or len(points) <= MAX_EXACT_ROWS:
        return tuple(map(tuple, points.tolist()))
    decimals = math.ceil(math.log10(2**16 / span))
    return tuple(tuple(round(x, decimals) for x in point) for point in points.tolist())


# The most clusters, the rows that they are fitted on, and the starts of k-means.
_MAX_CLUSTERS = 8
_MAX_ROWS = 2000
_N_INIT = 4


def color_clusters(table: Table, rows: Indices, seed: int) -> ColorColumn | None:
    """Return the k-means cluster of every shown row; None if no two rows differ or the columns cannot be encoded.

    Clusters are of the encoded columns, never of a map; their number has the largest mean silhouette. Of many rows a sample is
    fitted.
    """
    drawn = table if len(rows) == table.schema.n_rows else select_rows(table, rows)
    try:
        # The maps have already warned of missing values.
        with capture_warnings():
            points, _ = TableEncoder.fit(drawn, standardize=True, fill_missing=True)
    except (DataError, MemoryError) as error:
        warn("TZ503", f"The maps are not coloured by cluster: {error}")
        return None
    n = len(points)
    learned = sample_rows(n, _MAX_ROWS, np.random.default_rng(seed))
    weight = weight_array(drawn)
    found = _best_clustering(points[learned], None if weight is None else weight[learned], seed)
    if found is None:
        return None
    model, silhouette = found
    labels = model.predict(points)
    # Cluster 1 is the largest.
    order = np.argsort(-np.bincount(labels, minlength=model.n_clusters), kind="stable")
    return ColorColumn(
        name="k-means cluster",
        role="cluster",
        kind="categorical",
        values=tuple(np.argsort(order)[labels].tolist()),
        levels=tuple(f"cluster {k + 1}" for k in range(model.n_clusters)),
        silhouette=silhouette,
    )


def _best_clustering(points: Floats, weight: NDArray[Any] | None, seed: int) -> tuple[KMeans, float] | None:
    """Return the clustering with the largest mean silhouette, and the silhouette; None if no two rows differ."""
    n_distinct, distances = len(np.unique(points, axis=0)), pairwise_distances(points)
    best: tuple[KMeans, float] | None = None
    for k in range(2, min(_MAX_CLUSTERS, n_distinct - 1) + 1):
        model = KMeans(k, n_init=_N_INIT, random_state=seed % 2**32).fit(points, sample_weight=weight)
        if len(np.unique(model.labels_)) < k:
            continue
        silhouette = float(silhouette_score(distances, model.labels_, metric="precomputed"))
        if best is None or silhouette > best[1]:
            best = model, silhouette
    return best


# Columns that the result contains for the shown rows, beside the target: of 100,000 rows fewer, for a page of 4 MB.
_MAX_COLORS, _MIN_COLORS, _MAX_COLOR_VALUES = 12, 4, 400_000


def collect_colors(table: Table, rows: Indices, ranking: RankingRecord | None) -> list[ColorColumn]:
    """Return the values of the target and of the best columns for the shown rows."""
    schema = table.schema
    columns = schema.used.tolist()
    if ranking is not None and ranking.criteria:
        columns = [j for j in ranking.best_first()[0] if j in columns]
    columns = columns[: max(_MIN_COLORS, min(_MAX_COLORS, _MAX_COLOR_VALUES // len(rows)))]
    if schema.target is not None:
        columns = [schema.n_columns, *columns]
    return [
        _color_column(schema.column(j), "target" if j == schema.n_columns else "column", table.column(j)[rows].tolist())
        for j in columns
    ]


def _color_column(column: Column, role: Literal["target", "column"], values: list[Any]) -> ColorColumn:
    kind: Literal["numeric", "date", "categorical"] = "categorical"
    if column.is_number:
        kind = "date" if column.kind == "date" else "numeric"
        values = _round_values(values, exact=kind == "date" or len(values) <= MAX_EXACT_ROWS)
    else:
        values = [None if value < 0 else value for value in values]
    levels = () if column.is_number else tuple(column.levels)
    return ColorColumn(name=column.name, role=role, kind=kind, values=tuple(values), levels=levels, silhouette=None)


def _round_values(values: list[float], *, exact: bool) -> list[float | None]:
    """Return numbers, None for missing values, rounded to six digits unless `exact`."""
    return [None if value != value else value if exact else float(f"{value:.6g}") for value in values]


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


# With fewer numeric columns the maps show all columns. A number of so few distinct values is a category on a map: it makes stripes.
_MIN_NUMERIC, _MAX_CODES = 3, 12
# The maps of a study without a choice of the user. The others show the same, or take longer.
_DEFAULT_MAPS = ("pca", "mds:metric", "mds:ordinal", "laplacian_eigenmaps", "umap")
# Dissimilarities that a study can compute from the columns of a table.
DISSIMILARITIES = ("seuclidean", "euclidean", "cityblock", "cosine", "gower")


@dataclass(frozen=True)
class MapRequest:
    """A map that a study fits; `explicit` if the user asked for it: a default map is skipped if it fails."""

    id: str
    label: str
    reducer: Reducer
    explicit: bool
    is_user_reducer: bool = False


def check_maps(maps: Sequence[Reducer | str], dissimilarity: str) -> None:
    """Raise TypeError or ValueError for what is neither a map name nor a reducer, and for an unsupported dissimilarity."""
    for part in maps:
        if isinstance(part, str):
            find_map_method(part).check_dissimilarity(dissimilarity)
        elif not isinstance(part, Reducer):
            raise TypeError(f"maps must contain names such as 'mds:ordinal' or reducers such as PCA(), got {part!r}.")


def resolve_maps(
    maps: Sequence[Reducer | str] | None, schema: Schema, dissimilarity: str, max_rows: int | None = None
) -> list[MapRequest]:
    """Return the maps of a study: those requested by name or as reducers, or the default ones; `max_rows` as in `fit_map`."""
    explicit = maps is not None
    wanted = []
    for part in _DEFAULT_MAPS if maps is None else maps:
        if isinstance(part, str):
            method = find_map_method(part)
            reducer = method.make_reducer(schema, dissimilarity, max_rows)
            wanted.append(MapRequest(method.id, method.label, reducer, explicit))
        else:
            named = method_label(registry, part)
            wanted.append(MapRequest(named["id"], named["label"], part, explicit, True))
    # Maps of one id are numbered, with the reducer's repr as label.
    numbered = number_repeated([one.id for one in wanted])
    return [
        one if name == one.id else replace(one, id=name, label=repr(one.reducer))
        for one, name in zip(wanted, numbered, strict=True)
    ]


def choose_map_columns(
    map_columns: str | Sequence[str], schema: Schema, dissimilarity: str, n_distinct: Mapping[str, int | None]
) -> list[int] | None:
    """Return the numbers of the columns that the maps use; None is all, also for "numeric" with Gower's dissimilarity."""
    if isinstance(map_columns, str):
        check_choice("map_columns", map_columns, ("numeric", "all"))
        numeric = [j for j in schema.numeric if (n_distinct.get(schema.names[j]) or _MAX_CODES + 1) > _MAX_CODES]
        by_numbers = map_columns == "numeric" and dissimilarity != "gower" and len(numeric) >= _MIN_NUMERIC
        return numeric if by_numbers and len(numeric) < len(schema.used) else None
    used = {schema.names[j]: j for j in schema.used.tolist()}
    for name in map_columns:
        if name not in used:
            reasons = {one.name: f"is excluded: {one.exclusion_reason}" for one in schema.columns}
            why = reasons.get(name, f"is no column of the table{suggestion(name, used)}")
            raise DataError(f"map_columns names {quote_name(name)}, which {why}.")
    found = sorted({used[name] for name in map_columns})
    if not found:
        raise ValueError('map_columns must name at least one column; pass "all" for all of them.')
    return found if len(found) < len(used) else None
