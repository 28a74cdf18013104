"""The smallest eigenpairs of sparse semidefinite matrices, and the factorisation that they need."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

from tamiz.exceptions import ConvergenceWarning
from tamiz.graphs import KNearest, shift_invert
from tamiz.graphs.shift_invert import bandwidth, factorize, smallest_semidefinite_eigenpairs


def grid_laplacian(width, height):
    """Return the Laplacian of a grid, whose eigenvalues are sums of those of two paths."""
    paths = [sparse.diags_array([np.ones(m - 1)] * 2, offsets=[-1, 1]) for m in (width, height)]
    grid = sparse.kron(paths[0], sparse.eye_array(height)) + sparse.kron(sparse.eye_array(width), paths[1])
    return sparse.csr_array(csgraph.laplacian(grid.tocsr()))


def grid_eigenvalues(width, height):
    one, other = (2 - 2 * np.cos(np.pi * np.arange(m) / m) for m in (width, height))
    return np.sort(np.add.outer(one, other).ravel())


def random_matrices():
    rng = np.random.default_rng(0)
    yield "one row", sparse.csr_array([[2.0]])
    yield "diagonal", sparse.csr_array(sparse.diags_array(rng.uniform(1, 2, 30)))
    yield "dense", sparse.csr_array(np.eye(40) + (lambda A: A @ A.T)(rng.normal(size=(40, 40))))
    arrow = np.eye(60) * 60
    arrow[0, 1:] = arrow[1:, 0] = 1.0
    yield "arrow", sparse.csr_array(arrow)
    for n, share in ((50, 0.02), (200, 0.01), (300, 0.05)):
        A = sparse.random_array((n, n), density=share, random_state=rng)
        yield f"{n} rows", sparse.csr_array(A @ A.T + sparse.eye_array(n))
    yield "grid", sparse.csr_array(grid_laplacian(31, 17) + 0.1 * sparse.eye_array(31 * 17))
    X = rng.normal(size=(400, 3))
    W = KNearest(8).build(X).adjacency
    yield "squared", sparse.csr_array(W.T @ W + sparse.eye_array(400))


@pytest.mark.parametrize("matrix", [pytest.param(matrix, id=name) for name, matrix in random_matrices()])
@pytest.mark.parametrize("sparse_factor", [False, True])
def test_the_factor_solves_the_equations(matrix, sparse_factor):
    n = matrix.shape[0]
    solve = factorize(matrix, 0 if sparse_factor else n)
    B = np.random.default_rng(1).normal(size=(n, 6))
    expected = np.linalg.solve(matrix.toarray(), B)
    np.testing.assert_allclose(solve(B), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_the_band_of_a_grid_is_as_wide_as_its_shorter_side():
    assert bandwidth(grid_laplacian(60, 7)) <= 8
    assert bandwidth(sparse.csr_array(np.ones((9, 9)))) == 8


@pytest.mark.parametrize("sparse_factor", [False, True])
def test_a_matrix_that_is_not_positive_definite_has_no_factor(sparse_factor):
    path, one = grid_laplacian(20, 1), sparse.eye_array(20)
    width = 1 if sparse_factor else 20
    assert factorize(sparse.csr_array(path - 1e-3 * one), width) is None
    assert factorize(sparse.csr_array(path + 1e-9 * one), width) is not None
    assert factorize(sparse.csr_array(0.0 * path), width) is None
    with pytest.raises(ValueError, match="not positive semidefinite"):
        smallest_semidefinite_eigenpairs(sparse.csr_array(-grid_laplacian(20, 20)), 2)


@pytest.mark.parametrize("shape", [(12, 5), (40, 25), (70, 7)], ids=["dense solver", "inverse", "long grid"])
@pytest.mark.parametrize("m", [1, 3, 7])
def test_the_pairs_of_a_grid_are_known(shape, m):
    L = grid_laplacian(*shape)
    expected = grid_eigenvalues(*shape)
    found = smallest_semidefinite_eigenpairs(L, m)
    np.testing.assert_allclose(found.values, expected[1 : m + 1], rtol=1e-9)
    # Of equal eigenvalues at the end, the next value may be the following one.
    assert found.next_value == pytest.approx(expected[m + 1], rel=1e-2)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(m), atol=1e-12)
    np.testing.assert_allclose(found.vectors.sum(axis=0), 0, atol=1e-11)
    rest = np.linalg.norm(L @ found.vectors - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(rest, found.residuals, atol=1e-14)
    assert (found.residuals < 1e-8 * found.values).all()


def test_eigenvalues_near_rounding_are_found_to_their_digits():
    # Squares of a Laplacian: the smallest eigenvalue is 1e-10 of the largest.
    L = grid_laplacian(500, 2)
    squared = sparse.csr_array(L @ L)
    found = smallest_semidefinite_eigenpairs(squared, 2)
    expected = grid_eigenvalues(500, 2)[1:4] ** 2
    np.testing.assert_allclose(found.values, expected[:2], rtol=1e-4)
    assert found.determined
    assert (found.residuals < found.rounding).all()


def test_more_null_vectors_than_the_constant_are_reported_as_not_determined():
    two = sparse.csr_array(sparse.block_diag([grid_laplacian(20, 20)] * 3))
    assert not smallest_semidefinite_eigenpairs(two, 1).determined
    found = smallest_semidefinite_eigenpairs(two, 2)
    assert found.determined
    assert (found.values < 1e-14).all()


@pytest.mark.parametrize("n", [2, 3, 5])
def test_all_pairs_of_few_rows(n):
    found = smallest_semidefinite_eigenpairs(grid_laplacian(n, 1), n - 1)
    np.testing.assert_allclose(found.values, grid_eigenvalues(n, 1)[1:], atol=1e-14)
    assert found.next_value == np.inf


def test_a_search_that_ends_too_early_warns(monkeypatch):
    monkeypatch.setattr(shift_invert, "_MAX_ROUNDS", 2)
    with pytest.warns(ConvergenceWarning, match="has not converged, and the map is approximate"):
        smallest_semidefinite_eigenpairs(grid_laplacian(60, 50), 7)
