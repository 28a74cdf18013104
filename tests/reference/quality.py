"""Quality measures of a map with every distance and every rank in full, for a few hundred rows."""

import numpy as np

from .ties import tie_keys


def strict_ranks(D):
    """One more than the others strictly nearer; 0 for the row itself."""
    ranks = np.zeros(D.shape, dtype=int)
    for i, row in enumerate(tie_keys(D)):
        others = np.delete(row, i)
        ranks[i] = 1 + (others[None, :] < row[:, None]).sum(axis=1)
    np.fill_diagonal(ranks, 0)
    return ranks


def ordered_ranks(D):
    """Places in the order by (distance, row), from 1; 0 for the row itself."""
    n = len(D)
    ranks = np.zeros((n, n), dtype=int)
    for i, row in enumerate(tie_keys(D)):
        order = [j for j in np.lexsort((np.arange(n), row)) if j != i]
        ranks[i, order] = np.arange(1, n)
    return ranks


def nearest(D, k):
    """Whether j is among the k nearest others of i, equally near ones by the lower row."""
    ranks = ordered_ranks(D)
    return (ranks >= 1) & (ranks <= k)


def trustworthiness(D, E, k):
    """Of each row; continuity with the two exchanged."""
    n = len(D)
    beyond = np.maximum(strict_ranks(D) - k, 0) * nearest(E, k)
    return 1 - 2 / (k * (2 * n - 3 * k - 1)) * beyond.sum(axis=1)


def recall(D, E, k):
    return (nearest(D, k) & nearest(E, k)).sum(axis=1) / k


def rank_errors(D, E, k):
    """Of each row's neighbours in E, relative to their ranks there."""
    n, order = len(D), np.arange(1, k + 1)
    a, b, near = strict_ranks(D), strict_ranks(E), nearest(E, k)
    errors = np.divide(abs(a - b), b, out=np.zeros((n, n)), where=near)
    return errors.sum(axis=1) / (abs(n - 2 * order) / order).sum()


def co_ranking(D, E):
    n = len(D)
    counts = np.zeros((n - 1, n - 1), dtype=int)
    a, b = ordered_ranks(D), ordered_ranks(E)
    for i, j in zip(*np.nonzero(~np.eye(n, dtype=bool)), strict=True):
        counts[a[i, j] - 1, b[i, j] - 1] += 1
    return counts


def q_nx(D, E):
    """For K = 1 .. n - 2, from the upper left blocks of the co-ranking matrix."""
    n, counts = len(D), co_ranking(D, E)
    return np.array([counts[:K, :K].sum() / (K * n) for K in range(1, n - 1)])


def r_nx(D, E):
    n = len(D)
    K = np.arange(1, n - 1)
    return ((n - 1) * q_nx(D, E) - K) / (n - 1 - K)


def area(D, E):
    K = np.arange(1, len(D) - 1)
    return (r_nx(D, E) / K).sum() / (1 / K).sum()


def normalized_stress(D, E, b=1.0):
    return np.sqrt(((D - b * E) ** 2).sum() / (D**2).sum())


def kruskal_stress(D, E, b=1.0):
    return np.sqrt(((D - b * E) ** 2).sum() / ((b * E) ** 2).sum())


def best_scales(D, E):
    """What minimises the normalised stress, and Kruskal's."""
    return (D * E).sum() / (E**2).sum(), (D**2).sum() / (D * E).sum()


def stress_of_rows(D, E):
    b = best_scales(D, E)[0]
    return np.sqrt(((D - b * E) ** 2).sum(axis=1) / (D**2).sum(axis=1))


def votes(E, labels, k):
    """1 where the neighbours mostly have the row's label, the class with the nearest member first among equals."""
    won = []
    ranks = ordered_ranks(E)
    for i in range(len(E)):
        near = np.argsort(ranks[i])[1 : k + 1]
        voted = [labels[j] for j in near]
        most = max(voted.count(label) for label in voted)
        won.append(next(label for label in voted if voted.count(label) == most) == labels[i])
    return np.array(won, dtype=float)
