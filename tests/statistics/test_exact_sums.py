"""Exact sums: the same bits in any order."""

from fractions import Fraction

import numpy as np
import pytest

from tamiz.statistics.exact_sums import SplitNumbers, power_of_two_scale, round_to_scale, split_numbers


def numbers(seed, n=2000):
    rng = np.random.default_rng(seed)
    return rng.random(n) ** rng.integers(1, 12, n) * 10.0 ** rng.integers(-3, 4)


@pytest.mark.parametrize("seed", range(5))
def test_head_and_tail_are_the_number_to_52_places_of_the_scale(seed):
    values = numbers(seed)
    scale = power_of_two_scale(values)
    assert scale / 2 < values.max() <= scale
    head, tail = split_numbers(values, scale)
    np.testing.assert_array_equal(head + tail, round_to_scale(values, scale))
    assert np.abs(head + tail - values).max() <= scale * 2.0**-53
    assert np.abs(tail).max() <= scale * 2.0**-27


@pytest.mark.parametrize("seed", range(5))
def test_sums_in_any_order_are_the_exact_sum_rounded_once(seed):
    values, rng = numbers(seed), np.random.default_rng(seed)
    scale = power_of_two_scale(values)
    exact = sum(map(Fraction, round_to_scale(values, scale).tolist()))
    parts = SplitNumbers.from_values(values, scale)
    for _ in range(20):
        order = rng.permutation(len(values))
        cut = rng.integers(1, len(values))
        total = parts[order[:cut]].sum() + parts[order[cut:]].sum()
        assert Fraction(float(total.head)) + Fraction(float(total.tail)) == exact
        assert total.value == float(exact)


def test_numbers_that_are_all_zero_have_a_scale():
    assert power_of_two_scale(np.zeros(3)) == 1.0
    assert split_numbers(np.zeros(3), 1.0)[0].tolist() == [0, 0, 0]
