"""The clusters that are visible on a map: dense groups of points with sparse regions between them, found by HDBSCAN."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.cluster import HDBSCAN

from tamiz.arrays import Floats, Indices

ClusterNumbers = Indices

# The least share of the rows and the fewest rows of a cluster; fewer than twice as many rows are not clustered.
_MIN_SHARE, _MIN_ROWS = 0.02, 10
# The neighbours that estimate the density: as many as the smallest cluster has rows, within these limits. On one axis the distance
# to the k-th neighbour varies more: of normal values, 10 neighbours find clusters in 1 of 5 samples.
_MIN_NEIGHBORS, _MAX_NEIGHBORS, _MAX_NEIGHBORS_ON_A_LINE = 10, 20, 60
# HDBSCAN compares all pairs of these rows: 5,000 need half a second. Other rows are in the cluster of the nearest one.
_MAX_ROWS = 5_000
# Points are moved by at most this share of the widest axis, about a pixel of a chart: the density at equal points is infinite.
_JITTER = 1e-3


def find_clusters(embedding: Floats, rng: np.random.Generator) -> ClusterNumbers:
    """Return the number of the cluster of each row: 1 is the largest, 0 is none. All are 0 if no two clusters are separate.

    HDBSCAN with a single cluster allowed (`allow_single_cluster=True`) and selection by excess of mass: the map is split where the
    mean inverse distance inside the parts is at least twice that at which they join. Two normal clusters of one size are separate
    from a distance of five to six standard deviations on. Where most rows are in no cluster, no clusters are separate. The random
    draws are the sample of many rows, and moves of equal points apart.
    """
    n = len(embedding)
    spans = np.ptp(embedding, axis=0)
    if n < 2 * _MIN_ROWS or not spans.any():
        return np.zeros(n, dtype=np.intp)
    # Relative to the widest axis: distances near the largest or the smallest number would overflow or vanish when squared.
    points = (embedding - embedding.min(axis=0)) / spans.max()
    rows = np.sort(rng.choice(n, _MAX_ROWS, replace=False)) if n > _MAX_ROWS else np.arange(n)
    drawn = points[rows] + rng.uniform(-_JITTER, _JITTER, (len(rows), points.shape[1]))
    least = max(_MIN_ROWS, int(np.ceil(_MIN_SHARE * len(rows))))
    on_a_line = np.count_nonzero(spans > 2 * _JITTER * spans.max()) == 1
    n_neighbors = min(len(rows) // 5, 3 * least, _MAX_NEIGHBORS_ON_A_LINE) if on_a_line else min(least, _MAX_NEIGHBORS)
    model = HDBSCAN(
        min_cluster_size=least,
        min_samples=max(n_neighbors, _MIN_NEIGHBORS),
        allow_single_cluster=True,
        cluster_selection_method="eom",
        copy=True,
    )
    labels = model.fit(drawn).labels_
    if labels.max() < 1 or 2 * np.count_nonzero(labels >= 0) < len(labels):
        return np.zeros(n, dtype=np.intp)
    if len(rows) < n:
        labels = labels[cKDTree(drawn).query(points)[1]]
    return number_by_size(labels)


def number_by_size(labels: NDArray[np.integer]) -> ClusterNumbers:
    """Return labels of clusters as numbers from 1 on, the largest cluster first; negative labels are 0."""
    sizes = np.bincount(labels[labels >= 0])
    rank = np.empty(len(sizes) + 1, dtype=np.intp)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(1, len(sizes) + 1)
    rank[-1] = 0
    return rank[labels]
