import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from tests.models.random_cases import drawn_folds, drawn_weight, evaluator_of, flipped, refitted

from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.models.naive_bayes import GaussianNBBackend
from tamiz.search import Backward, Forward
from tamiz.search.base import Candidates


def tables():
    rng = np.random.default_rng(7)
    X, y = load_wine(return_X_y=True)
    yield X, y
    yield make_classification(120, 9, n_informative=4, n_classes=3, random_state=1)
    # Values that repeat, columns of one value or hardly another, classes of one row in a fold, numbers far from 0.
    X = rng.integers(0, 3, (90, 8)).astype(float)
    X[:, 2], X[:, 3] = 4.0, np.arange(90) == 17
    X[:, 4] = 1e6 + rng.normal(size=90)
    yield X, np.repeat(["a", "b", "c"], [50, 30, 10])


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("table", [0, pytest.param(1, marks=pytest.mark.slow), 2])
def test_any_set_under_any_folds_and_weights_has_the_score_of_its_refits(table):
    rng = np.random.default_rng(table)
    X, y = list(tables())[table]
    for _ in range(25):
        mask = rng.random(X.shape[1]) < rng.random()
        mask[rng.integers(X.shape[1])] = True
        priors = None if rng.random() < 0.8 else rng.dirichlet(np.ones(len(set(y))))
        estimator = GaussianNB(priors=priors, var_smoothing=10.0 ** rng.integers(-9, -1))
        cv, weight = drawn_folds(rng, estimator, y), drawn_weight(rng, len(y))
        evaluator = evaluator_of(X, y, estimator, cv, "accuracy", weight)
        assert isinstance(evaluator.backend, GaussianNBBackend)
        expected = refitted(estimator, X[:, mask], y, cv, "accuracy", weight)
        np.testing.assert_allclose(evaluator.fold_scores(flipped(rng, mask))[0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "scoring",
    [
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("balanced_accuracy", "f1", "f1_micro", "f1_weighted", "recall_macro")
        ),
        "f1_macro",
        "precision",
        "roc_auc",
        "neg_log_loss",
    ],
)
def test_other_scores_are_those_of_the_refits_too(scoring):
    X, y = load_breast_cancer(return_X_y=True)
    X, rng = X[::4, :8], np.random.default_rng(3)
    y, weight = y[::4], rng.random(len(X)) + 0.5
    for given in (None, weight):
        evaluator = evaluator_of(X, y, GaussianNB(), 4, scoring, given)
        for mask in rng.random((5, 8)) < 0.5:
            if mask.any():
                expected = refitted(GaussianNB(), X[:, mask], y, 4, scoring, given)
                np.testing.assert_allclose(evaluator.fold_scores(Candidates.from_masks(mask))[0], expected, rtol=1e-9)


@pytest.mark.parametrize("scoring", ["f1_macro", "precision_weighted", "balanced_accuracy", "recall_micro"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning", "ignore::UserWarning")
def test_scores_of_classes_that_a_fold_lacks_are_those_of_scikit_learn(scoring):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.repeat([0, 1, 2, 3], [30, 20, 7, 3])
    cv = [(np.setdiff1d(np.arange(60), test), test) for test in np.array_split(np.arange(60), 6)]
    evaluator = evaluator_of(X, y, GaussianNB(), cv, scoring)
    expected = cross_val_score(GaussianNB(), X, y, cv=cv, scoring=scoring)
    np.testing.assert_allclose(
        evaluator.fold_scores(Candidates.from_masks(np.ones(4, dtype=bool)))[0], expected, atol=1e-12
    )


def test_the_score_of_a_set_does_not_depend_on_where_it_was_reached_from():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.round(X), X[:, ::-1] ** 2])
    evaluator = evaluator_of(X, y, GaussianNB(), 10)
    rng = np.random.default_rng(5)
    for _ in range(50):
        mask = rng.random(12) < 0.5
        scores = {evaluator.evaluate(flipped(rng, mask))[0] for _ in range(6)}
        assert len(scores) == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_forward_selection_takes_the_path_of_scikit_learn(load):
    X, y = load(return_X_y=True)
    X = X[:, :12]
    ours = SubsetSelector(CrossValidated(GaussianNB(), cv=StratifiedKFold(5)), Forward(), n_features=3).fit(X, y)
    theirs = SequentialFeatureSelector(GaussianNB(), n_features_to_select=3, cv=5).fit(X, y)
    np.testing.assert_array_equal(ours.get_support(), theirs.get_support())


def test_backward_selection_takes_the_path_of_scikit_learn_where_no_scores_are_equal():
    X, y = make_classification(400, 8, n_informative=5, flip_y=0.1, random_state=4)
    ours = SubsetSelector(CrossValidated(GaussianNB(), cv=StratifiedKFold(5)), Backward(), n_features=3).fit(X, y)
    theirs = SequentialFeatureSelector(GaussianNB(), n_features_to_select=3, cv=5, direction="backward").fit(X, y)
    np.testing.assert_array_equal(ours.get_support(), theirs.get_support())


def test_one_row_may_be_left_out_at_a_time():
    X, y = load_iris(return_X_y=True)
    merit = evaluator_of(X, y, GaussianNB(), LeaveOneOut()).evaluate(
        Candidates.from_masks(np.array([True, False, True, True]))
    )[0]
    assert merit == cross_val_score(GaussianNB(), X[:, [0, 2, 3]], y, cv=LeaveOneOut()).mean()


def test_digits_need_no_refits():
    X, y = load_digits(return_X_y=True)
    evaluator = evaluator_of(X, y, GaussianNB(), 10)
    evaluator.backend.fitted = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluator.evaluate(Candidates.from_flips(np.zeros(64, dtype=bool), [np.array([j]) for j in range(64)]))


def test_threads_change_nothing():
    X, y = make_classification(3000, 40, n_informative=10, random_state=0)
    one, two = (
        SubsetSelector(CrossValidated(GaussianNB(), cv=10), Forward(), n_features=4, n_jobs=n).fit(X, y) for n in (1, 2)
    )
    assert [one.archive_.merits.tolist()] == [two.archive_.merits.tolist()]
    np.testing.assert_array_equal(one.support_, two.support_)


def test_no_column_is_worth_the_most_frequent_class():
    X, y = load_wine(return_X_y=True)
    evaluator = evaluator_of(X, y, GaussianNB(), 5)
    expected = cross_val_score(DummyClassifier(strategy="prior"), X, y, cv=5)
    np.testing.assert_allclose(
        evaluator.fold_scores(Candidates.from_masks(np.zeros(13, dtype=bool)))[0], expected, atol=1e-12
    )


def test_a_subclass_is_refitted():
    class Own(GaussianNB):
        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    X, y = load_iris(return_X_y=True)
    evaluator = evaluator_of(X, y, Own(), 5)
    assert "refitted" in evaluator.info.method
    assert evaluator.evaluate(Candidates.from_masks(np.ones(4, dtype=bool)))[0] == pytest.approx(1 / 3)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(12))
def test_classes_that_do_not_vary_score_alike_from_any_parent_and_as_the_refit(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 30)
    X = rng.normal(size=(30, 3))
    X[:, 2] = rng.normal(size=3)[y]
    evaluator = evaluator_of(X, y, GaussianNB(var_smoothing=0.0), 3)
    for columns in ([0, 1], [0, 2], [2], [0, 1, 2]):
        mask = np.isin(np.arange(3), columns)
        expected = cross_val_score(GaussianNB(var_smoothing=0.0), X[:, mask], y, cv=3)
        for flips in ([], [2], [0, 2], [0, 1, 2]):
            parent = mask ^ np.isin(np.arange(3), flips)
            found = evaluator.fold_scores(Candidates.from_flips(parent, [np.array(flips, dtype=np.intp)]))[0]
            np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_constant_column_is_left_to_the_refit():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 60)
    X = np.stack([np.full(60, 0.4), rng.normal(size=60)], axis=1)
    for n in range(2, 12):
        # Of rows in another order the rounding is another.
        cv, weight = KFold(n, shuffle=True, random_state=n), drawn_weight(rng, 60)
        evaluator = evaluator_of(X, y, GaussianNB(), cv, "accuracy", weight)
        expected = refitted(GaussianNB(), X[:, :1], y, cv, "accuracy", weight)
        np.testing.assert_allclose(
            evaluator.fold_scores(Candidates.from_masks(np.array([True, False])))[0], expected, atol=1e-12
        )


def test_warnings_of_numpy_about_a_constant_column_are_counted_and_do_not_leave():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.stack([rng.normal(size=60) + y, np.full(60, 3.0)], axis=1)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        evaluator = evaluator_of(X, y, GaussianNB())
        found = evaluator.fold_scores(Candidates.from_masks(np.array([[False, True], [True, True]])))
        assert not shown
        (note,) = evaluator.notes()
        wanted = [cross_val_score(GaussianNB(), X[:, columns], y) for columns in ([1], [0, 1])]
    assert note.startswith(
        "GaussianNB divided by 0 or took the logarithm of 0 in 5 of 10 fits, as for columns that are constant"
    )
    assert "encountered" not in note
    assert np.array_equal(found, wanted)
