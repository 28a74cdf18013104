"""What a study writes of its maps into its Result, and the columns that colour them."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from tamiz.reduction.axes import correlate_columns
from tamiz.reduction.base import Gallery
from tamiz.sources.views import RowNumbers
from tamiz.statistics.base import Floats
from tamiz.steps.mapping import StudyMap
from tamiz.steps.sampling import MAX_EXACT_POINTS

# Images of a kind, pixels along a side of one: what a reader can still take in.
_MAX_IMAGES = 24
_MAX_PIXELS = 128
# Axes that are explained, and rows that columns and axes are compared over: where there is no rank correlation, the one over so
# many rows has a standard error of 0.007. Of many columns fewer rows are ranked, where it is at most 0.022.
_MAX_AXES = 4
_MAX_CORRELATED_ROWS, _MIN_CORRELATED_ROWS, _MAX_RANKED_VALUES = 20_000, 2_000, 10_000_000
# Next to the widest axis, one of less width is made of rounding, and has no order to be explained.
_ROUNDING = 1e-12


def describe_map(fitted: StudyMap, label: dict[str, str], shown_rows: RowNumbers | None, seed: int) -> dict[str, Any]:
    """Return a fitted map: its points at some rows, and what explains it, by rows that the seed draws where there are many."""
    facts = fitted.reducer.describe()
    points = None if shown_rows is None else _round_points(fitted.embedding_of(shown_rows)[:, :2])
    return {
        **label,
        "axes": facts.axis_names[:2],
        "notes": [*facts.notes, *fitted.sampling_notes()],
        "nearness": facts.proximity_note,
        "common_unit": facts.comparable_axes,
        "points": points,
        "rows": [] if shown_rows is None else fitted.source.row_numbers[shown_rows].tolist(),
        "spectrum": {
            "label": facts.spectrum_label,
            "note": facts.spectrum_note,
            "values": facts.spectrum,
            "cumulative": facts.cumulative,
            "residuals": facts.residuals,
            "reference": facts.chance_spectrum,
            "reference_title": facts.chance_title,
            "reference_note": facts.chance_note,
        },
        "loadings": {"columns": facts.loading_names, "values": [row[:_MAX_AXES] for row in facts.loadings]},
        "explanation": _axis_correlations(fitted, facts.axis_names, seed),
        "galleries": [_image_set(shown) for shown in facts.galleries if shown_rows is not None or not shown.shows_rows],
    }


def _axis_correlations(fitted: StudyMap, axes: list[str], seed: int) -> dict[str, Any]:
    """Return how far every column goes along with the first axes, by the rows that have a place."""
    rows, n = fitted.rows, len(fitted.embedding)
    embedding = fitted.embedding
    by_columns = _MAX_RANKED_VALUES // max(len(fitted.source.schema.used), 1)
    most = min(_MAX_CORRELATED_ROWS, max(_MIN_CORRELATED_ROWS, by_columns))
    if n > most:
        some = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
        rows, embedding = some if rows is None else rows[some], embedding[some]
    points = np.array(embedding[:, :_MAX_AXES], dtype=np.float64)
    spans = np.ptp(points, axis=0)
    points[:, spans <= _ROUNDING * spans.max()] = 0.0
    found = correlate_columns(fitted.source, points, rows)
    return {
        "axes": axes[:_MAX_AXES],
        "columns": found.columns,
        "kinds": found.kinds,
        "values": found.values.tolist(),
        "chance": found.chance_level.tolist(),
        "n_rows": len(points),
        "n_mapped": fitted.source.schema.n_rows,
    }


def _image_set(gallery: Gallery) -> dict[str, Any]:
    """Return images in 256 steps of grey: what a screen shows, and a hundredth of their numbers written out."""
    return {
        "title": gallery.title,
        "note": gallery.note,
        "signed": gallery.signed,
        "n_images": len(gallery.images),
        "images": [
            {"name": name, **_image(np.reshape(np.asarray(pixels, dtype=np.float64), gallery.shape), gallery.signed)}
            for name, pixels in list(zip(gallery.names, gallery.images, strict=True))[:_MAX_IMAGES]
        ],
    }


def _image(values: Floats, signed: bool) -> dict[str, Any]:
    """Return an image as bytes between two values, a large one as the means of squares of its pixels."""
    by = -(-max(values.shape) // _MAX_PIXELS)
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


def _round_points(points: Floats) -> list[list[float]]:
    """Return points, very many of them in steps of less than 1/65536 of the longer axis: finer than a screen."""
    span = float(np.ptp(points, axis=0).max(initial=0.0))
    if span == 0 or len(points) <= MAX_EXACT_POINTS:
        return points.tolist()
    decimals = math.ceil(math.log10(2**16 / span))
    return [[round(x, decimals) for x in place] for place in points.tolist()]
