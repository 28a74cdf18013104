"""Rounds in which every place is drawn towards a few rows' wishes, by ever less."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.reduction.base import read_initial_embedding
from tamiz.reduction.landmarks import LandmarkScaling, RowIndices, RowSubsets, default_n_landmarks, random_landmarks
from tamiz.reduction.sampled_stress import SampledPairs, SampledStress
from tamiz.reduction.stochastic.panels import Float32Array, RowPanels
from tamiz.runtime import progress
from tamiz.statistics.base import Floats

# MERGED: Places that rounds start from.
INIT_CHOICES = ("landmark", "random")
# What is added to a map by landmarks, next to distances: rows that it has at one place, or in a line, would stay there.
_START_NOISE = 1e-3


def initial_embedding(
    init: Any, subsets: RowSubsets, pairs: SampledPairs, n_components: int, rng: np.random.Generator
) -> Floats:
    """Return the places that were asked for, of shape (n, m)."""
    if not isinstance(init, str):
        return read_initial_embedding(init, INIT_CHOICES, subsets.n, n_components)
    # Places whose distances are as large as the dissimilarities, on the whole.
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


# Rows that a round draws, and the length of its step in the first: as long as one may be that does not raise the stress, nearly.
# Few anchors and many rounds find better minima than more anchors in fewer, at the same number of pairs.
_ANCHORS_PER_ROUND, _INITIAL_RATE = 16, 1.8
# Times that the stress is measured on the way.
_STRESS_CHECKS = 10
# Rows whose steps are compared, and anchors of each of the two samples that ask for them, to tell whether the end is one.
_TEST_ROWS, _TEST_ANCHORS = 4096, 2048
# A stress below this is rounding of float32, and no fall of it counts.
_ROUNDING = 1e-5


class StochasticDescent:
    """A descent by rounds, from given places.

    Parameters
    ----------
    panels : RowPanels
    pairs : SampledPairs
        What the stress is measured on.
    embedding : ndarray of shape (n, m)
    rng : Generator

    Attributes
    ----------
    stress_history : list of SampledStress
        At the start and after each tenth of the rounds.
    n_done : int
        Rounds that were made.
    """

    def __init__(self, panels: RowPanels, pairs: SampledPairs, embedding: Floats, rng: np.random.Generator) -> None:
        self._panels, self._pairs, self._rng = panels, pairs, rng
        self._positions: Float32Array = panels.to_panels(embedding)
        self._order, self._order_position = np.arange(0), 0
        self.stress_history: list[SampledStress] = [pairs.stress(embedding)]
        self.n_done = 0

    @property
    def embedding(self) -> Floats:
        """Where the rows are now."""
        return self._panels.from_panels(self._positions)

    def run(self, n_rounds: int) -> None:
        """Make rounds; every row is an anchor before one is so again, and steps fall as the square of the rounds that are left."""
        looks = set(np.linspace(0, n_rounds, min(_STRESS_CHECKS, n_rounds) + 1).round().astype(int)[1:].tolist())
        for done in progress.track_progress("rounds", range(n_rounds), n_rounds):
            self._panels.move_towards_anchors(
                self._positions, self._next_anchors(), _INITIAL_RATE * (1.0 - done / n_rounds) ** 2
            )
            self.n_done = done + 1
            if self.n_done in looks:
                self.stress_history.append(self._pairs.stress(self.embedding))

    def relative_decrease(self) -> float:
        """Return the share of the stress by which a whole step of majorisation would lower it, as its slope tells.

        The slope's square is that of the products of steps that two samples of anchors ask for: their errors are not in it. It
        may come out below 0 where there is hardly any slope.
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
        # The unit of the pairs is another power of two.
        wanted = float((self._pairs.dissimilarities**2).mean()) * (self._pairs.unit / self._panels.unit) ** 2
        return square / (last * wanted)

    def _sample_anchors(self, n: int) -> tuple[RowIndices, RowIndices]:
        if n <= 2 * _TEST_ANCHORS:
            return np.arange(n), np.arange(n)
        drawn = self._rng.permutation(n)
        return drawn[:_TEST_ANCHORS], drawn[_TEST_ANCHORS : 2 * _TEST_ANCHORS]

    def _next_anchors(self) -> RowIndices:
        n = self._panels.n
        size = min(_ANCHORS_PER_ROUND, n)
        if self._order_position + size > len(self._order):
            self._order, self._order_position = self._rng.permutation(n), 0
        self._order_position += size
        return self._order[self._order_position - size : self._order_position]
