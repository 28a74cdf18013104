"""Rows of numbers as a kernel takes them: in float32, column by column of a panel of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.kernels.anchors import CITYBLOCK, EUCLIDEAN, HALF_SQUARES, PANEL, draw
from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.landmarks import Rows
from tamiz.statistics.base import Floats
from tamiz.validation import check_memory

Singles = NDArray[np.float32]

# What a kernel measures for a dissimilarity.
MEASURES = {"euclidean": EUCLIDEAN, "seuclidean": EUCLIDEAN, "cityblock": CITYBLOCK, "cosine": HALF_SQUARES}
# Numbers of one piece of work, and of the columns that a kernel takes at a time.
_PIECE, _FOUR = 2**18, 4


class Panels:
    """Rows of numbers, and steps of their places on a map towards what some of them, the anchors, ask for.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Rows at length 1 where the dissimilarity is that of their cosine.
    dissimilarity : {"euclidean", "seuclidean", "cityblock", "cosine"}

    Attributes
    ----------
    n : int
    unit : float
        The power of two that dissimilarities, and so places, are in.
    spread : float
        The largest distance of a number from the mean of its column.
    """

    def __init__(self, values: Floats, dissimilarity: str) -> None:
        self.n, p = values.shape
        columns = -(-p // _FOUR) * _FOUR
        n_panels = -(-self.n // PANEL)
        check_memory(
            4.0 * n_panels * PANEL * columns,
            f"{self.n:,} rows of {p:,} columns in float32",
            "Keep fewer columns first, by PCA or with RankSelector.",
        )
        centre: Floats = values.mean(axis=0)
        self.spread = float(np.maximum(values.max(axis=0) - centre, centre - values.min(axis=0)).max())
        size = power_of_two(self.spread)
        self._measure = MEASURES[dissimilarity]
        self.unit = size**2 if self._measure == HALF_SQUARES else size
        self._panels = np.zeros((n_panels, columns, PANEL), dtype=np.float32)

        def fill(span: tuple[int, int]) -> None:
            for g in range(*span):
                part = values[g * PANEL : (g + 1) * PANEL]
                self._panels[g, :p, : len(part)] = ((part - centre) / size).T

        for _ in parallel.map_blocks(fill, parallel.spans(n_panels, max(1, _PIECE // (PANEL * columns)))):
            pass

    def laid(self, places: Floats) -> Singles:
        """Return places of all rows in panels, in the unit."""
        out = np.zeros((len(self._panels), places.shape[1], PANEL), dtype=np.float32)
        for k, axis in enumerate(places.T):
            padded = np.zeros(len(out) * PANEL)
            padded[: self.n] = axis / self.unit
            out[:, k] = padded.reshape(-1, PANEL)
        return out

    def gathered(self, laid: Singles) -> Floats:
        """Return places that lie in panels row by row."""
        places = np.empty((self.n, laid.shape[1]))
        for k in range(laid.shape[1]):
            places[:, k] = laid[:, k].reshape(-1)[: self.n]
        places *= self.unit
        return places

    def draw(self, laid: Singles, anchors: Rows, rate: float) -> None:
        """Move all places by a rate of the step of majorisation that the anchors alone would ask for."""
        wanted, there = self._at(self._panels, anchors), self._at(laid, anchors)

        def piece(span: tuple[int, int]) -> None:
            draw(self._panels[slice(*span)], wanted, there, self._measure, np.float32(rate), laid[slice(*span)])

        size = PANEL * len(anchors) * (self._panels.shape[1] + 16)
        for _ in parallel.map_blocks(piece, parallel.spans(len(laid), max(1, 2**24 // size))):
            pass

    def steps(self, laid: Singles, rows: Rows, anchors: Rows) -> Floats:
        """Return the step of majorisation that the anchors ask of some rows, in the unit."""
        size = -(-len(rows) // PANEL)
        panels, before = self._some(self._panels, rows, size), self._some(laid, rows, size)
        after = before.copy()
        wanted, there = self._at(self._panels, anchors), self._at(laid, anchors)

        def piece(g: int) -> None:
            draw(panels[g : g + 1], wanted, there, self._measure, np.float32(1.0), after[g : g + 1])

        for _ in parallel.map_blocks(piece, range(size)):
            pass
        moved = (after - before).astype(np.float64).transpose(0, 2, 1).reshape(size * PANEL, -1)
        return np.asarray(moved[: len(rows)])

    @staticmethod
    def _at(panels: Singles, rows: Rows) -> Singles:
        """Return what panels hold of some rows, row by row."""
        return np.ascontiguousarray(panels[rows // PANEL, :, rows % PANEL])

    def _some(self, panels: Singles, rows: Rows, size: int) -> Singles:
        """Return what panels hold of some rows in panels of their own."""
        held = np.zeros((size * PANEL, panels.shape[1]), dtype=np.float32)
        held[: len(rows)] = self._at(panels, rows)
        return np.ascontiguousarray(held.reshape(size, PANEL, -1).transpose(0, 2, 1))


def numbers_of(points: Any) -> Floats:
    """Return the numbers that a dissimilarity of `MEASURES` is measured on."""
    return points.unit if points.metric == "cosine" else points.values
