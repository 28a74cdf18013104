"""Pairs that matter only together are found, and sums of strong effects are no interactions."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from tamiz import open_table
from tamiz.assessment import find_interactions
from tamiz.exceptions import DataError


def names(found):
    return [one.columns for one in found.pairs]


def logistic(rng, score):
    return np.where(rng.random(len(score)) < 1 / (1 + np.exp(-score)), "yes", "no")


@pytest.mark.parametrize("columns", ["numbers", "booleans", "mixed"])
def test_xor_among_twenty_columns(columns):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1000, 20))).add_prefix("x")
    y = (X["x3"] > 0) ^ (X["x7"] > 0) ^ (rng.random(1000) < 0.2)
    if columns == "booleans":
        X = X > 0
    elif columns == "mixed":
        X["x7"] = np.where(X["x7"] > 0, "up", "down")
    found = find_interactions(X, np.where(y, "yes", "no"))
    assert names(found)[0] == ("x3", "x7")
    assert len(found.pairs) <= 2
    assert found.pairs[0].only_together
    assert found.n_pairs == found.n_tested == 190
    assert found.scale == "log-odds"
    if columns == "numbers":
        assert found.pairs[0].direction == -1
        assert "together beyond the sum of the two on the log-odds scale" in found.sentences[0]


def test_the_scale_is_that_on_which_effects_add_up():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 6))
    sums = X @ np.full(6, 0.8)
    assert names(find_interactions(X, sums + rng.normal(size=1000))) == []
    assert names(find_interactions(X, logistic(rng, 2 * sums))) == []
    # Products of positive columns add up as logarithms.
    found = find_interactions(X, np.exp(sums + 0.3 * rng.normal(size=1000)))
    assert (names(found), found.scale) == ([], "logarithm")
    product = find_interactions(X, sums + 0.6 * X[:, 1] * X[:, 4] + rng.normal(size=1000))
    assert names(product) == [("x1", "x4")]
    assert product.pairs[0].direction == 1
    assert not product.pairs[0].only_together


def test_the_share_and_its_interval_are_those_of_two_regressions():
    rng = np.random.default_rng(2)
    X = (rng.random((800, 3)) < 0.5).astype(float)
    y = X @ [1, 1, 1] + 0.8 * X[:, 0] * X[:, 1] + rng.normal(size=800)
    (one,) = find_interactions(X, y).pairs

    def left(design):
        return ((y - LinearRegression().fit(design, y).predict(design)) ** 2).sum()

    share = 1 - left(np.column_stack([X, X[:, 0] * X[:, 1]])) / left(X)
    assert one.share == pytest.approx(share, abs=0.01)
    # One of three pairs is significant.
    z, half = np.sqrt(share / (1 - share)), stats.norm.isf(0.05 / 3 / 2) / np.sqrt(800)
    ends = [(z - half) ** 2 / (1 + (z - half) ** 2), (z + half) ** 2 / (1 + (z + half) ** 2)]
    np.testing.assert_allclose(one.interval, ends, atol=0.012)


@pytest.mark.slow
def test_the_detectable_share_is_found_in_four_of_five_tables():
    rng = np.random.default_rng(3)
    X = rng.choice([-1.0, 1.0], (1000, 6))
    detectable = find_interactions(X, rng.normal(size=1000)).detectable
    size = np.sqrt(detectable / (1 - detectable))
    n_found = 0
    for _ in range(60):
        X = rng.choice([-1.0, 1.0], (1000, 6))
        found = find_interactions(X, size * X[:, 0] * X[:, 1] + rng.normal(size=1000))
        n_found += ("x0", "x1") in names(found)
    assert 0.65 < n_found / 60 < 0.95


def test_frequency_weights_equal_repeated_rows():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.choice(list("xyz"), 300), "c": rng.normal(size=300)})
    for y in (logistic(rng, 2 * X["a"] * X["c"]), X["a"] * X["c"] + rng.normal(size=300)):
        weight = rng.integers(1, 4, 300)
        at = np.repeat(np.arange(300), weight)
        one = find_interactions(open_table(X, y, weight=weight))
        other = find_interactions(open_table(X.iloc[at].reset_index(drop=True), y[at]))
        assert names(one) == names(other)
        assert names(one)[0] == ("a", "c")
        assert one.pairs[0].share == pytest.approx(other.pairs[0].share, rel=1e-4)
        assert one.n_rows == other.n_rows


def test_repeated_rows_of_a_group_are_no_evidence():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(80, 8)), rng.normal(size=80)
    groups = np.repeat(np.arange(80), 12)
    assert find_interactions(X[groups], y[groups]).pairs
    assert not find_interactions(X[groups], y[groups], groups=groups).pairs


def test_wide_tables_are_screened_without_main_effects():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(600, 150))
    found = find_interactions(X, X[:, 20] * X[:, 90] + rng.normal(size=600))
    assert names(found) == [("x20", "x90")]
    assert (found.n_pairs, found.n_tested) == (150 * 149 // 2, 200)


def test_three_classes_missing_values_and_units():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(900, 5))
    y = np.where(X[:, 0] * X[:, 1] > 0.5, "c", np.where(rng.random(900) < 0.5, "a", "b"))
    found = find_interactions(X, y)
    assert names(found) == [("x0", "x1")]
    assert found.pairs[0].of_class == "c"
    scaled = find_interactions(1e8 * X - 5, y)
    assert scaled.pairs[0].share == pytest.approx(found.pairs[0].share, rel=1e-3)
    X[rng.random(X.shape) < 0.1] = np.nan
    assert names(find_interactions(X, y)) == [("x0", "x1")]
    assert find_interactions(X[:, :1], y).n_pairs == 0
    with pytest.raises(DataError, match="50 rows, got 30"):
        find_interactions(X[:30], y[:30])


def test_three_rows_of_a_class_detect_next_to_nothing():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(73, 325)).astype(float)
    found = find_interactions(X, np.repeat(["many", "few"], [70, 3]))
    assert not found.pairs
    assert 0.999 < found.detectable < 1
