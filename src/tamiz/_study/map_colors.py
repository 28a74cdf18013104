"""The columns that colour the maps of a study, and are told where a reader points at a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from tamiz._study.sampling import MAX_EXACT_POINTS, sample_including
from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_memory
from tamiz.sources.base import Source
from tamiz.sources.encoding import Encoding
from tamiz.sources.schema import Column
from tamiz.sources.views import RowNumbers, select_rows, weight_array
from tamiz.statistics.base import Floats

# MERGED: The clusters that colour the maps of a study: k-means on the columns as maps see them, never on a map.
# Clusters that a reader can still tell apart, rows they are found on, and starts of each.
_MAX_CLUSTERS = 8
_MAX_ROWS = 2000
_N_INIT = 4


def describe_clusters(source: Source, rows: RowNumbers, seed: int) -> dict[str, Any] | None:
    """Return the cluster of every row drawn, None where there are none to be found.

    Columns are standardised, with the mean in the gaps, and categories are indicators, as on the maps. Their number is that of the
    largest mean silhouette.

    Parameters
    ----------
    source : Source
    rows : ndarray of row numbers, ascending
        Those drawn.
    seed : int
        Draws the starts, and the rows that the clusters are found on where very many are drawn.
    """
    drawn = source if len(rows) == source.schema.n_rows else select_rows(source, rows)
    try:
        # Of the gaps the maps have told.
        with capture_warnings():
            points, weight = _encode_points(drawn), weight_array(drawn)
    except (DataError, MemoryError) as error:
        warn_user([f"The maps are not coloured by cluster: {error}"])
        return None
    n = len(points)
    learned = sample_including(np.empty(0, dtype=np.intp), n, min(n, _MAX_ROWS), np.random.default_rng(seed))
    found = _best_clustering(points[learned], None if weight is None else weight[learned], seed)
    if found is None:
        return None
    model, silhouette = found
    labels = model.predict(points)
    # The largest first, so that their numbers mean something.
    order = np.argsort(-np.bincount(labels, minlength=model.n_clusters), kind="stable")
    return {
        "name": "k-means cluster",
        "role": "cluster",
        "kind": "categorical",
        "values": np.argsort(order)[labels].tolist(),
        "levels": [f"cluster {k + 1}" for k in range(model.n_clusters)],
        "silhouette": silhouette,
    }


def _encode_points(source: Source) -> Floats:
    """Return the rows as points."""
    encoding = Encoding.fit(source, standardize=True)
    n = source.schema.n_rows
    check_memory(
        3 * 8.0 * n * len(encoding.names),
        f"Points of {n:,} rows and {len(encoding.names):,} coordinates",
        "Draw fewer rows.",
    )
    used = source.schema.used.tolist()
    return np.concatenate([encoding.transform(block) for block in source.blocks(used)])


def _best_clustering(points: Floats, weight: NDArray[Any] | None, seed: int) -> tuple[KMeans, float] | None:
    """Return the clusters with the largest mean silhouette, and it; None where no two rows differ."""
    n_distinct = len(np.unique(points, axis=0))
    best: tuple[KMeans, float] | None = None
    for k in range(2, min(_MAX_CLUSTERS, n_distinct - 1) + 1):
        model = KMeans(k, n_init=_N_INIT, random_state=seed % 2**32).fit(points, sample_weight=weight)
        if len(np.unique(model.labels_)) < k:
            continue
        silhouette = float(silhouette_score(points, model.labels_))
        if best is None or silhouette > best[1]:
            best = model, silhouette
    return best


# Columns that travel with the points beside the target: what a reader can still take in.
_MAX_COLORS = 12


def describe_colors(source: Source, rows: RowNumbers, ranking: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the target and the best columns at the rows drawn, to colour a map by."""
    schema = source.schema
    columns = schema.used.tolist()
    if ranking is not None and ranking["criteria"]:
        scores = ranking["scores"][ranking["criteria"][0]["id"]]
        combined = ranking["combined"]
        columns = sorted(columns, key=lambda j: (0.0 if combined is None else combined["ranks"][j], -scores[j]))
    columns = columns[:_MAX_COLORS]
    if schema.target is not None:
        columns = [schema.n_columns, *columns]
    values: dict[int, list[Any]] = {j: [] for j in columns}
    for block in source.blocks([j for j in columns if j < schema.n_columns]):
        here = rows[(rows >= block.rows.start) & (rows < block.rows.stop)] - block.rows.start
        for j in columns:
            values[j] += block.column(j)[here].tolist()
    return [
        _color_column(schema.column(j), "target" if j == schema.n_columns else "column", values[j]) for j in columns
    ]


def _color_column(column: Column, role: str, values: list[Any]) -> dict[str, Any]:
    named = {"name": column.name, "role": role}
    if column.is_number:
        is_date = column.kind == "date"
        shown = _round_values(values, exact=is_date or len(values) <= MAX_EXACT_POINTS)
        return {**named, "kind": "date" if is_date else "numeric", "values": shown, "levels": [], "silhouette": None}
    shown = [None if value < 0 else value for value in values]
    return {**named, "kind": "categorical", "values": shown, "levels": list(column.levels), "silhouette": None}


def _round_values(values: list[float], *, exact: bool) -> list[float | None]:
    """Return numbers, None for gaps; very many have the six digits that are told where a reader points at one."""
    return [None if value != value else value if exact else float(f"{value:.6g}") for value in values]
