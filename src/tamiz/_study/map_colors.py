"""The colourings of the maps of a study: the target, the best columns, and k-means clusters of the encoded columns."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances, silhouette_score

from tamiz._study.maps import MAX_EXACT_POINTS
from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.report.records.columns import RankingRecord
from tamiz.report.records.maps import ColorColumn
from tamiz.runtime.random import sample_rows
from tamiz.runtime.user_warnings import capture_warnings, warn
from tamiz.runtime.validation import check_memory
from tamiz.table.base import Table
from tamiz.table.encode import Encoding
from tamiz.table.schema import Column
from tamiz.table.views import select_rows, weight_array

# The most clusters, the rows that they are fitted on, and the starts of k-means.
_MAX_CLUSTERS = 8
_MAX_ROWS = 2000
_N_INIT = 4


def describe_clusters(table: Table, rows: Indices, seed: int) -> ColorColumn | None:
    """Return the k-means cluster of every shown row; None if no two rows differ or the columns cannot be encoded.

    Clusters are of the encoded columns, never of a map: columns are standardised with mean imputation, and categories are
    indicators, as for the maps. The number of clusters is the one with the largest mean silhouette. Of many rows, k-means is fitted
    on a sample.
    """
    drawn = table if len(rows) == table.schema.n_rows else select_rows(table, rows)
    try:
        # The maps have already warned of missing values.
        with capture_warnings():
            points, weight = _encode_points(drawn), weight_array(drawn)
    except (DataError, MemoryError) as error:
        warn("TZ503", f"The maps are not coloured by cluster: {error}")
        return None
    n = len(points)
    learned = sample_rows(n, _MAX_ROWS, np.random.default_rng(seed))
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


def _encode_points(table: Table) -> Floats:
    """Return the rows as standardised, encoded coordinates."""
    encoding = Encoding.fit(table, standardize=True)
    n = table.schema.n_rows
    check_memory(
        3 * 8.0 * n * len(encoding.names),
        f"Points of {n:,} rows and {len(encoding.names):,} coordinates",
        "Draw fewer rows.",
    )
    used = table.schema.used.tolist()
    return np.concatenate([encoding.transform(block) for block in table.blocks(used)])


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


def describe_colors(table: Table, rows: Indices, ranking: RankingRecord | None) -> list[ColorColumn]:
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
        values = _round_values(values, exact=kind == "date" or len(values) <= MAX_EXACT_POINTS)
    else:
        values = [None if value < 0 else value for value in values]
    levels = () if column.is_number else tuple(column.levels)
    return ColorColumn(name=column.name, role=role, kind=kind, values=tuple(values), levels=levels, silhouette=None)


def _round_values(values: list[float], *, exact: bool) -> list[float | None]:
    """Return numbers, None for missing values, rounded to six digits unless `exact`."""
    return [None if value != value else value if exact else float(f"{value:.6g}") for value in values]
