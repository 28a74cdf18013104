"""Covariances with a diagonal and a factor: the dense formulas, and knockoffs of more columns than rows."""

import numpy as np
import pytest

from tamiz.error_control import KnockoffSelector, knockoffs
from tamiz.error_control.gaussian_knockoffs import FactorCovariance, GaussianCopula, KnockoffSampler, mvr


def wide_table(n=12, p=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) @ rng.normal(size=(4, p)) + rng.normal(size=(n, p))


def covariance(shrinkage=0.3, p=40, r=6):
    factor = wide_table(r, p).T
    factor *= np.sqrt((1 - shrinkage) / (factor**2).sum(axis=1))[:, None]
    return FactorCovariance(np.full(p, shrinkage), factor)


@pytest.mark.parametrize("shrinkage", [0.05, 0.3, 0.9])
def test_inverse_and_minimum_reconstructability_are_those_of_the_dense_matrix(shrinkage):
    found = covariance(shrinkage)
    dense = found.to_array()
    factor = found.inverse_factor
    np.testing.assert_allclose(np.diag(1 / found.diagonal) - factor @ factor.T, np.linalg.inv(dense), atol=1e-10)
    np.testing.assert_allclose(found.knockoff_variances("mvr"), mvr(dense), rtol=1e-6)
    equal = found.knockoff_variances("equicorrelated")
    np.testing.assert_allclose(equal, equal[0], rtol=1e-12)
    assert np.linalg.eigvalsh(2 * dense - np.diag(equal))[0] > 0


def test_the_distribution_given_some_columns_is_that_of_the_dense_matrix():
    found = covariance()
    dense, q = found.to_array(), 15
    residual, slopes = found.conditional(q)
    expected = np.linalg.solve(dense[q:, q:], dense[q:, :q])
    np.testing.assert_allclose(slopes, expected, atol=1e-12)
    np.testing.assert_allclose(residual.to_array(), dense[:q, :q] - dense[:q, q:] @ expected, atol=1e-12)
    # Variances that are not 1: s is in their units.
    std = np.sqrt(np.diag(residual.to_array()))
    correlation = residual.to_array() / np.outer(std, std)
    np.testing.assert_allclose(residual.knockoff_variances("mvr"), mvr(correlation) * std**2, rtol=1e-6)


def sampler_of(X, method="mvr"):
    return KnockoffSampler(dict(enumerate(X.T)), [f"x{j}" for j in range(X.shape[1])], method, np.random.default_rng(1))


@pytest.mark.parametrize("method", ["mvr", "equicorrelated"])
def test_knockoffs_of_more_columns_than_rows_have_the_conditional_distribution(method):
    X = wide_table(8, 12)
    X[:, 11] = 3 * X[:, 2]
    sampler = sampler_of(X, method)
    assert sampler.collinear.tolist() == [2, 11]
    sigma, s = sampler._residuals.to_array(), np.diag(sampler.s)
    residuals = np.random.default_rng(2).normal(size=(40_000, len(sigma)))
    noise, shift = (
        sampler._draw_shift(rows, np.random.default_rng(3)) for rows in (np.zeros_like(residuals), residuals)
    )
    np.testing.assert_allclose(shift - noise, residuals @ np.linalg.solve(sigma, s), atol=1e-9)
    np.testing.assert_allclose(np.cov(noise.T), 2 * s - s @ np.linalg.solve(sigma, s), atol=0.03)


def test_scores_of_ties_and_missing_values_are_drawn_as_from_the_dense_matrix():
    X = np.round(wide_table(10, 24))
    X[3, 5] = X[7, 20] = np.nan
    copula = GaussianCopula(list(X.T), np.arange(24) == 9, np.random.default_rng(0))
    assert isinstance(copula.correlation, FactorCovariance)
    np.testing.assert_allclose(np.diag(copula.correlation.to_array()), 1.0, atol=1e-12)
    dense, by_factor = copula._start.copy(), copula._start.copy()
    copula._sweep(dense, np.linalg.inv(copula.correlation.to_array()), np.random.default_rng(5))
    copula._sweep_factor(by_factor, copula.correlation, np.random.default_rng(5))
    np.testing.assert_allclose(by_factor, dense, atol=1e-8)
    found = knockoffs(X, random_state=0)
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(X, axis=0))


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_more_columns_than_rows_take_seconds_and_are_shrunk():
    X = wide_table(40, 400)
    selector = KnockoffSelector(random_state=0).fit(X, X[:, :3].sum(axis=1))
    checks = {check.name: check for check in selector.checks_}
    assert not checks["rows"].passed
    assert 0 < checks["shrinkage"].value < 1
    assert (selector.s_ > 0).all()
