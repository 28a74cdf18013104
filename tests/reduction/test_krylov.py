"""Leading eigenpairs and spectral moments from random directions, on matrices with a known spectrum."""

import numpy as np
import pytest

from tamiz.reduction.krylov import Subspace, leading_eigenpairs, orthonormalize, random_orthonormal
from tamiz.runtime import validation


def operator(values, seed=0):
    vectors = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    return (vectors * values) @ vectors.T


@pytest.mark.parametrize(
    "values",
    [
        np.linspace(1, -1, 300),
        # So near each other that the basis is taken together again many times.
        np.concatenate([1 + np.arange(5) * 1e-4, np.linspace(0.99, 0, 395)]),
        np.concatenate([[5.0, 3.0], np.zeros(98)]),
        np.concatenate([[2.0] * 6, np.linspace(1, 0, 60)]),
    ],
)
def test_leading_pairs_are_those_of_the_matrix(values):
    A = operator(values)
    found = leading_eigenpairs(lambda X: X @ A, len(A), 3)
    np.testing.assert_allclose(found.values, np.sort(values)[:-4:-1], atol=1e-9)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, np.eye(3), atol=1e-12)
    left = np.linalg.norm(found.vectors @ A - found.values[:, None] * found.vectors, axis=1)
    np.testing.assert_allclose(found.residuals, left, atol=1e-12)
    assert (left <= 1.01e-6 * np.abs(values).max()).all()


def test_residuals_may_be_measured_beside_their_own_values():
    A = operator(np.concatenate([[1e-3, 1e-4], np.linspace(0, -1, 198)]))
    found = leading_eigenpairs(lambda X: X @ A, 200, 1, tol=1e-5, floor=1e-12)
    assert found.residuals[0] <= 1e-8
    assert found.values[0] == pytest.approx(1e-3, rel=1e-9)


@pytest.mark.slow
def test_random_directions_estimate_the_moments_of_the_spectrum():
    values = np.linspace(2, -1, 400)
    A = operator(values)
    found = leading_eigenpairs(lambda X: X @ A, 400, 1)
    quadrature = found.quadratures[-1]
    np.testing.assert_allclose(quadrature.weights.sum(axis=1), 1.0, rtol=1e-12)
    first = random_orthonormal(400, 8)
    moment = np.eye(400)
    for degree in range(6):
        seen = quadrature.weights @ quadrature.nodes**degree
        np.testing.assert_allclose(seen, np.einsum("ij,jk,ik->i", first, moment, first), rtol=1e-9, atol=1e-12)
        moment = moment @ A


def test_a_compressed_subspace_contains_its_products_with_the_operator():
    rng = np.random.default_rng(0)
    A, B = operator(rng.normal(size=50)), operator(rng.normal(size=50), seed=1)
    space = Subspace(50, 24, lambda X: X @ A, lambda X: X @ B)
    space.add(orthonormalize(rng.normal(size=(8, 50))))
    space.add(space.orthogonal_part(rng.normal(size=(8, 50))))
    space.restrict_to(np.linalg.qr(rng.normal(size=(16, 5)))[0])
    space.add(space.orthogonal_part(rng.normal(size=(4, 50))))
    np.testing.assert_allclose(space.basis @ space.basis.T, np.eye(9), atol=1e-12)
    for at, matrix in enumerate((A, B)):
        np.testing.assert_allclose(space.images_of(at), space.basis @ matrix, atol=1e-12)
        np.testing.assert_allclose(space.projected(at), space.basis @ matrix @ space.basis.T, atol=1e-12)
    assert len(space.orthogonal_part(space.basis[:3] * 2.0)) == 0


def test_no_more_vectors_are_kept_than_there_are_dimensions(monkeypatch):
    # Twelve blocks of 64 vectors, and one more, would be 832.
    n, k = 200, 60
    A = operator(np.linspace(1, 0, n))
    kept = n + 64
    monkeypatch.setattr(validation, "free_memory", lambda: 8.0 * kept * (2 * n + kept))
    found = leading_eigenpairs(lambda X: X @ A, n, k)
    np.testing.assert_allclose(found.values, np.linspace(1, 0, n)[:k], atol=1e-9)
    monkeypatch.setattr(validation, "free_memory", lambda: 8.0 * kept * (2 * n + kept) - 1)
    sentence = r"^A search by 264 vectors of 200 numbers needs 1\.4 MB of memory and 1\.4 MB are free\. Ask for fewer components"
    with pytest.raises(MemoryError, match=sentence):
        leading_eigenpairs(lambda X: X @ A, n, k)


@pytest.mark.parametrize("share", [None, 1e-12])
@pytest.mark.slow
def test_a_search_ends_where_only_the_rounding_of_its_products_is_left(share):
    A = operator(np.concatenate([[3.0, 2.0, 1.5], np.linspace(1, -1, 597)]))
    n_products = 0

    def product(X):
        nonlocal n_products
        n_products += 1
        return (X.astype(np.float32) @ A.astype(np.float32)).astype(np.float64)

    found = leading_eigenpairs(product, len(A), 3, tol=1e-12, floor=1.0 if share is None else share)
    assert n_products < 45
    assert found.residuals.max() < 2e-6
    np.testing.assert_allclose(found.values, [3.0, 2.0, 1.5], atol=1e-6)


def test_a_search_that_is_slow_and_exact_goes_on():
    # Again and again eight products take less than half of the residual, so near do the largest values lie to each other.
    values = np.concatenate([1 + np.arange(12) * 1e-5, np.linspace(0.999, 0, 588)])
    n_products = 0

    def product(X):
        nonlocal n_products
        n_products += 1
        return X * values

    found = leading_eigenpairs(product, len(values), 3, tol=1e-10)
    assert 100 < n_products < 200
    assert (found.residuals <= 1e-10 * values.max()).all()
    np.testing.assert_allclose(found.values, values[[11, 10, 9]], rtol=1e-12)
