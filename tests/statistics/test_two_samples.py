"""Two samples of a column: values of SciPy, computations by hand, and laws."""

import numpy as np
import pytest
from scipy import stats

from tamiz.statistics.two_samples import (
    bin_numbers,
    compare_counts,
    compare_numbers,
    new_level_p_value,
    power_of_ten,
    share_p_value,
    stability_index,
)


def ones(*parts):
    return [np.ones(len(part)) for part in parts]


@pytest.mark.parametrize("digits", [8, 0])
def test_the_distance_of_numbers_is_that_of_scipy_and_its_p_value_the_asymptotic_one(digits):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=900).round(digits), rng.normal(0.1, size=700).round(digits)
    found, p = compare_numbers([np.append(x, np.nan), y], ones(np.append(x, 0), y), [901, 700])
    known = stats.ks_2samp(x, y, method="asymp")
    assert found == pytest.approx(known.statistic, abs=1e-12)
    # SciPy's is the exact distribution for one sample of n m / (n + m) rows, a little smaller.
    assert known.pvalue <= p <= 1.1 * known.pvalue + 0.02


def test_counts_are_compared_by_the_chi_squared_test():
    counts = np.array([[30.0, 50, 20], [60, 45, 40]])
    known = stats.chi2_contingency(counts, correction=False)
    distance, p = compare_counts(counts)
    assert p == pytest.approx(known.pvalue)
    assert distance == pytest.approx(50 / 100 - 45 / 145)


def test_rare_levels_are_one_and_too_few_bins_are_no_test():
    counts = np.array([[30.0, 50, 2, 3], [60, 45, 4, 6]])
    merged = np.array([[30.0, 50, 5], [60, 45, 10]])
    assert compare_counts(counts) == compare_counts(merged)
    assert compare_counts(np.array([[30.0, 0], [60, 0]])) == (0.0, 1.0)


def test_the_stability_index_is_that_of_its_formula():
    psi, expected = stability_index(np.array([[50.0, 50], [80, 20]]))
    assert psi == pytest.approx(0.3 * np.log(1.6) - 0.3 * np.log(0.4))
    assert expected == pytest.approx(1 / 100 + 1 / 100)
    # A bin without rows counts as half a row.
    assert stability_index(np.array([[10.0, 0], [5, 5]]))[0] == pytest.approx(
        (0.5 - 1) * np.log(0.5) + (0.5 - 0.05) * np.log(0.5 / 0.05)
    )


@pytest.mark.parametrize("n", [50, 500, 50_000])
def test_the_stability_index_without_change_has_its_expected_mean(n):
    rng = np.random.default_rng(n)
    found = [
        stability_index(bin_numbers(parts, ones(*parts)))
        for parts in (rng.normal(size=(2, n)) for _ in range(200 if n < 50_000 else 20))
    ]
    psi, expected = np.mean(found, axis=0)
    assert psi == pytest.approx(expected, rel=0.2)


def test_bins_are_deciles_of_the_first_sample_and_frequent_numbers_alone():
    x = np.arange(1.0, 101)
    counts = bin_numbers([x, np.array([10.0, 11, 200, np.nan])], ones(x, np.zeros(4)))
    assert counts[0].tolist() == [10] * 10 + [0]
    assert counts[1].tolist() == [1, 1, *[0] * 7, 1, 1]
    # The many ones are no reason to count the few zeros with them.
    x = np.repeat([0.0, 1], [5, 95])
    counts = bin_numbers([x, 1 - x], ones(x, x))
    assert counts[:, counts.any(axis=0)].tolist() == [[5, 95], [95, 5]]


def test_a_weight_of_two_is_two_rows():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=40).round(1), rng.normal(size=30).round(1)
    w = rng.integers(1, 4, 40).astype(float)
    twice = np.repeat(x, w.astype(int))
    n = [w.sum(), 30]
    assert compare_numbers([x, y], [w, np.ones(30)], n) == pytest.approx(compare_numbers([twice, y], ones(twice, y), n))
    assert (bin_numbers([x, y], [w, np.ones(30)]) == bin_numbers([twice, y], ones(twice, y))).all()


def test_levels_of_one_sample_alone_are_as_many_as_by_chance():
    rng = np.random.default_rng(2)
    levels = rng.integers(0, 300, (400, 500))
    p = [
        new_level_p_value(np.stack([np.bincount(part, minlength=300) for part in (one[:350], one[350:])]).astype(float))
        for one in levels
    ]
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(p))
    # By hand: of levels with 2 and 4 of 6 rows, only the first can be among 3 rows, with probability 3/6 * 2/5.
    assert new_level_p_value(np.array([[0.0, 3], [2, 1]])) == pytest.approx(1 - np.exp(-0.2))


def test_shares_are_compared_exactly():
    assert share_p_value((1, 20), (9, 30)) == pytest.approx(stats.fisher_exact([[1, 19], [9, 21]])[1])
    assert share_p_value((400, 2000), (500, 2000)) == pytest.approx(
        stats.chi2_contingency([[400, 1600], [500, 1500]], correction=False).pvalue
    )
    assert share_p_value((0, 20), (0, 30)) == 1.0


def test_another_unit_is_a_power_of_ten_and_a_shift_is_none():
    rng = np.random.default_rng(3)
    x, y = rng.normal(50, 10, 300), rng.normal(50, 10, 200)
    assert [power_of_ten([x, y * factor]) for factor in (1, 1000, 0.01, 2.54)] == [0, 3, -2, 0]
    assert power_of_ten([x, np.zeros(200)]) == 0
    around, others = np.random.default_rng(2).normal(size=(2, 200))
    assert [power_of_ten([around, others * factor]) for factor in (1, 10, 1000, 0.001)] == [0, 1, 3, -3]
