"""The stress over sampled pairs is near that of all pairs, within its standard error."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from tamiz.reduction import stress
from tamiz.reduction.dissimilarities import read_dissimilarities
from tamiz.reduction.landmarks import create_subsets
from tamiz.reduction.stress import SampledPairs
from tamiz.runtime.random import make_rng


def table_of(X, dissimilarity="euclidean"):
    return create_subsets(read_dissimilarities(X, dissimilarity, "LandmarkMDS")[0], dissimilarity)


def test_the_sampled_stress_is_that_of_all_pairs_within_its_error(monkeypatch):
    # A small part of the rows: of all rows the error is below what groups tell.
    monkeypatch.setattr(stress, "_MAX_GROUPS", 12)
    X = np.random.default_rng(0).normal(size=(3000, 6)) * [5, 3, 2, 2, 1, 1]
    delta, d = pdist(X), pdist(X[:, :2])
    whole = np.sqrt(1 - (delta @ d) ** 2 / (delta @ delta) / (d @ d))
    table = table_of(X)
    found = [SampledPairs(table, make_rng(seed)).stress(X[:, :2]) for seed in range(40)]
    assert all(0 < one.error < 0.1 * whole for one in found)
    beyond = np.array([abs(one.value - whole) / one.error for one in found])
    assert beyond.max() < 4
    assert 0.5 < beyond.mean() < 1.2


def test_the_best_scale_of_a_map_is_reported():
    X = np.random.default_rng(0).normal(size=(40, 2))
    pairs = SampledPairs(table_of(X), make_rng(0))
    found = pairs.stress(1e130 * X)
    assert found.value < 1e-14
    assert found.scale == pytest.approx(1e-130)
    assert (pairs.stress(np.zeros((40, 1))).value, pairs.stress(np.zeros((40, 1))).scale) == (1.0, 1.0)


@pytest.mark.parametrize("dissimilarity", ["cityblock", "gower", "precomputed", "similarity"])
def test_pairs_of_every_dissimilarity_are_those_of_its_matrix(dissimilarity):
    X = np.random.default_rng(0).normal(size=(1100, 3))
    ranges = X.max(axis=0) - X.min(axis=0)
    matrix = {
        "cityblock": cdist(X, X, "cityblock"),
        "gower": cdist(X / ranges, X / ranges, "cityblock") / 3,
        "precomputed": cdist(X, X, "cityblock"),
        "similarity": cdist(X, X),
    }[dissimilarity]
    given = {"precomputed": matrix, "similarity": X @ X.T}.get(dissimilarity, X)
    pairs = SampledPairs(table_of(given, dissimilarity), make_rng(0))
    assert not pairs.exact
    assert len(np.unique(pairs.rows)) == pairs.rows.size == 1088
    first, second = np.triu_indices(32, 1)
    for group, delta in zip(pairs.rows, pairs.dissimilarities, strict=True):
        np.testing.assert_allclose(delta * pairs.unit, matrix[group[first], group[second]], atol=1e-7)
