"""Out-of-sample extension of MDS: each new row is mapped to the point of least stress against fixed points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.kernels.out_of_sample_stress import fill_starts, fit_rows
from tamiz.reduction.base import check_finite_embedding
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.majorization.transformations import DisparityCurve
from tamiz.runtime import parallel

# Dissimilarities in memory at a time.
_DISSIMILARITIES_IN_MEMORY = 2**20
# Nearest points used as starts, besides the least-squares solution of squared distances.
_NEAREST_STARTS = 4
# Step length at convergence, relative to the largest dissimilarity of the row and the largest coordinate of the points.
_TOLERANCE = 1e-9
# Dissimilarities of one parallel task.
_DISSIMILARITIES_PER_TASK = 2**15


@dataclass(frozen=True)
class MappedRows:
    """New rows mapped into a fitted map.

    Attributes
    ----------
    embedding : ndarray of shape (n_new, n_components)
    stress : ndarray of shape (n_new,)
        Kruskal's stress-1 of each row against all rows of the fit.
    reliability : ndarray of shape (n_new,)
        Share of the rows of the fit with at least the same stress, in [0, 1]; near 0 the row does not fit into the map.
    """

    embedding: Floats
    stress: Floats
    reliability: Floats


@dataclass(frozen=True)
class FittedMap:
    """A fitted map into which new rows are mapped.

    Attributes
    ----------
    dissimilarities : Dissimilarities
        Dissimilarities of the training rows.
    curve : DisparityCurve
        Transformation of dissimilarities divided by the unit.
    unit : float
    embedding : ndarray of shape (n, n_components)
    stress_per_point : ndarray of shape (n,)
    """

    dissimilarities: Dissimilarities
    curve: DisparityCurve
    unit: float
    embedding: Floats
    stress_per_point: Floats

    def map_rows(self, queries: Any) -> MappedRows:
        """Map new rows independently; a row that is equal to a training row gets its coordinates."""
        n_new, n = queries.n_samples, self.dissimilarities.points.n_samples
        equal, points = self.dissimilarities.points.match_rows(queries)
        queries = self.dissimilarities.copy_self_values(queries, equal, points)
        embedding, stress = np.empty((n_new, self.embedding.shape[1])), np.empty(n_new)
        embedding[equal], stress[equal] = self.embedding[points], self.stress_per_point[points]
        others = np.setdiff1d(np.arange(n_new), equal)
        self.dissimilarities.require_distances(others)
        for start, stop in parallel.block_ranges(len(others), max(1, _DISSIMILARITIES_IN_MEMORY // n)):
            rows = others[start:stop]
            with np.errstate(over="ignore", invalid="ignore"):
                embedding[rows], stress[rows] = self._map_unequal_rows(queries.take(rows), rows)
        check_finite_embedding(embedding)
        better = np.searchsorted(np.sort(self.stress_per_point), stress, side="left")
        return MappedRows(embedding, stress, 1.0 - better / n)

    def _map_unequal_rows(self, queries: Any, row_numbers: Indices) -> tuple[Floats, Floats]:
        targets = self.curve(self.dissimilarities.distances(queries, 0, queries.n_samples) / self.unit)
        known = ~np.isnan(targets)
        if not known.any(axis=1).all():
            row = row_numbers[int(np.argmin(known.any(axis=1)))]
            raise DataError(
                f"Row {row} has no distance to any row of the fit, so that its position is undefined. Add one, or remove the row."
            )
        fitted = self.embedding / self.unit
        positions = minimize_row_stress(fitted, targets).positions
        distances = np.where(known, cdist(positions, fitted), 0.0)
        squares = (distances**2).sum(axis=1)
        residual = (np.where(known, targets - distances, 0.0) ** 2).sum(axis=1)
        stress = np.sqrt(divide_or_zero(residual, squares))
        return positions * self.unit, stress


@dataclass(frozen=True)
class RowPlacements:
    """Positions of rows relative to fixed points.

    Attributes
    ----------
    positions : ndarray of shape (q, m)
    stress : ndarray of shape (q,)
        For each row sqrt(sum (delta - d)^2 / sum delta^2) over its known dissimilarities: 0 for a perfect fit,
        infinite if all are 0 and the points differ.
    n_iter : ndarray of shape (q,)
        Evaluations of the stress from the best start.
    converged : ndarray of shape (q,)
        Whether the last step was below the tolerance.
    """

    positions: Floats
    stress: Floats
    n_iter: NDArray[np.int64]
    converged: Masks


def minimize_row_stress(
    points: Floats, dissimilarities: Floats, starts: Floats | None = None, *, max_iter: int = 300
) -> RowPlacements:
    """Move each row to the best local minimum of its stress from several initial positions, the first of ties.

    Parameters
    ----------
    points : ndarray of shape (n, m)
    dissimilarities : ndarray of shape (q, n)
        From each row to all points, NaN where missing, at least 0.
    starts : ndarray of shape (q, s, m), default=None
        Initial positions of each row; None is `initial_positions`.
    max_iter : int, default=300
        Largest number of evaluations of the stress from a start.

    Returns
    -------
    RowPlacements

    Raises
    ------
    DataError
        When a row has no known dissimilarity; the message names the row.

    Notes
    -----
    The stress never rises. A step is a Newton step where the stress is convex and decreases, else a shorter one, at least the
    majorisation step y <- mean over j of x_j + delta_j (y - x_j) / |y - x_j|. Rows leave saddle points along a descent direction.
    Cost O(n m^2) for each of typically 5 to 15 evaluations. The result for a row does not depend, to the bit, on other rows.

    References
    ----------
    de Leeuw (1977), Applications of convex analysis to multidimensional scaling, in Recent Developments in Statistics.
    """
    is_empty = np.isnan(dissimilarities).all(axis=1)
    if is_empty.any():
        raise DataError(
            f"Row {int(np.argmax(is_empty))} has no dissimilarity to any of the {len(points):,} points; at least one is "
            "required. Add one or remove the row."
        )
    axes = _contiguous_axes(points)
    q, m = len(dissimilarities), points.shape[1]
    positions, stress, outcome = np.empty((q, m)), np.empty(q), np.empty((q, 2), dtype=np.int64)

    def move(span: tuple[int, int]) -> None:
        here = slice(*span)
        part = np.ascontiguousarray(dissimilarities[here], dtype=np.float64)
        initial = initial_positions(points, part) if starts is None else np.ascontiguousarray(starts[here])
        fit_rows(axes, part, initial, max_iter, _TOLERANCE, positions[here], stress[here], outcome[here])

    parallel.run_blocks(move, parallel.block_ranges(q, max(1, _DISSIMILARITIES_PER_TASK // len(points))))
    return RowPlacements(positions, stress, outcome[:, 0].copy(), outcome[:, 1] == 1)


def initial_positions(points: Floats, dissimilarities: Floats) -> Floats:
    """Return initial positions of each row: the least-squares solution of squared distances, then the nearest points.

    Parameters
    ----------
    points : ndarray of shape (n, m)
    dissimilarities : ndarray of shape (q, n)

    Returns
    -------
    ndarray of shape (q, s, m)
        s is 5, or less for fewer points. The first is exact if the dissimilarities are distances of one position from points that
        span the space.
    """
    out = np.empty((len(dissimilarities), 1 + min(_NEAREST_STARTS, len(points)), points.shape[1]))
    fill_starts(_contiguous_axes(points), np.ascontiguousarray(dissimilarities), out)
    return out


def _contiguous_axes(points: Floats) -> Floats:
    return np.ascontiguousarray(points.T, dtype=np.float64)
