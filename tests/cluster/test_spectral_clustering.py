"""Spectral clustering: both assignments, from a graph or from a fitted map."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from tamiz.cluster import SpectralClustering
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import Graph, KNearest
from tamiz.reduction import PCA, LaplacianEigenmaps

quiet = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


@quiet
@pytest.mark.parametrize("assign", ["kmeans", "cluster_qr"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: make_moons(300, noise=0.05, random_state=0),
        lambda: make_circles(300, noise=0.03, factor=0.4, random_state=0),
        lambda: make_blobs(300, centers=4, random_state=3),
    ],
    ids=["moons", "circles", "blobs"],
)
def test_visibly_separate_groups_are_found(make, assign):
    X, truth = make()
    k = len(np.unique(truth))
    labels = SpectralClustering(k, graph=KNearest(10), assign_labels=assign, random_state=0).fit_predict(X)
    assert adjusted_rand_score(truth, labels) > 0.98


@quiet
@pytest.mark.parametrize("assign", ["kmeans", "cluster_qr"])
def test_components_are_the_groups_where_there_are_as_many(assign):
    X, truth = make_blobs(90, centers=[[0, 0], [100, 0], [0, 100]], random_state=0)
    found = SpectralClustering(3, graph=KNearest(5), assign_labels=assign, random_state=0).fit(X)
    assert adjusted_rand_score(truth, found.labels_) == 1.0
    np.testing.assert_array_equal(found.eigenvalues_, [0.0, 0.0, 0.0])


def test_labels_are_numbered_by_their_first_rows():
    X, _ = make_moons(200, noise=0.05, random_state=1)
    labels = SpectralClustering(2, graph=KNearest(10), random_state=3).fit_predict(X)
    assert labels[0] == 0
    assert set(labels) == {0, 1}


@pytest.mark.parametrize("assign", ["kmeans", "cluster_qr"])
def test_a_fitted_map_is_used_again(assign, monkeypatch):
    X, _truth = make_moons(200, noise=0.05, random_state=2)
    mapped = LaplacianEigenmaps(4, graph=KNearest(10)).fit(X)
    alone = SpectralClustering(2, graph=KNearest(10), assign_labels=assign, random_state=0).fit(X)
    monkeypatch.setattr("tamiz.cluster.spectral_clustering.smallest_eigenpairs", None)
    again = SpectralClustering(2, embedding=mapped, assign_labels=assign, random_state=0).fit(X)
    assert again.graph_ is mapped.graph_
    np.testing.assert_array_equal(again.labels_, alone.labels_)
    np.testing.assert_allclose(again.eigenvalues_, alone.eigenvalues_, atol=1e-12)


def test_the_same_seed_gives_the_same_groups():
    X = np.random.default_rng(0).normal(size=(150, 3))
    one, two = (SpectralClustering(6, random_state=5).fit_predict(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_a_graph_without_rows_can_be_cut_too():
    left = [(i, j) for i in range(6) for j in range(i)]
    heads, tails = np.array([*left, *[(i + 6, j + 6) for i, j in left], (0, 6)]).T
    labels = SpectralClustering(2, graph=Graph.from_edges(heads, tails), assign_labels="cluster_qr").fit_predict(
        np.zeros((12, 1))
    )
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 6))


def test_input_that_cannot_be_clustered_is_refused_in_one_sentence():
    X = np.random.default_rng(0).normal(size=(40, 2))
    mapped = LaplacianEigenmaps(2).fit(X)
    for make, sentence in [
        (lambda: SpectralClustering(0).fit(X), "n_clusters must be at least 1, got 0"),
        (lambda: SpectralClustering(41).fit(X), "n_clusters must be at most the number of rows = 40, got 41"),
        (
            lambda: SpectralClustering(2, assign_labels="discretize").fit(X),
            "assign_labels must be one of 'kmeans', 'cluster_qr'",
        ),
        (
            lambda: SpectralClustering(5, embedding=mapped).fit(X),
            "5 clusters need 4 coordinates and the embedding has 2",
        ),
        (lambda: SpectralClustering(2, embedding=mapped).fit(X[:9]), "The graph has 40 rows and X has 9"),
    ]:
        with pytest.raises(DataError if "has" in sentence else ValueError, match=sentence):
            make()


@pytest.mark.parametrize("assign", ["kmeans", "cluster_qr"])
def test_fewer_clusters_than_requested_are_warned_about(assign):
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    with pytest.warns(TamizWarning, match=r"3 clusters were found, fewer than the 5 requested"):
        model = SpectralClustering(5, graph=KNearest(45), assign_labels=assign, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], 20))


def test_a_graph_with_more_components_than_clusters_is_warned_about():
    pairs = Graph.from_edges([0, 2, 4], [1, 3, 5])
    with pytest.warns(TamizWarning, match=r"falls into 3 components of 2, 2 and 2 rows, more than the 2 clusters"):
        labels = SpectralClustering(2, graph=pairs, random_state=0).fit_predict(np.zeros((6, 1)))
    assert len(set(labels[:2])) == len(set(labels[2:4])) == len(set(labels[4:])) == 1


@quiet
def test_equal_rows_of_different_classes_stay_apart():
    A = np.random.default_rng(0).normal(size=(8, 2))
    X, y = np.vstack([A, A]), np.repeat(["a", "b"], 8)
    labels = SpectralClustering(2, graph=KNearest(3, within_class=True), random_state=0).fit(X, y).labels_
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 8))


def test_an_embedding_brings_its_own_graph():
    X = np.random.default_rng(0).normal(size=(40, 2))
    mapped = LaplacianEigenmaps(2).fit(X)
    with pytest.raises(ValueError, match="graph and embedding were both passed"):
        SpectralClustering(2, graph=KNearest(5), embedding=mapped).fit(X)
    with pytest.raises(TypeError, match=r"graph must be a GraphBuilder or a Graph, such as KNearest\(15\), got 5\."):
        SpectralClustering(2, graph=5).fit(X)
    with pytest.raises(TypeError, match=r"embedding must be a fitted LaplacianEigenmaps, got PCA\(\)"):
        SpectralClustering(2, embedding=PCA()).fit(X)


@pytest.mark.parametrize("assign", ["kmeans", "cluster_qr"])
def test_a_built_graph_and_an_embedding_are_clustered_without_their_rows(assign):
    X, _ = make_moons(120, noise=0.05, random_state=0)
    graph = KNearest(10).build(X)
    expected = SpectralClustering(2, graph=graph, assign_labels=assign, random_state=0).fit_predict(X)
    np.testing.assert_array_equal(
        SpectralClustering(2, graph=graph, assign_labels=assign, random_state=0).fit_predict(), expected
    )
    embedding = LaplacianEigenmaps(1, graph=graph, disconnected="connect").fit()
    reused = SpectralClustering(2, embedding=embedding, assign_labels=assign, random_state=0)
    np.testing.assert_array_equal(reused.fit_predict(), reused.fit_predict(X))
    with pytest.raises(ValueError, match="n_clusters must be at most the number of rows = 120, got 121"):
        SpectralClustering(121, graph=graph).fit()
    with pytest.raises(ValueError, match="X is None, and fit requires rows"):
        SpectralClustering(2).fit()
