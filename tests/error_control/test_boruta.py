"""Boruta: its decisions, what it confirms in tables with known relevant columns, and bad input."""

import numpy as np
import pandas as pd
import pytest

from tamiz import RankSelector, load, save
from tamiz.criteria import FisherScore, InformationGain, LinearCoefficient, PermutationImportance, TreeImportance
from tamiz.error_control import BorutaSelector
from tamiz.exceptions import DataError, TamizWarning

from ..reference import boruta as reference

# The imputation of missing values, constant and tentative columns.
pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


def table(n=400, n_noise=12, seed=9):
    """Classes by two numbers; a noisy version and an exact copy of the first, a category, and noise with missing values."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    y = (a + b + 0.5 * rng.normal(size=n) > 0).astype(int)
    X = pd.DataFrame(rng.normal(size=(n, n_noise)), columns=[f"noise {k}" for k in range(n_noise)])
    X.iloc[::9, 0] = np.nan
    X["a"], X["b"], X["near a"], X["copy of a"] = a, b, a + 0.5 * rng.normal(size=n), a
    X["category"] = np.where(rng.random(n) < 0.2, "other", np.where(y, "yes", "no"))
    X["noise category"] = rng.choice(list("pqrs"), n)
    return X, y


RELEVANT = ["a", "b", "near a", "copy of a", "category"]


def confirmed(X, y, relevance=None, **parameters):
    return BorutaSelector(relevance, random_state=0, **parameters).fit(X, y).get_feature_names_out().tolist()


@pytest.mark.parametrize("relevance", [None, "information-gain", FisherScore()], ids=["trees", "gain", "Fisher"])
def test_relevant_columns_and_their_copies_are_confirmed_and_noise_is_rejected(relevance):
    X, y = table()
    if isinstance(relevance, FisherScore):
        X = X.drop(columns=["category", "noise category"])
    selector = BorutaSelector(relevance, random_state=0).fit(X, y)
    relevant = np.isin(X.columns, RELEVANT)
    assert (selector.status_[relevant] == "confirmed").all()
    assert (selector.status_[~relevant] != "confirmed").all()
    assert (selector.status_[~relevant] == "rejected").mean() > 0.8


def test_order_of_rows_and_rare_classes_and_numeric_targets_do_not_matter():
    X, y = table()
    order = np.argsort(y, kind="stable")
    assert confirmed(X.iloc[order], y[order]) == RELEVANT
    rare = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:20]]
    assert {"a", "b"} < set(confirmed(X.iloc[rare], y[rare]))
    assert confirmed(X.drop(columns="category"), X["a"] - X["b"]) == RELEVANT[:-1]


def test_wide_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 200))
    y = (X[:, 7] > 0).astype(int)
    status = BorutaSelector(random_state=0).fit(X, y).status_
    assert status[7] == "confirmed"
    assert (status == "rejected").sum() > 190


def test_an_interaction_is_confirmed_by_trees_and_not_by_single_columns():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 8))
    # The first column alone says nothing: it only decides in which direction the second one counts.
    y = ((X[:, 0] > 0) == (X[:, 1] + 0.4 > 0)).astype(int)
    deep = BorutaSelector(TreeImportance(n_rounds=40), random_state=0).fit(X, y)
    assert deep.get_support(indices=True).tolist() == [0, 1]


@pytest.mark.parametrize("name", ["bonferroni", "two_step"])
@pytest.mark.parametrize("alpha", [0.01, 0.2])
def test_decisions_are_those_of_the_tests_iteration_by_iteration(name, alpha):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 10))
    y = (X[:, 0] + 1.5 * rng.normal(size=60) > 0).astype(int)
    selector = BorutaSelector(
        FisherScore(), percentile=80, alpha=alpha, correction=name, max_iter=40, random_state=0
    ).fit(X, y)
    found = reference.decide(selector.importance_history_, selector.shadow_max_, alpha, getattr(reference, name))
    assert (selector.status_.tolist(), selector.hits_.tolist()) == found
    assert {"confirmed", "rejected"} <= set(found[0])
    assert selector.n_iter_ == len(selector.shadow_max_)


def test_only_the_shadows_change_for_a_deterministic_relevance():
    X, y = table()
    selector = BorutaSelector(InformationGain(), random_state=0).fit(X, y)
    history = selector.importance_history_
    expected = np.broadcast_to(RankSelector(InformationGain()).fit(X, y).scores_, history.shape)
    present = ~np.isnan(history)
    np.testing.assert_allclose(history[present], expected[present], rtol=1e-12)


@pytest.mark.slow
def test_trees_confirm_no_larger_share_of_noise_columns_than_alpha():
    n_tables, n_columns = 40, 20
    n_false = 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, n_columns)), rng.integers(0, 2, 100)
        n_false += BorutaSelector(random_state=seed, max_iter=50).fit(X, y).support_.sum()
    assert 0 < n_false / (n_tables * n_columns) <= 0.05


def test_the_rough_fix_compares_medians():
    X, y = table()
    soft = {"max_iter": 4, "random_state": 0}
    with pytest.warns(TamizWarning, match="18 columns are tentative after 4 iterations and not selected: noise 0, "):
        before = BorutaSelector(**soft).fit(X, y)
    assert not before.support_.any()
    after = BorutaSelector(rough_fix=True, **soft).fit(X, y)
    medians = np.median(before.importance_history_, axis=0)
    assert after.support_.tolist() == (medians > np.median(before.shadow_max_)).tolist()
    assert set(RELEVANT) <= set(after.get_feature_names_out())


def test_the_trees_of_coded_columns_confirm_what_the_trees_of_tables_confirm():
    class Plain(TreeImportance):
        def make_shadow_scorer(self, opened):
            return None

    X, y = table(n_noise=6)
    assert confirmed(X, y, Plain(), max_iter=12) == confirmed(X, y, max_iter=12) == RELEVANT


def test_the_result_depends_on_the_seed_and_not_on_threads_or_rows_of_weight_0():
    X, y = table()
    one, two, other = (BorutaSelector(random_state=seed, n_jobs=n).fit(X, y) for seed, n in [(3, 1), (3, 2), (4, 2)])
    np.testing.assert_array_equal(one.importance_history_, two.importance_history_)
    assert one.importance_history_.shape != other.importance_history_.shape or not np.array_equal(
        one.importance_history_, other.importance_history_, equal_nan=True
    )
    weight = np.ones(len(y))
    weight[:50] = 0
    weighted = BorutaSelector(random_state=3).fit(X, y, sample_weight=weight)
    removed = BorutaSelector(random_state=3).fit(X[50:], y[50:])
    np.testing.assert_array_equal(weighted.hits_, removed.hits_)


def test_one_column_has_five_shadows_and_constant_columns_are_rejected():
    X, y = table()
    drawn = []

    class Watched(TreeImportance):
        def make_shadow_scorer(self, opened):
            score = super().make_shadow_scorer(opened)

            def watched(columns, copied, rng):
                drawn.append(copied.tolist())
                return score(columns, copied, rng)

            return watched

    assert confirmed(X[["a"]], y, Watched()) == ["a"]
    assert set(map(tuple, drawn)) == {(0,) * 5}
    assert confirmed(X[["a"]].assign(constant=1.0), y) == ["a"]


def test_a_lower_percentile_is_a_lower_bar():
    X, y = table()
    bars = [
        BorutaSelector(FisherScore(), percentile=p, random_state=0)
        .fit(X[["a", "b", "noise 1", "noise 2"]], y)
        .shadow_max_[0]
        for p in (50, 100)
    ]
    assert bars[0] < bars[1]


def test_a_saved_selector_is_the_same(tmp_path):
    X, y = table(100)
    selector = BorutaSelector(random_state=0, rough_fix=True).fit(X, y)
    save(selector, tmp_path / "boruta.tamiz")
    found = load(tmp_path / "boruta.tamiz")
    assert found.status_.tolist() == selector.status_.tolist()
    pd.testing.assert_frame_equal(found.transform(X), selector.transform(X))


def test_bad_input():
    X, y = table(60)
    with pytest.raises(DataError, match="requires y to be passed"):
        BorutaSelector().fit(X)
    with pytest.raises(DataError, match="needs a relevance that uses the target, and Variance does not"):
        BorutaSelector("variance").fit(X, y)
    with pytest.raises(ValueError, match="correction must be"):
        BorutaSelector(correction="holm").fit(X, y)
    with pytest.raises(ValueError, match="percentile must be"):
        BorutaSelector(percentile=101).fit(X, y)
    with pytest.raises(ValueError, match="max_iter must be"):
        BorutaSelector(max_iter=0).fit(X, y)


def test_a_relevance_with_a_model_reads_encoded_columns_unless_it_is_forbidden():
    X, y = table(150)
    X = X[["a", "b", "noise 1", "noise 2"]]
    relevance = PermutationImportance("gaussian_nb", cv=2)
    assert confirmed(X, y, relevance, max_iter=15) == ["a", "b"]
    with pytest.raises(DataError, match="Added columns are not in the user's table: use a relevance whose model reads"):
        BorutaSelector(PermutationImportance("gaussian_nb", encode=False), random_state=0).fit(X, y)


def test_missing_values_are_counted_without_those_of_shadows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    y = X[:, 0] > 0
    X[:7, 1] = np.nan
    with pytest.warns(UserWarning, match=": 7 missing values count as the mean"):
        BorutaSelector(LinearCoefficient(), max_iter=1, rough_fix=True, random_state=0).fit(X, y)
