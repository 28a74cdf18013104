"""Moments by class of rows that are stored together and of single columns have the same bits."""

import numpy as np
import pytest

from tamiz.kernels.moments import class_moments, class_moments_of_rows


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_and_columns_have_the_same_moments(weighted):
    rng = np.random.default_rng(0)
    # More columns than one tile of the kernel.
    rows = rng.normal(size=(300, 150)) + 1e3
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[:, 7], rows[:, 8] = np.nan, 3.3
    labels = rng.integers(0, 4, 300).astype(np.int32)
    weight = 0.7 * rng.integers(0, 3, 300) if weighted else np.ones(300)
    found, expected = np.empty((5, 5, 150)), np.empty((5, 5))
    class_moments_of_rows(rows, labels, weight, found)
    for j in range(150):
        class_moments(np.ascontiguousarray(rows[:, j]), labels, weight, expected)
        np.testing.assert_array_equal(found[:, :, j], expected.T)
