"""Moments by class against numpy."""

import numpy as np
import pytest

from tamiz.kernels.moments import class_moments


def moments(values, labels, weight, n_classes):
    out = np.full((n_classes, 5), 99.0)
    class_moments(values, labels.astype(np.int32), weight, out)
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
