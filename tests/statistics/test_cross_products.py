"""Cross products of float32 rows, which are read where they lie when their columns lie about 0, against double precision."""

import numpy as np
import pytest

from tamiz import open_source
from tamiz.statistics.cross_products import Scatter

RNG = np.random.default_rng(0)
ABOUT_0 = (RNG.normal(size=(20000, 12)) * np.geomspace(0.1, 100, 12)).astype(np.float32)


def scatter_of(X, weight=None):
    source = open_source(X, weight=weight)
    return source.reduce(Scatter(source.schema.numeric, ()))[0]


@pytest.mark.parametrize("shift", [0, 1.3, 2, 50])
@pytest.mark.parametrize("laid", [np.asarray, np.asfortranarray, lambda X: np.repeat(X, 2, axis=1)[:, ::2]])
@pytest.mark.parametrize("weighted", [False, True])
def test_float32_products_are_right_to_a_millionth_however_rows_lie(shift, laid, weighted):
    X = laid(ABOUT_0 + np.float32(shift) * ABOUT_0.std(axis=0))
    X.flags.writeable = False
    weight = RNG.integers(1, 4, len(X)).astype(float)
    found = scatter_of(X, weight if weighted else None)
    exact = np.cov(X.T.astype(np.float64), fweights=weight.astype(int) if weighted else None)
    deviations = np.sqrt(exact.diagonal())
    error = found.matrix / (found.total - 1) / np.outer(deviations, deviations) - exact / np.outer(
        deviations, deviations
    )
    assert np.abs(error).max() < 1e-6
    np.testing.assert_allclose(
        found.mean, np.average(X.astype(np.float64), 0, weight if weighted else None), rtol=1e-5, atol=1e-4
    )


def test_a_constant_column_among_columns_about_0_has_no_variance():
    X = ABOUT_0.copy()
    X[:, 3] = 0.1
    assert scatter_of(X).matrix[3, 3] == 0.0


def test_rows_about_0_are_not_copied(monkeypatch):
    made = []
    subtract = np.subtract
    monkeypatch.setattr(
        "tamiz.statistics.cross_products.np.subtract", lambda *a, **k: made.append(1) or subtract(*a, **k)
    )
    scatter_of(ABOUT_0 + np.float32(10))
    assert made
    made.clear()
    scatter_of(ABOUT_0)
    assert not made
