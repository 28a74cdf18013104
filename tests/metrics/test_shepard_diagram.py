"""Shepard diagrams: all pairs, sampled pairs and their correlations."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from tests.metrics.example_maps import MAPS, distances, scattered
from tests.reference import quality as reference
from threadpoolctl import threadpool_info, threadpool_limits

from tamiz.metrics import quality, shepard, stress
from tamiz.metrics.stress import spearman_correlation


@pytest.mark.parametrize("name", MAPS)
def test_every_pair_is_there_once_with_its_correlations(name):
    X, Y = MAPS[name]
    D, E = distances(X, Y)
    pairs = np.triu_indices(len(X), 1)
    found = shepard(X, Y)
    np.testing.assert_allclose(found.dissimilarities, D[pairs], rtol=1e-13)
    np.testing.assert_allclose(found.distances, E[pairs], rtol=1e-13)
    assert found.all_pairs
    assert found.correlation == pytest.approx(pearsonr(D[pairs], E[pairs]).statistic, abs=1e-12)
    assert found.rank_correlation == pytest.approx(spearmanr(D[pairs], E[pairs]).statistic, abs=1e-12)
    assert found.scale == pytest.approx(reference.best_scales(D, E)[0], rel=1e-12)
    assert found.rank_correlation_error == 0.0


def test_drawn_pairs_are_pairs_of_the_table():
    X, Y = scattered(80)
    _D, _E = distances(X, Y)
    found = shepard(X, Y, n_pairs=800)
    assert not found.all_pairs
    assert len(found.distances) == 800
    every = shepard(X, Y)
    at = np.searchsorted(np.sort(every.dissimilarities), found.dissimilarities * (1 - 1e-13))
    np.testing.assert_allclose(np.sort(every.dissimilarities)[at], found.dissimilarities, rtol=1e-12)
    assert found.correlation == every.correlation
    assert abs(found.rank_correlation - every.rank_correlation) < 4 * found.rank_correlation_error
    assert (found.dissimilarities > 0).all()


def test_the_same_seed_draws_the_same_pairs():
    X, Y = scattered(80)
    first, again, other = (shepard(X, Y, n_pairs=100, random_state=seed).distances for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_constant_distances_have_no_correlation():
    D = 1.0 - np.eye(12)
    _, Y = scattered(12)
    found = shepard(D, Y, metric="precomputed")
    assert (found.correlation, found.rank_correlation) == (0.0, 0.0)


def test_the_metric_of_the_data_is_that_of_the_diagram():
    X, Y = scattered(30)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    pairs = np.triu_indices(30, 1)
    np.testing.assert_allclose(shepard(X, Y, metric="cosine").dissimilarities, 1 - (unit @ unit.T)[pairs], atol=1e-14)


def test_no_pairs_are_refused():
    with pytest.raises(ValueError, match=r"^n_pairs must be at least 1, got 0\.$"):
        shepard(*scattered(), n_pairs=0)


@pytest.mark.parametrize("measure", [shepard, quality])
def test_sums_of_the_rank_correlation_do_not_depend_on_the_threads_of_blas(measure, monkeypatch):
    limits = []

    def correlate(*distances):
        limits.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return spearman_correlation(*distances)

    monkeypatch.setattr(stress, "spearman_correlation", correlate)
    rng = np.random.default_rng(0)
    with threadpool_limits(2, "blas"):
        measure(rng.normal(size=(40, 3)), rng.normal(size=(40, 2)))
    assert set(limits) == {1}
