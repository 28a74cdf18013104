"""Associations have the right direction, size and shape, by independent computations."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tamiz import open_table
from tamiz.assessment import associations, describe_associations
from tamiz.exceptions import DataError


def describe(X, y, **options):
    return {one.column: one for one in describe_associations(open_table(pd.DataFrame(X), y, **options))}


def sizes(one):
    return {each.measure: each for each in (one.effect, *one.others)}


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(0)
    n = 400
    death = np.where(rng.random(n) < 0.4, "yes", "no")
    X = pd.DataFrame({
        "age": rng.normal(60, 10, n) + 8 * (death == "yes"),
        "sex": rng.choice(["m", "f"], n),
        "site": rng.choice(["a", "b", "c"], n),
        "income": np.exp(3 * rng.normal(size=n) + (death == "yes")),
        "noise": rng.normal(size=n),
    })  # fmt: skip
    X.loc[(death == "yes") & (rng.random(n) < 0.3), "noise"] = np.nan
    return X, death


def test_a_number_and_two_classes_by_pairs_counted_one_by_one(patients):
    X, death = patients
    one = describe(*patients)["age"]
    yes, no = X["age"][death == "yes"], X["age"][death == "no"]
    area = np.mean([(a > b) + (a == b) / 2 for a, b in itertools.product(yes, no)])
    found = sizes(one)
    assert found["share of pairs"].value == pytest.approx(area)
    assert one.effect.value == pytest.approx(math.sqrt(2) * stats.norm.ppf(area))
    pooled = math.sqrt(((len(yes) - 1) * yes.var() + (len(no) - 1) * no.var()) / (len(yes) + len(no) - 2))
    n = len(yes) + len(no)
    assert found["Hedges' g"].value == pytest.approx((yes.mean() - no.mean()) / pooled * (1 - 3 / (4 * n - 9)))
    # The interval of normal classes with equal variances, by the noncentral t distribution.
    scale = math.sqrt(1 / len(yes) + 1 / len(no))
    d = (yes.mean() - no.mean()) / pooled
    grid = np.linspace(0, 2, 2001)
    tail = stats.nct.cdf(d / scale, n - 2, grid / scale)
    exact = grid[np.searchsorted(-tail, -0.975)], grid[np.searchsorted(-tail, -0.025)]
    np.testing.assert_allclose(found["Hedges' g"].interval, exact, atol=0.03)
    np.testing.assert_allclose(one.effect.interval, exact, atol=0.06)
    assert one.p_value == pytest.approx(stats.brunnermunzel(no, yes).pvalue, rel=1e-6)
    # The logarithm of the odds ratio of normal classes is the difference in standard deviations of a class, for one of the column.
    slope = (yes.mean() - no.mean()) / pooled**2 * X["age"].std()
    assert math.log(found["odds ratio"].value) == pytest.approx(slope, rel=0.1)
    assert one.sentence.startswith("age: higher where target is yes (+0.")


def test_units_and_monotone_functions_change_nothing(patients):
    X, death = patients
    one = describe(X, death)["income"]
    for values in (1e6 * X["income"] - 5, np.log(X["income"])):
        again = describe({"income": values}, death)["income"]
        assert again.effect == one.effect
        assert again.p_value == one.p_value
    assert "Hedges' g" not in sizes(one)
    assert one.shape == describe({"income": np.log(X["income"])}, death)["income"].shape


def test_levels_are_compared_by_their_rates(patients):
    X, death = patients
    one = describe(X, death)["sex"]
    table = pd.crosstab(X["sex"], death).loc[["f", "m"], ["no", "yes"]].to_numpy()
    assert one.p_value == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue)
    half = table + 0.5
    assert one.effect.value == pytest.approx(half[1, 1] * half[0, 0] / half[1, 0] / half[0, 1])
    high, low = one.others
    rates = pd.Series(death == "yes").groupby(X["sex"]).mean()
    assert (high.of, high.value) == (rates.idxmax(), pytest.approx(rates.max()))
    assert (low.of, low.value) == (rates.idxmin(), pytest.approx(rates.min()))
    assert "no clear difference" in one.sentence


def test_missing_values_are_information(patients):
    X, death = patients
    missing = describe(X, death)["noise"].missing
    absent = X["noise"].isna()
    assert missing.n_missing == absent.sum()
    assert missing.missing.value == np.mean(death[absent] == "yes")
    table = pd.crosstab(absent, death)
    assert missing.p_value == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue)
    assert missing.is_significant
    assert describe(X, death)["noise"].missing_sentence.startswith(
        "noise: where it is missing, target is yes in 100% ("
    )
    assert describe(X, death)["age"].missing is None


def test_numbers_by_rank_correlation_and_slope():
    rng = np.random.default_rng(1)
    x = rng.normal(5, 3, 500)
    y = 2 * x + rng.normal(0, 8, 500)
    one = describe({"x": x}, y)["x"]
    found = sizes(one)
    assert one.effect.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert one.p_value == pytest.approx(stats.spearmanr(x, y).pvalue)
    assert found["correlation"].value == pytest.approx(np.corrcoef(x, y)[0, 1])
    interval = stats.pearsonr(x, y).confidence_interval()
    np.testing.assert_allclose(found["correlation"].interval, interval, atol=0.015)
    assert found["slope"].value == pytest.approx(np.polyfit(x, y, 1)[0] * x.std())
    # The interval of Bonett and Wright (2000).
    rho = one.effect.value
    half = 1.96 * math.sqrt((1 + rho**2 / 2) / 497)
    np.testing.assert_allclose(
        one.effect.interval, [np.tanh(np.arctanh(rho) - half), np.tanh(np.arctanh(rho) + half)], atol=0.015
    )
    assert one.shape == "increasing"


def test_several_classes_by_eta_of_ranks():
    rng = np.random.default_rng(2)
    y = rng.choice(list("abc"), 300)
    x = rng.normal(size=300) + 0.7 * (y == "b")
    one = describe({"x": x}, y)["x"]
    groups = [stats.rankdata(x)[y == c] for c in "abc"]
    assert one.p_value == pytest.approx(stats.f_oneway(*groups).pvalue)
    assert one.effect.of == "b"
    assert one.effect.interval[0] < one.effect.value < one.effect.interval[1]
    # Levels of a column and a numeric target are the same comparison.
    turned = describe({"c": y}, x)["c"]
    assert turned.effect == one.effect
    assert turned.others[0].of == "b"
    assert turned.others[0].value == pytest.approx(x[y == "b"].mean())


def test_an_ordinal_target_is_compared_by_ranks():
    rng = np.random.default_rng(3)
    x = rng.normal(size=400)
    y = np.clip(np.round(x + rng.normal(size=400)) + 3, 1, 5).astype(int)
    one = describe({"x": x}, y)["x"]
    assert one.effect.measure == "rank correlation"
    assert one.effect.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert one.others[0].measure == "eta"
    # Levels that are codes in no order have eta.
    codes = np.array([0, 3, 1, 4, 2, 5])[y]
    assert describe({"x": x}, codes)["x"].effect.measure == "eta"


SHAPES = {
    "U-shaped": lambda u: (u - 0.1) ** 2 * 8,
    "inverted U": lambda u: -np.abs(u + 0.2) * 4,
    "increasing": lambda u: np.exp(u) * 2,
    "decreasing": lambda u: -u * 1.2,
    "threshold": lambda u: 2.0 * (u > 0.3),
    "": lambda u: 0 * u,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("classes", [False, True])
def test_shapes(shape, classes):
    rng = np.random.default_rng(4)
    u = rng.uniform(-1, 1, 1000)
    score = SHAPES[shape](u)
    y = score + rng.normal(size=1000)
    if classes:
        y = np.where(rng.random(1000) < 1 / (1 + np.exp(-2 * (score - score.mean()))), "yes", "no")
    one = describe({"u": u, "cube": u**3}, y)
    assert one["u"].shape == one["cube"].shape == shape
    if shape == "threshold":
        assert one["u"].at == pytest.approx(0.3, abs=0.12)
    elif shape in ("U-shaped", "inverted U"):
        assert one["u"].at == pytest.approx(0.1 if shape == "U-shaped" else -0.2, abs=0.15)
        assert one["cube"].at == pytest.approx(one["u"].at ** 3, abs=0.01)


@pytest.mark.parametrize("target", ["classes", "three", "number", "ordinal"])
def test_frequency_weights_equal_repeated_rows(target):
    rng = np.random.default_rng(5)
    n = 150
    X = pd.DataFrame({"x": rng.normal(size=n).round(1), "h": rng.standard_cauchy(n), "c": rng.choice(list("abc"), n)})
    X.loc[rng.random(n) < 0.2, "h"] = np.nan
    y = X["x"].to_numpy() + rng.normal(size=n)
    y = {
        "classes": np.where(y > 0, "b", "a"),
        "three": np.array(["a", "b", "c"])[np.digitize(y, [-1, 1])],
        "number": y,
        "ordinal": np.digitize(y, [-1, 0, 1]),
    }[target]
    weight = rng.integers(1, 4, n)
    weighted = describe(X, y, weight=weight)
    repeated = describe(X.loc[np.repeat(np.arange(n), weight)].reset_index(drop=True), np.repeat(y, weight))
    for name, one in weighted.items():
        other = repeated[name]
        assert one.n_rows == other.n_rows
        assert one.p_value == pytest.approx(other.p_value, rel=1e-6)
        assert one.shape == other.shape
        for a, b in zip((one.effect, *one.others), (other.effect, *other.others), strict=True):
            assert (a.measure, a.of) == (b.measure, b.of)
            np.testing.assert_allclose((a.value, *a.interval), (b.value, *b.interval), rtol=1e-6, atol=1e-9)
        if one.missing is not None:
            assert one.missing.p_value == pytest.approx(other.missing.p_value, rel=1e-6)


def test_the_scale_of_sampling_weights_changes_nothing():
    rng = np.random.default_rng(6)
    X = pd.DataFrame({"x": rng.normal(size=300), "c": rng.choice(list("ab"), 300)})
    y = np.where(X["x"] + rng.normal(size=300) > 0, "b", "a")
    weight = rng.exponential(size=300)
    one = describe(X, y, weight=weight, weights="sampling")
    other = describe(X, y, weight=1000 * weight, weights="sampling")
    plain = describe(X, y)
    for name in X:
        np.testing.assert_allclose(one[name].effect.interval, other[name].effect.interval, rtol=1e-9)
        # Half of the rows are lost to weights, so intervals are wider by the square root of 2.
        widths = [np.diff(each[name].effect.interval)[0] for each in (one, plain)]
        assert 1.15 < widths[0] / widths[1] < 1.75


@pytest.mark.parametrize("target", ["classes", "three", "number"])
def test_rows_of_a_group_count_as_one_where_they_repeat_it(target):
    rng = np.random.default_rng(7)
    n = 80
    X = pd.DataFrame({"x": rng.normal(size=n), "c": rng.choice(list("ab"), n)})
    y = X["x"].to_numpy() + 2 * rng.normal(size=n)
    y = {
        "classes": np.where(y > 0, "b", "a"),
        "three": np.array(["a", "b", "c"])[np.digitize(y, [-1, 1])],
        "number": y,
    }[target]
    groups = np.repeat(np.arange(n), 5)
    repeated = X.loc[groups].reset_index(drop=True), y[groups]
    for name, one in describe(*repeated, groups=groups).items():
        single = describe(X, y)[name]
        naive = describe(*repeated)[name]
        assert one.effect.value == pytest.approx(single.effect.value, abs=0.05)
        width, exact, naive_width = (np.diff(each.effect.interval)[0] for each in (one, single, naive))
        assert width == pytest.approx(exact, rel=0.12)
        assert naive_width < 0.75 * width
        assert one.p_value == pytest.approx(single.p_value, rel=0.5, abs=1e-4)


def test_sorted_and_shuffled_rows_are_equal(patients):
    X, death = patients
    order = np.argsort(X["age"].to_numpy())
    one, other = describe(X, death), describe(X.iloc[order].reset_index(drop=True), death[order])
    for name, each in one.items():
        np.testing.assert_allclose(each.effect.interval, other[name].effect.interval, rtol=1e-9)


def test_p_values_are_adjusted_over_the_columns():
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.normal(size=(200, 80))).add_prefix("x")
    y = np.where(X["x0"] + rng.normal(size=200) > 0, "b", "a")
    found = describe(X, y)
    assert found["x0"].is_significant
    p = [one.p_value for one in found.values()]
    np.testing.assert_allclose([one.adjusted for one in found.values()], stats.false_discovery_control(p))


def test_degenerate_columns_have_no_effect():
    y = np.array(["a", "b"] * 10)
    found = describe({"same": np.ones(20), "copy": np.where(y == "b", 1.0, 0.0), "x": np.arange(20.0)}, y)
    assert found["same"].effect is None
    assert found["same"].to_dict()["p_value"] is None
    assert found["copy"].is_significant
    assert found["copy"].effect.value > 2
    with pytest.raises(DataError, match="target"):
        describe_associations(np.ones((5, 2)))


def test_what_lines_beside_a_cut_leave_is_that_of_least_squares():
    rng = np.random.default_rng(4)
    # Equal lowest values: no row is below the first cuts.
    u = np.r_[np.full(30, -0.3), rng.uniform(-0.2, 0.5, 90)]
    y, weight, cuts = rng.normal(size=120), rng.uniform(0.5, 2, 120), np.linspace(-0.35, 0.35, 8)
    expected = np.full(8, np.inf)
    for k, cut in enumerate(cuts):
        sides = [u < cut, u >= cut]
        if all(map(np.any, sides)):
            fits = [
                np.polyfit(u[side], y[side], 1 if np.ptp(u[side]) else 0, w=np.sqrt(weight[side])) for side in sides
            ]
            expected[k] = sum(
                (weight[s] * (y[s] - np.polyval(fit, u[s])) ** 2).sum() for s, fit in zip(sides, fits, strict=True)
            )
    assert np.isinf(expected[0])
    np.testing.assert_allclose(associations._left_over(u, y, weight, cuts), expected, rtol=1e-9)
