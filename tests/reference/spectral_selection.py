"""SPEC and MCFS with dense matrices, by their papers, for a few hundred rows."""

import numpy as np


def normalized_laplacian(S):
    """The eigenpairs of 1 - D^-1/2 S D^-1/2, ascending, and the degrees; rows without edges must be left out."""
    d = S.sum(axis=1)
    values, vectors = np.linalg.eigh(np.eye(len(S)) - S / np.sqrt(np.outer(d, d)))
    return values, vectors, d


def spec(X, S, style, k=None):
    """The ranking functions phi1, phi2 and phi3 of Zhao and Liu (2007), with gamma the identity.

    The first eigenvector is D^1/2 1; of equal eigenvalues 0 the others are orthogonal to it.
    """
    values, vectors, d = normalized_laplacian(S)
    first = np.sqrt(d / d.sum())
    scores = []
    for f in X.T:
        f_hat = np.sqrt(d) * f / np.linalg.norm(np.sqrt(d) * f)
        alpha = vectors.T @ f_hat
        if style == "phi1":
            scores.append((alpha**2 * values).sum())
        elif style == "phi2":
            scores.append((alpha**2 * values).sum() / (1 - (f_hat @ first) ** 2))
        else:
            scores.append(((2 - values[:k]) * alpha[:k] ** 2).sum() - 2 * (f_hat @ first) ** 2)
    return np.array(scores)


def lasso_with_n_nonzero(X, y, n_nonzero):
    """The lasso at the end of the first step of its path after which n_nonzero coefficients are not 0 (Efron et al. 2004)."""
    beta, active = np.zeros(X.shape[1]), [int(np.argmax(np.abs(X.T @ y)))]
    while True:
        c = X.T @ (y - X @ beta)
        C = np.abs(c[active]).max()
        w = np.linalg.solve(X[:, active].T @ X[:, active], np.sign(c[active]))
        a = X.T @ (X[:, active] @ w)
        steps = [(C, None)]
        for j in set(range(X.shape[1])) - set(active):
            steps += [(g, j) for g in ((C - c[j]) / (1 - a[j]), (C + c[j]) / (1 + a[j])) if 1e-9 < g < C]
        steps += [(g, j) for j, g in zip(active, -beta[active] / w, strict=True) if 1e-12 < g < C]
        length, j = min(steps, key=lambda step: step[0])
        beta[active] += length * w
        if j in active:
            beta[j] = 0.0
            active.remove(j)
        elif j is not None and np.count_nonzero(beta) < n_nonzero:
            active.append(j)
        else:
            return beta


def mcfs(X, S, n_clusters, n_nonzero):
    """The largest absolute coefficient of every standardised column, for a connected graph and y of mean square 1."""
    _, vectors, d = normalized_laplacian(S)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = np.zeros(X.shape[1])
    for k in range(1, n_clusters + 1):
        y = vectors[:, k] / np.sqrt(d) * np.sqrt(d.sum())
        scores = np.maximum(scores, np.abs(lasso_with_n_nonzero(Z, y - y.mean(), n_nonzero)))
    return scores
