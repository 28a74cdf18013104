"""Small tables with maps that provoke numerical errors: ties, duplicates, lattices, outliers, lost digits."""

import numpy as np
from scipy.spatial.distance import cdist


def scattered(n=60, p=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.linspace(3, 0.3, p)
    return X, X[:, :2] + rng.normal(size=(n, 2)) * 0.3


def lattice(seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, size=(50, 11)).astype(float), rng.integers(0, 4, size=(50, 2)).astype(float)


def duplicates(seed=2):
    X, Y = scattered(48, 10, seed)
    at = np.random.default_rng(seed).integers(0, 12, size=48)
    return X[at], np.round(Y[at])


def outlier(seed=3):
    X, Y = scattered(40, 15, seed)
    X[7] *= 1e7
    return X, Y


def groups(seed=4):
    """Two groups so far apart that products lose the digits of distances inside them."""
    X, Y = scattered(44, 9, seed)
    X[::2] += 1e6
    return X, Y


def few_columns(seed=5):
    X, Y = scattered(52, 3, seed)
    return np.round(X * 8) / 8, Y


MAPS = {made.__name__: made() for made in (scattered, lattice, duplicates, outlier, groups, few_columns)}


def distances(X, Y):
    return cdist(X, X), cdist(Y, Y)
