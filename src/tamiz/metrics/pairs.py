"""Pairs of rows, all of them or drawn, and the rank correlation of their distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tamiz.metrics.estimates import SampleEstimate
from tamiz.metrics.passes import PairScanResult
from tamiz.metrics.slabs import RowIndices
from tamiz.statistics.base import Floats

# Parts that a correlation of drawn pairs is looked at in, one by one, for its standard error.
_PARTS = 20


@dataclass(frozen=True)
class PairSample:
    """Pairs of some rows and others.

    Attributes
    ----------
    points : ndarray of shape (n_rows, n_drawn)
        The other of each pair, never the row itself.
    part : ndarray of shape (n_rows,)
        What part each row is in, drawn as well.
    is_complete : bool
        Whether these are all pairs there are, each from both sides.
    """

    points: NDArray[np.int32]
    part: NDArray[np.intp]
    is_complete: bool

    @classmethod
    def draw(cls, rows: RowIndices, n: int, n_pairs: int, rng: np.random.Generator) -> PairSample:
        """Draw about so many pairs, as many from each row, or take all of these rows where there are no more."""
        m = len(rows)
        part = rng.permutation(m) % min(_PARTS, m)
        every = m == n and n * (n - 1) // 2 <= n_pairs
        if every or m * (n - 1) <= n_pairs:
            others = np.broadcast_to(np.arange(n - 1, dtype=np.int32), (m, n - 1))
        else:
            others = rng.integers(0, n - 1, size=(m, -(-n_pairs // m)), dtype=np.int32)
        return cls(others + (others >= rows[:, None]), part, every)

    def distances(self, scan: PairScanResult, rows: RowIndices) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """Return the distances of the pairs, in the data and on the map, and the part that each is in; every pair once."""
        kept = self.points > rows[:, None] if self.is_complete else np.ones(self.points.shape, dtype=bool)
        return (
            scan.data_distances[kept],
            scan.map_distances[kept],
            np.broadcast_to(self.part[:, None], kept.shape)[kept],
        )


def spearman_correlation(d: Floats, e: Floats) -> float:
    """Return Spearman's correlation, equal values at the mean of their ranks; 0 where one side's are all equal."""
    a, b = (rankdata(values) - (len(values) + 1) / 2 for values in (d, e))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip((a @ b) / size, -1.0, 1.0)) if size else 0.0


def rank_correlation_estimate(sample: PairSample, scan: PairScanResult, rows: RowIndices) -> SampleEstimate:
    """Return Spearman's correlation of the distances of pairs.

    The standard error of drawn pairs is from the spread of the correlation over parts of the rows: one of the pairs would take
    pairs of one row for strangers.
    """
    d, e, part = sample.distances(scan, rows)
    value = spearman_correlation(d, e)
    if sample.is_complete:
        return SampleEstimate(value, 0.0)
    several = [spearman_correlation(d[part == p], e[part == p]) for p in range(int(part.max()) + 1)]
    return SampleEstimate(value, float(np.std(several, ddof=1) / np.sqrt(len(several))))
