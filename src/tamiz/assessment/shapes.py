"""Tests of the shape of the relation of a numeric column and a target: monotone, bent or stepped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tamiz.arrays import Floats
from tamiz.assessment.effect_sizes import HEAVY_SHARE, tail_share
from tamiz.statistics.two_samples import WeightedRows, mid_ranks, t_p_value

Shape: TypeAlias = Literal["", "increasing", "decreasing", "U-shaped", "inverted U", "threshold"]


# Rows from which a shape is estimated; it needs so many, a turning point so large a share of them on each side, and so many values
# and rows outside the most frequent value of the target on each side.
_MAX_ROWS, _MIN_ROWS, _MIN_SIDE, _MIN_SIDE_VALUES, _MIN_SIDE_ROWS = 20_000, 40, 0.15, 4, 8
# Cuts that may be a threshold, and the p-value above which the slopes beside it are no slopes.
_N_CUTS, _MAX_STEP_SLOPE = 36, 0.01


@dataclass(frozen=True)
class ShapeTests:
    """The p-values of a monotone, a bent and a stepped relation, and what is claimed if they are small."""

    monotone: float
    monotone_shape: Shape
    bent: float
    bent_shape: Shape
    turning_point: float
    threshold: float
    step_at: float


def shape_tests(x: Floats, y: Floats, rows: WeightedRows) -> ShapeTests | None:
    """Return the tests of the shape of y over the ranks of x; None with too few rows or values."""
    if len(x) > _MAX_ROWS:
        some = np.linspace(0, len(x) - 1, _MAX_ROWS).astype(np.intp)
        x, y, rows = x[some], y[some], rows.take(some)
    if rows.n_units < _MIN_ROWS or len(np.unique(x)) < 2 * _MIN_SIDE_VALUES:
        return None
    if len(np.unique(y)) > 2 and tail_share(y, rows.weight) >= HEAVY_SHARE:
        y = mid_ranks(y, rows.weight)
    y = y / float(np.abs(y).max())
    y = y - float(rows.mean(y))
    u = mid_ranks(x, rows.weight) - 0.5
    halves = _BrokenLine.fit(u, y, 0.0, rows)
    design = np.column_stack([np.ones(len(u)), u, u**2]) * np.sqrt(rows.weight)[:, None]
    _, slope, bend = np.linalg.lstsq(design, y * np.sqrt(rows.weight), rcond=None)[0]
    vertex = float(np.clip(-slope / (2 * bend) if bend else 0.0, _MIN_SIDE - 0.5, 0.5 - _MIN_SIDE))
    sides = _BrokenLine.fit(u, y, vertex, rows)
    if halves is None or sides is None:
        return None
    monotone = max(halves.p_left, halves.p_right) if halves.left * halves.right > 0 else 1.0
    bent = max(sides.p_left, sides.p_right) if sides.left * sides.right < 0 else 1.0
    cuts = np.linspace(_MIN_SIDE - 0.5, 0.5 - _MIN_SIDE, _N_CUTS)
    at = float(cuts[np.argmin(_left_over(u, y, rows.weight, cuts))])
    threshold, step = 1.0, _BrokenLine.fit(u, y, at, rows)
    if step is not None and min(step.p_left, step.p_right) > _MAX_STEP_SLOPE:
        threshold = min(step.p_jump * _N_CUTS, 1.0)
    upper = np.sort(x[u >= at])
    lower = x[u < at]
    step_at = (float(upper[0]) + float(lower.max())) / 2 if len(lower) and len(upper) else float(np.median(x))
    turning = float(np.interp(vertex, np.sort(u), np.sort(x)))
    return ShapeTests(
        monotone,
        "increasing" if halves.left > 0 else "decreasing",
        bent,
        "U-shaped" if sides.right > 0 else "inverted U",
        turning,
        threshold,
        step_at,
    )


def _left_over(u: Floats, y: Floats, weight: Floats, cuts: Floats) -> Floats:
    """Return the sum of squares that lines on both sides of each cut leave; infinity if all rows are on one side."""
    order = np.argsort(u, kind="stable")
    w, v, z = weight[order], u[order], y[order]
    sums = np.cumsum(w * np.stack([np.ones(len(v)), v, v * v, z, v * z, z * z]), axis=1)
    n_left = np.searchsorted(v, cuts)
    between = (n_left > 0) & (n_left < len(v))
    left = sums[:, n_left[between] - 1]
    total = np.zeros(left.shape[1])
    for n, su, suu, sy, suy, syy in (left, sums[:, -1:] - left):
        variance = suu - su**2 / n
        explained = (suy - su * sy / n) ** 2 / np.where(variance > 0, variance, 1.0)
        total += syy - sy**2 / n - np.where(variance > 0, explained, 0.0)
    everywhere = np.full(len(cuts), np.inf)
    everywhere[between] = total
    return everywhere


@dataclass(frozen=True)
class _BrokenLine:
    """Lines on both sides of a cut with a jump between them: slopes, and p-values of these and the jump."""

    left: float
    right: float
    p_left: float
    p_right: float
    p_jump: float

    @classmethod
    def fit(cls, u: Floats, y: Floats, cut: float, rows: WeightedRows) -> _BrokenLine | None:
        """Fit by least squares, with variances from the residuals of rows or groups; None if a side has too few values."""
        above = u >= cut
        for side in (above, ~above):
            if len(np.unique(u[side])) < _MIN_SIDE_VALUES:
                return None
            # Where nearly all rows have one value of the target, a few rows decide, whose variance is not known.
            _, codes = np.unique(y[side], return_inverse=True)
            counts = np.bincount(codes, rows.weight[side])
            if counts.sum() - counts.max() < _MIN_SIDE_ROWS:
                return None
        design = np.column_stack([~above, above, np.where(above, 0.0, u - cut), np.where(above, u - cut, 0.0)]).astype(
            float
        )
        weighted = design * rows.weight[:, None]
        inverse = np.linalg.inv(design.T @ weighted)
        beta = inverse @ (weighted.T @ y)
        residual = y - design @ beta
        n = rows.count(rows.weight)
        covariance = rows.covariance(rows.total * (design @ inverse) * residual[:, None]) * n / max(n - 4, 1.0)
        dof = max(rows.n_units - 4, 1.0)

        def p_value(contrast: list[float]) -> float:
            variance = float(np.array(contrast) @ covariance @ np.array(contrast))
            size = abs(float(np.array(contrast) @ beta))
            return t_p_value(size / math.sqrt(variance), dof) if variance > 0 else float(size == 0)

        return cls(
            float(beta[2]),
            float(beta[3]),
            p_value([0, 0, 1, 0]),
            p_value([0, 0, 0, 1]),
            p_value([-1, 1, 0, 0]),
        )
