"""Models under other row weights are close to models of repeated rows."""

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification, make_regression

from tamiz import open_table
from tamiz.criteria import LinearCoefficient, TreeImportance
from tamiz.criteria import linear_coefficient as linear
from tamiz.criteria import tree_importance as trees
from tamiz.runtime import parallel

TABLES = {
    "two classes": load_breast_cancer(return_X_y=True),
    "three classes": load_iris(return_X_y=True),
    "a number": load_diabetes(return_X_y=True),
    "more columns than rows": make_classification(60, 90, n_informative=10, n_classes=3, random_state=0),
    "a number, more columns than rows": make_regression(60, 90, random_state=0),
}


def again(relevance, X, y, n_samples=12):
    """Scores under row counts, and those of tables of repeated rows for the first four."""
    table, n, rng = open_table(X, y), len(y), np.random.default_rng(0)
    counts = np.array([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(n_samples)])
    with parallel.thread_session(1):
        found = relevance.make_reweighted_scorer(table, n_samples)(counts.astype(float))
        rows = [np.repeat(np.arange(n), one) for one in counts[:4]]
        refitted = [relevance.score(open_table(X[at], y[at])) for at in rows]
    return found, np.array(refitted)


@pytest.mark.parametrize("name", TABLES)
def test_linear_models_are_refitted_to_a_small_part_of_what_samples_differ_by(name):
    found, refitted = again(LinearCoefficient(), *TABLES[name])
    assert np.abs(found[:4] - refitted).max() < 0.1 * found.std(axis=0).max()
    assert np.median(np.abs(found[:4] - refitted) / found.std(axis=0)) < 0.02


def test_trees_of_few_values_are_the_same():
    X, y = TABLES["a number"]
    found, refitted = again(TreeImportance(), X, y)
    np.testing.assert_allclose(found[:4], refitted, atol=0.005)


@pytest.mark.parametrize("name", ["two classes", "more columns than rows"])
def test_trees_rank_columns_as_trees_of_repeated_rows_do(name):
    found, refitted = again(TreeImportance(), *TABLES[name])
    ours, theirs = rankdata(-found, axis=1), rankdata(-refitted, axis=1)
    assert np.abs(ours[:4] - theirs).mean() < 0.5 * ours.std(axis=0).mean()


@pytest.mark.parametrize("relevance", [LinearCoefficient(), TreeImportance()])
def test_a_sample_of_one_class_scores_nothing(relevance):
    X, y = load_iris(return_X_y=True)
    scores = relevance.make_reweighted_scorer(open_table(X, y), 1)(np.repeat([1.0, 0.0], [50, 100])[None])
    assert scores.tolist() == [[0.0] * 4]


def test_a_sample_of_the_rows_is_what_models_read_in_every_bootstrap_sample():
    X, y = make_classification(400, 6, random_state=0)
    for relevance in (LinearCoefficient(max_rows=100), TreeImportance(max_rows=100)):
        table = open_table(X, y)
        with pytest.warns(UserWarning, match="100 of the 400 rows"):
            whole = relevance.score(table)
        np.testing.assert_allclose(relevance.make_reweighted_scorer(table, 1)(np.ones((1, 400)))[0], whole, atol=1e-4)


def test_models_that_would_take_minutes_are_not_refitted(monkeypatch):
    table = open_table(*load_iris(return_X_y=True))
    monkeypatch.setattr(linear, "_MAX_REFIT_PRODUCTS", 1e5)
    monkeypatch.setattr(trees, "_MAX_REGROWTH_SUMS", 1e5)
    assert LinearCoefficient().make_reweighted_scorer(table, 200) is None
    assert TreeImportance().make_reweighted_scorer(table, 200) is None
