"""Sparse precomputed distances: the graphs and maps of scikit-learn's neighbour transformers, and errors."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import manifold
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer, sort_graph_by_row_values
from sklearn.pipeline import make_pipeline

from tamiz import load, save
from tamiz.cluster import SpectralClustering
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import ConnectedRadius, KNearest, Radius
from tamiz.metrics import trustworthiness
from tamiz.reduction import TSNE, UMAP, ClassicalMDS, Isomap, LaplacianEigenmaps, LocallyLinearEmbedding

K = 8
X = make_swiss_roll(200, random_state=0)[0]
NEW = X[:20] + 0.3


def transformer(k=K):
    return KNeighborsTransformer(n_neighbors=k, mode="distance")


def stored(k=K, rows=X):
    return transformer(k).fit_transform(rows)


def changed(*entries):
    """Stored distances with other values at some positions of the data."""
    matrix = stored()
    for at, value in entries:
        matrix.data[at] = value
    return matrix


def without_diagonal():
    matrix = stored().tocoo()
    other = matrix.row != matrix.col
    return sparse.coo_matrix((matrix.data[other], (matrix.row[other], matrix.col[other])), matrix.shape)


@pytest.mark.parametrize("symmetry", ["or", "mutual", "directed"])
@pytest.mark.parametrize(
    "matrix",
    [
        stored(),
        stored(K + 20),
        without_diagonal(),
        sort_graph_by_row_values(stored(), copy=True),
        sparse.csc_array(stored()),
    ],
    ids=["stored", "more", "no-diagonal", "sorted", "csc"],
)
def test_edges_are_those_of_the_rows(matrix, symmetry):
    before = matrix.copy()
    found = KNearest(K, symmetry=symmetry, metric="precomputed").build(matrix, warn_components=False)
    wanted = KNearest(K, symmetry=symmetry).build(X, warn_components=False)
    np.testing.assert_array_equal(found.edges.indptr, wanted.edges.indptr)
    np.testing.assert_array_equal(found.edges.indices, wanted.edges.indices)
    np.testing.assert_allclose(found.edges.lengths, wanted.edges.lengths, rtol=1e-9)
    np.testing.assert_array_equal(before.data, matrix.data)


def test_equal_rows_are_at_stored_distance_zero():
    rows = np.repeat(X[:40], 3, axis=0)
    mapped = Isomap(2, graph=KNearest(12, metric="precomputed")).fit(stored(12, rows))
    np.testing.assert_array_equal(mapped.graph_.first_occurrences(), np.arange(120) // 3 * 3)
    np.testing.assert_array_equal(mapped.embedding_, mapped.embedding_[::3].repeat(3, axis=0))


def test_radius_graphs_are_those_of_the_rows():
    matrix = RadiusNeighborsTransformer(radius=6).fit_transform(X)
    found = Radius(5.5, metric="precomputed").build(matrix, warn_components=False)
    wanted = Radius(5.5).build(X, warn_components=False)
    np.testing.assert_array_equal(found.edges.indices, wanted.edges.indices)
    np.testing.assert_array_equal(found.edges.indptr, wanted.edges.indptr)


def test_isomap_in_a_pipeline_is_that_of_scikit_learn():
    ours = make_pipeline(transformer(), Isomap(2, graph=KNearest(K, metric="precomputed"))).fit(X)
    theirs = make_pipeline(transformer(), manifold.Isomap(n_neighbors=K, metric="precomputed")).fit(X)
    signs = np.sign((ours[-1].embedding_ * theirs[-1].embedding_).sum(axis=0))
    np.testing.assert_allclose(ours[-1].embedding_ * signs, theirs[-1].embedding_, atol=1e-6)
    np.testing.assert_array_equal(ours.transform(X[:20]), ours[-1].embedding_[:20])
    assert ours.transform(NEW).shape == (20, 2)
    np.testing.assert_array_equal(ours.transform(NEW)[3:4], ours.transform(NEW[3:4]))


@pytest.mark.parametrize(
    ("estimator", "k"),
    [
        (LaplacianEigenmaps(2), K),
        (UMAP(n_epochs=30, random_state=0), 14),
        (TSNE(perplexity=5, n_early_iter=20, n_iter=60), 15),
    ],
    ids=["eigenmaps", "umap", "tsne"],
)
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.ConvergenceWarning")
def test_maps_of_stored_distances_are_those_of_all_distances(estimator, k):
    estimator.set_params(graph=KNearest(k, metric="precomputed"))
    distances = cdist(X, X)
    nearest = KNeighborsTransformer(n_neighbors=k, mode="distance", metric="precomputed")
    of_some = make_pipeline(nearest, estimator).fit(distances)
    np.testing.assert_array_equal(of_some[-1].embedding_, clone(estimator).fit(distances).embedding_)
    np.testing.assert_array_equal(of_some.transform(distances[:9]), of_some[-1].embedding_[:9])


def test_clusters_and_saved_maps(tmp_path):
    pipeline = make_pipeline(
        transformer(), SpectralClustering(3, graph=KNearest(K, metric="precomputed"), random_state=0)
    )
    alone = SpectralClustering(3, graph=KNearest(K), random_state=0).fit(X)
    np.testing.assert_array_equal(pipeline.fit(X)[-1].labels_, alone.labels_)
    mapped = Isomap(2, graph=KNearest(K, metric="precomputed")).fit(stored())
    save(mapped, tmp_path / "map")
    new = transformer().fit(X).transform(NEW)
    np.testing.assert_array_equal(load(tmp_path / "map").transform(new), mapped.transform(new))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            stored(K - 1),
            r"^Row 0 has stored distances to 7 other rows, fewer than the 8 .*n_neighbors=8.*lower n_neighbors",
        ),
        (stored()[:-1], "square matrix.*199 rows and 200 columns"),
        (changed((7, np.nan)), r"^Row 0, column \d+ is nan; a distance must be a number"),
        (changed((12, -1.0)), r"^Row 1, column \d+ is -1; a distance must be a number"),
        (
            changed(*((at, 99.0) for at in range(1, 9))),
            r"must be symmetric.*row 0, column \d+ is \d+.*row \d+, column 0",
        ),
        (
            KNeighborsTransformer(n_neighbors=K, mode="connectivity").fit_transform(X),
            r"^Row 0 is at 1 from itself.*mode='distance'",
        ),
    ],
)
def test_matrices_that_cannot_be_used_are_refused(matrix, message):
    with pytest.raises(DataError, match=message):
        KNearest(K, metric="precomputed").build(matrix)


def test_what_needs_all_distances_refuses_some():
    graph = KNearest(K, metric="precomputed")
    with pytest.raises(DataError, match=r"stored in one direction only.*RadiusNeighborsTransformer"):
        Radius(30.0, metric="precomputed").build(stored())
    apart = X + np.where(np.arange(200) < 100, 0.0, 1e4)[:, None]
    with (
        pytest.warns(TamizWarning, match="2 components"),
        pytest.raises(DataError, match=r"some pairs only.*disconnected='per_component'"),
    ):
        LaplacianEigenmaps(graph=KNearest(20, metric="precomputed"), disconnected="connect").fit(stored(30, apart))
    with pytest.raises(DataError, match="some pairs only"):
        ConnectedRadius(metric="precomputed").build(stored(30, apart))
    with pytest.raises(DataError, match="some pairs only"):
        trustworthiness(stored(30), X, metric="precomputed")
    with pytest.raises(TypeError, match="must be a dense array"):
        ClassicalMDS(dissimilarity="precomputed").fit(stored(30))
    with pytest.raises(DataError, match="dense matrix of Euclidean distances"):
        LocallyLinearEmbedding(graph=graph).fit(stored())
    mapped = Isomap(graph=graph).fit(stored())
    with pytest.raises(TypeError, match="as a sparse matrix"):
        mapped.transform(stored().toarray())
    with pytest.raises(DataError, match=r"^New row 0 has stored distances to 3 fitted rows, fewer than the 8"):
        mapped.transform(transformer(2).fit(X).transform(NEW))
