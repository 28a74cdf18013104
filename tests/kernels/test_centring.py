"""Centred and scaled rows, against several passes of numpy."""

import numpy as np
import pytest

from tamiz.kernels.moments import centre_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_centred_scaled_and_filled_as_numpy_does(dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(1000, 3, (50, 7)).astype(dtype)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    centre, rest, scale = (rng.uniform(0.5, 2, 7).astype(dtype) for _ in range(3))
    for fill in (rng.normal(size=7).astype(dtype), np.full(7, np.nan, dtype)):
        out = np.full((50, 9), 5.0, dtype)
        centre_rows(rows, centre, rest, scale, fill, out)
        expected = ((rows - centre) - rest) / scale
        np.testing.assert_array_equal(out[:, :7], np.where(np.isnan(rows), fill, expected))
        np.testing.assert_array_equal(out[:, 7:], 0.0)
