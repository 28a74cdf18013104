"""Copies of a row are in one fold; different cases with equal values may be in different folds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier

from tamiz import SubsetSelector, open_table, selection_report
from tamiz.criteria import CrossValidated
from tamiz.models.folds import make_folds, tie_repeated_rows
from tamiz.search import Forward
from tamiz.search.base import Candidates
from tamiz.table import duplicate_detection
from tamiz.table.base import target_array
from tamiz.table.duplicate_detection import find_duplicate_rows


def customers(n_copies, n=300, *, numbers=False):
    """A table of which some rows stand a second time, shuffled, and the row that each row is a copy of."""
    X, y = make_classification(n, 6, n_informative=3, flip_y=0.3, random_state=0)
    if numbers:
        y = y + np.random.default_rng(1).normal(size=n)
    again = np.concatenate([np.arange(n), np.arange(n_copies)])
    order = np.random.default_rng(0).permutation(len(again))
    return X[again[order]], y[again[order]], again[order]


def patterns(n, n_columns, noise):
    """A table of binary columns, in which rows coincide, and a class that they tell with some noise."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (n, n_columns)).astype(float)
    return X, np.where(rng.random(n) < noise, rng.random(n) < 0.5, X[:, 0] > 0).astype(int)


def tied(X, y):
    table = open_table(X, y)
    return tie_repeated_rows(table, target_array(table))


@pytest.mark.parametrize("numbers", [False, True])
def test_copies_are_tested_in_the_fold_of_the_row_that_they_repeat(numbers):
    X, y, case = customers(60, numbers=numbers)
    folds = make_folds(open_table(X, y), 10, 0)
    assert all(not set(case[fold.train]) & set(case[fold.test]) for fold in folds.splits)
    assert sorted(np.concatenate([fold.test for fold in folds.splits]).tolist()) == list(range(360))
    assert max(len(fold.test) for fold in folds.splits) < 50
    assert folds.fold_notes == ("60 of 360 rows repeat an earlier row; equal rows are kept in one fold.",)


def test_rows_that_are_too_many_to_compare_are_reported(monkeypatch):
    X, y, _ = customers(60)
    monkeypatch.setattr(duplicate_detection, "_MAX_ROWS", 359)
    (note,) = make_folds(open_table(X, y), 10, 0).fold_notes
    assert note.startswith("360 rows were not checked for duplicates")


def test_copies_are_equal_in_the_target_and_in_every_used_column():
    X, y, _ = customers(60)
    other = np.where(np.arange(360) == 3, X[:, 2] + 1e-9, X[:, 2])
    mixed = pd.DataFrame(X).assign(level=np.array(["a", "b"])[(X[:, 0] > 0).astype(int)], y=y, note=other)
    mixed.columns = [str(name) for name in mixed.columns]
    mixed.loc[X[:, 1] > 0.5, "1"] = np.nan
    table = open_table(mixed, "y")
    found = find_duplicate_rows(table, target_array(table))
    keys = [tuple(row) for row in mixed.fillna(-9.0).to_numpy().tolist()]
    first = {}
    assert found.first_row.tolist() == [first.setdefault(key, i) for i, key in enumerate(keys)]
    assert found.n_duplicates == len(keys) - len(set(keys))


def test_nearest_neighbours_of_copies_are_as_good_as_without_them():
    X, y, case = customers(150, 300)
    once = np.unique(case, return_index=True)[1]
    merit = CrossValidated(KNeighborsClassifier(1), cv=10)
    scores = []
    for rows in (np.arange(450), once):
        table = open_table(X[rows], y[rows])
        evaluator = merit.bind(table, np.random.default_rng(0))
        (value,) = evaluator.evaluate(Candidates.from_masks(np.ones((1, 6), dtype=bool)))
        scores.append(value)
    assert scores[0] == pytest.approx(scores[1], abs=0.04)


def test_frequent_repetitions_are_divided_among_folds():
    X, y = patterns(400, 4, 0.2)
    found = tied(X, y)
    assert found[0].tolist() == list(range(400))
    assert "most rows of this table are duplicates" in found[1][0]


def test_rows_whose_equals_are_often_of_another_class_are_not_copies():
    X, y = patterns(300, 8, 0.5)
    found = tied(X, y)
    copies = find_duplicate_rows(open_table(X, y), y.astype(np.int32))
    assert found[0].tolist() == list(range(300))
    for number in (copies.n_duplicates, copies.n_equal_features, copies.n_conflicting):
        assert f"{number} " in found[1][0]


def test_a_shared_value_that_is_improbable_by_chance_identifies_copies():
    X, _ = patterns(300, 8, 0.5)
    y = np.random.default_rng(2).normal(size=300)
    X[40:60], y[40:60] = X[:20], y[:20]
    found = tied(X, y)
    assert (found[0][40:60] == np.arange(20)).all()
    assert "20 of 300 rows repeat an earlier row" in found[1][0]


def test_a_few_copies_are_kept_together_without_a_warning():
    X, y, _ = customers(2)
    found = tied(X, y)
    assert len(np.unique(found[0])) == 300
    assert found[1] == ()


def test_groups_and_times_decide_by_themselves():
    X, y, _ = customers(60)
    for roles in ({"groups": np.arange(360) // 2}, {"time": np.arange(360)}):
        assert make_folds(open_table(X, y, **roles), 5, 0).fold_notes == ()


def test_a_class_of_one_row_many_times_over_is_not_kept_in_one_fold():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)), np.zeros((40, 2))])
    folds = make_folds(open_table(X, np.repeat(["many", "one"], [60, 40])), 10, 0)
    assert len(folds) == 10
    assert folds.fold_warnings == ()


def test_reports_and_scores_state_how_copies_were_treated():
    X, y, _ = customers(60)
    sentence = "60 of 360 rows repeat an earlier row; equal rows are kept in one fold."
    selector = SubsetSelector(CrossValidated("gaussian_nb", cv=5), Forward(), random_state=0)
    assert sentence in selector.fit(X, y).merit_method_
    assert sentence in selection_report(selector, X, y, n_splits=5, n_permutations=0).notes


def test_repeats_among_300_000_rows_are_counted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300_000, 15))
    X[150_000:160_000] = X[:10_000]
    y = (X[:, 0] > 0).astype(np.int32)
    table = open_table(X, y)
    assert "10,000 of 300,000 rows" in tie_repeated_rows(table, y)[1][0]
