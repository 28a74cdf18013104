"""Out-of-sample extension of t-SNE: every new row descends its own divergence, while the fitted rows stay fixed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.kernels.neighbor_embedding import attract_queries
from tamiz.neighbors.base import Neighbors
from tamiz.reduction.layouts.affinities import row_affinities
from tamiz.reduction.layouts.repulsion import GridField, RepulsionField, build_field, choose_method
from tamiz.runtime import parallel

# Steps of each row, the share of a majorisation step, the longest step, and the length at which a row has converged.
_MAX_STEPS, _STEP_SHARE, _MAX_STEP, _TOLERANCE = 100, 0.5, 5.0, 1e-3
# Width around the map in which new rows may be mapped.
_MARGIN = 10.0
_ROWS_PER_TASK = 1024


def place_rows(near: Neighbors, perplexity: float, points: Floats) -> Floats:
    """Return the coordinates of new rows, given their neighbours among fitted rows at `points`.

    A row minimises sum_j p_j log(p_j / q_j), with q_j = w_j / sum_k w_k over all fitted rows, from the weighted mean of its
    neighbours.
    """
    affinities = row_affinities(near.indptr, near.distances, perplexity)
    method = choose_method(points)
    field = GridField(points, _MARGIN) if method == "grid" else build_field(points, method)
    weights = sparse.csr_array((affinities, near.indices, near.indptr), shape=(near.n_rows, near.n_points))
    out = np.asarray(weights @ points)
    # Rows at an infinite distance have no affinities, and stay NaN.
    active = np.flatnonzero(np.isfinite(out).all(axis=1))
    for _ in range(_MAX_STEPS):
        if not len(active):
            break
        some = _select_rows(near, affinities, active)
        queries = np.ascontiguousarray(out[active])
        step = _STEP_SHARE * _gradient_step(*some, points, queries, field)
        length = np.linalg.norm(step, axis=1)
        step *= np.minimum(1.0, _MAX_STEP / np.maximum(length, _MAX_STEP))[:, None]
        out[active] = queries - step
        active = active[length > _TOLERANCE]
    return out


def _select_rows(
    near: Neighbors, affinities: Floats, rows: Indices
) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
    """Return the neighbours of some rows in CSR form, with their affinities."""
    counts = np.diff(near.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    at = np.repeat(near.indptr[rows] - indptr[:-1], counts) + np.arange(indptr[-1])
    return indptr, near.indices[at], affinities[at]


def _gradient_step(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    affinities: Floats,
    points: Floats,
    queries: Floats,
    field: RepulsionField,
) -> Floats:
    """Return the half gradient of each row, divided by the curvature of the attraction."""
    attraction, totals = np.empty_like(queries), np.empty(len(queries))
    parallel.run_blocks(
        lambda span: attract_queries(indptr, indices, affinities, points, queries, *span, attraction, totals),
        parallel.block_ranges(len(queries), _ROWS_PER_TASK),
    )
    forces, potential = field.evaluate(queries)
    return np.asarray((attraction - forces / potential[:, None]) / totals[:, None])
