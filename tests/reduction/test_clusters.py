"""The visible clusters of a map: one cloud is no cluster, and separate groups are found whatever their size and shape."""

import numpy as np
import pytest

from tamiz.reduction.rules import find_clusters, number_by_size


def find(points, seed=0):
    return find_clusters(np.asarray(points, dtype=float), np.random.default_rng(seed))


def ring(rng, n, radius, width):
    angle = rng.random(n) * 2 * np.pi
    return radius * np.column_stack([np.cos(angle), np.sin(angle)]) + width * rng.normal(size=(n, 2))


CLOUDS = {
    "normal": lambda rng, n: rng.normal(size=(n, 2)),
    "elongated": lambda rng, n: rng.normal(size=(n, 2)) * [5, 1],
    "square": lambda rng, n: rng.random((n, 2)),
    "skewed": lambda rng, n: np.exp(0.6 * rng.normal(size=(n, 2))),
    "heavy tails": lambda rng, n: rng.standard_t(3, size=(n, 2)),
    "ring": lambda rng, n: ring(rng, n, 1.0, 0.1),
    "line": lambda rng, n: rng.random((n, 1)),
    "normal on a line": lambda rng, n: rng.normal(size=(n, 1)),
    "a line in two axes": lambda rng, n: rng.normal(size=(n, 1)) * [1.0, 0.0],
    "one point": lambda rng, n: np.ones((n, 2)),
}


@pytest.mark.parametrize("n", [60, 500, 1500])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_one_cloud_has_no_separate_clusters(cloud, n):
    assert not find(CLOUDS[cloud](np.random.default_rng(0), n)).any()


@pytest.mark.slow
@pytest.mark.parametrize("cloud", CLOUDS)
def test_one_cloud_has_no_separate_clusters_whatever_the_seed(cloud):
    found = [find(CLOUDS[cloud](np.random.default_rng(seed), 344), seed).any() for seed in range(40)]
    assert sum(found) <= 1


@pytest.mark.slow
def test_a_strongly_skewed_cloud_is_rarely_split():
    found = [find(np.exp(np.random.default_rng(seed).normal(size=(344, 2))), seed).any() for seed in range(40)]
    assert sum(found) <= 4


def agreement(found, truth):
    """The share of rows in the right cluster, with clusters numbered by size."""
    return np.mean(found == truth)


def test_two_far_clusters_are_found_whatever_the_scale_of_the_map():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2], [300, 200])
    points = rng.normal(size=(500, 2)) + np.where(truth == 1, 0.0, 12.0)[:, None]
    for scale in (1.0, 1e-300, 1e300):
        assert agreement(find(scale * points), truth) == 1


def test_a_tiny_cluster_is_found_beside_two_large_ones():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2, 3], [400, 300, 25])
    centers = np.array([[0, 0], [12, 0], [6, 8]])[truth - 1]
    points = centers + rng.normal(size=(725, 2)) * np.where(truth == 3, 0.3, 1.0)[:, None]
    assert agreement(find(points), truth) > 0.99


def test_a_ring_around_a_blob_is_two_clusters():
    rng = np.random.default_rng(0)
    points = np.concatenate([ring(rng, 300, 4.0, 0.2), 0.5 * rng.normal(size=(200, 2))])
    assert agreement(find(points), np.repeat([1, 2], [300, 200])) == 1


def test_clusters_of_different_densities_are_found():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2, 3], [202, 201, 200])
    points = (
        np.array([[0, 0], [6, 0], [20, 0]])[truth - 1]
        + rng.normal(size=(603, 2)) * np.array([0.3, 1, 3])[truth - 1][:, None]
    )
    assert agreement(find(points), truth) > 0.97


def test_equal_points_are_a_cluster_each():
    truth = np.repeat([1, 2, 3, 4], [90, 80, 70, 60])
    assert agreement(find(np.column_stack([truth % 2, truth // 2])), truth) == 1


def test_clusters_on_a_single_axis_are_found():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2], [120, 100])
    assert agreement(find(rng.normal(size=(220, 1)) + 12.0 * truth[:, None]), truth) == 1


def test_the_order_of_the_rows_changes_nothing_but_the_borders():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2], [300, 200])
    points = rng.normal(size=(500, 2)) + np.where(truth == 1, 0.0, 12.0)[:, None]
    order = rng.permutation(500)
    np.testing.assert_array_equal(find(points[order]), find(points)[order])


def test_of_many_rows_a_sample_is_clustered_and_the_others_join_the_nearest():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2, 3], [12_000, 7_000, 1_000])
    points = rng.normal(size=(20_000, 2)) + np.array([[0, 0], [14, 0], [0, 14]])[truth - 1]
    assert agreement(find(points), truth) > 0.999


def test_a_lattice_of_equal_points_is_no_cluster_for_each_point_that_has_more_rows_by_chance():
    found = [find(np.random.default_rng(seed).integers(0, 10, (1500, 2))).any() for seed in range(5)]
    assert not any(found)


def test_a_few_rows_are_not_clustered():
    assert not find(np.repeat([0.0, 9.0], 9)[:, None]).any()
    assert find(np.repeat([0.0, 9.0], [11, 10])[:, None]).tolist() == [1] * 11 + [2] * 10


def test_clusters_are_numbered_by_size_and_equal_ones_by_label():
    assert number_by_size(np.array([0, 1, 1, -1, 2, 2, 3])).tolist() == [3, 1, 1, 0, 2, 2, 4]
    assert number_by_size(np.array([-1, -1])).tolist() == [0, 0]
