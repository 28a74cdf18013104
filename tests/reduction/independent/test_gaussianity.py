"""The test of Gaussian components: the distribution of the largest contrast, and its error rates."""

import numpy as np
import pytest
from scipy import stats

from tamiz.reduction import ICA
from tamiz.reduction.ica import (
    WhiteRows,
    _normal_contrast,
    contrast,
    exceedance_probabilities,
    gaussian_p_values,
    random_rotation,
    solve,
)

LEVEL = 0.01


def test_the_constants_are_those_of_a_normal_sample():
    x = np.random.default_rng(0).normal(size=1_000_000)
    values = np.logaddexp(x, -x) - np.log(2)
    normal = _normal_contrast()
    assert normal.mean == pytest.approx(values.mean(), abs=1e-3)
    # What regression on x^2 leaves, as all rows are scaled to variance 1.
    residual = values - np.polyval(np.polyfit(x**2, values, 1), x**2)
    assert normal.deviation == pytest.approx(residual.std(), rel=0.01)
    assert contrast(np.array([normal.mean]))[0] == 0.0


def exceedance_probability(level, n_dimensions):
    return exceedance_probabilities(np.array([level]), np.array([n_dimensions]))[0]


def test_one_dimension_has_a_normal_distribution():
    for level in (0.5, 1.96, 4.0):
        assert exceedance_probability(level, 1) == pytest.approx(2 * stats.norm.sf(level))


def test_two_dimensions_have_the_closed_form_of_a_circle():
    # Rice's formula: the upcrossings of a process on half of the circle, for each sign.
    level = 3.0
    wanted = np.sqrt(_normal_contrast().slope) * np.exp(-(level**2) / 2)
    assert exceedance_probability(level, 2) == pytest.approx(wanted)


def test_three_dimensions_have_the_closed_form_of_a_sphere():
    level, slope = 4.0, _normal_contrast().slope
    wanted = 2 * stats.norm.sf(level) + 4 * np.pi * slope * level * np.exp(-(level**2) / 2) / (2 * np.pi) ** 1.5
    assert exceedance_probability(level, 3) == pytest.approx(wanted)


@pytest.mark.parametrize("n_dimensions", [2, 10, 60, 300])
def test_probabilities_fall_with_the_level_from_1_to_0(n_dimensions):
    levels = np.linspace(0, 4 * n_dimensions**0.5 + 5, 80)
    found = exceedance_probabilities(levels, np.full(80, n_dimensions))
    assert found[0] == 1.0
    assert found[-1] < 1e-6
    assert (np.diff(found) <= 1e-12).all()


def test_probabilities_do_not_depend_on_the_other_levels():
    levels, n_dimensions = np.array([5.0, 12.0, 0.1, 7.0, 30.0]), np.array([4, 60, 3, 1, 9])
    found = exceedance_probabilities(levels, n_dimensions)
    wanted = [exceedance_probability(level, n) for level, n in zip(levels, n_dimensions, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_each_component_is_compared_with_those_after_it():
    sizes = np.array([0.05, 0.01, 0.002])
    values = _normal_contrast().mean + sizes * [-1, 1, -1]
    found = gaussian_p_values(values, 4000)
    level = np.sqrt(4000) / _normal_contrast().deviation
    wanted = [exceedance_probability(size * level, 3 - rank) for rank, size in enumerate(sizes)]
    assert found.tolist() == pytest.approx(np.maximum.accumulate(wanted).tolist())
    np.testing.assert_array_equal(gaussian_p_values(values[[1, 2, 0]], 4000), found[[1, 2, 0]])


def smallest_p_values(n, k, n_tables, rng):
    """Return the smallest p-value of the components of each of several normal tables."""
    found = []
    for _ in range(n_tables):
        X = rng.normal(size=(n, k))
        rows, _ = WhiteRows.from_points(X - X.mean(axis=0))
        moments = solve(rows, random_rotation(k, rng), "picard", 1e-5, 300).moments
        found.append(gaussian_p_values(moments.log_cosh, n).min())
    return np.array(found)


@pytest.mark.parametrize(("n", "k"), [(500, 2), (400, 5)])
def test_normal_rows_are_seldom_called_not_gaussian(n, k):
    found = smallest_p_values(n, k, 60, np.random.default_rng(0))
    # One of 60 is expected at 1 %; 5 or more have a probability below 1e-3.
    assert (found <= LEVEL).sum() < 5


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(200, 2), (1000, 2), (1000, 10), (2000, 20)])
def test_the_error_rate_for_normal_rows_is_near_its_level(n, k):
    found = smallest_p_values(n, k, 300, np.random.default_rng(0))
    assert (found <= LEVEL).mean() <= 0.04
    if k == 2:
        # One start finds the largest contrast of two dimensions, and the approximation is exact for high levels.
        assert 0.02 <= (found <= 0.1).mean() <= 0.18


@pytest.mark.parametrize("kind", ["laplace", "uniform", "both"])
def test_mixtures_are_not_called_gaussian(kind):
    rng = np.random.default_rng(1)
    for _ in range(8):
        S = np.column_stack([rng.laplace(size=(1000, 4)), rng.uniform(-1, 1, size=(1000, 4))])
        S = {"laplace": S[:, :4], "uniform": S[:, 4:], "both": S}[kind]
        # A warning would be an error.
        ica = ICA(S.shape[1], random_state=0).fit(S @ rng.normal(size=(S.shape[1], S.shape[1])))
        assert ica.gaussian_p_values_.max() <= LEVEL
