"""Principal components by the singular value decomposition of the centred table."""

from typing import NamedTuple

import numpy as np


class Components(NamedTuple):
    mean: np.ndarray
    scale: np.ndarray
    axes: np.ndarray  # one column a component
    variances: np.ndarray  # of the components kept, n - 1 in the denominator
    shares: np.ndarray  # of the total variance, kept or not
    scores: np.ndarray


def pca(X, n_components=None, standardize=False):
    mean = X.mean(axis=0)
    scale = X.std(axis=0, ddof=1) if standardize else np.ones(X.shape[1])
    Z = (X - mean) / scale
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    variances = s**2 / (len(X) - 1)
    kept = slice(n_components)
    return Components(mean, scale, Vt.T[:, kept], variances[kept], variances[kept] / variances.sum(), (U * s)[:, kept])


def reconstruct(components):
    """x = (W y) times the standard deviation, plus the mean."""
    return components.scores @ components.axes.T * components.scale + components.mean


def pairwise_covariance(X):
    """Covariances over the rows that have both of a pair, as R's cov(use = "pairwise.complete.obs")."""
    q = X.shape[1]
    out = np.zeros((q, q))
    for i in range(q):
        for j in range(q):
            both = ~np.isnan(X[:, i]) & ~np.isnan(X[:, j])
            a, b = X[both, i], X[both, j]
            out[i, j] = ((a - a.mean()) * (b - b.mean())).sum() / (both.sum() - 1)
    return out


def iterative(X, k, n_steps):
    """Gaps filled by k components, the components found anew, so many times: the mean, the axes and the completed table."""
    gaps = np.isnan(X)
    filled = np.where(gaps, np.nanmean(X, axis=0), X)
    for _ in range(n_steps):
        mean = filled.mean(axis=0)
        U, s, Vt = np.linalg.svd(filled - mean, full_matrices=False)
        fitted = (U[:, :k] * s[:k]) @ Vt[:k] + mean
        filled = np.where(gaps, fitted, X)
    return mean, Vt[:k], filled


def place(x, mean, axes):
    """Where the present values of one row fit best."""
    present = ~np.isnan(x)
    return np.linalg.lstsq(axes[:, present].T, (x - mean)[present], rcond=None)[0]


def chance(n, variances, k, n_draws, standardize, seed=0):
    """Eigenvalues of tables of independent normal columns: one row a table."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(n_draws):
        X = rng.standard_normal((n, len(variances))) * np.sqrt(variances)
        if standardize:
            X = X / X.std(axis=0, ddof=1)
        rows.append(np.linalg.eigvalsh(np.cov(X.T))[::-1][:k])
    return np.array(rows)
