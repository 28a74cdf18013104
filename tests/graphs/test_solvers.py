"""The choice of an eigen-solver by the graph; all solvers find the same eigenpairs."""

import numpy as np
import pytest
from scipy import linalg, sparse

from tamiz.exceptions import TamizWarning
from tamiz.graphs import Graph, laplacian
from tamiz.graphs.laplacian import smallest_eigenpairs


def box(*sides):
    """The graph of a box of points, each joined to the next ones along every side."""
    total = None
    for axis in range(len(sides)):
        factors = [sparse.eye_array(n) for n in sides]
        n = sides[axis]
        factors[axis] = sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[1, -1])
        product = factors[0]
        for factor in factors[1:]:
            product = sparse.kron(product, factor)
        total = product if total is None else total + product
    return Graph.from_sparse(sparse.csr_array(total))


def values_of_box(m, *sides):
    total = np.zeros(1)
    for n in sides:
        total = (total[:, None] + 4 * np.sin(np.pi * np.arange(n) / (2 * n)) ** 2).ravel()
    return np.sort(total)[:m]


@pytest.mark.parametrize(
    ("sides", "words"),
    [
        ((9, 8, 2), "the whole matrix"),
        ((16, 17, 18), "Chebyshev polynomials"),
        ((5000,), "a Krylov space of the inverse"),
        ((70, 71), "Chebyshev polynomials"),
        ((1200, 5, 6), "a Krylov space of the inverse"),
    ],
)
def test_a_box_is_solved_by_what_suits_its_sides(sides, words):
    found = smallest_eigenpairs(box(*sides).laplacian(), 5)
    assert words in found.solver
    np.testing.assert_allclose(found.values, values_of_box(5, *sides), rtol=1e-9, atol=1e-18)
    assert (found.residuals <= 1e-6 * found.values + 1e-12).all()


@pytest.mark.parametrize("kind", ["unnormalized", "random_walk"])
def test_all_solvers_find_the_same_pairs(monkeypatch, kind):
    graph = box(41, 12)
    found = [smallest_eigenpairs(graph.laplacian(kind), 7)]
    for name, value in (("MAX_DENSE_ROWS", 1000), ("_FACTOR_ROW_WORK", 0.0), ("_MAX_BAND_ENTRIES", 0.0)):
        monkeypatch.setattr(laplacian, name, value)
        found.append(smallest_eigenpairs(graph.laplacian(kind), 7))
        monkeypatch.undo()
    assert len({one.solver.partition(" of ")[0] for one in found}) == 3
    for other in found[1:]:
        np.testing.assert_allclose(other.values, found[0].values, rtol=1e-9, atol=1e-16)
        np.testing.assert_allclose(other.vectors, found[0].vectors, atol=1e-4)


@pytest.mark.slow
def test_many_clusters_joined_by_single_edges_are_found_together():
    n, n_clusters = 4000, 20
    rng = np.random.default_rng(0)
    rows = rng.integers(0, n // n_clusters, (2, 12 * n))
    offset = np.repeat(np.arange(n_clusters) * (n // n_clusters), 12 * n // n_clusters)
    heads, tails = rows + offset
    bridges = np.arange(n_clusters - 1) * (n // n_clusters)
    S = sparse.coo_array((np.ones(len(heads)), (heads, tails)), shape=(n, n)).tocsr()
    S += sparse.coo_array((np.ones(n_clusters - 1), (bridges, bridges + n // n_clusters)), shape=(n, n))
    graph = Graph.from_sparse(sparse.csr_array(S), symmetrize="max")
    assert len(graph.components) == 1
    found = smallest_eigenpairs(graph.laplacian("random_walk"), 4)
    assert "Chebyshev" in found.solver
    root = 1 / np.sqrt(graph.degrees)
    dense = np.eye(n) - root[:, None] * graph.adjacency.toarray() * root
    values = linalg.eigvalsh(dense, subset_by_index=(0, 3))
    np.testing.assert_allclose(found.values, values, rtol=1e-6, atol=1e-12)


def clusters_all_but_apart(n, weight, n_clusters=5):
    """Dense clusters in a row, each joined to the next by one edge, a thousandth as heavy each time."""
    rng = np.random.default_rng(n)
    label = np.arange(n) % n_clusters
    S = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 40 / n), 1)
    S *= label[:, None] == label
    for c in range(n_clusters - 1):
        S[c, c + 1] = weight * 1e-3**c
    return S + S.T


@pytest.mark.parametrize("n", [353, 620])
@pytest.mark.parametrize("weight", [1e-3, 1e-9, 1e-18])
@pytest.mark.parametrize("kind", ["unnormalized", "random_walk"])
def test_values_that_are_zero_to_rounding_keep_no_others_from_being_found(n, weight, kind):
    S = clusters_all_but_apart(n, weight)
    graph = Graph.from_sparse(S)
    assert len(graph.components) == 1
    found = smallest_eigenpairs(graph.laplacian(kind), 9)
    d = S.sum(axis=1)
    root = np.sqrt(d) if kind == "random_walk" else np.ones(n)
    dense = np.linalg.eigvalsh((np.diag(d) - S) / np.outer(root, root))[:9]
    np.testing.assert_allclose(found.values, dense, rtol=1e-6, atol=1e-12)
    # A number that all others would drown in keeps its digits: it comes from sums of positive ones.
    assert (found.values[1:] > -1e-13).all()


def test_a_tolerance_of_nothing_is_what_rounding_leaves():
    found = smallest_eigenpairs(box(30, 31).laplacian(), 4, tol=0.0)
    np.testing.assert_allclose(found.values, values_of_box(4, 30, 31), rtol=1e-12, atol=1e-15)
    assert (found.residuals < 2e-12).all()


def test_pairs_over_tolerance_are_reported_with_their_residual(monkeypatch):
    monkeypatch.setattr(laplacian, "_STALL_ROUNDS", 1)
    monkeypatch.setattr(laplacian, "_MIN_DIGIT_GAIN", np.inf)
    monkeypatch.setattr(laplacian, "_STALL_VALUE_RATIO", 0.0)
    with pytest.warns(TamizWarning, match=r"An eigenvector of the Laplacian.* has the residual .* above tol = 1e-06"):
        found = smallest_eigenpairs(box(70, 71).laplacian(), 5)
    assert (found.residuals > 1e-6 * found.values).any()
