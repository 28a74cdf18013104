"""The maps of a study: resolving their names, fitting them on all rows or a sample, and describing them for the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tamiz._study.budget import DEFAULT_BUDGET, Budget
from tamiz._study.map_descriptions.description import Gallery
from tamiz._study.map_descriptions.methods import describe_reducer
from tamiz._study.map_settings import MapVariant, limit_neighbors, make_reducer, map_variants, max_fitted_rows
from tamiz._study.sampling import MAX_EXACT_POINTS, sample_including
from tamiz.exceptions import DataError
from tamiz.reduction import registry
from tamiz.reduction.axes import correlate_columns
from tamiz.reduction.base import Reducer
from tamiz.reduction.clusters import find_clusters
from tamiz.reduction.rules import MAX_COLUMNS, ClusterRule, describe_clusters, most_correlated_columns
from tamiz.report.records.codec import Named
from tamiz.report.records.maps import (
    AxisCorrelationsRecord,
    ClusterRuleRecord,
    GreyImage,
    ImageSetRecord,
    Loadings,
    MapClustersRecord,
    MapRecord,
    RuleConditionRecord,
    SpectrumRecord,
)
from tamiz.runtime.registry import Entry, suggestion
from tamiz.runtime.user_warnings import ImputationNote, capture_warnings, warn_user
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import RowNumbers, select_rows
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from tamiz.graphs.builder import GraphBuilder
    from tamiz.graphs.graph import Graph

# A map of quadratic cost is fitted on at least so many rows, whatever the budget.
_MIN_FITTED_ROWS = 200
# Dissimilarities that a study can compute from the columns of a table.
DISSIMILARITIES = ("seuclidean", "euclidean", "cityblock", "cosine", "gower")


@dataclass(frozen=True)
class MapRequest:
    """A map that a study fits.

    Attributes
    ----------
    id, label : str
    reducer : Reducer
    explicit : bool
        Whether the user asked for it; a default map is skipped if it fails.
    is_user_reducer : bool
        Whether the user passed the reducer itself.
    """

    id: str
    label: str
    reducer: Reducer
    explicit: bool
    is_user_reducer: bool = False


@dataclass(frozen=True)
class MapMethod:
    """A method and variant of dimensionality reduction that has a name.

    Attributes
    ----------
    entry : Entry
        The method's line in the registry.
    variant : MapVariant
    """

    entry: Entry
    variant: MapVariant

    @property
    def id(self) -> str:
        """The name of the method, followed by a colon and the variant if there are several."""
        return ":".join(filter(None, [self.entry.name, self.variant.name]))

    @property
    def name(self) -> str:
        """The id as a user writes it."""
        return self.id.replace("_", "-")

    @property
    def label(self) -> str:
        """The label in the report."""
        return self.variant.label or self.entry.label

    def check_dissimilarity(self, name: str) -> None:
        """Raise ValueError if the method has dissimilarities and this is none of them."""
        known = self.entry.load().dissimilarities
        if known and name not in known:
            raise ValueError(
                f"{self.label} supports the dissimilarities {', '.join(known)}, not {name}: choose one of these, or the map mds."
            )

    def make_request(
        self, schema: Schema, dissimilarity: str, max_rows: int | None = None, *, explicit: bool
    ) -> MapRequest:
        """Return the request of this map for a table."""
        return MapRequest(self.id, self.label, self.make_reducer(schema, dissimilarity, max_rows), explicit)

    def make_reducer(self, schema: Schema, dissimilarity: str, max_rows: int | None = None) -> Reducer:
        """Return the unfitted map for a table, with the settings of a study; `max_rows` as in `fit_map`."""
        return make_reducer(self.entry, schema, self.variant.name, dissimilarity, max_rows)


def list_map_methods() -> list[MapMethod]:
    """Return all named maps, grouped by method."""
    return [MapMethod(entry, variant) for entry in registry.of_kind("map") for variant in map_variants(entry)]


def find_map_method(name: str) -> MapMethod:
    """Return the map of a name such as "pca" or "mds:ordinal"; the name of a method alone is its first variant.

    Raises
    ------
    ValueError
        If there is none; the message suggests the closest name.
    """
    method, colon, variant = name.lower().replace("-", "_").partition(":")
    entries = [entry for entry in registry.of_kind("map") if entry.name == method]
    maps = [MapMethod(entry, one) for entry in entries for one in map_variants(entry)]
    found = [one for one in maps if not colon or one.variant.name == variant]
    if not found:
        known = [one.name for one in list_map_methods()]
        raise ValueError(f"{name!r} is no map{suggestion(name, known)}; there are: {', '.join(known)}.")
    return found[0]


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
    if maps is None:
        usual = [one for one in list_map_methods() if one.variant.is_default]
        return [one.make_request(schema, dissimilarity, max_rows, explicit=False) for one in usual]
    wanted = [_resolve_map(part, schema, dissimilarity, max_rows) for part in maps]
    taken = [one.id for one in wanted]
    return [_number_duplicate_maps(one, taken, k) for k, one in enumerate(wanted)]


def _resolve_map(method: Reducer | str, schema: Schema, dissimilarity: str, max_rows: int | None) -> MapRequest:
    if isinstance(method, str):
        return find_map_method(method).make_request(schema, dissimilarity, max_rows, explicit=True)
    name = type(method).__name__
    entry = next((entry for entry in registry if entry.attribute == name), None)
    return MapRequest(
        entry.name if entry else name, entry.label if entry else name, method, explicit=True, is_user_reducer=True
    )


def _number_duplicate_maps(request: MapRequest, ids: list[str], index: int) -> MapRequest:
    """Return a request with a numbered id and the reducer's repr as label if several maps have the same id."""
    if ids.count(request.id) == 1:
        return request
    number = ids[: index + 1].count(request.id)
    return MapRequest(
        f"{request.id}_{number}", repr(request.reducer), request.reducer, request.explicit, request.is_user_reducer
    )


@dataclass(frozen=True)
class StudyMap:
    """A fitted map and the embedding of some rows.

    Attributes
    ----------
    reducer : Reducer
    source : Source
    rows : ndarray of row numbers, ascending, or None
        The rows of the source that are embedded; None is all.
    embedding : ndarray of shape (n_embedded, n_components)
    n_fitted : int
        The rows that the map was fitted on.
    """

    reducer: Reducer
    source: Source
    rows: RowNumbers | None
    embedding: Floats
    n_fitted: int

    def embedding_of(self, rows: RowNumbers) -> Floats:
        """Return the embedding of some rows."""
        return self.embedding[rows if self.rows is None else np.searchsorted(self.rows, rows)]

    def sampling_notes(self) -> list[str]:
        """Return a note on the sample that the map was fitted on, none if it was fitted on all rows."""
        if self.rows is None:
            return []
        n, n_mapped = self.source.schema.n_rows, len(self.rows) - self.n_fitted
        sentence = f"Fitted on {self.n_fitted:,} of the {n:,} rows, drawn at random"
        others = (
            "the other row that is shown was" if n_mapped == 1 else f"the other {n_mapped:,} rows that are shown were"
        )
        return [f"{sentence}; {others} mapped by the out-of-sample extension." if n_mapped else f"{sentence}."]


def fit_map(
    reducer: Reducer,
    source: Source,
    shown_rows: RowNumbers,
    max_rows: int | None,
    seed: int,
    budget: Budget = DEFAULT_BUDGET,
    builder: GraphBuilder | Graph | None = None,
) -> StudyMap:
    """Fit a map on all rows, or a map of n x n cost on a sample of them, and map the shown rows.

    Parameters
    ----------
    reducer : Reducer
    source : Source
        The rows that the map reads.
    shown_rows : ndarray of row numbers, ascending
        The rows to embed.
    max_rows : int or None
        The most rows that a map of n x n cost is fitted on. None is `max_fitted_rows`, scaled by the budget.
    seed : int
        Draws the sample; maps with the same `max_rows` use the same sample.
    budget : Budget
    builder : GraphBuilder, Graph or None
        Replaces the graph of the map on a sample: a graph of all rows is of no use there.
    """
    n, size = source.schema.n_rows, max_fitted_rows(reducer)
    if size is not None:
        size = max(budget.scale_quadratic(size, size), _MIN_FITTED_ROWS) if max_rows is None else max_rows
    if size is None or n <= size:
        reducer.fit(source)
        return StudyMap(reducer, source, None, reducer.embedding_, n)
    rows = sample_including(shown_rows, n, size, np.random.default_rng(seed))
    if builder is not None:
        reducer.set_params(graph=limit_neighbors(builder, size))
    try:
        with capture_warnings() as captured:
            reducer.fit(select_rows(source, rows))
    except DataError as error:
        raise DataError(f"On a sample of {size:,} rows, which map_rows= or --map-rows sets: {error}") from error
    # Columns that the table excludes are known already.
    warn_user([_note_on_sample(size, one) for one in captured if one not in source.schema.excluded_column_notes])
    embedding = reducer.embedding_
    others = np.setdiff1d(shown_rows, rows, assume_unique=True)
    if len(others):
        # The fit has already warned of missing values.
        with capture_warnings():
            mapped = reducer.transform(select_rows(source, others))
        rows = np.concatenate([rows, others])
        order = np.argsort(rows)
        rows, embedding = rows[order], np.concatenate([embedding, mapped])[order]
    return StudyMap(reducer, source, rows, embedding, size)


def _note_on_sample(size: int, note: str) -> str:
    """Return a note on a fit with the number of rows of its sample."""
    text = f"On a sample of {size:,} rows: {note}"
    return ImputationNote(text, note.reader) if isinstance(note, ImputationNote) else text


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


def describe_map(fitted: StudyMap, name: Named, shown_rows: RowNumbers | None, seed: int) -> MapRecord:
    """Return the record of a map for the report: its points, spectrum, loadings, correlations with the columns, and clusters.

    Parameters
    ----------
    fitted : StudyMap
    name : Named
    shown_rows : ndarray of row numbers or None
        The points; None leaves them out.
    seed : int
        Draws the rows of the correlations and of the clusters if there are many, and the halves that find and test the rules.
    """
    facts = describe_reducer(fitted.reducer)
    points = None if shown_rows is None else _round_points(fitted.embedding_of(shown_rows)[:, :2])
    explanation = _axis_correlations(fitted, seed)
    return MapRecord(
        id=name.id,
        label=name.label,
        axes=tuple(facts.axis_names[:2]),
        notes=(*facts.notes, *fitted.sampling_notes()),
        proximity_note=facts.proximity_note,
        comparable_axes=facts.comparable_axes,
        points=points,
        rows=() if shown_rows is None else tuple(fitted.source.row_numbers[shown_rows].tolist()),
        spectrum=SpectrumRecord(
            label=facts.spectrum_label,
            note=facts.spectrum_note,
            values=tuple(facts.spectrum),
            cumulative=tuple(facts.cumulative),
            residuals=tuple(facts.residuals),
            reference=tuple(facts.chance_spectrum),
            chance_title=facts.chance_title,
            chance_note=facts.chance_note,
        ),
        loadings=Loadings(
            columns=tuple(facts.loading_names), values=tuple(tuple(row[:_MAX_AXES]) for row in facts.loadings)
        ),
        explanation=explanation,
        clusters=_map_clusters(fitted, explanation, seed, comparable_axes=facts.comparable_axes),
        galleries=tuple(
            _image_set(shown) for shown in facts.galleries if shown_rows is not None or not shown.shows_rows
        ),
    )


def _axis_correlations(fitted: StudyMap, seed: int) -> AxisCorrelationsRecord:
    """Return the rank correlations of every column with the first axes, over the embedded rows or a sample of them."""
    by_columns = _MAX_RANKED_VALUES // max(len(fitted.source.schema.used), 1)
    most = min(_MAX_CORRELATED_ROWS, max(_MIN_CORRELATED_ROWS, by_columns))
    rows, embedding = _sample_embedding(fitted, most, np.random.default_rng(seed))
    points = np.array(embedding[:, :_MAX_AXES], dtype=np.float64)
    spans = np.ptp(points, axis=0)
    points[:, spans <= _ROUNDING * spans.max()] = 0.0
    found = correlate_columns(fitted.source, points, rows)
    return AxisCorrelationsRecord(
        columns=tuple(found.columns),
        kinds=tuple(found.kinds),
        values=tuple(map(tuple, found.values.tolist())),
        chance=tuple(found.chance_level.tolist()),
        n_rows=len(points),
        n_mapped=fitted.source.schema.n_rows,
    )


def _sample_embedding(fitted: StudyMap, size: int, rng: np.random.Generator) -> tuple[RowNumbers | None, Floats]:
    """Return the embedded rows (None is all) with their coordinates, or a sample of at most `size` of them."""
    rows, embedding, n = fitted.rows, fitted.embedding, len(fitted.embedding)
    if n <= size:
        return rows, embedding
    some = np.sort(rng.choice(n, size, replace=False))
    return some if rows is None else rows[some], embedding[some]


def _map_clusters(
    fitted: StudyMap, explanation: AxisCorrelationsRecord, seed: int, *, comparable_axes: bool
) -> MapClustersRecord | None:
    """Return the visible clusters on the first two axes and their rules; None for a table without columns."""
    used = fitted.source.schema.used
    if not len(used):
        return None
    rng = np.random.default_rng(seed)
    rows, embedding = _sample_embedding(fitted, _MAX_CLUSTERED_ROWS, rng)
    points = np.array(embedding[:, :2], dtype=np.float64)
    spans = np.ptp(points, axis=0)
    varies = spans > _ROUNDING * spans.max()
    # Axes without a common unit are drawn in the same width.
    scaled = np.where(varies, points, 0.0) / (1.0 if comparable_axes else np.where(varies, spans, 1.0))
    columns = used
    if len(used) > MAX_COLUMNS:
        columns = used[most_correlated_columns(np.array(explanation.values), np.array(explanation.chance))]
    found = describe_clusters(fitted.source, find_clusters(scaled, rng), rng, rows=rows, columns=columns.tolist())
    return MapClustersRecord(
        rules=tuple(_rule_record(one, points[found.numbers == one.cluster]) for one in found.rules),
        n_rows=len(points),
        n_mapped=fitted.source.schema.n_rows,
        n_outside=int(np.count_nonzero(found.numbers == 0)),
        n_considered=len(columns),
        n_columns=len(used),
    )


def _rule_record(rule: ClusterRule, points: Floats) -> ClusterRuleRecord:
    return ClusterRuleRecord(
        n_rows=rule.n_rows,
        center=tuple(np.median(points, axis=0).tolist()),
        conditions=tuple(
            RuleConditionRecord(
                column=one.column,
                kind=one.kind,
                thresholds=tuple(value for value in one.values if not isinstance(value, str)),
                levels=tuple(value for value in one.values if isinstance(value, str)),
                text=one.text,
            )
            for one in rule.conditions
        ),
        precision=rule.precision,
        coverage=rule.coverage,
        n_fulfilling=rule.n_fulfilling,
        n_test=rule.n_test,
    )


def _image_set(gallery: Gallery) -> ImageSetRecord:
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
    if span == 0 or len(points) <= MAX_EXACT_POINTS:
        return tuple(map(tuple, points.tolist()))
    decimals = math.ceil(math.log10(2**16 / span))
    return tuple(tuple(round(x, decimals) for x in point) for point in points.tolist())
