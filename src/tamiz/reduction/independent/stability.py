"""Stability of independent components over random starts (Icasso)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.reduction.independent.solvers import random_rotation, solve
from tamiz.reduction.independent.white_rows import WhiteRows
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory


@dataclass(frozen=True)
class ComponentStability:
    """How often and how exactly other starts find the components of a fit.

    Attributes
    ----------
    index : ndarray of shape (n_components,)
        Stability index of each component, at most 1.
    share : ndarray of shape (n_components,)
        Share of the starts with a component in the same cluster, in (0, 1].
    cluster : ndarray of shape (n_components,), int64
        Cluster of each component. Components in one cluster are not separated reliably.
    log_likelihoods : ndarray of shape (n_starts,)
        The log-likelihood of each start, as `log_likelihood_` of the fit, which is the first.
    n_converged : int
        Starts whose gradient norm is at most the tolerance.
    """

    index: Floats
    share: Floats
    cluster: NDArray[np.int64]
    log_likelihoods: Floats
    n_converged: int


def component_stability(
    rows: WhiteRows, n_starts: int, solver: str, tol: float, max_iter: int, rng: np.random.Generator
) -> ComponentStability:
    """Solve from random rotations, and cluster all components with those of the fit, which are the coordinates of the rows.

    Estimates i and j have the similarity :math:`|r_{ij}|`, the absolute correlation of their sources. Average linkage
    joins them to as many clusters as there are components.
    """
    k = rows.n_components
    check_memory(8.0 * 3 * (n_starts * k) ** 2, f"The similarities of {n_starts * k:,} components", "Lower n_starts.")
    starts = [random_rotation(k, rng) for _ in range(n_starts - 1)]
    with parallel.thread_session():
        solutions = list(parallel.map_blocks(lambda start: solve(rows, start, solver, tol, max_iter), starts))
    fitted = rows.moments(np.eye(k))
    estimates = np.concatenate([np.eye(k), *(solution.rotation for solution in solutions)])
    # Rows of orthogonal matrices are unit vectors, and white rows make their products correlations.
    similarities = np.minimum(np.abs(estimates @ estimates.T), 1.0)
    labels = cluster_estimates(similarities, k)
    index = stability_indices(similarities, labels)
    start_of = np.repeat(np.arange(n_starts), k)
    share = np.array([len(np.unique(start_of[labels == label])) / n_starts for label in range(labels.max() + 1)])
    likelihoods = [fitted.log_likelihood, *(solution.moments.log_likelihood for solution in solutions)]
    own = labels[:k]
    return ComponentStability(
        index[own], share[own], own, np.array(likelihoods), 1 + sum(solution.converged for solution in solutions)
    )


def cluster_estimates(similarities: Floats, n_clusters: int) -> NDArray[np.int64]:
    """Return the clusters of average linkage, numbered from 0."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(similarities) == 1:
        return np.zeros(1, dtype=np.int64)
    tree = linkage(squareform(1.0 - similarities, checks=False), "average")
    _, labels = np.unique(fcluster(tree, n_clusters, "maxclust"), return_inverse=True)
    return labels.astype(np.int64)


def stability_indices(similarities: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return the index of each cluster: the mean similarity within it less the mean similarity to all other estimates.

    The mean within a cluster includes the similarity of an estimate to itself, as in Icasso.
    """
    members = (labels == np.arange(labels.max() + 1)[:, None]).astype(np.float64)
    sizes = members.sum(axis=1)
    totals = members @ similarities @ members.T
    within, n_outside = totals.diagonal(), len(labels) - sizes
    between = totals.sum(axis=1) - within
    pairs = sizes * n_outside
    return within / sizes**2 - np.divide(between, pairs, out=np.zeros_like(between), where=pairs > 0)
