"""Laplacian eigenmaps: the paper's figure, the dense solution, new rows, disconnected graphs."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import load_iris, make_swiss_roll
from tests.reference import graphs as plain

from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import Binary, ConnectedRadius, Graph, HeatKernel, KNearest, SameClass
from tamiz.reduction import TSNE, UMAP, LaplacianEigenmaps

quiet = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


def two_clusters(n=60, apart=50.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    X[n // 3 :] += apart
    return X


@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.parametrize(
    ("n_neighbors", "t", "follows"),
    [(5, 5.0, True), (5, 25.0, True), (5, np.inf, True), (15, 5.0, True), (15, 25.0, False), (15, np.inf, False)],
)
def test_the_first_coordinate_follows_the_swiss_roll_as_in_the_paper(seed, n_neighbors, t, follows):
    X, along = make_swiss_roll(400, random_state=seed)
    mapped = LaplacianEigenmaps(2, graph=KNearest(n_neighbors, weight=HeatKernel(t))).fit(X)
    correlation = abs(spearmanr(mapped.embedding_[:, 0], along)[0])
    assert correlation > 0.99 if follows else correlation < 0.6


def test_the_coordinates_are_those_of_the_dense_problem():
    X = np.random.default_rng(0).normal(size=(120, 3))
    S, _ = plain.heat_graph(X, 8)
    values, vectors = plain.eigenmap(S, 4)
    mapped = LaplacianEigenmaps(4, graph=KNearest(8)).fit(X)
    np.testing.assert_allclose(mapped.eigenvalues_, values, rtol=1e-9)
    np.testing.assert_allclose(np.abs(mapped.embedding_), np.abs(vectors), atol=1e-8)
    D = np.diag(S.sum(axis=1))
    np.testing.assert_allclose(mapped.embedding_.T @ D @ mapped.embedding_, np.eye(4), atol=1e-9)
    residuals = np.linalg.norm((D - S) @ mapped.embedding_ - D @ mapped.embedding_ * mapped.eigenvalues_, axis=0)
    assert (residuals < 1e-9).all()
    assert (mapped.residuals_ < 1e-9).all()
    largest = np.abs(mapped.embedding_).argmax(axis=0)
    assert (mapped.embedding_[largest, range(4)] > 0).all()


@pytest.mark.parametrize("kind", ["symmetric", "unnormalized"])
def test_the_other_laplacians_give_their_own_vectors(kind):
    X = np.random.default_rng(1).normal(size=(80, 3))
    S, _ = plain.heat_graph(X, 10)
    d = S.sum(axis=1)
    L = np.diag(d) - S
    values, vectors = np.linalg.eigh(L / np.sqrt(np.outer(d, d)) if kind == "symmetric" else L)
    mapped = LaplacianEigenmaps(3, graph=KNearest(10), laplacian=kind).fit(X)
    np.testing.assert_allclose(mapped.eigenvalues_, values[1:4], rtol=1e-9)
    np.testing.assert_allclose(np.abs(mapped.embedding_), np.abs(vectors[:, 1:4]), atol=1e-8)


@quiet
@pytest.mark.parametrize("kind", ["random_walk", "symmetric", "unnormalized"])
@pytest.mark.parametrize(
    "graph", [KNearest(8), KNearest(8, weight=Binary()), ConnectedRadius()], ids=["heat", "binary", "radius"]
)
def test_transform_maps_rows_of_fit_to_their_coordinates_and_each_row_independently(kind, graph):
    X = np.random.default_rng(2).normal(size=(90, 3))
    X[40:45] = X[10:15]
    new = np.random.default_rng(3).normal(size=(6, 3))
    mapped = LaplacianEigenmaps(3, graph=graph, laplacian=kind)
    places = mapped.fit_transform(X)
    # A row that comes twice is placed where the first of them is.
    places[40:45] = places[10:15]
    np.testing.assert_array_equal(mapped.transform(X), places)
    together = mapped.transform(np.concatenate([new, X[:3]]))
    for i in range(len(new)):
        assert mapped.transform(new[i : i + 1]).tobytes() == together[i : i + 1].tobytes()


@quiet
def test_a_row_at_distance_zero_that_is_not_equal_has_a_place_of_its_own():
    gaps = [np.nan, 2.0, 3, 1, 5, 4, 8, np.nan]
    X = pd.DataFrame({"a": [1.0, 1, 2, 5, 7, 9, 3, 4], "b": gaps, "c": list("yyxyxyxx")})
    mapped = LaplacianEigenmaps(2, graph=KNearest(4, metric="gower")).fit(X)
    np.testing.assert_array_equal(mapped.transform(X), mapped.embedding_)
    D = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    D[0, 1] = D[1, 0] = 0.0
    mapped = LaplacianEigenmaps(2, graph=KNearest(3, metric="precomputed")).fit(D)
    np.testing.assert_array_equal(mapped.transform(D), mapped.embedding_)


def test_a_new_row_is_placed_by_nystroms_formula():
    X = np.random.default_rng(4).normal(size=(60, 2))
    new = np.array([[0.3, -0.2]])
    mapped = LaplacianEigenmaps(2, graph=KNearest(6, weight=HeatKernel(2.0))).fit(X)
    D2 = ((X - new) ** 2).sum(axis=1)
    near = np.argsort(D2, kind="stable")[:6]
    weight = np.exp(-D2[near] / 2.0)
    expected = weight @ mapped.embedding_[near] / weight.sum() / (1 - mapped.eigenvalues_)
    np.testing.assert_allclose(mapped.transform(new)[0], expected, rtol=1e-10)


@quiet
def test_rows_that_come_many_times_leave_the_vectors_what_they_are():
    # With more copies than neighbours, equal rows have different ones: those of the lowest numbers.
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 2)), 5, axis=0)
    mapped = LaplacianEigenmaps(2, graph=KNearest(7), disconnected="connect").fit(X)
    S, D, Y = mapped.graph_.adjacency.toarray(), np.diag(mapped.graph_.degrees), mapped.embedding_
    np.testing.assert_allclose(Y.T @ D @ Y, np.eye(2), atol=1e-12)
    left = (D - S) @ Y - D @ Y * mapped.eigenvalues_
    np.testing.assert_allclose(np.linalg.norm(left, axis=0), mapped.residuals_, atol=1e-12)
    assert mapped.residuals_.max() < 1e-6


@quiet
def test_a_new_row_beside_one_without_edges_lies_at_zero_too():
    A = np.random.default_rng(0).normal(size=(20, 2))
    for kind in ("random_walk", "symmetric", "unnormalized"):
        mapped = LaplacianEigenmaps(
            1, graph=KNearest(4, symmetry="mutual"), laplacian=kind, disconnected="per_component"
        ).fit(np.vstack([A, [[50.0, 50.0]]]))
        assert mapped.transform([[49.0, 49.0]]) == 0.0


def test_a_fit_that_fails_leaves_what_was_fitted_before():
    A, B = np.random.default_rng(0).normal(size=(2, 20, 2))
    mapped = LaplacianEigenmaps(2, graph=KNearest(4)).fit(A)
    before = mapped.transform(A)
    with pytest.raises(ValueError, match="n_components must be below the number of rows = 20, got 20"):
        mapped.set_params(n_components=20).fit(B)
    np.testing.assert_array_equal(mapped.transform(A), before)


def test_a_directed_graph_has_no_map_whatever_its_pieces():
    X = two_clusters()
    graph = KNearest(3, symmetry="directed")
    for disconnected in ("connect", "per_component"):
        with pytest.warns(TamizWarning), pytest.raises(DataError, match="A directed graph "):
            LaplacianEigenmaps(2, graph=graph, disconnected=disconnected).fit(X)
    with pytest.raises(DataError, match=r"A directed graph .* symmetry='or' or 'mutual', or pass"):
        graph.build(X, warn_components=False).connect_components()


def test_more_coordinates_than_memory_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 2**20)
    graph = SameClass().build(np.zeros((9000, 1)), np.arange(9000) % 9)
    with pytest.raises(MemoryError, match=r"200 coordinates of 9,000 rows"):
        LaplacianEigenmaps(200, graph=graph, disconnected="per_component").fit(np.zeros((9000, 1)))


def test_a_far_row_does_not_vanish_though_its_weights_underflow():
    X = np.random.default_rng(5).normal(size=(60, 2))
    mapped = LaplacianEigenmaps(2, graph=KNearest(6, weight=HeatKernel(1.0))).fit(X)
    place = mapped.transform([[1000.0, 1000.0]])
    assert np.isfinite(place).all()
    assert place.any()


def test_a_graph_in_pieces_is_refused_with_the_ways_out():
    X = two_clusters()
    with pytest.raises(
        DataError, match=r"2 components of 40 and 20 rows\. Use more neighbours .*'connect' or 'per_component'"
    ):
        LaplacianEigenmaps(2, graph=KNearest(5)).fit(X)


@quiet
def test_a_graph_in_pieces_is_connected_when_asked():
    X = two_clusters()
    mapped = LaplacianEigenmaps(2, graph=KNearest(5), disconnected="connect").fit(X)
    assert len(mapped.graph_.components) == 1
    assert mapped.eigenvalues_[0] > 0
    first = mapped.embedding_[:, 0]
    assert (np.sign(first[:20]) == np.sign(first[0])).all()
    assert (np.sign(first[20:]) == -np.sign(first[0])).all()


@quiet
def test_every_component_can_have_coordinates_of_its_own():
    X = two_clusters()
    mapped = LaplacianEigenmaps(2, graph=KNearest(5), disconnected="per_component").fit(X)
    assert mapped.eigenvalues_.shape == mapped.residuals_.shape == (2, 2)
    for part, rows in enumerate((slice(0, 20), slice(20, 60))):
        S = mapped.graph_.adjacency.toarray()[rows, rows]
        values, vectors = plain.eigenmap(S, 2)
        np.testing.assert_allclose(mapped.eigenvalues_[part], values, rtol=1e-8)
        np.testing.assert_allclose(np.abs(mapped.embedding_[rows]), np.abs(vectors), atol=1e-7)
    np.testing.assert_array_equal(mapped.transform(X), mapped.embedding_)
    new = mapped.transform(X[:1] + 1e-3)
    np.testing.assert_allclose(new, mapped.embedding_[:1], atol=0.2)


@quiet
def test_a_component_of_one_row_lies_at_zero():
    X = np.concatenate([np.random.default_rng(6).normal(size=(30, 2)), [[500.0, 0.0]]])
    graph = KNearest(5, symmetry="mutual").build(X)
    mapped = LaplacianEigenmaps(2, graph=graph, disconnected="per_component").fit(X)
    np.testing.assert_array_equal(mapped.embedding_[30], [0.0, 0.0])
    assert np.isnan(mapped.eigenvalues_[-1]).all()


def test_a_graph_is_built_once_and_handed_in():
    X = np.random.default_rng(7).normal(size=(70, 3))
    graph = KNearest(6).build(X)
    mapped = LaplacianEigenmaps(2, graph=graph).fit(X)
    assert mapped.graph_ is graph
    np.testing.assert_array_equal(mapped.embedding_, LaplacianEigenmaps(2, graph=KNearest(6)).fit(X).embedding_)


def test_input_that_cannot_be_mapped_is_refused_in_one_sentence():
    X, y = load_iris(return_X_y=True)
    X = X[:20]
    for make, sentence in [
        (lambda: LaplacianEigenmaps(0).fit(X), "n_components must be at least 1, got 0"),
        (lambda: LaplacianEigenmaps(20).fit(X), "n_components must be below the number of rows = 20, got 20"),
        (lambda: LaplacianEigenmaps(laplacian="normal").fit(X), "laplacian must be one of"),
        (lambda: LaplacianEigenmaps(disconnected="drop").fit(X), "disconnected must be one of"),
        (lambda: LaplacianEigenmaps(graph=Graph.from_edges([0], [1])).fit(X), "The graph has 2 rows and X has 20"),
        (
            lambda: LaplacianEigenmaps(graph=Graph.from_edges(range(19), range(1, 20))).fit(X).transform(X + 1),
            "has no distances to new rows",
        ),
        (lambda: LaplacianEigenmaps(graph=SameClass()).fit(X, y[:20] + np.arange(20) % 2), "falls into 2 components"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            make()


def test_a_built_graph_is_mapped_without_its_rows():
    X = np.random.default_rng(0).normal(size=(60, 3))
    graph = KNearest(10).build(X)
    mapped = LaplacianEigenmaps(graph=graph).fit()
    with_rows = LaplacianEigenmaps(graph=graph).fit(X)
    np.testing.assert_array_equal(mapped.embedding_, with_rows.embedding_)
    np.testing.assert_array_equal(LaplacianEigenmaps(graph=graph).fit_transform(None), with_rows.embedding_)
    assert not hasattr(mapped, "n_features_in_")
    np.testing.assert_array_equal(mapped.transform(X[:5] + 0.01), with_rows.transform(X[:5] + 0.01))
    with pytest.raises(DataError, match="X has 2 features, but fit had 3"):
        mapped.transform(X[:, :2])


def test_a_fit_without_rows_after_one_with_rows_forgets_their_columns():
    X = np.random.default_rng(0).normal(size=(30, 3))
    mapped = LaplacianEigenmaps(graph=KNearest(10)).fit(X)
    mapped.set_params(graph=KNearest(10).build(X[:, :2])).fit()
    assert mapped.transform(X[:4, :2]).shape == (4, 2)


@pytest.mark.parametrize("graph", [None, KNearest(3)])
def test_no_rows_and_no_built_graph_are_refused(graph):
    with pytest.raises(ValueError, match=r"X is None, and fit requires rows .* pass graph= a built Graph"):
        LaplacianEigenmaps(graph=graph).fit()


@pytest.mark.parametrize("method", [LaplacianEigenmaps, TSNE, UMAP])
def test_a_graph_of_other_columns_is_refused(method):
    X = np.random.default_rng(0).normal(size=(40, 3))
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    plain, named = KNearest(5).build(X), KNearest(5).build(table)
    with pytest.raises(DataError, match=r"The graph was built from 3 columns and X has 2\. Build a graph of X"):
        method(graph=plain).fit(X[:, :2])
    with pytest.raises(DataError, match="The graph was built from 3 columns and X has 2"):
        method(graph=named).fit(table[["a", "b"]])
    with pytest.raises(DataError, match="Column 0 of X is 'c', but 'a' in the table that the graph was built from"):
        method(graph=named).fit(table[["c", "b", "a"]])


def test_different_rows_at_one_point_are_reported():
    X = np.random.default_rng(0).normal(size=(120, 4))
    # The last 10 rows have each other and the same rows of the first 110 as neighbours.
    X[110:] += 1e4
    with pytest.warns(
        TamizWarning, match="10 different rows have the same coordinates up to rounding, the first is row 110"
    ):
        mapped = LaplacianEigenmaps(2).fit(X)
    assert np.ptp(mapped.embedding_[110:], axis=0).max() < 1e-9 < np.ptp(mapped.embedding_[:110], axis=0).max()
    # Equal rows are not different ones.
    LaplacianEigenmaps(2, graph=KNearest(30)).fit(np.repeat(load_iris().data[50:80], 3, axis=0))
