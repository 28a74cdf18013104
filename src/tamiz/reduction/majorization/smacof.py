"""Scaling by majorisation: descents from one or more starts, and the best of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.majorization import condense, expand_condensed, impute_by_triangle, stress_per_point
from tamiz.reduction.base import check_distinct_points, read_initial_embedding
from tamiz.reduction.classical.extension import principal_axes_rotation
from tamiz.reduction.classical.scaling import scale_coordinates, scale_distances
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.majorization.guttman import StressFunction
from tamiz.reduction.majorization.minimizer import NEAR_ZERO_STRESS, StressMinimizer
from tamiz.reduction.majorization.pairs import CondensedPairs
from tamiz.reduction.majorization.transformations import (
    DisparityCurve,
    IntervalTransformation,
    OrdinalTransformation,
    RatioTransformation,
    Transformation,
)
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.statistics.base import Floats

# MERGED: Configurations that a descent starts from.
INIT_CHOICES = ("classical", "random")
# Rows that are asked for what the triangle inequality says of a missing distance.
_TRIANGLE_ROWS = 500
# What coordinates without an eigenvalue are filled with, next to the first: nothing moves points out of a line or plane that holds
# them all.
_FLAT_NOISE = 1e-2
# No seed that anyone makes data with.
_SEED = 2_718_281_829


class CondensedDissimilarities(Dissimilarities):
    """Rows known by the numbers of their pairs."""

    quadratic, linear = 1.0, 0.0

    def __init__(self, pairs: CondensedPairs, values: Floats) -> None:
        super().__init__(pairs)
        self._values = values

    def block(self, queries: Any, start: int, stop: int) -> Floats:  # noqa: ARG002 - all rows are their own queries
        """Return distances."""
        out = np.empty((stop - start, self.points.n))
        expand_condensed(self._values, self.points.n, start, stop, out)
        return out

    def distances(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances."""
        return self.block(queries, start, stop)


def classical_start(dissimilarities: Dissimilarities, pairs: CondensedPairs, n_components: int) -> Floats:
    """Return the map by classical scaling, in the unit of the pairs; missing dissimilarities are filled from those there are.

    Parameters
    ----------
    dissimilarities : Dissimilarities
    pairs : Pairs
    n_components : int

    Returns
    -------
    ndarray of shape (n_components, n)
    """
    values = dissimilarities.euclidean_coordinates()
    if values is not None:
        points = scale_coordinates(values / pairs.unit, n_components).embedding
    else:
        held = _fill_missing(pairs) if pairs.is_weighted and not pairs.weights.all() else pairs.values
        points = scale_distances(CondensedDissimilarities(pairs, held), n_components, None).embedding
    return np.ascontiguousarray(points.T)


def fill_flat_dimensions(points: Floats) -> Floats | None:
    """Return points with a little noise in every dimension that holds none of them, None where there is no such dimension."""
    flat = ~points.any(axis=1)
    if not flat.any():
        return None
    filled = points.copy()
    noise = np.random.default_rng(_SEED).standard_normal((int(flat.sum()), points.shape[1]))
    filled[flat] = _FLAT_NOISE * max(float(points.std()), _FLAT_NOISE) * noise
    return filled


def random_start(pairs: CondensedPairs, n_components: int, rng: np.random.Generator) -> Floats:
    """Return points drawn from a normal distribution."""
    return rng.standard_normal((n_components, pairs.n))


def user_start(init: Any, pairs: CondensedPairs, n_components: int) -> Floats:
    """Return the configuration that a user starts from, centred."""
    points = read_initial_embedding(init, INIT_CHOICES, pairs.n, n_components)
    points /= power_of_two(float(np.abs(points).max()))
    return np.ascontiguousarray((points - points.mean(axis=0)).T)


def _fill_missing(pairs: CondensedPairs) -> Floats:
    """Return the numbers of all pairs, of those not known what the triangle inequality leaves in the middle, else the mean."""
    n = pairs.n
    check_memory(
        16.0 * n * n, f"A start for {n:,} rows with missing dissimilarities", "Pass init='random' or an array."
    )
    known = pairs.to_square(np.where(pairs.weights > 0, pairs.values, np.nan))
    out = known.copy()
    step = -(-n // _TRIANGLE_ROWS)
    for _ in parallel.map_blocks(
        lambda span: impute_by_triangle(known, *span, step, out), parallel.block_ranges(n, 64)
    ):
        pass
    out[np.isnan(out)] = np.nanmean(known)
    held = np.empty_like(pairs.values)
    condense(out, 1.0, held)
    return held


MDS_KINDS: tuple[str, ...] = ("metric", "interval", "ordinal")
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
        filled = fill_flat_dimensions(points)
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
            points = random_start(pairs, n_components, rng)
        elif isinstance(init, str):
            points = classical_start(dissimilarities, pairs, n_components)
        else:
            points = user_start(init, pairs, n_components)
        points = points[:, first_occurrences]
        check_distinct_points(points.T)
        # In a unit of its own, so that squares are near 1 whatever a user starts from; the best scale is found anyway.
        yield points / float(np.abs(points - points[:, :1]).max())
