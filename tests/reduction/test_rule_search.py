"""The search for a rule: against every single condition by its definition, and on rows where the rule is known."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamiz.reduction.rules import MIN_GAIN, Condition, RuleSearch, select_rows_of_rule
from tamiz.table.schema import Column

from ..reference.rules import best_single_score, f1

NUMBER = Column("x", "numeric")


def category(n_levels):
    return Column("c", "categorical", tuple("abcdefgh"[:n_levels]))


def random_columns(rng, n):
    coarse = rng.integers(0, 12, n).astype(float)
    with_missing = np.where(rng.random(n) < 0.2, np.nan, np.round(rng.normal(size=n), 1))
    codes = rng.integers(-1, 6, n).astype(np.int8)
    columns = [coarse, with_missing, codes, (coarse > 5).astype(np.int8)]
    return columns, [NUMBER, NUMBER, category(6), category(2)]


def score(conditions, columns, inside, weight):
    n_values = sum(
        len(one.levels) or 1 if one.levels or one.missing else int(np.isfinite([one.low, one.high]).sum())
        for one in conditions
    )
    return f1(select_rows_of_rule(conditions, columns, len(inside)), inside, weight) - MIN_GAIN * n_values


@pytest.mark.parametrize("seed", range(40))
def test_the_best_single_condition_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    columns, schema = random_columns(rng, 80)
    weight = rng.integers(1, 4, 80).astype(float) if seed % 2 else np.ones(80)
    noise = rng.random(80)
    inside = [columns[0] > 7, (columns[0] > 2) & (columns[0] < 6), np.isnan(columns[1]), columns[2] >= 4][seed % 4] ^ (
        noise < 0.15
    )
    found = RuleSearch(columns, schema, weight).find_rule(inside, 1)
    assert len(found) <= 1
    assert score(found, columns, inside, weight) == pytest.approx(
        best_single_score(columns, inside, weight, MIN_GAIN), abs=1e-12
    )


def test_many_distinct_values_are_cut_near_the_best_threshold():
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=3000), rng.normal(size=3000)]
    inside = (columns[1] > 2.0) ^ (rng.random(3000) < 0.005)
    found = RuleSearch(columns, [NUMBER] * 2, np.ones(3000)).find_rule(inside, 1)
    best = best_single_threshold(columns[1], inside)
    assert score(found, columns, inside, np.ones(3000)) >= best - 0.01


def best_single_threshold(values, inside):
    return max(f1(values > cut, inside, np.ones(len(values))) for cut in values) - MIN_GAIN


def test_a_planted_conjunction_of_three_conditions_is_found():
    rng = np.random.default_rng(0)
    n = 1000
    columns = [rng.normal(size=n), rng.integers(0, 3, n).astype(np.int8), rng.random(n), rng.normal(size=n)]
    inside = (columns[0] > 0.25) & (columns[1] == 2) & (columns[2] <= 0.75)
    found = RuleSearch(columns, [NUMBER, category(3), NUMBER, NUMBER], np.ones(n)).find_rule(inside, 3)
    assert sorted(one.column for one in found) == [0, 1, 2]
    assert (select_rows_of_rule(found, columns, n) == inside).mean() > 0.99


def test_a_conjunction_of_two_levels_is_found_among_other_columns():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 400).astype(np.int8) for _ in range(6)]
    inside = (columns[2] == 1) & (columns[4] == 0)
    found = RuleSearch(columns, [category(2)] * 6, np.ones(400)).find_rule(inside, 2)
    assert [(one.column, one.levels) for one in sorted(found, key=lambda one: one.column)] == [(2, (1,)), (4, (0,))]


def test_a_condition_must_add_its_gain():
    # The second condition would raise F1 from 2 * 98 / (98 + 100) = 0.990 to 1.
    values, other = np.repeat([0.0, 1.0], 100), np.zeros(200)
    other[100:102] = 1.0
    inside = (values == 1) & (other == 0)
    found = RuleSearch([values, other], [NUMBER] * 2, np.ones(200)).find_rule(inside, 3)
    assert [one.column for one in found] == [0]


def test_of_equal_columns_the_first_is_used():
    values = np.random.default_rng(0).normal(size=100)
    found = RuleSearch([np.ones(100), values, values, values], [NUMBER] * 4, np.ones(100)).find_rule(values > 1, 3)
    assert [one.column for one in found] == [1]


def test_constant_and_empty_columns_are_no_conditions():
    columns = [np.ones(50), np.full(50, np.nan), np.zeros(50, dtype=np.int8), np.full(50, -1, dtype=np.int8)]
    schema = [NUMBER, NUMBER, category(1), category(3)]
    assert RuleSearch(columns, schema, np.ones(50)).find_rule(np.arange(50) < 20, 3) == ()


def test_a_missing_value_fulfils_no_condition_but_missing():
    numbers, codes = np.array([np.nan, 1.0, 2.0]), np.array([-1, 0, 1], dtype=np.int8)
    assert Condition(0, low=1.0).select(numbers).tolist() == [False, False, True]
    assert Condition(0, high=1.0).select(numbers).tolist() == [False, True, False]
    assert Condition(0, levels=(0, 1)).select(codes).tolist() == [False, True, True]
    for values in (numbers, codes):
        assert Condition(0, missing=True).select(values).tolist() == [True, False, False]


def test_integer_weights_equal_repeated_rows():
    rng = np.random.default_rng(0)
    columns, schema = random_columns(rng, 60)
    inside, weight = rng.random(60) < 0.2 + 0.05 * columns[0], rng.integers(1, 5, 60)
    repeated = [np.repeat(values, weight) for values in columns]
    assert RuleSearch(columns, schema, weight.astype(float)).find_rule(inside, 3) == RuleSearch(
        repeated, schema, np.ones(weight.sum())
    ).find_rule(np.repeat(inside, weight), 3)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (206.0, 207.0, "x > 206"),
        (205.0, 206.0, "x > 205"),
        (-1.0, 3.0, "x > 0"),
        (0.123, 0.131, "x > 0.13"),
        (1234.4, 1899.0, "x > 1600"),
        (-5.25, -5.0, "x > -5.1"),
        (1e300, 3e300, "x > 2e+300"),
        (0.1, np.nextafter(0.1, 1), "x > 0.1"),
    ],
)  # fmt: skip
def test_thresholds_have_the_fewest_digits_that_separate_the_rows(low, high, text):
    values = np.repeat([low, high], 10)
    (found,) = RuleSearch([values], [NUMBER], np.ones(20)).find_rule(values == high, 1)
    assert found.describe(NUMBER).text == text
    assert_array_equal(found.select(values), values == high)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ("2020-03-01", "2022-05-01", "when > 2021-01-01"),
        ("2021-03-02", "2021-05-01", "when > 2021-04-01"),
        ("2021-03-02", "2021-03-04", "when > 2021-03-03"),
        ("2021-03-02T10", "2021-03-02T14", "when > 2021-03-02 12:00"),
    ],
)
def test_thresholds_of_dates_are_dates(low, high, text):
    values = np.repeat(np.array([low, high], dtype="datetime64[s]").astype(float), 10)
    column = Column("when", "date")
    (found,) = RuleSearch([values], [column], np.ones(20)).find_rule(values == values[-1], 1)
    assert found.describe(column).text == text


def test_conditions_in_words():
    sizes = Column("size", "categorical", ("s", "m", "l"))
    described = [
        Condition(0, low=1.5).describe(NUMBER),
        Condition(0, high=1.5).describe(NUMBER),
        Condition(0, low=-1, high=1e6).describe(NUMBER),
        Condition(0, low=3, high=3).describe(NUMBER),
        Condition(0, levels=(2,)).describe(sizes),
        Condition(0, levels=(0, 1, 2)).describe(sizes),
        Condition(0, missing=True).describe(sizes),
    ]
    assert [(one.kind, one.values, one.text) for one in described] == [
        ("above", (1.5,), "x > 1.5"),
        ("below", (1.5,), "x ≤ 1.5"),
        ("between", (-1, 1e6), "-1 < x ≤ 1000000"),
        ("equals", (3,), "x = 3"),
        ("equals", ("l",), "size = l"),
        ("one of", ("s", "m", "l"), "size = s, m or l"),
        ("missing", (), "size is missing"),
    ]
