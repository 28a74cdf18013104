"""Random draws are made once: estimators and splitters without a seed use the seed of the search."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from tamiz import SubsetSelector, open_table
from tamiz.criteria import CrossValidated
from tamiz.exceptions import TamizWarning
from tamiz.search import Forward
from tamiz.search.base import Candidates
from tamiz.table.views import select_rows

from .random_cases import evaluator_of

X, Y = load_iris(return_X_y=True)


def folds(cv, seed):
    # A number of another type than int is handed on as it is.
    cv = np.int64(cv) if isinstance(cv, int) else cv
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


def line(n=240):
    """A table sorted by its target, which its first column tells but for some noise."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.normal(size=n))
    return np.column_stack([y + 0.3 * rng.normal(size=n), rng.normal(size=n)]), y


def test_a_number_of_folds_shuffles_the_rows_and_a_splitter_does_not():
    X, y = line()
    both = np.ones((1, 2), dtype=bool)
    shuffled = evaluator_of(X, y, "ridge", cv=10)
    in_order = evaluator_of(X, y, "ridge", cv=KFold(10))
    assert (
        shuffled.evaluate(Candidates.from_masks(both))[0] > 0.7 > 0 > in_order.evaluate(Candidates.from_masks(both))[0]
    )
    assert all(np.ptp(fold.test) > 100 for fold in shuffled.task.folds)


def test_a_number_of_folds_is_shuffled_by_the_seed_and_keeps_shares_groups_and_times():
    assert folds(5, 0) == folds(5, 0) != folds(5, 1)
    for test in folds(5, 0):
        assert np.bincount(Y[test]).tolist() == [10, 10, 10]
    groups = np.arange(150) // 5
    parts = evaluator_of(X, Y, DecisionTreeClassifier(), cv=5, groups=groups).task.folds
    assert all(not set(groups[part.train]) & set(groups[part.test]) for part in parts)


def test_a_regressor_is_tested_on_classes_as_on_numbers():
    y = np.where(np.arange(150) < 1, 7, Y)
    parts = evaluator_of(X, y, Ridge(), cv=np.int64(5)).task.folds
    assert sorted(np.concatenate([part.test for part in parts]).tolist()) == list(range(150))


def test_neighbours_that_are_alike_are_warned_of_and_a_sorted_table_is_remarked_on():
    rng = np.random.default_rng(0)
    walk = rng.normal(size=200).cumsum()
    table = rng.normal(size=(200, 2))
    merit = CrossValidated("ridge", cv=5)
    with pytest.warns(TamizWarning, match=r"Neighbouring rows are alike in the target 'target': .* time= \(--time\)"):
        SubsetSelector(merit, Forward(), n_features=1).fit(table, walk)
    sorted_ = SubsetSelector(merit, Forward(), n_features=1).fit(table, np.sort(walk))
    assert "The rows are sorted by the target 'target'" in sorted_.merit_method_


def test_the_order_of_a_part_of_a_table_is_not_remarked_on():
    table = open_table(*line())
    part = select_rows(table, np.arange(0, 240, 2))
    task = CrossValidated("ridge", cv=5).bind(part, np.random.default_rng(0)).task
    assert task.folds.fold_warnings == task.folds.fold_notes == ()
