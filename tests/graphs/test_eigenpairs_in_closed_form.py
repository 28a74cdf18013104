"""The smallest eigenpairs against closed forms and dense solutions."""

import numpy as np
import pytest

from tamiz.graphs import Graph
from tamiz.graphs.laplacian import smallest_eigenpairs
from tamiz.runtime import parallel

KINDS = ["unnormalized", "symmetric", "random_walk"]


def path(n):
    return Graph.from_edges(np.arange(n - 1), np.arange(1, n))


def ring(n):
    return Graph.from_edges(np.arange(n), (np.arange(n) + 1) % n)


def random_graph(seed, n=300, pieces=1, alone=0):
    rng = np.random.default_rng(seed)
    S = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.1), 1)
    piece = rng.integers(0, pieces, n)
    S *= piece[:, None] == piece
    S[:, n - alone :] = 0.0
    return S + S.T


def residuals(graph, kind, found):
    S, d = graph.adjacency.toarray(), graph.degrees
    left = np.diag(d) - S
    if kind == "symmetric":
        root = np.sqrt(np.where(d > 0, d, 1.0))
        left = left / np.outer(root, root)
    B = d if kind == "random_walk" else np.ones(len(d))
    return np.linalg.norm(left @ found.vectors - B[:, None] * found.vectors * found.values, axis=0)


@pytest.mark.parametrize("n", [50, 400, 3000])
def test_a_path_has_the_eigenvalues_two_less_two_cosines(n):
    found = smallest_eigenpairs(path(n).laplacian(), 5)
    np.testing.assert_allclose(found.values, 4 * np.sin(np.pi * np.arange(5) / (2 * n)) ** 2, rtol=1e-9, atol=1e-18)
    assert found.values[0] == 0.0


@pytest.mark.parametrize("n", [50, 401, 1500])
def test_a_ring_has_its_eigenvalues_in_pairs(n):
    steps = np.array([0, 1, 1, 2, 2, 3, 3])
    for kind, factor in (("unnormalized", 4.0), ("symmetric", 2.0), ("random_walk", 2.0)):
        found = smallest_eigenpairs(ring(n).laplacian(kind), 7)
        np.testing.assert_allclose(found.values, factor * np.sin(np.pi * steps / n) ** 2, rtol=1e-9, atol=1e-18)
        assert (residuals(ring(n), kind, found) < 1e-6).all()


@pytest.mark.parametrize("pieces", [1, 3, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_zero_comes_as_often_as_there_are_components(kind, pieces):
    graph = Graph.from_sparse(random_graph(pieces, pieces=pieces, alone=pieces - 1))
    c = len(graph.components)
    found = smallest_eigenpairs(graph.laplacian(kind), c + 3)
    assert (found.values[:c] == 0.0).all()
    assert (found.values[c:] > 1e-6).all()
    assert found.n_components == c
    for number in range(c):
        assert (
            np.flatnonzero(found.vectors[:, number]).tolist()
            == np.flatnonzero(graph.components.labels == number).tolist()
        )


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [40, 300, 450])
def test_the_pairs_are_those_of_the_dense_matrix(kind, pieces, n):
    S = random_graph(n, n=n, pieces=pieces) if n > 40 else random_graph(n, n=n, pieces=1) + 0.01 * (1 - np.eye(n))
    graph = Graph.from_sparse(S)
    d = graph.degrees
    dense = np.diag(d) - S
    if kind != "unnormalized":
        dense = dense / np.sqrt(np.outer(d, d))
    found = smallest_eigenpairs(graph.laplacian(kind), 6)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(dense)[:6], rtol=1e-8, atol=1e-12)
    assert (residuals(graph, kind, found) < 1e-5).all()
    np.testing.assert_allclose(found.residuals, residuals(graph, kind, found), atol=1e-9)


def test_bits_do_not_depend_on_threads():
    graph = Graph.from_sparse(random_graph(7, n=2500))
    found = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            one = smallest_eigenpairs(graph.laplacian("random_walk"), 5)
            found.append((one.values.tobytes(), one.vectors.tobytes()))
    assert found[0] == found[1]


def test_as_many_pairs_as_rows_can_be_asked_for_and_no_more():
    found = smallest_eigenpairs(path(3).laplacian(), 3)
    np.testing.assert_allclose(found.values, [0.0, 1.0, 3.0], atol=1e-14)
    with pytest.raises(ValueError, match="n_eigenpairs must be from 1 to 3, got 4"):
        smallest_eigenpairs(path(3).laplacian(), 4)
    with pytest.raises(
        TypeError, match=r"laplacian must be a Laplacian, such as graph\.laplacian\(\), got <Graph of 3 rows"
    ):
        smallest_eigenpairs(path(3), 2)
