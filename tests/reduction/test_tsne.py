"""t-SNE: affinities, forces and divergence by definition, the layout beside scikit-learn's, and the mapping of new rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import manifold
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.neighbors import KNeighborsClassifier

from tamiz.exceptions import ConvergenceWarning, DataError, TamizWarning
from tamiz.graphs import Binary, Graph, KNearest, Radius
from tamiz.reduction import TSNE
from tamiz.reduction.graph_reducer import shortest_edges
from tamiz.reduction.tsne import METHODS, DivergenceDescent, build_field, choose_method, joint_affinities
from tamiz.runtime import parallel

from ..reference import tsne as reference

DIGITS, CLASSES = load_digits(return_X_y=True)
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def half():
    """The map of every second digit."""
    return TSNE().fit(DIGITS[::2])


def directed_graph(X, k):
    return KNearest(k, weight=Binary(), symmetry="directed").build(X, warn_components=False)


@pytest.mark.parametrize("perplexity", [1.5, 5, 10])
def test_affinities_are_those_of_the_definition(perplexity):
    X = RNG.normal(size=(60, 4))
    found = joint_affinities(shortest_edges(directed_graph(X, 30), 30), perplexity)
    assert found.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(found.toarray(), reference.joint_affinities(X, 30, perplexity), atol=1e-8)


def test_the_shortest_edges_of_an_undirected_graph_are_those_of_the_directed_one():
    X = RNG.normal(size=(200, 3))
    one, other = shortest_edges(directed_graph(X, 10), 10), shortest_edges(KNearest(10).build(X), 10)
    np.testing.assert_array_equal(one.indices, other.indices)
    np.testing.assert_array_equal(one.lengths, other.lengths)


def test_equal_distances_have_equal_affinities():
    edges = shortest_edges(directed_graph(np.eye(12), 11), 11)
    np.testing.assert_allclose(joint_affinities(edges, 3).data, 1 / 132, rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_components", [1, 2, 3])
@pytest.mark.parametrize("size", [1e-4, 1, 30])
def test_repulsion_is_that_of_exact_sums(method, n_components, size):
    if method == "grid" and n_components == 3:
        pytest.skip("grids have one or two coordinates")
    centres = RNG.uniform(-1, 1, size=(8, n_components))
    points = size * (centres[RNG.integers(0, 8, 1500)] + 0.1 * RNG.normal(size=(1500, n_components)))
    wanted, potential = reference.repulsion(points, points)
    forces, found = build_field(points, method).evaluate(points)
    # The errors that the documentation states, in one dimension with its sparser points twice as much.
    limit = {"exact": 1e-12, "cells": 0.05, "grid": 0.02}[method]
    assert np.sqrt(((forces - wanted) ** 2).sum() / (wanted**2).sum()) < limit
    np.testing.assert_allclose(found, potential, rtol=limit)


@pytest.mark.parametrize("method", METHODS)
def test_repulsion_of_new_points_does_not_depend_on_other_queries(method):
    points = 10 * RNG.normal(size=(2000, 2))
    field = build_field(points, method)
    queries = 8 * RNG.normal(size=(2000, 2))
    together = field.evaluate(queries)
    for row in (0, 7, 1999):
        alone = field.evaluate(queries[row : row + 1])
        assert (alone[0][0] == together[0][row]).all()
        assert alone[1][0] == together[1][row]


def test_points_in_one_place_repel_without_a_force():
    for method in METHODS:
        forces, potential = build_field(np.ones((50, 2)), method).evaluate(np.ones((50, 2)))
        np.testing.assert_allclose(forces, 0, atol=1e-10)
        np.testing.assert_allclose(potential, 50, rtol=1e-9)


def test_a_layout_of_large_extent_does_not_use_a_grid():
    assert choose_method(RNG.normal(size=(70_000, 2)) * 20) == "grid"
    assert choose_method(RNG.normal(size=(5_000, 2)) * 1e3) == "cells"
    assert choose_method(RNG.normal(size=(5_000, 2)) * 1e9) == "cells"
    assert choose_method(RNG.normal(size=(20, 2))) == "exact"
    assert choose_method(RNG.normal(size=(9, 5))) == "exact"


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_the_gradient_is_that_of_the_divergence(n_components):
    X = RNG.normal(size=(50, 4))
    affinities = joint_affinities(shortest_edges(directed_graph(X, 30), 30), 10)
    points = RNG.normal(size=(50, n_components))
    descent = DivergenceDescent(affinities, points, method="exact")
    assert descent.cost() == pytest.approx(reference.divergence(affinities.toarray(), points), rel=1e-6)
    repulsion, normalizer = descent.repulsion()
    found = 4 * (descent.attraction() - repulsion / normalizer)
    np.testing.assert_allclose(found, reference.gradient(affinities.toarray(), points), atol=1e-8)
    step = np.zeros_like(points)
    step[3, 0] = 1e-5
    ahead, behind = (reference.divergence(affinities.toarray(), points + sign * step) for sign in (1, -1))
    assert found[3, 0] == pytest.approx((ahead - behind) / 2e-5, rel=1e-4)


@pytest.mark.parametrize(
    ("X", "perplexity"), [(load_iris().data, 30), pytest.param(DIGITS[:500], 20, marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_the_divergence_is_not_above_that_of_scikit_learn(X, perplexity):
    peer = manifold.TSNE(perplexity=perplexity, method="exact", init="pca", random_state=0).fit(X)
    found = TSNE(perplexity=perplexity, n_iter=750).fit(X)
    # Under our affinities, since scikit-learn's have as many neighbours as there are rows.
    edges = shortest_edges(found.graph_, 3 * perplexity)
    affinities = joint_affinities(edges, perplexity).toarray().astype(np.float64)
    assert found.kl_divergence_ <= 1.01 * reference.divergence(affinities, peer.embedding_)
    assert manifold.trustworthiness(X, found.embedding_) >= manifold.trustworthiness(X, peer.embedding_) - 0.01


def test_the_divergence_is_that_of_the_embedding(half):
    affinities = joint_affinities(shortest_edges(half.graph_, 90), 30)
    wanted = reference.divergence(affinities.toarray().astype(np.float64), half.embedding_)
    assert half.kl_divergence_ == pytest.approx(wanted, rel=1e-6)
    assert half.kl_history_[-1, 1] == half.kl_divergence_
    assert half.converged_
    assert half.n_iter_ == 750


def test_new_rows_are_mapped_among_the_rows_of_their_class(half):
    neighbors = KNeighborsClassifier(10)
    on_map = neighbors.fit(half.embedding_, CLASSES[::2]).score(half.transform(DIGITS[1::2]), CLASSES[1::2])
    assert on_map > neighbors.fit(DIGITS[::2], CLASSES[::2]).score(DIGITS[1::2], CLASSES[1::2]) - 0.01


def test_every_new_row_is_mapped_alone(half):
    new = DIGITS[1::2] + 0.1
    mapped = half.transform(new)
    np.testing.assert_array_equal(half.transform(new[::-1])[::-1], mapped)
    np.testing.assert_array_equal(half.transform(new[5:6]), mapped[5:6])
    np.testing.assert_array_equal(half.transform(DIGITS[::2]), half.embedding_)


def test_a_new_row_with_few_neighbours_does_not_change_the_others():
    X = RNG.normal(size=(300, 2))
    mapped = TSNE(perplexity=5, graph=Radius(3.0)).fit(X)
    new = np.array([[0.1, 0.1], [0.3, -0.2], [5.5, 0.0]])
    counts = np.diff(mapped.graph_.attach(new).neighbors.indptr)
    assert counts.max() > 30 > 5 > counts.min() >= 1
    np.testing.assert_array_equal(mapped.transform(new)[:2], mapped.transform(new[:2]))


def test_a_new_row_has_a_stationary_place(half):
    new = DIGITS[1:20:2]
    mapped = half.transform(new)
    distances = np.sqrt(((new[:, None] - DIGITS[::2]) ** 2).sum(axis=2))
    for row, y in enumerate(mapped):
        near = np.argsort(distances[row])[:90]
        p = reference.row_affinities(distances[row, near], 30)

        def cost(y, near=near, p=p):
            w = 1 / (1 + ((y - half.embedding_) ** 2).sum(axis=1))
            return -(p * np.log(w[near] / w.sum())).sum()

        assert cost(y) <= min(cost(y + 0.05 * np.array(d)) for d in [(1, 0), (-1, 0), (0, 1), (0, -1)]) + 1e-5


@pytest.mark.parametrize("init", [pytest.param("spectral", marks=pytest.mark.slow), "random"])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(init):
    with parallel.thread_session(1):
        one = TSNE(init=init, random_state=3, n_iter=300).fit(DIGITS[:900])
    with parallel.thread_session(2):
        other = TSNE(init=init, random_state=3, n_iter=300).fit(DIGITS[:900])
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    np.testing.assert_array_equal(one.transform(DIGITS[900:950]), other.transform(DIGITS[900:950]))


@pytest.mark.slow
@pytest.mark.parametrize("n_components", [1, 3])
def test_one_and_three_coordinates_separate_groups(n_components):
    X, y = make_blobs(300, centers=3, cluster_std=0.7, random_state=0)
    mapped = TSNE(n_components).fit_transform(X)
    assert mapped.shape == (300, n_components)
    assert KNeighborsClassifier(5).fit(mapped, y).score(mapped, y) > 0.98


@pytest.mark.slow
def test_more_exaggeration_brings_neighbours_closer():
    X, y = make_blobs(300, centers=3, random_state=0)
    spread = [
        np.linalg.norm(mapped[y == 0] - mapped[y == 0].mean(axis=0), axis=1).mean()
        for mapped in (TSNE(exaggeration=rho).fit_transform(X) for rho in (1, 4))
    ]
    assert spread[1] < 0.5 * spread[0]


def test_a_fit_continues():
    with pytest.warns(ConvergenceWarning, match=r"100 iterations: fewer than 50.*continue_fit"):
        mapped = TSNE(n_early_iter=50, n_iter=50).fit(DIGITS[:400])
    before = mapped.kl_divergence_
    mapped.continue_fit(400)
    assert mapped.kl_divergence_ < before
    assert mapped.converged_
    assert mapped.n_iter_ == 500
    assert mapped.kl_history_[:, 0].tolist() == [*range(50, 501, 50)]


def test_a_callback_stops_the_fit():
    calls = []

    def stop(n_iter, value, points):
        calls.append((n_iter, value, points.shape))
        return n_iter >= 150

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mapped = TSNE().fit(DIGITS[:300], callback=stop)
    assert [n_iter for n_iter, _, _ in calls] == [50, 100, 150]
    assert calls[0][2] == (300, 2)
    assert mapped.n_iter_ == 150
    assert mapped.kl_divergence_ == calls[-1][1]


def test_an_interrupted_fit_keeps_its_layout():
    def interrupt(n_iter, value, points):
        raise KeyboardInterrupt

    mapped = TSNE()
    with pytest.warns(ConvergenceWarning), pytest.raises(KeyboardInterrupt):
        mapped.fit(DIGITS[:300], callback=interrupt)
    assert mapped.n_iter_ == 50
    assert mapped.transform(DIGITS[:2]).shape == (2, 2)


def test_a_graph_is_shared():
    graph = KNearest(90).build(DIGITS[:300])
    mapped = TSNE(graph=graph).fit(DIGITS[:300])
    assert mapped.graph_ is graph
    np.testing.assert_array_equal(TSNE(graph=graph).fit().embedding_, mapped.embedding_)
    few = TSNE(graph=KNearest(12), n_iter=1500).fit(DIGITS[:150])
    assert few.perplexity_ == 4


@pytest.mark.parametrize(("n", "perplexity", "used"), [(100, 50, 33), (9, 30.0, 8 / 3), (3, 2, 1)])
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.ConvergenceWarning")
def test_a_perplexity_of_too_many_neighbors_is_lowered_with_a_warning(n, perplexity, used):
    short = {"n_early_iter": 20, "n_iter": 60}
    with pytest.warns(TamizWarning, match=rf"perplexity={perplexity:g} is lowered to .* = {used:.4g}, .* {n} rows"):
        lowered = TSNE(perplexity=perplexity, **short).fit(DIGITS[:n])
    assert lowered.perplexity_ == pytest.approx(used)
    assert lowered.perplexity == perplexity
    with warnings.catch_warnings():
        warnings.simplefilter("error", TamizWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        allowed = TSNE(perplexity=lowered.perplexity_, **short).fit(DIGITS[:n])
    np.testing.assert_array_equal(lowered.embedding_, allowed.embedding_)


def test_equal_rows_have_equal_coordinates():
    X = np.repeat(DIGITS[:60], 5, axis=0)
    mapped = TSNE(perplexity=20).fit(X)
    np.testing.assert_array_equal(mapped.embedding_[::5].repeat(5, axis=0), mapped.embedding_)


def test_two_far_groups_are_named_and_kept_apart():
    X = np.concatenate([RNG.normal(size=(150, 3)), RNG.normal(size=(150, 3)) + 1e4])
    with pytest.warns(TamizWarning, match="2 components.*no meaning"):
        mapped = TSNE(perplexity=10).fit(X)
    for group in (mapped.embedding_[:150], mapped.embedding_[150:]):
        assert np.ptp(group, axis=0).min() > 5
    assert (
        KNeighborsClassifier(3)
        .fit(mapped.embedding_, np.arange(300) < 150)
        .score(mapped.embedding_, np.arange(300) < 150)
        == 1
    )


def test_mixed_columns_and_float32():
    frame = pd.DataFrame(DIGITS[:200, 10:20]).add_prefix("x")
    frame["level"] = np.array(list("abc"))[CLASSES[:200] % 3]
    assert TSNE().fit(frame).embedding_.dtype == np.float64
    assert TSNE().fit(DIGITS[:200].astype(np.float32)).embedding_.dtype == np.float32


def test_a_rate_that_is_too_large_is_reported():
    with pytest.warns(ConvergenceWarning, match="rows still move by the longest step. Lower the learning rate"):
        mapped = TSNE(learning_rate=1e300).fit(DIGITS[:300])
    assert np.isfinite(mapped.embedding_).all()


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"n_iter": 60}, "fewer than 50 of them had the final exaggeration"),
        ({"n_iter": 100}, "lowered the divergence by more than 2%"),
        ({"learning_rate": 1e-300}, "hardly moved from the initial layout"),
        ({"learning_rate": 1e9, "n_iter": 100}, "still move by the longest step"),
    ],
)
def test_a_fit_that_has_not_converged_states_why(parameters, reason):
    with pytest.warns(ConvergenceWarning, match=reason):
        assert not TSNE(n_early_iter=0, **parameters).fit(DIGITS[:200]).converged_


def test_an_initial_layout_of_unusable_extent_is_refused():
    for size in (1e4, 1e-20):
        with pytest.raises(DataError, match=r"init spans .*, and must span from 1e-12 to 1,000"):
            TSNE(init=size * RNG.normal(size=(100, 2))).fit(DIGITS[:100])
    with pytest.raises(DataError, match=r"init must be 'pca', 'spectral', 'random' or an array of 100 rows.*got 42"):
        TSNE(init=42).fit(DIGITS[:100])


def test_two_and_three_rows_are_mapped():
    for n in (2, 3):
        assert np.isfinite(TSNE().fit_transform(DIGITS[:n])).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"perplexity": 0.5}, "perplexity must be at least 1"),
        ({"n_iter": 0}, "n_iter must be at least 1"),
        ({"exaggeration": 0}, "exaggeration must be above 0"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"init": "best"}, "init"),
        ({"init": np.zeros((100, 2))}, "coincide"),
        (
            {"graph": KNearest(5), "perplexity": 10},
            "Row .* too few for perplexity=10.*30 nearest neighbours, or perplexity=1",
        ),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(parameters, message):
    with pytest.raises(ValueError, match=message):
        TSNE(**parameters).fit(DIGITS[:100])


def test_bad_rows_are_refused_in_one_sentence():
    with pytest.raises(DataError, match="1 sample"):
        TSNE().fit(DIGITS[:1])
    with pytest.raises(DataError, match="All 40 rows are equal"):
        TSNE().fit(np.ones((40, 3)))
    with pytest.raises(DataError, match="weights alone"):
        TSNE(graph=Graph.from_edges([0, 1], [1, 2])).fit()
