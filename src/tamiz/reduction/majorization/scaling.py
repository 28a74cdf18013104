"""Scaling by majorisation: descents from one or more starts, and the best of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.majorization import stress_per_point
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.given_start import check_distinct_points
from tamiz.reduction.majorization import starts
from tamiz.reduction.majorization.curves import DisparityCurve
from tamiz.reduction.majorization.descent import NEAR_ZERO_STRESS, StressMinimizer
from tamiz.reduction.majorization.ordinal import OrdinalTransformation
from tamiz.reduction.majorization.pairs import CondensedPairs
from tamiz.reduction.majorization.problem import StressFunction
from tamiz.reduction.majorization.transformations import IntervalTransformation, RatioTransformation, Transformation
from tamiz.reduction.principal_axes import principal_axes_rotation
from tamiz.statistics.base import Floats

MDS_KINDS = ("metric", "interval", "ordinal")
TIE_RULES = ("primary", "secondary")
# Bytes that are kept for each pair beside its number and weight: fine values, disparities, and in ordinal scaling its ends, its
# weight, the blocks and at first the order.
BYTES_PER_PAIR_BY_KIND = {"metric": 2, "interval": 12, "ordinal": 48}


def create_transformation(kind: str, ties: str, pairs: CondensedPairs) -> Transformation:
    """Return what dissimilarities may be turned into."""
    if kind == "ordinal":
        return OrdinalTransformation(pairs, ties)
    return IntervalTransformation(pairs) if kind == "interval" else RatioTransformation(pairs)


@dataclass(frozen=True)
class SmacofSolution:
    """A map by majorisation.

    Attributes
    ----------
    points : ndarray of shape (n, n_components)
        In the unit of the pairs.
    stress : float
        Kruskal's stress-1.
    stress_per_point : ndarray of shape (n,)
    stress_history : ndarray of shape (n_steps + 1,)
    n_iter : int
    converged : bool
    curve : DisparityCurve
    disparities : ndarray of shape (n_pairs,)
        NaN where no dissimilarity is known.
    """

    points: Floats
    stress: float
    stress_per_point: Floats
    stress_history: Floats
    n_iter: int
    converged: bool
    curve: DisparityCurve
    disparities: NDArray[Any]


@dataclass
class MultistartSmacof:
    """Descents from starts, one after the other; what the best one has come to is there at any time.

    Attributes
    ----------
    function : Problem
    best : Descent or None
    """

    function: StressFunction
    best: StressMinimizer | None = None

    def run(self, configurations: Iterator[Floats], max_iter: int, tol: float) -> None:
        """Descend from each configuration; the first of those with the least stress is kept."""
        for points in configurations:
            descent = self._start_minimizer(points)
            try:
                descent.run(max_iter, tol)
            finally:
                # Also when the user has had enough.
                if self.best is None or descent.state.stress < self.best.state.stress:
                    self.best = descent

    def _start_minimizer(self, points: Floats) -> StressMinimizer:
        """Return a descent from points; dimensions that hold none of them are left flat where nothing is lacking without."""
        descent = StressMinimizer(self.function, points)
        if descent.state.stress <= NEAR_ZERO_STRESS:
            return descent
        filled = starts.fill_flat_dimensions(points)
        return descent if filled is None else StressMinimizer(self.function, filled)

    def solution(self, *, rotate: bool) -> SmacofSolution:
        """Return the best map, along its principal axes where it is to be turned."""
        assert self.best is not None
        points, pairs = self.best.state.points, self.function.pairs
        if rotate:
            points = principal_axes_rotation(points.T).project_rows(points.T).T
        final = self.function.evaluate(points)
        given = np.ascontiguousarray(final.points, dtype=pairs.dtype)
        transformation = self.function.transformation
        disparities = transformation.disparities()
        sums, _ = pairs.accumulate(
            lambda *span: stress_per_point(disparities, pairs.weights, given, *span), (2, pairs.n), np.float64
        )
        per_point = np.sqrt(np.divide(sums[0], sums[1], out=np.zeros(pairs.n), where=sums[1] > 0))
        if pairs.is_weighted:
            disparities = np.where(pairs.weights > 0, disparities, np.nan)
        return SmacofSolution(
            np.ascontiguousarray(final.points.T),
            float(np.sqrt(final.stress)),
            per_point,
            np.array(self.best.stress_history),
            self.best.n_iter,
            self.best.converged,
            transformation.curve(),
            disparities,
        )


def initial_configurations(
    init: Any,
    n_init: int,
    dissimilarities: Dissimilarities,
    pairs: CondensedPairs,
    n_components: int,
    rng: np.random.Generator,
    first_occurrences: NDArray[np.intp],
) -> Iterator[Floats]:
    """Yield the start that was asked for, then random ones; equal rows start, and so stay, at one place."""
    for k in range(n_init):
        if k > 0 or (isinstance(init, str) and init == "random"):
            points = starts.random_start(pairs, n_components, rng)
        elif isinstance(init, str):
            points = starts.classical_start(dissimilarities, pairs, n_components)
        else:
            points = starts.user_start(init, pairs, n_components)
        points = points[:, first_occurrences]
        check_distinct_points(points.T)
        # In a unit of its own, so that squares are near 1 whatever a user starts from; the best scale is found anyway.
        yield points / float(np.abs(points - points[:, :1]).max())
