"""UMAP in plain numpy, from McInnes, Healy and Melville (2018): memberships, targets, the map's curve, cost and forces."""

import numpy as np
from scipy.optimize import least_squares


def distances_of(X):
    return np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))


def row_memberships(near, n_neighbors, local_connectivity, least_width):
    """Return exp(-max(d - rho, 0) / sigma) for the sorted distances of the nearest other rows of one row.

    The positive distances d_1, d_2, ... have the numbers 1, 2, ..., and rho has the number `local_connectivity`: between two of
    them by linear interpolation, with the number 0 at 0. The memberships have the sum log2(n_neighbors), or more if sigma would
    be below `least_width`.
    """
    positive = np.concatenate([[0], near[near > 0]])
    rho = np.interp(local_connectivity, np.arange(len(positive)), positive)
    excess = np.maximum(near - rho, 0)
    low, high = -60.0, 60.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.exp(-excess / 2**middle).sum() > np.log2(n_neighbors):
            high = middle
        else:
            low = middle
    return np.exp(-excess / max(2**low, least_width))


def directed_memberships(distances, n_neighbors, local_connectivity=1.0):
    """Return the memberships of the nearest rows of each row, itself included, as a dense matrix."""
    n = len(distances)
    others = [np.flatnonzero(np.arange(n) != i) for i in range(n)]
    near = [rows[np.argsort(distances[i, rows], kind="stable")[: n_neighbors - 1]] for i, rows in enumerate(others)]
    # The row itself counts, at the distance 0.
    means = np.array([distances[i, rows].sum() / n_neighbors for i, rows in enumerate(near)])
    directed = np.zeros((n, n))
    for i, rows in enumerate(near):
        lengths = distances[i, rows]
        # Only if all rows are equal to row i, or with the number 0, there is no rho above 0.
        has_rho = local_connectivity > 0 and lengths.max() > 0
        least_width = 1e-3 * (means[i] if has_rho else means.mean())
        directed[i, rows] = row_memberships(lengths, n_neighbors, local_connectivity, least_width)
    return directed


def fuzzy_union(directed, mix_ratio=1.0):
    """Return the mixture of the union a + b - a b and of the intersection a b, with the transpose b."""
    product = directed * directed.T
    return mix_ratio * (directed + directed.T - product) + (1 - mix_ratio) * product


def joint_memberships(X, n_neighbors, local_connectivity=1.0, mix_ratio=1.0):
    return fuzzy_union(directed_memberships(distances_of(X), n_neighbors, local_connectivity), mix_ratio)


def intersect_classes(memberships, classes, weight):
    """Return the intersection with classes, -1 if unknown: edges to unknown rows count exp(-1), between classes exp(-far)."""
    found = memberships.copy()
    far = np.inf if weight == 1 else 2.5 / (1 - weight)
    for i, j in np.argwhere(memberships):
        if classes[i] == -1 or classes[j] == -1:
            found[i, j] *= np.exp(-1)
        elif classes[i] != classes[j]:
            found[i, j] *= np.exp(-far)
    return restore_connectivity(found)


def intersect_values(memberships, values, weight, n_neighbors):
    """Return the intersection with numbers, NaN if unknown: the product of powers of both memberships.

    A pair that only one of them joins has half the least membership of the other, at most 1e-4 for the values.
    """
    known = np.flatnonzero(np.isfinite(values))
    of_values = np.zeros_like(memberships)
    of_values[np.ix_(known, known)] = directed_memberships(distances_of(values[known, None]), n_neighbors)
    left = np.where(memberships > 0, memberships, memberships[memberships > 0].min() / 2)
    right = np.where(of_values > 0, of_values, min(of_values[of_values > 0].min() / 2, 1e-4))
    unknown = ~np.isfinite(values)
    right[unknown[:, None] | unknown] = np.exp(-1)
    larger = max(weight, 1 - weight)
    found = left ** ((1 - weight) / larger) * right ** (weight / larger)
    found[(memberships == 0) & (of_values == 0)] = 0
    return restore_connectivity(found)


def restore_connectivity(memberships):
    """Return the union of both directions, after the strongest edge of every row has the membership 1 again."""
    return fuzzy_union(memberships / memberships.max(axis=1, keepdims=True))


def fit_curve(min_dist, spread):
    """Return a and b of 1 / (1 + a d^2b), fitted to 1 up to min_dist and exp(-(d - min_dist) / spread) beyond."""
    d = np.linspace(0, 3 * spread, 300)
    wanted = np.where(d < min_dist, 1, np.exp(-(d - min_dist) / spread))
    fitted = least_squares(lambda ab: 1 / (1 + ab[0] * d ** (2 * ab[1])) - wanted, [1, 1], xtol=1e-12, ftol=1e-12)
    return fitted.x


def cross_entropy(rates, points, a, b, n_draws, strength=1.0):
    """Return the mean cost of a row, over all pairs: its expected force is minus the gradient of its cost.

    Edge ij is sampled from both ends, so it attracts row i with 2 r_ij. Each sample from row i draws rows at random.
    """
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    others = ~np.eye(len(points), dtype=bool)
    attraction = (rates * np.log1p(a * squares**b)).sum(axis=1)
    # The paper's 0.001, which keeps the repulsion of equal points finite.
    repelled = np.where(others, np.log1p(1 / (a * (squares + 1e-3) ** b)), 0).sum(axis=1) / (len(points) - 1)
    return float((2 * attraction + strength * n_draws * rates.sum(axis=1) * repelled).mean())


def expected_forces(rates, points, a, b, n_draws, strength=1.0):
    """Return the expected move of every row in one epoch for each unit of the learning rate: the paper's forces."""
    away = points[:, None] - points
    squares = (away**2).sum(axis=2)
    np.fill_diagonal(squares, 1)
    attraction = -2 * rates * 2 * a * b * squares ** (b - 1) / (1 + a * squares**b)
    drawn = strength * n_draws * rates.sum(axis=1, keepdims=True) / len(points)
    repulsion = drawn * 2 * b / ((1e-3 + squares) * (1 + a * squares**b))
    return ((attraction + repulsion)[:, :, None] * away).sum(axis=1)
