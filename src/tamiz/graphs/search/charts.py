"""Maps of rows that make no distance longer, and the choice of the cheapest one to search by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz import parallel
from tamiz.graphs.search.directions import evenly_spaced_rows, leading_directions
from tamiz.graphs.search.distinct import DistinctRows
from tamiz.kernels.nearest import row_distances
from tamiz.statistics.base import Floats

# Coordinates are brought to about 2^20: their squares neither overflow in float32 nor vanish.
SCALE_EXPONENT = 20
# Rows that the centre is the median of, that directions are taken from, and that a choice is tried on.
_CENTRE_ROWS, _DIRECTION_ROWS, _TRIAL_ROWS, _TRIAL_QUERIES = 1024, 2048, 2048, 16
# With fewer points all columns are taken without trying.
_MIN_POINTS = 8192
# Neighbours that a choice is made for.
_TYPICAL_NEIGHBORS = 15
# Directions of the product, and of the finer coordinates behind it.
_PRODUCT_DIRECTIONS = (32, 64, 96, 128, 192)
_MAX_DIRECTIONS = 256
# Nanoseconds of one thread: a column of a float32 product, a bound looked at, a finer bound, and a distance measured.
_PRODUCT_NS, _BOUND_NS, _FINE_BOUND_NS, _DISTANCE_NS = 0.028, 0.5, 70.0, 200.0
_DISTANCE_COLUMN_NS = 0.8
# Candidates looked at before the limits have come down, in units of those that are within them at the end.
_EARLY_CANDIDATE_FACTOR = 4.0


@dataclass(frozen=True)
class ContractiveProjection:
    """A map of rows that makes no distance longer: |f(x) - f(y)| <= scale |x - y|.

    Attributes
    ----------
    centre : ndarray of shape (n_columns,)
    scale : float
        A power of two.
    directions : ndarray of shape (n_columns, n_directions) or None
        Orthonormal up to rounding. Coordinates are those along the directions, and the length of what is left; None is all
        columns as they are.
    n_product_directions : int
        Directions that go into the product of matrices; the others and what is left beyond them are the finer coordinates.
    orthogonality_error : float
        How far the directions are from orthonormal, in the spectral norm.
    """

    centre: Floats
    scale: float
    directions: Floats | None = None
    n_product_directions: int = 0
    orthogonality_error: float = 0.0

    @property
    def relative_error(self) -> float:
        """The error of a row's coordinates in float64, in units of the length of the row."""
        if self.directions is None:
            return 2.0**-52
        n_columns, n_directions = self.directions.shape
        rotation = 1.01 * n_columns * np.sqrt(n_directions) * 2.0**-53
        # The length of what is left is the root of a difference; the root of its error, where all of it is error.
        return float(rotation + np.sqrt(self.orthogonality_error + 4 * rotation + 4 * n_columns * 2.0**-53))

    def project(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        """Return coordinates for the product, finer ones, and the lengths of the rows about the centre."""
        about = rows - self.centre
        about *= self.scale
        squares = np.einsum("ij,ij->i", about, about)
        if self.directions is None:
            return about, about[:, :0], np.sqrt(squares)
        # Directions that are a little too long would make distances so.
        along = about @ self.directions
        front, fine = (
            np.column_stack([part, np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", part, part), 0.0))])
            for part in (along[:, : self.n_product_directions], along)
        )
        shorter = 1.0 - 2.0 * self.orthogonality_error
        return front * shorter, fine * shorter, np.sqrt(squares)


def choose_projection(points: DistinctRows) -> tuple[ContractiveProjection, type[np.floating]]:
    """Return the chart and the type of the product that cost least, tried on a few rows."""
    values = points.values
    # The median: a mean would lie far from all rows for the sake of one, and every row's rounding with it.
    centre = np.median(values[evenly_spaced_rows(len(values), _CENTRE_ROWS)], axis=0)
    scale = float(np.ldexp(1.0, SCALE_EXPONENT - 1 - int(np.frexp(points.max_abs)[1])))
    plain = ContractiveProjection(centre, scale)
    if len(values) < _MIN_POINTS:
        return plain, np.float32
    trial = _CostTrial(values, plain)
    costs: list[tuple[float, ContractiveProjection, type[np.floating]]] = [
        (trial.cost(plain, 2.0**-24), plain, np.float32),
        (trial.cost(plain, 2.0**-53), plain, np.float64),
    ]
    if values.shape[1] >= 4 * _PRODUCT_DIRECTIONS[0]:
        directions, defect = _projection_directions(values, plain)
        for n_front in _PRODUCT_DIRECTIONS:
            if 3 * n_front <= values.shape[1]:
                chart = ContractiveProjection(centre, scale, directions, n_front, defect)
                costs.append((trial.cost(chart, 2.0**-24), chart, np.float32))
    _, chart, dtype = min(costs, key=lambda entry: entry[0])
    return chart, dtype


class _CostTrial:
    """What a search by a chart would cost, tried on a few rows."""

    def __init__(self, values: Floats, identity: ContractiveProjection) -> None:
        self.n_points, self.n_columns = values.shape
        self.queries = values[evenly_spaced_rows(self.n_points, _TRIAL_QUERIES)]
        near = evenly_spaced_rows(self.n_points, _TRIAL_ROWS)
        self.rows = values[near]

        def squares(query: int) -> tuple[Floats, float]:
            dist = np.empty(self.n_points)
            row_distances(self.queries, query, values, dist)
            dist *= identity.scale
            dist *= dist
            return dist[near], float(np.partition(dist, _TYPICAL_NEIGHBORS)[_TYPICAL_NEIGHBORS])

        tried = list(parallel.map_blocks(squares, range(len(self.queries))))
        self.squares = np.array([one for one, _ in tried])
        self.limits = np.array([[limit] for _, limit in tried])

    def cost(self, projection: ContractiveProjection, unit_roundoff: float) -> float:
        """Return the seconds of one thread that all pairs of points take."""
        (front, fine, lengths), (near_front, near_fine, near_lengths) = (
            projection.project(self.queries),
            projection.project(self.rows),
        )
        width = front.shape[1] + 2
        lost = (
            4.0
            * (width * unit_roundoff + projection.relative_error + unit_roundoff)
            * (lengths[:, None] ** 2 + near_lengths**2)
        )
        product = width * _PRODUCT_NS * (1 if unit_roundoff > 2.0**-53 else 2)
        measured = _DISTANCE_NS + self.n_columns * _DISTANCE_COLUMN_NS
        if projection.directions is None:
            each = (
                product + _BOUND_NS + _EARLY_CANDIDATE_FACTOR * measured * np.mean(self.squares - lost <= self.limits)
            )
            return float(each) * self._billion_pairs()
        bounds = _squared_distances(front, near_front) - lost
        finer = _squared_distances(fine, near_fine)
        each = product + _BOUND_NS + _EARLY_CANDIDATE_FACTOR * _FINE_BOUND_NS * np.mean(bounds <= self.limits)
        each += _EARLY_CANDIDATE_FACTOR * measured * np.mean(finer <= self.limits)
        rotation = 2.0 * self.n_points * self.n_columns * projection.directions.shape[1] * 2 * _PRODUCT_NS
        return float(each) * self._billion_pairs() + rotation * 1e-9

    def _billion_pairs(self) -> float:
        return 0.5e-9 * self.n_points**2


def _squared_distances(a: Floats, b: Floats) -> Floats:
    return np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b) - 2.0 * a @ b.T


def _projection_directions(values: Floats, identity: ContractiveProjection) -> tuple[Floats, float]:
    """Return directions of large variance of some rows, the largest first, and how far they are from orthonormal.

    Which directions they are decides the time, not the result.
    """
    rows, _, _ = identity.project(values[evenly_spaced_rows(len(values), _DIRECTION_ROWS)])
    rough = leading_directions(rows.astype(np.float32), min(_MAX_DIRECTIONS, rows.shape[1]))
    # Orthonormal in float64: bounds lose what the directions lack of it.
    found = np.ascontiguousarray(np.linalg.qr(rough.astype(np.float64))[0])
    gram = found.T @ found
    np.fill_diagonal(gram, gram.diagonal() - 1.0)
    return found, float(np.linalg.norm(gram)) + gram.size * 2.0**-53 * len(found) / len(gram)
