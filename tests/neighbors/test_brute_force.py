"""Exact search against the distances of all pairs, and the bounds that it uses."""

from functools import cache

import numpy as np
import pytest

from tamiz.kernels.nearest_neighbors import pair_distances, row_distances
from tamiz.neighbors import exact_search
from tamiz.neighbors.base import DistinctRows
from tamiz.neighbors.exact_search import (
    BruteForce,
    ContractiveProjection,
    DistanceBounds,
    KDTree,
    _tournament_rounds,
    choose_projection,
    left_factors,
)
from tamiz.neighbors.points import CosinePoints, EuclideanPoints, Points
from tamiz.runtime import parallel, progress

from ..reference.neighbors import distances, nearest, within
from ..reference.ties import tie_keys
from .difficult_rows import HARD, lattice


@cache
def wide(n=400, p=160):
    """Rows whose variance lies in a few of many directions."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, p)) / np.arange(1, p + 1) @ rng.normal(size=(p, p))


class OnlyBlocks(EuclideanPoints):
    """Points that tell their distances and nothing else."""

    def euclidean_values(self):
        return None


def between(values, queries=None):
    """The reference's distances; of rows whose squares overflow or vanish those of the rows at another scale."""
    queries = values if queries is None else queries
    with np.errstate(over="ignore"):
        return distances(queries * rescaling(values), values * rescaling(values))


def rescaling(values):
    """A power of two that keeps squares in range."""
    largest = np.abs(values).max()
    return 1.0 if 1e-50 < largest < 1e50 else 2.0 ** -max(np.frexp(largest)[1], -1000)


def measured(queries, values):
    """The reference's distances as the kernel rounds them: for rows so far away that ties are a matter of rounding."""
    dense = np.empty((len(queries), len(values)))
    for row, dist in enumerate(dense):
        row_distances(queries, row, values, dist)
    np.testing.assert_allclose(dense, distances(queries, values), rtol=1e-13)
    return dense


def agrees(neighbors, dense, k, own=False, scale=1.0):
    indices, found = nearest(dense, k, own)
    assert neighbors.indices.dtype == np.int32
    assert neighbors.indices.reshape(-1, k).tolist() == indices.tolist()
    np.testing.assert_allclose(neighbors.distances.reshape(-1, k), found / scale, rtol=1e-13)


def agrees_within(neighbors, dense, radius, own=False, keys=None):
    expected = within(dense, radius, own, keys)
    assert np.diff(neighbors.indptr).tolist() == [len(near) for near, _ in expected]
    assert neighbors.indices.tolist() == np.concatenate([near for near, _ in expected]).tolist()
    np.testing.assert_allclose(neighbors.distances, np.concatenate([dist for _, dist in expected]), rtol=1e-13)


@pytest.mark.parametrize("name", HARD)
def test_the_nearest_are_those_of_measuring_every_pair(name):
    values = HARD[name]
    index = BruteForce().fit(EuclideanPoints(values))
    dense = between(values)
    for k in sorted({1, min(15, len(values) - 1), len(values) - 1}):
        agrees(index.query(k), dense, k, own=True, scale=rescaling(values))


@pytest.mark.parametrize("search", [BruteForce, KDTree])
def test_small_sets_full_of_ties_are_searched_as_by_measuring_every_pair(search):
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(2, 40)), int(rng.integers(1, 6))
        values = rng.integers(0, rng.integers(1, 7), (n, p)).astype(float)
        queries = rng.integers(-1, 8, (5, p)).astype(float)
        index = search().fit(EuclideanPoints(values))
        k, radius = int(rng.integers(1, n)), float(rng.integers(0, 4))
        agrees(index.query(k), distances(values, values), k, own=True)
        agrees(index.query(k, EuclideanPoints(queries)), distances(queries, values), k)
        agrees_within(index.query_radius(radius), distances(values, values), radius, own=True)
        agrees_within(index.query_radius(radius, EuclideanPoints(queries)), distances(queries, values), radius)


@pytest.mark.parametrize("name", HARD)
def test_the_nearest_of_new_rows_are_those_of_measuring_every_pair(name):
    values = HARD[name]
    queries = np.vstack([values[:30], values[:30] * 1.01, values[:2] * 1e12])
    k = min(9, len(values))
    scale = rescaling(values)
    agrees(
        BruteForce().fit(EuclideanPoints(values)).query(k, EuclideanPoints(queries)),
        measured(queries * scale, values * scale),
        k,
        scale=scale,
    )


@pytest.mark.parametrize("name", HARD)
def test_all_within_a_radius_are_those_of_measuring_every_pair(name):
    values = HARD[name]
    index = BruteForce().fit(EuclideanPoints(values))
    reported = reported_distances(values, index)
    for radius in (0.0, reported[0, -1], np.quantile(reported, 0.1, method="lower"), reported.max()):
        agrees_within(index.query_radius(radius), reported, radius, own=True, keys=tie_keys(between(values)))


def reported_distances(values, index):
    """All distances, as a search reports them."""
    n = len(values)
    dense = np.zeros((n, n))
    found = index.query(n - 1)
    dense[found.rows, found.indices] = found.distances
    return dense


def test_all_within_a_radius_of_new_rows_are_those_of_measuring_every_pair():
    for name in ("normal", "many repeats", "clusters far apart"):
        values = HARD[name]
        queries = np.vstack([values[:20], values[:20] * 1.01, values[:2] * 1e12])
        dense = measured(queries, values)
        for radius in (0.0, dense[30, 30], dense.max()):
            agrees_within(
                BruteForce().fit(EuclideanPoints(values)).query_radius(radius, EuclideanPoints(queries)), dense, radius
            )


@pytest.mark.parametrize("name", ["normal", "many repeats", "lattice", "clusters far apart"])
def test_the_same_bits_with_one_thread_and_two_and_without_a_session(name):
    values = HARD[name]
    answers = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            index = BruteForce().fit(EuclideanPoints(values))
            answers.append((index.query(7), index.query_radius(1.0)))
    index = BruteForce().fit(EuclideanPoints(values))
    answers.append((index.query(7), index.query_radius(1.0)))
    for nearest_, near in answers[1:]:
        assert nearest_.indices.tobytes() == answers[0][0].indices.tobytes()
        assert nearest_.distances.tobytes() == answers[0][0].distances.tobytes()
        assert near.indptr.tobytes() == answers[0][1].indptr.tobytes()
        assert near.indices.tobytes() == answers[0][1].indices.tobytes()
        assert near.distances.tobytes() == answers[0][1].distances.tobytes()


def test_many_blocks_on_two_threads_give_the_bits_of_one():
    values = np.random.default_rng(2).normal(size=(5000, 12))
    answers = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            answers.append(BruteForce().fit(EuclideanPoints(values)).query(10))
    assert answers[0].indices.tobytes() == answers[1].indices.tobytes()
    assert answers[0].distances.tobytes() == answers[1].distances.tobytes()
    rows = np.arange(0, 5000, 250)
    indices, _ = nearest(distances(values[rows], values), 11)
    assert answers[0].indices.reshape(-1, 10)[rows].tolist() == [
        [j for j in found if j != row] for row, found in zip(rows, indices.tolist(), strict=True)
    ]


def test_a_query_is_answered_alike_whatever_rows_are_asked_with_it():
    values = HARD["normal"]
    queries = np.vstack([values[:5] * 1.3, values[:1] * 1e15, HARD["many repeats"][:3, [0, 1, 2, 3, 0]]])
    index = BruteForce().fit(EuclideanPoints(values))
    together = index.query(6, EuclideanPoints(queries))
    for row in range(len(queries)):
        alone = index.query(6, EuclideanPoints(queries[row : row + 1]))
        assert alone.indices.tolist() == together.indices.reshape(-1, 6)[row].tolist()
        assert alone.distances.tobytes() == together.distances.reshape(-1, 6)[row].tobytes()


def test_distances_are_those_of_the_kernel_that_measures_to_the_bit():
    for values in (HARD["normal"], HARD["clusters far apart"], wide()):
        index = BruteForce().fit(EuclideanPoints(values))
        found, near = index.query(12), index.query_radius(float(np.median(index.query(12).distances)))
        asked = index.query(12, EuclideanPoints(values.copy()))
        for neighbors in (found, near, asked):
            dist = np.empty(len(neighbors.indices))
            pair_distances(values, neighbors.rows, values, neighbors.indices, dist)
            assert dist.tobytes() == neighbors.distances.tobytes()


def test_points_with_distances_only_are_searched_alike():
    for name in ("many repeats", "lattice", "binary"):
        values = HARD[name]
        plain, index = BruteForce().fit(OnlyBlocks(values)), BruteForce().fit(EuclideanPoints(values))
        queries = values[:40] + 0.5
        for k in (1, 11, len(values) - 1):
            agrees(plain.query(k), between(values), k, own=True)
        agrees(plain.query(4, OnlyBlocks(queries)), between(values, queries), 4)
        for radius in (0.0, 1.0, 2.5):
            near, expected = plain.query_radius(radius), index.query_radius(radius)
            assert near.indptr.tolist() == expected.indptr.tolist()
            assert near.indices.tolist() == expected.indices.tolist()
        agrees_within(plain.query_radius(1.5, OnlyBlocks(queries)), between(values, queries), 1.5)
    assert plain.description == "exact, by blocks of distances"


def test_cosine_distances_within_a_radius_are_compared_as_they_are_reported():
    values = np.random.default_rng(3).normal(size=(120, 4))
    index = BruteForce().fit(CosinePoints(values))
    found = index.query(119)
    for radius in found.distances[:: 119 * 7 + 3]:
        near = index.query_radius(float(radius))
        assert len(near.indices) == np.count_nonzero(found.distances <= radius)
        assert near.distances.max() == radius


def test_many_columns_are_searched_along_a_few_directions(monkeypatch):
    def directed(points):
        plain, _ = choose_projection(points)
        directions, defect = exact_search._projection_directions(points.values, plain)
        return ContractiveProjection(plain.centre, plain.scale, directions[:, :32].copy(), defect), np.float32

    monkeypatch.setattr(exact_search, "choose_projection", directed)
    values, queries = np.vstack([wide(), wide()[:3], np.zeros((2, 160))]), wide(30) * 1.1
    dense = between(values)
    radius = float(np.quantile(dense, 0.03)) * (1 + 1e-12)
    with parallel.thread_session(1):
        index = BruteForce().fit(EuclideanPoints(values))
        assert index.bounds.right_factors[:405].shape == (405, 32 + 1 + 2)
        agrees(index.query(15), dense, 15, own=True)
        agrees(index.query(4, EuclideanPoints(queries)), between(values, queries), 4)
        agrees_within(index.query_radius(radius), dense, radius, own=True)
        agrees_within(index.query_radius(radius, EuclideanPoints(queries)), between(values, queries), radius)


def test_leading_directions_are_used_where_they_explain_most_of_the_variance_of_many_columns():
    rng = np.random.default_rng(6)
    flat = rng.normal(size=(9000, 130))
    steep = flat / np.arange(1, 131)
    with parallel.thread_session(1):
        assert choose_projection(DistinctRows(steep))[0].directions.shape == (130, 32)
        assert choose_projection(DistinctRows(flat))[0].directions is None


def test_rows_that_float32_cannot_distinguish_are_searched_by_products_in_float64(monkeypatch):
    monkeypatch.setattr(exact_search, "_MIN_POINTS", 100)
    values = np.random.default_rng(4).normal(size=(500, 8))
    values[::2] += 1e6
    index = BruteForce().fit(EuclideanPoints(values))
    assert index.bounds.dtype == np.float64
    agrees(index.query(15), between(values), 15, own=True)


def test_one_row_far_away_does_not_cost_the_others_their_float32(monkeypatch):
    monkeypatch.setattr(exact_search, "_MIN_POINTS", 100)
    assert (
        BruteForce().fit(EuclideanPoints(np.vstack([HARD["normal"]] * 2 + [np.full((1, 5), 1e9)]))).bounds.dtype
        == np.float32
    )


def exact_squares(a, b, scale):
    """Squared distances in extended precision, scaled."""
    gaps = (a[:, None].astype(np.longdouble) - b[None]) * np.longdouble(scale)
    return (gaps * gaps).sum(axis=-1)


@pytest.mark.parametrize("name", [name for name in HARD if name != "two rows"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("directed", [False, True])
def test_no_bound_is_above_a_squared_distance(name, dtype, directed):
    points = DistinctRows(HARD[name])
    values = points.values
    chart, _ = choose_projection(points)
    if directed:
        if values.shape[1] < 4:
            return
        directions, defect = exact_search._projection_directions(values, chart)
        chart = ContractiveProjection(chart.centre, chart.scale, directions[:, :2].copy(), defect)
    bounds = DistanceBounds(values, chart, dtype)
    left = left_factors(bounds.right_factors[: len(values)])
    tile = bounds.tile(
        left, 0, len(bounds.right_factors), np.empty(left.shape[0] * len(bounds.right_factors), dtype=np.float32)
    )
    squares = exact_squares(values, values, bounds.projection.scale)
    bound = tile.reshape(len(values), -1)
    assert np.isnan(bound[:, len(values) :]).all()
    assert (bound[:, : len(values)] <= squares).all()


def test_bounds_are_close_to_the_squared_distances():
    points = DistinctRows(np.random.default_rng(5).normal(size=(200, 50)) + 100.0)
    bounds = DistanceBounds(points.values, choose_projection(points)[0])
    left = left_factors(bounds.right_factors[:200])
    tile = bounds.tile(left, 0, 256, np.empty(200 * 256, dtype=np.float32)).reshape(200, -1)[:, :200]
    squares = exact_squares(points.values, points.values, bounds.projection.scale)
    np.testing.assert_allclose(tile[squares > 0], squares[squares > 0].astype(float), rtol=2e-4)


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 4, 9, 16])
def test_rounds_pair_every_two_blocks_once_and_none_twice_in_a_row(n_blocks):
    pairs = _tournament_rounds(n_blocks)
    assert sorted(pairs) == [(i, j) for i in range(n_blocks) for j in range(i, n_blocks)]
    each = n_blocks // 2
    for begin in range(n_blocks, len(pairs), max(each, 1)):
        met = [block for pair in pairs[begin : begin + each] for block in pair]
        assert len(met) == len(set(met))


def test_a_number_of_neighbours_that_there_are_not_is_refused():
    index = BruteForce().fit(EuclideanPoints(HARD["normal"]))
    with pytest.raises(ValueError, match=r"^n_neighbors must be from 1 to 229, got 230\.$"):
        index.query(230)
    with pytest.raises(ValueError, match=r"^n_neighbors must be from 1 to 230, got 0\.$"):
        index.query(0, EuclideanPoints(HARD["normal"][:2]))


@pytest.mark.parametrize("kind", [EuclideanPoints, OnlyBlocks])
def test_lists_that_there_is_no_memory_for_are_refused_before_they_are_made(monkeypatch, kind):
    index = BruteForce().fit(kind(lattice(2, 40)))
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 1e6)
    with pytest.raises(
        MemoryError,
        match=r"^A list of 1,599 neighbours for 1,600 rows needs 154 MB of memory and 1 MB are free\. Use",
    ):
        index.query(1599)
    with pytest.raises(
        MemoryError, match=r"^A list of about 2\.0[0-9]e\+06 neighbours within 30 needs .* Use a smaller"
    ):
        index.query_radius(30.0)
    assert len(index.query_radius(1.0).indices) == 4 * 40 * 39


def test_progress_is_reported_for_every_pair_of_blocks():
    told = []
    with progress.use_listener(lambda *what: told.append(what)):
        BruteForce().fit(EuclideanPoints(lattice(2, 30))).query(3)
    assert told[0] == ("Neighbours", 0, told[-1][1])
    assert told[-1][1] == told[-1][2] > 1


def test_the_estimate_grows_with_the_square_of_the_rows():
    assert BruteForce().estimate_seconds(2000, 10) == pytest.approx(4 * BruteForce().estimate_seconds(1000, 10))
    assert 2.0 < BruteForce().estimate_seconds(70_000, 50) < 10.0


def test_any_points_suit():
    assert BruteForce().unsupported_reason(OnlyBlocks(HARD["normal"])) is None
    assert isinstance(OnlyBlocks(HARD["normal"]), Points)
