"""The Shepard diagram: distances on a map against those of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tamiz import parallel
from tamiz.metrics.fits import first_scales, fit_of
from tamiz.metrics.judged import read
from tamiz.metrics.pairs import Drawn, rank_correlation_of
from tamiz.random import Seed, generator
from tamiz.statistics.base import Floats
from tamiz.validation import check_integer


@dataclass(frozen=True)
class Shepard:
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
    every_pair : bool
        Whether these are all pairs.
    """

    dissimilarities: Floats
    distances: Floats
    scale: float
    correlation: float
    rank_correlation: float
    rank_correlation_error: float
    every_pair: bool


def shepard(
    X: Any, embedding: Any, *, metric: str = "euclidean", n_pairs: int = 200_000, random_state: Seed = 0
) -> Shepard:
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
    with parallel.session():
        judged = read(X, embedding, metric)
        drawn = Drawn.of(judged.rows, judged.n, n_pairs, generator(random_state))
        scales = first_scales(judged)
        found = judged.survey(scales=scales, drawn=drawn.points)
        fit = fit_of(judged, scales, found)
    ranks = rank_correlation_of(drawn, found, judged.rows)
    d, e, _ = drawn.distances(found, judged.rows)
    return Shepard(d, e, fit.scale, fit.correlation().value, ranks.value, ranks.error, drawn.every)
