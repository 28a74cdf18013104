"""Stability of components over starts."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tamiz.reduction import ICA
from tamiz.reduction.ica import cluster_estimates, stability_indices
from tamiz.runtime import parallel

from ...reference import ica as reference

RNG = np.random.default_rng(0)


def test_the_index_is_that_of_the_reference():
    vectors = RNG.normal(size=(12, 3))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    similarities = np.abs(vectors @ vectors.T)
    labels = np.array([0, 1, 2, 0, 1, 2, 0, 0, 1, 2, 2, 2])
    wanted = [reference.stability_index(similarities, labels, cluster) for cluster in range(3)]
    np.testing.assert_allclose(stability_indices(similarities, labels), wanted, rtol=1e-12)


def test_equal_estimates_are_one_cluster():
    similarities = np.abs(np.tile(np.eye(3), (4, 4)))
    labels = cluster_estimates(similarities, 3)
    assert (labels.reshape(4, 3) == labels[:3]).all()
    np.testing.assert_allclose(stability_indices(similarities, labels), 1.0)


def test_independent_sources_are_stable():
    S = np.column_stack([RNG.laplace(size=(2000, 3)), RNG.uniform(size=(2000, 2))])
    found = ICA(5, random_state=0).fit(S @ RNG.normal(size=(5, 5))).stability(6, random_state=1)
    assert found.index.min() > 0.999
    np.testing.assert_array_equal(found.share, 1.0)
    assert sorted(found.cluster) == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(found.log_likelihoods, found.log_likelihoods[0], atol=1e-7)
    assert found.n_converged == 6


@pytest.mark.filterwarnings("ignore:.*TZ403")
def test_directions_among_normal_variables_are_not_stable():
    X = RNG.normal(size=(1500, 7))
    X[:, 0] = RNG.laplace(size=1500)
    ica = ICA(7, random_state=0).fit(X)
    found = ica.stability(8, random_state=1)
    assert found.index[0] > 0.9
    assert np.abs(np.corrcoef(ica.embedding_[:, 0], X[:, 0])[0, 1]) > 0.95
    assert found.index[1:].mean() < 0.8


def test_one_component_is_stable():
    found = ICA(1, random_state=0).fit(load_digits().data).stability(3)
    assert (found.index.tolist(), found.share.tolist()) == ([1.0], [1.0])


def test_the_log_likelihood_of_the_fit_is_the_first_and_threads_change_no_bit():
    ica = ICA(5, random_state=0).fit(load_digits().data)
    found = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            found.append(ica.stability(4, random_state=2))
    assert found[0].log_likelihoods[0] == pytest.approx(ica.log_likelihood_, abs=1e-9)
    for name in ("index", "share", "cluster", "log_likelihoods"):
        assert getattr(found[0], name).tobytes() == getattr(found[1], name).tobytes()
    with pytest.raises(ValueError, match="n_starts must be at least 2, got 1"):
        ica.stability(1)
