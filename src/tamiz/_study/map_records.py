"""The record of a fitted map for the report: points, spectrum, loadings, correlations with the columns, clusters and images."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tamiz._study.maps import MAX_EXACT_POINTS
from tamiz.arrays import Floats, Indices
from tamiz.reduction.axes import correlate_columns
from tamiz.reduction.base import ImageSet
from tamiz.reduction.rules import MAX_COLUMNS, describe_clusters, find_clusters, most_correlated_columns
from tamiz.reduction.table_embedding import TableEmbedding
from tamiz.report.records.maps import (
    AxisCorrelationsRecord,
    GreyImage,
    ImageSetRecord,
    MapClustersRecord,
    MapRecord,
)
from tamiz.runtime.codec import Named, extend_record
from tamiz.runtime.user_warnings import plain_notes

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


def describe_map(fitted: TableEmbedding, name: Named, shown_rows: Indices | None, seed: int) -> MapRecord:
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
    if span == 0 or len(points) <= MAX_EXACT_POINTS:
        return tuple(map(tuple, points.tolist()))
    decimals = math.ceil(math.log10(2**16 / span))
    return tuple(tuple(round(x, decimals) for x in point) for point in points.tolist())
