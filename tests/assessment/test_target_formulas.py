"""Formulas of several columns are found with their coefficients, and tables without one have none."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.linear_model import LinearRegression
from sklearn.metrics import balanced_accuracy_score, r2_score
from tests.planted_tables import planted_table

from tamiz import open_table
from tamiz.assessment import find_target_formulas

SEVERAL = [
    "sum of counts", "mean of three", "difference", "product, rounded", "product of signed columns", "ratio", "share of a sum",
    "sum over a column", "power of two columns", "rating of vote shares", "class by the sign of a difference",
    "class by a limit of a sum", "class by a weighted sum", "class by a limit of a ratio",
]  # fmt: skip


def value_of(formula, table):
    """Return the number that a formula as printed has in each row."""
    names = {name: table[name].to_numpy(dtype=float) for name in table.columns if re.search(rf"\b{name}\b", formula)}
    return eval(formula.replace("×", "*").replace("^", "**"), {}, names)


@pytest.mark.parametrize("kind", SEVERAL)
def test_planted_formulas_are_found_and_their_text_computes_the_target(kind):
    table = planted_table(f"leak: {kind}", seed=3)
    (found,) = find_target_formulas(table.X, table.y)
    assert set(found.columns) <= table.leaks[0]
    assert len(found.columns) == min(len(table.leaks[0]), 4)
    value = value_of(found.formula, table.X)
    if found.limits:
        # Each interval belongs to one class.
        intervals = np.searchsorted(found.limits, value)
        told = pd.Series(table.y).groupby(intervals).agg(lambda values: values.mode()[0])[intervals]
        assert balanced_accuracy_score(table.y, told) > 0.98
    else:
        # Three digits of the coefficients are printed.
        assert LinearRegression().fit(value[:, None], table.y).score(value[:, None], table.y) > 0.999
        assert r2_score(table.y, value) > 0.98


@pytest.mark.parametrize(
    "kind",
    [
        "linear in all columns, R2 .95",
        "two columns of R2 .95 together",
        "two columns of AUC .97 together",
        "nearly as many columns as rows",
    ],
)
def test_honest_tables_have_no_formula(kind):
    table = planted_table(f"honest: {kind}", seed=3)
    assert find_target_formulas(table.X, table.y) == []


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_wine, load_diabetes])
def test_real_tables_have_no_formula(load):
    assert find_target_formulas(*load(return_X_y=True, as_frame=True)) == []


def table_of_parts(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 5)) * [1, 2, 1, 1, 1], columns=list("abcde"))
    return X, rng


def test_the_score_is_that_of_rows_that_were_not_used():
    X, rng = table_of_parts()
    y = X["a"] - X["b"] + 0.15 * rng.normal(size=len(X))
    (found,) = find_target_formulas(X, y)
    assert found.columns == ("a", "b")
    # By least squares on all rows, of which 40 % score, R2 is the same up to its error.
    whole = LinearRegression().fit(X[["a", "b"]], y).score(X[["a", "b"]], y)
    assert found.score == pytest.approx(whole, abs=0.004)
    assert found.n_rows == 80
    # The best of one column is b, which explains 4/5 of the variance.
    assert found.other_score == pytest.approx(0.8, abs=0.1)


def test_noise_beside_the_formula_of_5_percent_is_no_leak():
    X, rng = table_of_parts()
    signal = X["a"] - X["b"]
    assert find_target_formulas(X, signal + signal.std() * rng.normal(size=len(X)) * 0.23) == []


def test_a_formula_that_other_columns_give_as_well_is_not_unique_unless_it_is_exact():
    X, rng = table_of_parts()
    X["near"] = X["b"] + 0.02 * rng.normal(size=len(X))
    y = X["a"] - X["b"]
    assert [found.columns for found in find_target_formulas(X, y)] == [("a", "b")]
    assert find_target_formulas(X, y + 0.1 * rng.normal(size=len(X))) == []


def test_two_formulas_are_found_and_excluded_columns_have_none():
    X, _ = table_of_parts()
    X["f"] = X["a"] + X["b"] - X["c"]
    y = X["a"] + X["b"]
    assert [found.columns for found in find_target_formulas(X, y)] == [("a", "b"), ("c", "f")]
    assert [found.columns for found in find_target_formulas(X, y, exclude=["b"])] == [("c", "f")]
    assert find_target_formulas(X, y, exclude=["b", "c"]) == []


def test_rows_with_missing_values_and_of_weight_zero_are_left_out():
    X, rng = table_of_parts(400)
    y = X["a"] * X["b"]
    weight = np.ones(len(X))
    weight[::4], y[::4] = 0.0, 100.0
    X.loc[1::4, "a"] = np.nan
    X["c"] = X["c"].where(rng.random(len(X)) < 0.2)
    assert find_target_formulas(X, y) == []
    (found,) = find_target_formulas(X, y, sample_weight=weight)
    assert (found.columns, found.formula) == (("a", "b"), "a × b")


def test_groups_are_in_one_part_of_the_rows():
    # Within groups all rows are equal: if they were split, any columns would determine the target of 20 groups.
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 20)
    X = pd.DataFrame(rng.normal(size=(20, 6))[group], columns=list("abcdef"))
    y = rng.normal(size=20)[group]
    assert find_target_formulas(X, y, groups=group) == []
    (found,) = find_target_formulas(X, X["a"] + X["b"], groups=group)
    assert found.columns == ("a", "b")


def test_order_and_units_of_the_columns_change_nothing():
    table = planted_table("leak: sum over a column", seed=5)
    (found,) = find_target_formulas(table.X, table.y)
    numbers = table.X.select_dtypes("number").columns
    other = table.X.assign(**{name: table.X[name] * 1000.0 for name in numbers})[table.X.columns[::-1]]
    (again,) = find_target_formulas(other, table.y)
    assert set(again.columns) == set(found.columns)
    assert again.score == pytest.approx(found.score, abs=1e-9)


def test_without_a_target_or_with_few_rows_there_is_no_formula():
    X, _ = table_of_parts()
    assert find_target_formulas(X) == []
    assert find_target_formulas(X[:50], (X["a"] + X["b"])[:50]) == []
    assert find_target_formulas(open_table(X, X["a"] + X["b"]))[0].to_dict()["columns"] == ["a", "b"]
