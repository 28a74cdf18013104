"""The stress of a map on a sample of pairs, and new rows at the points of least stress against fixed points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels.majorization import fill_starts, fit_rows
from tamiz.reduction.krylov import power_of_two
from tamiz.runtime import parallel

if TYPE_CHECKING:
    from tamiz.reduction.landmarks import RowSubsets


# Up to this many rows all pairs are used.
_MAX_EXACT_ROWS = 1024
# Above, all pairs within random disjoint groups of rows: number of groups, rows of a group.
_MAX_GROUPS, _GROUP_SIZE = 640, 32
# Nearest points used as starts, besides the least-squares solution of squared distances.
_NEAREST_STARTS = 4
# Step length at convergence, relative to the largest dissimilarity of the row and the largest coordinate of the points.
_TOLERANCE = 1e-9
# Dissimilarities of one parallel task.
_DISSIMILARITIES_PER_TASK = 2**15


@dataclass(frozen=True)
class SampledStress:
    """The stress of a map at its best scale b, over a sample of pairs.

    .. math:: \\min_b \\sqrt{\\sum (\\delta - b d)^2 / \\sum \\delta^2}

    `error` is its standard error as an estimate of the stress of all pairs, from the differences between groups; 0 for all pairs.
    """

    value: float
    error: float
    scale: float


class SampledPairs:
    """A sample of pairs with their dissimilarities: all pairs of up to 1,024 rows, else the pairs within random disjoint groups.

    `rows` have the shape (n_groups, size); the dissimilarities of the pairs of each group are divided by `unit`, a power of two.
    """

    def __init__(self, subsets: RowSubsets, rng: np.random.Generator) -> None:
        self.exact = subsets.n <= _MAX_EXACT_ROWS
        self.rows: Indices = np.arange(subsets.n)[None, :]
        if not self.exact:
            n_groups = min(_MAX_GROUPS, subsets.n // _GROUP_SIZE)
            self.rows = rng.choice(subsets.n, size=(n_groups, _GROUP_SIZE), replace=False)
        self._ends = np.triu_indices(self.rows.shape[1], 1)
        self.dissimilarities: Floats = np.stack([subsets.distances_among(group)[self._ends] for group in self.rows])
        self.unit = power_of_two(float(self.dissimilarities.max(initial=0.0)))
        self.dissimilarities /= self.unit

    def stress(self, embedding: Floats) -> SampledStress:
        """Return the sampled stress of a map of all rows, of shape (n, n_components)."""
        d = self._distances(embedding)
        size = power_of_two(float(d.max(initial=0.0)))
        d /= size
        squares = float((d * d).sum())
        scale = float((self.dissimilarities * d).sum()) / squares if squares else 1.0
        residual = ((self.dissimilarities - scale * d) ** 2).sum(axis=1)
        total = (self.dissimilarities**2).sum(axis=1)
        if not total.sum():
            return SampledStress(0.0, 0.0, 1.0)
        square = float(residual.sum() / total.sum())
        value = np.sqrt(square)
        error = 0.0
        if not self.exact and square:
            n_groups = len(residual)
            # Linearisation of the ratio of sums over groups.
            spread = np.sqrt(n_groups / (n_groups - 1) * ((residual - square * total) ** 2).sum())
            error = float(spread / total.sum() / (2.0 * value))
        return SampledStress(float(value), error, scale * self.unit / size if squares else 1.0)

    def _distances(self, embedding: Floats) -> Floats:
        first, second = self._ends
        points = embedding[self.rows]
        # Divided by a power of two, so that no square overflows.
        unit = power_of_two(float(np.abs(points).max(initial=0.0)))
        squares = np.zeros(self.dissimilarities.shape)
        for axis in np.moveaxis(points / unit, -1, 0):
            squares += (axis[:, first] - axis[:, second]) ** 2
        return np.asarray(np.sqrt(squares, out=squares) * unit)


@dataclass(frozen=True)
class RowPlacements:
    """Positions of rows relative to fixed points.

    For each row, `stress` is sqrt(sum (delta - d)^2 / sum delta^2) over its known dissimilarities: 0 for a perfect fit, infinite if
    all are 0 and the points differ. `n_iter` are the evaluations from the best start, `converged` whether the last step was below
    the tolerance.
    """

    positions: Floats
    stress: Floats
    n_iter: NDArray[np.int64]
    converged: Masks


def minimize_row_stress(
    points: Floats, dissimilarities: Floats, starts: Floats | None = None, *, max_iter: int = 300
) -> RowPlacements:
    """Move each row to the best local minimum of its stress from several initial positions, the first of ties.

    Dissimilarities, of shape (q, n), are those of each row to all points, of shape (n, m), NaN where missing. Starts have the shape
    (q, s, m). A descent has at most `max_iter` evaluations of the stress, typically 5 to 15 of cost O(n m^2).

    The stress never rises. A step is a Newton step where the stress is convex and decreases, else a shorter one, at least the
    majorisation step y <- mean over j of x_j + delta_j (y - x_j) / |y - x_j| (de Leeuw 1977). Rows leave saddle points along a
    descent direction. The result for a row does not depend, to the bit, on other rows.
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
    """Return initial positions of each row: the least-squares solution of squared distances, then the nearest 4 points or fewer.

    The first is exact if the dissimilarities are distances of one position from points that span the space.
    """
    out = np.empty((len(dissimilarities), 1 + min(_NEAREST_STARTS, len(points)), points.shape[1]))
    fill_starts(_contiguous_axes(points), np.ascontiguousarray(dissimilarities), out)
    return out


def _contiguous_axes(points: Floats) -> Floats:
    return np.ascontiguousarray(points.T, dtype=np.float64)
