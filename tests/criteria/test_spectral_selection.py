"""MCFS and SPEC: the values of their papers' formulas, of scikit-feature, and of closed examples."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.neighbors import kneighbors_graph
from tests.reference import spectral_selection as plain

from tamiz import RankSelector, study
from tamiz.criteria import MCFS, SPEC, LaplacianScore
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import Graph, KNearest, SameClass
from tamiz.runtime import parallel

quiet = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
EVERY = [MCFS(3), SPEC("phi1"), SPEC("phi2"), SPEC("phi3", n_eigenpairs=3)]
by_relevance = pytest.mark.parametrize("relevance", EVERY, ids=repr)


@pytest.fixture(autouse=True)
def one_session():
    with parallel.thread_session(1):
        yield


def random_graph(seed, n=40, pieces=1):
    rng = np.random.default_rng(seed)
    S = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1)
    piece = np.arange(n) % pieces
    return (S + S.T) * (piece[:, None] == piece)


def scores_of(relevance, X, y=None, **options):
    return RankSelector(relevance).fit(X, y, **options).scores_


def two_species():
    """100 rows of iris and their graph of ten neighbours, which is connected."""
    X = load_iris().data[50:]
    near = kneighbors_graph(X, 10).toarray()
    return X, np.maximum(near, near.T)


# skfeature-chappers 1.2.1 on the table and graph of two_species. MCFS: the absolute coefficients of
# mcfs(standardised X, n_selected_features=d, mode="raw", W=S, n_clusters=3), times the root of the sum of S, as the scale of the
# eigenvectors differs; its own ranking uses the largest signed coefficient. SPEC: spec(X, mode="raw", style=-1, 0 or k, W=S); its
# own ranking is by descending values for every style, although smaller values of the first two functions are better.
SCIKIT_FEATURE = {
    MCFS(3, n_nonzero=1): [0.17252606, 0.0414209, 0.40684549, 0.0],
    MCFS(3, n_nonzero=2): [0.46401243, 0.04771856, 0.50660944, 0.29148637],
    MCFS(3, n_nonzero=3): [0.74307317, 0.25098021, 0.42352064, 0.74693574],
    SPEC("phi1"): [1 - 0.0011974, 1 - 0.00503072, 1 - 0.00188176, 1 - 0.00894779],
    SPEC("phi2"): [1 - 0.11700919, 1 - 0.42188809, 1 - 0.07185467, 1 - 0.15154596],
    SPEC("phi3", n_eigenpairs=2): [0.01430116, 0.00761682, 0.04609958, 0.08902448],
    SPEC("phi3", n_eigenpairs=5): [0.01816793, 0.00975841, 0.04836252, 0.09426614],
}


@pytest.mark.parametrize(("relevance", "expected"), SCIKIT_FEATURE.items(), ids=repr)
def test_scores_are_those_of_scikit_feature(relevance, expected):
    X, S = two_species()
    found = scores_of(relevance.set_params(graph=Graph.from_sparse(S)), X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-8)


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_spec_is_the_plain_one_on_random_graphs(seed, pieces):
    S, rng = random_graph(seed, pieces=pieces), np.random.default_rng(seed)
    # A row without edges has no effect.
    S = np.pad(S, (0, 1))
    X = rng.normal(size=(41, 4)) * [1, 1e100, 1e-100, 1] + [0, 0, 0, 5]
    graph = Graph.from_sparse(S)
    scaled = X[:-1] / [1, 1e100, 1e-100, 1]
    for style in ("phi1", "phi2"):
        expected = 1 - plain.spec(scaled, S[:-1, :-1], style)
        np.testing.assert_allclose(scores_of(SPEC(style, graph=graph), X), expected, rtol=1e-10)
    for k in (3, 7, 41):
        expected = plain.spec(scaled, S[:-1, :-1], "phi3", k)
        np.testing.assert_allclose(scores_of(SPEC(n_eigenpairs=k, graph=graph), X), expected, rtol=1e-9)


def test_phi3_of_a_graph_with_more_components_than_eigenpairs_uses_all_null_vectors():
    S, X = random_graph(1, pieces=3), np.random.default_rng(1).normal(size=(40, 3))
    graph = Graph.from_sparse(S)
    np.testing.assert_allclose(scores_of(SPEC(n_eigenpairs=2, graph=graph), X), plain.spec(X, S, "phi3", 3), rtol=1e-9)


@pytest.mark.parametrize("n_nonzero", [1, 2, 4, 6])
@pytest.mark.parametrize("seed", range(3))
def test_mcfs_is_the_plain_one_on_random_graphs(seed, n_nonzero):
    S, rng = random_graph(seed), np.random.default_rng(seed)
    X = rng.normal(size=(40, 8)) @ rng.normal(size=(8, 8)) * [1, 1e100, 1e-100, 1, 1, 1, 1, 1]
    found = scores_of(MCFS(4, n_nonzero=n_nonzero, graph=Graph.from_sparse(S)), X)
    np.testing.assert_allclose(found, plain.mcfs(X / [1, 1e100, 1e-100, 1, 1, 1, 1, 1], S, 4, n_nonzero), atol=1e-7)


def test_the_path_is_continued_where_a_coefficient_returns_to_zero():
    # In some regressions of these tables a coefficient returns to 0 before the fifth one appears.
    for seed in (3, 27, 33, 37):
        rng = np.random.default_rng(seed)
        S, X = random_graph(seed, n=30), rng.normal(size=(30, 6)) @ rng.normal(size=(6, 6))
        X[:, 0] = X[:, 1:4].sum(axis=1) + 0.1 * rng.normal(size=30)
        found = scores_of(MCFS(3, n_nonzero=5, graph=Graph.from_sparse(S)), X)
        np.testing.assert_allclose(found, plain.mcfs(X, S, 3, 5), atol=1e-7)


@quiet
def test_phi2_is_the_laplacian_score_and_phi1_differs_by_the_mean():
    X, _ = load_iris(return_X_y=True)
    graph = KNearest(10).build(X)
    phi2 = scores_of(SPEC("phi2", graph=graph), X)
    assert phi2.tobytes() == scores_of(LaplacianScore(graph=graph), X).tobytes()
    D = graph.degrees
    centred = 1 - (D @ X) ** 2 / (D.sum() * (D @ X**2))
    np.testing.assert_allclose(1 - scores_of(SPEC("phi1", graph=graph), X), (1 - phi2) * centred, rtol=1e-9)


def test_two_separate_cliques_have_closed_scores():
    cluster = np.arange(20) % 2
    graph = Graph.from_sparse((cluster[:, None] == cluster) - np.eye(20))
    noise = np.tile([1.0, 1.0, -1.0, -1.0], 5)
    X = np.column_stack([2.0 * cluster - 1, noise])
    # The indicator of a clique has mean square 1, so it is 0 or the root of 2.
    np.testing.assert_allclose(scores_of(MCFS(1, n_nonzero=1, graph=graph), X), [np.sqrt(0.5), 0], atol=1e-12)
    # The noise has an eigenvalue of 10 / 9 in each clique.
    np.testing.assert_allclose(scores_of(SPEC("phi1", graph=graph), X), [1, 1 - 10 / 9], atol=1e-12)
    np.testing.assert_allclose(scores_of(SPEC("phi3", n_eigenpairs=2, graph=graph), X), [2, 0], atol=1e-12)


@pytest.mark.parametrize("relevance", [MCFS(3), SPEC(n_eigenpairs=3)], ids=repr)
def test_columns_that_separate_clusters_are_before_noise(relevance):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cluster, X = np.arange(150) % 3, rng.normal(size=(150, 8))
        X[:, 2] += 5 * (cluster == 1)
        X[:, 6] += 5 * (cluster == 2)
        X -= X.mean(axis=0)
        assert set(RankSelector(relevance).fit(X).ranking_[:2]) == {2, 6}


@by_relevance
def test_integer_weights_are_repeated_rows(relevance):
    rng = np.random.default_rng(0)
    S, X, weight = random_graph(0, n=20), rng.normal(size=(20, 4)), rng.integers(0, 4, 20)
    copies = np.repeat(np.arange(20), weight)
    repeated = Graph.from_sparse(S[np.ix_(copies, copies)])
    # Copies of a row add eigenvalues of 1, which are not among the smallest.
    assert plain.normalized_laplacian(S[np.ix_(copies, copies)])[0][4] < 0.99
    weighted = scores_of(relevance.set_params(graph=Graph.from_sparse(S)), X, sample_weight=weight)
    np.testing.assert_allclose(weighted, scores_of(relevance.set_params(graph=repeated), X[copies]), rtol=1e-7)
    relevance.set_params(graph=None)


@quiet
@by_relevance
def test_mixed_columns_are_scored_whatever_their_order(relevance):
    rng = np.random.default_rng(3)
    cluster = np.arange(90) % 3
    frame = pd.DataFrame(
        {
            "level": np.array([*"abc"])[np.where(rng.random(90) < 0.1, 0, cluster)],
            "x": np.where(rng.random(90) < 0.1, np.nan, 4 * cluster + rng.normal(size=90)),
            "noise": rng.normal(size=90),
            "colour": rng.choice(["red", "blue"], 90),
            "constant": 1.5,
        }
    )
    frame["again"] = -3.0 * frame["x"]
    graph = KNearest(10).build(frame[["level"]])
    relevance.set_params(graph=graph)
    found = dict(zip(frame, scores_of(relevance, frame), strict=True))
    backward = scores_of(relevance, frame[frame.columns[::-1]])[::-1]
    np.testing.assert_allclose(backward, [*found.values()], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["x"], found["again"], rtol=1e-9)
    assert found["constant"] == (0 if isinstance(relevance, MCFS) or relevance.style == "phi3" else -1)
    assert np.isfinite([*found.values()]).all()
    if not (isinstance(relevance, SPEC) and relevance.style == "phi1"):
        assert found["level"] > max(found["noise"], found["colour"])
    number = frame.assign(colour=(frame["colour"] == "red").astype(float))
    if isinstance(relevance, MCFS):
        np.testing.assert_allclose(scores_of(relevance, number), scores_of(relevance, frame), rtol=1e-6)
    relevance.set_params(graph=None)


@by_relevance
def test_sparse_rows_score_as_dense_ones(relevance):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.4)
    X[:, 3] = 0.0
    relevance.set_params(graph=Graph.from_sparse(random_graph(4)))
    np.testing.assert_allclose(scores_of(relevance, sparse.csc_array(X)), scores_of(relevance, X), rtol=1e-11)
    relevance.set_params(graph=None)


@by_relevance
def test_a_graph_without_edges_scores_every_column_as_a_constant_one(relevance):
    relevance.set_params(graph=Graph.from_edges([], [], n_samples=4))
    found = scores_of(relevance, np.random.default_rng(0).normal(size=(4, 2)))
    assert found.tolist() == [0, 0] if isinstance(relevance, MCFS) or relevance.style == "phi3" else [-1, -1]
    relevance.set_params(graph=None)


@pytest.mark.parametrize("relevance", [MCFS(2), SPEC(n_eigenpairs=3)], ids=repr)
def test_a_graph_of_classes_makes_them_supervised(relevance):
    X, y = load_iris(return_X_y=True)
    relevance.set_params(graph=SameClass())
    assert relevance.needs_target
    assert set(RankSelector(relevance).fit(X - X.mean(axis=0), y).ranking_[:2]) == {2, 3}
    with pytest.raises(DataError, match="requires y to be passed"):
        RankSelector(relevance).fit(X)


def test_a_missing_value_counts_as_the_mean():
    X, S = two_species()
    X = X.copy()
    X[4, 1] = np.nan
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    for relevance in (MCFS(3, graph=Graph.from_sparse(S)), SPEC(graph=Graph.from_sparse(S))):
        with pytest.warns(TamizWarning, match=f"{type(relevance).__name__}: 1 missing value counts as the mean"):
            found = scores_of(relevance, X)
        np.testing.assert_allclose(found, scores_of(relevance, filled), rtol=1e-12)


def test_bad_parameters_are_refused():
    X, S = two_species()
    for relevance, message in (
        (MCFS(0), "n_clusters"),
        (MCFS(n_nonzero=0), "n_nonzero"),
        (SPEC("phi4"), "style"),
        (SPEC(n_eigenpairs=1), "n_eigenpairs"),
    ):
        with pytest.raises(ValueError, match=message):
            RankSelector(relevance).fit(X)
    with pytest.raises(TypeError, match="graph must be"):
        RankSelector(MCFS(graph=5)).fit(X)
    with pytest.raises(DataError, match="The graph has 100 rows and X has 99"):
        RankSelector(SPEC(graph=Graph.from_sparse(S))).fit(X[1:])


@quiet
def test_a_study_ranks_by_them_on_request_with_its_graph():
    X = load_iris(as_frame=True).data
    ranking = study(X, relevances=[MCFS(), SPEC()], graph=KNearest(10), maps=[], assess=False).to_dict()["ranking"]
    for name, relevance in (("mcfs", MCFS(graph=KNearest(10))), ("spec", SPEC(graph=KNearest(10)))):
        np.testing.assert_allclose(ranking["scores"][name], scores_of(relevance, X), rtol=1e-12)
    assert not {"mcfs", "spec", "completeness"} & {
        one["id"] for one in study(X, maps=[]).to_dict()["ranking"]["criteria"]
    }
