"""NN-descent against all pairs: neighbours, distances to the bit, and the reported recall."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tamiz.exceptions import TamizWarning
from tamiz.neighbors.exact_search import BruteForce
from tamiz.neighbors.nn_descent import NeighborLists, NNDescent
from tamiz.neighbors.points import EuclideanPoints
from tamiz.neighbors.precomputed import PrecomputedDistances
from tamiz.runtime import parallel, progress


def true_distances(values, k):
    """The k least distances of every row from the others."""
    apart = cdist(values, values)
    np.fill_diagonal(apart, np.inf)
    return np.sort(np.partition(apart, k - 1, axis=1)[:, :k], axis=1)


def found_share(near, true):
    """The share of neighbours that are as near as the last of the true ones."""
    return (near.distances.reshape(true.shape) <= true[:, -1:] * (1 + 1e-12)).mean()


def clusters(n, n_columns, n_clusters, apart, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_clusters, n_columns)) * apart
    return centres[rng.integers(0, n_clusters, n)] + rng.normal(size=(n, n_columns))


DATA = {
    "noise of 8 columns": lambda: np.random.default_rng(0).normal(size=(4000, 8)),
    "uniform on a square": lambda: np.random.default_rng(1).random((4000, 2)),
    "overlapping clusters": lambda: clusters(3000, 10, 20, 2.0),
    "far clusters": lambda: clusters(3000, 6, 10, 1e4),
    "clusters of ten rows": lambda: clusters(3000, 10, 300, 50.0),
    "heavy tails": lambda: np.random.default_rng(2).standard_cauchy((3000, 5)),
    "a row far away": lambda: np.vstack([np.random.default_rng(3).normal(size=(3000, 4)), np.full((1, 4), 1e30)]),
    "numbers that square to infinity": lambda: np.random.default_rng(4).normal(size=(2500, 5)) * 1e200,
    "numbers that square to nothing": lambda: np.random.default_rng(5).normal(size=(2500, 5)) * 1e-200,
    "a line": lambda: np.arange(3000.0)[::-1, None],
}


FAST_DATA = ("noise of 8 columns", "far clusters", "a row far away")


@pytest.mark.parametrize(
    "name", [name if name in FAST_DATA else pytest.param(name, marks=pytest.mark.slow) for name in DATA]
)
def test_nearly_all_neighbours_are_found(name):
    values = DATA[name]()
    index = NNDescent(random_state=0).fit(EuclideanPoints(values))
    near = index.query(10)
    scale = np.abs(values).max() if "square" in name else 1.0
    true = true_distances(values / scale, 10) * scale
    assert found_share(near, true) > 0.985
    assert index.recall == pytest.approx(found_share(near, true), abs=0.01)


@pytest.fixture(scope="module")
def values():
    return clusters(3000, 12, 40, 3.0)


@pytest.fixture(scope="module")
def index(values):
    return NNDescent(random_state=3).fit(EuclideanPoints(values))


def test_the_distances_are_those_of_an_exact_search_to_the_bit(values, index):
    near, exact = index.query(12), BruteForce().fit(EuclideanPoints(values)).query(12)
    mine, theirs = near.indices.reshape(-1, 12), exact.indices.reshape(-1, 12)
    assert (mine == theirs).mean() > 0.95
    equal = (mine == theirs).reshape(-1)
    assert (near.distances[equal] == exact.distances[equal]).all()


def test_lists_contain_k_others_nearest_first_equal_distances_by_row(index):
    near = index.query(12)
    rows, distances = near.indices.reshape(-1, 12), near.distances.reshape(-1, 12)
    assert all(len(set(row)) == 12 for row in rows.tolist())
    assert (rows != np.arange(len(rows))[:, None]).all()
    steps = np.diff(distances, axis=1)
    assert (steps >= 0).all()
    assert (np.diff(rows, axis=1)[steps == 0] > 0).all()


def test_the_result_is_the_same_at_one_thread_and_at_two_and_when_repeated():
    wide = clusters(4500, 20, 10, 2.0) @ np.random.default_rng(0).normal(size=(20, 200))
    new = wide[:50] + 0.1
    for values in (clusters(6000, 9, 30, 2.0), wide):
        results = []
        for n_jobs in (1, 2, 2):
            with parallel.thread_session(n_jobs):
                index = NNDescent(random_state=5).fit(EuclideanPoints(values))
                results += [[index.query(15), index.query(4, EuclideanPoints(new[:, : values.shape[1]])), index.recall]]
        for other in results[1:]:
            assert other[2] == results[0][2]
            for mine, first in zip(other[:2], results[0][:2], strict=True):
                assert (mine.indices == first.indices).all()
                assert (mine.distances == first.distances).all()


def test_fewer_neighbours_are_the_first_of_more_whatever_was_asked_before(values, index):
    fifteen = index.query(15)
    assert (index.query(4).indices == fifteen.nearest(4).indices).all()
    index.query(20)
    assert (index.query(15).indices == fifteen.indices).all()
    assert (NNDescent(random_state=3).fit(EuclideanPoints(values)).query(4).indices == fifteen.nearest(4).indices).all()


def test_many_equal_rows_have_the_lowest_of_them_for_neighbours():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 3))[rng.integers(0, 300, 4000)]
    near = NNDescent(random_state=0).fit(EuclideanPoints(values)).query(5)
    exact = BruteForce().fit(EuclideanPoints(values)).query(5)
    assert (near.indices == exact.indices).all()
    assert (near.distances == exact.distances).all()


def test_all_rows_equal():
    near = NNDescent(random_state=0).fit(EuclideanPoints(np.full((2500, 4), 7.0))).query(3)
    assert near.indices[:9].tolist() == [1, 2, 3, 0, 2, 3, 0, 1, 3]
    assert near.indices[-3:].tolist() == [0, 1, 2]
    assert not near.distances.any()


def test_few_equal_rows_are_each_others_neighbours():
    values = np.random.default_rng(0).normal(size=(3000, 6))
    values[1500:1600] = values[:100]
    near = NNDescent(random_state=0).fit(EuclideanPoints(values)).query(3)
    assert (near.indices.reshape(-1, 3)[:100, 0] == np.arange(1500, 1600)).all()
    assert (near.distances.reshape(-1, 3)[:100, 0] == 0).all()


@pytest.mark.parametrize(("n", "k"), [(2, 1), (20, 19), (65, 15), (130, 100), (200, 199)])
def test_few_rows_are_searched_rightly(n, k):
    values = np.random.default_rng(n).normal(size=(n, 3))
    near, exact = (
        NNDescent(random_state=0, recall=1.0).fit(EuclideanPoints(values)).query(k),
        BruteForce().fit(EuclideanPoints(values)).query(k),
    )
    assert (near.indices == exact.indices).all()
    assert (near.distances == exact.distances).all()


@pytest.mark.slow
def test_many_columns_are_searched_along_fewer_directions_and_measured_in_all():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2500, 8)) @ rng.normal(size=(8, 200)) + 0.05 * rng.normal(size=(2500, 200))
    index = NNDescent(random_state=0).fit(EuclideanPoints(values))
    near = index.query(10)
    assert index._result._lists.rows.shape == (2500, 64)
    assert found_share(near, true_distances(values, 10)) > 0.985
    measured = np.linalg.norm(values[near.rows] - values[near.indices], axis=1)
    np.testing.assert_allclose(near.distances, measured, rtol=1e-13)


def test_many_columns_without_leading_directions_are_all_kept():
    values = clusters(2500, 200, 300, 0.3)
    index = NNDescent(random_state=0, recall=0.5).fit(EuclideanPoints(values))
    index.query(5)
    assert index._result._reduced_rows.directions is None


@pytest.mark.slow
def test_noise_of_many_columns_ends_in_comparing_all_pairs():
    values = np.random.default_rng(0).normal(size=(2000, 60))
    index = NNDescent(random_state=0, recall=1.0).fit(EuclideanPoints(values))
    near, exact = index.query(10), BruteForce().fit(EuclideanPoints(values)).query(10)
    assert (near.indices == exact.indices).all()
    assert index.recall == 1.0
    new = EuclideanPoints(values[:20] + 0.5)
    assert (index.query(3, new).indices == BruteForce().fit(EuclideanPoints(values)).query(3, new).indices).all()


def test_rows_that_float32_does_not_distinguish_are_compared_in_pairs():
    values = clusters(2500, 4, 5, 1e10)
    near, exact = (
        NNDescent(random_state=0).fit(EuclideanPoints(values)).query(5),
        BruteForce().fit(EuclideanPoints(values)).query(5),
    )
    assert (near.indices == exact.indices).all()


def test_a_recall_that_falls_short_is_reported(monkeypatch):
    monkeypatch.setattr("tamiz.neighbors.nn_descent._MAX_PASSES", 0)
    monkeypatch.setattr("tamiz.neighbors.nn_descent._WIDE_PASS", 2)
    values = np.random.default_rng(0).normal(size=(3000, 40))
    index = NNDescent(random_state=0).fit(EuclideanPoints(values))
    with pytest.warns(
        TamizWarning, match=r"NNDescent finds about 0\.\d+ of the nearest neighbours, fewer than the 0\.99 requested"
    ):
        near = index.query(5)
    assert index.recall < 0.9
    assert index.recall == pytest.approx(found_share(near, true_distances(values, 5)), abs=0.03)


def test_new_rows_find_their_neighbours(values, index):
    new = clusters(3300, 12, 40, 3.0)[3000:]
    near = index.query(10, EuclideanPoints(new))
    true = np.sort(cdist(new, values), axis=1)[:, :10]
    assert found_share(near, true) > 0.97
    exact = BruteForce().fit(EuclideanPoints(values)).query(10, EuclideanPoints(new))
    same = near.indices == exact.indices
    assert (near.distances[same] == exact.distances[same]).all()


def test_a_new_row_is_searched_by_itself(values, index):
    new = values[:400] + 0.3
    together = index.query(7, EuclideanPoints(new))
    for row in (0, 17, 399):
        alone = index.query(7, EuclideanPoints(new[row : row + 1]))
        assert (alone.indices == together.indices.reshape(-1, 7)[row]).all()
        assert (alone.distances == together.distances.reshape(-1, 7)[row]).all()


def test_a_new_row_equal_to_rows_of_the_index_finds_the_lowest_of_them(values, index):
    own = index.query(2, EuclideanPoints(values))
    assert (own.indices.reshape(-1, 2)[:, 0] == np.arange(len(values))).all()
    assert (own.distances.reshape(-1, 2)[:, 0] == 0).all()
    repeated = np.repeat(values[:1000], 3, axis=0)
    few = np.vstack([values, values[:50], values[:50]])
    assert (
        NNDescent(random_state=0).fit(EuclideanPoints(repeated)).query(3, EuclideanPoints(values[:1000])).indices
        == np.arange(3000)
    ).all()
    found = (
        NNDescent(random_state=0)
        .fit(EuclideanPoints(few))
        .query(3, EuclideanPoints(values[:50]))
        .indices.reshape(-1, 3)
    )
    assert (found == np.arange(50)[:, None] + [0, 3000, 3050]).all()


def test_a_new_row_far_from_all_others_finds_one_hardly_farther_than_the_nearest(values, index):
    far = np.full((1, 12), 1e3)
    assert index.query(1, EuclideanPoints(far)).distances[0] == pytest.approx(cdist(far, values).min(), rel=1e-3)


def test_minus_zero_is_zero():
    values = np.random.default_rng(0).integers(0, 40, (3000, 2)).astype(float)
    minus = np.where(values == 0, -0.0, values)
    index = NNDescent(random_state=0).fit(EuclideanPoints(values))
    assert (index.query(1, EuclideanPoints(minus)).indices == index.query(1, EuclideanPoints(values)).indices).all()
    assert not index.query(1, EuclideanPoints(minus)).distances.any()


def test_all_within_a_radius_are_found_exactly(values, index):
    exact = BruteForce().fit(EuclideanPoints(values))
    for queries in (None, EuclideanPoints(values[:30] + 0.2)):
        mine, theirs = index.query_radius(2.5, queries), exact.query_radius(2.5, queries)
        assert (mine.indptr == theirs.indptr).all()
        assert (mine.indices == theirs.indices).all()


def test_the_recall_is_known_before_a_query(values):
    assert NNDescent(random_state=3).fit(EuclideanPoints(values)).recall > 0.98


def test_a_higher_recall_is_reached_by_going_on():
    points = EuclideanPoints(DATA["clusters of ten rows"]())
    lower, higher = (NNDescent(random_state=0, recall=recall).fit(points).recall for recall in (0.5, 0.999))
    assert lower < 0.99
    assert higher >= 0.999


def test_an_approximate_search_suits_many_rows_of_numbers():
    assert NNDescent().unsupported_reason(EuclideanPoints(np.zeros((2000, 2)))) is None
    assert (
        NNDescent().unsupported_reason(EuclideanPoints(np.zeros((1999, 2))))
        == "NNDescent requires at least 2,000 rows, got 1,999. Use BruteForce()."
    )
    assert NNDescent().unsupported_reason(PrecomputedDistances(np.zeros((2000, 2000)))) == (
        "NNDescent requires dense rows of numbers at Euclidean or cosine distances, got PrecomputedDistances. Use BruteForce()."
    )


def test_a_search_within_a_radius_takes_the_distinct_rows_of_the_index(monkeypatch):
    index = NNDescent(random_state=0).fit(EuclideanPoints(np.random.default_rng(0).normal(size=(2500, 3))))
    monkeypatch.setattr("tamiz.neighbors.base._scan_rows", None)
    assert index._brute_force.distinct is index.distinct
    assert len(index.query_radius(0.1).indptr) == 2501


def test_new_rows_are_searched_anew_after_another_pass():
    rows = np.random.default_rng(0).normal(size=(1500, 8)).astype(np.float32)
    new, seeds = rows[:40] + np.float32(0.2), np.arange(3)
    lists, later = NeighborLists(rows, 10, seeds), NeighborLists(rows, 10, seeds)
    before = lists.find_nearest(new, 20)
    for one in (lists, later):
        one.improve(16)
    assert (lists.find_nearest(new, 20) == later.find_nearest(new, 20)).all()
    assert (lists.find_nearest(new, 20) != before).any()


def test_progress_is_reported_up_to_the_end(values):
    told = []
    with progress.use_listener(lambda label, done, total: told.append((label, done, total))):
        NNDescent(random_state=0).fit(EuclideanPoints(values)).query(5)
    assert {label for label, _, _ in told} == {"Neighbours"}
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[0][1] == 0
    assert told[-1][1] == told[-1][2]


def test_bad_settings_are_refused():
    points = EuclideanPoints(np.zeros((10, 1)))
    with pytest.raises(ValueError, match=r"recall must be at most 1, got 2\.0"):
        NNDescent(recall=2).fit(points)
    with pytest.raises(TypeError, match="recall must be a number, got 'high'"):
        NNDescent(recall="high").fit(points)
    with pytest.raises(ValueError, match="random_state must be a whole number"):
        NNDescent(random_state=-1).fit(points)
    with pytest.raises(ValueError, match="n_neighbors must be from 1 to 9, got 10"):
        NNDescent().fit(points).query(10)
