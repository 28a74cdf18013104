"""Stress: how far the distances of a map are from those of the data."""

from __future__ import annotations

from typing import Any

from tamiz import parallel
from tamiz.metrics.fits import fit_distances
from tamiz.metrics.judged import read_embedding_pair
from tamiz.validation import check_choice

_SCALES = ("given", "best")


def normalized_stress(X: Any, embedding: Any, *, metric: str = "euclidean", scale: str = "given") -> float:
    r"""Root of the squared differences of distances over the squared distances of the data.

    .. math:: \sqrt{\sum_{i<j} (d_{ij} - b \hat d_{ij})^2 / \sum_{i<j} d_{ij}^2}

    with d the distances of the data, those of the map with a hat, and b = 1 unless the best scale is asked for.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Source
        The rows of the map; a square matrix of distances where the metric is "precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, of any method.
    metric : str, default="euclidean"
        Of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are Euclidean.
    scale : {"given", "best"}, default="given"
        Take the map as it is, or at the scale b that fits best: maps of methods that keep no distances (t-SNE, UMAP, Laplacian
        eigenmaps) have a size without a meaning. At the best scale the number is at most 1.

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
    Cost O(n^2 p), memory O(n p): distances are made in pieces and never held. A fit that is perfect has a stress of about 1e-15.
    At the best scale this is Kruskal's stress at its best scale as well.

    References
    ----------
    Borg and Groenen (2005), Modern Multidimensional Scaling, section 11.1.

    Examples
    --------
    >>> from tamiz.metrics import normalized_stress
    >>> line, turned = [[0.0], [1.0], [3.0]], [[0.0, 0.0], [0.0, 2.0], [0.0, 6.0]]
    >>> normalized_stress(line, turned), round(normalized_stress(line, turned, scale="best"), 12)
    (1.0, 0.0)
    """
    best = check_choice("scale", scale, _SCALES) == "best"
    with parallel.thread_session():
        return fit_distances(read_embedding_pair(X, embedding, metric)).normalized_stress(best=best).value


def kruskal_stress(X: Any, embedding: Any, *, metric: str = "euclidean", scale: str = "best") -> float:
    r"""Root of the squared differences of distances over the squared distances of the map: Kruskal's stress-1.

    .. math:: \sqrt{\sum_{i<j} (d_{ij} - b \hat d_{ij})^2 / \sum_{i<j} b^2 \hat d_{ij}^2}

    with d the distances of the data, those of the map with a hat, and the scale b of the map that makes it least.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Source
        The rows of the map; a square matrix of distances where the metric is "precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, of any method.
    metric : str, default="euclidean"
        Of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are Euclidean.
    scale : {"best", "given"}, default="best"
        The best scale of the map, or b = 1.

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
    Cost and memory as of `normalized_stress`. At the best scale the two are the same number, the sine of the angle between the
    distances as vectors; an ordinal map has a lower stress against its disparities, `stress_` of the map.

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
