"""Tables for which the columns that predict the target are known."""

import numpy as np


def noise(seed, n=100, p=1000):
    """Columns that have nothing to do with two classes of equal size."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.permutation(np.arange(n) % 2)


def signal(seed=0, n=80, p=8):
    """Two columns that tell the classes apart, more or less, and others that do not."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, p))
    X[:, 0] += 1.5 * y
    X[:, 3] -= 1.5 * y
    return X, y
