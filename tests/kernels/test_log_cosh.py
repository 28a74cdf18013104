"""tanh and the sums of log cosh."""

import numpy as np
import pytest

from tamiz.kernels.log_cosh import log_cosh_sums, log_cosh_sums_single


@pytest.mark.parametrize("n", [1, 7, 511, 512, 513, 1700])
def test_tanh_and_the_sums_are_those_of_numpy(n):
    Y = 3 * np.random.default_rng(0).laplace(size=(3, n))
    tanh, sums = np.empty_like(Y), np.ones((3, 2))
    log_cosh_sums(Y, tanh, sums)
    np.testing.assert_allclose(tanh, np.tanh(Y), rtol=0, atol=4e-16)
    log_cosh = np.logaddexp(Y, -Y) - np.log(2)
    np.testing.assert_allclose(sums - 1, np.column_stack([log_cosh.sum(1), (np.tanh(Y) ** 2).sum(1)]), rtol=1e-13)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 700])
def test_float32_is_exact_to_its_rounding(n):
    Y = (3 * np.random.default_rng(0).laplace(size=(3, n))).astype(np.float32)
    tanh, sums = np.empty_like(Y), np.zeros((3, 2))
    log_cosh_sums_single(Y, tanh, sums)
    exact, exact_sums = np.empty(Y.shape), np.zeros((3, 2))
    log_cosh_sums(Y.astype(np.float64), exact, exact_sums)
    np.testing.assert_allclose(tanh, exact, rtol=0, atol=2e-7)
    np.testing.assert_allclose(sums, exact_sums, rtol=1e-6)


def test_extreme_values_of_float32():
    Y = np.array([[0.0, -0.0, 1e-38, 30.0, -39.0, 41.0, -1e30]], dtype=np.float32)
    tanh, sums = np.empty_like(Y), np.zeros((1, 2))
    log_cosh_sums_single(Y, tanh, sums)
    np.testing.assert_allclose(tanh, np.tanh(Y), rtol=0, atol=1e-7)
    assert sums[0].tolist() == pytest.approx([1e30, 4.0])
    # 64 factors of 2 are within the range of float32.
    zeros, sums = np.zeros((1, 200), dtype=np.float32), np.zeros((1, 2))
    log_cosh_sums_single(zeros, zeros.copy(), sums)
    np.testing.assert_allclose(sums, 0.0, atol=1e-12)


def test_extreme_values():
    Y = np.array([[0.0, -0.0, 1e-300, -1e-9, 30.0, -299.0, 301.0, -1e300]])
    tanh, sums = np.empty_like(Y), np.zeros((1, 2))
    log_cosh_sums(Y, tanh, sums)
    np.testing.assert_allclose(tanh, np.tanh(Y), rtol=0, atol=2e-16)
    assert sums[0].tolist() == pytest.approx([1e300, 4.0])


@pytest.mark.parametrize(("kernel", "dtype"), [(log_cosh_sums, np.float64), (log_cosh_sums_single, np.float32)])
def test_nan_is_not_hidden(kernel, dtype):
    Y = np.full((1, 20), 0.5, dtype=dtype)
    Y[0, 3] = np.nan
    tanh, sums = np.empty_like(Y), np.zeros((1, 2))
    kernel(Y, tanh, sums)
    assert np.isnan(sums).all()
