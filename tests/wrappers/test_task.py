"""Lots are drawn once: estimators and splitters without a seed have the search's."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from .drawn import evaluator_of

X, Y = load_iris(return_X_y=True)


def folds(cv, seed):
    parts = evaluator_of(X, Y, DecisionTreeClassifier(), cv=cv, seed=seed).task.folds
    return [fold.test.tolist() for fold in parts]


def test_a_splitter_that_draws_has_the_searchs_seed_and_stays_as_it_is():
    for cv in (StratifiedKFold(4, shuffle=True), ShuffleSplit(3)):
        assert folds(cv, 0) == folds(cv, 0)
        assert folds(cv, 0) != folds(cv, 1)
        assert cv.random_state is None


def test_a_splitter_with_a_seed_keeps_it():
    cv = StratifiedKFold(4, shuffle=True, random_state=3)
    assert folds(cv, 0) == folds(cv, 1) == [np.sort(test).tolist() for _, test in cv.split(X, Y)]


def test_an_estimator_has_a_seed_in_every_part_and_the_users_stays_as_it_is():
    given = BaggingClassifier(DecisionTreeClassifier())
    made = evaluator_of(X, Y, given).task.estimator
    assert made.random_state is not None
    assert made.estimator.random_state is not None
    assert given.random_state is None


def test_masks_are_folds():
    test = np.arange(150) % 3 == 0
    parts = evaluator_of(X, Y, DecisionTreeClassifier(), cv=[(~test, test)]).task.folds
    assert [part.test.tolist() for part in parts] == [np.flatnonzero(test).tolist()]
