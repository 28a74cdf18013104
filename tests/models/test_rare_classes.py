"""Classes with too few rows for the folds are excluded and named; the other classes are scored."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from tamiz import SubsetSelector, open_table, selection_report
from tamiz.assessment import compare_columns, run_noise_experiment
from tamiz.criteria import CFS, CrossValidated
from tamiz.exceptions import TamizWarning
from tamiz.models.folds import describe_rare_classes, find_rare_classes, make_folds
from tamiz.search import Forward
from tamiz.search.base import Candidates
from tamiz.selection.permutation_null import target_shuffle

LEFT_OUT = r"Class 'z' \(1 row\) is left out of the folds"


def table(*sizes, names="abz"):
    rng = np.random.default_rng(0)
    y = np.repeat(list(names[: len(sizes)]), sizes)
    X = rng.normal(size=(len(y), 3))
    X[:, 0] += 2 * (y == "a")
    order = rng.permutation(len(y))
    return X[order], y[order]


def evaluator(X, y, estimator, **more):
    table = open_table(X, y)
    return CrossValidated(estimator, **more).bind(table, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("counts", "n_splits", "rare"),
    [
        # 4 rows are too few for 5 folds, and 4 of 1,004 rows are not missed.
        ([500, 500, 4], 10, [False, False, True]),
        ([500, 500, 5], 10, [False, False, False]),
        ([500, 500, 4], 4, [False, False, False]),
        # 3 of 43 rows are more than 5 %.
        ([20, 20, 3], 10, [False, False, False]),
        # One row cannot be both learned and tested, however large its share.
        ([3, 3, 1], 10, [False, False, True]),
        ([3, 3, 1, 1, 1, 0], 2, [False, False, True, True, True, False]),
        # Classes of one size are left out together or not at all: those of 2 rows have 4 %, with those of 3 rows 10 %.
        ([45, 45, 2, 2, 3, 3], 10, [False, False, True, True, False, False]),
        # Two classes remain.
        ([1000, 4], 10, [False, False]),
        ([1000, 1], 10, [False, False]),
        ([1000, 4, 1], 10, [False, False, True]),
        ([1, 1, 1], 10, [False, False, False]),
    ],
)
def test_rare_classes_are_left_out_while_they_are_few_and_two_remain(counts, n_splits, rare):
    assert find_rare_classes(np.array(counts), n_splits).tolist() == rare


def test_five_classes_are_named_the_smallest_first():
    counts = np.array([900, 90, 1, 1, 2, 1, 1, 2, 1])
    (sentence,) = describe_rare_classes(counts, counts < 3, [f"c{k}" for k in range(9)])
    assert "7 classes, 9 of 999 rows" in sentence
    assert "'c2' (1 row), 'c3' (1 row), 'c5' (1 row), 'c6' (1 row), 'c8' (1 row) and 2 more" in sentence


@pytest.mark.parametrize("roles", [{}, {"groups": np.arange(101) // 3}])
def test_folds_have_no_row_of_a_class_of_one_row_and_every_other_row(roles):
    X, y = table(60, 40, 1)
    folds = make_folds(open_table(X, y, **roles), 5, 0)
    assert len(folds) == 5
    assert folds.used_rows.tolist() == np.flatnonzero(y != "z").tolist()
    tested = np.concatenate([fold.test for fold in folds.splits])
    assert sorted(tested.tolist()) == folds.used_rows.tolist()
    assert [note for note in folds.fold_warnings if "'z' (1 row)" in note]


def test_a_selection_is_assessed_on_the_other_classes():
    X, y = table(60, 40, 1)
    for selector in (
        SubsetSelector(CFS(), Forward()),
        SubsetSelector(CrossValidated(GaussianNB(), cv=3), Forward(), random_state=0),
    ):
        with pytest.warns(TamizWarning, match=LEFT_OUT):
            report = selection_report(selector, X, y, n_splits=5, n_permutations=3)
        # Those of the folds: what is neither learned nor tested is no row that a score speaks of.
        assert report.n_samples == 100
        assert report.nested.mean > report.baseline.mean
        assert sum("'z'" in note for note in report.notes) == 1


@pytest.mark.slow
def test_models_are_compared_by_the_area_of_the_other_classes_and_columns_are_added():
    X, y = table(60, 40, 1)
    with pytest.warns(TamizWarning, match=LEFT_OUT):
        compared = compare_columns(SubsetSelector(CFS(), Forward()), X, y, n_splits=5)
    assert "roc_auc" in compared.scorings
    assert compared.n_samples == 100
    assert compared.all_columns["naive_bayes", "roc_auc"].mean > 0.8
    with pytest.warns(TamizWarning, match=LEFT_OUT):
        added = run_noise_experiment(X, y, n_added=[2], n_splits=5)
    assert added.n_samples == 100
    assert all(np.isfinite(scores).all() for scores in added.random_scores.values())


@pytest.mark.parametrize(
    "estimator", [GaussianNB(), KNeighborsClassifier(), DecisionTreeClassifier(random_state=0), "naive_bayes"]
)
@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "roc_auc", "neg_log_loss"])
def test_a_wrapper_scores_what_it_scores_without_the_rows(estimator, scoring):
    X, y = table(60, 40, 1)
    kept = y != "z"
    every = Candidates.from_masks(np.ones((1, 3), dtype=bool))
    found = evaluator(X, y, estimator, cv=4, scoring=scoring)
    assert [note for note in found.notes() if "'z' (1 row)" in note]
    np.testing.assert_array_equal(
        found.fold_scores(every), evaluator(X[kept], y[kept], estimator, cv=4, scoring=scoring).fold_scores(every)
    )


def test_a_class_without_rows_in_listed_folds_is_no_class_of_the_models():
    X, y = table(60, 40, 1)
    kept = np.flatnonzero(y != "z")
    folds = list(StratifiedKFold(4).split(X[kept], y[kept]))
    listed = [(kept[train], kept[test]) for train, test in folds]
    every = Candidates.from_masks(np.ones((1, 3), dtype=bool))
    np.testing.assert_array_equal(
        evaluator(X, y, "naive_bayes", cv=listed, scoring="roc_auc").fold_scores(every),
        evaluator(X[kept], y[kept], "naive_bayes", cv=folds, scoring="roc_auc").fold_scores(every),
    )


def test_a_shuffled_target_keeps_the_rows_that_are_in_no_fold():
    X, y = table(60, 40, 1)
    opened = open_table(X, y)
    folds = make_folds(opened, 5, 0)
    drawn = target_shuffle(opened, folds.used_rows).draw(np.random.default_rng(0))
    codes = np.searchsorted(["a", "b", "z"], y)
    assert drawn[codes == 2].tolist() == [2]
    assert sorted(drawn.tolist()) == sorted(codes.tolist())
    assert (drawn != codes).any()
