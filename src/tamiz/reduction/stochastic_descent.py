"""Stochastic descent of stress, in rounds of random anchor rows with a decreasing learning rate, on rows in float32 panels.

A panel is the memory layout of the kernel; `RowPanels` moves points towards anchor rows, `StochasticDescent` runs the rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.kernels.majorization import CITYBLOCK, EUCLIDEAN, HALF_SQUARES, PANEL_ROWS, move_towards_anchors
from tamiz.reduction.base import read_initial_embedding
from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.landmarks import LandmarkScaling, RowSubsets, default_n_landmarks, random_landmarks
from tamiz.reduction.sampled_stress import SampledPairs, SampledStress
from tamiz.runtime import parallel, progress
from tamiz.runtime.validation import check_memory

Float32Array = NDArray[np.float32]

# The kernel's metric for every dissimilarity.
KERNEL_METRICS: dict[str, int] = {
    "euclidean": EUCLIDEAN,
    "seuclidean": EUCLIDEAN,
    "cityblock": CITYBLOCK,
    "cosine": HALF_SQUARES,
}
# Values per task; the kernel requires a multiple of this number of columns.
_VALUES_PER_TASK, _COLUMN_MULTIPLE = 2**18, 4
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


class RowPanels:
    """Rows of numbers in panels, and majorisation steps of their map coordinates against some of them, the anchors.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Rows; of length 1 for the cosine dissimilarity.
    dissimilarity : {"euclidean", "seuclidean", "cityblock", "cosine"}

    Attributes
    ----------
    n : int
    unit : float
        Unit of dissimilarities and map coordinates in the panels, a power of two.
    spread : float
        The largest distance of a number from the mean of its column.
    """

    def __init__(self, values: Floats, dissimilarity: str) -> None:
        self.n, p = values.shape
        columns = -(-p // _COLUMN_MULTIPLE) * _COLUMN_MULTIPLE
        n_panels = -(-self.n // PANEL_ROWS)
        check_memory(
            4.0 * n_panels * PANEL_ROWS * columns,
            f"{self.n:,} rows of {p:,} columns in float32",
            "Keep fewer columns first, by PCA or with RankSelector.",
        )
        centre: Floats = values.mean(axis=0)
        self.spread = float(np.maximum(values.max(axis=0) - centre, centre - values.min(axis=0)).max())
        size = power_of_two(self.spread)
        self._metric = KERNEL_METRICS[dissimilarity]
        self.unit = size**2 if self._metric == HALF_SQUARES else size
        self._panels = np.zeros((n_panels, columns, PANEL_ROWS), dtype=np.float32)

        def fill(span: tuple[int, int]) -> None:
            for g in range(*span):
                part = values[g * PANEL_ROWS : (g + 1) * PANEL_ROWS]
                self._panels[g, :p, : len(part)] = ((part - centre) / size).T

        parallel.run_blocks(fill, parallel.block_ranges(n_panels, max(1, _VALUES_PER_TASK // (PANEL_ROWS * columns))))

    def to_panels(self, embedding: Floats) -> Float32Array:
        """Return the map coordinates of all rows in panels, divided by `unit`."""
        out = np.zeros((len(self._panels), embedding.shape[1], PANEL_ROWS), dtype=np.float32)
        for k, axis in enumerate(embedding.T):
            padded = np.zeros(len(out) * PANEL_ROWS)
            padded[: self.n] = axis / self.unit
            out[:, k] = padded.reshape(-1, PANEL_ROWS)
        return out

    def from_panels(self, positions: Float32Array) -> Floats:
        embedding = np.empty((self.n, positions.shape[1]))
        for k in range(positions.shape[1]):
            embedding[:, k] = positions[:, k].reshape(-1)[: self.n]
        embedding *= self.unit
        return embedding

    def move_towards_anchors(self, positions: Float32Array, anchors: Indices, rate: float) -> None:
        """Move all rows by `rate` times the majorisation step for their dissimilarities to the anchors."""
        wanted, there = self._take_rows(self._panels, anchors), self._take_rows(positions, anchors)

        def piece(span: tuple[int, int]) -> None:
            move_towards_anchors(
                self._panels[slice(*span)], wanted, there, self._metric, np.float32(rate), positions[slice(*span)]
            )

        size = PANEL_ROWS * len(anchors) * (self._panels.shape[1] + 16)
        parallel.run_blocks(piece, parallel.block_ranges(len(positions), max(1, 2**24 // size)))

    def majorization_steps(self, positions: Float32Array, rows: Indices, anchors: Indices) -> Floats:
        """Return the majorisation steps of some rows for their dissimilarities to the anchors, divided by `unit`."""
        size = -(-len(rows) // PANEL_ROWS)
        panels, before = self._take_panels(self._panels, rows, size), self._take_panels(positions, rows, size)
        after = before.copy()
        wanted, there = self._take_rows(self._panels, anchors), self._take_rows(positions, anchors)

        def piece(g: int) -> None:
            move_towards_anchors(panels[g : g + 1], wanted, there, self._metric, np.float32(1.0), after[g : g + 1])

        parallel.run_blocks(piece, range(size))
        moved = (after - before).astype(np.float64).transpose(0, 2, 1).reshape(size * PANEL_ROWS, -1)
        return np.asarray(moved[: len(rows)])

    @staticmethod
    def _take_rows(panels: Float32Array, rows: Indices) -> Float32Array:
        """Return the data of some rows, row by row."""
        return np.ascontiguousarray(panels[rows // PANEL_ROWS, :, rows % PANEL_ROWS])

    def _take_panels(self, panels: Float32Array, rows: Indices, size: int) -> Float32Array:
        """Return the data of some rows as new panels."""
        selected = np.zeros((size * PANEL_ROWS, panels.shape[1]), dtype=np.float32)
        selected[: len(rows)] = self._take_rows(panels, rows)
        return np.ascontiguousarray(selected.reshape(size, PANEL_ROWS, -1).transpose(0, 2, 1))


def metric_values(points: Any) -> Floats:
    """Return the values from which a dissimilarity of `KERNEL_METRICS` is computed."""
    return points.values


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

    def _sample_anchors(self, n: int) -> tuple[Indices, Indices]:
        if n <= 2 * _TEST_ANCHORS:
            return np.arange(n), np.arange(n)
        order = self._rng.permutation(n)
        return order[:_TEST_ANCHORS], order[_TEST_ANCHORS : 2 * _TEST_ANCHORS]

    def _next_anchors(self) -> Indices:
        n = self._panels.n
        size = min(_ANCHORS_PER_ROUND, n)
        if self._order_position + size > len(self._order):
            self._order, self._order_position = self._rng.permutation(n), 0
        self._order_position += size
        return self._order[self._order_position - size : self._order_position]


def initial_embedding(
    init: Any, subsets: RowSubsets, pairs: SampledPairs, n_components: int, rng: np.random.Generator
) -> Floats:
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
