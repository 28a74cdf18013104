"""The quality of the maps of a study, evaluated on the same rows and the same dissimilarity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamiz._study.sampling import sample_evaluated_positions
from tamiz.comparison.alignment import procrustes_distances
from tamiz.exceptions import DataError
from tamiz.graphs.builder import read_points
from tamiz.metrics.evaluation import MapQuality, quality
from tamiz.metrics.shepard_diagram import ShepardDiagram, shepard
from tamiz.neighbors.metric_registry import registry as metrics
from tamiz.report.records.maps import AgreementCurves, MapMeasure, QualityRecord, ShepardPairsRecord
from tamiz.runtime import parallel
from tamiz.runtime.codec import Named
from tamiz.runtime.user_warnings import ImputationNote, capture_warnings, warn, warn_user
from tamiz.statistics.base import Floats
from tamiz.table.base import Table
from tamiz.table.views import RowNumbers, select_rows, target_array

T = TypeVar("T")

# Neighbours that are compared, or half of the other rows if these are fewer.
_N_NEIGHBORS = 15
# Neighbourhood sizes on a curve, and pairs of rows in a Shepard diagram.
_MAX_SIZES = 60
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
    """Return the quality measures, curves and Shepard diagrams of maps; None if no map can be evaluated.

    Parameters
    ----------
    table : Table
    rows : ndarray of row numbers, ascending
        The rows that the maps show; above 2,000 a sample is evaluated.
    maps : list of tuple
        The label and the embedding of each map.
    dissimilarity : str
        The dissimilarity of rows in the table.
    seed : int
        Draws the pairs of the diagrams.
    points : bool
        Whether the result may contain numbers of single rows and pairs.
    """
    if len(rows) < _MIN_ROWS or not maps:
        return None
    n_drawn, at = len(rows), sample_evaluated_positions(len(rows), seed)
    rows, maps = rows[at], [(label, embedding[at]) for label, embedding in maps]
    if len(rows) < table.schema.n_rows:
        table = select_rows(table, rows)
    labels = target_array(table) if table.schema.has_classes else None
    try:
        distances = _measure_distances(table, dissimilarity)
    except DataError as error:
        warn("TZ503", f"The quality of the maps is left out: {error}")
        return None
    found = [_evaluate_map(distances, label, embedding, labels, seed, points=points) for label, embedding in maps]
    cards = [None if one is None else one[0] for one in found]
    first = next(filter(None, cards), None)
    if first is None:
        return None

    def per_map(values: str) -> tuple[tuple[float | None, ...] | None, ...]:
        if not points:
            return ()
        return tuple(
            None if card is None else _per_point(at, n_drawn, getattr(card.points, values).tolist()) for card in cards
        )

    return QualityRecord(
        metric=Named(id=dissimilarity, label=metrics[dissimilarity].label),
        n_rows=len(rows),
        n_neighbors=first.n_neighbors,
        measures=_measures(first, cards),
        shape_distances=tuple(
            tuple(None if np.isnan(value) else value for value in distances)
            for distances in procrustes_distances([embedding[:, :2] for _, embedding in maps]).tolist()
        ),
        agreement=_agreement(first, cards),
        pairs=_pairs([None if one is None else one[1] for one in found]),
        stress_per_point=per_map("stress"),
        trust_per_point=per_map("trustworthiness"),
        nearest=_per_point(at, n_drawn, _nearest_rows(distances, at)) if points else (),
        chance_trust=(chance := chance_trustworthiness(len(rows), first.n_neighbors)),
        # Among so few rows that chance is right as well, nothing is above it.
        n_chance_rows=tuple(
            None if card is None or chance >= 1 else int(np.count_nonzero(card.points.trustworthiness <= chance))
            for card in cards
        ),
    )


def chance_trustworthiness(n_rows: int, n_neighbors: int) -> float:
    """Return the trustworthiness that one row in twenty reaches if its neighbours on the map are drawn at random.

    Parameters
    ----------
    n_rows, n_neighbors : int
        The rows of the map, and the neighbours of a row.
    """
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
) -> tuple[MapQuality, ShepardDiagram | None] | None:
    """Return the quality and the Shepard diagram of a map; None, with a warning, if it cannot be evaluated."""
    n, metric = len(embedding), "precomputed"
    k = min(_N_NEIGHBORS, (n - 1) // 2)
    try:
        card = quality(distances, embedding, metric=metric, n_neighbors=k, labels=labels, sample=n, random_state=seed)
        pairs = shepard(distances, embedding, metric=metric, n_pairs=_MAX_PAIRS, random_state=seed) if points else None
    except DataError as error:
        warn("TZ503", f"The quality of {label} is left out: {error}")
        return None
    return card, pairs


def _nearest_rows(distances: Floats, positions: RowNumbers) -> list[tuple[int, ...]]:
    """Return the positions of the rows that are nearest in the table to every evaluated row."""
    orders = (np.argsort(away, kind="stable") for away in distances)
    return [tuple(positions[order[order != i][:_N_NEAREST]].tolist()) for i, order in enumerate(orders)]


def _per_point(positions: RowNumbers, n_shown: int, values: Sequence[T]) -> tuple[T | None, ...]:
    """Return the value of every shown row, None for rows that were not evaluated."""
    found: list[T | None] = [None] * n_shown
    for row, value in zip(positions.tolist(), values, strict=True):
        found[row] = value
    return tuple(found)


def _measures(first: MapQuality, map_qualities: Sequence[MapQuality | None]) -> tuple[MapMeasure, ...]:
    """Return every measure with its value for each map."""
    return tuple(
        MapMeasure(
            name=measure.name,
            larger_is_better=measure.larger_is_better,
            values=tuple(None if card is None else card[measure.name].value for card in map_qualities),
        )
        for measure in first.measures
    )


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
