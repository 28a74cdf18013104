"""Associations by kinds against scipy and plain loops, and equivalent columns in tables of known truth."""

import itertools

import numpy as np
import pandas as pd
import pytest
from pandas.api.types import is_numeric_dtype
from scipy.stats import chi2_contingency, pearsonr, spearmanr
from tests.planted_tables import COPY_KINDS, planted_table

from tamiz import open_table
from tamiz.criteria import column_associations
from tamiz.criteria.column_associations import (
    EQUIVALENT,
    REDUNDANT,
    associate_columns,
    one_sided_associations,
)
from tamiz.runtime import parallel
from tamiz.selection.equivalent_columns import equivalent_columns


def mixed(seed=0, n=300):
    """Numbers, some with ties, and categories, some associated, with missing values."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    table = {f"x{k}": 0.9 * common + rng.uniform(0.1, 1) * rng.normal(size=n) for k in range(4)}
    table["skewed"] = np.exp(2 * table["x0"])
    table["counts"] = np.round(2 * table["x1"])
    for k, cuts in enumerate(([0.0], [-1, 0, 1.0], np.linspace(-2, 2, 20))):
        code = np.searchsorted(cuts, common + rng.uniform(0.05, 0.5) * rng.normal(size=n))
        table[f"c{k}"] = np.char.add("v", code.astype(str)).astype(object)
    frame = pd.DataFrame(table)
    return frame.mask(rng.random(frame.shape) < 0.1)


def found_for(data, *more, **options):
    table = open_table(data, *more, **options)
    return table, associate_columns(table, table.schema.used.tolist())


def bergsma(a, b):
    """Cramer's V with bias correction, from scipy's chi squared."""
    counts = pd.crosstab(a, b).to_numpy()
    n, (k, m) = counts.sum(), counts.shape
    phi = chi2_contingency(counts, correction=False).statistic / n
    phi = max(0.0, phi - (k - 1) * (m - 1) / (n - 1))
    smaller = min(side - (side - 1) ** 2 / (n - 1) for side in (k, m)) - 1
    return np.sqrt(min(phi / smaller, 1.0))


def eta(level, number):
    """The correlation ratio, corrected for the number of levels, by loops."""
    parts = [number[level == one] for one in np.unique(level)]
    within = sum(((part - part.mean()) ** 2).sum() for part in parts) / (len(number) - len(parts))
    return np.sqrt(max(0.0, 1 - within / (((number - number.mean()) ** 2).sum() / (len(number) - 1))))


def plain_value(a, b):
    rows = ~(pd.isna(a) | pd.isna(b))
    a, b = a[rows], b[rows]
    numbers = [one.to_numpy(float) for one in (a, b) if is_numeric_dtype(one)]
    levels = [one.to_numpy(str) for one in (a, b) if not is_numeric_dtype(one)]
    if len(levels) == 2:
        return bergsma(*levels)
    if len(levels) == 1:
        plain, ranked = eta(levels[0], numbers[0]), eta(levels[0], pd.Series(numbers[0]).rank().to_numpy())
    else:
        plain, ranked = (abs(measure(*numbers)[0]) for measure in (pearsonr, spearmanr))
    return max(ranked, plain if ranked >= plain / 2 else 0.0)


@pytest.mark.parametrize("seed", [0, 1])
def test_values_are_those_of_scipy_and_of_plain_loops_on_the_common_rows(seed):
    frame = mixed(seed)
    _, found = found_for(frame)
    for i, j in itertools.combinations(range(frame.shape[1]), 2):
        pair = frame.iloc[:, i], frame.iloc[:, j]
        # Ranks are those of all present rows, except where they decide.
        assert found.values[i, j] == pytest.approx(plain_value(*pair), abs=0.02), frame.columns[[i, j]]
    complete = frame.dropna()
    _, found = found_for(complete)
    for i, j in itertools.combinations(range(frame.shape[1]), 2):
        assert found.values[i, j] == pytest.approx(plain_value(complete.iloc[:, i], complete.iloc[:, j]), abs=1e-6)
    np.testing.assert_array_equal(found.values, found.values.T)


def test_frequency_weights_are_repeated_rows():
    frame = mixed(2)
    weight = np.random.default_rng(2).integers(0, 3, len(frame))
    table = open_table(frame, weight=weight.astype(float))
    weighted = associate_columns(table, table.schema.used.tolist())
    _, repeated = found_for(frame.loc[frame.index.repeat(weight)])
    np.testing.assert_allclose(weighted.values, repeated.values, atol=1e-5)


def test_units_rows_and_columns_in_another_order_change_nothing():
    frame = mixed(3)
    _, found = found_for(frame)
    numbers = frame.select_dtypes("number")
    other = frame.assign(**(10 * numbers)).iloc[::-1, ::-1]
    _, turned = found_for(other)
    np.testing.assert_allclose(turned.values[::-1, ::-1], found.values, atol=1e-9)
    _, by_x = found_for(frame.sort_values("x0"))
    np.testing.assert_allclose(by_x.values, found.values, atol=1e-9)


def test_threads_change_nothing():
    frame = mixed(4)
    found = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            found.append(found_for(frame)[1].values)
    np.testing.assert_array_equal(*found)


def test_columns_of_many_levels_are_counted_like_those_of_few():
    rng = np.random.default_rng(5)
    code = rng.integers(0, 150, 2000)
    frame = (
        pd.DataFrame({"a": code, "b": code // 10, "c": np.where(rng.random(2000) < 0.1, 7, code // 5)}).astype(str)
        + "x"
    )
    _, found = found_for(frame, kinds=dict.fromkeys(frame, "categorical"))
    for i, j in itertools.combinations(range(3), 2):
        assert found.values[i, j] == pytest.approx(bergsma(frame.iloc[:, i], frame.iloc[:, j]), abs=1e-6)


def test_of_very_many_values_evenly_spaced_rows_are_used(monkeypatch):
    frame = mixed(0, n=1200)
    monkeypatch.setattr(column_associations, "_MAX_VALUES", 9 * 1100)
    _, found = found_for(frame)
    monkeypatch.undo()
    _, some = found_for(frame.iloc[np.linspace(0, 1199, 1100).astype(int)])
    np.testing.assert_array_equal(found.values, some.values)


def test_an_outlier_of_both_columns_is_no_association():
    X = np.random.default_rng(6).normal(size=(200, 2))
    X[0] = 1e3
    _, found = found_for(X)
    assert abs(np.corrcoef(X.T)[0, 1]) > 0.99
    assert found.values[0, 1] < 0.3


def test_a_town_determines_its_country_but_not_the_other_way_round():
    rng = np.random.default_rng(7)
    town = rng.integers(0, 12, 600)
    x = rng.normal(size=600)
    frame = pd.DataFrame({"town": town, "country": town // 4}).astype(str) + "x"
    frame["code"], frame["x"], frame["third"] = 5 * town % 12, x, pd.qcut(x, 5, labels=[*"abcde"]).astype(str)
    table, found = found_for(frame)
    assert found.beyond_chance[0, 1] >= REDUNDANT
    sided = one_sided_associations(found, table, REDUNDANT)
    determines = {(frame.columns[i], frame.columns[j]) for i, j in zip(*np.nonzero(sided >= REDUNDANT), strict=True)}
    assert determines == {
        ("town", "country"), ("code", "country"), ("town", "code"), ("code", "town"), ("x", "third"), ("third", "x"),
    }  # fmt: skip
    assert equivalent_columns(table) == {2: 0}


@pytest.mark.parametrize("shape", [pytest.param((60, 3000), marks=pytest.mark.slow), (60, 600), (12, 400)])
def test_noise_of_wide_tables_is_not_redundant(shape):
    X = np.random.default_rng(8).normal(size=shape)
    X[:, -1] = 3 - 2 * X[:, 0]
    _, found = found_for(X)
    assert np.argwhere(np.triu(found.beyond_chance >= 0.8)).tolist() == [[0, shape[1] - 1]]


def test_few_events_agree_by_chance_but_equal_columns_are_equal():
    rng = np.random.default_rng(9)
    events = np.zeros((300, 200))
    for k in range(200):
        events[rng.choice(300, 2, replace=False), k] = 1
    events[:, 7] = 0
    events[:3, 7] = 1
    frame = pd.DataFrame(events).add_prefix("e")
    frame["e7 and noise"] = frame["e7"] + 0.01 * rng.normal(size=300)
    _, found = found_for(frame)
    equal = (events.T @ events >= 2) & (events.sum(axis=0) == 2)
    np.fill_diagonal(equal, val=False)
    # Two events in the same rows are equal columns; noise beside the events of another one is a chance.
    assert ((found.beyond_chance >= REDUNDANT)[:200, :200] == equal).all()


def test_a_fixed_column_and_the_most_complete_one_are_kept():
    x = np.random.default_rng(10).normal(size=200)
    frame = pd.DataFrame({"a": x, "b": np.exp(x), "c": -x, "z": x**2})
    frame.loc[:20, "a"] = np.nan
    table = open_table(frame)
    assert equivalent_columns(table) == {0: 1, 2: 1}
    assert equivalent_columns(table, required=[2]) == {0: 2, 1: 2}
    assert equivalent_columns(table, required=[0, 2]) == {1: 2}
    assert equivalent_columns(table, columns=[0, 3]) == {}


def test_columns_with_few_common_rows_are_not_equivalent():
    x = np.random.default_rng(11).normal(size=400)
    half = np.arange(400) < 200
    frame = pd.DataFrame({"a": np.where(half, x, np.nan), "b": np.where(half & (np.arange(400) > 20), np.nan, x)})
    table, found = found_for(frame)
    assert found.beyond_chance[0, 1] > EQUIVALENT
    assert equivalent_columns(table) == {}


@pytest.mark.parametrize("kind", COPY_KINDS)
def test_planted_copies_are_equivalent_in_imbalanced_sorted_repeated_and_weighted_tables(kind):
    table = planted_table(kind, 3)
    (pair,) = table.copies
    first = table.X[sorted(pair)[0]]
    rare = np.random.default_rng(0).permutation(len(first)) < 0.8 * len(first)
    for X, weight in (
        (table.X, None),
        (table.X.sort_values(first.name).reset_index(drop=True), None),
        (pd.concat([table.X] * 3, ignore_index=True), None),
        (table.X, np.where(rare, 0.5, 1.5)),
    ):
        opened = open_table(X, weight=weight)
        names = opened.schema.names
        same = {frozenset((names[j], names[kept])) for j, kept in equivalent_columns(opened).items()}
        assert same == {frozenset(pair)}
