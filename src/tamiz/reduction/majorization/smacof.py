"""SMACOF from one or more initial configurations (classical, random or given), of which the best solution is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
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

MDS_KINDS: tuple[str, ...] = ("metric", "interval", "ordinal")
TIE_RULES = ("primary", "secondary")
# Bytes for each pair beside its value and weight: shifted values, disparities, and for ordinal scaling row numbers, weight, blocks
# and the sort order.
BYTES_PER_PAIR_BY_KIND = {"metric": 2, "interval": 12, "ordinal": 48}
INIT_CHOICES = ("classical", "random")
# Intermediate rows from which the triangle inequality bounds a missing distance.
_TRIANGLE_ROWS = 500
# Relative size of the noise in dimensions without a positive eigenvalue: majorisation never leaves a subspace that contains all
# points.
_FLAT_NOISE = 1e-2
# An unusual seed, independent of seeds that generate data.
_SEED = 2_718_281_829


def create_transformation(kind: str, ties: str, pairs: CondensedPairs) -> Transformation:
    if kind == "ordinal":
        return OrdinalTransformation(pairs, ties)
    return IntervalTransformation(pairs) if kind == "interval" else RatioTransformation(pairs)


@dataclass(frozen=True)
class SmacofSolution:
    """A SMACOF solution.

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
        NaN where the dissimilarity is missing.
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
    """Minimisation from several starts, one after the other; `best` is available at any time.

    Attributes
    ----------
    function : StressFunction
    best : StressMinimizer or None
    """

    function: StressFunction
    best: StressMinimizer | None = None

    def run(self, configurations: Iterator[Floats], max_iter: int, tol: float) -> None:
        """Minimise from each configuration; keep the best, the first of ties."""
        for points in configurations:
            minimizer = self._start_minimizer(points)
            try:
                minimizer.run(max_iter, tol)
            finally:
                # Also after an interruption.
                if self.best is None or minimizer.state.stress < self.best.state.stress:
                    self.best = minimizer

    def _start_minimizer(self, points: Floats) -> StressMinimizer:
        """Return a minimiser; flat dimensions are filled with noise unless the fit is already perfect."""
        minimizer = StressMinimizer(self.function, points)
        if minimizer.state.stress <= NEAR_ZERO_STRESS:
            return minimizer
        filled = fill_flat_dimensions(points)
        return minimizer if filled is None else StressMinimizer(self.function, filled)

    def solution(self, *, rotate: bool) -> SmacofSolution:
        """Return the best solution, rotated to its principal axes if `rotate`."""
        assert self.best is not None
        points, pairs = self.best.state.points, self.function.pairs
        if rotate:
            points = principal_axes_rotation(points.T).project_rows(points.T).T
        final = self.function.evaluate(points)
        typed = np.ascontiguousarray(final.points, dtype=pairs.dtype)
        transformation = self.function.transformation
        disparities = transformation.disparities()
        sums, _ = pairs.accumulate(
            lambda *span: stress_per_point(disparities, pairs.weights, typed, *span), (2, pairs.n), np.float64
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
    first_occurrences: Indices,
) -> Iterator[Floats]:
    """Yield the requested start, then random ones; equal rows start, and so stay, at equal points."""
    for k in range(n_init):
        if k > 0 or (isinstance(init, str) and init == "random"):
            points = random_start(pairs, n_components, rng)
        elif isinstance(init, str):
            points = classical_start(dissimilarities, pairs, n_components)
        else:
            points = user_start(init, pairs, n_components)
        points = points[:, first_occurrences]
        check_distinct_points(points.T)
        # Scaled so that squares are near 1; the minimiser finds the best scale anyway.
        yield points / float(np.abs(points - points[:, :1]).max())


class CondensedDissimilarities(Dissimilarities):
    """Condensed pairs as dissimilarities, for classical scaling."""

    quadratic, linear = 1.0, 0.0

    def __init__(self, pairs: CondensedPairs, values: Floats) -> None:
        super().__init__(pairs)
        self._values = values

    def block(self, queries: Any, start: int, stop: int) -> Floats:  # noqa: ARG002 - all rows are their own queries
        out = np.empty((stop - start, self.points.n))
        expand_condensed(self._values, self.points.n, start, stop, out)
        return out

    def distances(self, queries: Any, start: int, stop: int) -> Floats:
        return self.block(queries, start, stop)


def classical_start(dissimilarities: Dissimilarities, pairs: CondensedPairs, n_components: int) -> Floats:
    """Return the classical scaling solution in the unit of the pairs; missing dissimilarities are imputed.

    Parameters
    ----------
    dissimilarities : Dissimilarities
    pairs : CondensedPairs
    n_components : int

    Returns
    -------
    ndarray of shape (n_components, n)
    """
    values = dissimilarities.euclidean_coordinates()
    if values is not None:
        points = scale_coordinates(values / pairs.unit, n_components).embedding
    else:
        filled = _fill_missing(pairs) if pairs.is_weighted and not pairs.weights.all() else pairs.values
        points = scale_distances(CondensedDissimilarities(pairs, filled), n_components, None).embedding
    return np.ascontiguousarray(points.T)


def fill_flat_dimensions(points: Floats) -> Floats | None:
    """Return points with noise in every dimension where all are 0, None if there is no such dimension."""
    flat = ~points.any(axis=1)
    if not flat.any():
        return None
    filled = points.copy()
    noise = np.random.default_rng(_SEED).standard_normal((int(flat.sum()), points.shape[1]))
    filled[flat] = _FLAT_NOISE * max(float(points.std()), _FLAT_NOISE) * noise
    return filled


def random_start(pairs: CondensedPairs, n_components: int, rng: np.random.Generator) -> Floats:
    return rng.standard_normal((n_components, pairs.n))


def user_start(init: Any, pairs: CondensedPairs, n_components: int) -> Floats:
    """Return the init array, checked, scaled and centred."""
    points = read_initial_embedding(init, INIT_CHOICES, pairs.n, n_components)
    points /= power_of_two(float(np.abs(points).max()))
    return np.ascontiguousarray((points - points.mean(axis=0)).T)


def _fill_missing(pairs: CondensedPairs) -> Floats:
    """Impute missing dissimilarities by the middle of their triangle inequality bounds, else by the mean."""
    n = pairs.n
    check_memory(
        16.0 * n * n,
        f"The classical start for {n:,} rows with missing dissimilarities",
        "Pass init='random' or an array.",
    )
    known = pairs.to_square(np.where(pairs.weights > 0, pairs.values, np.nan))
    out = known.copy()
    step = -(-n // _TRIANGLE_ROWS)
    parallel.run_blocks(lambda span: impute_by_triangle(known, *span, step, out), parallel.block_ranges(n, 64))
    out[np.isnan(out)] = np.nanmean(known)
    values = np.empty_like(pairs.values)
    condense(out, 1.0, values)
    return values
