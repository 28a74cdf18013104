"""The Shepard diagram: distances on a map against those of the data, over all pairs or a sample of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tamiz.arrays import Floats, Indices
from tamiz.metrics.embedding_pair import read_embedding_pair
from tamiz.metrics.estimates import SampleEstimate
from tamiz.metrics.pair_scan import PairScanResult
from tamiz.metrics.stress import fit_from_scan, initial_scales
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.validation import check_integer

# Parts of the sampled pairs over which the standard error of the rank correlation is computed.
_PARTS = 20


@dataclass(frozen=True)
class PairSample:
    """A sample of pairs of rows.

    Attributes
    ----------
    points : ndarray of shape (n_rows, n_drawn)
        Partners of each row, never the row itself.
    part : ndarray of shape (n_rows,)
        Random part of each row, for the standard error.
    is_complete : bool
        Whether the sample contains all pairs, each from both sides.
    """

    points: NDArray[np.int32]
    part: Indices
    is_complete: bool

    @classmethod
    def draw(cls, rows: Indices, n: int, n_pairs: int, rng: np.random.Generator) -> PairSample:
        """Draw about n_pairs pairs, equally many for each row, or use all pairs of these rows where there are no more."""
        m = len(rows)
        part = rng.permutation(m) % min(_PARTS, m)
        every = m == n and n * (n - 1) // 2 <= n_pairs
        if every or m * (n - 1) <= n_pairs:
            others = np.broadcast_to(np.arange(n - 1, dtype=np.int32), (m, n - 1))
        else:
            others = rng.integers(0, n - 1, size=(m, -(-n_pairs // m)), dtype=np.int32)
        return cls(others + (others >= rows[:, None]), part, every)

    def distances(self, scan: PairScanResult, rows: Indices) -> tuple[Floats, Floats, Indices]:
        """Return the distances of the pairs in the data and on the map, and the part of each pair; every pair once."""
        kept = self.points > rows[:, None] if self.is_complete else np.ones(self.points.shape, dtype=bool)
        return (
            scan.data_distances[kept],
            scan.map_distances[kept],
            np.broadcast_to(self.part[:, None], kept.shape)[kept],
        )


def spearman_correlation(d: Floats, e: Floats) -> float:
    """Return Spearman's correlation with mean ranks for ties; 0 where all values of one array are equal."""
    a, b = (rankdata(values) - (len(values) + 1) / 2 for values in (d, e))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip((a @ b) / size, -1.0, 1.0)) if size else 0.0


def rank_correlation_estimate(sample: PairSample, scan: PairScanResult, rows: Indices) -> SampleEstimate:
    """Return Spearman's correlation of the distances of the pairs, with its standard error.

    The standard error of sampled pairs is the spread of the correlation over parts of the rows: pairs of one row are not
    independent of each other.
    """
    d, e, part = sample.distances(scan, rows)
    if sample.is_complete:
        return SampleEstimate(spearman_correlation(d, e), 0.0)
    # -1 is all pairs. Sorting, most of the work, releases the interpreter lock.
    value, *several = parallel.map_blocks(
        lambda p: spearman_correlation(*((d, e) if p < 0 else (d[part == p], e[part == p]))),
        range(-1, int(part.max()) + 1),
    )
    return SampleEstimate(value, float(np.std(several, ddof=1) / np.sqrt(len(several))))


@dataclass(frozen=True)
class ShepardDiagram:
    """Pairs of rows by their distances in the data and on a map.

    Attributes
    ----------
    dissimilarities, distances : ndarray of shape (n_pairs,)
        Distances in the data and on the map, of all pairs or of a sample of pairs.
    scale : float
        Least-squares factor from distances on the map to distances of the data.
    correlation : float
        Pearson's correlation over all pairs.
    rank_correlation, rank_correlation_error : float
        Spearman's correlation over these pairs, and its standard error; 0 where they are all pairs.
    all_pairs : bool
        Whether the arrays contain all pairs.
    """

    dissimilarities: Floats
    distances: Floats
    scale: float
    correlation: float
    rank_correlation: float
    rank_correlation_error: float
    all_pairs: bool


def shepard(
    X: Any, embedding: Any, *, metric: str = "euclidean", n_pairs: int = 200_000, random_state: Seed = 0
) -> ShepardDiagram:
    """Distances on a map against those of the data, pair by pair, and their correlations.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows that were mapped; a square matrix of distances with metric="precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, from any method.
    metric : str, default="euclidean"
        Metric of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are
        always Euclidean.
    n_pairs : int, default=200000
        Returns all pairs if there are at most this many (632 rows at the default), else about this many drawn at random, equally
        many for each row.
    random_state : int, Generator or None, default=0
        Draws the pairs.

    Returns
    -------
    ShepardDiagram
        `dissimilarities`, `distances`, `scale`, `correlation`, `rank_correlation`.

    Raises
    ------
    DataError
        When there is not one row of coordinates for every row of X, or all distances are 0.

    Notes
    -----
    Cost O(n^2 p), because Pearson's correlation and the scale are computed from all pairs. A correlation is 0 where all distances
    in the data, or all on the map, are equal.

    References
    ----------
    Shepard (1962), The analysis of proximities, Psychometrika 27.

    Examples
    --------
    >>> from tamiz.metrics import shepard
    >>> found = shepard([[0.0], [1.0], [3.0]], [[0.0], [2.0], [6.0]])
    >>> found.dissimilarities, found.distances, found.scale, round(found.correlation, 12)
    (array([1., 3., 2.]), array([2., 6., 4.]), 0.5, 1.0)
    """
    check_integer("n_pairs", n_pairs, low=1)
    with parallel.thread_session():
        pair = read_embedding_pair(X, embedding, metric)
        sample = PairSample.draw(pair.rows, pair.n, n_pairs, make_rng(random_state))
        scales = initial_scales(pair)
        found = pair.scan(scales=scales, sampled_points=sample.points)
        fit = fit_from_scan(pair, scales, found)
        ranks = rank_correlation_estimate(sample, found, pair.rows)
    d, e, _ = sample.distances(found, pair.rows)
    return ShepardDiagram(d, e, fit.scale, fit.correlation().value, ranks.value, ranks.error, sample.is_complete)
