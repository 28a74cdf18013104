"""Scaling by majorisation (SMACOF) with every matrix written out, for a few dozen points.

The pairs i < j are a vector, row by row. A missing pair has the weight 0, whatever its dissimilarity.
"""

from typing import NamedTuple

import numpy as np


class Run(NamedTuple):
    configurations: list[np.ndarray]  # the start first
    disparities: list[np.ndarray]  # of each configuration
    raw: np.ndarray
    stress: np.ndarray  # Kruskal's, at the best scale


def of_pairs(D):
    """The pairs of a symmetric matrix."""
    return D[np.triu_indices(len(D), 1)]


def of_points(values, n):
    """The symmetric matrix of pairs, 0 on the diagonal."""
    D = np.zeros((n, n))
    D[np.triu_indices(n, 1)] = values
    return D + D.T


def distances(X):
    i, j = np.triu_indices(len(X), 1)
    return np.sqrt(((X[i] - X[j]) ** 2).sum(axis=1))


def raw_stress(disparities, d, w):
    return (w * (disparities - d) ** 2).sum()


def kruskal(disparities, d, w):
    """Stress-1 where the map has the scale that suits its disparities best, the least over b of |dhat - b d| / |b d|."""
    b = (w * disparities**2).sum() / (w * disparities * d).sum()
    return np.sqrt(raw_stress(disparities, b * d, w) / (w * (b * d) ** 2).sum())


def normalized(disparities, d, w):
    """The same sum of squares over that of the disparities, at the scale that the map has."""
    return np.sqrt(raw_stress(disparities, d, w) / (w * disparities**2).sum())


def per_point(disparities, d, w, n):
    """The share of every point in the squares, at the map's scale."""
    squares = of_points(w * (disparities - d) ** 2, n).sum(axis=1)
    return squares / squares.sum()


def guttman_transform(X, disparities, w):
    """V^+ B(X) X."""
    n, d = len(X), distances(X)
    pull = of_points(np.divide(w * disparities, d, out=np.zeros_like(d), where=d > 0), n)
    return np.linalg.pinv(laplacian(of_points(w, n))) @ laplacian(pull) @ X


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W


def ratio(delta, d, w):
    return delta


def interval(delta, d, w):
    """a + b delta nearest to d, where neither b nor the least disparity is below 0.

    With x = delta - min(delta) it is c + b x, c >= 0, b >= 0. Where the best line breaks a limit the best one lies on it: c = 0 or
    b = 0, and d >= 0 makes the other number of either at least 0.
    """
    x = delta - delta.min()
    A = np.column_stack([np.ones_like(x), x])
    c, b = np.linalg.lstsq(np.sqrt(w)[:, None] * A, np.sqrt(w) * d, rcond=None)[0]
    if c >= 0 and b >= 0:
        return c + b * x
    on_the_limits = [(w * x * d).sum() / (w * x * x).sum() * x, np.full_like(x, (w * d).sum() / w.sum())]
    return min(on_the_limits, key=lambda line: raw_stress(line, d, w))


def primary(delta, d, w):
    """Monotone in delta; equal dissimilarities may have any disparities, so they come in the order of their distances."""
    order = np.lexsort((d, delta))
    out = np.empty_like(d)
    out[order] = pava(d[order], w[order])
    return out


def secondary(delta, d, w):
    """Monotone in delta; equal dissimilarities have one disparity."""
    _, group = np.unique(delta, return_inverse=True)
    weight = np.bincount(group, w)
    return pava(np.bincount(group, w * d) / weight, weight)[group]


def pava(y, w):
    """The nondecreasing values nearest to y: neighbours out of order share their mean, again and again."""
    blocks = []
    for value, weight in zip(y, w, strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, v, m), (b, u, k) = blocks.pop(-2), blocks.pop(-1)
            blocks.append(((v * a + u * b) / (v + u), v + u, m + k))
    return np.concatenate([np.full(count, value) for value, _, count in blocks])


RULES = {"metric": ratio, "interval": interval, "primary": primary, "secondary": secondary}


def disparities(delta, d, w, rule):
    """The transformed dissimilarities nearest to the distances, of the sum of squares that delta has; 0 where w is."""
    out, present = np.zeros_like(d), w > 0
    delta, d, w = delta[present], d[present], w[present]
    best = RULES[rule](delta, d, w)
    if rule != "metric":
        best = best * np.sqrt((w * delta**2).sum() / (w * best**2).sum())
    out[present] = best
    return out


def smacof(delta, X, rule="metric", w=None, n_steps=100):
    """So many Guttman transforms, the disparities found anew before each."""
    w = np.ones_like(delta) if w is None else w
    run = Run([], [], [], [])
    for step in range(n_steps + 1):
        d = distances(X)
        dhat = disparities(delta, d, w, rule)
        run.configurations.append(X)
        run.disparities.append(dhat)
        run.raw.append(raw_stress(dhat, d, w))
        run.stress.append(kruskal(dhat, d, w))
        if step < n_steps:
            X = guttman_transform(X, dhat, w)
    return run._replace(raw=np.array(run.raw), stress=np.array(run.stress))
