"""Gradient descent of the Kullback-Leibler divergence of t-SNE."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from tamiz.kernels.neighbor_embedding import attract, attract_in_plane, descend, edge_cost
from tamiz.reduction.layouts.repulsion import build_accurate_field, build_field
from tamiz.runtime import parallel, progress
from tamiz.statistics.base import Floats

# Rows of one task, iterations between two evaluations of the divergence, and the longest step.
_ROWS_PER_TASK, CHECK_INTERVAL, _MAX_STEP = 2048, 50, 5.0
_MOMENTUM = 0.8

Callback = Callable[[int, float, Floats], object]


class DivergenceDescent:
    """Descent from initial points.

    Parameters
    ----------
    affinities : csr_array of shape (n, n)
        Symmetric, with the sum 1, in float32.
    points : ndarray of shape (n, m)
        The initial points.
    method : str or None
        The repulsion; None chooses again before each check.

    Attributes
    ----------
    points : ndarray of shape (n, m)
    n_iter : int
        Iterations done.
    history : list of (int, float)
        Iterations done, and the divergence without exaggeration, at each check.
    """

    def __init__(self, affinities: sparse.csr_array, points: Floats, method: str | None = None) -> None:
        self._indptr = affinities.indptr.astype(np.int64)
        self._indices = affinities.indices.astype(np.int32, copy=False)
        self._affinities = affinities.data
        self._method = method
        self._spans = parallel.block_ranges(len(points), _ROWS_PER_TASK)
        self.points = np.ascontiguousarray(points, dtype=np.float64).copy()
        self._velocity, self._gains = np.zeros_like(self.points), np.ones_like(self.points)
        self.n_iter = 0
        self.history: list[tuple[int, float]] = []
        self._exaggeration, self._n_constant = np.nan, 0

    def run(self, exaggerations: Floats, learning_rate: float | None, callback: Callback | None = None) -> None:
        """Run an iteration for each exaggeration, or fewer if the callback returns a true value.

        Without a learning rate it is n divided by the exaggeration.
        """
        n, n_iter = len(self.points), len(exaggerations)
        for done, exaggeration in enumerate(
            progress.track_progress("Iterations", exaggerations.tolist(), n_iter), start=1
        ):
            self._step(exaggeration, learning_rate or n / exaggeration)
            if done % CHECK_INTERVAL == 0 or done == n_iter:
                value = self.divergence()
                self.history.append((self.n_iter, value))
                if callback is not None and callback(self.n_iter, value, self.points.copy()):
                    return

    def n_iterations_at(self, exaggeration: float) -> int:
        """Return the number of iterations at the end that had an exaggeration."""
        return self._n_constant if self._exaggeration == exaggeration else 0

    def clipped_share(self) -> float:
        """Return the share of the rows whose last step had the largest length: above 0 if the learning rate is too large."""
        return float((np.linalg.norm(self._velocity, axis=1) > 0.999 * _MAX_STEP).mean())

    def _step(self, exaggeration: float, learning_rate: float) -> None:
        repulsion, normalizer = self.repulsion()
        attraction = self.attraction()
        # The gradient is 4 times the difference of the forces.
        settings = np.array([4.0 * exaggeration, 4.0 / normalizer, learning_rate, _MOMENTUM, _MAX_STEP])
        self._for_all_rows(
            lambda span: descend(attraction, repulsion, settings, *span, self._velocity, self._gains, self.points)
        )
        self.points -= self.points.mean(axis=0)
        self.n_iter += 1
        self._n_constant = self._n_constant + 1 if exaggeration == self._exaggeration else 1
        self._exaggeration = exaggeration

    def attraction(self) -> Floats:
        """Return sum_j p_ij w_ij (y_i - y_j) for every row."""
        kernel = attract_in_plane if self.points.shape[1] == 2 else attract
        out = np.empty_like(self.points)
        self._for_all_rows(lambda span: kernel(self._indptr, self._indices, self._affinities, self.points, *span, out))
        return out

    def repulsion(self) -> tuple[Floats, float]:
        """Return sum_j w_ij^2 (y_i - y_j) for every row, and the normaliser Z."""
        forces, potential = build_field(self.points, self._method).evaluate(self.points)
        return forces, _normalizer(potential)

    def divergence(self) -> float:
        """Return the Kullback-Leibler divergence of the layout, without exaggeration."""
        costs = parallel.map_blocks(
            lambda span: edge_cost(self._indptr, self._indices, self._affinities, self.points, *span), self._spans
        )
        _, potential = build_accurate_field(self.points).evaluate(self.points)
        # Rounding in float32 can lead to a value below 0.
        return max(0.0, float(sum(costs)) + float(np.log(_normalizer(potential))))

    def _for_all_rows(self, work: Callable[[tuple[int, int]], None]) -> None:
        for _ in parallel.map_blocks(work, self._spans):
            pass


def _normalizer(potential: Floats) -> float:
    """Return the sum of w_ij over the pairs of different rows."""
    return max(float(potential.sum()) - len(potential), float(np.finfo(float).tiny))
