"""The stress of a map over pairs that are drawn at random, where all are too many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.landmarks import RowIndices, RowSubsets
from tamiz.statistics.base import Floats

# Up to so many rows every pair is measured.
_MAX_EXACT_ROWS = 1024
# Rows are drawn in groups, whose pairs are measured: so many groups of so many.
_MAX_GROUPS, _GROUP_SIZE = 640, 32


@dataclass(frozen=True)
class SampledStress:
    """The stress of a map at its best scale over some pairs of its rows.

    .. math:: \\min_b \\sqrt{\\sum (\\delta - b d)^2 / \\sum \\delta^2}

    Attributes
    ----------
    value : float
        In [0, 1].
    error : float
        Its standard error as that of all pairs, from the differences between groups of rows; 0 where all pairs were measured.
    scale : float
        The best b; 1 where all places are equal.
    """

    value: float
    error: float
    scale: float


class SampledPairs:
    """Pairs of rows with their dissimilarities: all of few rows, of many those within disjoint groups drawn at random.

    Parameters
    ----------
    subsets : RowSubsets
    rng : Generator

    Attributes
    ----------
    exact : bool
        Whether they are all pairs.
    rows : ndarray of shape (n_groups, size)
    dissimilarities : ndarray of shape (n_groups, size (size - 1) / 2)
        In a power of two near the largest.
    unit : float
        That power.
    """

    def __init__(self, subsets: RowSubsets, rng: np.random.Generator) -> None:
        self.exact = subsets.n <= _MAX_EXACT_ROWS
        self.rows: RowIndices = np.arange(subsets.n)[None, :]
        if not self.exact:
            n_groups = min(_MAX_GROUPS, subsets.n // _GROUP_SIZE)
            self.rows = rng.choice(subsets.n, size=(n_groups, _GROUP_SIZE), replace=False)
        self._ends = np.triu_indices(self.rows.shape[1], 1)
        self.dissimilarities: Floats = np.stack([subsets.distances_among(group)[self._ends] for group in self.rows])
        self.unit = power_of_two(float(self.dissimilarities.max(initial=0.0)))
        self.dissimilarities /= self.unit

    def stress(self, embedding: Floats) -> SampledStress:
        """Return the stress of a map of all rows, one place a row."""
        d = self._distances(embedding)
        size = power_of_two(float(d.max(initial=0.0)))
        d /= size
        squares = float((d * d).sum())
        scale = float((self.dissimilarities * d).sum()) / squares if squares else 1.0
        left = ((self.dissimilarities - scale * d) ** 2).sum(axis=1)
        whole = (self.dissimilarities**2).sum(axis=1)
        if not whole.sum():
            return SampledStress(0.0, 0.0, 1.0)
        square = float(left.sum() / whole.sum())
        value = np.sqrt(square)
        error = 0.0
        if not self.exact and square:
            n_groups = len(left)
            # Of a ratio of sums: what each group leaves beside its share.
            spread = np.sqrt(n_groups / (n_groups - 1) * ((left - square * whole) ** 2).sum())
            error = float(spread / whole.sum() / (2.0 * value))
        return SampledStress(float(value), error, scale * self.unit / size if squares else 1.0)

    def _distances(self, embedding: Floats) -> Floats:
        first, second = self._ends
        places = embedding[self.rows]
        # The places' own unit, so that no square overflows.
        unit = power_of_two(float(np.abs(places).max(initial=0.0)))
        squares = np.zeros(self.dissimilarities.shape)
        for axis in np.moveaxis(places / unit, -1, 0):
            squares += (axis[:, first] - axis[:, second]) ** 2
        return np.asarray(np.sqrt(squares, out=squares) * unit)
