"""The unique choice of signs, and of a basis for equal eigenvalues."""

import numpy as np
import pytest

from tamiz.arrays import eigenvector_signs
from tamiz.graphs import Graph
from tamiz.graphs.laplacian import canonical_rotation, multiplets, smallest_eigenpairs


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_basis_depends_on_its_space_alone(k):
    rng = np.random.default_rng(k)
    X = np.linalg.qr(rng.normal(size=(40, k)))[0]
    rotation = np.linalg.qr(rng.normal(size=(k, k)))[0]
    one, other = X @ canonical_rotation(X), X @ rotation @ canonical_rotation(X @ rotation)
    np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(one.T @ one, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(one @ one.T, X @ X.T, atol=1e-12)


def test_the_first_vector_is_what_a_unit_vector_leaves_in_the_space():
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 2)))[0]
    lengths = np.linalg.norm(X, axis=1)
    first = np.argmax(lengths >= 0.7 * lengths.max())
    np.testing.assert_allclose((X @ canonical_rotation(X))[:, 0], X @ X[first] / lengths[first], atol=1e-13)


def test_values_within_their_tie_are_one_multiplet():
    values = np.array([1.0, 1.0 + 1e-12, 2.0, 2.0, 2.0, 3.0])
    assert [(s.start, s.stop) for s in multiplets(values, np.full(6, 1e-10))] == [(0, 2), (2, 5), (5, 6)]
    assert [(s.start, s.stop) for s in multiplets(values[:2], np.full(2, 1e-14))] == [(0, 1), (1, 2)]


def test_the_largest_entry_is_positive_and_of_equal_ones_the_first():
    X = np.array([[0.5, -0.5], [-1.0, 0.5], [0.9, -0.1]])
    np.testing.assert_array_equal(eigenvector_signs(X), [-1.0, -1.0])
    np.testing.assert_array_equal(eigenvector_signs(-X), [1.0, 1.0])


@pytest.mark.parametrize("n", [120, 1000])
def test_pairs_of_a_ring_are_a_cosine_about_the_first_row_and_the_sine_beside_it(n):
    steps = np.arange(n)
    ring = Graph.from_edges(steps, (steps + 1) % n)
    found = smallest_eigenpairs(ring.laplacian(), 5)
    for at in (1, 3):
        wave = 2 * np.pi * steps * ((at + 1) // 2) / n
        np.testing.assert_allclose(found.vectors[:, at], np.cos(wave) * np.sqrt(2 / n), atol=1e-5)
        np.testing.assert_allclose(np.abs(found.vectors[:, at + 1]), np.abs(np.sin(wave)) * np.sqrt(2 / n), atol=1e-5)
