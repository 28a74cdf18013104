"""Discretization into intervals of equal weight and of equal width."""

import numpy as np
import pytest

from tamiz.statistics.base import Block
from tamiz.statistics.cuts import MDL, CutPoints, EqualFrequency, EqualWidth


def cuts(rule, values, weight=None):
    weight = None if weight is None else np.asarray(weight, dtype=float)
    values = np.asarray(values, dtype=float)
    statistic = CutPoints((0,), rule, 2).update(Block(range(len(values)), {0: values}, None, weight))
    statistic.finish()
    return statistic.edges[0]


def test_intervals_of_equal_frequency_contain_equal_numbers_of_different_values():
    values = np.random.default_rng(0).permutation(100).astype(float)
    edges = cuts(EqualFrequency(10), values)
    assert edges.tolist() == [9.5 + 10 * k for k in range(9)]
    assert np.bincount(np.searchsorted(edges, values)).tolist() == [10] * 10


def test_each_cut_of_equal_frequency_follows_the_first_value_that_reaches_its_share():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 12, rng.integers(1, 60)) / 2
        weight = rng.integers(1, 5, len(values))
        n_bins = int(rng.integers(2, 8))
        distinct = np.unique(values)
        reached = np.array([weight[values <= value].sum() for value in distinct])
        expected = set()
        for k in range(1, n_bins):
            first = np.flatnonzero(reached * n_bins >= k * weight.sum())[0]
            if first < len(distinct) - 1:
                expected.add((distinct[first] + distinct[first + 1]) / 2)
        assert cuts(EqualFrequency(n_bins), values, weight).tolist() == sorted(expected)


def test_equal_values_stay_in_one_interval():
    edges = cuts(EqualFrequency(4), [1.0] * 50 + [2.0, 3.0])
    assert edges.tolist() == [1.5]


def test_intervals_of_equal_width_are_equally_wide():
    edges = cuts(EqualWidth(5), [0.0, 0.1, 0.2, 10.0])
    np.testing.assert_allclose(edges, [2, 4, 6, 8], rtol=1e-15)


def test_equal_width_does_not_overflow():
    edges = cuts(EqualWidth(4), [-1.7e308, 1.7e308])
    np.testing.assert_allclose(edges, [-0.85e308, 0.0, 0.85e308])


@pytest.mark.parametrize("rule", [EqualFrequency(3), EqualWidth(3)])
def test_a_constant_or_empty_column_stays_in_one_piece(rule):
    assert len(cuts(rule, [2.0] * 9)) == 0
    assert len(cuts(rule, [np.nan] * 9)) == 0
    assert len(cuts(rule, [np.nan] * 8 + [4.0])) == 0


@pytest.mark.parametrize("rule", [EqualFrequency(4), EqualWidth(4)])
def test_integer_weights_cut_as_repeated_rows_and_missing_values_do_not_count(rule):
    for seed in range(100):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=40).round(1)
        values[rng.random(40) < 0.2] = np.nan
        weight = rng.integers(0, 4, 40)
        expected = cuts(rule, values.repeat(weight))
        np.testing.assert_array_equal(cuts(rule, values, weight), expected)
        np.testing.assert_array_equal(cuts(rule, values.repeat(weight)[~np.isnan(values.repeat(weight))]), expected)


@pytest.mark.parametrize("rule", [EqualFrequency(7), EqualWidth(7)])
def test_cuts_ascend_and_lie_between_the_extremes(rule):
    for seed in range(100):
        values = np.random.default_rng(seed).normal(size=30).round(1)
        edges = cuts(rule, values)
        assert (np.diff(edges) > 0).all()
        assert len(edges) <= 6
        assert values.min() <= edges[0]
        assert edges[-1] < values.max()


def test_a_column_without_rows_has_no_cuts():
    statistic = CutPoints((0,), MDL(), 2)
    statistic.finish()
    assert len(statistic.edges[0]) == 0
