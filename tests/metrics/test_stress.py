"""Both stresses against their definitions, at any scale and any unit."""

import numpy as np
import pytest
from scipy.stats import ortho_group
from tests.metrics.example_maps import MAPS, distances, scattered
from tests.reference import quality as reference

from tamiz.exceptions import DataError
from tamiz.metrics import kruskal_stress, normalized_stress, quality


@pytest.mark.parametrize("name", MAPS)
def test_stresses_are_those_of_their_formulas(name):
    X, Y = MAPS[name]
    D, E = distances(X, Y)
    b, c = reference.best_scales(D, E)
    got = [
        normalized_stress(X, Y),
        normalized_stress(X, Y, scale="best"),
        kruskal_stress(X, Y, scale="given"),
        kruskal_stress(X, Y),
    ]
    wanted = [
        reference.normalized_stress(D, E),
        reference.normalized_stress(D, E, b),
        reference.kruskal_stress(D, E),
        reference.kruskal_stress(D, E, c),
    ]
    assert got == pytest.approx(wanted, rel=1e-11)


def test_no_other_scale_has_less_stress():
    X, Y = scattered()
    D, E = distances(X, Y)
    least = kruskal_stress(X, Y)
    assert least == pytest.approx(normalized_stress(X, Y, scale="best"), abs=1e-15)
    assert all(least <= reference.kruskal_stress(D, E, b) for b in np.linspace(0.5, 2.0, 301))


@pytest.mark.parametrize("columns", [3, 20])
@pytest.mark.parametrize("scale", [1.0, 3.7, 1e-9])
def test_a_perfect_map_has_a_stress_of_rounding(columns, scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, columns))
    Y = scale * X @ ortho_group.rvs(columns, random_state=0) + 5.0
    if scale == 1.0:
        assert normalized_stress(X, Y) < 1e-14
    assert kruskal_stress(X, Y) < (1e-14 if scale > 1e-3 else 1e-6)


def test_groups_far_apart_keep_the_digits_of_a_perfect_map():
    X, _ = MAPS["groups"]
    assert normalized_stress(X, X) == 0.0
    assert kruskal_stress(X, X[:, ::-1] * 0.5) < 1e-15


def test_one_outlier_that_sets_the_scale_costs_no_digits():
    """Every pair but those of one row fits at another scale: the first scale tried is of few rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    Y = X * 1.001
    X[200], Y[200] = 1e5, 1e5
    D, E = distances(X, Y)
    assert kruskal_stress(X, Y) == pytest.approx(
        reference.normalized_stress(D, E, reference.best_scales(D, E)[0]), rel=1e-9
    )


@pytest.mark.filterwarnings("ignore:.*the values differ by less than 1e-150")
@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**-400, 2.0**400])
def test_the_unit_does_not_matter(unit):
    X, Y = scattered(40)
    assert kruskal_stress(X * unit, Y) == kruskal_stress(X, Y)
    assert kruskal_stress(X, Y * unit) == kruskal_stress(X, Y)
    assert normalized_stress(X * unit, Y * unit) == normalized_stress(X, Y)
    D, _ = distances(X, Y)
    if unit > 2.0**-1000:
        assert kruskal_stress(D * unit, Y, metric="precomputed") == pytest.approx(kruskal_stress(X, Y), rel=1e-13)


def test_the_stress_of_a_map_that_is_much_too_large_or_too_small_is_reported_unchanged():
    X, Y = scattered(40)
    D, E = distances(X, Y)
    size = np.sqrt((E**2).sum() / (D**2).sum())
    assert normalized_stress(X, Y * 2.0**600) == pytest.approx(size * 2.0**600, rel=1e-12)
    assert normalized_stress(X, Y * 2.0**-600) == 1.0
    assert kruskal_stress(X, Y * 2.0**-600, scale="given") == pytest.approx(2.0**600 / size, rel=1e-12)


def test_distances_that_keep_no_triangle_inequality_may_be_of_any_size():
    n = 200
    D = np.ones((n, n)) - np.eye(n)
    D[101, 150] = D[150, 101] = 1e150
    Y = np.random.default_rng(0).normal(size=(n, 2))
    # One pair is all there is: its share of the squared distances of the map is the cosine's square.
    E = np.hypot(*(Y[101] - Y[150]))
    whole = (distances(Y, Y)[1] ** 2).sum() / 2
    assert kruskal_stress(D, Y, metric="precomputed") == pytest.approx(np.sqrt(1 - E**2 / whole), rel=1e-12)


def test_stress_of_each_row_is_that_of_its_own_pairs():
    X, Y = MAPS["groups"]
    D, E = distances(X, Y)
    np.testing.assert_allclose(quality(X, Y).points.stress, reference.stress_of_rows(D, E), rtol=1e-10)


def test_distances_of_zero_count_as_zero():
    D = np.array([[0, 0, 3.0], [0, 0, 4.0], [3.0, 4.0, 0]])
    Y = np.array([[0.0], [1.0], [2.0]])
    wanted = np.sqrt((1 + 1 + 9) / (9 + 16))
    assert normalized_stress(D, Y, metric="precomputed") == pytest.approx(wanted, rel=1e-15)


def test_two_rows_have_no_stress_at_the_best_scale():
    assert kruskal_stress([[0.0], [1.0]], [[0.0], [7.0]]) == 0.0
    assert normalized_stress([[0.0], [1.0]], [[0.0], [7.0]]) == 6.0


@pytest.mark.parametrize("function", [normalized_stress, kruskal_stress])
def test_nothing_to_compare_is_refused(function):
    X, Y = scattered(30)
    with pytest.raises(DataError, match=r"^All distances of X are 0, so a map has no structure to show\.$"):
        function(np.zeros((30, 30)), Y, metric="precomputed")
    with pytest.raises(
        DataError, match=r"^All rows of the embedding have the same coordinates, so there is no distance to compare\.$"
    ):
        function(X, np.ones((30, 2)))
    with pytest.raises(
        ValueError, match=r"^scale must be one of 'given', 'best', got 'bset' \(did you mean 'best'\?\)\.$"
    ):
        function(X, Y, scale="bset")
