"""The k-d tree against all pairs: the same bits."""

import numpy as np
import pytest
from scipy import sparse

from tamiz.neighbors import exact_search
from tamiz.neighbors.exact_search import BruteForce, KDTree
from tamiz.neighbors.points import CosinePoints, EuclideanPoints
from tamiz.neighbors.sparse_points import SparsePoints
from tamiz.runtime import parallel

from .difficult_rows import HARD, lattice

FEW_COLUMNS = [name for name, values in HARD.items() if values.shape[1] <= 15]


def same(a, b):
    assert a.indptr.tobytes() == b.indptr.tobytes()
    assert a.indices.tobytes() == b.indices.tobytes()
    assert a.distances.tobytes() == b.distances.tobytes()
    assert a.n_points == b.n_points


@pytest.mark.parametrize("name", FEW_COLUMNS)
def test_a_tree_finds_what_comparing_all_pairs_finds_to_the_bit(name):
    points = EuclideanPoints(HARD[name])
    by_tree, exact = KDTree().fit(points), BruteForce().fit(points)
    queries = EuclideanPoints(np.vstack([HARD[name][:20] * 1.01, HARD[name][:2] * 1e12]))
    for k in sorted({1, min(15, points.n_samples - 1), points.n_samples - 1}):
        same(by_tree.query(k), exact.query(k))
        same(by_tree.query(k, queries), exact.query(k, queries))
    dist = exact.query(points.n_samples - 1).distances
    for radius in (0.0, dist[0], np.quantile(dist, 0.1, method="lower"), dist.max()):
        same(by_tree.query_radius(float(radius)), exact.query_radius(float(radius)))
        same(by_tree.query_radius(float(radius), queries), exact.query_radius(float(radius), queries))


def test_a_tree_gives_the_same_bits_with_one_thread_and_two():
    points = EuclideanPoints(np.random.default_rng(0).normal(size=(3000, 3)).round(1))
    answers = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            index = KDTree().fit(points)
            answers.append((index.query(12), index.query_radius(0.2)))
    same(answers[0][0], answers[1][0])
    same(answers[0][1], answers[1][1])


def test_a_query_is_answered_alike_whatever_rows_are_asked_with_it():
    index = KDTree().fit(EuclideanPoints(lattice(3, 9)))
    queries = np.vstack([lattice(3, 2) + 0.5, [[1e200, 0.0, 0.0], [1e9, 1.0, 1.0]]])
    together = index.query(10, EuclideanPoints(queries))
    for row in range(len(queries)):
        alone = index.query(10, EuclideanPoints(queries[row : row + 1]))
        assert alone.indices.tolist() == together.indices.reshape(-1, 10)[row].tolist()
        assert alone.distances.tobytes() == together.distances.reshape(-1, 10)[row].tobytes()


def test_rows_that_equal_distances_leave_in_doubt_are_compared_with_all(monkeypatch):
    # The ends of all axes are as far from the origin; the tree names some of them by chance.
    points = EuclideanPoints(np.vstack([np.zeros((1, 15)), np.eye(15), -np.eye(15)]))
    monkeypatch.setattr(exact_search, "_MARGINS", (0, 1))
    index = KDTree().fit(points)
    assert index.query(3).indices[:3].tolist() == [1, 2, 3]
    same(index.query(3), BruteForce().fit(points).query(3))


def test_a_tree_searches_rows_by_their_directions():
    values = np.random.default_rng(1).normal(size=(200, 3))
    points = CosinePoints(values)
    same(KDTree().fit(points).query(8), BruteForce().fit(points).query(8))
    radius = float(np.median(KDTree().fit(points).query(8).distances))
    same(KDTree().fit(points).query_radius(radius), BruteForce().fit(points).query_radius(radius))


def test_a_tree_suits_rows_of_numbers_in_one_to_fifteen_columns():
    assert KDTree().unsupported_reason(EuclideanPoints(np.zeros((4, 1)))) is None
    assert KDTree().unsupported_reason(EuclideanPoints(np.zeros((4, 15)))) is None
    assert (
        KDTree().unsupported_reason(EuclideanPoints(np.zeros((4, 16))))
        == "KDTree requires 1 to 15 columns, got 16. Use BruteForce()."
    )
    assert (
        KDTree().unsupported_reason(EuclideanPoints(np.zeros((4, 0))))
        == "KDTree requires 1 to 15 columns, got 0. Use BruteForce()."
    )
    assert KDTree().unsupported_reason(SparsePoints(sparse.eye(4))) == (
        "KDTree requires dense rows of numbers at Euclidean or cosine distances, got SparsePoints. Use BruteForce()."
    )


def test_a_tree_is_expected_to_be_sooner_in_few_columns_only():
    sooner = [
        p for p in range(1, 16) if KDTree().estimate_seconds(100_000, p) < BruteForce().estimate_seconds(100_000, p)
    ]
    assert sooner == [1, 2, 3, 4]


def test_lists_that_there_is_no_memory_for_are_refused_before_they_are_made(monkeypatch):
    index = KDTree().fit(EuclideanPoints(lattice(2, 40)))
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 1e6)
    with pytest.raises(
        MemoryError, match=r"^A list of 1,599 neighbours for 1,600 rows needs 154 MB of memory and 1 MB"
    ):
        index.query(1599)
    with pytest.raises(
        MemoryError, match=r"^A list of about 2\.0[0-9]e\+06 neighbours within 30 needs .* smaller radius"
    ):
        index.query_radius(30.0)
