"""Shortest paths: against the algorithm of Floyd and Warshall and against scipy, components, directed edges, threads."""

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra
from tests.reference import isomap as plain

from tamiz.exceptions import DataError
from tamiz.graphs import Graph, KNearest, Radius
from tamiz.graphs.shortest_paths import Output, ShortestPaths
from tamiz.runtime import parallel


def random_graph(seed, n=70, n_edges=150):
    """A graph with edges of length 0, equal lengths, loops, several components and rows without edges."""
    rng = np.random.default_rng(seed)
    pairs = np.unique(np.sort(rng.integers(n, size=(n_edges, 2)), axis=1), axis=0)
    lengths = rng.integers(0, 6, size=len(pairs)) / 4
    lengths[pairs[:, 0] == pairs[:, 1]] = 0
    return Graph.from_edges(*pairs.T, lengths=lengths, n_samples=n)


@pytest.mark.parametrize("seed", range(6))
def test_distances_are_those_of_floyd_and_warshall(seed):
    graph = random_graph(seed, n_edges=40 + 40 * seed)
    wanted = plain.geodesics(plain.length_matrix(graph))
    assert np.isinf(wanted).any() == (seed < 3)
    np.testing.assert_array_equal(ShortestPaths(graph).distances(np.arange(70)), wanted)
    some = np.array([3, 60, 3, 0, 69])
    np.testing.assert_array_equal(ShortestPaths(graph).distances(some), wanted[some])


def test_distances_are_those_of_scipy_to_the_bit():
    graph = KNearest(6).build(np.random.default_rng(0).normal(size=(500, 3)))
    wanted = dijkstra(graph.edges.length_matrix())
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            np.testing.assert_array_equal(ShortestPaths(graph).distances(np.arange(500)), wanted)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_directed_edge_is_passed_in_both_directions():
    X = np.random.default_rng(1).normal(size=(80, 2))
    everything = np.arange(80)
    directed, undirected = (
        ShortestPaths(KNearest(4, symmetry=symmetry).build(X)).distances(everything) for symmetry in ("directed", "or")
    )
    np.testing.assert_array_equal(directed, undirected)


def test_a_path_and_a_ring_have_the_distances_that_are_known():
    path = Graph.from_edges([0, 1, 2], [1, 2, 3], lengths=[1.0, 2.0, 4.0])
    np.testing.assert_array_equal(ShortestPaths(path).distances(np.array([1])), [[1, 0, 2, 6]])
    around = np.arange(9)
    ring = Graph.from_edges(around, (around + 1) % 9, lengths=np.full(9, 0.5))
    steps = np.abs(around - around[:, None])
    np.testing.assert_array_equal(ShortestPaths(ring).distances(around), np.minimum(steps, 9 - steps) / 2)


def test_outputs_of_some_rows_are_divided_by_their_unit():
    graph = Radius(3.0).build(np.arange(12.0)[:, None])
    paths = ShortestPaths(graph)
    assert paths.longest_edge == 3.0
    sources = paths.sort(np.array([11, 0, 5]))
    rows, single, double = np.array([2, 7]), np.empty((2, 3), dtype=np.float32), np.empty((3, 3))
    paths.fill(sources, Output(rows, single, 4.0), Output(sources, double))
    np.testing.assert_array_equal(single, np.abs(rows[:, None] - sources) / 4)
    np.testing.assert_array_equal(double, np.abs(sources[:, None] - sources))


def test_edges_without_lengths_are_refused():
    with pytest.raises(DataError, match="edges have no lengths"):
        ShortestPaths(Graph.from_edges([0, 1], [1, 2]))
