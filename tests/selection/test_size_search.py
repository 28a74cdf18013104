"""SizeSearchCV: the scores of GridSearchCV over a pipeline, with one ranking in each fold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import silhouette_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from tamiz import (
    MixedNB,
    RankSelector,
    RedundancyFilter,
    SizeSearchCV,
    SubsetSelector,
    load,
    open_table,
    save,
    selection_report,
)
from tamiz.criteria import CFS, CrossValidated, FisherScore, InformationGain, LinearCoefficient, Variance
from tamiz.exceptions import DataError, TamizWarning
from tamiz.models.backends import RefitBackend
from tamiz.runtime import parallel
from tamiz.search import Backward, Beam, BestFirst, Exhaustive, Forward
from tamiz.search.base import Candidates

X, Y = load_breast_cancer(return_X_y=True)
X = X[::2, :10]
Y = Y[::2]
FOLDS = StratifiedKFold(4, shuffle=True, random_state=1)
SIZES = list(range(1, 11))
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


@pytest.fixture(autouse=True)
def one_session():
    with parallel.thread_session(1):
        yield


class Counted(InformationGain):
    """A ranking that counts its fits."""

    n_rankings = 0

    def scores(self, cache, schema):
        Counted.n_rankings += 1
        return super().scores(cache, schema)


def grid(selector, estimator, X, y, sizes, cv):
    return GridSearchCV(Pipeline([("s", selector), ("e", estimator)]), {"s__n_features": sizes}, cv=cv).fit(X, y)


@pytest.mark.parametrize(
    ("selector", "estimator"),
    [
        (RankSelector(InformationGain()), GaussianNB()),
        (RankSelector(InformationGain()), TREE),
        (RankSelector(FisherScore(), threshold=0.1), GaussianNB()),
        (SubsetSelector(CFS(), Forward()), GaussianNB()),
        (SubsetSelector(CFS(), Backward()), TREE),
        (SubsetSelector(CFS(), Beam(2)), GaussianNB()),
        (SubsetSelector(CrossValidated(GaussianNB(), cv=2), Forward()), GaussianNB()),
    ],
    ids=repr,
)
def test_scores_and_size_are_those_of_a_grid_search_over_a_pipeline(selector, estimator):
    sizes = [1, 2, 5, 8]
    search = SizeSearchCV(selector, estimator, sizes=sizes[::-1], cv=FOLDS).fit(X, Y)
    expected = grid(selector, estimator, X, Y, sizes, FOLDS)
    assert search.cv_results_["n_features"].tolist() == sizes
    for name in ("mean_test_score", "std_test_score", *(f"split{fold}_test_score" for fold in range(4))):
        np.testing.assert_array_equal(search.cv_results_[name], expected.cv_results_[name], name)
    assert search.n_features_ == expected.best_params_["s__n_features"]
    np.testing.assert_array_equal(search.get_support(), expected.best_estimator_["s"].get_support())


def test_a_numeric_target_is_scored_by_r2():
    table, y = load_diabetes(return_X_y=True)
    cv = KFold(3, shuffle=True, random_state=0)
    search = SizeSearchCV(RankSelector(LinearCoefficient()), Ridge(), cv=cv).fit(table, y)
    expected = grid(RankSelector(LinearCoefficient()), Ridge(), table, y, SIZES, cv)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], rtol=1e-12
    )
    assert search.n_features_ == expected.best_params_["s__n_features"]


def test_columns_are_ranked_once_in_every_fold_and_once_by_all_rows():
    Counted.n_rankings = 0
    SizeSearchCV(RankSelector(Counted()), GaussianNB(), cv=FOLDS).fit(X, Y)
    assert Counted.n_rankings == 5
    Counted.n_rankings = 0
    grid(RankSelector(Counted()), GaussianNB(), X, Y, SIZES, FOLDS)
    assert Counted.n_rankings == 4 * len(SIZES) + 1


@pytest.mark.filterwarnings("ignore:.*(the place in the table decided|is arbitrary)")
def test_of_equal_scores_the_smallest_size_is_taken_and_one_standard_error_is_spared():
    search = SizeSearchCV(RankSelector(FisherScore()), GaussianNB(), cv=FOLDS).fit(X, Y)
    results = search.cv_results_
    best = int(np.argmax(results["mean_test_score"]))
    assert search.n_features_ == best + 1
    folds = [results[f"split{fold}_test_score"][best] for fold in range(4)]
    allowed = results["mean_test_score"] >= np.mean(folds) - np.std(folds, ddof=1) / 2
    spared = search.set_params(rule="one_standard_error").fit(X, Y)
    assert spared.n_features_ == 1 + int(np.flatnonzero(allowed)[0]) < best + 1
    # Of columns that are all the same every size scores the same.
    same = SizeSearchCV(RankSelector(Variance()), TREE, cv=FOLDS)
    assert same.fit(np.tile(X[:, :1], 4), Y).n_features_ == 1


def test_single_sets_and_the_baseline_are_scored_on_the_folds_of_the_search():
    search = SizeSearchCV(RankSelector(FisherScore()), GaussianNB(), sizes=[10], random_state=3).fit(X, Y)
    evaluator = search.make_evaluator(open_table(X, Y))
    found = evaluator.fold_scores(Candidates.from_masks(np.array([[True] * 10, [False] * 10])))
    assert found[0].tolist() == [search.cv_results_[f"split{fold}_test_score"][0] for fold in range(5)]
    assert found[1].tolist() == [(Y[fold.test] == 1).mean() for fold in evaluator.task.folds]


def test_frames_stay_frames_and_sources_and_names_of_models_are_taken():
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)]).assign(word=np.where(X[:, 2] > 90, "large", "small"))
    search = SizeSearchCV(RankSelector(InformationGain()), LogisticRegression(max_iter=500), sizes=[2, 11], cv=3)
    kept = search.fit(table, Y).transform(table)
    assert (
        kept.columns.tolist() == search.get_feature_names_out().tolist() == table.columns[search.get_support()].tolist()
    )
    by_source = SizeSearchCV(RankSelector(InformationGain()), "naive_bayes", sizes=[2, 11]).fit(open_table(table, Y))
    assert by_source.n_features_ in (2, 11)
    assert by_source.score_name_ == "accuracy of naive Bayes"


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
def test_naive_bayes_by_its_fold_backend_scores_as_its_refits(monkeypatch, scoring):
    y, table = Y == 1, pd.DataFrame(X).add_prefix("c").assign(word=np.where(X[:, 2] > 90, "large", "small"))
    search = SizeSearchCV(RankSelector(InformationGain()), "naive_bayes", cv=3, scoring=scoring)
    by_backend = clone(search).fit(open_table(table, y))
    monkeypatch.setattr(
        "tamiz.selection.size_search.choose_backend", lambda task: (RefitBackend(task), RefitBackend.method)
    )
    by_refits = clone(search).fit(open_table(table, y))
    for name, values in by_refits.cv_results_.items():
        np.testing.assert_allclose(by_backend.cv_results_[name], values, rtol=0, atol=1e-12)


def test_groups_and_weights_count_in_the_selection_and_in_the_score():
    rng = np.random.default_rng(0)
    groups, weight = rng.integers(0, 30, len(Y)), rng.integers(0, 3, len(Y)).astype(float)
    selector, cv = RankSelector(FisherScore()), GroupKFold(3)
    search = SizeSearchCV(selector, GaussianNB(), sizes=[1, 3], cv=cv)
    found = search.fit(X, Y, sample_weight=weight, groups=groups)
    rows = np.flatnonzero(weight)
    for number, (train, test) in enumerate(cv.split(X[rows], Y[rows], groups[rows])):
        ranked = RankSelector(FisherScore()).fit(X[rows][train], Y[rows][train], sample_weight=weight[rows][train])
        for place, size in enumerate((1, 3)):
            at = ranked.ranking_[:size]
            model = GaussianNB().fit(X[rows][train][:, at], Y[rows][train], sample_weight=weight[rows][train])
            expected = model.score(X[rows][test][:, at], Y[rows][test], sample_weight=weight[rows][test])
            assert found.cv_results_[f"split{number}_test_score"][place] == pytest.approx(expected, abs=1e-12)
    whole = RankSelector(FisherScore(), n_features=found.n_features_).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(found.get_support(), whole.get_support())


def test_neither_selector_nor_estimator_need_a_target():
    def silhouette(estimator, rows):
        return silhouette_score(rows, estimator.predict(rows))

    search = SizeSearchCV(RankSelector(Variance()), KMeans(2, n_init=1), scoring=silhouette, sizes=[1, 2])
    assert not get_tags(search).target_tags.required
    assert search.fit(X).n_features_ in (1, 2)
    assert get_tags(SizeSearchCV(RankSelector(Variance()), GaussianNB())).target_tags.required
    with pytest.raises(DataError, match="SizeSearchCV requires y to be passed, but the target y is None"):
        SizeSearchCV(RankSelector(Variance()), GaussianNB()).fit(X)


def test_without_sizes_those_are_compared_that_a_search_comes_to_in_every_fold():
    grouped = SubsetSelector(CFS(), Forward(column_groups=[[0, 1, 2]]))
    found = SizeSearchCV(grouped, GaussianNB(), cv=FOLDS).fit(X, Y).cv_results_["n_features"]
    assert set(found.tolist()) <= {1, *range(3, 11)}
    assert {1, 3, 10} <= set(found.tolist())
    fixed = SubsetSelector(CFS(), Forward(fixed=[4, 5]))
    assert SizeSearchCV(fixed, GaussianNB(), cv=FOLDS).fit(X, Y).cv_results_["n_features"].tolist() == SIZES[1:]
    with pytest.raises(DataError, match="Fold 1 of 4: the search evaluated no set of 1 column; use other sizes"):
        SizeSearchCV(fixed, GaussianNB(), cv=FOLDS, sizes=[1, 3]).fit(X, Y)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"sizes": [3, 11]}, DataError, "Fold 1 of 4: n_features=11 exceeds the 10 columns of the table"),
        ({"sizes": []}, ValueError, "sizes is empty"),
        ({"sizes": [0]}, ValueError, "a size must be at least 1, got 0"),
        ({"sizes": [0.5]}, TypeError, "a size must be a whole number, got 0.5"),
        ({"rule": "least"}, ValueError, "rule must be one of 'best', 'one_standard_error', got 'least'"),
        ({"selector": "fisher"}, TypeError, "selector must be a RankSelector or a SubsetSelector, .*, got 'fisher'"),
        ({"selector": RedundancyFilter()}, TypeError, r"have a set of columns for each size, got RedundancyFilter\(\)"),
        (
            {"selector": SubsetSelector(CFS(), Exhaustive())},
            DataError,
            "An exact search records only the best set over all sizes, .* Use Forward",
        ),
        (
            {"rule": "one_standard_error", "cv": [(np.arange(200), np.arange(200, 285))]},
            ValueError,
            "needs at least 2 folds, got 1",
        ),
    ],
)
def test_input_that_cannot_be_compared_is_refused(given, error, message):
    search = SizeSearchCV(RankSelector(FisherScore()), GaussianNB(), cv=FOLDS).set_params(**given)
    with pytest.raises(error, match=message):
        search.fit(X, Y)


def test_a_size_that_a_model_cannot_be_fitted_on_is_not_chosen():
    class Picky(GaussianNB):
        def fit(self, rows, y, sample_weight=None):
            if (np.ptp(rows, axis=0) == 0).any():
                raise ZeroDivisionError
            return super().fit(rows, y)

    # Only the last row differs in the second column: where that row is a test row, the column is constant.
    table = np.column_stack([X[:, 0], np.arange(len(X)) == len(X) - 1])
    merit = RankSelector(Variance(), n_features=1)
    with pytest.warns(UserWarning, match="is constant in the training rows of the fold"):
        search = SizeSearchCV(merit, Picky(), cv=KFold(3)).fit(table, Y)
    assert search.n_features_ == 1
    assert np.isneginf(search.cv_results_["split2_test_score"][1])
    assert search.cv_results_["split0_test_score"][1] > 0.5


def test_the_report_repeats_the_choice_of_the_size_in_every_fold():
    search = SizeSearchCV(RankSelector(FisherScore()), MixedNB(), sizes=[1, 3], cv=3)
    report = selection_report(search, X, Y, n_splits=3, n_permutations=0)
    fitted = search.fit(X, Y)
    assert report.merit == fitted.cv_results_["mean_test_score"].max()
    assert report.merit_name == fitted.score_name_ == "accuracy of MixedNB"


def test_a_search_is_stored(tmp_path):
    search = SizeSearchCV(SubsetSelector(CFS(), BestFirst()), MixedNB(), cv=3).fit(X, Y)
    save(search, tmp_path / "size.tamiz")
    again = load(tmp_path / "size.tamiz")
    assert again.n_features_ == search.n_features_
    np.testing.assert_array_equal(again.transform(X), search.transform(X))
    np.testing.assert_array_equal(again.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_imputed_values_are_noted_once():
    rows = X.copy()
    rows[3, 1] = rows[5, 0] = np.nan
    merit = CrossValidated("logistic", cv=2)
    search = SizeSearchCV(SubsetSelector(merit, Forward(), n_features=1), "logistic", sizes=[1], cv=2)
    with pytest.warns(TamizWarning) as caught:
        search.fit(rows, Y)
    assert sum("missing values count as the mean" in str(one.message) for one in caught) == 1
