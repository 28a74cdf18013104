"""Rank agreement of the data and a map over all neighbourhood sizes (co-ranking matrix, Q_NX, LCMC, R_NX)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.metrics.embedding_pair import EmbeddingPair, check_three_rows, read_embedding_pair
from tamiz.metrics.estimates import SampleEstimate, mean_estimate
from tamiz.metrics.pair_scan import PairScanResult
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.validation import check_memory


@dataclass(frozen=True)
class RankAgreement:
    """Shares of the K nearest neighbours that data and map have in common, for every K.

    Attributes
    ----------
    n_neighbors : ndarray of shape (n_samples - 2,)
        K, from 1.
    q_nx : ndarray of the same shape
        Mean share of the K nearest neighbours in the data that are among the K nearest on the map.
    lcmc : ndarray of the same shape
        Local continuity meta-criterion: `q_nx` minus its value for a random map, K / (n_samples - 1).
    r_nx : ndarray of the same shape
        `q_nx` rescaled to 1 for a map that preserves all neighbours and 0 for a random map.
    area : float
        The mean of `r_nx` with weights 1 / K, so that small neighbourhoods count as much as large ones; at most 1.
    area_error : float
        Standard error of `area`; 0 where every row was counted.
    """

    n_neighbors: NDArray[np.int64]
    q_nx: Floats
    lcmc: Floats
    r_nx: Floats
    area: float
    area_error: float = 0.0


def rank_agreement(
    X: Any, embedding: Any, *, metric: str = "euclidean", sample: int | None = None, random_state: Seed = 0
) -> RankAgreement:
    r"""Curves Q_NX, LCMC and R_NX of a map over all sizes of neighbourhoods, and the area under R_NX.

    .. math:: R_{NX}(K) = \frac{(n - 1) Q_{NX}(K) - K}{n - 1 - K}, \quad
              \mathrm{area} = \sum_{K=1}^{n-2} \frac{R_{NX}(K)}{K} \Big/ \sum_{K=1}^{n-2} \frac{1}{K}

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows that were mapped; a square matrix of distances with metric="precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, from any method.
    metric : str, default="euclidean"
        Metric of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are
        always Euclidean.
    sample : int, default=None
        Number of rows drawn at random and compared with all rows; `area_error` is then above 0. None uses every row.
    random_state : int, Generator or None, default=0
        Draws the sample of rows.

    Returns
    -------
    RankAgreement
        `n_neighbors`, `q_nx`, `lcmc`, `r_nx` and `area`.

    Raises
    ------
    DataError
        When there is not one row of coordinates for every row of X, or fewer than 3 rows.

    Notes
    -----
    Cost O(n^2 p), because all rows are ranked about each row; memory O(n p). Ties are ranked by row number, so that ranks are a
    permutation.

    References
    ----------
    Lee and Verleysen (2009), Quality assessment of dimensionality reduction: rank-based criteria, Neurocomputing 72; Lee, Renard,
    Bernard, Dupont and Verleysen (2013), Type 1 and 2 mixtures of Kullback-Leibler divergences as cost functions in
    dimensionality reduction based on similarity preservation, Neurocomputing 112.

    Examples
    --------
    >>> from tamiz.metrics import rank_agreement
    >>> found = rank_agreement([[0.0], [1.0], [2.1], [3.3], [4.6]], [[0.0], [1.0], [2.1], [3.3], [0.1]])
    >>> found.q_nx.round(3), found.r_nx.round(3), round(found.area, 3)
    (array([0.4  , 0.5  , 0.733]), array([ 0.2  ,  0.   , -0.067]), 0.097)
    """
    with parallel.thread_session():
        pair = read_embedding_pair(X, embedding, metric)
        weights = area_rank_weights(pair.n)
        pair = pair.sample_rows(sample, make_rng(random_state))
        return agreement_from_scan(pair, pair.scan(rank_weights=weights))


def co_ranking(X: Any, embedding: Any, *, metric: str = "euclidean") -> NDArray[np.int64]:
    r"""Co-ranking matrix of a map: how many pairs of rows have rank r in the data and rank s on the map.

    .. math:: q_{rs} = |\{(i, j) : r(i, j) = r, \; \hat r(i, j) = s\}|

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows that were mapped; a square matrix of distances with metric="precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, from any method.
    metric : str, default="euclidean"
        Metric of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are
        always Euclidean.

    Returns
    -------
    ndarray of shape (n_samples - 1, n_samples - 1)
        Entry (r - 1, s - 1) counts the ordered pairs; rows and columns sum to n_samples. Pairs right of the diagonal lie too far
        apart on the map (extrusions), those left of it too near (intrusions).

    Raises
    ------
    MemoryError
        When the matrix does not fit in memory.
    DataError
        When there is not one row of coordinates for every row of X, or fewer than 3 rows.

    Notes
    -----
    Cost O(n^2 p), memory O(n^2) for the returned matrix. Ranks are those of `rank_agreement`, which needs no matrix.

    References
    ----------
    Lee and Verleysen (2009), Quality assessment of dimensionality reduction: rank-based criteria, Neurocomputing 72.

    Examples
    --------
    >>> from tamiz.metrics import co_ranking
    >>> co_ranking([[0.0], [1.0], [3.0]], [[0.0], [3.0], [1.0]])
    array([[0, 3],
           [3, 0]])
    """
    with parallel.thread_session():
        pair = read_embedding_pair(X, embedding, metric)
        check_three_rows(pair.n)
        check_memory(
            8.0 * pair.n**2,
            f"The co-ranking matrix of {pair.n:,} rows",
            "Use rank_agreement, which needs no matrix.",
        )
        return pair.scan(rank_pairs=True).rank_pairs


def area_rank_weights(n: int) -> Floats:
    """Return the contribution of a pair to its row's area under R_NX, indexed by the larger of its two ranks.

    A pair of larger rank r counts in Q_NX(K) for every K >= r.
    """
    check_three_rows(n)
    sizes = np.arange(1, n - 1)
    parts = (n - 1) / (sizes * sizes * (n - 1.0 - sizes))
    weights = np.zeros(n)
    weights[1 : n - 1] = np.cumsum(parts[::-1])[::-1]
    return weights / (1.0 / sizes).sum()


def row_areas(scan: PairScanResult) -> Floats:
    """Return the area under R_NX of each row; their mean is the area of the map."""
    return scan.weighted_counts - 1.0


def area_estimate(scan: PairScanResult, n: int) -> SampleEstimate:
    """Return the area under R_NX with its standard error."""
    return mean_estimate(row_areas(scan), n)


def agreement_from_scan(pair: EmbeddingPair, scan: PairScanResult) -> RankAgreement:
    """Return the curves from the counts of a pass over the pairs."""
    n = pair.n
    k = np.arange(1, n - 1)
    q = np.cumsum(scan.larger_ranks[1 : n - 1]) / (k * float(len(pair.rows)))
    area = area_estimate(scan, n)
    return RankAgreement(k, q, q - k / (n - 1.0), ((n - 1.0) * q - k) / (n - 1.0 - k), area.value, area.error)
