"""Similarity of neighbouring rows in the target, as distinguished from chance and from a sorted table."""

import numpy as np
import pytest

from tamiz import open_table
from tamiz.table.row_groups import describe_row_order, row_order

RNG = np.random.default_rng(0)
N = 400
NUMBERS = RNG.normal(size=N)
CLASSES = RNG.choice(3, N, p=[0.6, 0.3, 0.1])


def series(share, n=N):
    """A first-order autoregressive series."""
    noise, found = np.random.default_rng(1).normal(size=n), np.zeros(n)
    for t in range(1, n):
        found[t] = share * found[t - 1] + noise[t]
    return found


def described(y, **roles):
    return describe_row_order(open_table(np.random.default_rng(0).normal(size=(len(y), 2)), y, **roles))


@pytest.mark.parametrize("y", [np.sort(NUMBERS), np.sort(NUMBERS)[::-1], np.sort(NUMBERS.round()), np.arange(20.0)])
def test_sorted_numbers_are_sorted(y):
    assert row_order(y, has_classes=False).is_sorted


@pytest.mark.parametrize("y", [np.sort(CLASSES), np.sort(CLASSES)[::-1], np.repeat([2, 0, 1], [40, 50, 10])])
def test_classes_in_one_piece_each_are_sorted(y):
    assert row_order(y, has_classes=True).is_sorted


def test_an_order_that_chance_may_make_is_not_called_sorted():
    assert not row_order(np.arange(5.0), has_classes=False).is_sorted
    assert not row_order(np.repeat([0, 1], [19, 1]), has_classes=True).is_sorted
    assert not row_order(np.arange(30), has_classes=True).is_sorted


@pytest.mark.parametrize("seed", range(40))
def test_shuffled_rows_depend_on_no_order(seed):
    rng = np.random.default_rng(seed)
    few = np.zeros(1000)
    few[rng.choice(1000, 3 + seed, replace=False)] = rng.normal(size=3 + seed)
    for y in (rng.permutation(NUMBERS), rng.permutation(NUMBERS.round()), few, rng.normal(size=20)):
        found = row_order(y, has_classes=False)
        assert (found.is_dependent, found.is_sorted) == (False, False)
    for y in (rng.permutation(CLASSES), (few != 0).astype(int), rng.integers(0, 2, 20), rng.integers(0, 50, N)):
        found = row_order(y, has_classes=True)
        assert (found.is_dependent, found.is_sorted) == (False, False)


def test_z_has_mean_0_and_variance_1_where_the_order_is_random():
    rng = np.random.default_rng(3)
    numbers = [row_order(rng.permutation(NUMBERS), has_classes=False).z for _ in range(400)]
    classes = [row_order(rng.permutation(CLASSES), has_classes=True).z for _ in range(400)]
    for z in (numbers, classes):
        assert abs(np.mean(z)) < 4 / np.sqrt(400)
        assert 0.8 < np.var(z) < 1.2


def test_the_correlation_is_that_of_the_series_and_two_classes_have_the_runs_of_wald_and_wolfowitz():
    found = row_order(series(0.7, 4000), has_classes=False)
    assert found.is_dependent
    assert found.effect == pytest.approx(0.68, abs=0.03)
    y = np.repeat([0, 1], [60, 40])[RNG.permutation(100)]
    runs = row_order(y, has_classes=True)
    # Wald and Wolfowitz: mean 1 + 2 m n / N, variance 2 m n (2 m n - N) / (N^2 (N - 1)).
    assert runs.expected_runs == pytest.approx(1 + 2 * 60 * 40 / 100)
    variance = 4800 * (4800 - 100) / (100**2 * 99)
    assert runs.z == pytest.approx((runs.expected_runs - runs.n_runs) / np.sqrt(variance))


def test_weak_dependence_is_not_reported_and_strong_dependence_is():
    assert not row_order(series(0.15, 20_000), has_classes=False).is_dependent
    assert row_order(series(0.5), has_classes=False).is_dependent
    blocks = np.repeat(np.random.default_rng(0).normal(size=40), 10)
    assert row_order(blocks, has_classes=False).is_dependent
    assert row_order(np.repeat(np.random.default_rng(0).integers(0, 3, 40), 10), has_classes=True).is_dependent


@pytest.mark.parametrize("has_classes", [False, True])
def test_one_value_has_no_order(has_classes):
    for y in (np.zeros(50, dtype=int), np.zeros(1, dtype=int)):
        found = row_order(y, has_classes=has_classes)
        assert (found.is_dependent, found.is_sorted) == (False, False)


def test_a_series_is_doubtful_with_the_number_and_the_ways_out():
    found = described(series(0.9))
    assert found.is_doubtful
    for fact in ("'target'", "serial correlation of 0.8", "time=", "--time", "groups=", "--group", "shuffled"):
        assert fact in found.message


def test_runs_are_counted_in_the_sentence_on_classes():
    y = np.repeat(np.random.default_rng(0).integers(0, 2, 40), 10).astype(str)
    found, order = described(y), row_order(y, has_classes=True)
    assert found.is_doubtful
    assert f"{order.n_runs} runs" in found.message
    assert f"{order.expected_runs:.0f}" in found.message


def test_a_sorted_table_is_no_reason_to_doubt():
    found = described(np.sort(NUMBERS))
    assert not found.is_doubtful
    assert "sorted by the target 'target'" in found.message


def test_rows_without_a_target_separate_no_neighbours():
    y = series(0.9)
    y[::7] = np.nan
    assert described(y).is_doubtful


def test_where_groups_or_times_are_named_nothing_is_reported():
    assert described(series(0.9), time=np.arange(N)) is None
    assert described(series(0.9), groups=np.arange(N) // 10) is None
    assert described(NUMBERS) is None
