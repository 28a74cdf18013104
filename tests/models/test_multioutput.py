"""Targets of several columns: the scores of scikit-learn's cross-validation, and errors for targets that cannot be predicted."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_linnerud, make_multilabel_classification, make_regression
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import KFold, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from tamiz import SubsetSelector, open_table
from tamiz.criteria import CFS, CrossValidated
from tamiz.exceptions import DataError
from tamiz.models.multioutput import read_multioutput
from tamiz.search import Exhaustive, Forward

from .random_cases import refitted

FOLDS = KFold(4, shuffle=True, random_state=0)
X, NUMBERS = make_regression(80, 4, n_targets=3, n_informative=2, noise=5.0, random_state=0)
ROWS, LABELS = make_multilabel_classification(100, 4, n_classes=3, random_state=0)
KINDS = np.array(["red", "green", "blue"])[LABELS + (ROWS[:, :3] > 10)]
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


def fitted(X, Y, estimator, scoring=None, search=None, cv=FOLDS, **given):
    return SubsetSelector(CrossValidated(estimator, cv, scoring), search or Exhaustive(), random_state=0).fit(
        X, Y, **given
    )


def assert_scores(selector, rows, Y, estimator, empty, scoring=None):
    """Of no column a dummy's, which reads none."""
    results = selector.cv_results_
    for number, mask in enumerate(results["support"]):
        asked, taken = (estimator, rows[:, mask]) if mask.any() else (empty, rows)
        expected = cross_val_score(asked, taken, Y, cv=FOLDS, scoring=scoring)
        np.testing.assert_array_equal(scores(results, number), expected)


def scores(results, number):
    return [results[f"split{fold}_test_score"][number] for fold in range(4)]


@pytest.mark.parametrize(
    "scoring",
    [
        None,
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("neg_mean_squared_error", make_scorer(mean_absolute_error))
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "estimator",
    [LinearRegression(), KNeighborsRegressor(3), make_pipeline(StandardScaler(), Ridge())],
    ids=lambda one: type(one).__name__,
)
def test_numbers_have_the_scores_of_cross_val_score(estimator, scoring):
    assert_scores(fitted(X, NUMBERS, estimator, scoring), X, NUMBERS, estimator, DummyRegressor(), scoring)


@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(KNeighborsClassifier(3), id="neighbours"),
        pytest.param(TREE, id="tree"),
        pytest.param(MultiOutputClassifier(LogisticRegression()), id="logistic", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("scoring", [None, "accuracy", "f1_macro"])
def test_indicators_have_the_scores_of_cross_val_score(estimator, scoring):
    selector = fitted(ROWS, LABELS, estimator, scoring, Forward())
    assert_scores(selector, ROWS, LABELS, estimator, DummyClassifier(strategy="prior"), scoring or "accuracy")


def test_classes_of_several_columns_are_right_where_all_of_them_are():
    results = fitted(ROWS, KINDS, TREE, search=Forward()).cv_results_
    for number, mask in enumerate(results["support"]):
        right = []
        for train, test in FOLDS.split(ROWS):
            if mask.any():
                predicted = TREE.fit(ROWS[train][:, mask], KINDS[train]).predict(ROWS[test][:, mask])
            else:
                predicted = DummyClassifier(strategy="prior").fit(ROWS[train], KINDS[train]).predict(ROWS[test])
            right.append(np.mean([(one == other).all() for one, other in zip(predicted, KINDS[test], strict=True)]))
        np.testing.assert_allclose(scores(results, number), right, rtol=1e-15)


def test_weights_count_in_the_fit_and_in_the_score():
    weight = np.random.default_rng(0).random(80) + 0.1
    results = fitted(X, NUMBERS, LinearRegression(), search=Forward(), sample_weight=weight).cv_results_
    for number, mask in enumerate(results["support"]):
        if mask.any():
            expected = refitted(LinearRegression(), X[:, mask], NUMBERS, FOLDS, weight=weight)
            np.testing.assert_allclose(scores(results, number), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "given",
    [LABELS.tolist(), pd.DataFrame(LABELS, columns=list("pqr")), pl.DataFrame(LABELS), sparse.csr_array(LABELS)],
    ids=["list", "pandas", "polars", "sparse"],
)
def test_a_target_of_any_container_gives_the_same(given):
    expected = fitted(ROWS, LABELS, TREE, search=Forward())
    found = fitted(open_table(ROWS), given, TREE, search=Forward())
    assert found.merit_ == expected.merit_
    np.testing.assert_array_equal(found.support_, expected.support_)


@pytest.mark.parametrize("name", ["knn", "tree", "ridge"])
def test_named_models_predict_several_targets(name):
    for rows, Y in ((X, NUMBERS), (ROWS, LABELS)):
        assert 0 < fitted(rows, Y, name, search=Forward(), cv=5).merit_ <= 1


def folds_of(X, Y, groups=None):
    table = open_table(X, groups=groups)
    merit = CrossValidated(LinearRegression(), cv=5)
    return merit.bind(table, np.random.default_rng(0), outputs=read_multioutput(Y)).task.folds


def test_folds_by_number_keep_copies_together_and_groups_whole():
    rows, Y = np.vstack([X, X[:20]]), np.vstack([NUMBERS, NUMBERS[:20]])
    for fold in folds_of(rows, Y):
        assert set(fold.test[fold.test < 20] + 80) == set(fold.test[fold.test >= 80])
    groups = np.arange(80) // 10
    for fold in folds_of(X, NUMBERS, groups):
        assert not set(groups[fold.test]) & set(groups[fold.train])


def test_the_rows_of_a_weight_of_zero_are_not_there():
    weight = np.ones(80)
    weight[::7] = 0
    found = fitted(X, NUMBERS, LinearRegression(), search=Forward(), cv=4, sample_weight=weight)
    kept = fitted(X[weight > 0], NUMBERS[weight > 0], LinearRegression(), search=Forward(), cv=4)
    np.testing.assert_array_equal(found.support_, kept.support_)
    assert found.merit_ == pytest.approx(kept.merit_, rel=1e-12)


def test_the_merits_and_the_plan_of_a_search_read_the_targets():
    selector = fitted(X, NUMBERS, LinearRegression(), search=Forward())
    masks = np.array([[True, False, True, True]])
    expected = cross_val_score(LinearRegression(), X[:, masks[0]], NUMBERS, cv=FOLDS).mean()
    assert selector.merits(masks, X, NUMBERS)[0] == pytest.approx(expected, rel=1e-15)
    assert selector.plan(X, NUMBERS).max_evaluations == 11


def test_a_journal_is_not_gone_on_with_under_other_targets(tmp_path):
    merit = CrossValidated(LinearRegression(), FOLDS)
    selector = SubsetSelector(merit, Forward(), journal=tmp_path / "a.journal").fit(X, NUMBERS)
    assert SubsetSelector(merit, Forward(), journal=tmp_path / "a.journal").fit(X, NUMBERS).merit_ == selector.merit_
    with pytest.raises(ValueError, match=r"a\.journal"):
        SubsetSelector(merit, Forward(), journal=tmp_path / "a.journal").fit(X, NUMBERS[:, ::-1])


def test_one_column_in_two_dimensions_is_one_target():
    found = fitted(X, NUMBERS[:, :1], LinearRegression(), search=Forward())
    assert found.merit_ == fitted(X, NUMBERS[:, 0], LinearRegression(), search=Forward()).merit_


def test_tags_state_which_estimators_accept_several_targets():
    assert get_tags(SubsetSelector(CrossValidated(LinearRegression()), Forward())).target_tags.multi_output
    assert not get_tags(SubsetSelector(CFS(), Forward())).target_tags.multi_output


def test_columns_that_predict_the_targets_are_found():
    data = load_linnerud()
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(20, 3)), data.target])
    selector = fitted(rows, data.target @ rng.normal(size=(3, 2)), LinearRegression(), search=Forward())
    np.testing.assert_array_equal(selector.support_, [False, False, False, True, True, True])


@pytest.mark.parametrize(
    ("merit", "Y", "said"),
    [
        (CFS(), NUMBERS, r"The target must be one column, got an array of shape \(80, 3\); pass one of them."),
        (CrossValidated(TREE), NUMBERS, "DecisionTreeClassifier predicts classes, and the 3 columns of y are numbers"),
        (
            CrossValidated(Ridge()),
            KINDS[:80],
            "Ridge predicts numbers, and the 3 columns of y are classes; pass a class",
        ),
        (CrossValidated(Ridge()), NUMBERS[:50], "The target has 50 rows and the table 80: inconsistent"),
        (
            CrossValidated(Ridge()),
            np.where(NUMBERS[7, 1] == NUMBERS, np.nan, NUMBERS),
            "The target is missing in row 7, column 1 of y; leave such rows out.",
        ),
        (CrossValidated(TREE), np.array([["a", None]] * 80, dtype=object), "missing in row 0, column 1 of y"),
        (
            CrossValidated(TREE),
            np.array([["a", 1], ["b", 2]] * 40, dtype=object),
            "The 2 columns of y cannot be read as targets",
        ),
        (
            CrossValidated(Ridge()),
            np.where(NUMBERS > 90, np.inf, NUMBERS),
            "The target is infinite in row",
        ),
        (CrossValidated("gaussian_nb"), LABELS[:80], "Fold 1 of 10, column x0, Gaussian naive Bayes: y should be a 1d"),
        (
            CrossValidated("logistic"),
            NUMBERS,
            "Logistic regression needs classes, and the target 'y' is a number; use 'ridge'",
        ),
    ],
)
def test_targets_that_cannot_be_predicted_are_refused_in_one_sentence(merit, Y, said):
    with pytest.raises(DataError, match=said):
        SubsetSelector(merit, Forward()).fit(X, Y)


def test_a_table_with_a_target_takes_no_other():
    with pytest.raises(TypeError, match="The table has its own target"):
        fitted(open_table(X, NUMBERS[:, 0]), NUMBERS, LinearRegression())
