"""Rows drawn towards a few others, the anchors, by the step of majorisation that these alone would ask for."""

from __future__ import annotations

import math

import numpy as np
from numba.types import float32, int64, void

from tamiz.kernels import jit, ro, rw

# Rows of a panel, which vectorise: what is made of them stays in the first-level cache.
PANEL_ROWS = 256
# Anchors that a panel's rows are measured from at a time.
_ANCHOR_BATCH = 16
# What dissimilarities are: distances, sums of differences, or half of the squares.
EUCLIDEAN, CITYBLOCK, HALF_SQUARES = 0, 1, 2
# Below this squared distance in the map two places are one.
_COINCIDENT = np.float32(1e-30)


@jit(void(ro(float32, 2), ro(float32, 2), int64, rw(float32, 2)), reassociate=True)
def squared_dissimilarities(panel, anchors, metric, out):
    """Fill out[j] with the squared dissimilarities of a panel's rows from anchor j. Columns come in fours.

    Four columns of the panel are read for all anchors, so that a wide panel is read once.
    """
    out[:] = np.float32(0.0)
    for k in range(0, panel.shape[0], 4):
        for j in range(anchors.shape[0]):
            a, b, c, d = anchors[j, k], anchors[j, k + 1], anchors[j, k + 2], anchors[j, k + 3]
            if metric == CITYBLOCK:
                for i in range(PANEL_ROWS):
                    p, q = abs(panel[k, i] - a), abs(panel[k + 1, i] - b)
                    r, s = abs(panel[k + 2, i] - c), abs(panel[k + 3, i] - d)
                    out[j, i] += p + q + r + s
            else:
                for i in range(PANEL_ROWS):
                    p, q = panel[k, i] - a, panel[k + 1, i] - b
                    r, s = panel[k + 2, i] - c, panel[k + 3, i] - d
                    out[j, i] += p * p + q * q + r * r + s * s
    if metric == CITYBLOCK:
        for j in range(anchors.shape[0]):
            for i in range(PANEL_ROWS):
                out[j, i] *= out[j, i]
    elif metric == HALF_SQUARES:
        for j in range(anchors.shape[0]):
            for i in range(PANEL_ROWS):
                out[j, i] *= np.float32(0.25) * out[j, i]


@jit(void(ro(float32, 3), ro(float32, 2), ro(float32, 2), int64, float32, rw(float32, 3)), reassociate=True)
def move_towards_anchors(panels, anchors, positions, metric, step_share, out):
    """Move the places of rows by `step_share` of the way to the mean of those at which the anchors want them.

    An anchor wants a row at its dissimilarity, on the ray from the anchor to the row, and where it is itself when the two are at
    one place. Panels of shape (g, columns, PANEL), anchors (a, columns), their places (a, m), places of the rows (g, m, PANEL).
    """
    n_anchors, m = positions.shape
    wanted, squares = (
        np.empty((min(n_anchors, _ANCHOR_BATCH), PANEL_ROWS), np.float32),
        np.empty(PANEL_ROWS, np.float32),
    )
    ratios, sums = np.empty(PANEL_ROWS, np.float32), np.empty((m, PANEL_ROWS), np.float32)
    share = step_share / np.float32(n_anchors)
    for g in range(panels.shape[0]):
        ratios[:] = np.float32(0.0)
        sums[:] = np.float32(0.0)
        for first in range(0, n_anchors, _ANCHOR_BATCH):
            last = min(first + _ANCHOR_BATCH, n_anchors)
            squared_dissimilarities(panels[g], anchors[first:last], metric, wanted[: last - first])
            for j in range(first, last):
                squares[:] = np.float32(0.0)
                for k in range(m):
                    x = positions[j, k]
                    for i in range(PANEL_ROWS):
                        gap = out[g, k, i] - x
                        squares[i] += gap * gap
                for i in range(PANEL_ROWS):
                    is_apart = squares[i] > _COINCIDENT
                    ratio = math.sqrt(wanted[j - first, i] / squares[i]) if is_apart else np.float32(0.0)
                    squares[i] = ratio - np.float32(1.0)
                    ratios[i] += ratio - np.float32(1.0)
                for k in range(m):
                    x = positions[j, k]
                    for i in range(PANEL_ROWS):
                        sums[k, i] += squares[i] * x
        # The mean of x + ratio (y - x), less y, is the mean of (ratio - 1) (y - x).
        for k in range(m):
            for i in range(PANEL_ROWS):
                out[g, k, i] += share * (ratios[i] * out[g, k, i] - sums[k, i])
