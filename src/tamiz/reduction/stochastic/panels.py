"""Rows in float32 panels, the memory layout of the stochastic MDS kernel, and majorisation steps against anchor rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.majorization import CITYBLOCK, EUCLIDEAN, HALF_SQUARES, PANEL_ROWS, move_towards_anchors
from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.landmarks import RowIndices
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.statistics.base import Floats

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

        for _ in parallel.map_blocks(
            fill, parallel.block_ranges(n_panels, max(1, _VALUES_PER_TASK // (PANEL_ROWS * columns)))
        ):
            pass

    def to_panels(self, embedding: Floats) -> Float32Array:
        """Return the map coordinates of all rows in panels, divided by `unit`."""
        out = np.zeros((len(self._panels), embedding.shape[1], PANEL_ROWS), dtype=np.float32)
        for k, axis in enumerate(embedding.T):
            padded = np.zeros(len(out) * PANEL_ROWS)
            padded[: self.n] = axis / self.unit
            out[:, k] = padded.reshape(-1, PANEL_ROWS)
        return out

    def from_panels(self, positions: Float32Array) -> Floats:
        """Return the map coordinates in panels as an array of rows."""
        embedding = np.empty((self.n, positions.shape[1]))
        for k in range(positions.shape[1]):
            embedding[:, k] = positions[:, k].reshape(-1)[: self.n]
        embedding *= self.unit
        return embedding

    def move_towards_anchors(self, positions: Float32Array, anchors: RowIndices, rate: float) -> None:
        """Move all rows by `rate` times the majorisation step for their dissimilarities to the anchors."""
        wanted, there = self._take_rows(self._panels, anchors), self._take_rows(positions, anchors)

        def piece(span: tuple[int, int]) -> None:
            move_towards_anchors(
                self._panels[slice(*span)], wanted, there, self._metric, np.float32(rate), positions[slice(*span)]
            )

        size = PANEL_ROWS * len(anchors) * (self._panels.shape[1] + 16)
        for _ in parallel.map_blocks(piece, parallel.block_ranges(len(positions), max(1, 2**24 // size))):
            pass

    def majorization_steps(self, positions: Float32Array, rows: RowIndices, anchors: RowIndices) -> Floats:
        """Return the majorisation steps of some rows for their dissimilarities to the anchors, divided by `unit`."""
        size = -(-len(rows) // PANEL_ROWS)
        panels, before = self._take_panels(self._panels, rows, size), self._take_panels(positions, rows, size)
        after = before.copy()
        wanted, there = self._take_rows(self._panels, anchors), self._take_rows(positions, anchors)

        def piece(g: int) -> None:
            move_towards_anchors(panels[g : g + 1], wanted, there, self._metric, np.float32(1.0), after[g : g + 1])

        for _ in parallel.map_blocks(piece, range(size)):
            pass
        moved = (after - before).astype(np.float64).transpose(0, 2, 1).reshape(size * PANEL_ROWS, -1)
        return np.asarray(moved[: len(rows)])

    @staticmethod
    def _take_rows(panels: Float32Array, rows: RowIndices) -> Float32Array:
        """Return the data of some rows, row by row."""
        return np.ascontiguousarray(panels[rows // PANEL_ROWS, :, rows % PANEL_ROWS])

    def _take_panels(self, panels: Float32Array, rows: RowIndices, size: int) -> Float32Array:
        """Return the data of some rows as new panels."""
        selected = np.zeros((size * PANEL_ROWS, panels.shape[1]), dtype=np.float32)
        selected[: len(rows)] = self._take_rows(panels, rows)
        return np.ascontiguousarray(selected.reshape(size, PANEL_ROWS, -1).transpose(0, 2, 1))


def metric_values(points: Any) -> Floats:
    """Return the values from which a dissimilarity of `KERNEL_METRICS` is computed."""
    return points.unit_rows if points.metric == "cosine" else points.values
