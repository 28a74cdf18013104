"""Stability selection: halves, selections from them, the bound on noise, and bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectKBest

from tamiz import RankSelector, SubsetSelector, load, open_table, save
from tamiz.assessment.resampling import SampleScorer, draw_half_pairs, select_highest
from tamiz.criteria import CFS, FisherScore, GainRatio, InformationGain, LinearCoefficient, TreeImportance
from tamiz.criteria.base import score_columns
from tamiz.error_control import BorutaSelector, StabilitySelector
from tamiz.exceptions import DataError, TamizWarning
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.search import Forward
from tamiz.table.views import select_rows

from .test_boruta import table

pytestmark = pytest.mark.filterwarnings("ignore:.* are nearly copies")


def pairs_of(y, n_pairs=20, **options):
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    return np.array(list(draw_half_pairs(open_table(X, y, **options), n_pairs, np.random.default_rng(0))))


def test_halves_are_disjoint_and_equal_and_each_row_is_in_one_as_often_as_another():
    pairs = pairs_of(np.arange(21) / 2, 500)
    assert (pairs.sum(axis=2) == 10).all()
    assert not (pairs[:, 0] & pairs[:, 1]).any()
    np.testing.assert_allclose(pairs[:, 0].mean(axis=0), 10 / 21, atol=0.08)


def test_a_rare_class_is_halved_and_frequent_classes_are_drawn_plainly():
    rare = np.r_[np.zeros(101), np.ones(7)].astype(int)
    assert set(pairs_of(rare)[:, :, rare == 1].sum(axis=2).ravel()) == {3, 4}
    frequent = np.r_[np.zeros(60), np.ones(40)].astype(int)
    assert len(set(pairs_of(frequent)[:, :, frequent == 1].sum(axis=2).ravel())) > 3


def test_groups_are_in_one_half_as_a_whole():
    groups = np.repeat(np.arange(10), 4)
    pairs = pairs_of(np.arange(40) % 2, groups=groups)
    assert (pairs.reshape(-1, 10, 4).sum(axis=2) % 4 == 0).all()
    assert (pairs.sum(axis=2) == 20).all()


def test_equal_scores_in_the_last_places_are_chosen_at_random():
    scores = np.array([0.0, 0.0, 3.0, 0.0, 0.0])
    drawn = np.array([select_highest(scores, 2, np.random.default_rng(seed)) for seed in range(200)])
    assert (drawn.sum(axis=1) == 2).all()
    assert drawn[:, 2].all()
    assert (drawn[:, [0, 1, 3, 4]].mean(axis=0) > 0.15).all()
    assert select_highest(scores, 5, np.random.default_rng(0)).all()


@pytest.mark.parametrize("relevance", [InformationGain(), GainRatio(), InformationGain(missing="category")], ids=repr)
def test_weighted_halves_have_the_scores_of_their_rows(relevance):
    X, y = table(120)
    opened = open_table(X, y)
    scorer = SampleScorer(relevance, opened, 2)
    assert scorer.reweights
    mask = next(draw_half_pairs(opened, 1, np.random.default_rng(0)))
    expected = [score_columns(relevance, select_rows(opened, np.flatnonzero(half))).scores for half in mask]
    np.testing.assert_allclose(scorer.scores(mask.astype(float)), expected, rtol=1e-9, atol=1e-12)


def test_relevant_columns_and_copies_are_selected_from_sorted_and_rare_rows_too():
    X, y = table(600, n_noise=40)
    X = X.drop(columns="noise category")
    order = np.argsort(y, kind="stable")
    for rows in (np.arange(600), order):
        selector = StabilitySelector("information-gain", max_false=1, random_state=0).fit(X.iloc[rows], y[rows])
        assert selector.get_feature_names_out().tolist() == ["a", "b", "near a", "copy of a", "category"]
        assert selector.expected_false_selections_ <= 1
    rare = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:15]]
    numbers = X.drop(columns="category").iloc[rare]
    selected = StabilitySelector(FisherScore(), random_state=0).fit(numbers, y[rare]).get_feature_names_out()
    assert {"a", "b", "copy of a"} <= set(selected)


def test_a_wide_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 200))
    y = (X[:, 7] > 0).astype(int)
    selector = StabilitySelector(FisherScore(), max_false=1, random_state=0).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [7]
    assert selector.n_features_per_half_ == 13


@pytest.mark.parametrize("relevance", [FisherScore(), InformationGain()], ids=repr)
def test_the_number_of_false_selections_is_below_the_bound(relevance):
    false, bound = [], 0.0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, 60)), rng.integers(0, 2, 100)
        selector = StabilitySelector(relevance, n_features=12, threshold=0.6, n_pairs=25, random_state=seed).fit(X, y)
        false.append(selector.support_.sum())
        bound = selector.expected_false_selections_
    assert bound == pytest.approx(12**2 / 60 / (2 * (0.2 - 1 / 50)))
    assert np.mean(false) <= bound


@pytest.mark.parametrize("relevance", [LinearCoefficient(), TreeImportance()], ids=repr)
def test_models_are_fitted_to_weighted_halves(relevance):
    X, y = table(200, n_noise=8)
    selector = StabilitySelector(relevance, n_features=4, threshold=0.7, n_pairs=10, random_state=0).fit(X, y)
    assert {"a", "category"} <= set(selector.get_feature_names_out())


def test_selectors_select_from_halves():
    X, y = table(200, n_noise=20)
    X = X.drop(columns=["category", "noise category", "noise 0", "copy of a", "near a"])
    best = ["a", "b"]
    common = {"threshold": 0.8, "n_pairs": 10, "random_state": 0}
    for selector in (SubsetSelector(CFS(), Forward()), RankSelector(FisherScore()), SelectKBest(k=2)):
        size = {} if isinstance(selector, SelectKBest) else {"n_features": 2}
        found = StabilitySelector(selector, **size, **common).fit(X, y)
        assert found.n_features_per_half_ == 2
        assert found.get_feature_names_out().tolist() == best, selector


def test_a_selector_without_a_size_has_the_mean_size_and_a_derived_threshold():
    X, y = table(200, n_noise=40)
    X = X.drop(columns="noise 0")
    selector = StabilitySelector(SubsetSelector(CFS(), Forward()), max_false=0.5, n_pairs=10, random_state=0).fit(X, y)
    assert selector.n_features_per_half_ == pytest.approx(selector.selection_frequencies_.sum())
    assert 0.5 < selector.threshold_ < 1
    assert selector.expected_false_selections_ <= 0.5


def test_two_of_size_threshold_and_bound_determine_the_third():
    X, y = table(100, n_noise=60)
    derived = StabilitySelector(InformationGain(), n_features=5, max_false=0.4, n_pairs=10, random_state=0).fit(X, y)
    bound = derived.expected_false_selections_
    again = StabilitySelector(
        InformationGain(), n_features=5, threshold=derived.threshold_, n_pairs=10, random_state=0
    ).fit(X, y)
    assert again.expected_false_selections_ == bound <= 0.4
    np.testing.assert_array_equal(derived.selection_frequencies_, again.selection_frequencies_)
    assert again.support_.tolist() == (again.selection_frequencies_ >= derived.threshold_).tolist()


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_constant_columns_are_never_selected():
    X, y = table(80, n_noise=3)
    X = X[["a", "noise 1", "noise 2"]].assign(constant=1.0)
    fitted = StabilitySelector(FisherScore(), n_features=2, threshold=0.6, n_pairs=10, random_state=0).fit(X, y)
    assert fitted.selection_frequencies_[3] == 0
    assert fitted.selection_frequencies_.sum() == 2


def test_row_weights_are_refused():
    table = open_table(np.eye(30), [*"ab"] * 15, weight=np.ones(30))
    with pytest.raises(DataError, match=r"does not support row weights \('weight'\).* Repeat the rows"):
        StabilitySelector(FisherScore(), n_features=2).fit(table)


def test_the_result_does_not_depend_on_threads_and_is_the_same_after_loading(tmp_path):
    X, y = table(100, n_noise=60)
    one, two = (StabilitySelector("information-gain", n_pairs=60, random_state=5, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.selection_frequencies_, two.selection_frequencies_)
    save(one, tmp_path / "stability.tamiz")
    pd.testing.assert_frame_equal(load(tmp_path / "stability.tamiz").transform(X), two.transform(X))


def test_a_description_names_the_relevance_that_the_table_decided_and_the_bound(tmp_path):
    X, y = table(300)
    selector = StabilitySelector(n_features=2, n_pairs=10, random_state=0).fit(X, y)
    q = selector.selection_frequencies_.sum()
    first, second = selector.describe()
    assert first.startswith(f"Stability selection with Information gain, {q:g} columns from each of 20 halves")
    assert f": {selector.support_.sum()} of {X.shape[1]} columns " in first
    assert f"is at most {selector.expected_false_selections_:.3g}, if " in second
    assert load(save(selector, tmp_path / "s.tamiz")).describe() == [first, second]
    of_a_selector = StabilitySelector(SelectKBest(k=1), n_pairs=2, random_state=0).fit(
        X[[*"ab", "noise 1", "noise 2"]], y
    )
    assert of_a_selector.describe()[0].startswith(
        "Stability selection with SelectKBest, 1 column from each of 4 halves"
    )
    assert of_a_selector.to_dict()["relevance"] == "SelectKBest"


def test_bad_input():
    X, y = table(60, n_noise=20)
    with pytest.raises(ValueError, match="cannot all be set"):
        StabilitySelector(n_features=2, threshold=0.6, max_false=1).fit(X, y)
    with pytest.raises(ValueError, match="threshold must be above 0"):
        StabilitySelector(threshold=0).fit(X, y)
    with pytest.raises(ValueError, match="assumption must be"):
        StabilitySelector(assumption="normal").fit(X, y)
    with pytest.raises(ValueError, match="BorutaSelector has no parameter n_features"):
        StabilitySelector(BorutaSelector(), n_features=3).fit(X, y)
    with pytest.raises(TypeError, match="selector must be a relevance such as"):
        StabilitySelector(3).fit(X, y)
    with pytest.raises(
        DataError,
        match=r"needs at least 4 groups, and there are 2\. Pass more groups or none, or rank",
    ):
        StabilitySelector(n_features=3).fit(X, y, groups=np.arange(60) % 2)
    with pytest.warns(
        TamizWarning, match="is not smaller than the 15 of 26 columns that a half selects, so it excludes"
    ):
        StabilitySelector(n_features=15, threshold=0.6, n_pairs=5, random_state=0).fit(X, y)


def test_a_weak_bound_advises_only_what_is_possible():
    X = np.random.default_rng(0).normal(size=(60, 1))
    with pytest.warns(TamizWarning, match=r"so it excludes nothing: use a threshold above 0\.75\.$"):
        StabilitySelector("variance", threshold=0.75, n_features=1, random_state=0).fit(X)


def test_more_columns_of_a_half_than_the_table_has_are_refused():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    X[:, 2] = 1
    with pytest.raises(
        ValueError, match="n_features=4 exceeds the 3 columns of the table; ask for at most n_features=3"
    ):
        StabilitySelector(n_features=4).fit(X, y)
    # One column is constant.
    with pytest.warns(TamizWarning, match="the 2 of 2 columns that a half selects"):
        assert StabilitySelector(n_features=3, n_pairs=2, random_state=0).fit(X, y).n_features_per_half_ == 2


@pytest.mark.filterwarnings("ignore:.*The bound on false selections")
@pytest.mark.parametrize("selector", ["information-gain", SelectKBest(k=4)], ids=["relevance", "selector"])
def test_copies_that_halves_select_are_named_with_their_frequencies(selector):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    table = pd.DataFrame(rng.normal(size=(300, 8)), columns=[*"abcdefgh"])
    table["a"] += 2 * y
    table["b"] += 0.5 * y
    for k in range(3):
        table[f"copy {k}"] = table["a"] + 0.01 * rng.normal(size=300)
    settings = {} if isinstance(selector, SelectKBest) else {"n_features": 4}
    fitted = StabilitySelector(selector, n_pairs=10, threshold=0.6, random_state=0, **settings)
    with pytest.warns(
        TamizWarning, match=r"Columns a, copy 0, copy 1, copy 2 are nearly copies.* any of them with 1\. Copies"
    ):
        fitted.fit(table, y)
    with capture_warnings() as caught:
        fitted.fit(table[[*"abcdefgh"]], y)
    assert not any("copies" in str(one) for one in caught)
