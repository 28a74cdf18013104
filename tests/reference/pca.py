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
