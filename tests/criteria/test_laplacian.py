"""The Laplacian score: the paper's number, and the relevance made of it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from tests.reference import graphs as plain

from tamiz import RankSelector, open_source, parallel
from tamiz.criteria import FisherScore, LaplacianScore, fisher_score, laplacian_score
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import Binary, Graph, HeatKernel, KNearest, SameClass

quiet = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


def random_graph(seed, n=50, pieces=1, density=0.2):
    rng = np.random.default_rng(seed)
    S = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    S = S + S.T
    piece = np.arange(n) % pieces
    return S * (piece[:, None] == piece)


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_score_is_the_plain_one_on_random_graphs(seed, pieces):
    rng = np.random.default_rng(seed)
    S = random_graph(seed, pieces=pieces)
    X = np.column_stack([rng.normal(size=(50, 4)) * [1, 1e6, 1e-6, 1] + [0, 1e7, 0, 1e5], np.full(50, 3.3)])
    X[10:15] = X[:5]
    np.testing.assert_allclose(laplacian_score(X, Graph.from_sparse(S)), plain.laplacian_score(X, S), rtol=1e-9)


@quiet
@pytest.mark.parametrize("weight", [HeatKernel(), HeatKernel(0.5), Binary()])
def test_the_score_on_neighbours_is_the_plain_one(weight):
    X, _ = load_iris(return_X_y=True)
    graph = KNearest(7, weight=weight).build(X)
    np.testing.assert_allclose(
        laplacian_score(X, graph), plain.laplacian_score(X, graph.adjacency.toarray()), rtol=1e-12
    )


@quiet
@pytest.mark.parametrize("k", [3, 5, 10, 15, 30, 50, 75, 100])
def test_iris_is_ranked_petal_length_petal_width_sepal_length_sepal_width(k):
    X, _ = load_iris(return_X_y=True)
    assert np.argsort(laplacian_score(X, KNearest(k).build(X))).tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_with_classes_the_score_is_one_over_one_and_the_fisher_score(load):
    X, y = load(return_X_y=True)
    L = laplacian_score(X, SameClass().build(X, y))
    np.testing.assert_allclose(L, 1 / (1 + fisher_score(X, y)), rtol=1e-12)
    relevance = RankSelector(LaplacianScore(graph=SameClass())).fit(X, y).scores_
    np.testing.assert_allclose(relevance, RankSelector(FisherScore()).fit(X, y).scores_, rtol=1e-12)


def test_fishers_relation_holds_for_categories_and_weights_too():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 80)
    frame = pd.DataFrame({"c": np.array(list("abcd"))[(y + rng.integers(0, 2, 80)) % 4], "x": y + rng.normal(size=80)})
    weight = rng.integers(1, 4, 80)
    for sample_weight in (None, weight):
        mine = RankSelector(LaplacianScore(graph=SameClass())).fit(frame, y, sample_weight=sample_weight).scores_
        fisher = RankSelector(FisherScore()).fit(frame, y, sample_weight=sample_weight).scores_
        np.testing.assert_allclose(mine, fisher, rtol=1e-9)


def test_binary_class_graphs_need_no_edges_and_score_as_if_they_had_them():
    X, y = load_wine(return_X_y=True)
    same = (y[:, None] == y).astype(float)
    np.testing.assert_allclose(
        laplacian_score(X, SameClass(weight=Binary()).build(X, y)), plain.laplacian_score(X, same), rtol=1e-9
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_row_of_weight_w_counts_as_w_copies(seed):
    rng = np.random.default_rng(seed)
    S, X = random_graph(seed, n=20), rng.normal(size=(20, 3))
    weight = rng.integers(1, 4, 20)
    copies = np.repeat(np.arange(20), weight)
    weighted = RankSelector(LaplacianScore(graph=Graph.from_sparse(S))).fit(X, sample_weight=weight).scores_
    repeated = laplacian_score(X[copies], Graph.from_sparse(S[np.ix_(copies, copies)]))
    np.testing.assert_allclose(1 - weighted, repeated, rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_sparse_rows_score_as_dense_ones(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.3)
    X[:, 4] = 0.0
    for graph in (Graph.from_sparse(random_graph(seed)), SameClass().build(X, rng.integers(0, 3, 50))):
        for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_matrix):
            np.testing.assert_allclose(laplacian_score(kind(X), graph), laplacian_score(X, graph), rtol=1e-11)


def test_a_constant_column_scores_two_and_is_ranked_last():
    X = np.column_stack([np.full(30, 0.1), np.random.default_rng(0).normal(size=30)])
    graph = KNearest(5).build(X)
    assert laplacian_score(X, graph)[0] == 2.0
    selector = RankSelector(LaplacianScore(graph=graph)).fit(X)
    assert selector.scores_[0] == -1.0
    assert selector.ranking_.tolist() == [1, 0]


def test_a_column_that_only_tells_the_components_apart_scores_zero():
    S = random_graph(0, pieces=2)
    assert laplacian_score(np.column_stack([np.arange(50) % 2]), Graph.from_sparse(S))[0] == 0.0


@quiet
def test_a_gap_counts_as_the_mean():
    X = np.random.default_rng(1).normal(size=(40, 3))
    X[5, 2] = X[9, 0] = np.nan
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    graph = KNearest(5).build(filled)
    np.testing.assert_allclose(laplacian_score(X, graph), laplacian_score(filled, graph), rtol=1e-12)
    with pytest.warns(TamizWarning, match="LaplacianScore: 2 missing values count as the mean of the column"):
        laplacian_score(X, graph)


@quiet
def test_columns_are_read_in_groups_and_the_groups_do_not_show(monkeypatch):
    X = np.random.default_rng(2).normal(size=(100, 9))
    whole = laplacian_score(X, KNearest(5).build(X))
    monkeypatch.setattr("tamiz.criteria.laplacian._GROUP_VALUES", 200)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(9)])
    np.testing.assert_allclose(laplacian_score(frame, KNearest(5).build(frame)), whole, rtol=1e-12)
    relevance = RankSelector(LaplacianScore(graph=KNearest(5))).fit(open_source(frame))
    np.testing.assert_allclose(1 - relevance.scores_, whole, rtol=1e-12)


def test_bits_do_not_depend_on_threads():
    X = np.random.default_rng(3).normal(size=(3000, 200))
    graph = Graph.from_edges(np.arange(2999), np.arange(1, 3000), np.random.default_rng(0).random(2999))
    scores = []
    for n_jobs in (1, 2):
        with parallel.session(n_jobs):
            scores.append((laplacian_score(X, graph), laplacian_score(X, SameClass().build(X, np.arange(3000) % 7))))
    assert scores[0][0].tobytes() == scores[1][0].tobytes()
    assert scores[0][1].tobytes() == scores[1][1].tobytes()


def test_what_cannot_be_scored_is_refused():
    X = np.random.default_rng(4).normal(size=(20, 2))
    with pytest.raises(DataError, match="The graph has 3 rows and X has 20"):
        laplacian_score(X, Graph.from_edges([0, 1], [1, 2]))
    with pytest.raises(TypeError, match=r"graph must be a Graph, got KNearest.*: build it"):
        laplacian_score(X, KNearest(5))
    with pytest.raises(DataError, match="LaplacianScore requires y to be passed"):
        RankSelector(LaplacianScore(graph=SameClass())).fit(X)
    directed = KNearest(3, symmetry="directed").build(X)
    with pytest.raises(DataError, match="A directed graph has no Laplacian score"):
        laplacian_score(X, directed)
