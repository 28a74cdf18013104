"""The clusters that colour the maps of a study: k-means on the columns as maps see them, never on a map."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.encoding import Encoding
from tamiz.sources.views import RowNumbers, select_rows, weight_array
from tamiz.statistics.base import Floats
from tamiz.steps.sampling import sample_including
from tamiz.validation import check_memory
from tamiz.warn import capture_warnings, warn_user

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
