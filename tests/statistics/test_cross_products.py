"""Cross products of float32 rows against double precision; rows with means near 0 are not copied."""

import numpy as np
import pytest

from tamiz import open_table
from tamiz.statistics.cross_products import ScatterMatrix

RNG = np.random.default_rng(0)
ABOUT_0 = (RNG.normal(size=(20000, 12)) * np.geomspace(0.1, 100, 12)).astype(np.float32)


def scatter_of(X, weight=None, *, started=True):
    table = open_table(X, weight=weight)
    scatter = ScatterMatrix(table.schema.numeric, ())
    constant = {j for j, column in enumerate(table.schema.columns) if column.constant}
    return table.reduce(scatter.with_start_centre(next(table.blocks()), constant) if started else scatter)[0]


@pytest.mark.parametrize("shift", [0, 1.3, 2, 50])
@pytest.mark.parametrize("laid", [np.asarray, np.asfortranarray, lambda X: np.repeat(X, 2, axis=1)[:, ::2]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("started", [False, True])
def test_float32_products_are_right_to_a_millionth_however_rows_lie(shift, laid, weighted, started):
    X = laid(ABOUT_0 + np.float32(shift) * ABOUT_0.std(axis=0))
    X.flags.writeable = False
    weight = RNG.integers(1, 4, len(X)).astype(float)
    found = scatter_of(X, weight if weighted else None, started=started)
    exact = np.cov(X.T.astype(np.float64), fweights=weight.astype(int) if weighted else None)
    deviations = np.sqrt(exact.diagonal())
    error = found.matrix / (found.total_weight - 1) / np.outer(deviations, deviations) - exact / np.outer(
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


def correlations(found):
    deviations = np.sqrt(found.matrix.diagonal())
    return found.matrix / np.outer(deviations, deviations)


@pytest.mark.parametrize("unit", [1.0, 1e-25, 1e18])
def test_columns_that_leave_their_first_rows_far_behind_and_small_and_large_units_lose_no_digits(unit):
    # Sorted: the rows of a part are far from the first rows of the table.
    X = (ABOUT_0 + np.linspace(0, 1000, len(ABOUT_0))[:, None] * [0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1]).astype(
        np.float32
    )
    X = X * np.float32(unit)
    expected = np.corrcoef(X.T.astype(np.float64))
    np.testing.assert_allclose(correlations(scatter_of(X)), expected, rtol=0, atol=1e-6)


def test_a_column_that_is_constant_in_the_first_pieces_alone_has_its_variance():
    X = ABOUT_0.copy()
    X[:15000, 3] = 0
    X[15000:, 3] = 1e-22
    exact = np.var(X[:, 3].astype(np.float64))
    assert scatter_of(X).matrix[3, 3] / len(X) == pytest.approx(exact, rel=1e-6)


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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_correlations_are_those_of_the_rows_with_both_values(dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 5)) @ rng.normal(size=(5, 5)) + [0, 1e3, 0, -1e3, 0]).astype(dtype)
    X[:100, 0] = np.nan
    X[rng.random(300) < 0.5, 1] = np.nan
    X[100:, 2] = 1e3
    weight = rng.integers(0, 4, 300).astype(float)
    table = open_table(X, weight=weight)
    (scatter,) = table.reduce(ScatterMatrix(table.schema.numeric, (), (0, 1), with_squares=True))
    repeated = np.repeat(X, weight.astype(int), axis=0).astype(np.float64)
    for i, j in np.argwhere(~np.eye(5, dtype=bool)).tolist():
        both = repeated[~np.isnan(repeated[:, [i, j]]).any(axis=1)][:, [i, j]]
        wanted = 0.0 if np.ptp(both, axis=0).min() == 0 else np.corrcoef(both.T)[0, 1]
        assert scatter.correlations()[i, j] == pytest.approx(wanted, abs=1e-9)
