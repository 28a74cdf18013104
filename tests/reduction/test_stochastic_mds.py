"""Stochastic MDS: the step against its definition, the stress against that of majorisation over all pairs, and warnings."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from tests.reference import single_point as plain

from tamiz import load, open_table, save
from tamiz.exceptions import DataError, TamizWarning
from tamiz.reduction import MDS, StochasticMDS
from tamiz.reduction.dissimilarities import read_dissimilarities
from tamiz.reduction.landmarks import create_subsets
from tamiz.reduction.stochastic_mds import RowPanels, StochasticDescent, metric_values
from tamiz.reduction.stress import SampledPairs
from tamiz.runtime import progress
from tamiz.runtime.random import make_rng

KINDS = ["euclidean", "seuclidean", "cityblock", "cosine"]


def rows_of(n=600, p=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p)) * np.linspace(3, 1, p)


def stress_of(delta, d):
    """The stress at the best scale, from its closed form."""
    return np.sqrt(1 - (delta @ d) ** 2 / (delta @ delta) / (d @ d))


def panels_of(X, dissimilarity="euclidean"):
    rows, _ = read_dissimilarities(X, dissimilarity, "StochasticMDS")
    return RowPanels(metric_values(rows.points), dissimilarity), create_subsets(rows, dissimilarity)


@pytest.mark.parametrize("unit", [1.0, 1e100])
@pytest.mark.parametrize("dissimilarity", KINDS)
def test_an_epoch_moves_coordinates_to_the_mean_of_the_targets_of_their_anchors(dissimilarity, unit):
    X = rows_of(700, 5) * unit
    panels, table = panels_of(X, dissimilarity)
    delta = table.distances_among(np.arange(len(X)))
    size = delta.max()
    places = np.random.default_rng(1).normal(size=(len(X), 3)) * size
    anchors = np.array([3, 650, 12, 13, 300])
    laid = panels.to_panels(places)
    panels.move_towards_anchors(laid, anchors, 0.4)
    moved = panels.from_panels(laid)
    for i in range(0, 700, 50):
        if i not in anchors:
            target = plain.step(places[anchors], delta[i, anchors], places[i])
            np.testing.assert_allclose(moved[i], places[i] + 0.4 * (target - places[i]), atol=1e-5 * size)
    steps = panels.majorization_steps(panels.to_panels(places), np.array([5, 699]), anchors) * panels.unit
    for i, step in zip((5, 699), steps, strict=True):
        target = plain.step(places[anchors], delta[i, anchors], places[i])
        np.testing.assert_allclose(step, target - places[i], atol=1e-5 * size)


@pytest.mark.parametrize("dissimilarity", KINDS)
def test_the_stress_is_near_that_of_a_search_by_all_pairs(dissimilarity):
    X = rows_of(900)
    found = StochasticMDS(2, dissimilarity=dissimilarity, random_state=0).fit(X)
    whole = MDS(2, dissimilarity=dissimilarity).fit(X)
    assert found.sampled_stress_error_ == 0.0
    assert found.sampled_stress_ <= 1.01 * whole.stress_
    assert found.converged_
    assert found.n_rounds_ == 600
    assert len(found.stress_history_) == 11
    assert found.stress_history_[-1] == pytest.approx(found.sampled_stress_, rel=1e-6)
    delta = create_subsets(found._dissimilarities, dissimilarity).distances_among(np.arange(900))[
        np.triu_indices(900, 1)
    ]
    assert found.sampled_stress_ == pytest.approx(stress_of(delta, pdist(found.embedding_)), rel=1e-6)


def test_rows_of_two_dimensions_are_reproduced():
    X = rows_of(2500, 2) @ np.random.default_rng(1).normal(size=(2, 7))
    found = StochasticMDS(2, random_state=3).fit(X)
    some = np.arange(0, 2500, 10)
    np.testing.assert_allclose(pdist(found.embedding_[some]), pdist(X[some]), atol=1e-3)
    assert found.sampled_stress_ < 1e-5
    assert found.converged_
    new = rows_of(20, 2, seed=5) @ np.random.default_rng(1).normal(size=(2, 7))
    np.testing.assert_allclose(cdist(found.transform(new), found.embedding_), cdist(new, X), atol=1e-3)


def test_from_a_random_start_hardly_any_row_ends_in_a_minimum_of_its_own():
    X = rows_of(2500, 2) @ np.random.default_rng(1).normal(size=(2, 7))
    found = StochasticMDS(2, init="random", random_state=3).fit(X)
    away = np.abs(cdist(found.embedding_, found.embedding_) - cdist(X, X)).mean(axis=1)
    assert np.median(away) < 0.02
    assert (away > 0.2).sum() < 25


def test_a_random_start_ends_near_the_map_from_landmarks():
    X = rows_of(3000, 8)
    ends = [StochasticMDS(2, init=init, random_state=0).fit(X).sampled_stress_ for init in ("landmark", "random")]
    assert ends[1] == pytest.approx(ends[0], rel=0.05)


def test_the_map_is_centred_and_along_its_principal_axes():
    found = StochasticMDS(3, random_state=0, n_rounds=100).fit(rows_of()).embedding_
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-12)
    products = found.T @ found
    assert np.abs(products - np.diag(np.diag(products))).max() < 1e-9 * products.max()
    assert (np.diff(np.diag(products)) < 0).all()


def test_the_possible_decrease_follows_from_the_gradient_of_the_stress():
    X = rows_of(500)
    panels, table = panels_of(X)
    places = np.random.default_rng(0).normal(size=(500, 2)) * 3
    rounds = StochasticDescent(panels, SampledPairs(table, make_rng(0)), places, make_rng(0))
    rounds.run(20)
    Y, delta = rounds.embedding, cdist(X, X)
    steps = np.array([plain.step(Y, delta[i], Y[i]) for i in range(500)]) - Y
    d = cdist(Y, Y)
    expected = (steps**2).sum(axis=1).mean() / ((delta - d) ** 2)[np.triu_indices(500, 1)].mean()
    assert rounds.relative_decrease() == pytest.approx(expected, rel=0.02)


def test_the_slope_of_many_rows_is_estimated_from_two_samples():
    X = rows_of(9000, 4)
    panels, table = panels_of(X)
    places = X[:, :2] * 0.8
    rounds = StochasticDescent(panels, SampledPairs(table, make_rng(0)), places, make_rng(0))
    some = np.arange(0, 9000, 20)
    d, delta = cdist(places[some], places), cdist(X[some], X)
    ratio = np.divide(delta, d, out=np.ones_like(d), where=d > 0)
    steps = np.array(
        [((r - 1.0)[:, None] * (places[i] - places)).mean(axis=0) for i, r in zip(some, ratio, strict=True)]
    )
    expected = (steps**2).sum(axis=1).mean() / ((delta - d) ** 2).mean()
    # The course's stress is that at the best scale.
    scale = (delta * d).sum() / (d * d).sum()
    expected *= ((delta - d) ** 2).mean() / ((delta - scale * d) ** 2).mean()
    assert rounds.relative_decrease() == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("dissimilarity", KINDS)
def test_transform_maps_rows_of_fit_to_their_coordinates_and_each_row_independently(dissimilarity, tmp_path):
    X, new = rows_of(1500), rows_of(12, seed=1)
    found = StochasticMDS(2, dissimilarity=dissimilarity, random_state=0, n_rounds=200, tol=1.0).fit(X)
    assert found.transform(X[100:200]).tobytes() == found.embedding_[100:200].tobytes()
    together = found.transform(np.vstack([new, X[5:6]]))
    for i in range(len(new)):
        assert found.transform(new[i : i + 1]).tobytes() == together[i : i + 1].tobytes()
    assert together[12].tobytes() == found.embedding_[5].tobytes()
    loaded = load(save(found, tmp_path / "model"))
    assert loaded.transform(new).tobytes() == together[:12].tobytes()
    near = found.transform(X[:200] * (1 + 1e-9))
    assert np.median(np.linalg.norm(near - found.embedding_[:200], axis=1)) < 0.1 * found.embedding_.std()


def test_rows_that_are_equal_share_a_place():
    X = rows_of(400)
    X[300:350] = X[100:150]
    found = StochasticMDS(2, random_state=0).fit(X).embedding_
    np.testing.assert_array_equal(found[300:350], found[100:150])


def test_rows_on_a_line_may_be_drawn_in_a_plane():
    X = np.linspace(0, 10, 400)[:, None]
    found = StochasticMDS(1, random_state=0).fit(X)
    assert found.sampled_stress_ < 1e-5
    plane = StochasticMDS(2, random_state=0).fit(np.hstack([X, X]))
    assert plane.sampled_stress_ < 1e-4


@pytest.mark.parametrize("unit", [1e-120, 1e120])
def test_the_unit_does_not_matter(unit):
    X = rows_of()
    expected = StochasticMDS(2, random_state=0).fit(X)
    scaled = StochasticMDS(2, random_state=0).fit(X * unit)
    assert scaled.sampled_stress_ == pytest.approx(expected.sampled_stress_, rel=0.01)
    assert scaled.converged_


def test_a_given_start_is_kept_with_few_steps():
    X = rows_of(300, 2)
    found = StochasticMDS(2, init=X, n_rounds=50).fit(X)
    np.testing.assert_allclose(found.embedding_, X, atol=1e-4)
    assert found.stress_history_[0] < 1e-12


def test_a_map_that_is_not_at_its_end_is_reported():
    sentence = (
        r"StochasticMDS: not converged after 3 rounds; a further step would lower the stress by [\d.e+]+ %, and the tolerance is "
        r"0\.2 %\. Raise the number of rounds \(n_rounds\) or the tolerance \(tol\)\.$"
    )
    with pytest.warns(TamizWarning, match=sentence):
        found = StochasticMDS(2, init="random", n_rounds=3, random_state=0).fit(rows_of())
    assert not found.converged_
    assert len(found.stress_history_) == 4


def test_an_interrupted_fit_keeps_the_map_that_it_has_come_to():
    def stop(label, done, total):
        if label == "rounds" and done == 40:
            raise KeyboardInterrupt

    model = StochasticMDS(2, random_state=0, init="random")
    with pytest.raises(KeyboardInterrupt), progress.use_listener(stop):
        model.fit(rows_of())
    assert model.n_rounds_ == 40
    assert not model.converged_
    assert model.sampled_stress_ < model.stress_history_[0]
    assert model.transform(rows_of(3, seed=1)).shape == (3, 2)


def test_categories_and_missing_values_are_read_as_for_other_maps():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(["x", "y"], 90), "c": rng.normal(size=90)})
    found = StochasticMDS(2, random_state=0).fit(table)
    assert found.transform(table).tobytes() == found.embedding_.tobytes()
    table.loc[3, "a"] = np.nan
    with pytest.warns(TamizWarning, match="mean"):
        StochasticMDS(2, random_state=0).fit(table)


def test_bad_input_is_refused_in_one_sentence():
    X = rows_of(20, 3)
    with pytest.raises(ValueError, match=r"^n_components must be below the number of rows = 20, got 20\.$"):
        StochasticMDS(20).fit(X)
    with pytest.raises(DataError, match=r"^All 20 rows are equal\. Add columns in which they"):
        StochasticMDS(2).fit(np.ones((20, 3)))
    with pytest.raises(TypeError, match=r"^StochasticMDS does not support sparse matrices\. Pass X\.toarray\(\)"):
        StochasticMDS(2).fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match=r"^dissimilarity must be one of 'euclidean', .*, got 'gower'"):
        StochasticMDS(dissimilarity="gower").fit(X)
    with pytest.raises(
        ValueError, match=r"^init, where it is no array, must be one of 'landmark', 'random', got 'pca'"
    ):
        StochasticMDS(init="pca").fit(X)
    with pytest.raises(DataError, match=r"or an array of 20 rows and 2 columns, got the shape \(20, 3\)\.$"):
        StochasticMDS(init=X).fit(X)
    with pytest.raises(DataError, match=r"^init contains a NaN or an infinite value in row 4\.$"):
        StochasticMDS(init=np.where(np.arange(20)[:, None] == 4, np.nan, X[:, :2])).fit(X)
    with pytest.raises(DataError, match=r"^All points of init coincide"):
        StochasticMDS(init=np.zeros((20, 2))).fit(X)
    with pytest.raises(ValueError, match=r"^n_rounds must be at least 1, got 0\.$"):
        StochasticMDS(n_rounds=0).fit(X)
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0, 3.0], "w": [1.0, 1.0, 2.0, 1.0]})
    with pytest.raises(DataError, match="StochasticMDS does not support sample weights"):
        StochasticMDS(1).fit(open_table(table, weight="w"))


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    found = StochasticMDS(2, random_state=0).fit(rows_of(50))
    before = dict(vars(found))
    with pytest.raises(DataError):
        found.fit(np.ones((20, 6)))
    assert vars(found) == before
