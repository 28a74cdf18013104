"""Stress and correlation of the distances on a map and in the data, from sums over all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tamiz.arrays import Floats, Indices, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.metrics.embedding_pair import EmbeddingPair, read_embedding_pair
from tamiz.metrics.estimates import SampleEstimate, mean_estimate, ratio_estimate, root_estimate
from tamiz.metrics.pair_scan import PairDistances, PairScanResult
from tamiz.neighbors.base import evenly_spaced_rows
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.validation import check_choice, check_integer

# Parts of the sampled pairs over which the standard error of the rank correlation is computed.
_PARTS = 20


@dataclass(frozen=True)
class PairSample:
    """A sample of pairs of rows: the partners of each row, and a random part of each row for the standard error.

    `is_complete` is whether the sample contains all pairs, each from both sides.
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


# Rows whose distances determine the unit, the scale and the centres of the sums.
_PROBE_ROWS = 16
# The sums are computed again if the error of the scale exceeds this share of the squares and this share of the residual: the
# residual would lose digits.
_MIN_SQUARES_SHARE, _MIN_RESIDUAL_SHARE = 1e-25, 0.5
# Scales the largest accepted distance, 1e150, to about 1.
_SMALLEST_UNIT = 2.0**-500


@dataclass(frozen=True)
class DistanceFit:
    """Sums over the pairs of each of some rows with all n rows, as `kernels.map_quality.distance_sums` returns them.

    Distances d of the data and e of the map are each measured in their own unit; `scale` is the least-squares factor from e to
    d.
    """

    n: int
    scales: Floats
    sums: Floats

    @property
    def _scale_correction(self) -> float:
        """The best scale minus the scale at which the residuals were summed."""
        return _scale_correction(self.sums.sum(axis=0))

    @property
    def squares(self) -> Floats:
        """Sum of the squared distances of the data, for each row."""
        return self.sums[:, 0]

    @property
    def residuals(self) -> Floats:
        """Sum of the squared differences at the best scale of the map, for each row."""
        step = self._scale_correction
        parts = self.sums[:, 2] - 2.0 * step * self.sums[:, 3] + step * step * self.sums[:, 1]
        return np.maximum(parts, 0.0)

    @property
    def scale(self) -> float:
        """Least-squares factor from distances on the map to distances of the data."""
        return float((self.scales[2] + self._scale_correction) * self.scales[1] / self.scales[0])

    def normalized_stress(self, *, best: bool) -> SampleEstimate:
        """Return the normalised stress, at the best scale of the map or as it is."""
        if best:
            return root_estimate(ratio_estimate(self.residuals, self.squares, self.n))
        return _scale_estimate(
            root_estimate(ratio_estimate(self.sums[:, 4], self.squares, self.n)), 1.0 / float(self.scales[3])
        )

    def kruskal_stress(self, *, best: bool) -> SampleEstimate:
        """Return Kruskal's stress-1, at the best scale of the map or as it is."""
        if best:
            # The minimum over the scale b of sum (d - b e)^2 / sum (b e)^2 equals that of sum (d - b e)^2 / sum d^2.
            return self.normalized_stress(best=True)
        return _scale_estimate(
            root_estimate(ratio_estimate(self.sums[:, 4], self.sums[:, 1], self.n)), 1.0 / float(self.scales[4])
        )

    def row_stress(self) -> Floats:
        """Return the normalised stress of each row's pairs at the best scale of the whole map; 0 where all its distances are 0."""
        return np.sqrt(divide_or_zero(self.residuals, self.squares))

    def correlation(self) -> SampleEstimate:
        """Return Pearson's correlation of the distances; 0 where all distances of the data, or all of the map, are equal."""
        n_pairs = len(self.sums) * (self.n - 1)
        a, b, aa, bb, ab = (self.sums[:, 5:] / (self.n - 1)).T
        mean_a, mean_b = float(self.sums[:, 5].sum()) / n_pairs, float(self.sums[:, 6].sum()) / n_pairs
        # Moments about the means of all pairs, for each row.
        aa = aa - 2.0 * mean_a * a + mean_a**2
        bb = bb - 2.0 * mean_b * b + mean_b**2
        ab = ab - mean_a * b - mean_b * a + mean_a * mean_b
        spreads = float(aa.mean()), float(bb.mean())
        if min(spreads[0] / self._mean_square(0), spreads[1] / self._mean_square(1)) < 1e-28:
            return SampleEstimate(0.0, 0.0)
        size = float(np.sqrt(spreads[0]) * np.sqrt(spreads[1]))
        value = float(ab.mean()) / size
        influence = ab / size - value / 2.0 * (aa / spreads[0] + bb / spreads[1])
        return SampleEstimate(float(np.clip(value, -1.0, 1.0)), mean_estimate(influence, self.n).error)

    def _mean_square(self, side: int) -> float:
        """Return the mean squared distance in the data (0) or on the map (1)."""
        return float(self.sums[:, side].mean()) / (self.n - 1)


def _scale_estimate(estimate: SampleEstimate, factor: float) -> SampleEstimate:
    return SampleEstimate(estimate.value * factor, estimate.error * factor)


def _scale_correction(totals: Floats) -> float:
    return float(totals[3] / totals[1]) if totals[1] else 0.0


def initial_scales(pair: EmbeddingPair) -> Floats:
    """Return the units, scale and centres of the sums over pairs, from the distances of a few rows."""
    probes = evenly_spaced_rows(pair.n, _PROBE_ROWS)
    d, e = (np.array([_row_distances(space, int(row)) for row in probes]) for space in pair.spaces)
    units = [_unit(float(distances.max())) for distances in (d, e)]
    return _scales(d * units[0], e * units[1], units)


def _row_distances(space: PairDistances, row: int) -> Floats:
    others = np.delete(np.arange(space.points.n_samples, dtype=np.int32), row)
    return space.at(np.array([row])).listed_distances(others[None, :])[0]


def _unit(largest: float) -> float:
    return float(np.ldexp(1.0, -int(np.frexp(largest)[1]))) if largest > 0.0 else 1.0


def _scales(d: Floats, e: Floats, units: list[float]) -> Floats:
    squares = float((e * e).sum())
    scale = float((d * e).sum()) / squares if squares else 0.0
    least = min(units)
    return np.array([*units, scale, least / units[0], least / units[1], d.mean(), e.mean()])


def fit_from_scan(pair: EmbeddingPair, scales: Floats, scan: PairScanResult) -> DistanceFit:
    """Return the sums of a pass, or those of another pass with better scales where the first ones lose digits."""
    sums = scan.sums
    if not np.isfinite(sums).all():
        # Only without the triangle inequality: the distances of the probed rows were negligible beside the largest.
        units = [_SMALLEST_UNIT, float(scales[1])]
        scales = np.array([*units, 0.0, min(units) / units[0], min(units) / units[1], 0.0, 0.0])
        sums = pair.scan(scales=scales).sums
    totals = sums.sum(axis=0)
    gain = _scale_correction(totals) * float(totals[3])
    if gain > _MIN_SQUARES_SHARE * totals[0] and gain > _MIN_RESIDUAL_SHARE * totals[2]:
        scales = scales.copy()
        scales[2] += _scale_correction(totals)
        sums = pair.scan(scales=scales).sums
    if not sums[:, 0].any():
        raise DataError("All distances of X are 0, so a map has no structure to show.")
    if not sums[:, 1].any():
        raise DataError("All rows of the embedding have the same coordinates, so there is no distance to compare.")
    return DistanceFit(pair.n, scales, sums)


def fit_distances(pair: EmbeddingPair) -> DistanceFit:
    """Return the sums over pairs, in a pass of their own."""
    scales = initial_scales(pair)
    return fit_from_scan(pair, scales, pair.scan(scales=scales))


_SCALES = ("given", "best")


def normalized_stress(X: Any, embedding: Any, *, metric: str = "euclidean", scale: str = "given") -> float:
    r"""Root of the squared differences of distances over the squared distances of the data.

    .. math:: \sqrt{\sum_{i<j} (d_{ij} - b \hat d_{ij})^2 / \sum_{i<j} d_{ij}^2}

    with the distances d of the data and :math:`\hat d` of the map; b = 1 for scale="given".

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows that were mapped; a square matrix of distances with metric="precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, from any method.
    metric : str, default="euclidean"
        Metric of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are
        always Euclidean.
    scale : {"given", "best"}, default="given"
        Use the map as it is (b = 1), or at the least-squares scale b. Use "best" for methods whose distances have no unit (t-SNE,
        UMAP, Laplacian eigenmaps); the stress is then at most 1.

    Returns
    -------
    float
        At least 0, smaller is better.

    Raises
    ------
    DataError
        When there is not one row of coordinates for every row of X, or all distances are 0.

    Notes
    -----
    Cost O(n^2 p), memory O(n p): distances are computed in blocks and not stored. Rounding leaves a perfect fit at about 1e-15.
    At the best scale this equals Kruskal's stress at its best scale.

    References
    ----------
    Borg and Groenen (2005), Modern Multidimensional Scaling, section 11.1.

    Examples
    --------
    >>> from tamiz.metrics import normalized_stress
    >>> line, rotated = [[0.0], [1.0], [3.0]], [[0.0, 0.0], [0.0, 2.0], [0.0, 6.0]]
    >>> normalized_stress(line, rotated), round(normalized_stress(line, rotated, scale="best"), 12)
    (1.0, 0.0)
    """
    best = check_choice("scale", scale, _SCALES) == "best"
    with parallel.thread_session():
        return fit_distances(read_embedding_pair(X, embedding, metric)).normalized_stress(best=best).value


def kruskal_stress(X: Any, embedding: Any, *, metric: str = "euclidean", scale: str = "best") -> float:
    r"""Root of the squared differences of distances over the squared distances of the map: Kruskal's stress-1.

    .. math:: \sqrt{\sum_{i<j} (d_{ij} - b \hat d_{ij})^2 / \sum_{i<j} b^2 \hat d_{ij}^2}

    with the distances d of the data, :math:`\hat d` of the map, and the scale b that minimises it.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows that were mapped; a square matrix of distances with metric="precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, from any method.
    metric : str, default="euclidean"
        Metric of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are
        always Euclidean.
    scale : {"best", "given"}, default="best"
        Use the scale b that minimises the stress, or b = 1.

    Returns
    -------
    float
        At least 0, smaller is better; at the best scale at most 1.

    Raises
    ------
    DataError
        When there is not one row of coordinates for every row of X, or all distances are 0.

    Notes
    -----
    Cost and memory are those of `normalized_stress`. At the best scale the two are equal: the sine of the angle between the two
    vectors of distances. The stress of an ordinal map against its disparities, `stress_` of the map, is lower.

    References
    ----------
    Kruskal (1964), Multidimensional scaling by optimizing goodness of fit to a nonmetric hypothesis, Psychometrika 29.

    Examples
    --------
    >>> from tamiz.metrics import kruskal_stress
    >>> round(kruskal_stress([[0.0], [1.0], [3.0]], [[0.0], [1.0], [2.0]]), 6)
    0.188982
    """
    best = check_choice("scale", scale, _SCALES) == "best"
    with parallel.thread_session():
        return fit_distances(read_embedding_pair(X, embedding, metric)).kruskal_stress(best=best).value
