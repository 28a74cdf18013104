"""Minimum spanning trees against Kruskal's algorithm over all pairs, and their properties."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from tamiz.exceptions import DataError
from tamiz.kernels.nearest_neighbors import pair_distances
from tamiz.neighbors import spanning_tree as spanning
from tamiz.neighbors.base import NeighborIndex, Neighbors
from tamiz.neighbors.exact_search import BruteForce
from tamiz.neighbors.points import CosinePoints, EuclideanPoints
from tamiz.neighbors.precomputed import PrecomputedDistances
from tamiz.neighbors.spanning_tree import connecting_edges, longest_edge, spanning_tree
from tamiz.runtime import parallel, progress

from ..reference.spanning_tree import spanning_edges
from .distance_only_points import OnlyDistances

KINDS = [
    "gaussian",
    "grid",
    "clusters",
    "duplicates",
    "far_clusters",
    "outliers",
    "chain",
    "equal",
    "nested",
    "categories",
]


def rows(kind, seed):
    rng = np.random.default_rng([KINDS.index(kind), seed])
    n, p = int(rng.integers(2, 61)), int(rng.integers(1, 7))
    made = {
        "gaussian": lambda: rng.normal(size=(n, p)),
        "grid": lambda: rng.integers(0, 4, (n, p)),
        "clusters": lambda: rng.normal(size=(3, p)).repeat(20, axis=0) * 50 + rng.normal(size=(60, p)),
        "duplicates": lambda: np.r_[np.zeros((20, p)), rng.integers(0, 3, (40, p))],
        "far_clusters": lambda: rng.integers(0, 4, (60, p)) + 1e6 * np.repeat([0, 1], 30)[:, None],
        "outliers": lambda: np.r_[rng.normal(size=(50, p)), 1000 * rng.normal(size=(5, p))],
        "chain": lambda: np.cumsum(rng.integers(1, 3, n))[:, None],
        "equal": lambda: np.ones((n, p)),
        # Every cluster has two, three times as small.
        "nested": lambda: sum(
            3.0**level * rng.normal(size=(2 ** (6 - level), p)).repeat(2**level, axis=0) for level in range(6)
        ),
        "categories": lambda: np.eye(4)[rng.integers(0, 4, (60, 3))].reshape(60, 12),
    }[kind]()
    return np.asarray(rng.permutation(made), dtype=float)


class OfAllPairs(NeighborIndex):
    """The nearest points by sorting every distance."""

    description = "plain"

    def __init__(self, points):
        self.points = points

    def query(self, k, queries=None):
        distances = np.array(self.points.block(self.points, 0, self.points.n_samples))
        np.fill_diagonal(distances, np.inf)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k].astype(np.int32)
        return Neighbors.from_arrays(nearest, np.take_along_axis(distances, nearest, axis=1), len(distances))

    def query_radius(self, radius, queries=None):
        raise NotImplementedError


@pytest.fixture
def small_pieces(monkeypatch):
    """Every limit so low that sets of sixty rows go the ways of large ones."""
    for module in (spanning,):
        monkeypatch.setattr(module, "CHUNK_ROWS", 16)
    for module, name, value in [
        (spanning, "BLOCK_ROWS", 8), (spanning, "_TILE_ROWS", 4), (spanning, "_MIN_BLOCK_ROWS", 3),
        (spanning, "_CHUNKS_PER_BATCH", 1),
        (spanning, "_CHUNK_VALUES", 200), (spanning, "_MIN_SEARCH_ROWS", 1), (spanning, "_N_NEIGHBORS", 2),
    ]:  # fmt: skip
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(spanning.DistanceOutsideSearch, "n_listed", 2)


def assert_same_edges(edges, expected):
    for ends, expected_ends in zip(edges[:2], expected[:2], strict=True):
        np.testing.assert_array_equal(ends, expected_ends)
    np.testing.assert_allclose(edges[2], expected[2], rtol=1e-14, atol=0)


def edges_of(tree):
    return tree.heads, tree.tails, tree.lengths


def searched(monkeypatch):
    """The number of rows of every search beyond the listed neighbours, in a list that fills."""
    counts = []
    for search in (spanning.BallOutsideSearch, spanning.DistanceOutsideSearch):

        def nearest(self, rows, *rest, plain=search.nearest):
            counts.append(len(rows))
            return plain(self, rows, *rest)

        monkeypatch.setattr(search, "nearest", nearest)
    return counts


def assert_spans(X, points):
    distances = cdist(X, X)
    tree = spanning_tree(OfAllPairs(points))
    joined = coo_array((np.ones(len(tree.heads)), (tree.heads, tree.tails)), shape=distances.shape)
    assert len(tree.heads) == len(X) - 1
    assert connected_components(joined, directed=False)[0] == 1
    expected = spanning_edges(distances)
    assert tree.lengths.sum() == pytest.approx(expected[2].sum(), rel=1e-13)
    assert longest_edge(OfAllPairs(points)) == pytest.approx(expected[2].max(), rel=1e-14)
    assert_same_edges(edges_of(tree), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tree_of_random_rows_is_that_of_all_pairs(kind):
    for seed in range(25):
        X = rows(kind, seed)
        assert_spans(X, EuclideanPoints(X))


@pytest.mark.parametrize("points", [EuclideanPoints, OnlyDistances])
@pytest.mark.parametrize("kind", KINDS)
def test_the_tree_is_that_of_all_pairs_when_neighbours_leave_much_open(kind, points, small_pieces, monkeypatch):
    counts = searched(monkeypatch)
    for seed in range(13):
        monkeypatch.setattr(spanning, "_N_NEIGHBORS", 1 + seed % 4)
        X = rows(kind, seed)
        assert_spans(X, points(X))
    assert len(counts) > 13 or kind in ("duplicates", "chain", "equal")


@pytest.mark.parametrize("points", [EuclideanPoints, OnlyDistances])
@pytest.mark.parametrize("kind", KINDS)
def test_components_are_joined_by_the_tree_of_their_nearest_rows(kind, points, small_pieces):
    for seed in range(8):
        X = rows(kind, seed)
        rng = np.random.default_rng(seed)
        labels = 7 * rng.integers(0, rng.integers(1, len(X) + 1), len(X)) - 3
        assert_same_edges(connecting_edges(OfAllPairs(points(X)), labels), spanning_edges(cdist(X, X), labels))


def test_components_of_any_size_are_joined_at_the_usual_limits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    labels = np.where(rng.random(600) < 0.9, 0, np.arange(600))
    labels[:100] = -1
    assert_same_edges(connecting_edges(OfAllPairs(EuclideanPoints(X)), labels), spanning_edges(cdist(X, X), labels))


def test_one_component_needs_no_edge():
    assert [len(ends) for ends in connecting_edges(OfAllPairs(EuclideanPoints([[0.0], [5.0]])), np.array([4, 4]))] == [
        0,
        0,
        0,
    ]


def test_the_longest_edge_of_a_chain_is_its_widest_gap():
    gaps = np.random.default_rng(3).random(500)
    assert longest_edge(OfAllPairs(EuclideanPoints(np.cumsum(gaps)[:, None]))) == pytest.approx(
        gaps[1:].max(), rel=1e-10
    )


def test_equal_rows_are_joined_to_the_lowest_of_them_at_length_zero():
    tree = spanning_tree(OfAllPairs(EuclideanPoints(np.ones((5, 2)))))
    assert tree.heads.tolist() == [0, 0, 0, 0]
    assert tree.tails.tolist() == [1, 2, 3, 4]
    assert tree.lengths.tolist() == [0, 0, 0, 0]


def test_one_row_is_a_tree_without_edges():
    tree = spanning_tree(OfAllPairs(EuclideanPoints([[1.0, 2.0]])))
    assert [len(ends) for ends in edges_of(tree)] == [0, 0, 0]
    assert longest_edge(OfAllPairs(EuclideanPoints([[1.0, 2.0]]))) == 0.0


def test_equally_long_edges_are_taken_by_the_lower_rows():
    # The four corners of a square: three of its sides, that of the rows 2 and 3 left out.
    tree = spanning_tree(OfAllPairs(EuclideanPoints([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])))
    assert list(zip(tree.heads.tolist(), tree.tails.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 3)]


def test_cosine_distances_have_the_tree_of_all_pairs(small_pieces):
    X = np.random.default_rng(5).normal(size=(60, 3))
    expected = spanning_edges(cdist(X, X, "cosine"))
    tree = spanning_tree(OfAllPairs(CosinePoints(X)))
    np.testing.assert_array_equal(tree.heads, expected[0])
    np.testing.assert_allclose(tree.lengths, expected[2], rtol=1e-9)


def test_distances_that_obey_no_triangle_have_the_tree_of_all_pairs(small_pieces):
    distances = np.random.default_rng(6).random((60, 60))
    distances = np.triu(distances, 1) + np.triu(distances, 1).T
    assert_same_edges(edges_of(spanning_tree(OfAllPairs(PrecomputedDistances(distances)))), spanning_edges(distances))


@pytest.mark.parametrize("scale", [2.0**700, 2.0**-700])
def test_rows_whose_squares_overflow_or_vanish_have_the_tree_that_they_have_at_another_scale(scale, small_pieces):
    X = rows("clusters", 4)
    tree, expected = (
        spanning_tree(BruteForce().fit(EuclideanPoints(X * scale))),
        spanning_tree(BruteForce().fit(EuclideanPoints(X))),
    )
    assert_same_edges(edges_of(tree), (expected.heads, expected.tails, expected.lengths * scale))


def test_an_edge_is_as_long_as_the_searches_measure_it(small_pieces):
    X = np.random.default_rng(7).normal(size=(400, 13)) + 10 * np.repeat([0, 1], 200)[:, None]
    tree, measured = spanning_tree(OfAllPairs(EuclideanPoints(X))), np.empty(399)
    pair_distances(X, tree.heads, X, tree.tails, measured)
    joining = (tree.heads < 200) & (tree.tails >= 200)
    assert joining.sum() == 1
    assert tree.lengths[joining] == measured[joining]


@pytest.mark.parametrize("points", [EuclideanPoints, OnlyDistances])
def test_threads_change_no_bit(points):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(6000, 8)) + 6 * rng.normal(size=(12, 8))[np.arange(6000) % 12]
    X, n = (X, 6000) if points is EuclideanPoints else (X[:1500], 1500)
    found = []
    for n_jobs in (1, 2, 3):
        with parallel.thread_session(n_jobs):
            found.append(connecting_edges(OfAllPairs(points(X)), np.arange(n) % 12))
            found.append(connecting_edges(OfAllPairs(points(X)), np.arange(n) // (n // 60)))
    for one, other in zip(found[:2] * 2, found[2:], strict=True):
        for ends, other_ends in zip(one, other, strict=True):
            np.testing.assert_array_equal(ends, other_ends)


def test_components_are_joined_exactly_by_an_index_that_is_not_exact(small_pieces):
    class Approximate(OfAllPairs):
        def query(self, k, queries=None):
            raise AssertionError("asked")

    X = rows("gaussian", 2)
    labels = np.arange(len(X))
    assert_same_edges(connecting_edges(Approximate(EuclideanPoints(X)), labels), spanning_edges(cdist(X, X)))


def test_few_rows_are_searched_for_beyond_their_neighbours(monkeypatch):
    counts = searched(monkeypatch)
    X = np.random.default_rng(9).normal(size=(1000, 6))
    spanning_tree(OfAllPairs(EuclideanPoints(X)))
    assert sum(counts) < 20


@pytest.mark.slow
def test_far_clusters_cost_products_of_few_rows(monkeypatch):
    compared = []

    def compare(self, columns, farthest, kept=None, plain=spanning.OutsideChunk._compare):
        compared.append((len(self.rows) if kept is None else len(kept)) * len(columns))
        plain(self, columns, farthest, kept)

    monkeypatch.setattr(spanning.OutsideChunk, "_compare", compare)
    rng = np.random.default_rng(10)
    X = rng.normal(size=(20_000, 20)) + 1e6 * np.repeat([0, 1], 10_000)[:, None]
    heads, tails, lengths = connecting_edges(OfAllPairs(EuclideanPoints(X)), np.arange(20_000) // 10_000)
    nearest = X[:10_000].sum(axis=1).argmax(), 10_000 + X[10_000:].sum(axis=1).argmin()
    assert (heads[0], tails[0]) == nearest
    assert lengths[0] == pytest.approx(np.linalg.norm(X[nearest[0]] - X[nearest[1]]), rel=1e-15)
    assert sum(compared) < 0.05 * 10_000**2


def test_progress_is_reported_in_edges():
    told = []
    with progress.use_listener(lambda *words: told.append(words)):
        spanning_tree(OfAllPairs(EuclideanPoints(rows("gaussian", 0))))
    total = len(rows("gaussian", 0)) - 1
    assert told[0] == ("Spanning tree", 0, total)
    assert told[-1] == ("Spanning tree", total, total)


def test_distances_that_overflow_are_refused():
    class Apart(OnlyDistances):
        def block(self, queries, start, stop):
            distances = super().block(queries, start, stop)
            return np.where(distances > 10, np.inf, distances)

    X = np.array([[0.0], [1.0], [100.0], [101.0]])
    with pytest.raises(
        DataError, match=r"Distances overflow: 2 parts of the rows are infinitely far from each other\. Divide"
    ):
        spanning_tree(OfAllPairs(Apart(X)))
