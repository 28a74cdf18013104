"""Gradient descent of the Kullback-Leibler divergence of t-SNE."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tamiz.arrays import Floats
from tamiz.kernels.neighbor_embedding import attract, attract_in_plane, descend, edge_cost
from tamiz.reduction.layouts.descent import Descent
from tamiz.reduction.layouts.repulsion import build_accurate_field, build_field
from tamiz.runtime import parallel

# Rows of one task, and the longest step.
_ROWS_PER_TASK, _MAX_STEP = 2048, 5.0
_MOMENTUM = 0.8


class DivergenceDescent(Descent):
    """Descent of the Kullback-Leibler divergence from initial points; the setting of a step is its exaggeration.

    Parameters
    ----------
    affinities : csr_array of shape (n, n)
        Symmetric, with the sum 1, in float32.
    points : ndarray of shape (n, m)
        The initial points.
    learning_rate : float or None
        None is n divided by the exaggeration of the step.
    method : str or None
        The repulsion; None chooses again before each check.
    """

    steps_name = "Iterations"

    def __init__(
        self,
        affinities: sparse.csr_array,
        points: Floats,
        learning_rate: float | None = None,
        method: str | None = None,
    ) -> None:
        super().__init__()
        self._indptr = affinities.indptr.astype(np.int64)
        self._indices = affinities.indices.astype(np.int32, copy=False)
        self._affinities = affinities.data
        self._learning_rate = learning_rate
        self._method = method
        self._spans = parallel.block_ranges(len(points), _ROWS_PER_TASK)
        self._points = np.ascontiguousarray(points, dtype=np.float64).copy()
        self._velocity, self._gains = np.zeros_like(self._points), np.ones_like(self._points)
        self._exaggeration, self._n_constant = np.nan, 0

    @property
    def points(self) -> Floats:
        return self._points.copy()

    def n_iterations_at(self, exaggeration: float) -> int:
        return self._n_constant if self._exaggeration == exaggeration else 0

    def clipped_share(self) -> float:
        """Return the share of the rows whose last step had the largest length: above 0 if the learning rate is too large."""
        return float((np.linalg.norm(self._velocity, axis=1) > 0.999 * _MAX_STEP).mean())

    def _step(self, exaggeration: float) -> None:
        learning_rate = self._learning_rate or len(self._points) / exaggeration
        repulsion, normalizer = self.repulsion()
        attraction = self.attraction()
        # The gradient is 4 times the difference of the forces.
        settings = np.array([4.0 * exaggeration, 4.0 / normalizer, learning_rate, _MOMENTUM, _MAX_STEP])
        parallel.run_blocks(
            lambda span: descend(attraction, repulsion, settings, *span, self._velocity, self._gains, self._points),
            self._spans,
        )
        self._points -= self._points.mean(axis=0)
        self._n_constant = self._n_constant + 1 if exaggeration == self._exaggeration else 1
        self._exaggeration = exaggeration

    def attraction(self) -> Floats:
        """Return sum_j p_ij w_ij (y_i - y_j) for every row."""
        kernel = attract_in_plane if self._points.shape[1] == 2 else attract
        out = np.empty_like(self._points)
        parallel.run_blocks(
            lambda span: kernel(self._indptr, self._indices, self._affinities, self._points, *span, out), self._spans
        )
        return out

    def repulsion(self) -> tuple[Floats, float]:
        """Return sum_j w_ij^2 (y_i - y_j) for every row, and the normaliser Z."""
        forces, potential = build_field(self._points, self._method).evaluate(self._points)
        return forces, _normalizer(potential)

    def cost(self) -> float:
        """Return the Kullback-Leibler divergence of the layout, without exaggeration."""
        costs = parallel.map_blocks(
            lambda span: edge_cost(self._indptr, self._indices, self._affinities, self._points, *span), self._spans
        )
        _, potential = build_accurate_field(self._points).evaluate(self._points)
        # Rounding in float32 can lead to a value below 0.
        return max(0.0, float(sum(costs)) + float(np.log(_normalizer(potential))))


def _normalizer(potential: Floats) -> float:
    """Return the sum of w_ij over the pairs of different rows."""
    return max(float(potential.sum()) - len(potential), float(np.finfo(float).tiny))
