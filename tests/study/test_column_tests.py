"""Tests of columns without a cut point, against scikit-learn, scipy and known truth."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.feature_selection import f_classif

from tamiz import open_source
from tamiz._study.ranking import (
    RankingCriterion,
    anova,
    correlation_tests,
    describe_ranking,
    describe_uncut_columns,
    detectable_effect,
    score_columns,
)
from tamiz.criteria import SymmetricUncertainty
from tamiz.report.records.codec import to_json
from tamiz.statistics.moments import ClassMoments


def uncut(frame, y, **more):
    source = open_source(frame, y, **more)
    _, known = score_columns([ranked(source)], source)
    columns = describe_uncut_columns(source, known)
    return columns and to_json(columns)


def ranked(source):
    return RankingCriterion(
        "symmetric_uncertainty", "Symmetric uncertainty", SymmetricUncertainty().adapt_to(source.schema), source
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


def test_the_f_test_is_that_of_scikit_learn():
    frame, y = classes()
    source = open_source(frame, y)
    (moments,) = source.reduce(ClassMoments(source.schema.numeric, 3))
    tests = anova(moments)
    F, p = f_classif(frame, y)
    np.testing.assert_allclose(tests.statistic, F, rtol=1e-9)
    np.testing.assert_allclose(tests.p_values(), p, rtol=1e-8)


def test_rows_with_a_value_are_tested_and_constants_are_not():
    frame, y = classes()
    frame.loc[frame.index % 3 == 0, "weak"] = np.nan
    frame["constant"] = 4.0
    frame.loc[y == "a", "noise 0"] = np.nan
    source = open_source(frame, y)
    (moments,) = source.reduce(ClassMoments(source.schema.numeric, 3))
    tests = anova(moments)
    held = frame["weak"].notna().to_numpy()
    assert tests.p_values()[1] == pytest.approx(f_classif(frame.loc[held, ["weak"]], y[held])[1][0])
    assert (tests.df_between[2], tests.df_within[2], tests.n_rows[2]) == (1, 198, 200)
    assert np.isnan(tests.p_values()[-1])


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


def test_a_correlation_is_that_of_scipy_whatever_the_units():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(size=(80, 4)) * [1.0, 1e-100, 1e100, 1.0] + [0.0, 0.0, 0.0, 1e6], columns=list("abcd")
    )
    y = rng.normal(size=80) + frame["a"].to_numpy()
    p = correlation_tests(open_source(frame, y)).p_values()
    np.testing.assert_allclose(p[:3], [stats.pearsonr(frame[c] / frame[c].std(), y).pvalue for c in "abc"], rtol=1e-6)
    assert p[3] == pytest.approx(stats.pearsonr(frame["d"] - 1e6, y).pvalue, rel=1e-6)
    frame.loc[5:30, "a"] = np.nan
    held = frame["a"].notna()
    assert correlation_tests(open_source(frame, y)).p_values()[0] == pytest.approx(
        stats.pearsonr(frame["a"][held], y[held]).pvalue
    )


def test_a_number_that_is_nearly_always_at_its_largest_is_in_one_interval_and_is_tested():
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    # Equal values stay together: the first of ten cuts would follow the largest value.
    capped = np.where(y > np.quantile(y, 0.95), rng.random(400), 1.0)
    found = uncut(pd.DataFrame({"capped": capped, "x": rng.normal(size=400)}), y)
    assert (found["rule"], found["columns"], found["test"]["name"], found["test"]["n_significant"]) == (
        "equal_frequency", ["capped"], "correlation", 1,
    )  # fmt: skip


def test_rows_that_count_differently_or_hang_together_are_not_tested():
    frame, y = classes()
    for more in ({"weight": np.ones(300)}, {"groups": np.arange(300) // 2}, {"time": np.arange(300)}):
        found = uncut(frame, y, **more)
        assert found["test"] is None
        assert found["untestable_reason"]
    assert uncut(frame[["quadratic"]], y) is None


def test_the_ranking_has_the_columns_without_a_cut_point_and_the_constant_ones():
    frame, y = classes()
    source = open_source(frame.assign(same=1.5), y)
    ranking = to_json(describe_ranking(source, [ranked(source)]))
    assert ranking["uncut"]["columns"] == [
        name for name, cuts in ranking["cut_points"].items() if not cuts and name != "same"
    ]
    assert ranking["constant"] == ["same"]
