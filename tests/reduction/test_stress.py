"""The stress over sampled pairs beside that of all pairs, and new rows against fixed points."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from tests.reference import single_point as plain

from tamiz.exceptions import DataError
from tamiz.kernels.majorization import evaluate_stress
from tamiz.reduction import stress
from tamiz.reduction.dissimilarities import read_dissimilarities
from tamiz.reduction.landmarks import create_subsets
from tamiz.reduction.stress import SampledPairs, initial_positions, minimize_row_stress
from tamiz.runtime import parallel
from tamiz.runtime.random import make_rng


def table_of(X, dissimilarity="euclidean"):
    return create_subsets(read_dissimilarities(X, dissimilarity, "LandmarkMDS")[0], dissimilarity)


def test_the_sampled_stress_is_that_of_all_pairs_within_its_error(monkeypatch):
    # A small part of the rows: of all rows the error is below what groups tell.
    monkeypatch.setattr(stress, "_MAX_GROUPS", 12)
    X = np.random.default_rng(0).normal(size=(3000, 6)) * [5, 3, 2, 2, 1, 1]
    delta, d = pdist(X), pdist(X[:, :2])
    whole = np.sqrt(1 - (delta @ d) ** 2 / (delta @ delta) / (d @ d))
    table = table_of(X)
    found = [SampledPairs(table, make_rng(seed)).stress(X[:, :2]) for seed in range(40)]
    assert all(0 < one.error < 0.1 * whole for one in found)
    beyond = np.array([abs(one.value - whole) / one.error for one in found])
    assert beyond.max() < 4
    assert 0.5 < beyond.mean() < 1.2


def test_the_best_scale_of_a_map_is_reported():
    X = np.random.default_rng(0).normal(size=(40, 2))
    pairs = SampledPairs(table_of(X), make_rng(0))
    found = pairs.stress(1e130 * X)
    assert found.value < 1e-14
    assert found.scale == pytest.approx(1e-130)
    assert (pairs.stress(np.zeros((40, 1))).value, pairs.stress(np.zeros((40, 1))).scale) == (1.0, 1.0)


@pytest.mark.parametrize("dissimilarity", ["cityblock", "gower", "precomputed", "similarity"])
def test_pairs_of_every_dissimilarity_are_those_of_its_matrix(dissimilarity):
    X = np.random.default_rng(0).normal(size=(1100, 3))
    ranges = X.max(axis=0) - X.min(axis=0)
    matrix = {
        "cityblock": cdist(X, X, "cityblock"),
        "gower": cdist(X / ranges, X / ranges, "cityblock") / 3,
        "precomputed": cdist(X, X, "cityblock"),
        "similarity": cdist(X, X),
    }[dissimilarity]
    given = {"precomputed": matrix, "similarity": X @ X.T}.get(dissimilarity, X)
    pairs = SampledPairs(table_of(given, dissimilarity), make_rng(0))
    assert not pairs.exact
    assert len(np.unique(pairs.rows)) == pairs.rows.size == 1088
    first, second = np.triu_indices(32, 1)
    for group, delta in zip(pairs.rows, pairs.dissimilarities, strict=True):
        np.testing.assert_allclose(delta * pairs.unit, matrix[group[first], group[second]], atol=1e-7)


def problem(n, m, q, seed=0, noise=0.0, missing=0.0):
    """Points, places, and dissimilarities between them with noise and gaps."""
    rng = np.random.default_rng(seed)
    points, places = rng.normal(size=(n, m)), rng.normal(size=(q, m))
    delta = cdist(places, points) * rng.uniform(1 - noise, 1 + noise, size=(q, n))
    delta[rng.random((q, n)) < missing] = np.nan
    return points, places, delta


@pytest.mark.parametrize("m", [1, 2, 3, 8])
def test_distances_to_a_point_recover_the_point(m):
    points, places, delta = problem(60, m, 40, missing=0.5)
    placed = minimize_row_stress(points, delta)
    np.testing.assert_allclose(placed.positions, places, atol=1e-12)
    assert placed.stress.max() < 1e-12
    assert placed.converged.all()
    assert placed.n_iter.max() < 20


@pytest.mark.parametrize("m", [1, 2, 5])
def test_the_minimum_is_that_of_plain_majorisation_from_the_same_start(m):
    points, _, delta = problem(80, m, 6, noise=0.6, missing=0.2)
    first = initial_positions(points, delta)[:, 0]
    placed = minimize_row_stress(points, delta, first[:, None])
    for i in range(len(delta)):
        y = plain.descend(points, delta[i], first[i])
        np.testing.assert_allclose(placed.positions[i], y, atol=1e-9)
        stress = np.sqrt(plain.raw_stress(points, delta[i], y) / np.nansum(delta[i] ** 2))
        assert placed.stress[i] == pytest.approx(stress, rel=1e-9)


def test_the_best_of_several_minima_is_the_least_there_is():
    n_first = 0
    for seed in range(25):
        points, _, delta = problem(4, 2, 1, seed=seed, noise=0.9)
        placed = minimize_row_stress(points, delta)
        least, _ = plain.lowest(points, delta[0])
        reached = plain.raw_stress(points, delta[0], placed.positions[0])
        assert reached <= least + 1e-12
        alone = minimize_row_stress(points, delta, initial_positions(points, delta)[:, :1])
        n_first += alone.stress[0] <= placed.stress[0] * (1 + 1e-9)
    assert n_first < 25


def test_the_stress_never_rises():
    points, _, delta = problem(12, 2, 30, seed=3, noise=0.9, missing=0.3)
    far = np.full((30, 1, 2), 5.0)
    before = np.full(30, np.inf)
    for max_iter in range(1, 40):
        placed = minimize_row_stress(points, delta, far, max_iter=max_iter)
        assert (placed.stress <= before + 1e-14).all()
        assert (placed.n_iter <= max_iter).all()
        before = placed.stress
    assert placed.converged.all()
    assert not minimize_row_stress(points, delta, far, max_iter=1).converged.any()


def test_points_on_a_line_do_not_keep_a_row_on_it():
    points = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    delta = cdist([[0.3, 2.0]], points)
    placed = minimize_row_stress(points, delta, np.array([[[0.25, 0.0]]]))
    np.testing.assert_allclose(np.abs(placed.positions), [[0.3, 2.0]], atol=1e-9)
    assert placed.converged.all()


def test_a_row_leaves_a_point_that_it_should_be_apart_from():
    points = np.array([[0.0, 0.0], [2.0, 0.0], [-2.0, 0.0]])
    placed = minimize_row_stress(points, np.array([[1.0, 2.0, 2.0]]), np.zeros((1, 1, 2)))
    y = placed.positions[0]
    assert plain.raw_stress(points, np.array([1.0, 2.0, 2.0]), y) < 0.2
    np.testing.assert_allclose(plain.step(points, np.array([1.0, 2.0, 2.0]), y), y, atol=1e-8)


def test_a_dissimilarity_of_zero_means_zero():
    points = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    placed = minimize_row_stress(points, np.array([[3.0, 0.0, 5.0], [0.0, np.nan, np.nan]]))
    np.testing.assert_allclose(placed.positions, [[3.0, 0.0], [0.0, 0.0]], atol=1e-12)
    assert placed.stress.max() < 1e-12


def test_a_row_with_all_dissimilarities_zero_lies_in_the_middle_and_its_stress_is_infinite():
    points = np.array([[0.0, 0.0], [2.0, 4.0]])
    placed = minimize_row_stress(points, np.zeros((1, 2)))
    np.testing.assert_allclose(placed.positions, [[1.0, 2.0]], atol=1e-9)
    assert placed.stress[0] == np.inf
    assert minimize_row_stress(np.ones((3, 2)), np.zeros((1, 3))).stress[0] == 0.0


def test_one_dissimilarity_is_reproduced():
    placed = minimize_row_stress(np.array([[1.0, 1.0], [5.0, 5.0]]), np.array([[2.5, np.nan]]))
    assert np.linalg.norm(placed.positions[0] - [1.0, 1.0]) == pytest.approx(2.5, rel=1e-12)
    assert placed.stress[0] < 1e-12


@pytest.mark.parametrize("unit", [1e-150, 1e-300, 1e150])
def test_the_unit_does_not_matter(unit):
    points, _, delta = problem(30, 2, 10, noise=0.5)
    placed = minimize_row_stress(points, delta)
    scaled = minimize_row_stress(points * unit, delta * unit)
    np.testing.assert_allclose(scaled.positions / unit, placed.positions, atol=1e-8)
    np.testing.assert_allclose(scaled.stress, placed.stress, rtol=1e-12)
    assert scaled.converged.all()


def test_every_row_is_placed_by_itself():
    points, _, delta = problem(3000, 2, 60, noise=0.5, missing=0.3)
    together = minimize_row_stress(points, delta)
    for i in (0, 7, 59):
        alone = minimize_row_stress(points, delta[i : i + 1])
        assert alone.positions.tobytes() == together.positions[i : i + 1].tobytes()
        assert alone.stress[0] == together.stress[i]


def test_threads_change_no_bit():
    points, _, delta = problem(3000, 3, 60, noise=0.5, missing=0.3)
    found = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            found.append(minimize_row_stress(points, delta))
    for name in ("positions", "stress", "n_iter", "converged"):
        assert getattr(found[0], name).tobytes() == getattr(found[1], name).tobytes()


def test_where_arrays_lie_changes_no_bit():
    # Loops that write are compiled twice, for arrays that may overlap and for others, with the sums in another order.
    rng = np.random.default_rng(0)
    arrays = [
        rng.normal(size=(3, 300)),
        rng.random(300),
        rng.normal(size=3),
        np.zeros(3),
        np.zeros((3, 3)),
        np.zeros((6, 128)),
    ]
    found = set()
    for _ in range(500):
        whole, laid, at = np.empty(sum(array.size for array in arrays)), {}, 0
        for k in rng.permutation(len(arrays)).tolist():
            laid[k] = whole[at : at + arrays[k].size].reshape(arrays[k].shape)
            laid[k][:] = arrays[k]
            at += arrays[k].size
        total = evaluate_stress(laid[0], laid[1], 290, *(laid[k] for k in range(2, 6)))
        found.add((total, laid[3].tobytes(), np.tril(laid[4]).tobytes()))
    assert len(found) == 1


def test_starts_are_the_place_by_squares_and_the_nearest_points_by_order():
    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [4.0, 3.0], [9.0, 9.0], [5.0, 5.0]])
    delta = cdist([[1.0, 1.0]], points)
    delta[0, 3] = delta[0, 1]
    delta[0, 2] = np.nan
    found = initial_positions(points, delta)[0]
    assert found.shape == (5, 2)
    np.testing.assert_array_equal(found[1:], points[[0, 1, 3, 5]])
    np.testing.assert_allclose(initial_positions(points, cdist([[1.0, 1.0]], points))[0, 0], [1.0, 1.0], atol=1e-8)
    assert initial_positions(points[:2], delta[:, :2]).shape == (1, 3, 2)


def test_a_row_without_a_dissimilarity_is_named():
    points, _, delta = problem(7, 2, 4)
    delta[2] = np.nan
    sentence = r"^Row 2 has no dissimilarity to any of the 7 points; at least one is required\. Add one or remove "
    with pytest.raises(DataError, match=sentence):
        minimize_row_stress(points, delta)
    with pytest.raises(DataError, match=sentence):
        minimize_row_stress(points, delta, np.zeros((4, 1, 2)))
