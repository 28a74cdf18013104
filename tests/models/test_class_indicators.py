"""Ridge regression for classes: the merit is R2 of explicit regressions on class indicators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import StratifiedKFold
from tests.models.random_cases import evaluator_of

from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.exceptions import TamizWarning
from tamiz.models.evaluator import ClassIndicatorEvaluator
from tamiz.models.linear import RidgeBackend
from tamiz.search import Forward
from tamiz.search.base import Candidates


def table(n=150, n_classes=2, p=5, seed=0):
    """Numbers of different units, the first two of which the classes move."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, p))
    X[:, 0] += y
    X[:, 1] -= 0.7 * (y == n_classes - 1)
    return X * 10.0 ** np.arange(-1, p - 1) + 3, y


def folds_of(y, n_splits=4):
    return list(StratifiedKFold(n_splits, shuffle=True, random_state=0).split(np.empty((len(y), 1)), y))


def explicit(X, y, folds):
    """The merit written out: standardised columns, one-hot targets, Ridge, and the errors of all classes together."""
    scores = []
    indicators = (y[:, None] == np.unique(y)).astype(float)
    for train, test in folds:
        z = (X - X[train].mean(axis=0)) / X[train].std(axis=0, ddof=1)
        told = Ridge().fit(z[train], indicators[train]).predict(z[test])
        spread = ((indicators[test] - indicators[test].mean(axis=0)) ** 2).sum()
        scores.append(1 - ((indicators[test] - told) ** 2).sum() / spread)
    return scores


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_scores_are_those_of_explicit_regressions_on_one_hot_targets(n_classes):
    X, y = table(n_classes=n_classes)
    folds = folds_of(y)
    evaluator = evaluator_of(X, y, "ridge", cv=folds)
    assert isinstance(evaluator, ClassIndicatorEvaluator)
    masks = np.array([[True] * 5, [True, False, False, False, False], [False, True, False, True, True]])
    found = evaluator.fold_scores(Candidates.from_masks(masks))
    for mask, scores in zip(masks, found, strict=True):
        np.testing.assert_allclose(scores, explicit(X[:, mask], y, folds), rtol=0, atol=1e-12)
    assert evaluator.evaluate(Candidates.from_masks(masks)) == pytest.approx(found.mean(axis=1), abs=1e-15)


def test_the_products_of_the_columns_are_computed_once_for_all_classes(monkeypatch):
    X, y = table(n_classes=4)
    folds, calls = folds_of(y), []
    read_folds = RidgeBackend.read_folds
    monkeypatch.setattr(RidgeBackend, "read_folds", lambda *spans: calls.append(spans) or read_folds(*spans))
    masks = np.random.default_rng(0).random((20, 5)) < 0.5
    masks[:, 0] = True
    candidates = Candidates.from_masks(masks)
    found = evaluator_of(X, y, "ridge", cv=folds).fold_scores(candidates)
    assert len(calls) == 1
    monkeypatch.setattr(RidgeBackend, "share_products", lambda *_: None)
    np.testing.assert_allclose(evaluator_of(X, y, "ridge", cv=folds).fold_scores(candidates), found, rtol=0, atol=1e-12)
    assert len(calls) == 1 + 4


def test_the_score_of_no_column_is_that_of_the_classes_shares():
    X, y = table(n_classes=3)
    folds = folds_of(y)
    indicators = (y[:, None] == np.arange(3)).astype(float)
    expected = [
        1
        - ((indicators[test] - indicators[train].mean(axis=0)) ** 2).sum()
        / ((indicators[test] - indicators[test].mean(axis=0)) ** 2).sum()
        for train, test in folds
    ]
    none = Candidates.from_masks(np.zeros((1, 5), dtype=bool))
    np.testing.assert_allclose(evaluator_of(X, y, "ridge", cv=folds).fold_scores(none)[0], expected, atol=1e-12)


def test_it_is_the_model_of_ridge_classifier_by_the_squared_error_of_its_decision_values():
    X, y = table()
    folds = folds_of(y)
    expected = []
    for train, test in folds:
        z = (X - X[train].mean(axis=0)) / X[train].std(axis=0, ddof=1)
        # Its targets are -1 and 1.
        told = (RidgeClassifier().fit(z[train], y[train]).decision_function(z[test]) + 1) / 2
        expected.append(1 - ((y[test] - told) ** 2).sum() / ((y[test] - y[test].mean()) ** 2).sum())
    every = Candidates.from_masks(np.ones((1, 5), dtype=bool))
    np.testing.assert_allclose(evaluator_of(X, y, "ridge", cv=folds).fold_scores(every)[0], expected, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_of_two_is_the_row_twice_and_one_of_zero_is_no_row(n_classes):
    X, y = table(n_classes=n_classes)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    folds = folds_of(y)
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = [tuple(np.flatnonzero(np.isin(again, rows)) for rows in fold) for fold in folds]
    every = Candidates.from_masks(np.ones((1, 5), dtype=bool))
    weighted = evaluator_of(X, y, "ridge", cv=folds, weight=weight).fold_scores(every)
    np.testing.assert_allclose(
        weighted, evaluator_of(X[again], y[again], "ridge", cv=repeated).fold_scores(every), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(weighted[0], explicit(X[again], y[again], repeated), rtol=0, atol=1e-12)


def test_a_rare_class_moves_the_merit_where_accuracy_stays_that_of_the_frequent_one():
    rng = np.random.default_rng(0)
    y = (np.arange(400) % 20 == 0).astype(int)
    X = rng.normal(size=(400, 2))
    X[:, 0] += y
    alone = Candidates.from_masks(np.eye(2, dtype=bool))
    by_accuracy = evaluator_of(X, y, "ridge", cv=folds_of(y), scoring="accuracy").evaluate(alone)
    assert by_accuracy.tolist() == [0.95, 0.95]
    hint, noise = evaluator_of(X, y, "ridge", cv=folds_of(y)).evaluate(alone)
    assert hint > 0.02 > 0 > noise


def test_mixed_columns_with_missing_values_are_regressed_on():
    X, y = table(n_classes=3)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["kind"] = np.where(np.arange(len(y)) % 9 == 0, None, np.where(y == 2, "u", "v"))
    frame.loc[::11, "a"] = np.nan
    with pytest.warns(
        TamizWarning, match="31 missing values count as the mean of the column, or as every level in its"
    ):
        selector = SubsetSelector(CrossValidated("ridge", cv=4), Forward()).fit(frame, y)
    assert "kind" in selector.get_feature_names_out()
    assert selector.merit_name_ == "R2 of ridge regression on the classes"
    assert 0.3 < selector.merit_ < 1


def test_a_score_that_is_asked_for_is_that_of_the_classifier():
    X, y = load_wine(return_X_y=True)
    selector = SubsetSelector(CrossValidated("ridge", cv=3, scoring="accuracy"), Forward(), n_features=3).fit(X, y)
    assert "accuracy" in selector.merit_name_
    assert 0.8 < selector.merit_ <= 1
