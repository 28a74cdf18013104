"""Tree importance: against a plain walk of the rows down the trees, a tree calculated by hand, and invariances."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tamiz import RankSelector, open_table
from tamiz.criteria import TreeImportance, tree_importance
from tamiz.exceptions import DataError, TamizWarning
from tamiz.runtime import parallel

from ..reference.trees import walk_importance


def scores_of(X, y, *, sample_weight=None, **parameters):
    return RankSelector(TreeImportance(**parameters)).fit(X, y, sample_weight=sample_weight).scores_


def test_a_tree_drawn_by_hand():
    # 40 rows, 20 of each class: a separates 16 rows; among the 24 others c separates the 4 of class n; b never helps.
    a = np.repeat([0.0, 1.0], [16, 24])
    b = np.tile([0.0, 1.0], 20)
    c = np.r_[np.zeros(16), np.ones(4), np.zeros(20)]
    y = np.repeat([0, 1], 20)
    X = pd.DataFrame({"a": a, "b": b, "c": c}) + 0.5
    # Three columns are one set. One split: Gini 1/2 at the root; after it 16 rows are pure and 24 rows have 4 of class n.
    explained = 1 - 24 / 40 * (2 * 4 / 24 * 20 / 24) / 0.5
    np.testing.assert_allclose(scores_of(X, y, max_depth=1), [explained, 0, 0], rtol=1e-12)
    # Two levels explain everything. The split on a has all rows and counts 1, the split on c has 24 of 40 and counts half of that.
    use = np.array([1, 0, 0.5 * 24 / 40])
    np.testing.assert_allclose(scores_of(X, y, max_depth=2), use / use.sum(), rtol=1e-12)


def of_one_set(monkeypatch):
    monkeypatch.setattr(tree_importance, "split_columns", lambda n, _: [np.arange(n)])


# The seed of the tree, which decides between equally good splits.
SEED = int(np.random.default_rng(0).integers(2**31))


def least(y, total):
    return 2 * np.log(total) / total * y.var()


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_the_importance_for_classes_is_that_of_rows_walked_down_a_tree_by_gini(monkeypatch, depth):
    of_one_set(monkeypatch)
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :7]
    # The Gini impurity of two classes is twice the variance of one's indicator.
    tree = DecisionTreeClassifier(max_depth=depth, min_impurity_decrease=2 * least(y, len(y)), random_state=SEED).fit(
        X, y
    )
    expected = walk_importance(tree.tree_, X, y[:, None])
    np.testing.assert_allclose(scores_of(X, y, max_depth=depth, n_rounds=1), expected, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_classes_are_scored_by_all_their_indicators(monkeypatch, weighted):
    of_one_set(monkeypatch)
    X, y = load_wine(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float) if weighted else np.ones(len(X))
    Y = np.eye(3)[y]
    share = np.average(Y, axis=0, weights=weight)
    gini = 1 - (share**2).sum()
    total = weight.sum()
    tree = DecisionTreeClassifier(
        max_depth=3, min_impurity_decrease=2 * np.log(total) / total * gini, random_state=SEED
    ).fit(X, y, sample_weight=weight)
    ours = scores_of(X, y, sample_weight=weight if weighted else None, n_rounds=1)
    np.testing.assert_allclose(ours, walk_importance(tree.tree_, X, Y, weight), rtol=1e-9)


def test_the_importance_for_a_numeric_target_is_that_of_rows_walked_down_a_tree(monkeypatch):
    of_one_set(monkeypatch)
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_depth=3, min_impurity_decrease=least(y, len(y)), random_state=SEED).fit(X, y)
    np.testing.assert_allclose(scores_of(X, y, n_rounds=1), walk_importance(tree.tree_, X, y[:, None]), rtol=1e-9)


def test_every_column_is_in_one_tree_of_a_round(monkeypatch):
    seen = []
    split = tree_importance.split_columns

    def watched(n, rng):
        seen.append(split(n, rng))
        return seen[-1]

    monkeypatch.setattr(tree_importance, "split_columns", watched)
    X, y = load_breast_cancer(return_X_y=True)
    scores_of(X, y, n_rounds=4)
    assert len(seen) == 4
    for sets in seen:
        assert sorted(np.concatenate(sets).tolist()) == list(range(30))
        assert {len(one) for one in sets} == {10}
    for n in range(1, 50):
        sets = split(n, np.random.default_rng(0))
        # A column alone in its tree would have every split.
        assert min(map(len, sets)) >= min(n, 2)


def test_the_levels_of_a_category_count_for_it():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 8, 400)
    y = np.isin(level, [1, 4, 6])
    frame = pd.DataFrame({"noise": rng.normal(size=400), "level": np.array([*"abcdefgh"])[level]})
    noise, category = scores_of(frame, y)
    # Three splits for the three levels explain everything.
    assert (noise, category) == (0, pytest.approx(1))


def test_an_indicator_of_missing_values_counts_as_one_of_a_level():
    rng = np.random.default_rng(1)
    level = np.array([*"abc"])[rng.integers(0, 3, 150)]
    y = (level == "c") ^ (rng.random(150) < 0.2)
    frame = pd.DataFrame({"x": rng.normal(size=150), "level": level})
    incomplete = frame.assign(level=np.where(level == "c", None, level))
    ours, theirs = scores_of(incomplete, y, max_depth=1, missing="category"), scores_of(frame, y, max_depth=1)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert ours[1] > 0.2


def test_columns_that_are_equal_have_one_score_and_change_nothing_for_the_others():
    X, y = load_iris(return_X_y=True)
    alone = scores_of(X, y)
    twice = scores_of(np.hstack([X, X[:, [2, 3]]]), y)
    np.testing.assert_array_equal(twice, [*alone, *alone[2:]])


def test_the_unit_and_the_scale_of_a_number_do_not_matter():
    X, y = load_iris(return_X_y=True)
    np.testing.assert_array_equal(scores_of(np.exp(X), y), scores_of(X, y))
    np.testing.assert_array_equal(scores_of(X * [1e-3, 1e6, 2.5, 7] + 4.0, y), scores_of(X, y))


def test_a_noise_column_of_many_values_scores_far_below_an_informative_column():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    useful = np.where(rng.random(300) < 0.3, 1 - y, y)
    X = np.column_stack([rng.random((300, 8)), useful])
    impurity = DecisionTreeClassifier(random_state=0).fit(X, y).feature_importances_
    scores = scores_of(X, y)
    assert impurity[:8].sum() > impurity[8]
    assert scores[8] > 0.1
    assert scores[:8].max() < scores[8] / 5
    assert (scores[:8] == 0).sum() >= 6


def test_the_seed_draws_the_sets_and_the_number_of_threads_does_not_matter():
    X, y = load_breast_cancer(return_X_y=True)
    found = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            found.append(scores_of(X, y))
    np.testing.assert_array_equal(*found)
    assert (scores_of(X, y, random_state=1) != found[0]).any()


def test_of_more_rows_than_asked_for_so_many_are_drawn_and_it_is_reported():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(TamizWarning, match="TreeImportance reads 200 of the 569 rows, drawn at random"):
        drawn = scores_of(X, y, max_rows=200)
    np.testing.assert_array_equal(scores_of(X, y, max_rows=600), scores_of(X, y))
    assert (drawn != scores_of(X, y)).any()


def test_a_study_takes_as_many_rows_as_there_is_time_for(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    schema = open_table(X, y).schema
    assert TreeImportance().adapt_to(schema).max_rows is None
    monkeypatch.setattr(TreeImportance, "max_study_values", 30 * 510)
    assert TreeImportance().adapt_to(schema).max_rows == 510
    assert TreeImportance(max_rows=100).adapt_to(schema).max_rows == 100
    monkeypatch.setattr(TreeImportance, "max_study_values", 1)
    assert TreeImportance().adapt_to(schema).max_rows == 500


@pytest.mark.parametrize(
    ("parameters", "kind", "sentence"),
    [
        ({"max_depth": 0}, ValueError, "max_depth must be at least 1, got 0"),
        ({"n_rounds": 2.5}, TypeError, "n_rounds must be a whole number, got 2.5"),
        ({"missing": "mean"}, ValueError, "missing must be one of 'distribute', 'category', got 'mean'"),
        ({"max_rows": 1}, ValueError, "max_rows must be at least 2, got 1"),
        ({"random_state": -1}, ValueError, "random_state must be a whole number"),
    ],
)
def test_invalid_parameters_are_refused(parameters, kind, sentence):
    with pytest.raises(kind, match=sentence):
        scores_of(*load_iris(return_X_y=True), **parameters)


def test_a_table_without_a_target_is_refused():
    with pytest.raises(DataError, match="TreeImportance requires y to be passed, but the target y is None"):
        scores_of(load_iris(return_X_y=True)[0], None)
