"""The noise experiment: added columns change scores as theory predicts, and a selection in every fold excludes them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.assessment.tables import noise, signal

from tamiz import SubsetSelector, open_table
from tamiz.assessment import compare_columns, run_noise_experiment
from tamiz.criteria import CFS, CrossValidated
from tamiz.exceptions import DataError, TamizWarning
from tamiz.models import MixedNB
from tamiz.models.folds import draw_folds
from tamiz.search import BestFirst

# Models that are faster than a forest, and the score that theory describes.
QUICK = {"models": ["naive_bayes", "knn", "tree"], "scoring": "accuracy"}


def four_hints(seed):
    """Return four weakly informative columns, independent within two classes, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(200) % 2)
    return rng.normal(size=(200, 4)) + 0.6 * (2 * y[:, None] - 1), y


@pytest.mark.slow
def test_random_columns_lower_scores_of_neighbours_and_trees_and_copies_those_of_naive_bayes():
    found = [run_noise_experiment(*four_hints(seed), n_added=[0, 50], random_state=seed, **QUICK) for seed in range(5)]

    def change(kind, name, *, chosen=False):
        return np.mean([one.score_changes(kind, name, selected=chosen)[-1].mean for one in found])

    # Mean and standard deviation of the change over ten such tables: neighbours -.152 and .022, trees -.045 and .017, naive Bayes
    # with copies -.135 and .042, trees with copies .003 and .011. The bounds are at least three standard errors of the mean of five
    # away.
    assert change("random", "knn") < -0.1
    assert change("random", "tree") < -0.02
    assert change("copies", "naive_bayes") < -0.06
    # With fifty copies naive Bayes is as accurate as with that column alone: Phi(.6) = .73, against Phi(1.2) = .88 with all four.
    assert np.mean([one.scores("copies", "naive_bayes")[-1].mean for one in found]) == pytest.approx(0.73, abs=0.05)
    # Random columns hardly affect naive Bayes, and copies hardly affect a tree.
    assert change("random", "naive_bayes") > change("random", "knn") + 0.05
    assert abs(change("copies", "tree")) < 0.02
    for name in found[0].models:
        for kind in ("random", "copies"):
            assert abs(change(kind, name, chosen=True)) < 0.02


@pytest.mark.slow
def test_where_no_column_is_added_the_scores_are_those_of_the_comparison():
    X, y = load_breast_cancer(return_X_y=True)
    added = run_noise_experiment(X, y, n_added=[0, 5], n_draws=1, n_splits=3, random_state=1)
    compared = compare_columns(SubsetSelector(CFS(), BestFirst()), X, y, n_splits=3, random_state=1)
    assert (
        list(added.models) == list(compared.models) == ["logistic", "naive_bayes", "knn", "forest", "gradient_boosting"]
    )
    assert added.scoring == compared.scorings[0] == "roc_auc"
    for name in added.models:
        all_columns, chosen = compared.all_columns[name, "roc_auc"], compared.selected[name, "roc_auc"]
        for kind in ("random", "copies"):
            assert added.scores(kind, name)[0].values == pytest.approx(all_columns.values, rel=0, abs=1e-12)
            again = added.scores(kind, name, selected=True)[0].values
            assert again == pytest.approx(chosen.values, rel=0, abs=1e-12)


def test_every_figure_is_that_of_cross_validation_on_a_table_made_by_hand():
    X, y = signal()
    found = run_noise_experiment(X, y, n_added=[0, 4, 9], n_draws=1, random_state=7, **QUICK)
    rng = np.random.default_rng(7)
    splits = draw_folds(open_table(X, y), 10, rng)
    folds = [(fold.train, fold.test) for fold in splits]
    drawn = rng.standard_normal((80, 9))
    names = [f"x{j}" for j in range(8)]
    models = {
        "naive_bayes": MixedNB(),
        "knn": make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
        "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=7),
    }
    copied = X[:, [names.index(found.copied_column)]]
    for kind, more in (("random", drawn), ("copies", np.repeat(copied, 9, axis=1))):
        for name, model in models.items():
            for at, n in enumerate(found.n_added):
                told = cross_val_score(clone(model), np.hstack([X, more[:, :n]]), y, cv=folds)
                np.testing.assert_allclose(found.scores(kind, name)[at].values, told, rtol=0, atol=1e-12)
    wide = np.hstack([X, drawn])
    for fold, (train, test) in enumerate(folds):
        chosen = SubsetSelector(CFS(), BestFirst()).fit(wide[train], y[train]).support_
        assert found.n_added_selected["random"][-1, fold] == chosen[8:].sum()
        score = MixedNB().fit(wide[train][:, chosen], y[train]).score(wide[test][:, chosen], y[test])
        assert found.scores("random", "naive_bayes", selected=True)[-1].values[fold] == score


@pytest.mark.slow
def test_all_models_are_scored_on_the_labels_of_the_user():
    X, y = signal()
    # The positive class of f1 is 1, which has the lower code.
    labels = 2 - y
    found = run_noise_experiment(X, labels, n_added=[1], n_draws=1, models=["naive_bayes", "tree"], scoring="f1")
    folds = [(fold.train, fold.test) for fold in draw_folds(open_table(X, labels), 10, np.random.default_rng(0))]
    models = {"naive_bayes": MixedNB(), "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0)}
    for name, model in models.items():
        told = cross_val_score(model, X, labels, cv=folds, scoring="f1")
        np.testing.assert_allclose(found.scores("random", name)[0].values, told, rtol=1e-12)
    words = np.where(labels == 1, "no", "yes")
    for name in models:
        with pytest.raises(DataError, match="f1: pos_label=1 is not a valid label"):
            run_noise_experiment(X, words, n_added=[1], models=[name], scoring="f1")


def test_models_of_numbers_get_the_added_columns_too():
    X, y = signal()
    found = run_noise_experiment(X, y, n_added=[3], n_draws=1, models=["gaussian_nb", "linear"], scoring="accuracy")
    folds = [(fold.train, fold.test) for fold in draw_folds(open_table(X, y), 10, np.random.default_rng(0))]
    told = cross_val_score(LinearDiscriminantAnalysis(), X, y, cv=folds)
    np.testing.assert_allclose(found.scores("random", "linear")[0].values, told, rtol=1e-12)


@pytest.mark.slow
def test_fewer_random_columns_are_the_first_of_more_and_other_draws_are_others():
    X, y = signal()
    few = run_noise_experiment(X, y, n_added=[5], n_draws=2, models=["knn"])
    many = run_noise_experiment(X, y, n_added=[5], n_draws=3, models=["knn"])
    assert few.random_scores["knn"].shape == (2, 2, 10)
    assert many.random_scores["knn"][:2].tolist() == few.random_scores["knn"].tolist()
    assert few.random_scores["knn"][0, 1].tolist() != few.random_scores["knn"][1, 1].tolist()
    assert few.copies_scores["knn"].shape == (1, 2, 10)


@pytest.mark.slow
def test_a_number_is_scored_by_r2_with_ridge_in_the_place_of_naive_bayes():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    usual = run_noise_experiment(X, y, n_added=[0, 1], n_draws=1, n_splits=2)
    assert (usual.scoring, list(usual.models), usual.copied_column) == (
        "r2",
        ["ridge", "knn", "forest", "gradient_boosting"],
        "bmi",
    )
    found = run_noise_experiment(X, y, n_added=[0, 50], models=["knn", "tree"])
    # More than the spread of the folds explains.
    assert found.score_changes("random", "tree")[-1].interval[1] < 0
    assert found.score_changes("random", "knn")[-1].interval[1] < 0


def test_mixed_columns_are_added_to_and_copied():
    _, y = signal(n=120)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=120),
            "kind": np.where(rng.random(120) < 0.2, None, np.where(y > 0, "u", "v")),
            "same": np.full(120, 3.0),
        }
    )
    found = run_noise_experiment(table, y, n_added=[0, 3], **QUICK)
    assert found.copied_column == "kind"
    assert found.n_columns == 3
    assert all(0.5 < one.mean <= 1 for name in found.models for one in found.scores("copies", name))


def test_without_a_column_of_worth_none_is_copied_and_a_choice_of_none_scores_as_no_column():
    X, y = noise(2, n=40, p=3)
    with pytest.warns(
        TamizWarning, match=r"No column of at most 20 levels has a positive merit, so none was copied\.$"
    ):
        found = run_noise_experiment(X, y, n_added=[0, 5], n_splits=4)
    assert found.copied_column is None
    assert found.added == ("random",)
    assert found.to_dict()["copies_scores"] == {}
    for name in found.models:
        assert found.scores("random", name, selected=True)[0].mean == 0.5
    assert "copies of" not in repr(found)


def test_of_many_rows_some_are_drawn_and_that_is_reported():
    X, y = signal(n=400)
    with pytest.warns(TamizWarning, match=r"100 of 400 rows, drawn at random\.$"):
        found = run_noise_experiment(X, y, n_added=[0, 5], max_rows=100, **QUICK)
    assert found.n_samples == 100
    assert found.notes == ("100 of 400 rows, drawn at random.",)


@pytest.mark.slow
def test_weights_count_and_nearest_neighbours_are_left_out():
    X, y = signal()
    weight = np.ones(80)
    weight[:20] = 3
    with pytest.warns(TamizWarning, match="Nearest neighbours accept no weights"):
        found = run_noise_experiment(X, y, n_added=[0, 5], n_draws=1, sample_weight=weight, n_splits=3)
    assert list(found.models) == ["logistic", "naive_bayes", "forest", "gradient_boosting"]
    compared = compare_columns(
        SubsetSelector(CFS(), BestFirst()),
        X,
        y,
        sample_weight=weight,
        models=list(found.models),
        scoring=["roc_auc"],
        n_splits=3,
    )
    for name in found.models:
        told = compared.all_columns[name, "roc_auc"].values
        assert found.scores("random", name)[0].values == pytest.approx(told, abs=1e-12)


@pytest.mark.slow
def test_groups_and_time_make_the_folds():
    X, y = signal()
    assert (
        run_noise_experiment(X, y, n_added=[1], groups=np.arange(80) // 4, **QUICK).folds_description
        == "10 folds of whole groups (group)"
    )
    assert (
        run_noise_experiment(X, y, n_added=[1], time=np.arange(80), **QUICK).folds_description
        == "10 folds forward in time (time)"
    )


@pytest.mark.slow
def test_the_numbers_do_not_depend_on_the_number_of_threads():
    X, y = signal()
    results = {
        repr(run_noise_experiment(X, y, n_added=[0, 10], n_draws=1, n_splits=2, n_jobs=n_jobs).to_dict())
        for n_jobs in (1, 2)
    }
    assert len(results) == 1


def test_printed_it_is_a_line_for_every_model_on_all_columns_and_on_those_chosen():
    X, y = signal()
    found = run_noise_experiment(X, y, n_added=[0, 5, 20], selection_n_added=[20], **QUICK)
    lines = repr(found).splitlines()
    assert lines[0] == "accuracy as columns are added; 10 stratified folds, 80 rows"
    assert lines[1].split() == ["random", "columns", "0", "5", "20"]
    assert [line.split("  ")[0] for line in lines[2:4]] == ["naive Bayes", "naive Bayes, selected"]
    assert lines[8].startswith("copies of x")


@pytest.mark.parametrize(
    ("y", "options", "sentence"),
    [
        (None, {}, r"^run_noise_experiment requires a target, but the target y is None\.$"),
        ([0, 1] * 10, {"n_added": [0]}, r"^n_added must contain at least one positive number of columns, got \[0\]\.$"),
        ([0, 1] * 10, {"n_added": [-1]}, r"^n_added must be .*0.*got -1"),
        ([0, 1] * 10, {"selection_n_added": [7]}, r"^selection_n_added must be among n_added, .* got 7\.$"),
        ([0, 1] * 10, {"n_draws": 0}, r"^n_draws must be .*1.*got 0"),
        ([0, 1] * 10, {"max_rows": 5}, r"^max_rows must be .*20.*got 5"),
        ([0, 1] * 10, {"models": ["trees"]}, r"^model must be one of .* got 'trees'"),
        ([0, 1] * 10, {"scoring": "acuracy"}, r"'acuracy'.*accuracy"),
        (
            [0, 1] * 10,
            {"merit": CrossValidated(LogisticRegression(), cv=2)},
            r"use a merit that refits no model, such as CFS\(\)\.$",
        ),
    ],
)
def test_bad_input_is_one_sentence(y, options, sentence):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises((ValueError, DataError), match=sentence):
        run_noise_experiment(X, y, **options)


def test_fewer_than_20_rows_are_refused():
    with pytest.raises(DataError, match=r"^A noise experiment needs at least 20 rows, and there are 12\.$"):
        run_noise_experiment(np.random.default_rng(0).normal(size=(12, 2)), [0, 1] * 6)


def test_a_column_of_very_many_levels_is_not_copied():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    table = pd.DataFrame({"place": [f"{'uv'[k % 2]}{k % 30}" for k in range(120)], "size": rng.normal(size=120) + y})
    assert run_noise_experiment(table, y, n_added=[1], **QUICK).copied_column == "size"
    with pytest.warns(TamizWarning, match="of at most 20 levels has a positive merit"):
        assert run_noise_experiment(table[["place"]], y, n_added=[1], **QUICK).copied_column is None
