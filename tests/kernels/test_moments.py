"""Moments by class and of two columns, against numpy."""

import numpy as np
import pytest

from tamiz.kernels.moments import class_moments, paired_moments, sort_by_class


def class_order(labels, n_classes):
    order, starts = np.empty(len(labels), dtype=np.int64), np.empty(n_classes + 1, dtype=np.int64)
    sort_by_class(labels.astype(np.int32), order, starts)
    return order, starts


def moments(values, labels, weight, n_classes):
    out = np.full((n_classes, 5), 99.0)
    order, starts = class_order(labels, n_classes)
    class_moments(values, order, starts, weight[order], out)
    return out


def test_moments_by_class_equal_numpys():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        values, labels = rng.normal(3, 2, 80), rng.integers(0, 4, 80)
        values[rng.random(80) < 0.2] = np.nan
        weight = rng.random(80) * (rng.random(80) < 0.9)
        out = moments(values, labels, weight, 4)
        for c in range(4):
            mine = (labels == c) & ~np.isnan(values) & (weight > 0)
            mean = np.average(values[mine], weights=weight[mine])
            squares = (weight[mine] * (values[mine] - mean) ** 2).sum()
            expected = [weight[mine].sum(), mean, squares, values[mine].min(), values[mine].max()]
            np.testing.assert_allclose(out[c], expected, rtol=1e-12)


def test_a_class_without_a_value_has_no_weight_and_no_extremes():
    out = moments(np.array([1.0, np.nan, 3.0]), np.array([0, 1, 2]), np.array([1.0, 1.0, 0.0]), 4)
    assert out[0].tolist() == [1.0, 1.0, 0.0, 1.0, 1.0]
    for c in (1, 2, 3):
        assert out[c].tolist() == [0.0, 0.0, 0.0, np.inf, -np.inf]


def test_squares_keep_their_digits_far_from_zero():
    values = np.array([4.0, 7.0, 13.0, 16.0]) + 1e9
    assert moments(values, np.zeros(4), np.ones(4), 1)[0, 2] == pytest.approx(90, rel=1e-12)


def test_rows_are_sorted_by_class_and_keep_their_order_within_it():
    labels = np.array([2, 0, 2, 3, 0, 2])
    order, starts = class_order(labels, 5)
    assert order.tolist() == [1, 4, 0, 2, 5, 3]
    assert starts.tolist() == [0, 2, 2, 5, 6, 6]
    assert class_order(labels[:0], 2)[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [1, 3, 8, 65, 1000])
@pytest.mark.parametrize("sign", [-1, 1])
def test_extremes_are_exact_and_ignore_missing_values_and_rows_of_weight_0(n, sign):
    rng = np.random.default_rng(n)
    values = sign * rng.uniform(1e-3, 1e3, n + 2)
    values[n:] = np.nan, sign * 1e150
    weight = np.append(np.ones(n + 1), 0.0)
    out = moments(values, np.zeros(n + 2), weight, 1)[0]
    assert out[3:].tolist() == [values[:n].min(), values[:n].max()]


@pytest.mark.parametrize("n", [1, 2, 37, 1000])
def test_equal_values_have_squares_of_exactly_zero(n):
    values, other, weight = np.full(n, 0.1), np.random.default_rng(n).normal(size=n), np.full(n, 0.3)
    out = moments(values, np.zeros(n), weight, 1)[0]
    assert out[1:].tolist() == [0.1, 0.0, 0.1, 0.1]
    paired = np.empty(6)
    paired_moments(values, other, weight, paired)
    assert paired[[1, 3, 5]].tolist() == [0.1, 0.0, 0.0]


@pytest.mark.parametrize("n", [0, 1, 5, 64, 777])
def test_moments_of_two_columns_equal_numpys(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(1e6, 1, n), rng.normal(-3, 1, n)
    a[rng.random(n) < 0.1], b[rng.random(n) < 0.1] = np.nan, np.nan
    weight = rng.random(n) * (rng.random(n) < 0.9)
    out = np.empty(6)
    paired_moments(a, b, weight, out)
    used = ~np.isnan(a) & ~np.isnan(b) & (weight > 0)
    if not used.any():
        assert not out.any()
        return
    a, b, weight = a[used], b[used], weight[used]
    x, y = a - np.average(a, weights=weight), b - np.average(b, weights=weight)
    expected = [weight @ x**2, weight @ y**2, weight @ (x * y)]
    np.testing.assert_allclose(out[3:], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(out[:3], [weight.sum(), *(np.average(v, weights=weight) for v in (a, b))], rtol=1e-12)
