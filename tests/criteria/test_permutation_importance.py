"""Permutation importance as a relevance, on tables of every kind."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from tamiz import RankSelector, open_table, show_progress, study
from tamiz.criteria import PermutationImportance, registry
from tamiz.exceptions import DataError, TamizWarning

from ..reference.importance import losses as plain_losses
from ..reference.importance import orders

IRIS = load_iris(return_X_y=True)


def scores_of(relevance, X, y, **more):
    return RankSelector(relevance).fit(X, y, **more).scores_


def test_scores_are_the_importances_of_all_columns_together(monkeypatch):
    monkeypatch.setattr(
        "tamiz.models.evaluator._draw_permutations",
        lambda task, columns, fold, n_repeats: orders(len(task.folds[fold].test), fold, n_repeats),
    )
    X, y = IRIS
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    for scoring in ("accuracy", "neg_log_loss"):
        selector = RankSelector(PermutationImportance(GaussianNB(), folds, scoring, n_repeats=3)).fit(X, y)
        expected = plain_losses(GaussianNB(), X, y, folds, scoring, 3)
        assert expected.shape == (4, 4, 3)
        np.testing.assert_allclose(selector.scores_, expected.mean(axis=(0, 2)), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(selector.scores_std_, expected.std(axis=(0, 2)), rtol=1e-9, atol=1e-12)
    assert RankSelector("fisher").fit(X, y).scores_std_ is None


def test_constant_columns_and_those_left_out_score_0_and_the_rest_are_ranked():
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        same=1.5, number=np.arange(150), text=[f"a text of its own, {i}" for i in range(150)]
    )
    selector = RankSelector(PermutationImportance(GaussianNB(), cv=5))
    with pytest.warns(TamizWarning, match="2 of 7 columns are excluded"):
        selector.fit(frame, y)
    assert selector.scores_[4:].tolist() == [0, 0, 0]
    assert set(selector.ranking_[:2].tolist()) == {2, 3}
    # They change nothing for the others.
    np.testing.assert_allclose(
        selector.scores_[:4], scores_of(PermutationImportance(GaussianNB(), cv=5), X, y), atol=0.05
    )


def mixed_table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=200),
            "level": np.array(["low", "mid", "high"])[np.where(rng.random(200) < 0.2, 2, y)],
            "incomplete": np.where(rng.random(200) < 0.3, np.nan, rng.normal(size=200) + y),
        }
    )
    return frame, y, 3.0 * y + frame["incomplete"].fillna(0).to_numpy() + 0.1 * rng.normal(size=200)


@pytest.mark.parametrize("target", ["classes", "number"])
def test_without_an_estimator_mixed_columns_with_missing_values_are_scored(target):
    frame, classes, number = mixed_table()
    y, usual = (classes, "naive_bayes") if target == "classes" else (number, "ridge")
    # Encoded rows have no missing values.
    recorded = (
        nullcontext() if target == "classes" else pytest.warns(TamizWarning, match="count as the mean of the column")
    )
    with recorded:
        noise, level, incomplete = scores_of(PermutationImportance(), frame, y)
        named = scores_of(PermutationImportance(usual), frame, y)
    assert min(level, incomplete) > 0.01 > abs(noise)
    assert named.tolist() == [noise, level, incomplete]


def test_columns_that_repeat_each_other_share_their_importance():
    X, y = IRIS
    relevance = PermutationImportance(GaussianNB(), cv=5, n_repeats=10)
    alone = scores_of(relevance, X[:, [1, 3]], y)
    twice = scores_of(relevance, X[:, [1, 3, 3]], y)
    assert max(twice[1:]) < 0.7 * alone[1]


def test_a_noise_column_of_many_values_is_not_favoured_as_by_impurity():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = np.column_stack([rng.random(200), np.where(rng.random(200) < 0.3, 1 - y, y)])
    tree = DecisionTreeClassifier(random_state=0)
    by_impurity = tree.fit(X, y).feature_importances_
    noise, useful = scores_of(PermutationImportance(tree, cv=5), X, y)
    assert by_impurity[0] > by_impurity[1]
    assert useful > 0.1 > abs(noise)


def test_the_same_seed_gives_the_same_scores_and_another_one_others():
    X, y = load_diabetes(return_X_y=True)
    found = [scores_of(PermutationImportance("linear", KFold(3), random_state=seed), X, y) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).all()


def test_weights_count_in_the_fits_and_in_the_scores():
    X, y = IRIS
    # Rows of weight 0 are left out.
    kept = np.sort(np.random.default_rng(0).choice(150, 100, replace=False))
    weight = np.zeros(150)
    weight[kept] = 1.0
    relevance = PermutationImportance(GaussianNB(), cv=3)
    weighted = scores_of(relevance, X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted, scores_of(relevance, X[kept], y[kept]), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_a_frozen_model_is_scored_as_it_was_fitted():
    X, _ = load_iris(return_X_y=True)
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    # Fitted to another target than it is scored on: a model that was fitted again would have other importances.
    y = X[:, 1] > 3.2
    model = LogisticRegression().fit(X[train], X[train, 1] > 2.6)
    relevance = PermutationImportance(FrozenEstimator(model), [(train, test)], "neg_brier_score", n_repeats=100)
    with pytest.warns(TamizWarning, match=r"neg brier score of FrozenEstimator is -0\.4\d+ .*, below the -0\.1"):
        frozen = RankSelector(relevance).fit(X, y)
    refitted = RankSelector(clone(relevance).set_params(estimator=clone(model))).fit(X, y)
    expected = permutation_importance(model, X[test], y[test], scoring="neg_brier_score", n_repeats=100, random_state=0)
    np.testing.assert_allclose(frozen.scores_, expected.importances_mean, atol=0.01)
    np.testing.assert_allclose(frozen.scores_std_, expected.importances_std, atol=0.01)
    assert np.abs(frozen.scores_ - refitted.scores_).max() > 0.05


def test_a_model_below_the_baseline_is_a_warning():
    # Naive Bayes counts the copies as independent evidence and predicts a rare class too often: without some of them it is better.
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    X, y = np.column_stack([x] * 4), x + rng.normal(size=3000) > 3
    with pytest.warns(TamizWarning, match=r"accuracy of GaussianNB is 0\.88.* below the 0\.98\d* of a constant"):
        found = RankSelector(PermutationImportance(GaussianNB(), cv=3)).fit(X, y)
    assert (found.scores_ < 0).all()
    by_rank = RankSelector(PermutationImportance(GaussianNB(), cv=3, scoring="roc_auc")).fit(X, y)
    assert (by_rank.scores_ > 0).all()


def test_progress_over_the_folds_is_reported():
    done = []
    with show_progress(lambda *step: done.append(step)):
        RankSelector(PermutationImportance(GaussianNB(), cv=3)).fit(*load_iris(return_X_y=True))
    assert [part for part in done if part[0].startswith("Permuting")] == [
        ("Permuting columns in folds", n, 3) for n in range(4)
    ]


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_an_estimator_that_reads_row_numbers_of_32_bits_only_scores_sparse_rows(container):
    X, y = load_iris(return_X_y=True)
    relevance = PermutationImportance(SVC(kernel="linear"), cv=3)
    scores = RankSelector(relevance).fit(container(X), y).scores_
    np.testing.assert_array_equal(scores, RankSelector(relevance).fit(X, y).scores_)


def test_a_table_without_a_target_is_refused():
    with pytest.raises(DataError, match="PermutationImportance requires y to be passed, but the target y is None"):
        scores_of(PermutationImportance(GaussianNB()), IRIS[0], None)


@pytest.mark.parametrize(
    ("relevance", "kind", "sentence"),
    [
        (PermutationImportance(GaussianNB(), n_repeats=0), ValueError, "n_repeats must be at least 1, got 0"),
        (PermutationImportance(GaussianNB), TypeError, "must be an object with fit and predict"),
        (PermutationImportance("no_model"), ValueError, "'no_model'"),
        (PermutationImportance(GaussianNB(), scoring="acuracy"), ValueError, "did you mean 'accuracy'"),
    ],
)
def test_invalid_parameters_are_refused(relevance, kind, sentence):
    with pytest.raises(kind, match=sentence):
        scores_of(relevance, *IRIS)


def test_warnings_of_refits_are_reported_once():
    with pytest.warns(TamizWarning, match="lbfgs failed to converge") as recorded:
        scores_of(PermutationImportance(LogisticRegression(max_iter=2), cv=3), *IRIS)
    assert len(recorded) == 1


def test_a_study_ranks_by_it_only_when_asked_to():
    X, y = IRIS
    parts = {"maps": [], "assess": False}
    assert not PermutationImportance.used_by_default
    usual = study(X, y, **parts).to_dict()["ranking"]
    assert [one["id"] for one in usual["criteria"]] == [
        entry.name for entry in registry.of_kind("relevance") if entry.load().used_by_default
    ]
    asked = study(X, y, relevances=[PermutationImportance(cv=3)], **parts).to_dict()["ranking"]
    assert asked["scores"] == {"permutation_importance": scores_of(PermutationImportance(cv=3), X, y).tolist()}


def test_the_rows_of_a_group_are_never_on_both_sides():
    X, y = load_diabetes(return_X_y=True)
    seen = []

    class Watched(LinearRegression):
        def fit(self, X, y):
            seen.append(set(np.asarray(X)[:, 0]))
            return super().fit(X, y)

    groups = np.repeat(np.arange(34), 13)
    table = pd.DataFrame({"group_mean": groups + 0.5, "x": X[:, 2], "y": y, "group": groups})
    opened = open_table(table, "y", groups="group")
    RankSelector(PermutationImportance(Watched(), cv=4)).fit(opened)
    assert sum(34 - len(learned) for learned in seen) == 34
