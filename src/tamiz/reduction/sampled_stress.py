"""The stress of a map on a random sample of pairs, for maps of many rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz.arrays import Floats, Indices
from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.landmarks import RowSubsets

# Up to this many rows all pairs are used.
_MAX_EXACT_ROWS = 1024
# Above, all pairs within random disjoint groups of rows: number of groups, rows of a group.
_MAX_GROUPS, _GROUP_SIZE = 640, 32


@dataclass(frozen=True)
class SampledStress:
    """The stress of a map at its best scale, over a sample of pairs.

    .. math:: \\min_b \\sqrt{\\sum (\\delta - b d)^2 / \\sum \\delta^2}

    Attributes
    ----------
    value : float
        In [0, 1].
    error : float
        Standard error as an estimate of the stress of all pairs, from the differences between groups; 0 for all pairs.
    scale : float
        The best b; 1 if all points coincide.
    """

    value: float
    error: float
    scale: float


class SampledPairs:
    """A sample of pairs with their dissimilarities: all pairs of up to 1,024 rows, else the pairs within random disjoint groups.

    Parameters
    ----------
    subsets : RowSubsets
    rng : Generator

    Attributes
    ----------
    exact : bool
        Whether the sample contains all pairs.
    rows : ndarray of shape (n_groups, size)
    dissimilarities : ndarray of shape (n_groups, size (size - 1) / 2)
        Divided by `unit`.
    unit : float
        A power of two near the largest dissimilarity.
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
