"""Objects with only `fit` and `predict` are adapted to estimators of scikit-learn."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from tamiz import SubsetSelector, selection_report
from tamiz.criteria import CrossValidated
from tamiz.exceptions import DataError
from tamiz.search import Forward
from tamiz.search.base import Candidates

from .random_cases import evaluator_of


class Stump:
    """The better side of the mean of the first column, with nothing of scikit-learn's."""

    def __init__(self, flip=False):
        self.flip = flip

    def fit(self, X, y):
        self.cut, self.labels = np.asarray(X)[:, 0].mean(), sorted(set(y))
        above = np.asarray(X)[:, 0] > self.cut
        self.up = (np.mean((np.asarray(y) == self.labels[-1]) == above) > 0.5) != self.flip

    def predict(self, X):
        above = np.asarray(X)[:, 0] > self.cut
        return [self.labels[-1 if side == self.up else 0] for side in above]

    def predict_proba(self, X):
        second = np.asarray(X)[:, 0] * (1 if self.up else -1)
        return np.stack([-second, second], axis=1)


class Stubborn(Stump):
    """Whose parameters a constructor changes, and whose predictions are a column."""

    def __init__(self, flip=False):
        self.flip = bool(flip)

    def get_params(self, deep=True):
        return {"flip": int(self.flip)}

    def predict(self, X):
        return np.array(super().predict(X))[:, None]


class Mean:
    """The mean of the columns, weighted by nothing."""

    def fit(self, X, y, sample_weight=None):
        self.shift = np.average(y - X.mean(axis=1), weights=sample_weight)
        return self

    def predict(self, X):
        return X.mean(axis=1) + self.shift


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [False, True]])
@pytest.mark.parametrize("model", [Stump(), Stubborn(), Stump(flip=True)], ids=["plain", "stubborn", "flipped"])
def test_an_object_with_fit_and_predict_is_scored_by_its_predictions(model, labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.array(labels)[(X[:, 1] + rng.normal(size=60) > 0).astype(int)]
    evaluator = evaluator_of(X, y, model, StratifiedKFold(4))
    wanted = []
    for train, test in StratifiedKFold(4).split(X, y):
        fitted = Stump(model.flip)
        fitted.fit(X[train, 1:2], y[train])
        wanted.append(np.mean(np.array(fitted.predict(X[test, 1:2])) == y[test]))
    assert evaluator.fold_scores(Candidates.from_masks(np.array([False, True, False])))[0].tolist() == wanted
    assert evaluator.info.name == f"accuracy of {type(model).__name__}"
    assert not hasattr(model, "cut")


def test_an_object_is_asked_for_probabilities_by_a_score_of_them():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, :1], y[50:]
    found = evaluator_of(X, y, Stump(), StratifiedKFold(4), "roc_auc").fold_scores(
        Candidates.from_masks(np.array([True]))
    )[0]
    wanted = [roc_auc_score(y[test], X[test, 0]) for _, test in StratifiedKFold(4).split(X, y)]
    np.testing.assert_allclose(found, wanted)


def test_an_object_predicts_a_number_where_the_target_is_one_and_takes_weights_where_its_fit_does():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(60, 3)), rng.integers(1, 4, 60).astype(float)
    y = X.mean(axis=1) + rng.normal(size=60) / 9
    found = evaluator_of(X, y, Mean(), KFold(3), weight=weight).fold_scores(
        Candidates.from_masks(np.ones(3, dtype=bool))
    )[0]
    wanted = [
        r2_score(y[test], Mean().fit(X[train], y[train], weight[train]).predict(X[test]), sample_weight=weight[test])
        for train, test in KFold(3).split(X)
    ]
    np.testing.assert_allclose(found, wanted)
    with pytest.raises(DataError, match="Stump accepts no sample_weight in fit"):
        evaluator_of(X, y > 0, Stump(), weight=weight)


def test_a_function_that_scores_reads_the_users_object():
    X, y = load_iris(return_X_y=True)
    found = evaluator_of(X, y, Stump(), 3, lambda model, *_: float(type(model) is Stump and hasattr(model, "cut")))
    assert found.evaluate(Candidates.from_masks(np.ones(4, dtype=bool))).tolist() == [1.0]


def test_a_search_is_gone_on_with_under_the_same_object_only():
    X, y = load_iris(return_X_y=True)
    facts = [evaluator_of(X, y, model).identity_fields()["estimator"] for model in (Stump(), Stump(), Stump(flip=True))]
    assert facts[0] == facts[1] != facts[2]
    assert " at 0x" not in facts[0]


def test_a_report_predicts_with_the_object_of_the_wrapper():
    X, y = load_iris(return_X_y=True)
    selector = SubsetSelector(CrossValidated(Stump(), 3), Forward(), n_features=2)
    report = selection_report(selector, X[50:], y[50:], n_splits=3, n_permutations=0)
    assert report.model == "Stump"
