"""Configurations that a descent starts from."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz import parallel
from tamiz.kernels.majorization import condense, expand_condensed, impute_by_triangle
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.given_start import read_initial_embedding
from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.majorization.pairs import CondensedPairs
from tamiz.reduction.scaling import scale_coordinates, scale_distances
from tamiz.statistics.base import Floats
from tamiz.validation import check_memory

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
