"""Stepwise regressions from correlations: least squares on the rows, bases, and the limits of rounding."""

import numpy as np
import pytest
from tests.reference.redundancy import r2

from tamiz.statistics.cross_products import ROUNDING, StepwiseRegression


def regression_on(X, columns):
    found = StepwiseRegression(np.corrcoef(X.T))
    for column in columns:
        found.add(column)
    return found


def test_r2_and_coefficients_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 7)) @ rng.normal(size=(7, 7))
    order = [4, 1, 6, 0]
    found = regression_on(X, order)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for column in (2, 3, 5):
        assert found.r2(column) == pytest.approx(r2(X[:, order], X[:, column]), abs=1e-10)
    expected = np.linalg.lstsq(Z[:, order], Z[:, [2, 3, 5]], rcond=None)[0]
    np.testing.assert_allclose(found.coefficients([2, 3, 5]), expected, atol=1e-9)
    assert [found.r2(column) for column in order] == [1.0] * 4


def test_a_basis_determines_every_column_and_has_the_first_of_equal_ones():
    rng = np.random.default_rng(1)
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(40, 5)) @ rng.normal(size=(5, 9))
        found = regression_on(X, [])
        found.add_basis()
        assert len(found.columns) == 5
        assert all(found.r2(column) == 1.0 for column in range(9))
    correlations = np.kron(np.eye(3), np.ones((2, 2)))
    # A column without variance is in no basis.
    correlations[5] = correlations[:, 5] = 0
    found = StepwiseRegression(correlations)
    found.add_basis()
    assert found.columns == [0, 2, 4]


def test_the_order_decides_between_nearly_collinear_columns():
    # The example of the docstring.
    a, e, f = np.random.default_rng(2).normal(size=(3, 2000))
    X = np.column_stack([a, a + 1e-4 * e, e + 1e-3 * f])
    found = regression_on(X, [0])
    assert 1 - found.r2(1) == pytest.approx(1e-8, rel=0.2)
    found.add(1)
    assert 1 - found.r2(2) == pytest.approx(1e-6, rel=0.3)
    assert found.rounding(2) < 1e-6
    found = regression_on(X, [])
    found.add_basis()
    assert sorted(found.columns) == [0, 2]
    assert found.r2(1) == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_a_difference_of_nearly_equal_columns_is_determined_up_to_rounding(seed):
    # The correlations of c with a and b are rounded, and their errors are multiplied by coefficients of 10,000.
    a, e = np.random.default_rng(seed).normal(size=(2, 1000))
    b = a + 1e-4 * e
    found = regression_on(np.column_stack([a, b, b - a]), [0, 1])
    assert ROUNDING < found.rounding(2) < 1e-6
    assert found.r2(2) == 1.0
    assert found.explain(2, 1 - found.rounding(2)) == [0, 1]
