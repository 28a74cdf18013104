"""The neighbour graph, its Laplacian, the Laplacian score and the eigenmap as dense matrices, for a few hundred rows."""

import numpy as np

from .ties import tie_keys


def distances(X):
    return np.sqrt(((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))


def nearest(X, k):
    """Which rows are among the k nearest of each: ties to the lower row, no row its own."""
    D = distances(X)
    near = np.zeros(D.shape, dtype=bool)
    for i in range(len(X)):
        others = [j for j in np.lexsort((np.arange(len(X)), tie_keys(D[i]))) if j != i]
        near[i, others[:k]] = True
    return near


def heat_graph(X, k, t=None, symmetry="or"):
    near, D = nearest(X, k), distances(X)
    joined = {"or": near | near.T, "mutual": near & near.T, "directed": near}[symmetry]
    if t is None:
        once = joined if symmetry == "directed" else np.triu(joined)
        t = np.mean(D[once] ** 2) or np.inf
    return np.where(joined, np.exp(-(D**2) / t), 0.0), t


def laplacian_score(X, S, weight=None):
    """f'Lf / f'Df with f centred by its D-weighted mean; a row of weight w stands for w copies of itself."""
    w = np.ones(len(X)) if weight is None else weight
    S = S * np.outer(w, w)
    D = np.diag(S.sum(axis=1))
    L = D - S
    scores = []
    for f in X.T:
        if (f == f[0]).all():
            scores.append(2.0)
            continue
        centred = f - (f @ D @ np.ones(len(f))) / D.sum()
        scores.append((centred @ L @ centred) / (centred @ D @ centred))
    return np.array(scores)


def eigenmap(S, n_components):
    """The eigenpairs of L y = lambda D y after the first, y D-orthonormal."""
    d = S.sum(axis=1)
    values, vectors = np.linalg.eigh((np.diag(d) - S) / np.sqrt(np.outer(d, d)))
    return values[1 : n_components + 1], (vectors / np.sqrt(d)[:, None])[:, 1 : n_components + 1]
