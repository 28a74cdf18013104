"""The co-ranking matrix and its curves against the matrix in full."""

import numpy as np
import pytest
from tests.metrics.example_maps import MAPS, distances, scattered
from tests.reference import quality as reference

from tamiz.exceptions import DataError
from tamiz.metrics import co_ranking, neighborhood_recall, quality, rank_agreement
from tamiz.runtime import parallel


@pytest.mark.parametrize("name", MAPS)
def test_the_matrix_and_the_curves_are_those_of_dense_ranks(name):
    X, Y = MAPS[name]
    D, E = distances(X, Y)
    np.testing.assert_array_equal(co_ranking(X, Y), reference.co_ranking(D, E))
    found = rank_agreement(X, Y)
    np.testing.assert_array_equal(found.n_neighbors, np.arange(1, len(X) - 1))
    np.testing.assert_allclose(found.q_nx, reference.q_nx(D, E), rtol=1e-14)
    np.testing.assert_allclose(found.r_nx, reference.r_nx(D, E), atol=1e-13)
    np.testing.assert_allclose(found.lcmc, reference.q_nx(D, E) - found.n_neighbors / (len(X) - 1), atol=1e-14)
    assert found.area == pytest.approx(reference.area(D, E), abs=1e-13)


def test_the_rows_themselves_are_a_perfect_map():
    X, _ = scattered(50)
    found = rank_agreement(X, X * 3.0)
    assert (found.q_nx == 1.0).all()
    assert (found.r_nx == 1.0).all()
    assert found.area == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_array_equal(co_ranking(X, X), 50 * np.eye(49, dtype=int))


def test_a_map_by_chance_has_no_area():
    X = np.random.default_rng(0).normal(size=(800, 3))
    Y = np.random.default_rng(1).normal(size=(800, 2))
    assert abs(rank_agreement(X, Y).area) < 0.02


def test_the_curve_at_k_is_the_recall_of_k_neighbours():
    X, Y = MAPS["duplicates"]
    curve = rank_agreement(X, Y).q_nx
    for k in (1, 7, 30):
        assert curve[k - 1] == pytest.approx(neighborhood_recall(X, Y, n_neighbors=k), abs=1e-14)


def test_rows_and_columns_of_the_matrix_count_every_row_once():
    counts = co_ranking(*MAPS["lattice"])
    assert (counts.sum(axis=0) == 50).all()
    assert (counts.sum(axis=1) == 50).all()


def test_given_distances_with_ties_are_ranked_by_row():
    X, Y = MAPS["lattice"]
    D, E = distances(X, Y)
    np.testing.assert_array_equal(co_ranking(D, Y, metric="precomputed"), reference.co_ranking(D, E))


@pytest.mark.parametrize("spread", [1.0, 60.0])
def test_heavy_tails_and_many_rows_are_put_in_order(spread):
    rng = np.random.default_rng(0)
    # In one column a distance is a difference, rounded alike by everyone.
    X = np.exp(spread * rng.normal(size=(300, 1)))
    Y = rng.normal(size=(300, 2))
    np.testing.assert_array_equal(co_ranking(X, Y), reference.co_ranking(*distances(X, Y)))


def test_many_rows_at_equal_distances_are_in_the_order_of_their_numbers():
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 2, size=(300, 9)) * 3.0, rng.integers(0, 2, size=(300, 4)) / 4.0
    D, E = distances(X, Y)
    np.testing.assert_array_equal(co_ranking(X, Y), reference.co_ranking(D, E))
    for k in (3, 40):
        assert neighborhood_recall(X, Y, n_neighbors=k) == pytest.approx(reference.recall(D, E, k).mean(), abs=1e-14)


def test_any_number_of_threads_gives_the_same_bits():
    X, Y = scattered(600, 12)
    areas = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            areas.append((rank_agreement(X, Y).area, co_ranking(X, Y).tobytes()))
    assert areas[0] == areas[1]


def test_areas_of_rows_have_the_area_of_the_map_for_mean():
    X, Y = MAPS["groups"]
    card = quality(X, Y)
    assert card.points.rank_agreement.mean() == pytest.approx(card.agreement.area, abs=1e-14)
    assert card["rank_agreement"].value == pytest.approx(card.agreement.area, abs=1e-14)


@pytest.mark.parametrize("function", [rank_agreement, co_ranking])
def test_two_rows_are_too_few(function):
    with pytest.raises(DataError, match=r"^X has 2 rows; ranks need at least 3 to differ\.$"):
        function([[0.0], [1.0]], [[0.0], [1.0]])


def test_a_matrix_beyond_memory_is_refused_before_any_work(monkeypatch):
    from tamiz.runtime import validation

    monkeypatch.setattr(validation, "free_memory", lambda: 1e3)
    with pytest.raises(MemoryError, match=r"^The co-ranking matrix of 60 rows needs .* Use rank_agreement"):
        co_ranking(*scattered())
