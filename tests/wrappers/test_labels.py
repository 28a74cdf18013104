"""Classes have the labels that the user gave them, for scorers, predictors and selectors to which they mean something."""

import numpy as np
import pytest
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from tests.assessment.tables import signal

from tamiz import RankSelector, open_source, selection_report
from tamiz.criteria import FisherScore
from tamiz.sources.views import rows_of, with_target
from tamiz.wrappers.folds import make_folds
from tamiz.wrappers.labels import class_labels, labels_of

ALL = RankSelector(FisherScore(), n_features=4)


def rare(labels, n=150):
    """Rows of which a fifth are of the first label."""
    rng = np.random.default_rng(0)
    second = (rng.random(n) > 0.2).astype(int)
    X = rng.normal(size=(n, 4))
    X[:, 0] -= 1.2 * second
    return X, np.array(labels)[second]


def beside(X, y, predictor, scoring):
    """The report's honest scores, and those of scikit-learn on the same folds."""
    report = selection_report(ALL, X, y, predictor=predictor, scoring=scoring, n_splits=4, n_permutations=0)
    seed = np.random.default_rng(0).integers(0, 2**31, 2).tolist()[0]
    cv = [(fold.train, fold.test) for fold in make_folds(open_source(X, y), 4, seed).parts]
    return report.nested.values.tolist(), cross_val_score(predictor, X, y, scoring=scoring, cv=cv).tolist()


@pytest.mark.parametrize("labels", [[1, 2], [2, 1], [0, 1], [False, True], [-1, 1], [1.0, 2.0]])
def test_f1_is_that_of_the_class_1(labels):
    ours, theirs = beside(*rare(labels), GaussianNB(), "f1")
    assert ours == theirs


@pytest.mark.parametrize("labels", [[1, 2], [0, 1], [False, True], ["rare", "often"]])
def test_the_positive_label_is_the_one_that_is_named(labels):
    X, y = rare(labels)
    ours, theirs = beside(X, y, GaussianNB(), make_scorer(recall_score, pos_label=labels[0]))
    assert ours == theirs
    other, _ = beside(X, y, GaussianNB(), make_scorer(recall_score, pos_label=labels[1]))
    assert other != ours


@pytest.mark.parametrize("labels", [[1, 2], [2, 1], [False, True], ["rare", "often"]])
def test_weights_are_those_of_the_classes_that_are_named(labels):
    X, y = rare(labels)
    predictor = LogisticRegression(class_weight={labels[0]: 50, labels[1]: 1})
    ours, theirs = beside(X, y, predictor, "accuracy")
    assert ours == theirs
    assert np.mean(ours) < 0.7
    selector = SelectFromModel(predictor)
    report = selection_report(selector, X, y, n_splits=2, n_permutations=0)
    assert report.support.tolist() == selector.fit(X, y).get_support().tolist()


@pytest.mark.parametrize("predictor", ["naive_bayes", "knn", "tree"])
@pytest.mark.parametrize("scoring", ["roc_auc", make_scorer(recall_score, pos_label=2)], ids=["area", "recall"])
def test_named_predictors_say_labels_too(predictor, scoring):
    X, y = signal()
    found = selection_report(ALL, X, y + 1, predictor=predictor, scoring=scoring, n_splits=3, n_permutations=0)
    assert found.nested.mean > 0.7
    if scoring == "roc_auc":
        assert found.baseline.mean == 0.5


def test_a_label_that_is_not_there_is_an_error_that_says_which_are():
    X, y = rare(["rare", "often"])
    with pytest.raises(ValueError, match=r"^Fold 1 of 10: pos_label=1 is not a valid label: .*\['often' 'rare'\]"):
        selection_report(ALL, X, y, scoring="f1", n_permutations=0)


@pytest.mark.parametrize(
    ("levels", "labels"),
    [
        (["10", "9"], [9, 10]),
        (["-1", "0"], [-1, 0]),
        (["False", "True"], [False, True]),
        (["0.5", "1"], [0.5, 1.0]),
        (["1e+20", "2"], [2.0, 1e20]),
        (["01", "1"], ["01", "1"]),
        (["1.50", "2"], ["1.50", "2"]),
        (["a", "1"], ["1", "a"]),
        (["false", "true"], ["false", "true"]),
        (["True", "a"], ["True", "a"]),
    ],
)
def test_labels_are_numbers_where_every_one_is_written_as_one(levels, labels):
    y = np.array(levels, dtype=object)[np.arange(20) % 2]
    source = open_source(np.random.default_rng(0).normal(size=(20, 1)), y)
    found = class_labels(source.schema).tolist()
    assert (found, list(map(type, found))) == (labels, list(map(type, labels)))


def test_labels_follow_rows_and_shuffled_targets():
    X, y = rare([3, 7], n=20)
    source = open_source(X, y)
    assert labels_of(source).tolist() == y.tolist()
    assert labels_of(rows_of(source, np.arange(5, 9))).tolist() == y[5:9].tolist()
    assert labels_of(with_target(source, np.zeros(20, dtype=np.int32))).tolist() == [3] * 20
    assert labels_of(open_source(X, X[:, 0])).tolist() == X[:, 0].tolist()
