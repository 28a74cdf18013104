"""The scores of selected columns are those of scikit-learn's cross_validate on a pipeline."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from tests.assessment.tables import noise, signal

from tamiz import SubsetSelector, open_table, selection_report
from tamiz.assessment import compare_columns
from tamiz.criteria import CFS, CrossValidated
from tamiz.exceptions import DataError, TamizWarning
from tamiz.models import MixedNB
from tamiz.models.folds import draw_folds
from tamiz.search import BestFirst, Forward, RandomSubsets

SEARCHED = SubsetSelector(CFS(), BestFirst())
# Models that take no forest's time.
QUICK = ["naive_bayes", "knn", "tree"]


def folds_of(X, y, seed=0, n_splits=10):
    parts = draw_folds(open_table(X, y), n_splits, np.random.default_rng(seed))
    return [(fold.train, fold.test) for fold in parts]


class Standardized(TransformerMixin, BaseEstimator):
    """Columns divided by the root of their sum of squares over n - 1, as tamiz has them: by n the penalty would weigh otherwise."""

    def fit(self, X, y=None):
        self.mean_, self.scale_ = X.mean(axis=0), X.std(axis=0, ddof=1)
        return self

    def transform(self, X):
        return (X - self.mean_) / self.scale_


def pipelines(models):
    for name, model in models.items():
        scaled = [Standardized()] if name in ("knn", "ridge", "logistic") else []
        yield name, make_pipeline(*scaled, model), make_pipeline(SEARCHED, *scaled, model)


@pytest.mark.parametrize(
    ("load", "area"),
    [
        pytest.param(load_breast_cancer, "roc_auc", marks=pytest.mark.slow),
        pytest.param(load_wine, "roc_auc_ovr_weighted", marks=pytest.mark.slow),
    ],
    ids=["cancer", "wine"],
)
def test_every_figure_of_classes_is_that_of_cross_validate_with_a_pipeline(load, area):
    X, y = load(return_X_y=True)
    found = compare_columns(SEARCHED, X, y, n_splits=3, random_state=3)
    assert found.scorings == (area, "balanced_accuracy", "accuracy")
    models = {
        "logistic": LogisticRegression(max_iter=1000),
        "naive_bayes": MixedNB(),
        "knn": KNeighborsClassifier(5),
        "forest": RandomForestClassifier(30, min_samples_leaf=2, random_state=3),
        "gradient_boosting": HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=15, learning_rate=0.15, early_stopping=False, random_state=3
        ),
    }
    assert list(found.models) == list(models)
    for name, plain, choosing in pipelines(models):
        for pipeline, scores in ((plain, found.all_columns), (choosing, found.selected)):
            told = cross_validate(pipeline, X, y, cv=folds_of(X, y, 3, 3), scoring=list(found.scorings))
            for scoring in found.scorings:
                np.testing.assert_allclose(scores[name, scoring].values, told[f"test_{scoring}"], rtol=0, atol=1e-12)


@pytest.mark.slow
def test_every_figure_of_a_number_is_that_of_cross_validate_with_a_pipeline():
    X, y = load_diabetes(return_X_y=True)
    found = compare_columns(SEARCHED, X, y, n_splits=3)
    assert found.scorings == ("r2",)
    models = {
        "ridge": Ridge(),
        "knn": KNeighborsRegressor(5),
        "forest": RandomForestRegressor(30, min_samples_leaf=2, max_features=1 / 3, random_state=0),
        "gradient_boosting": HistGradientBoostingRegressor(
            max_iter=60, max_leaf_nodes=15, learning_rate=0.15, early_stopping=False, random_state=0
        ),
    }
    assert list(found.models) == list(models)
    for name, plain, choosing in pipelines(models):
        for pipeline, scores in ((plain, found.all_columns), (choosing, found.selected)):
            told = cross_validate(pipeline, X, y, cv=folds_of(X, y, 0, 3), scoring="r2")
            np.testing.assert_allclose(scores[name, "r2"].values, told["test_score"], rtol=0, atol=1e-12)


def test_a_tree_is_compared_by_its_name():
    X, y = load_wine(return_X_y=True)
    found = compare_columns(SEARCHED, X, y, models=["tree"], scoring=["accuracy"], n_splits=3, random_state=3)
    tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=3)
    told = cross_validate(make_pipeline(SEARCHED, tree), X, y, cv=folds_of(X, y, 3, 3))["test_score"]
    assert found.selected["tree", "accuracy"].values.tolist() == told.tolist()


def test_naive_bayes_scores_as_scikit_learns_does_but_for_its_smoothing():
    X, y = load_wine(return_X_y=True)
    found = compare_columns(SEARCHED, X, y, models=["naive_bayes"], scoring=["accuracy"])
    told = cross_validate(GaussianNB(), X, y, cv=folds_of(X, y))["test_score"]
    assert found.all_columns["naive_bayes", "accuracy"].values.tolist() == told.tolist()


def test_mixed_columns_with_missing_values_are_compared_on_the_folds_of_the_report_with_its_numbers():
    X, y = signal(n=120)
    table = pd.DataFrame(X, columns=list("abcdefgh"))
    table["kind"] = np.where(np.random.default_rng(0).random(120) < 0.3, None, np.where(y > 0, "u", "v"))
    found = compare_columns(SEARCHED, table, y, models=QUICK, n_splits=4, random_state=5)
    for predictor in ("naive_bayes", "knn", "tree"):
        report = selection_report(SEARCHED, table, y, model=predictor, n_splits=4, n_permutations=0, random_state=5)
        assert found.folds_description == report.folds_description
        assert found.fold_sets.tolist() == report.fold_sets.tolist()
        assert found.scorings == (report.scoring, *report.other_scores)
        for scoring in found.scorings:
            one = report.scores_of(scoring)
            assert found.selected[predictor, scoring].values.tolist() == one.nested.values.tolist()
            assert found.all_columns[predictor, scoring].values.tolist() == one.all_columns.values.tolist()
            assert found.baseline[scoring].values.tolist() == one.baseline.values.tolist()


@pytest.mark.filterwarnings("ignore:.*(the place in the table decided|is arbitrary)")
def test_selections_of_the_folds_of_a_report_are_reused(monkeypatch):
    X, y = signal()
    # Lots are drawn, so that other seeds would choose other columns.
    drawing = SubsetSelector(CFS(), RandomSubsets(30))
    report = selection_report(drawing, X, y, n_permutations=0, n_splits=5, random_state=2)
    searched = compare_columns(drawing, X, y, models=QUICK, n_splits=5, random_state=2)
    monkeypatch.setattr(SubsetSelector, "fit", None)
    taken = compare_columns(drawing, X, y, models=QUICK, n_splits=5, report=report, random_state=2)
    assert taken.to_dict() == searched.to_dict()
    assert len(np.unique(taken.fold_sets, axis=0)) > 1


@pytest.mark.parametrize("name", ["tree", "forest"])
def test_trees_of_a_report_have_the_seed_of_the_report_in_every_fold(name):
    X, y = signal()
    trees = {
        "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=5),
        "forest": RandomForestClassifier(30, min_samples_leaf=2, random_state=5),
    }
    report = selection_report(SEARCHED, X, y, model=name, n_splits=3, n_permutations=0, random_state=5)
    for model, scores in ((trees[name], report.all_columns), (make_pipeline(SEARCHED, trees[name]), report.nested)):
        told = cross_validate(model, X, y, cv=folds_of(X, y, 5, 3), scoring="roc_auc")
        np.testing.assert_allclose(scores.values, told["test_score"], rtol=1e-12)


def test_a_difference_is_taken_fold_by_fold_with_the_corrected_interval():
    X, y = signal()
    found = compare_columns(SEARCHED, X, y, models=QUICK, n_splits=5)
    change = found.difference("tree", "accuracy")
    one, other = (cell["tree", "accuracy"].values for cell in (found.selected, found.all_columns))
    assert change.values.tolist() == (one - other).tolist()
    assert change.standard_error == pytest.approx(np.sqrt((1 / 5 + 1 / 4) * (one - other).var(ddof=1)))
    assert change.standard_deviation == pytest.approx((one - other).std(ddof=1))


def test_a_fold_that_chooses_nothing_scores_as_no_column():
    X, y = noise(2, n=40, p=3)
    found = compare_columns(SEARCHED, X, y, models=QUICK, n_splits=4)
    assert not found.fold_sets.any()
    for scores in found.selected.values():
        assert len(scores.values) == 4
    for scoring in found.scorings:
        assert found.selected["knn", scoring].values.tolist() == found.baseline[scoring].values.tolist()


def test_a_wrapper_chooses_by_its_own_model():
    X, y = load_iris(return_X_y=True)
    selector = SubsetSelector(CrossValidated(GaussianNB(), cv=3), Forward(), n_features=2)
    found = compare_columns(selector, X, y, models=QUICK, n_splits=3)
    assert found.fold_sets.sum(axis=1).tolist() == [2, 2, 2]
    assert found.selector == "accuracy of GaussianNB by Forward"


def test_rows_with_weights_count_as_often_and_nearest_neighbours_are_left_out():
    X, y = signal()
    weight = np.ones(80)
    weight[::7] = 0
    with pytest.warns(TamizWarning) as told:
        found = compare_columns(SEARCHED, X, y, sample_weight=weight, n_splits=2)
    assert list(found.models) == ["logistic", "naive_bayes", "forest", "gradient_boosting"]
    assert found.notes == (
        "12 rows of weight 0 left out where models are scored.",
        "Nearest neighbours accept no weights, and are left out.",
    )
    assert tuple(one.message.args[0] for one in told) == found.notes
    assert [note.code for note in found.notes] == ["TZ206", "TZ503"]
    left = weight > 0
    # A forest draws other rows where rows have weights, also where all are 1.
    same = ["logistic", "naive_bayes", "tree"]
    with pytest.warns(TamizWarning, match="of weight 0"):
        found = compare_columns(SEARCHED, X, y, sample_weight=weight, models=same, n_splits=3)
    without = compare_columns(SEARCHED, X[left], y[left], models=same, n_splits=3)
    assert found.n_samples == without.n_samples == left.sum()
    for key in found.selected:
        assert found.selected[key].values == pytest.approx(without.selected[key].values)


def test_groups_stay_together_and_an_area_that_a_fold_cannot_have_is_left_out_and_reported():
    X, y = signal(n=60)
    rank = np.argsort(y, kind="stable")
    # Whole groups of one class each, one of them a fold.
    groups = np.empty(60, dtype=int)
    groups[rank] = np.arange(60) // 15
    with pytest.warns(
        TamizWarning,
        match="The area under the ROC curve is left out: fold 1 has no training rows, or no test rows, of class",
    ):
        found = compare_columns(SEARCHED, X, y, groups=groups, models=QUICK, n_splits=4)
    assert found.folds_description == "4 folds of whole groups (group)"
    assert found.scorings == ("balanced_accuracy", "accuracy")


def test_of_many_rows_some_are_drawn_with_enough_of_every_class():
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(3000, dtype=int), np.ones(12, dtype=int)]
    X = rng.normal(size=(3012, 3)) + y[:, None]
    with pytest.warns(TamizWarning, match=r"2\d\d of 3,012 rows, drawn at random\.$"):
        found = compare_columns(SEARCHED, X, y, models=QUICK, max_rows=200)
    assert 200 <= found.n_samples <= 212
    assert "roc_auc" in found.scorings
    again = compare_columns(SEARCHED, X[:300], np.arange(300) % 2, models=QUICK, max_rows=300)
    assert again.n_samples == 300


def test_the_numbers_do_not_depend_on_the_number_of_threads():
    X, y = signal()
    told = {repr(compare_columns(SEARCHED, X, y, n_splits=2, n_jobs=n_jobs).to_dict()) for n_jobs in (1, 2)}
    assert len(told) == 1


def test_printed_it_is_a_table_of_every_model_and_score():
    X, y = signal()
    lines = repr(compare_columns(SEARCHED, X, y, models=QUICK, n_splits=5)).splitlines()
    assert lines[0].startswith("8 columns against ")
    assert lines[0].endswith(" selected by CFS by BestFirst; 5 stratified folds, 80 rows")
    assert len(lines) == 2 + 9
    assert lines[2].startswith("naive Bayes           roc_auc              0.")


@pytest.mark.parametrize(
    ("y", "options", "sentence"),
    [
        (None, {}, r"^compare_columns requires a target, but the target y is None\.$"),
        ([0, 1] * 10, {"models": "tree"}, r"^models must be a list of names such as"),
        ([0, 1] * 10, {"models": []}, r"^models must be a list of names such as"),
        ([0, 1] * 10, {"models": ["trees"]}, r"^model must be one of .* got 'trees'"),
        (list(np.arange(20) / 3), {"models": ["logistic"]}, r"^Logistic regression needs classes"),
        ([0, 1] * 10, {"scoring": "accuracy"}, r"^scoring must be a list of names such as"),
        ([0, 1, 2, 2] * 5, {"scoring": ["roc_auc"]}, r"^roc_auc scores two classes, and the target 'target' has 3"),
        (
            list(np.arange(20) / 3),
            {"scoring": ["accuracy"]},
            r"^accuracy scores classes, and the target .* is a number",
        ),
        ([0, 1] * 10, {"scoring": ["acuracy"]}, r"'acuracy'.*accuracy"),
        (
            [0, 1] * 10,
            {"scoring": ["r2"], "models": ["naive_bayes"], "max_rows": 1},
            r"^max_rows must be .*2.*got 1",
        ),
        (list(np.arange(20) / 3), {"models": ["naive_bayes"]}, r"^Naive Bayes needs classes"),
    ],
)
def test_bad_input_is_one_sentence(y, options, sentence):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=sentence):
        compare_columns(SEARCHED, X, y, **options)


def test_a_report_of_another_table_or_seed_is_refused():
    X, y = signal()
    report = selection_report(SEARCHED, X, y, n_permutations=0)
    with pytest.raises(ValueError, match="and seed 0, but this call has 80 rows, 10 folds and seed 1"):
        compare_columns(SEARCHED, X, y, report=report, random_state=1)
    with pytest.raises(ValueError, match="but this call has 60 rows"):
        compare_columns(SEARCHED, X[:60], y[:60], report=report)


def test_a_model_that_fails_is_named_with_its_fold(monkeypatch):
    X, y = signal()

    def fail(*_):
        raise ValueError("no luck")

    monkeypatch.setattr(KNeighborsClassifier, "fit", fail)
    with pytest.raises(DataError, match=r"^Fold 1 of 10, columns? x0.*, 5 nearest neighbours: no luck\."):
        compare_columns(SEARCHED, X, y, models=QUICK)


def test_ridge_regression_of_classes_is_that_of_their_indicators():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(TamizWarning, match="left out: ridge regression provides no probabilities"):
        found = compare_columns(SEARCHED, X, y, models=["ridge", "linear"], n_splits=3)
    assert found.scorings == ("balanced_accuracy", "accuracy")
    told = cross_validate(make_pipeline(Standardized(), RidgeClassifier()), X, y, cv=folds_of(X, y, 0, 3))
    assert found.all_columns["ridge", "accuracy"].values.tolist() == told["test_score"].tolist()
    told = cross_validate(LinearDiscriminantAnalysis(), X, y, cv=folds_of(X, y, 0, 3))
    assert found.all_columns["linear", "accuracy"].values.tolist() == told["test_score"].tolist()
