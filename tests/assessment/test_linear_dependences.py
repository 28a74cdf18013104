"""Columns that are linear functions of a few others: planted sums, and tables without any."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from tamiz.assessment import find_linear_dependences
from tamiz.assessment.formulas import LinearDependence


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(50, 10, (n, 10))).add_prefix("x")
    X["total"] = X["x0"] + X["x1"]
    X["rest"] = X["x2"] - X["x3"] + rng.normal(size=n)
    X["mean"] = X[["x4", "x5", "x6"]].mean(axis=1)
    X["word"] = rng.choice([*"ab"], n)
    return X


def sets(found):
    return {frozenset((one.column, *one.others)) for one in found}


PLANTED = {frozenset({"total", "x0", "x1"}), frozenset({"rest", "x2", "x3"}), frozenset({"mean", "x4", "x5", "x6"})}


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_planted_sums_are_found_in_any_order_of_rows_and_columns_and_in_other_units(missing):
    X = table()
    numbers = X.select_dtypes("number")
    X[numbers.columns] = numbers.mask(np.random.default_rng(1).random(numbers.shape) < missing)
    for other in (X, X.iloc[::-1, ::-1], X.sort_values("total"), X.assign(**(10 * X.select_dtypes("number")))):
        assert sets(find_linear_dependences(other)) == PLANTED


def test_the_formula_is_that_of_a_regression_and_r2_that_of_other_rows():
    found = {frozenset((one.column, *one.others)): one for one in find_linear_dependences(table(3000))}
    assert found[frozenset({"total", "x0", "x1"})].sentence == "total = x0 + x1, exactly."
    assert found[frozenset({"mean", "x4", "x5", "x6"})].formula == "0.333 × x4 + 0.333 × x5 + 0.333 × x6"
    noisy = found[frozenset({"rest", "x2", "x3"})]
    X, y = table(3000)[list(noisy.others)], table(3000)[noisy.column]
    assert noisy.r2 == pytest.approx(LinearRegression().fit(X, y).score(X, y), abs=0.003)
    assert not noisy.exact
    assert noisy.to_dict()["others"] == list(noisy.others)


def test_sums_of_copies_and_of_redundant_columns_are_not_named():
    rng = np.random.default_rng(2)
    x = rng.normal(size=300)
    X = pd.DataFrame(
        {"x": x, "twice": 2 * x, "near": x + 0.2 * rng.normal(size=300), "near2": x + 0.2 * rng.normal(size=300)}
    )
    X["mean"] = X[["near", "near2"]].mean(axis=1)
    assert find_linear_dependences(X) == []


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(60, 300), (40, 30), (500, 20), (39, 3)])
def test_noise_has_none(shape):
    for seed in range(3):
        assert find_linear_dependences(np.random.default_rng(seed).normal(size=shape)) == []


def test_few_rows_of_a_sum_have_none_and_weights_of_0_are_excluded():
    X = table(60)
    assert sets(find_linear_dependences(X)) == PLANTED
    assert find_linear_dependences(X, sample_weight=np.arange(60) < 30) == []


def test_a_sentence_never_rounds_a_noisy_sum_to_an_exact_one():
    one = LinearDependence("a", ("b", "c"), "b + c", 0.99999, exact=False, n_rows=100)
    assert one.sentence == "a is nearly b + c (R2 0.999)."
