"""Tests of the columns of a study, against scikit-learn, scipy and known truth."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.feature_selection import f_classif

from tamiz import open_table
from tamiz._study.ranking import rank_columns
from tamiz.assessment.associations import (
    describe_column_tests,
    describe_uncut_columns,
    detectable_effect,
    run_tests,
)
from tamiz.assessment.mean_ranks import RankingCriterion, score_columns
from tamiz.criteria import SymmetricUncertainty
from tamiz.criteria.base import StatisticsCache
from tamiz.runtime.codec import to_json


def uncut(frame, y, **more):
    table = open_table(frame, y, **more)
    _, known = score_columns([ranked(table)], table)
    columns = describe_uncut_columns(table, known, run_tests(table, known))
    return columns and to_json(columns)


def ranked(table):
    return RankingCriterion(
        "symmetric_uncertainty", "Symmetric uncertainty", SymmetricUncertainty().adapt_to(table.schema), table
    )


def classes(n=300):
    """A column whose classes differ in spread, one with a weak difference of means, and four of noise."""
    rng = np.random.default_rng(7)
    y = np.repeat(["a", "b", "c"], n // 3)
    middle = y == "b"
    frame = pd.DataFrame({
        "quadratic": np.where(middle, 0.25, 2.0) * rng.normal(size=n),
        "weak": rng.normal(size=n) + 0.45 * (y == "c"),
        **{f"noise {j}": rng.normal(size=n) for j in range(4)},
    })  # fmt: skip
    return frame, y


def describe_tests(frame, y, **more):
    table = open_table(frame, y, **more)
    return describe_column_tests(run_tests(table, StatisticsCache()), table.schema)


def test_p_values_are_adjusted_over_the_columns_that_can_be_tested():
    frame, y = classes()
    found = describe_tests(frame.assign(same=1.0, level=np.where(y == "a", "p", "q")), y)
    p = [*f_classif(frame, y)[1], stats.chi2_contingency(pd.crosstab(y == "a", y), correction=False).pvalue]
    np.testing.assert_allclose([*found.p_values[:6], found.p_values[7]], p, rtol=1e-9)
    np.testing.assert_allclose([*found.adjusted[:6], found.adjusted[7]], stats.false_discovery_control(p), rtol=1e-9)
    assert (found.p_values[6], found.adjusted[6]) == (None, None)
    assert found.methods == {"one-way ANOVA": 6, "Pearson's chi-squared test": 1}
    n_significant = (stats.false_discovery_control(p) <= 0.05).sum()
    assert (found.n_significant, found.untestable_reason, found.few_expected) == (n_significant, "", ())


def test_a_table_without_a_target_has_no_tests_and_one_of_constants_has_none():
    table = open_table(classes()[0])
    assert run_tests(table, StatisticsCache()) is None
    assert describe_tests(pd.DataFrame({"same": [1.0] * 6}), [*"ababab"]).untestable_reason == "no column can be tested"


def test_a_weak_effect_without_a_cut_point_is_found_and_a_spread_is_cut():
    frame, y = classes()
    found = uncut(frame, y)
    # MDL sees the class in the middle, which an F test of means does not.
    assert f_classif(frame[["quadratic"]], y)[1][0] > 0.05
    assert found["columns"] == ["weak", "noise 0", "noise 1", "noise 2", "noise 3"]
    adjusted = stats.false_discovery_control(f_classif(frame, y)[1])
    assert (adjusted[1:] <= 0.05).tolist() == [True, False, False, False, False]
    assert (found["rule"], found["untestable_reason"]) == ("mdl", "")
    test = found["test"]
    assert {key: test[key] for key in ("name", "n_tested", "n_significant", "n_rows")} == {
        "name": "anova", "n_tested": 6, "n_significant": 1, "n_rows": 300,
    }  # fmt: skip
    assert test["detectable"] == detectable_effect(2, 297, 0.05)
    assert test["detectable_adjusted"] == detectable_effect(2, 297, 0.05 / 6) > test["detectable"]


def test_of_noise_alone_significant_columns_are_as_rare_as_stated():
    rng = np.random.default_rng(0)
    found = [uncut(rng.normal(size=(60, 20)), np.arange(60) % 2)["test"]["n_significant"] for _ in range(40)]
    # Any at all in at most 5 % of such tables, where all columns are noise.
    assert sum(n > 0 for n in found) <= 5


@pytest.mark.parametrize(("sizes", "level"), [((30, 30), 0.05), ((90, 20, 10), 0.05), ((60, 40), 0.005)])
def test_the_detectable_effect_is_found_in_80_of_100_tables(sizes, level):
    rng = np.random.default_rng(1)
    y, n = np.repeat(np.arange(len(sizes)), sizes), sum(sizes)
    share = detectable_effect(len(sizes) - 1, n - len(sizes), level)
    # Means of the classes, of a variance of share / (1 - share) of that within.
    means = np.arange(len(sizes), dtype=float)[y]
    means = (means - means.mean()) / means.std() * np.sqrt(share / (1 - share))
    p = f_classif(means[:, None] + rng.normal(size=(n, 2000)), y)[1]
    assert np.mean(p <= level) == pytest.approx(0.8, abs=0.03)


def test_a_number_that_is_nearly_always_at_its_largest_is_in_one_interval_and_is_tested():
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    # Equal values stay together: the first of ten cuts would follow the largest value.
    capped = np.where(y > np.quantile(y, 0.95), rng.random(400), 1.0)
    found = uncut(pd.DataFrame({"capped": capped, "x": rng.normal(size=400)}), y)
    assert (found["rule"], found["columns"], found["test"]["name"], found["test"]["n_significant"]) == (
        "equal_frequency", ["capped"], "correlation", 1,
    )  # fmt: skip


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_equal_weights_change_no_p_value(factor):
    frame, y = classes()
    weighted, plain = describe_tests(frame, y, weight=np.full(300, factor)), describe_tests(frame, y)
    np.testing.assert_allclose(np.array(weighted.p_values, float), np.array(plain.p_values, float), rtol=1e-9)


def test_rows_that_hang_together_are_not_tested():
    frame, y = classes()
    for more in ({"groups": np.arange(300) // 2}, {"time": np.arange(300)}):
        found = uncut(frame, y, **more)
        assert found["test"] is None
        assert found["untestable_reason"] == describe_tests(frame, y, **more).untestable_reason != ""
        assert set(describe_tests(frame, y, **more).p_values) == {None}
    assert uncut(frame[["quadratic"]], y) is None


def test_the_ranking_has_the_columns_without_a_cut_point_and_the_constant_ones():
    frame, y = classes()
    table = open_table(frame.assign(same=1.5), y)
    ranking = to_json(rank_columns(table, [ranked(table)]))
    assert ranking["uncut"]["columns"] == [
        name for name, cuts in ranking["cut_points"].items() if not cuts and name != "same"
    ]
    assert ranking["constant"] == ["same"]
    assert ranking["tests"] == to_json(describe_tests(frame.assign(same=1.5), y))
