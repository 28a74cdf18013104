"""The quality of the maps of a study, evaluated on the same rows and the same dissimilarity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamiz.comparison.alignment import procrustes_distances
from tamiz.exceptions import DataError
from tamiz.graphs.builder import read_points
from tamiz.metrics.evaluation import MapQuality, quality
from tamiz.metrics.shepard_diagram import ShepardDiagram, shepard
from tamiz.neighbors.metric_registry import registry as metrics
from tamiz.report.records.maps import AgreementCurves, MapMeasure, QualityRecord, ShepardPairsRecord
from tamiz.runtime import parallel
from tamiz.runtime.codec import Named
from tamiz.runtime.random import sample_rows
from tamiz.runtime.user_warnings import ImputationNote, capture_warnings, warn, warn_user
from tamiz.statistics.base import Floats
from tamiz.table.base import Table
from tamiz.table.views import RowNumbers, select_rows, target_array

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
    table: Table, rows: RowNumbers, maps: Sequence[tuple[str, Floats]], dissimilarity: str, seed: int, *, points: bool
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
    found = [_evaluate_map(distances, label, embedding, labels, seed, points=points) for label, embedding in maps]
    cards, diagrams = zip(*found, strict=True)
    first: MapQuality | None = next(filter(None, cards), None)
    if first is None:
        return None
    chance = chance_trustworthiness(len(at), first.n_neighbors)

    def per_point(values: Sequence[T]) -> tuple[T | None, ...]:
        """Return the value of every shown row, None for rows that were not evaluated."""
        evaluated = dict(zip(at.tolist(), values, strict=True))
        return tuple(map(evaluated.get, range(len(rows))))

    def per_map(name: str) -> tuple[tuple[float | None, ...] | None, ...]:
        return tuple(None if card is None else per_point(getattr(card.points, name).tolist()) for card in cards)

    return QualityRecord(
        metric=Named(id=dissimilarity, label=metrics[dissimilarity].label),
        n_rows=len(at),
        n_neighbors=first.n_neighbors,
        measures=tuple(
            MapMeasure(
                name=one.name,
                larger_is_better=one.larger_is_better,
                values=tuple(None if card is None else card[one.name].value for card in cards),
            )
            for one in first.measures
        ),
        shape_distances=tuple(
            tuple(None if np.isnan(value) else value for value in row)
            for row in procrustes_distances([embedding[:, :2] for _, embedding in maps]).tolist()
        ),
        agreement=_agreement(first, cards),
        pairs=_pairs(diagrams),
        stress_per_point=per_map("stress") if points else (),
        trust_per_point=per_map("trustworthiness") if points else (),
        nearest=per_point(_nearest_rows(distances, at)) if points else (),
        chance_trust=chance,
        # Among so few rows that chance is right as well, nothing is above it.
        n_chance_rows=tuple(
            None if card is None or chance >= 1 else int(np.count_nonzero(card.points.trustworthiness <= chance))
            for card in cards
        ),
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
    distances: Floats,
    label: str,
    embedding: Floats,
    labels: NDArray[Any] | None,
    seed: int,
    *,
    points: bool,
) -> tuple[MapQuality | None, ShepardDiagram | None]:
    """Return the quality and the Shepard diagram of a map; twice None, with a warning, if it cannot be evaluated."""
    n, metric = len(embedding), "precomputed"
    k = min(_N_NEIGHBORS, (n - 1) // 2)
    try:
        card = quality(distances, embedding, metric=metric, n_neighbors=k, labels=labels, sample=n, random_state=seed)
        pairs = shepard(distances, embedding, metric=metric, n_pairs=_MAX_PAIRS, random_state=seed) if points else None
    except DataError as error:
        warn("TZ503", f"The quality of {label} is left out: {error}")
        return None, None
    return card, pairs


def _nearest_rows(distances: Floats, positions: RowNumbers) -> list[tuple[int, ...]]:
    """Return the positions of the rows that are nearest in the table to every evaluated row."""
    orders = (np.argsort(away, kind="stable") for away in distances)
    return [tuple(positions[order[order != i][:_N_NEAREST]].tolist()) for i, order in enumerate(orders)]


def _agreement(first: MapQuality, map_qualities: Sequence[MapQuality | None]) -> AgreementCurves:
    """Return the curves R_NX at logarithmically spaced neighbourhood sizes and at the size of the other measures."""
    sizes = first.agreement.n_neighbors
    spread = np.round(np.geomspace(1, len(sizes), _MAX_SIZES)).astype(np.intp)
    at = np.union1d(spread, [first.n_neighbors]) - 1
    return AgreementCurves(
        n_neighbors=tuple(sizes[at].tolist()),
        r_nx=tuple(() if card is None else tuple(card.agreement.r_nx[at].tolist()) for card in map_qualities),
    )


def _pairs(diagrams: Sequence[ShepardDiagram | None]) -> ShepardPairsRecord | None:
    """Return pairs of rows: their distances in the table and, at the best scale, on each map."""
    first = next(filter(None, diagrams), None)
    if first is None:
        return None
    n = len(first.distances)
    at = np.arange(n) if n <= _MAX_PAIRS else np.linspace(0, n - 1, _MAX_PAIRS).astype(np.intp)
    return ShepardPairsRecord(
        all_pairs=first.all_pairs and n == len(at),
        in_table=tuple(first.dissimilarities[at].tolist()),
        on_map=tuple(() if one is None else tuple((one.scale * one.distances[at]).tolist()) for one in diagrams),
    )
