"""Configurations that a descent starts from."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz import parallel
from tamiz.kernels.majorization import bridge, fold, unfold
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.given_start import given_start
from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.majorization.pairs import Pairs
from tamiz.reduction.scaling import by_columns, by_distances
from tamiz.statistics.base import Floats
from tamiz.validation import check_memory

CHOICES = ("classical", "random")
# Rows that are asked for what the triangle inequality says of a missing distance.
_ASKED = 500
# What coordinates without an eigenvalue are filled with, next to the first: nothing moves points out of a line or plane that holds
# them all.
_NOISE = 1e-2
# No seed that anyone makes data with.
_SEED = 2_718_281_829


class Unfolded(Dissimilarities):
    """Rows known by the numbers of their pairs."""

    square, linear = 1.0, 0.0

    def __init__(self, pairs: Pairs, values: Floats) -> None:
        super().__init__(pairs)
        self._values = values

    def block(self, queries: Any, start: int, stop: int) -> Floats:  # noqa: ARG002 - all rows are their own queries
        """Return distances."""
        out = np.empty((stop - start, self.points.n))
        unfold(self._values, self.points.n, start, stop, out)
        return out

    def distances(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances."""
        return self.block(queries, start, stop)


def classical(rows: Dissimilarities, pairs: Pairs, n_components: int) -> Floats:
    """Return the map by classical scaling, in the unit of the pairs; missing dissimilarities are filled from those there are.

    Parameters
    ----------
    rows : Dissimilarities
    pairs : Pairs
    n_components : int

    Returns
    -------
    ndarray of shape (n_components, n)
    """
    values = rows.columns()
    if values is not None:
        points = by_columns(values / pairs.unit, n_components).embedding
    else:
        held = _filled(pairs) if pairs.is_weighted and not pairs.weights.all() else pairs.values
        points = by_distances(Unfolded(pairs, held), n_components, None).embedding
    return np.ascontiguousarray(points.T)


def out_of_flatness(points: Floats) -> Floats | None:
    """Return points with a little noise in every dimension that holds none of them, None where there is no such dimension."""
    flat = ~points.any(axis=1)
    if not flat.any():
        return None
    filled = points.copy()
    noise = np.random.default_rng(_SEED).standard_normal((int(flat.sum()), points.shape[1]))
    filled[flat] = _NOISE * max(float(points.std()), _NOISE) * noise
    return filled


def drawn(pairs: Pairs, n_components: int, rng: np.random.Generator) -> Floats:
    """Return points drawn from a normal distribution."""
    return rng.standard_normal((n_components, pairs.n))


def given(init: Any, pairs: Pairs, n_components: int) -> Floats:
    """Return the configuration that a user starts from, centred."""
    points = given_start(init, CHOICES, pairs.n, n_components)
    points /= power_of_two(float(np.abs(points).max()))
    return np.ascontiguousarray((points - points.mean(axis=0)).T)


def _filled(pairs: Pairs) -> Floats:
    """Return the numbers of all pairs, of those not known what the triangle inequality leaves in the middle, else the mean."""
    n = pairs.n
    check_memory(
        16.0 * n * n, f"A start for {n:,} rows with missing dissimilarities", "Pass init='random' or an array."
    )
    known = pairs.square(np.where(pairs.weights > 0, pairs.values, np.nan))
    out = known.copy()
    step = -(-n // _ASKED)
    for _ in parallel.map_blocks(lambda span: bridge(known, *span, step, out), parallel.spans(n, 64)):
        pass
    out[np.isnan(out)] = np.nanmean(known)
    held = np.empty_like(pairs.values)
    fold(out, 1.0, held)
    return held
