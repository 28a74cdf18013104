"""Conditional importance: closed forms, a plain reference, clusters of rows, groups of columns and mixed tables."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, RidgeClassifier
from tests.reference import conditional_importance as reference

from tamiz import open_table
from tamiz.assessment import conditional_importance
from tamiz.assessment.column_importance import importance_work, replace_columns
from tamiz.exceptions import DataError, TamizWarning
from tamiz.models.conditional_draws import ConditionalSampler
from tamiz.models.folds import draw_folds
from tamiz.runtime.random import make_rng
from tamiz.table.views import select_columns

OLS = LinearRegression()


def correlated(rng, n, p, rho=0.6):
    return rng.multivariate_normal(np.zeros(p), rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))), size=n)


def test_the_importances_of_a_linear_model_are_the_closed_forms():
    rng = np.random.default_rng(0)
    X = correlated(rng, 2000, 5)
    slopes = np.array([1.0, 0.5, 0.0, -0.8, 0.0])
    y = X @ slopes + rng.normal(size=len(X))
    precision = np.linalg.inv(0.6 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5))))
    expected = slopes**2 / np.diag(precision)
    for method, factor in (("cfi", 2), ("loco", 1)):
        found = conditional_importance(X, y, model=OLS, method=method)
        assert (np.abs(found.importance - factor * expected) < 3.5 * np.maximum(found.standard_error, 1e-3)).all()
        assert found.selected(0.05) == ("x0", "x1", "x3")
        relevant = slopes != 0
        np.testing.assert_allclose(found.importance[relevant], factor * expected[relevant], rtol=0.2)


def test_equals_the_plain_reference():
    rng = np.random.default_rng(3)
    X = correlated(rng, 70, 4)
    X[:, 2] = np.round(X[:, 2])
    y = X[:, 0] - X[:, 1] + rng.normal(size=len(X))
    folds = [(fold.train, fold.test) for fold in draw_folds(open_table(X, y), 5, make_rng(1))]
    expected = reference.conditional_importance(X, y, OLS, folds, 3, 1)
    found = conditional_importance(X, y, model=OLS, n_repeats=3, random_state=1)
    np.testing.assert_allclose([found.importance, found.standard_error, found.p_value], expected, atol=1e-9)


@pytest.mark.slow
def test_draws_of_levels_and_of_missing_values_follow_their_conditional_distributions():
    rng = np.random.default_rng(0)
    n = 3000
    z = rng.normal(size=n)
    level = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * z)), "high", "low")
    gone = rng.random(n) < 1 / (1 + np.exp(2 - 2 * z))
    number = np.where(gone, np.nan, z + np.exp(z / 2) * (rng.exponential(size=n) - 1))
    table = open_table(pl.DataFrame({"z": z, "level": level, "number": number}), rng.normal(size=n))
    folds = draw_folds(table, 2, make_rng(0))
    sampler = ConditionalSampler(table, folds, 0)
    train, test = folds[0].train, folds[0].test
    part = np.digitize(z[test], [-1, 0, 1])
    for j, shares in ((1, [level == "high"]), (2, [gone, number > 1, number > 3])):
        unit = np.array([j])
        drawn = train[sampler.draw(unit, sampler.prepare(unit), 0, 5, make_rng(1))[j]]
        for share in shares:
            for k in range(4):
                n_rows = (part == k).sum()
                assert share[drawn][:, part == k].mean() == pytest.approx(
                    share[test][part == k].mean(), abs=3.5 * 0.5 / np.sqrt(n_rows)
                )


def test_copies_add_nothing_to_each_other_and_something_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    X[:, 1] = X[:, 0]
    y = X[:, 0] + rng.normal(size=400)
    assert conditional_importance(X, y, model="ridge").selected() == ()
    for method in ("cfi", "loco"):
        found = conditional_importance(X, y, model="ridge", column_groups=[["x0", 1]], method=method)
        assert found.names == ("x0 + x1", "x2", "x3")
        assert found.selected() == ("x0 + x1",)
        assert found.importance[0] == pytest.approx({"cfi": 2, "loco": 1}[method], rel=0.3)


def test_rows_of_a_group_are_one_observation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = X[:, 0] + rng.normal(size=150)
    alone = conditional_importance(X, y, model="ridge")
    repeated = np.repeat(np.arange(150), 6)
    found = conditional_importance(X[repeated], y[repeated], model="ridge", groups=repeated)
    np.testing.assert_allclose(found.standard_error[0], alone.standard_error[0], rtol=0.3)


def test_frequency_weights_are_independent_rows_and_the_scale_of_sampling_weights_changes_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + rng.normal(size=300)
    weight = rng.uniform(0.5, 2, size=300)
    one, other = (conditional_importance(X, y, model="ridge", sample_weight=w * weight) for w in (1, 7))
    np.testing.assert_allclose(one.standard_error, other.standard_error, rtol=1e-9)
    plain = conditional_importance(X, y, model="ridge")
    fourfold = conditional_importance(X, y, model="ridge", sample_weight=np.full(300, 4))
    np.testing.assert_allclose(fourfold.standard_error, plain.standard_error / 2, rtol=0.05)


def mixed_table(n=200):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n, 2))
    frame = pl.DataFrame(
        {
            "number": [None if gone else value for value, gone in zip(z[:, 0], rng.random(n) < 0.1, strict=True)],
            "level": np.array(["a", "b", "c"])[np.digitize(z[:, 1], [-0.5, 0.5])],
            "flag": rng.random(n) < 0.5,
            "noise": rng.integers(0, 5, n),
        }
    )
    return frame, np.where(z[:, 0] + 2 * (z[:, 1] > 0.5) + 0.5 * rng.normal(size=n) > 0.5, "yes", "no")


@pytest.mark.parametrize(
    ("model", "loss"), [("gradient_boosting", "log_loss"), ("naive_bayes", "brier"), (RidgeClassifier(), "zero_one")]
)
def test_a_mixed_table_with_missing_values(model, loss):
    frame, y = mixed_table()
    found = conditional_importance(frame, y, model=model, loss=None if loss != "brier" else loss, n_jobs=2)
    assert found.loss == loss
    assert set(found.selected()) == {"number", "level"}
    again = conditional_importance(frame, y, model=model, loss=loss, n_jobs=1)
    np.testing.assert_array_equal(found.importance, again.importance)
    assert json.loads(json.dumps(found.to_dict()))["units"][1]["name"] == "level"
    assert "increase" in repr(found)


def test_times_and_the_columns_of_a_selection():
    rng = np.random.default_rng(0)
    X = correlated(rng, 240, 3)
    y = X[:, 0] + rng.normal(size=240)
    assert conditional_importance(X, y, model="ridge", time=np.arange(240)).selected() == ("x0",)
    table = open_table(X, y)
    assert conditional_importance(select_columns(table, [0, 2]), model="ridge").names == ("x0", "x2")
    assert importance_work(table, [0, 2]) == 240 * 2 * (5 * 2 + 2 * 2 * 2) + 1000 * 240 * 11


def test_replaces_columns_of_sparse_rows_and_arrays_alike():
    rng = np.random.default_rng(0)
    rows, others = (sparse.random_array((6, 4), density=0.6, rng=rng, format="csc") for _ in range(2))
    sources = {2: rng.integers(6, size=(3, 6))}
    expected = replace_columns(rows.toarray(), others.toarray(), sources)
    np.testing.assert_array_equal(replace_columns(rows, others, sources).toarray(), expected)
    np.testing.assert_array_equal(
        expected[7], [*rows.toarray()[1, :2], others.toarray()[sources[2][1, 1], 2], rows.toarray()[1, 3]]
    )


def test_refuses_what_cannot_be_tested_and_warns_of_a_model_without_skill():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    with pytest.raises(DataError, match="requires a target"):
        conditional_importance(X)
    with pytest.raises(ValueError, match="two column groups"):
        conditional_importance(X, y, model="ridge", column_groups=[[0, 1], [1]])
    with pytest.raises(ValueError, match="loss"):
        conditional_importance(X, y, model="ridge", loss="log_loss")
    with pytest.raises(DataError, match="zero_one"):
        conditional_importance(X, y > 0, model=RidgeClassifier(), loss="brier")
    with pytest.warns(TamizWarning, match="without any column"):
        conditional_importance(X, y, model="tree")


@pytest.mark.slow
def test_type_1_error_with_few_rows_for_the_columns():
    """Without the factor for the coefficients of the regressions it is .063 for 300 rows of 50 columns."""
    rejected = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = correlated(rng, 300, 50)
        found = conditional_importance(X, X[:, :3].sum(axis=1) + rng.normal(size=300), model="ridge", random_state=seed)
        rejected += (found.p_value[3:] <= 0.05).tolist()
    assert np.mean(rejected) < 0.075
