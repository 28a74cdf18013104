"""The Laplacian score of the paper, and the relevance 1 - L."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from tests.reference import graphs as plain

from tamiz import RankSelector, open_table
from tamiz.criteria import FisherScore, LaplacianScore, fisher_score, laplacian_score
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import Binary, Graph, HeatKernel, KNearest, SameClass
from tamiz.runtime import parallel

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


def test_fishers_relation_is_true_for_categories_and_weights_too():
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


def test_a_column_that_is_constant_within_components_scores_zero():
    S = random_graph(0, pieces=2)
    assert laplacian_score(np.column_stack([np.arange(50) % 2]), Graph.from_sparse(S))[0] == 0.0


@quiet
def test_a_missing_value_counts_as_the_mean():
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
    monkeypatch.setattr("tamiz.criteria.graph_relevances._BLOCK_VALUES", 200)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(9)])
    np.testing.assert_allclose(laplacian_score(frame, KNearest(5).build(frame)), whole, rtol=1e-12)
    relevance = RankSelector(LaplacianScore(graph=KNearest(5))).fit(open_table(frame))
    np.testing.assert_allclose(1 - relevance.scores_, whole, rtol=1e-12)


def test_bits_do_not_depend_on_threads():
    X = np.random.default_rng(3).normal(size=(3000, 200))
    graph = Graph.from_edges(np.arange(2999), np.arange(1, 3000), np.random.default_rng(0).random(2999))
    scores = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            scores.append((laplacian_score(X, graph), laplacian_score(X, SameClass().build(X, np.arange(3000) % 7))))
    assert scores[0][0].tobytes() == scores[1][0].tobytes()
    assert scores[0][1].tobytes() == scores[1][1].tobytes()


def exact_score(X, S):
    """The score in exact fractions."""
    S = [[Fraction(float(v)) for v in row] for row in S]
    D = [sum(row) for row in S]
    scores = []
    for column in X.T:
        f = [Fraction(float(v)) for v in column]
        mean = sum(d * v for d, v in zip(D, f, strict=True)) / sum(D)
        total = sum(d * (v - mean) ** 2 for d, v in zip(D, f, strict=True))
        within = sum(S[i][j] * (f[i] - f[j]) ** 2 for i in range(len(f)) for j in range(i))
        scores.append(float(within / total) if total else 2.0)
    return np.array(scores)


@pytest.mark.parametrize("offset", [0, 10**4, 10**8, 10**12, 2**52])
@pytest.mark.parametrize("seed", [3, 7, 8])
def test_an_offset_costs_sparse_rows_no_digit(seed, offset):
    rng = np.random.default_rng(seed)
    S = random_graph(seed, n=40)
    X = rng.integers(-3, 4, size=(40, 5)) + float(offset)
    # Columns of which one row, and half of the rows, are not stored.
    X[5, 3] = 0.0
    X[::2, 4] = 0.0
    graph, expected = Graph.from_sparse(S), exact_score(X, S)
    np.testing.assert_allclose(laplacian_score(sparse.csr_array(X), graph), expected, rtol=1e-13)


@pytest.mark.parametrize("weight", [1e-3, 1e-9, 1e-14])
def test_a_row_that_is_not_stored_and_hardly_counts_does_so_by_its_weight(weight):
    S = random_graph(7, n=14, density=0.6)
    S[0], S[:, 0] = 0.0, 0.0
    S[0, 1] = S[1, 0] = weight
    X = np.random.default_rng(7).integers(-3, 4, size=(14, 3)) + 1e6
    X[0] = 0.0
    np.testing.assert_allclose(
        laplacian_score(sparse.csr_array(X), Graph.from_sparse(S)), exact_score(X, S), rtol=1e-13
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_that_count_for_nothing_do_not_make_a_column_vary_nor_move_its_mean(kind):
    S = random_graph(0, n=12, density=0.7)
    S[0], S[:, 0] = 0.0, 0.0
    X = np.random.default_rng(0).normal(size=(12, 3)) + 5
    X[:, 0] = 5.0
    X[0] = 1e17
    graph = Graph.from_sparse(S)
    expected = exact_score(X, S)
    assert expected[0] == 2.0
    np.testing.assert_allclose(laplacian_score(kind(X), graph), expected, rtol=1e-13)
    weight = np.ones(12)
    weight[3] = 0.0
    X[3, 0] = -7.0
    for made in (graph, SameClass().build(X, np.arange(12) % 2)):
        counts = weight if made is graph else weight * (np.arange(12) > 0)
        found = made.variation(kind(X), counts)
        assert found.constant.tolist() == [True, False, False]
    assert laplacian_score(kind(X[:3]), Graph.from_edges([], [], n_samples=3)).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.filterwarnings("ignore:.*the values differ by less than 1e-150")
@pytest.mark.parametrize("unit", [1e-145, 1e-160, 1e-200, 1e-300])
def test_columns_of_tiny_numbers_score_as_they_do_in_another_unit(unit):
    rng = np.random.default_rng(5)
    S, X = random_graph(5), rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.5)
    X[:, 2] += 1.0
    X[:, 3] = 1.0
    graph = Graph.from_sparse(S)
    expected = plain.laplacian_score(X, S)
    expected[3] = 2.0
    tiny = X * unit
    tiny[:, 0] = X[:, 0]
    np.testing.assert_allclose(laplacian_score(tiny, graph), expected, rtol=1e-7 if unit == 1e-300 else 1e-12)
    np.testing.assert_allclose(
        laplacian_score(sparse.csc_array(tiny), graph), expected, rtol=1e-7 if unit == 1e-300 else 1e-12
    )
    by_class = SameClass().build(X, np.arange(50) % 4)
    np.testing.assert_allclose(laplacian_score(tiny, by_class), laplacian_score(X, by_class), rtol=1e-7)
    relevance = RankSelector(LaplacianScore(graph=graph)).fit(tiny).scores_
    np.testing.assert_allclose(1 - relevance, expected, rtol=1e-7)
    weight = rng.random(50) + 0.5
    weighed = [RankSelector(LaplacianScore(graph=graph)).fit(f, sample_weight=weight).scores_ for f in (X, tiny)]
    np.testing.assert_allclose(weighed[0], weighed[1], rtol=1e-7)


@pytest.mark.parametrize("exponent", [-1000, -560, 560, 1000])
def test_the_unit_of_sparse_rows_changes_no_bit(exponent):
    rng = np.random.default_rng(6)
    X = sparse.csr_array(np.ldexp(rng.normal(size=(50, 4)), 10) * (rng.random((50, 4)) < 0.5))
    for graph in (Graph.from_sparse(random_graph(6)), SameClass().build(X, np.arange(50) % 3)):
        found = laplacian_score(sparse.csr_array((np.ldexp(X.data, exponent), X.indices, X.indptr)), graph)
        assert found.tobytes() == laplacian_score(X, graph).tobytes()


def test_the_least_weights_there_are_score_as_others_do():
    rng = np.random.default_rng(8)
    S, X = random_graph(8), rng.normal(size=(50, 3)) * [1, 1e-6, 1e-20]
    S[S > 0] += 1.0
    for kind in (np.asarray, sparse.csr_array):
        found = laplacian_score(kind(X), Graph.from_sparse(S * 1e-290))
        np.testing.assert_allclose(found, plain.laplacian_score(X, S), rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_sparse_value_that_is_no_number_is_named(bad):
    X = np.random.default_rng(9).normal(size=(20, 3))
    graph = Graph.from_sparse(random_graph(9, n=20))
    X[4, 2] = bad
    end = "the Laplacian score needs finite values. Replace such values or remove such rows."
    with pytest.raises(DataError) as refused:
        laplacian_score(sparse.csr_array(X), graph)
    assert str(refused.value) == f"Row 4 has a NaN or an infinite value, in column 2; {end}"
    X[7, 0] = X[7, 1] = bad
    with pytest.raises(DataError) as refused:
        laplacian_score(sparse.csc_array(X), graph)
    assert str(refused.value) == f"Rows 4, 7 have a NaN or an infinite value, the first in column 2; {end}"
    assert np.isnan(graph.variation(X).total[2])


def test_complex_rows_are_refused():
    X = np.random.default_rng(9).normal(size=(20, 3)) * 1j
    graph = Graph.from_sparse(random_graph(9, n=20))
    for kind in (np.asarray, sparse.csr_array, sparse.coo_array):
        with pytest.raises(DataError if kind is not np.asarray else ValueError, match="Complex data not supported"):
            laplacian_score(kind(X), graph)


def test_the_callers_matrix_with_doubled_entries_is_left_as_it_is():
    rng = np.random.default_rng(10)
    S, graph = random_graph(10, n=20), Graph.from_sparse(random_graph(10, n=20))
    made = sparse.coo_array((rng.normal(size=60), (rng.integers(0, 20, 60), rng.integers(0, 3, 60))), shape=(20, 3))
    rows = made.row.argsort(kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(made.row, minlength=20))])
    X = sparse.csr_array((made.data[rows], made.col[rows], indptr), shape=(20, 3))
    before = [array.copy() for array in (X.data, X.indices, X.indptr)]
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    np.testing.assert_allclose(laplacian_score(X, graph), plain.laplacian_score(made.toarray(), S), rtol=1e-12)
    for array, old in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_a_graph_of_classes_takes_its_own_number_of_rows():
    X = np.random.default_rng(11).normal(size=(20, 3))
    y = np.arange(20) % 3
    graph = SameClass(weight=Binary()).build(X, y)
    np.testing.assert_allclose(graph.dot(X), (y[:, None] == y) @ X, rtol=1e-12)
    for ask, sentence in [
        (lambda: graph.dot(X[:1]), "F has 1 rows and the graph has 20; the numbers must be equal."),
        (lambda: graph.dot(1.0), "F has 0 rows and the graph has 20; the numbers must be equal."),
        (lambda: graph.variation(X[:-1]), "X has 19 rows and the graph has 20; the numbers must be equal."),
        (
            lambda: graph.variation(sparse.csr_array(X[:-1])),
            "X has 19 rows and the graph has 20; the numbers must be equal.",
        ),
        (
            lambda: graph.variation(X, np.ones(21)),
            "sample_weight has 21 rows and the graph has 20; the numbers must be equal.",
        ),
        (lambda: graph.variation(X[:, 0]), r"X must have rows and columns, got an array of shape \(20,\)\."),
    ]:
        with pytest.raises(DataError, match=sentence):
            ask()


@pytest.mark.parametrize("weight", [None, Binary(), HeatKernel()])
def test_classes_of_one_row_each_join_nothing_and_are_refused(weight):
    X = np.random.default_rng(12).normal(size=(20, 3))
    with pytest.raises(
        DataError, match="No class has two rows: y has 20 classes for 20 rows, so no two rows are joined"
    ):
        SameClass(weight=weight).build(X, np.arange(20))


def test_the_edges_of_one_class_are_reported_in_the_singular(monkeypatch):
    X = np.random.default_rng(13).normal(size=(20, 3))
    graph = SameClass().build(X, np.zeros(20, dtype=int))
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match=r"The 190 edges of 1 class needs"):
        graph.adjacency  # noqa: B018
    with pytest.raises(MemoryError, match=r"The edges of 1 class of up to 20 rows needs"):
        SameClass(weight=HeatKernel()).build(X, np.zeros(20, dtype=int))


@pytest.mark.parametrize("graph", [Binary(), "knn"])
def test_an_object_that_builds_no_graph_is_refused(graph):
    X = np.random.default_rng(4).normal(size=(20, 2))
    with pytest.raises(TypeError, match=r"graph must be a GraphBuilder or a Graph, .*, got ('knn'|Binary\(\))\."):
        RankSelector(LaplacianScore(graph=graph)).fit(X)


def test_input_that_cannot_be_scored_is_refused():
    X = np.random.default_rng(4).normal(size=(20, 2))
    with pytest.raises(DataError, match="The graph has 3 rows and X has 20"):
        laplacian_score(X, Graph.from_edges([0, 1], [1, 2]))
    with pytest.raises(TypeError, match=r"graph must be a Graph, got KNearest.*: build one"):
        laplacian_score(X, KNearest(5))
    with pytest.raises(DataError, match="LaplacianScore requires y to be passed"):
        RankSelector(LaplacianScore(graph=SameClass())).fit(X)
    directed = KNearest(3, symmetry="directed").build(X)
    with pytest.raises(DataError, match="A directed graph has no Laplacian score"):
        laplacian_score(X, directed)
