"""Stochastic descent of stress in rounds of random anchor rows with a decreasing learning rate, and its initial embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.reduction.base import read_initial_embedding
from tamiz.reduction.landmarks import LandmarkScaling, RowIndices, RowSubsets, default_n_landmarks, random_landmarks
from tamiz.reduction.sampled_stress import SampledPairs, SampledStress
from tamiz.reduction.stochastic.panels import Float32Array, RowPanels
from tamiz.runtime import progress
from tamiz.statistics.base import Floats

# Anchors of a round, and initial learning rate: steps below 2 do not raise the stress. At the same number of pairs, few anchors in
# many rounds find better minima than more anchors in fewer rounds.
_ANCHORS_PER_ROUND, _INITIAL_RATE = 16, 1.8
# Number of stress evaluations during the descent.
_STRESS_CHECKS = 10
# Rows and anchors of each of two samples for the convergence test.
_TEST_ROWS, _TEST_ANCHORS = 4096, 2048
# Stress below this is rounding of float32.
_ROUNDING = 1e-5
INIT_CHOICES = ("landmark", "random")
# Relative noise added to the landmark map: rows that coincide or lie on a line would stay there.
_START_NOISE = 1e-3


class StochasticDescent:
    """Stochastic descent from an initial embedding.

    Parameters
    ----------
    panels : RowPanels
    pairs : SampledPairs
        Pairs of the sampled stress.
    embedding : ndarray of shape (n, m)
    rng : Generator

    Attributes
    ----------
    stress_history : list of SampledStress
        At the start and after each tenth of the rounds.
    n_done : int
        Completed rounds.
    """

    def __init__(self, panels: RowPanels, pairs: SampledPairs, embedding: Floats, rng: np.random.Generator) -> None:
        self._panels, self._pairs, self._rng = panels, pairs, rng
        self._positions: Float32Array = panels.to_panels(embedding)
        self._order, self._order_position = np.arange(0), 0
        self.stress_history: list[SampledStress] = [pairs.stress(embedding)]
        self.n_done = 0

    @property
    def embedding(self) -> Floats:
        """The current coordinates."""
        return self._panels.from_panels(self._positions)

    def run(self, n_rounds: int) -> None:
        """Run rounds; anchors cycle through all rows, and the rate is quadratic in the share of remaining rounds."""
        checks = set(np.linspace(0, n_rounds, min(_STRESS_CHECKS, n_rounds) + 1).round().astype(int)[1:].tolist())
        for done in progress.track_progress("rounds", range(n_rounds), n_rounds):
            self._panels.move_towards_anchors(
                self._positions, self._next_anchors(), _INITIAL_RATE * (1.0 - done / n_rounds) ** 2
            )
            self.n_done = done + 1
            if self.n_done in checks:
                self.stress_history.append(self._pairs.stress(self.embedding))

    def relative_decrease(self) -> float:
        """Return an estimate of the share by which a full majorisation step would lower the stress.

        The squared gradient is estimated by the product of the steps against two independent samples of anchors, which is unbiased.
        The estimate may be negative if the gradient is near 0.
        """
        n = self._panels.n
        rows = self._rng.permutation(n)[:_TEST_ROWS]
        one, other = self._sample_anchors(n)
        steps = (
            self._panels.majorization_steps(self._positions, rows, one),
            self._panels.majorization_steps(self._positions, rows, other),
        )
        square = float((steps[0] * steps[1]).sum()) / len(rows)
        last = max(self.stress_history[-1].value, _ROUNDING) ** 2
        # The pairs have another unit than the panels.
        mean_square = float((self._pairs.dissimilarities**2).mean()) * (self._pairs.unit / self._panels.unit) ** 2
        return square / (last * mean_square)

    def _sample_anchors(self, n: int) -> tuple[RowIndices, RowIndices]:
        if n <= 2 * _TEST_ANCHORS:
            return np.arange(n), np.arange(n)
        order = self._rng.permutation(n)
        return order[:_TEST_ANCHORS], order[_TEST_ANCHORS : 2 * _TEST_ANCHORS]

    def _next_anchors(self) -> RowIndices:
        n = self._panels.n
        size = min(_ANCHORS_PER_ROUND, n)
        if self._order_position + size > len(self._order):
            self._order, self._order_position = self._rng.permutation(n), 0
        self._order_position += size
        return self._order[self._order_position - size : self._order_position]


def initial_embedding(
    init: Any, subsets: RowSubsets, pairs: SampledPairs, n_components: int, rng: np.random.Generator
) -> Floats:
    """Return the initial embedding, of shape (n, n_components)."""
    if not isinstance(init, str):
        return read_initial_embedding(init, INIT_CHOICES, subsets.n, n_components)
    # Normal points with the same mean square distance as the dissimilarities.
    size = pairs.unit * float(np.sqrt((pairs.dissimilarities**2).mean() / (2 * n_components)))
    noise = size * rng.standard_normal((subsets.n, n_components))
    if init == "random":
        return noise
    return (
        LandmarkScaling.fit(
            subsets, random_landmarks(subsets, default_n_landmarks(subsets.n, n_components), rng), n_components
        ).embedding
        + _START_NOISE * noise
    )
