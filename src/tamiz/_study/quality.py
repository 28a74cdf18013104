"""The quality of the maps of a study, evaluated on the same rows and the same dissimilarity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.comparison.alignment import procrustes_distances
from tamiz.exceptions import DataError
from tamiz.graphs.builders import read_points
from tamiz.metrics.evaluation import MapQuality, quality
from tamiz.metrics.shepard_diagram import ShepardDiagram, shepard
from tamiz.neighbors.metric_registry import registry as metrics
from tamiz.report.records.maps import MapQualityRecord, QualityRecord
from tamiz.runtime import parallel
from tamiz.runtime.codec import Named
from tamiz.runtime.random import sample_rows
from tamiz.runtime.user_warnings import ImputationNote, capture_warnings, warn, warn_user
from tamiz.table.base import Table
from tamiz.table.views import select_rows, target_array

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


def describe_quality(
    table: Table, rows: Indices, maps: Sequence[tuple[str, Floats]], dissimilarity: str, seed: int, *, points: bool
) -> QualityRecord | None:
    """Return the quality measures, curves and Shepard diagrams of the labelled embeddings of some rows, in ascending order.

    It is None if no map can be evaluated. Above 2,000 rows a sample is evaluated. The result contains numbers of single rows and
    pairs only with `points`.
    """
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
        metric=Named(id=dissimilarity, label=metrics[dissimilarity].label),
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
