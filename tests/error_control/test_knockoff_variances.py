"""The vector s of knockoffs: closed forms, values of knockpy, and optimality."""

import numpy as np
import pytest
from scipy.linalg import toeplitz

from tamiz.error_control.gaussian_knockoffs import equicorrelated, knockoff_variances, mvr

from ..reference.knockoffs import joint_covariance, mvr_objective

RNG = np.random.default_rng(0)


def exchangeable(p, rho):
    return np.full((p, p), rho) + (1 - rho) * np.eye(p)


def random_correlation(p):
    root = RNG.normal(size=(p, p + 3))
    covariance = root @ root.T
    std = np.sqrt(np.diag(covariance))
    return covariance / np.outer(std, std)


CORRELATIONS = {
    "AR(1)": toeplitz(0.6 ** np.arange(6)),
    "longer than a block of steps": toeplitz(0.5 ** np.arange(70)),
    "exchangeable": exchangeable(5, 0.9),
    "random": random_correlation(12),
    "nearly singular": exchangeable(3, 1 - 1e-6),
    "one column": np.eye(1),
}


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.5, 0.9])
def test_equicorrelated_is_twice_the_smallest_eigenvalue_and_at_most_1(rho):
    np.testing.assert_allclose(equicorrelated(exchangeable(4, rho)), min(2 * (1 - rho), 1), rtol=1e-12)


def test_mvr_is_that_of_knockpy():
    # knockpy 1.3.5: compute_smatrix(Sigma, method="mvr", num_iter=2000, converge_tol=1e-14), which shrinks its solution by 2**-10.
    expected = np.array([0.47849408, 0.32362398, 0.33050213, 0.33050213, 0.32362398, 0.47849408])
    np.testing.assert_allclose(mvr(CORRELATIONS["AR(1)"]) * (1 - 2**-10), expected, atol=2e-8)


@pytest.mark.parametrize(("p", "rho"), [(2, 0.8), (5, 0.3), (40, 0.9)])
def test_mvr_of_an_exchangeable_matrix_solves_its_equation(p, rho):
    # All s are equal, and 1 / s**2 is the mean of 1 / (2 lambda - s)**2 over the eigenvalues.
    s = mvr(exchangeable(p, rho))
    np.testing.assert_allclose(s, s[0], rtol=1e-6)
    eigenvalues = np.array([1 + (p - 1) * rho] + [1 - rho] * (p - 1))
    assert 1 / s[0] ** 2 == pytest.approx(np.mean(1 / (2 * eigenvalues - s[0]) ** 2), rel=1e-5)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_mvr_is_stationary_and_its_objective_the_trace_of_the_inverse(name):
    correlation = CORRELATIONS[name]
    s = mvr(correlation)
    best = mvr_objective(correlation, s)
    assert best == pytest.approx(np.trace(np.linalg.inv(joint_covariance(correlation, s))), rel=1e-5)
    assert best <= mvr_objective(correlation, equicorrelated(correlation) * (1 - 1e-9))
    for j in range(len(s)):
        # A central difference, relative to the derivative of 1 / s alone.
        step = np.eye(len(s))[j] * 1e-4 * s[j]
        slope = (mvr_objective(correlation, s + step) - mvr_objective(correlation, s - step)) / (2 * step[j])
        assert abs(slope) <= 1e-5 / s[j] ** 2


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("method", ["mvr", "equicorrelated"])
def test_the_joint_covariance_is_positive_semidefinite_in_any_unit(name, method):
    std = np.geomspace(0.01, 100, len(CORRELATIONS[name]))
    covariance = CORRELATIONS[name] * np.outer(std, std)
    s = knockoff_variances(covariance, method)
    np.testing.assert_allclose(s, knockoff_variances(CORRELATIONS[name], method) * std**2, rtol=1e-4)
    joint = joint_covariance(covariance, s) / np.outer(np.tile(std, 2), np.tile(std, 2))
    assert np.linalg.eigvalsh(joint)[0] >= -1e-9


def test_a_table_without_columns_has_no_s():
    assert knockoff_variances(np.empty((0, 0)), "mvr").shape == (0,)
