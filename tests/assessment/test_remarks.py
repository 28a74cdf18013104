"""Heavy tails, drift and ordinal targets are found, and ordinary tables have no remark."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tamiz import open_table
from tamiz.assessment import table_remarks


def remarks(X, y=None, **options):
    return {one.kind: one for one in table_remarks(open_table(pd.DataFrame(X), y, **options))}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_heavy_tails_have_a_transform_that_suits_their_signs(rng):
    z = rng.normal(size=1000)
    X = {
        "positive": np.exp(2.5 * z),
        "counts": np.floor(np.exp(2.5 * z)),
        "signed": np.sinh(4 * z),
        "normal": z,
        "skewed": z**2,
        "rare": (rng.random(1000) < 0.005).astype(float),
    }
    found = remarks(X)["heavy tails"]
    assert dict(zip(found.columns, found.advice, strict=True)) == {
        "positive": "log",
        "counts": "log1p",
        "signed": "ranks",
    }
    assert "log" not in found.sentence.split("'signed'")[1].split(")")[0]
    squares = (X["signed"] - X["signed"].mean()) ** 2
    share = np.sort(squares)[-10:].sum() / squares.sum()
    assert found.sizes[found.columns.index("signed")] == pytest.approx(share)
    scaled = remarks({name: 1e9 * values for name, values in X.items()})["heavy tails"]
    assert (scaled.columns, scaled.advice) == (found.columns, found.advice)


def test_a_target_with_heavy_tails_is_named(rng):
    assert remarks({"x": rng.normal(size=500)}, np.exp(3 * rng.normal(size=500)))["heavy tails"].columns == ("target",)


def test_numbers_that_stand_for_missing_are_named_and_zeros_that_belong_to_a_column_are_not(rng):
    n = 800
    X = {
        "pressure": np.where(rng.random(n) < 0.05, 0, rng.normal(70, 12, n).round()),
        "insulin": np.where(rng.random(n) < 0.5, 0, 14 + rng.gamma(2, 60, n).round()),
        "age": np.where(rng.random(n) < 0.1, -999, rng.integers(0, 46, n)),
        "spent": np.where(rng.random(n) < 0.3, 0, rng.gamma(2, 30, n).round()),
        "children": rng.poisson(1, n),
        "score": np.minimum(rng.normal(90, 10, n).round(), 100),
        "tails": rng.standard_cauchy(n).round(1),
    }
    found = remarks(X)["coded missing"]
    zeros = {name: int((X[name] == code).sum()) for name, code in (("pressure", 0), ("insulin", 0), ("age", -999))}
    assert dict(zip(found.columns, found.sizes, strict=True)) == zeros
    assert f"'age' (-999 in {zeros['age']} rows)" in found.sentence
    belonging = ["spent", "children", "score", "tails"]
    assert "coded missing" not in remarks({name: X[name] for name in belonging})


def test_drift_of_numbers_levels_and_the_target(rng):
    n = 600
    t = np.linspace(0, 1, n)
    X = pd.DataFrame({
        "shifted": rng.normal(size=n) + 1.5 * t,
        "wider": rng.normal(size=n) * (1 + 3 * t),
        "level": np.where(rng.random(n) < 0.2 + 0.5 * t, "a", "b"),
        "still": rng.normal(size=n),
    })  # fmt: skip
    y = np.where(rng.random(n) < 0.3 + 0.4 * t, "yes", "no")
    found = remarks(X, y)["drift"]
    assert set(found.columns) == {"shifted", "wider", "level", "target"}
    sizes = dict(zip(found.columns, found.sizes, strict=True))
    exact = stats.ks_2samp(X["shifted"][:200], X["shifted"][-200:])
    assert sizes["shifted"] == pytest.approx(exact.statistic)
    rates = [(X["level"][part] == "a").mean() for part in (slice(0, 200), slice(-200, None))]
    assert sizes["level"] == pytest.approx(abs(rates[0] - rates[1]))
    # In a random order nothing drifts, and the time finds it again.
    order = np.random.default_rng(1).permutation(n)
    shuffled = X.iloc[order].reset_index(drop=True)
    assert "drift" not in remarks(shuffled, y[order])
    assert remarks(shuffled, y[order], time=t[order])["drift"].columns == found.columns


def test_the_p_values_of_drift_are_those_of_scipy(rng):
    X = pd.DataFrame({"x": rng.normal(size=300) + np.linspace(0, 1.5, 300)})
    found = remarks(X)["drift"]
    exact = stats.ks_2samp(X["x"][:100], X["x"][-100:])
    assert found.p_values[0] == pytest.approx(exact.pvalue, rel=0.3)


def test_sorted_tables_do_not_drift(rng):
    x = rng.normal(size=300)
    y = np.where(x + rng.normal(size=300) > 0, "b", "a")
    X = pd.DataFrame({"x": x, "z": rng.normal(size=300), "c": np.where(x > 0, "up", "down")})
    for key in (x, y, X["c"].to_numpy()):
        order = np.argsort(key, kind="stable")
        assert "drift" not in remarks(X.iloc[order].reset_index(drop=True), y[order])


def test_rows_of_a_group_are_one_row_for_drift(rng):
    groups = np.repeat(np.arange(60), 20)
    X = {"x": rng.normal(size=60)[groups], "y": rng.normal(size=60)[groups], "z": rng.normal(size=60)[groups]}
    assert "drift" in remarks(X)
    assert "drift" not in remarks(X, groups=groups)


def test_ordinal_targets(rng):
    x = rng.normal(size=200)
    found = remarks({"x": x}, rng.integers(1, 6, 200))["ordinal target"]
    assert found.sizes == (5.0,)
    assert "ordered levels, 1 to 5" in found.sentence
    assert "ordinal target" not in remarks({"x": x}, rng.choice(["1a", "2a", "3a"], 200))
    assert "ordinal target" not in remarks({"x": x}, rng.integers(0, 2, 200))


def test_frequency_weights_equal_repeated_rows(rng):
    n = 400
    X = pd.DataFrame({"x": rng.normal(size=n), "h": np.exp(3 * rng.normal(size=n))})
    one = remarks(X, weight=np.full(n, 2))["heavy tails"]
    other = remarks(X.iloc[np.repeat(np.arange(n), 2)].reset_index(drop=True))["heavy tails"]
    np.testing.assert_allclose(one.sizes, other.sizes)
