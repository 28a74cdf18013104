"""Logarithms of tail probabilities, against mpmath with 60 digits and scipy."""

import numpy as np
import pytest
from scipy import stats

from tamiz.statistics.independence import log_chi2_sf, log_f_sf

# mpmath, 60 digits: the hypergeometric series of the incomplete beta function.
F_TAILS = [
    (2.0, 2, 50, -1.92402602840320812),
    (500.0, 2, 1000, -346.573590279972655),
    (1e4, 2, 1000, -1522.2612188617115),
    (3.0, 40, 100000, -21.1601217316897929),
    (4.0, 500, 20000, -381.95394075475701),
    (1e5, 1, 600, -1540.01505620690671),
    (50.5, 3.5, 234567.5, -84.8882599540682004),
]
# mpmath: quadrature of the upper incomplete gamma function.
CHI2_TAILS = [
    (1400.0, 3, -696.602964072860803),
    (1e6, 3, -499993.318035073664),
    (5000.0, 400, -1800.86560429394543),
    (60000.0, 40000, -1895.87567693754633),
]


@pytest.mark.parametrize(("f", "d1", "d2", "expected"), F_TAILS)
def test_the_tail_of_f_is_that_of_mpmath(f, d1, d2, expected):
    assert log_f_sf([f], [d1], [d2])[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("x", "df", "expected"), CHI2_TAILS)
def test_the_tail_of_chi_squared_is_that_of_mpmath(x, df, expected):
    assert log_chi2_sf([x], [df])[0] == pytest.approx(expected, rel=1e-11)


def test_probabilities_that_do_not_underflow_are_those_of_scipy():
    rng = np.random.default_rng(0)
    d1, d2, f = rng.integers(1, 60, 300), rng.integers(1, 5000, 300), rng.gamma(1, 3, 300)
    np.testing.assert_allclose(np.exp(log_f_sf(f, d1, d2)), stats.f.sf(f, d1, d2), rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(np.exp(log_chi2_sf(9 * f, d1)), stats.chi2.sf(9 * f, d1), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("d2", [30.0, 3000.0, 3e5])
def test_logarithms_decrease_without_a_step_where_the_probability_underflows(d2):
    f = np.geomspace(1e-3, 1e250, 4000)
    logs = log_f_sf(f, np.full(4000, 2.0), np.full(4000, d2))
    assert np.isfinite(logs).all()
    assert (np.diff(logs) < 0).all()
    # For 2 and d degrees of freedom the tail is (1 + 2 f / d)^(-d / 2).
    np.testing.assert_allclose(logs, -d2 / 2 * np.log1p(2 * f / d2), rtol=1e-10)
    x = np.geomspace(1e-3, 1e12, 4000)
    # For 2 degrees of freedom the tail is exp(-x / 2).
    np.testing.assert_allclose(log_chi2_sf(x, np.full(4000, 2.0)), -x / 2, rtol=1e-10)


def test_extremes_are_finite():
    assert log_f_sf([0.0, np.inf], [3.0, 3.0], [7.0, 7.0])[0] == 0
    assert -4000 < log_f_sf([np.inf], [3.0], [7.0])[0] < -2400
    assert np.isnan(log_f_sf([np.nan], [1.0], [1.0]))[0]
    assert log_chi2_sf([0.0], [4.0]).tolist() == [0.0]


def test_a_tail_does_not_depend_on_the_tails_computed_with_it():
    rng = np.random.default_rng(0)
    f, s = rng.uniform(1300, 20_000, 200), rng.uniform(1400, 50_000, 200)
    alone = [log_f_sf([value], [1.0], [99_998.0])[0] for value in f]
    np.testing.assert_array_equal(log_f_sf(f, 1.0, 99_998.0), alone)
    np.testing.assert_array_equal(log_chi2_sf(s, 3.0), [log_chi2_sf([value], [3.0])[0] for value in s])
