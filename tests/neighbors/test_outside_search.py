"""The nearest row outside a component: results equal those over all pairs."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tamiz.neighbors import spanning_tree
from tamiz.neighbors.points import EuclideanPoints
from tamiz.neighbors.spanning_tree import choose_outside_search

from .distance_only_points import OnlyDistances


@pytest.fixture
def small_pieces(monkeypatch):
    """Every limit so low that sets of sixty rows go the ways of large ones."""
    for module in (spanning_tree,):
        monkeypatch.setattr(module, "CHUNK_ROWS", 8)
    for module, name, value in [
        (spanning_tree, "BLOCK_ROWS", 8), (spanning_tree, "_TILE_ROWS", 4), (spanning_tree, "_MIN_BLOCK_ROWS", 3),
        (spanning_tree, "_CHUNKS_PER_BATCH", 1), (spanning_tree, "_CHUNK_VALUES", 200),
    ]:  # fmt: skip
        monkeypatch.setattr(module, name, value)


def clusters(seed):
    """Rows in clusters, some far from each other, and components that are clusters, parts of them, or neither."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, 4, 70)
    X = rng.normal(size=(4, 3))[cluster] * rng.choice([3, 30, 300]) + rng.normal(size=(70, 3))
    labels = cluster * 3 + rng.integers(0, 1 + seed % 3, 70)
    if seed % 4 == 0:
        labels[rng.random(70) < 0.2] = 20
    return X, np.unique(labels, return_inverse=True)[1].astype(np.int32)


def truth(X, labels):
    """Distances of all rows from the rows outside their component, infinite inside it."""
    return np.where(labels[:, None] == labels, np.inf, cdist(X, X))


def limits_of(distances, labels, factor):
    nearest = distances.min(axis=1)
    return factor * np.array([nearest[labels == c].min() for c in range(labels.max() + 1)])


@pytest.mark.parametrize("factor", [1.0, 1.3, np.inf])
def test_products_of_blocks_find_the_nearest_outside_row(factor, small_pieces):
    for seed in range(60):
        X, labels = clusters(seed)
        distances = truth(X, labels)
        limits = limits_of(distances, labels, factor)
        asked = np.flatnonzero(labels != 0).astype(np.int32)
        found = choose_outside_search(EuclideanPoints(X), labels).nearest(asked, labels, limits, np.zeros(len(X)))
        nearest = distances[found.rows].min(axis=1)
        sure = np.isfinite(found.lengths[:, 0])
        assert np.array_equal(np.sort(found.rows), asked)
        np.testing.assert_array_equal(found.outside_rows[sure, 0], distances[found.rows[sure]].argmin(axis=1))
        np.testing.assert_allclose(found.lengths[sure, 0], nearest[sure], rtol=1e-14)
        np.testing.assert_array_equal(found.outside_rows[~sure, 0], found.rows[~sure])
        assert np.all(found.min_unlisted <= nearest * (1 + 1e-14))
        # Every row that may have the shortest edge out of its component is sure of its own.
        best = limits_of(distances, labels, 1.0)[labels[found.rows]]
        assert sure[nearest <= best].all()
        assert np.all(found.min_unlisted[~sure] > best[~sure])


def test_pairs_known_to_be_farther_than_the_limit_are_not_evaluated(small_pieces):
    X, labels = clusters(1)
    distances = truth(X, labels)
    limits, reach = limits_of(distances, labels, 1.0), distances.min(axis=1)
    for points in (EuclideanPoints, OnlyDistances):
        found = choose_outside_search(points(X), labels).nearest(np.arange(70, dtype=np.int32), labels, limits, reach)
        ends = np.flatnonzero(reach <= limits[labels])
        assert set(ends) <= set(found.rows)
        sure = found.rows[np.isfinite(found.lengths[:, 0])]
        assert set(sure) == set(ends) or points is OnlyDistances


def test_distances_list_the_nearest_row_of_every_near_component(small_pieces):
    for seed in range(20):
        X, labels = clusters(seed)
        distances = truth(X, labels)
        search = choose_outside_search(OnlyDistances(X), labels)
        found = search.nearest(np.arange(70, dtype=np.int32), labels, np.full(labels.max() + 1, np.inf), np.zeros(70))
        for row, near, lengths, reach in zip(
            found.rows, found.outside_rows, found.lengths, found.min_unlisted, strict=True
        ):
            others = [c for c in range(labels.max() + 1) if c != labels[row]]
            each = sorted((distances[row, labels == c].min(), np.flatnonzero(labels == c)[distances[row, labels == c].argmin()])
                          for c in others)  # fmt: skip
            listed = each[: search.n_listed]
            assert near[: len(listed)].tolist() == [q for _, q in listed]
            np.testing.assert_allclose(lengths[: len(listed)], [d for d, _ in listed], rtol=1e-14)
            assert np.all(near[len(listed) :] == row)
            assert reach == (np.inf if len(others) <= search.n_listed else lengths[-1])


def test_a_search_serves_components_that_were_joined_after_it_was_made(small_pieces):
    X, labels = clusters(2)
    search = choose_outside_search(EuclideanPoints(X), labels)
    joined = np.maximum(labels - 1, 0).astype(np.int32)
    found = search.nearest(np.arange(70, dtype=np.int32), joined, np.full(joined.max() + 1, np.inf), np.zeros(70))
    distances = truth(X, joined)
    sure = np.isfinite(found.lengths[:, 0])
    np.testing.assert_allclose(found.lengths[sure, 0], distances[found.rows[sure]].min(axis=1), rtol=1e-14)
    shortest = [found.lengths[joined[found.rows] == c].min() for c in range(joined.max() + 1)]
    np.testing.assert_allclose(shortest, limits_of(distances, joined, 1.0), rtol=1e-14)
