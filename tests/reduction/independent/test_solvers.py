"""The solvers of independent component analysis, and the moments of white rows."""

import numpy as np
import pytest

from tamiz.reduction.ica import SOLVERS, WhiteRows, picard, random_rotation, solve
from tamiz.runtime import parallel

from ...reference import ica as reference

RNG = np.random.default_rng(0)


def white(n, k, n_uniform=0, rng=RNG):
    """Return mixed sources, Laplacian and uniform, as white rows, and the rows as an array."""
    sources = np.column_stack([rng.laplace(size=(n, k - n_uniform)), rng.uniform(-1, 1, size=(n, n_uniform))])
    mixed = sources @ rng.normal(size=(k, k))
    rows, transformation = WhiteRows.from_points(mixed - mixed.mean(axis=0))
    return rows, (mixed - mixed.mean(axis=0)) @ transformation


def test_white_rows_have_unit_covariance():
    rows, points = white(3000, 7)
    assert (rows.n_rows, rows.n_components) == points.shape
    np.testing.assert_allclose(points.T @ points / 3000, np.eye(7), atol=1e-9)


def test_moments_are_those_of_the_reference():
    rows, points = white(700, 5, 2)
    rotation = random_rotation(5, RNG)
    found, sources = rows.moments(rotation), points @ rotation.T
    for one, wanted in zip((found.log_cosh, found.slope, found.products), reference.moments(sources), strict=True):
        np.testing.assert_allclose(one, wanted, atol=1e-12)
    assert found.log_likelihood == pytest.approx(reference.log_likelihood(sources), abs=1e-11)
    assert np.abs(found.gradient(found.signs)).max() == pytest.approx(reference.gradient_norm(sources), abs=1e-12)


def test_the_gradient_is_the_derivative_of_the_loss_along_rotations():
    rows, _ = white(500, 4, 2)
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    direction = np.triu(RNG.normal(size=(4, 4)), 1)
    direction -= direction.T

    def loss(step):
        turned = np.linalg.solve(np.eye(4) - step * direction / 2, np.eye(4) + step * direction / 2)
        return rows.moments(turned).loss(signs)

    wanted = (loss(1e-5) - loss(-1e-5)) / 2e-5
    assert np.vdot(rows.moments(np.eye(4)).gradient(signs), direction) == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_end_at_a_stationary_rotation(solver):
    rows, points = white(2000, 8, 3)
    found = solve(rows, random_rotation(8, RNG), solver, 1e-9, 300)
    assert found.converged
    assert found.gradient_norm <= 1e-9
    assert reference.gradient_norm(points @ found.rotation.T) == pytest.approx(found.gradient_norm, abs=1e-12)
    np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(8), atol=1e-12)
    assert found.moments.signs.sum() == 5 - 3


def test_both_solvers_find_the_same_components():
    rows, _ = white(3000, 6, 3)
    one, two = (solve(rows, random_rotation(6, RNG), solver, 1e-10, 500).rotation for solver in SOLVERS)
    np.testing.assert_allclose(np.sort(np.abs(one @ two.T).max(axis=0)), 1.0, atol=1e-12)


def test_max_iter_ends_the_iterations():
    rows, _ = white(500, 8)
    for solver in SOLVERS.values():
        found = solver(rows, random_rotation(8, RNG), 1e-12, 3)
        assert (found.n_iter, found.converged) == (3, False)


def test_a_tolerance_below_rounding_ends_without_convergence():
    rows, _ = white(500, 4)
    found = picard(rows, random_rotation(4, RNG), 1e-300, 10_000)
    assert not found.converged
    assert found.n_iter < 1000
    assert found.gradient_norm < 1e-9


def test_a_sample_is_every_so_many_rows():
    rows, points = white(4000, 3)
    some = rows.sample(5)
    assert some.n_rows == 800
    np.testing.assert_allclose(some.moments(np.eye(3)).products, reference.moments(points[::5])[2], atol=1e-12)


def test_moments_in_float32_are_exact_to_its_rounding():
    rows, points = white(5000, 6, 2)
    single, rotation = rows.to_single(), random_rotation(6, RNG)
    assert (single.is_single, rows.is_single) == (True, False)
    found, sources = single.moments(rotation), points @ rotation.T
    for one, wanted in zip((found.log_cosh, found.slope, found.products), reference.moments(sources), strict=True):
        np.testing.assert_allclose(one, wanted, atol=1e-6)


@pytest.mark.slow
def test_many_values_are_solved_in_float32_first_and_the_result_is_that_of_float64(monkeypatch):
    kinds = []
    moments = WhiteRows.moments
    monkeypatch.setattr(WhiteRows, "moments", lambda self, W: kinds.append(self.is_single) or moments(self, W))
    rows, points = white(7000, 20, 10)
    found = solve(rows, random_rotation(20, RNG), "picard", 1e-6, 100)
    assert found.converged
    assert kinds.count(False) <= 2
    assert reference.gradient_norm(points @ found.rotation.T) == pytest.approx(found.gradient_norm, abs=1e-12)
    for tol in (1e-7, 1e-11):
        exact = solve(rows, random_rotation(20, RNG), "picard", tol, 100)
        assert exact.converged
        assert exact.gradient_norm <= tol
        assert exact.moments.log_likelihood == pytest.approx(found.moments.log_likelihood, abs=1e-9)
    short = solve(rows, random_rotation(20, RNG), "fastica", 1e-9, 2)
    assert (short.n_iter, short.converged) == (2, False)


def test_many_rows_are_solved_on_samples_first(monkeypatch):
    sizes = []
    moments = WhiteRows.moments
    monkeypatch.setattr(WhiteRows, "moments", lambda self, W: sizes.append(self.n_rows) or moments(self, W))
    rows, _ = white(20_000, 4)
    found = solve(rows, random_rotation(4, RNG), "picard", 1e-6, 100)
    assert found.converged
    assert sizes[0] == pytest.approx(1000, rel=0.1)
    assert sizes.count(20_000) <= 12


def test_blocks_are_summed_in_one_order_for_any_number_of_threads():
    rows, _ = white(30_000, 10)
    rotation, found = random_rotation(10, RNG), []
    for n_jobs in (1, 2, 3):
        with parallel.thread_session(n_jobs):
            found.append(rows.moments(rotation).products.tobytes())
    assert len(set(found)) == 1
