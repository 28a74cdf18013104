"""Stochastic gradient descent of UMAP: attraction along sampled edges, repulsion from drawn rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats
from tamiz.kernels.edge_sampling import LANES, Epoch, cross_entropy, move_rows
from tamiz.neighbors.base import Neighbors
from tamiz.reduction.layouts.affinities import row_memberships
from tamiz.reduction.layouts.descent import Descent
from tamiz.runtime import parallel

# Rows of one task (a multiple of LANES), and pairs for the cross entropy of all rows, but at least some for each row.
_ROWS_PER_TASK, _N_PAIRS, _MIN_PAIRS_PER_ROW = 2048, 500_000, 8
# Epochs and learning rate that show whether a layout has converged.
CHECK_EPOCHS, _CHECK_RATE = 10, 0.01
# New rows: rows of the fit that they are repelled from, the least number of epochs, and the learning rate at the start.
_POOL_SIZE, _MIN_EPOCHS, _INITIAL_RATE = 4096, 100, 0.25

Coordinates = NDArray[np.float32]


class EdgeSampling(Descent):
    """Descent of the cross entropy from initial points; a step is an epoch, and its setting the learning rate.

    Parameters
    ----------
    memberships : csr_array of shape (n, n)
        Symmetric, from 0 to 1.
    points : ndarray of shape (n, m)
        The initial points.
    settings : Epoch
        The map, the repulsion and the seed; `number` is the number of the first epoch.
    """

    steps_name = "Epochs"

    def __init__(self, memberships: sparse.csr_array, points: Floats, settings: Epoch) -> None:
        super().__init__()
        n = len(points)
        # Rows that move at once should have similar numbers of draws.
        self._order = np.argsort(np.asarray(memberships.sum(axis=1)).ravel(), kind="stable").astype(np.int32)
        place = np.empty(n, dtype=np.int32)
        place[self._order] = np.arange(n, dtype=np.int32)
        graph = memberships[self._order]
        self._indptr, self._indices = graph.indptr.astype(np.int64), place[graph.indices]
        largest = np.float32(graph.data.max()) if graph.nnz else np.float32(1.0)
        self._rates = graph.data.astype(np.float32) / largest
        self._settings = settings
        self._points = _as_lines(points[self._order])
        self._moved = np.empty_like(self._points)
        self._spans = parallel.block_ranges(n, _ROWS_PER_TASK)
        n_shifts = min(n - 1, max(_MIN_PAIRS_PER_ROW, _N_PAIRS // n))
        self._shifts = 1 + np.sort(np.random.default_rng(settings.seed).choice(n - 1, n_shifts, replace=False))

    @property
    def points(self) -> Floats:
        """The points, of shape (n, m)."""
        out = np.empty((len(self._order), len(self._points)))
        out[self._order] = self._points[:, : len(self._order)].T
        return out

    def further_decrease(self, tolerance: float) -> float:
        """Return the share by which a few epochs at a low learning rate lower the last cross entropy; the layout stays as it is.

        A decrease above `tolerance` is compared with that of as many epochs again, which must be at least half of it to count:
        among many equal rows the cross entropy depends on the learning rate, and the first decrease is that of the new rate.
        """
        layout, n_steps, costs = self._points.copy(), self.n_steps, [self.history[-1][1]]
        decreases: list[float] = []
        while len(decreases) < 2 and (not decreases or decreases[0] > tolerance):
            for _ in range(CHECK_EPOCHS):
                self._step(_CHECK_RATE)
                self.n_steps += 1
            costs.append(self.cost())
            decreases.append(1.0 - costs[-1] / costs[-2] if costs[-2] > 0.0 else 0.0)
        self._points, self.n_steps = layout, n_steps
        return min(decreases[0], 2.0 * decreases[-1])

    def _step(self, rate: float) -> None:
        settings = self._settings._replace(rate=rate, number=self._settings.number + self.n_steps)
        _move_all(self._points, self._points, self._points, self._edges, settings, self._moved, self._spans)
        self._points, self._moved = self._moved, self._points
        _wrap(self._points, len(self._order))

    def cost(self) -> float:
        """Return the cross entropy for each row, estimated from fixed pairs of rows."""
        costs = parallel.map_blocks(
            lambda span: cross_entropy(self._points, *self._edges, self._shifts, self._settings, *span), self._spans
        )
        return sum(costs) / len(self._order)

    @property
    def _edges(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        return self._indptr, self._indices, self._rates


def place_rows(
    near: Neighbors, local_connectivity: float, mean_length: float, points: Floats, settings: Epoch, n_epochs: int
) -> Floats:
    """Return the coordinates of new rows, given their neighbours among fitted rows at `points`.

    A row starts at the weighted mean of its neighbours, and moves as in a fit while these stay fixed. All rows have the same draws,
    so that a place depends on nothing but its row.
    """
    memberships = row_memberships(near.indptr, near.distances, local_connectivity, mean_length)
    weights = sparse.csr_array((memberships, near.indices, near.indptr), shape=(near.n_rows, near.n_points))
    with np.errstate(invalid="ignore"):
        start = np.asarray(weights @ points) / np.asarray(weights.sum(axis=1))[:, None]
    # Rows at an infinite distance have no memberships, and stay NaN.
    finite = np.isfinite(start).all(axis=1)
    places = _as_lines(np.where(finite[:, None], start, 0.0))
    moved = np.empty_like(places)
    drawn = np.random.default_rng(settings.seed).choice(len(points), min(len(points), _POOL_SIZE), replace=False)
    fixed, pool = _as_lines(points), _as_lines(np.repeat(points[drawn], LANES, axis=0))
    edges = near.indptr, near.indices, np.nan_to_num(memberships).astype(np.float32)
    spans = parallel.block_ranges(near.n_rows, _ROWS_PER_TASK)
    n_epochs = max(_MIN_EPOCHS, n_epochs // 3)
    for number in range(n_epochs):
        settings = settings._replace(rate=_INITIAL_RATE * (1.0 - number / n_epochs), number=number, own_draws=0)
        _move_all(places, fixed, pool, edges, settings, moved, spans)
        places, moved = moved, places
    out = places[:, : near.n_rows].T.astype(np.float64)
    out[~finite] = np.nan
    return out


def _move_all(
    rows: Coordinates,
    points: Coordinates,
    pool: Coordinates,
    edges: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]],
    settings: Epoch,
    out: Coordinates,
    spans: list[tuple[int, int]],
) -> None:
    parallel.run_blocks(lambda span: move_rows(rows, points, pool, *edges, settings, *span, out), spans)


def _as_lines(points: Floats) -> Coordinates:
    """Return points as lines of coordinates, of shape (m, n + LANES)."""
    n, m = points.shape
    lines = np.empty((m, n + LANES), dtype=np.float32)
    lines[:, :n] = points.T
    _wrap(lines, n)
    return lines


def _wrap(lines: Coordinates, n: int) -> None:
    lines[:, n:] = lines[:, np.arange(LANES) % n]
