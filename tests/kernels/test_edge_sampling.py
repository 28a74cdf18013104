"""The epochs of UMAP's layout: expected forces, sampled edges, powers."""

import numpy as np
import pytest
from scipy import sparse

from tamiz.kernels.edge_sampling import LANES, Epoch, move_rows, power
from tamiz.reduction.umap import EdgeSampling

from ..reference import umap as reference

RNG = np.random.default_rng(0)


def test_a_power_is_that_of_numpy():
    for low, limit in ((-3, 1.5e-6), (-12, 1e-5)):
        x = (10 ** RNG.uniform(low, 3, 2000)).astype(np.float32)
        for exponent in (0.3, 0.895, 1.0, 2.0):
            found = np.array([power(value, exponent) for value in x], dtype=np.float64)
            np.testing.assert_allclose(found, x.astype(np.float64) ** np.float64(np.float32(exponent)), rtol=limit)


def moves(points, adjacency, settings, epochs):
    """Return the moves of all rows in each of the epochs, every time from the same points."""
    n = len(points)
    lines = np.ascontiguousarray(points[np.arange(n + LANES) % n].T, dtype=np.float32)
    rows, indices = np.nonzero(adjacency)
    indptr = np.searchsorted(rows, np.arange(n + 1)).astype(np.int64)
    edges = indptr, indices.astype(np.int32), adjacency[rows, indices].astype(np.float32)
    out, found = np.empty_like(lines), []
    for number in epochs:
        move_rows(lines, lines, lines, *edges, settings._replace(number=number), 0, n, out)
        found.append(out[:, :n].T - lines[:, :n].T)
    return np.array(found)


@pytest.mark.parametrize("n_components", [1, 2, 3, 5])
def test_the_mean_move_is_the_force_of_the_definition(n_components):
    n, n_epochs, rate = 40, 8000, 1e-3
    rng = np.random.default_rng(n_components)
    points = rng.normal(size=(n, n_components))
    # No two points are so near each other that a step would be clipped.
    points[:, 0] = rng.permutation(0.8 * np.arange(n)) + rng.uniform(0, 0.1, n)
    rates = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.1), 1)
    rates += rates.T
    found = moves(points, rates, Epoch(1.3, 0.85, 0.7, rate, 0, 4, 11, 1), range(n_epochs)) / rate
    wanted = reference.expected_forces(rates, points, 1.3, 0.85, 4, strength=0.7)
    errors = np.abs(found.mean(axis=0) - wanted)
    # Five standard errors, and the change of the forces as rows move within an epoch.
    assert (errors < 5 * found.std(axis=0) / np.sqrt(n_epochs) + 0.01 * np.abs(wanted).max()).all()
    assert np.sqrt((errors**2).sum() / (wanted**2).sum()) < 0.02


def test_an_edge_is_sampled_in_proportion_to_its_rate():
    n = 70
    # Each row has an edge to the next one alone.
    rates = np.zeros((n, n))
    rates[np.arange(n), (np.arange(n) + 1) % n] = np.linspace(0.001, 1, n)
    points = np.column_stack([np.arange(n), np.zeros(n)])
    found = moves(points, rates, Epoch(1.5, 0.9, 0.0, 0.1, 0, 5, 3, 1), range(300))
    n_sampled = (found[:, :, 0] != 0).sum(axis=0)
    assert np.abs(n_sampled - 300 * rates.sum(axis=1)).max() <= 1
    # Rows of a low rate do not all wait until the others have moved.
    moved = found[0, :, 0] != 0
    assert rates.sum(axis=1)[moved].min() < rates.sum(axis=1)[~moved].max()


def test_a_descent_runs_the_epochs_one_after_the_other():
    n, settings = 50, Epoch(1.5, 0.9, 1.0, 0.3, 7, 5, 3, 1)
    # A ring, in which every row has as many draws.
    memberships = np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1)
    points = RNG.normal(size=(n, 2)).astype(np.float32)
    descent = EdgeSampling(sparse.csr_array(memberships), points, settings)
    descent.run(np.array([0.3, 0.2, 0.1]))
    for number, rate in ((7, 0.3), (8, 0.2), (9, 0.1)):
        points = points + moves(points, memberships, settings._replace(rate=rate), [number])[0]
    np.testing.assert_allclose(descent.points, points, atol=1e-5)
    # The judgement of the convergence leaves no trace.
    found = descent.points
    assert 0 < descent.further_decrease(0.0) < 1
    np.testing.assert_array_equal(descent.points, found)
    assert descent.n_steps == 3
    assert descent.history == [(3, descent.cost())]
