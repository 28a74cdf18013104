"""Scores that cannot be computed: errors name the fold, the columns and an alternative."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge
from sklearn.metrics import accuracy_score, get_scorer, get_scorer_names, make_scorer
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.exceptions import DataError
from tamiz.models.scoring import _REGRESSION_SCORES, resolve_scoring
from tamiz.runtime import parallel
from tamiz.search import Forward

from .error_checks import refused

X, Y = load_iris(return_X_y=True)
TWO = X[:100], Y[:100]
LOGISTIC = LogisticRegression()


def test_log_loss_needs_probabilities():
    sentence = "Fold 1 of 5, columns x0, x1, x2, x3, neg_log_loss: .*predict_proba.*change the estimator, the score"
    refused(sentence, LinearSVC(), scoring="neg_log_loss")
    refused(sentence, Perceptron(), scoring="neg_log_loss")


def test_auc_of_three_classes_needs_probabilities():
    refused("Fold 1 of 5.*roc_auc_ovr: .*predict_proba", LinearSVC(), scoring="roc_auc_ovr")


def test_auc_of_one_class_names_it():
    folds = [(np.arange(0, 100, 2), np.arange(1, 50, 2))]
    refused(
        "Fold 1 of 1, .*, roc_auc: roc_auc is nan on the 25 test rows, which are all of class 0",
        LOGISTIC,
        *TWO,
        cv=folds,
        scoring="roc_auc",
    )


def boom(estimator, X, y):
    raise RuntimeError("out of order")


def nothing(estimator, X, y):
    return float("nan")


def several(estimator, X, y):
    return np.ones(3)


def too_few(estimator):
    return 1.0


@pytest.mark.parametrize(
    ("scoring", "sentence"),
    [
        (boom, "boom: RuntimeError: out of order"),
        (nothing, "nothing: nothing is nan on the 30 test rows; a score must be finite"),
        (several, "several: several returns .*; a score must be one number"),
        (too_few, "too_few: TypeError: too_few.* takes 1 positional argument but 3 were given"),
        (make_scorer(lambda y, predicted: "high"), "returns 'high'; a score must be one number"),
    ],
)
def test_a_score_that_is_no_number_is_an_error_that_names_fold_and_columns(scoring, sentence):
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            refused(
                f"Fold 1 of 5, columns x0, x1, x2, x3, .*{sentence}.*the score or the folds.$",
                LOGISTIC,
                scoring=scoring,
            )


def test_a_score_for_the_other_kind_of_target_is_named():
    refused(
        "^roc_auc scores classes, and the target 'target' is a number; use r2 or another score of numbers.$",
        Ridge(),
        y=X[:, 0] + 0.01,
        scoring="roc_auc",
    )


WORDS_OF_Y = np.array(["setosa", "versicolor", "virginica"])[Y]


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error", "neg_max_error", "d2_absolute_error_score"])
@pytest.mark.parametrize("estimator", [GaussianNB(), KNeighborsClassifier(), BernoulliNB(), LOGISTIC], ids=repr)
def test_a_score_of_numbers_is_refused_for_classes_of_text(scoring, estimator):
    refused(
        f"^{scoring} scores numbers, and the target 'target' is classes; use accuracy, f1_macro or another score of classes.$",
        estimator,
        y=WORDS_OF_Y,
        scoring=scoring,
    )


def test_regression_scores_are_recognised_by_name():
    for name in get_scorer_names():
        of_numbers = get_scorer(name)._score_func.__module__.endswith("_regression")
        assert bool(_REGRESSION_SCORES.fullmatch(name)) == of_numbers, name


def test_of_no_column_none_is_to_be_left_out():
    refused(
        "^Fold 1 of 5, no column, boom: .*change the estimator, the score or the folds.$",
        Ridge(),
        y=X[:, 0] + 0.01,
        columns=[],
        scoring=boom,
    )


@pytest.mark.parametrize(
    ("scoring", "use"), [("roc_auc", "roc_auc_ovr"), ("f1", "f1_macro"), ("recall", "recall_macro")]
)
def test_a_score_of_two_classes_names_the_one_of_three(scoring, use):
    refused(
        f"^{scoring} scores two classes, and the target 'target' has 3; use {use} or", GaussianNB(), scoring=scoring
    )


def test_a_merit_without_a_target_is_named_as_the_user_knows_it():
    with pytest.raises(DataError, match=r"^CrossValidated requires y to be passed, but the target y is None"):
        SubsetSelector(CrossValidated(GaussianNB()), Forward()).fit(X)


def test_no_such_score_is_refused():
    refused(
        "scoring must be the name of a scikit-learn scorer.*got 'acuracy' .did you mean 'accuracy'",
        LOGISTIC,
        scoring="acuracy",
        error=ValueError,
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [np.array([0, 1, 2]), np.array(["a", "b", "c"]), np.array([False, True, True])])
@pytest.mark.parametrize("convert", [np.asarray, np.ndarray.tolist])
def test_accuracy_is_that_of_scikit_learn(weighted, labels, convert):
    rng = np.random.default_rng(0)
    y, predicted = labels[rng.integers(0, 3, (2, 50))]
    weight = rng.random(50) if weighted else None
    model = DummyClassifier()
    model.predict = lambda rows: convert(predicted[rows[:, 0]])
    rows = np.arange(50)[:, None]
    found = resolve_scoring("accuracy", has_classes=True).score(model, rows, y, weight)
    assert found == accuracy_score(y, predicted, sample_weight=weight)


def test_accuracy_refuses_continuous_predictions():
    model = DummyRegressor(strategy="constant", constant=0.5).fit([[0]], [1.0])
    with pytest.raises(ValueError, match="mix of binary and continuous"):
        resolve_scoring("accuracy", has_classes=True).score(model, np.zeros((2, 1)), np.array([0, 1]), None)
