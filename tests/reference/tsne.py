"""t-SNE in plain numpy, from its definition."""

import numpy as np


def row_affinities(distances, perplexity):
    """Return p_j|i of the distances of one row, by bisection on the precision."""
    squares = distances**2 - distances.min() ** 2
    low, high = 0.0, 1e12
    for _ in range(300):
        precision = 0.5 * (low + high) if high < 1e12 else max(2.0 * low, 1e-12)
        weights = np.exp(-precision * squares)
        p = weights / weights.sum()
        entropy = -(p[p > 0] * np.log2(p[p > 0])).sum()
        if entropy > np.log2(perplexity):
            low = precision
        else:
            high = precision
    return p


def joint_affinities(X, n_neighbors, perplexity):
    """Return the symmetric affinities of the nearest neighbours of the rows, as a dense matrix."""
    n = len(X)
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    directed = np.zeros((n, n))
    for i in range(n):
        others = np.flatnonzero(np.arange(n) != i)
        near = others[np.argsort(distances[i, others], kind="stable")[:n_neighbors]]
        directed[i, near] = row_affinities(distances[i, near], perplexity)
    return (directed + directed.T) / (2 * n)


def divergence(affinities, points):
    """Return the Kullback-Leibler divergence of a layout."""
    w = 1 / (1 + ((points[:, None] - points) ** 2).sum(axis=2))
    np.fill_diagonal(w, 0)
    q = w / w.sum()
    used = affinities > 0
    return float((affinities[used] * np.log(affinities[used] / q[used])).sum())


def gradient(affinities, points):
    """Return the gradient of the divergence: 4 sum_j (p_ij - q_ij) w_ij (y_i - y_j)."""
    differences = points[:, None] - points
    w = 1 / (1 + (differences**2).sum(axis=2))
    np.fill_diagonal(w, 0)
    return 4 * (((affinities - w / w.sum()) * w)[:, :, None] * differences).sum(axis=1)


def repulsion(points, queries):
    """Return sum_j w_j^2 (y - y_j) and sum_j w_j for every query y."""
    differences = queries[:, None] - points
    w = 1 / (1 + (differences**2).sum(axis=2))
    return (w[:, :, None] ** 2 * differences).sum(axis=1), w.sum(axis=1)
