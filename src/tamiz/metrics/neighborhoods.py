"""Measures of how well a map preserves neighbourhoods: trustworthiness, continuity, recall, rank errors, label accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamiz.arrays import Codes, Floats
from tamiz.exceptions import DataError
from tamiz.metrics.embedding_pair import (
    EmbeddingPair,
    NeighborRanks,
    PointIndices,
    check_neighbors_below_half,
    check_neighbors_below_n,
    check_three_rows,
    read_embedding_pair,
)
from tamiz.metrics.estimates import mean_estimate
from tamiz.metrics.pair_scan import PairScanResult
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.validation import check_memory
from tamiz.table.in_memory import code_vector


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


def agreement_from_scan(pair: EmbeddingPair, scan: PairScanResult) -> RankAgreement:
    """Return the curves from the counts of a pass over the pairs."""
    n = pair.n
    k = np.arange(1, n - 1)
    q = np.cumsum(scan.larger_ranks[1 : n - 1]) / (k * float(len(pair.rows)))
    area = mean_estimate(row_areas(scan), n)
    return RankAgreement(k, q, q - k / (n - 1.0), ((n - 1.0) * q - k) / (n - 1.0 - k), area.value, area.error)


def rank_penalty_scores(ranks: Any, n: int) -> Floats:
    k = ranks.shape[1]
    beyond = np.maximum(ranks - k, 0).sum(axis=1)
    return 1.0 - beyond * (2.0 / (k * (2.0 * n - 3.0 * k - 1.0)))


def relative_rank_errors(nearest: NeighborRanks, ranks: Any, n: int) -> Floats:
    order = np.arange(1, ranks.shape[1] + 1)
    largest = (np.abs(n - 2 * order) / order).sum()
    return (np.abs(nearest.ranks - ranks) / nearest.ranks).sum(axis=1) / largest


def neighbor_recall(data: PointIndices, embedding: PointIndices) -> Floats:
    """Return the share of the neighbours in each row of one array that the same row of the other contains."""
    both = np.sort(np.concatenate([data, embedding], axis=1), axis=1)
    return (both[:, 1:] == both[:, :-1]).sum(axis=1) / data.shape[1]


def trustworthiness(X: Any, embedding: Any, *, n_neighbors: int = 5, metric: str = "euclidean") -> float:
    r"""Trustworthiness: whether the neighbours on a map are near in the data too, in [0, 1].

    .. math:: T(k) = 1 - \frac{2}{n k (2n - 3k - 1)} \sum_i \sum_{j \in M_k(i)} \max(0, r(i, j) - k)

    with :math:`M_k(i)` the k nearest of row i on the map and r(i, j) the rank of j about i in the data.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows that were mapped; a square matrix of distances with metric="precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, from any method.
    n_neighbors : int, default=5
        Below n_samples / 2.
    metric : str, default="euclidean"
        Metric of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are
        always Euclidean.

    Returns
    -------
    float
        Larger is better; 1 where all neighbours on the map are neighbours in the data.

    Raises
    ------
    ValueError
        When `n_neighbors` is not below n_samples / 2.
    DataError
        When there is not one row of coordinates for every row of X.

    Notes
    -----
    Cost O(n^2 (p + k)), memory O(n (p + k)). A rank is one plus the number of other rows that are strictly nearer; ranks are exact,
    because pairs that rounding could misorder are measured again. Ties, as in `KNearest`, for the k-th neighbour are broken by row
    number.

    References
    ----------
    Venna and Kaski (2001), Neighborhood preservation in nonlinear projection methods, ICANN.

    Examples
    --------
    >>> from tamiz.metrics import trustworthiness
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> trustworthiness(X, X, n_neighbors=2), trustworthiness(X, [[0.0], [1.0], [2.0], [3.0], [0.1]], n_neighbors=2)
    (1.0, 0.4666666666666667)
    """
    with parallel.thread_session():
        pair = read_embedding_pair(X, embedding, metric)
        k = check_neighbors_below_half(n_neighbors, pair.n)
        mapped = pair.map_neighbors(k)
        return float(rank_penalty_scores(pair.scan(map_neighbors=mapped.points).ranks_in_data, pair.n).mean())


def continuity(X: Any, embedding: Any, *, n_neighbors: int = 5, metric: str = "euclidean") -> float:
    r"""Continuity: whether the neighbours in the data are near on a map too, in [0, 1].

    .. math:: 1 - \frac{2}{n k (2n - 3k - 1)} \sum_i \sum_{j \in N_k(i)} \max(0, \hat r(i, j) - k)

    with :math:`N_k(i)` the k nearest of row i in the data and :math:`\hat r(i, j)` the rank of j about i on the map:
    trustworthiness with data and map exchanged.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows that were mapped; a square matrix of distances with metric="precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, from any method.
    n_neighbors : int, default=5
        Below n_samples / 2.
    metric : str, default="euclidean"
        Metric of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are
        always Euclidean.

    Returns
    -------
    float
        Larger is better; 1 where all neighbours in the data are neighbours on the map.

    Raises
    ------
    ValueError
        When `n_neighbors` is not below n_samples / 2.
    DataError
        When there is not one row of coordinates for every row of X.

    Notes
    -----
    Cost, memory and ranks are those of `trustworthiness`.

    References
    ----------
    Venna and Kaski (2001), Neighborhood preservation in nonlinear projection methods, ICANN.

    Examples
    --------
    >>> from tamiz.metrics import continuity
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> continuity(X, X, n_neighbors=2), continuity(X, [[0.0], [1.0], [2.0], [3.0], [0.1]], n_neighbors=2)
    (1.0, 0.6666666666666667)
    """
    with parallel.thread_session():
        pair = read_embedding_pair(X, embedding, metric)
        k = check_neighbors_below_half(n_neighbors, pair.n)
        data = pair.data_neighbors(k)
        return float(rank_penalty_scores(pair.scan(data_neighbors=data.points).ranks_in_map, pair.n).mean())


def neighborhood_recall(X: Any, embedding: Any, *, n_neighbors: int = 5, metric: str = "euclidean") -> float:
    r"""Mean share of the k nearest in the data that are among the k nearest on the map, in [0, 1].

    .. math:: \frac{1}{n k} \sum_i |N_k(i) \cap M_k(i)|

    with :math:`N_k(i)` the k nearest of row i in the data, and :math:`M_k(i)` those on the map.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows that were mapped; a square matrix of distances with metric="precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, from any method.
    n_neighbors : int, default=5
        Below n_samples.
    metric : str, default="euclidean"
        Metric of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are
        always Euclidean.

    Returns
    -------
    float
        Larger is better; a random map has the expected value k / (n_samples - 1).

    Raises
    ------
    ValueError
        When `n_neighbors` is not below n_samples.
    DataError
        When there is not one row of coordinates for every row of X.

    Notes
    -----
    Runs two exact searches of k neighbours; ties are broken by row number. The value is Q_NX(k); `rank_agreement` returns it for
    all k.

    References
    ----------
    Lee and Verleysen (2009), Quality assessment of dimensionality reduction: rank-based criteria, Neurocomputing 72.

    Examples
    --------
    >>> from tamiz.metrics import neighborhood_recall
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> neighborhood_recall(X, [[0.0], [1.0], [2.0], [3.0], [0.1]], n_neighbors=2)
    0.5
    """
    with parallel.thread_session():
        pair = read_embedding_pair(X, embedding, metric)
        k = check_neighbors_below_n(n_neighbors, pair.n)
        data, mapped = pair.data_neighbors(k), pair.map_neighbors(k)
        return float(neighbor_recall(data.points, mapped.points).mean())


@dataclass(frozen=True)
class RankErrors:
    """Mean relative rank errors; both are 0 for a map that preserves the order of the rows about every row.

    Attributes
    ----------
    of_map_neighbors : float
        Error of the neighbours on the map, relative to their ranks there: large where distant rows are mapped nearby (intrusions).
    of_data_neighbors : float
        Error of the neighbours in the data, relative to their ranks there: large where neighbours are mapped far apart
        (extrusions).
    """

    of_map_neighbors: float
    of_data_neighbors: float


def mean_relative_rank_errors(X: Any, embedding: Any, *, n_neighbors: int = 5, metric: str = "euclidean") -> RankErrors:
    r"""Mean relative difference of the ranks of neighbours between data and map.

    .. math:: \frac{1}{n C_k} \sum_i \sum_{j \in M_k(i)} \frac{|r(i, j) - \hat r(i, j)|}{\hat r(i, j)},
              \quad C_k = \sum_{l=1}^k \frac{|n - 2l|}{l}

    with the neighbours :math:`M_k(i)` and the ranks with a hat on the map; and likewise for neighbours in the data, over r.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows that were mapped; a square matrix of distances with metric="precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, from any method.
    n_neighbors : int, default=5
        Below n_samples.
    metric : str, default="euclidean"
        Metric of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are
        always Euclidean.

    Returns
    -------
    RankErrors
        `of_map_neighbors` and `of_data_neighbors`; smaller is better, 1 is the reversed order.

    Raises
    ------
    ValueError
        When `n_neighbors` is not below n_samples.
    DataError
        When there is not one row of coordinates for every row of X, or fewer than 3 rows.

    Notes
    -----
    Cost, memory and ranks are those of `trustworthiness`, in data and map. The constant C_k normalises by the reversed ranks from
    1 to n - 1; Lee and Verleysen's book of 2007 uses :math:`|n - 2l + 1| / l`.

    References
    ----------
    Lee and Verleysen (2009), Quality assessment of dimensionality reduction: rank-based criteria, Neurocomputing 72.

    Examples
    --------
    >>> from tamiz.metrics import mean_relative_rank_errors
    >>> X = [[0.0], [1.0], [2.1], [3.3], [4.6]]
    >>> errors = mean_relative_rank_errors(X, [[0.0], [1.0], [2.1], [3.3], [0.1]], n_neighbors=2)
    >>> round(errors.of_map_neighbors, 4), round(errors.of_data_neighbors, 4)
    (0.6286, 0.4)
    """
    with parallel.thread_session():
        pair = read_embedding_pair(X, embedding, metric)
        check_three_rows(pair.n)
        k = check_neighbors_below_n(n_neighbors, pair.n)
        data, mapped = pair.data_neighbors(k), pair.map_neighbors(k)
        found = pair.scan(data_neighbors=data.points, map_neighbors=mapped.points)
        of_map = relative_rank_errors(mapped, found.ranks_in_data, pair.n)
        return RankErrors(float(of_map.mean()), float(relative_rank_errors(data, found.ranks_in_map, pair.n).mean()))


def label_accuracy(embedding: Any, labels: ArrayLike, *, n_neighbors: int = 5) -> float:
    """Leave-one-out accuracy of k-nearest-neighbour classification on the map, in [0, 1].

    Parameters
    ----------
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, from any method.
    labels : array-like of shape (n_samples,)
        The class of every row, none missing.
    n_neighbors : int, default=5
        Below n_samples. A row is not its own neighbour.

    Returns
    -------
    float
        Larger is better.

    Raises
    ------
    ValueError
        When `n_neighbors` is not below n_samples.
    DataError
        When the number of labels differs from the number of rows, or a label is missing.

    Notes
    -----
    Costs one neighbour search on the map. A tie of votes goes to the class with the nearest neighbour. Classes may overlap in the
    data too: compare with `label_accuracy(X, labels)`, the accuracy in the data.

    References
    ----------
    Van der Maaten, Postma and van den Herik (2009), Dimensionality reduction: a comparative review, Tilburg University.

    Examples
    --------
    >>> from tamiz.metrics import label_accuracy
    >>> label_accuracy([[0.0], [1.0], [5.0], [6.0], [1.2]], ["a", "a", "b", "b", "b"], n_neighbors=1)
    0.6
    """
    with parallel.thread_session():
        pair = read_embedding_pair(embedding, embedding, "euclidean")
        codes = read_labels(labels, pair.n)
        mapped = pair.map_neighbors(check_neighbors_below_n(n_neighbors, pair.n))
        return float(majority_vote_hits(codes, mapped.points, pair.rows).mean())


def read_labels(labels: ArrayLike, n: int) -> Codes:
    """Return the class code of every row; raise DataError where labels are missing or their number is not n."""
    codes, _ = code_vector(labels, "labels")
    if len(codes) != n:
        raise DataError(f"There are {len(codes):,} labels for {n:,} rows; pass one label for each row.")
    if (codes < 0).any():
        raise DataError(f"Row {int(np.argmax(codes < 0))} has no label; remove the row, or pass no labels.")
    return codes


def majority_vote_hits(codes: Codes, neighbors: PointIndices, rows: Any) -> Floats:
    """Return 1 for each row whose neighbours, nearest first, vote for its own class by majority, else 0."""
    voted = codes[neighbors]
    votes = np.zeros(voted.shape, dtype=np.int64)
    for j in range(voted.shape[1]):
        votes += voted == voted[:, j, None]
    # argmax returns the first maximum: a tie goes to the class of the nearest neighbour.
    first = np.argmax(votes, axis=1)
    return (voted[np.arange(len(voted)), first] == codes[rows]).astype(np.float64)
