"""Scaling by majorisation: descents from one or more starts, and the best of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.majorization import stress_of_points
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.given_start import refuse_one_place
from tamiz.reduction.majorization import starts
from tamiz.reduction.majorization.curves import Curve
from tamiz.reduction.majorization.descent import LITTLE, Descent
from tamiz.reduction.majorization.ordinal import Ordinal
from tamiz.reduction.majorization.pairs import Pairs
from tamiz.reduction.majorization.problem import Problem
from tamiz.reduction.majorization.transformations import Interval, Ratio, Transformation
from tamiz.reduction.principal_axes import to_principal_axes
from tamiz.statistics.base import Floats

KINDS = ("metric", "interval", "ordinal")
TIES = ("primary", "secondary")
# Bytes that are kept for each pair beside its number and weight: fine values, disparities, and in ordinal scaling its ends, its
# weight, the blocks and at first the order.
BYTES = {"metric": 2, "interval": 12, "ordinal": 48}


def transformation_of(kind: str, ties: str, pairs: Pairs) -> Transformation:
    """Return what dissimilarities may be turned into."""
    if kind == "ordinal":
        return Ordinal(pairs, ties)
    return Interval(pairs) if kind == "interval" else Ratio(pairs)


@dataclass(frozen=True)
class Scaled:
    """A map by majorisation.

    Attributes
    ----------
    points : ndarray of shape (n, n_components)
        In the unit of the pairs.
    stress : float
        Kruskal's stress-1.
    stress_per_point : ndarray of shape (n,)
    course : ndarray of shape (n_steps + 1,)
    n_iter : int
    converged : bool
    curve : Curve
    disparities : ndarray of shape (n_pairs,)
        NaN where no dissimilarity is known.
    """

    points: Floats
    stress: float
    stress_per_point: Floats
    course: Floats
    n_iter: int
    converged: bool
    curve: Curve
    disparities: NDArray[Any]


@dataclass
class Scaling:
    """Descents from starts, one after the other; what the best one has come to is there at any time.

    Attributes
    ----------
    problem : Problem
    best : Descent or None
    """

    problem: Problem
    best: Descent | None = None

    def run(self, configurations: Iterator[Floats], max_iter: int, tol: float) -> None:
        """Descend from each configuration; the first of those with the least stress is kept."""
        for points in configurations:
            descent = self._begun(points)
            try:
                descent.run(max_iter, tol)
            finally:
                # Also when the user has had enough.
                if self.best is None or descent.state.stress < self.best.state.stress:
                    self.best = descent

    def _begun(self, points: Floats) -> Descent:
        """Return a descent from points; dimensions that hold none of them are left flat where nothing is lacking without."""
        descent = Descent(self.problem, points)
        if descent.state.stress <= LITTLE:
            return descent
        filled = starts.out_of_flatness(points)
        return descent if filled is None else Descent(self.problem, filled)

    def scaled(self, *, turn: bool) -> Scaled:
        """Return the best map, along its principal axes where it is to be turned."""
        assert self.best is not None
        points, pairs = self.best.state.points, self.problem.pairs
        if turn:
            points = to_principal_axes(points.T).of(points.T).T
        final = self.problem.at(points)
        given = np.ascontiguousarray(final.points, dtype=pairs.dtype)
        transformation = self.problem.transformation
        disparities = transformation.disparities()
        sums, _ = pairs.added(
            lambda *span: stress_of_points(disparities, pairs.weights, given, *span), (2, pairs.n), np.float64
        )
        per_point = np.sqrt(np.divide(sums[0], sums[1], out=np.zeros(pairs.n), where=sums[1] > 0))
        if pairs.is_weighted:
            disparities = np.where(pairs.weights > 0, disparities, np.nan)
        return Scaled(
            np.ascontiguousarray(final.points.T),
            float(np.sqrt(final.stress)),
            per_point,
            np.array(self.best.course),
            self.best.n_iter,
            self.best.converged,
            transformation.curve(),
            disparities,
        )


def configurations(
    init: Any,
    n_init: int,
    rows: Dissimilarities,
    pairs: Pairs,
    n_components: int,
    rng: np.random.Generator,
    first: NDArray[np.intp],
) -> Iterator[Floats]:
    """Yield the start that was asked for, then random ones; equal rows start, and so stay, at one place."""
    for k in range(n_init):
        if k > 0 or (isinstance(init, str) and init == "random"):
            points = starts.drawn(pairs, n_components, rng)
        elif isinstance(init, str):
            points = starts.classical(rows, pairs, n_components)
        else:
            points = starts.given(init, pairs, n_components)
        points = points[:, first]
        refuse_one_place(points.T)
        # In a unit of its own, so that squares are near 1 whatever a user starts from; the best scale is found anyway.
        yield points / float(np.abs(points - points[:, :1]).max())
