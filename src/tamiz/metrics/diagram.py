"""The Shepard diagram: distances on a map against those of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tamiz import parallel
from tamiz.metrics.fits import fit_from_scan, initial_scales
from tamiz.metrics.judged import read_embedding_pair
from tamiz.metrics.pairs import PairSample, rank_correlation_estimate
from tamiz.random import Seed, make_rng
from tamiz.statistics.base import Floats
from tamiz.validation import check_integer


@dataclass(frozen=True)
class ShepardDiagram:
    """Pairs of rows by their distances in the data and on a map.

    Attributes
    ----------
    dissimilarities, distances : ndarray of shape (n_pairs,)
        In the data, and on the map: of all pairs, or of pairs that were drawn.
    scale : float
        What distances on the map are multiplied by to fit those of the data best.
    correlation : float
        Pearson's, of all pairs.
    rank_correlation, rank_correlation_error : float
        Spearman's, of the pairs here; its standard error is 0 where these are all.
    all_pairs : bool
        Whether these are all pairs.
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
    """Distances on a map against those of the data, pair by pair, and how far they go together.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Source
        The rows of the map; a square matrix of distances where the metric is "precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, of any method.
    metric : str, default="euclidean"
        Of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are Euclidean.
    n_pairs : int, default=200000
        All pairs are given where there are no more, which is so up to 632 rows; else about so many, drawn, as many of each row.
    random_state : int, Generator or None, default=0
        For the pairs drawn.

    Returns
    -------
    Shepard
        `dissimilarities`, `distances`, `scale`, `correlation`, `rank_correlation`.

    Raises
    ------
    DataError
        When there is not one row of coordinates for every row of X, or all distances are 0.

    Notes
    -----
    Cost O(n^2 p), for Pearson's correlation and the scale are those of all pairs. A correlation is 0 where all distances of one
    side are equal.

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
        judged = read_embedding_pair(X, embedding, metric)
        drawn = PairSample.draw(judged.rows, judged.n, n_pairs, make_rng(random_state))
        scales = initial_scales(judged)
        found = judged.scan(scales=scales, sampled_points=drawn.points)
        fit = fit_from_scan(judged, scales, found)
    ranks = rank_correlation_estimate(drawn, found, judged.rows)
    d, e, _ = drawn.distances(found, judged.rows)
    return ShepardDiagram(d, e, fit.scale, fit.correlation().value, ranks.value, ranks.error, drawn.is_complete)
