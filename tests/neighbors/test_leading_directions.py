"""Representative rows, and leading directions against singular value decomposition."""

import numpy as np

from tamiz.neighbors.base import evenly_spaced_rows, leading_directions


def test_rows_are_spread_evenly_and_none_is_taken_twice():
    assert evenly_spaced_rows(100, 4).tolist() == [12, 37, 62, 87]
    assert evenly_spaced_rows(3, 10).tolist() == [0, 1, 2]
    assert evenly_spaced_rows(0, 5).tolist() == []
    for n in (10, 17, 1000):
        gaps = np.diff(evenly_spaced_rows(n, 9))
        assert set(gaps) <= {n // 9, n // 9 + 1}


def test_leading_directions_are_those_of_the_largest_singular_values():
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(300, 40)) * 2.0 ** -np.arange(40)) @ np.linalg.qr(rng.normal(size=(40, 40)))[0]
    found = leading_directions(rows.astype(np.float32), 6)
    true = np.linalg.svd(rows)[2][:4].T
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.T @ found, np.eye(6), atol=1e-5)
    np.testing.assert_allclose(np.abs((true * found[:, :4]).sum(axis=0)), 1.0, atol=1e-3)
