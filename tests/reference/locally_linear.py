"""Locally linear embedding by its definitions, dense: the matrix of each method, and its eigenvectors.

Roweis and Saul (2000); Zhang and Wang (2006), "modified"; Donoho and Grimes (2003), "hessian"; Zhang and Zha (2004), "ltsa".
"""

import numpy as np
from scipy.linalg import null_space


def nearest(X, k):
    """Return the k nearest other rows of each row, ties by the lower row."""
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def weights(x, neighbors, regularization):
    """Return the weights, which sum to 1, of the least |x - w'neighbors|^2 + r trace(G) |w|^2."""
    differences = neighbors - x
    G = differences @ differences.T
    trace = np.trace(G)
    w = np.linalg.solve(G + regularization * (trace if trace > 0 else 1) * np.eye(len(G)), np.ones(len(G)))
    return w / w.sum()


def standard(X, near, d, regularization=1e-3):
    n = len(X)
    W = np.zeros((n, n))
    for i in range(n):
        W[i, near[i]] = weights(X[i], X[near[i]], regularization)
    return (np.eye(n) - W).T @ (np.eye(n) - W)


def modified(X, near, d, regularization=1e-3):
    """Return the sum over rows and their sets of weights of (e - w)(e - w)', with explicit Householder matrices."""
    n, k = near.shape
    M = np.zeros((n, n))
    pairs = []
    for i in range(n):
        differences = X[near[i]] - X[i]
        values, vectors = np.linalg.eigh(differences @ differences.T)
        values = np.where(values > 1e-13 * values.max(), values, 0)[::-1]
        pairs.append((values, vectors[:, ::-1]))
    eta = np.median([values[d:].sum() / values[:d].sum() for values, _ in pairs])
    for i, (values, V) in enumerate(pairs):
        sizes = [size for size in range(1, k - d + 1) if values[k - size :].sum() / values[: k - size].sum() < eta]
        s = max([1, (values == 0).sum(), *sizes])
        V = V[:, k - s :]
        alpha = np.linalg.norm(V.sum(axis=0)) / np.sqrt(s)
        h = alpha * np.ones(s) - V.T @ np.ones(k)
        h = h / np.linalg.norm(h) if np.linalg.norm(h) > 1e-12 else h * 0
        sets = (1 - alpha) * weights(X[i], X[near[i]], regularization)[:, None] + V @ (np.eye(s) - 2 * np.outer(h, h))
        assert np.allclose(sets.sum(axis=0), 1)
        columns = np.zeros((n, s))
        columns[near[i]] = -sets
        columns[i] = 1
        M += columns @ columns.T
    return M


def tangents(points, d):
    """Return the first d left singular vectors of centred points."""
    return np.linalg.svd(points - points.mean(axis=0))[0][:, :d]


def ltsa(X, near, d, *, own_row=True):
    """Return the sum of the projections onto the complement of affine functions of the tangent coordinates.

    Neighbourhoods contain the row itself, as in the paper, unless own_row is False, as in scikit-learn.
    """
    M = np.zeros((len(X), len(X)))
    for i, others in enumerate(near):
        rows = np.array([i, *others]) if own_row else others
        complement = null_space(np.column_stack([np.ones(len(rows)), tangents(X[rows], d)]).T)
        M[np.ix_(rows, rows)] += complement @ complement.T
    return M


def hessian(X, near, d, *, own_row=True):
    """Return the sum of H H', with H an orthonormal basis of quadratic functions without their affine part."""
    M = np.zeros((len(X), len(X)))
    for i, others in enumerate(near):
        rows = np.array([i, *others]) if own_row else others
        U = tangents(X[rows], d)
        products = [U[:, a] * U[:, b] for a in range(d) for b in range(a, d)]
        H = np.linalg.qr(np.column_stack([np.ones(len(rows)), U, *products]))[0][:, d + 1 :]
        M[np.ix_(rows, rows)] += H @ H.T
    return M


MATRICES = {"standard": standard, "modified": modified, "hessian": hessian, "ltsa": ltsa}


def smallest(M, d):
    """Return the d smallest eigenvalues and vectors besides those of constant vectors."""
    values, vectors = np.linalg.eigh(M + np.full(M.shape, 1e3 / len(M)))
    return values[:d], vectors[:, :d]
