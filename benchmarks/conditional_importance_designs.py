"""Tables with a known answer to the question what a column adds to the others, for `benchmarks/conditional_importance_rates.py`."""

import numpy as np
import polars as pl
from scipy import stats


def ar1(rng, n, p, rho):
    return rng.multivariate_normal(np.zeros(p), rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))), size=n)


def with_noise(rng, signal, ratio=2.0):
    """Return the signal plus noise, with `ratio` times the variance of the noise."""
    return signal + rng.normal(size=len(signal)) * signal.std() / np.sqrt(ratio)


def linear(rho, n=500, p=30, n_relevant=6, ratio=2.0, classes=False):
    def draw(rng):
        X = ar1(rng, n, p, rho)
        relevant = rng.choice(p, n_relevant, replace=False)
        signal = X[:, relevant].sum(axis=1)
        if classes:
            y = (rng.random(n) < 1 / (1 + np.exp(-2 * signal / signal.std()))).astype(int)
        else:
            y = with_noise(rng, signal, ratio)
        return X, y, relevant, {}

    return draw


def nonlinear(rng, n=500, p=20):
    X = ar1(rng, n, p, 0.6)
    a, b, c, d, e = rng.choice(p, 5, replace=False)
    signal = 2 * X[:, a] * X[:, b] + 2 * np.abs(X[:, c]) + X[:, d] + 2 * (X[:, e] > 0)
    return X, with_noise(rng, signal), np.array([a, b, c, d, e]), {}


def curved(rng, n=500):
    """Irrelevant columns are curves and products of the relevant ones, which have curved effects themselves."""
    Z = rng.normal(size=(n, 5))
    noisy = [Z[:, 0] ** 2, np.abs(Z[:, 1]), Z[:, 2] * Z[:, 3], np.sin(2 * Z[:, 4]), Z[:, 0] * Z[:, 1]]
    U = np.column_stack([one + 0.5 * one.std() * rng.normal(size=n) for one in noisy])
    X = np.hstack([Z, U, rng.normal(size=(n, 10))])
    signal = Z[:, 0] ** 2 + 2 * np.abs(Z[:, 1]) + Z[:, 2] * Z[:, 3] + 2 * np.sin(2 * Z[:, 4])
    return X, with_noise(rng, signal), np.arange(5), {}


def copies(rng, n=500):
    """Half of the columns are noisy copies, r = .95, of the others."""
    Z = ar1(rng, n, 10, 0.3)
    X = np.hstack([Z, 0.95 * Z + np.sqrt(1 - 0.95**2) * rng.normal(size=Z.shape)])
    return X, with_noise(rng, Z[:, :5].sum(axis=1)), np.arange(5), {}


def heavy(rng, n=500, p=20):
    X = ar1(rng, n, p, 0.6) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    X[:, ::2] = np.sign(X[:, ::2]) * np.expm1(np.minimum(np.abs(X[:, ::2]), 6))
    relevant = rng.choice(p, 5, replace=False)
    signal = X[:, relevant] @ (1 / X[:, relevant].std(axis=0))
    return X, signal + 0.5 * rng.standard_t(3, size=n), relevant, {}


def skewed(rng, n=500, p=20):
    """Each column has a spread that grows with the one before it, and skewed residuals."""
    X = np.empty((n, p))
    X[:, 0] = rng.normal(size=n)
    for j in range(1, p):
        X[:, j] = 0.5 * X[:, j - 1] + np.exp(0.5 * np.clip(X[:, j - 1], -2, 2)) * (rng.exponential(size=n) - 1)
    relevant = rng.choice(p, 5, replace=False)
    return X, with_noise(rng, (X[:, relevant] / X[:, relevant].std(axis=0)).sum(axis=1)), relevant, {}


def mixed(rng, n=600):
    """Numbers, categories with 10 levels, booleans and missing values that depend on each other; the first of each kind matter."""
    Z = ar1(rng, n, 18, 0.7)[:, rng.permutation(18)]
    columns, signal, relevant = {}, np.zeros(n), []
    for j in range(18):
        z = Z[:, j]
        if j % 3 == 0:
            values = list(np.round(z, 1) if j % 2 else z)
            effect = z.copy()
        elif j % 3 == 1:
            code = (stats.rankdata(z + 0.5 * rng.normal(size=n)) * 10 / (n + 1)).astype(int)
            order = rng.permutation(10)
            values = [f"level {order[k]}" for k in code]
            effect = np.sin(np.arange(10))[code]
        else:
            values = (z + rng.normal(size=n) > 0).tolist()
            effect = 2.0 * np.array(values) - 1
        if j < 6:
            relevant.append(j)
            signal += effect / effect.std()
        if j % 4 == 0:
            # Missing depending on the next column.
            gone = rng.random(n) < 1 / (1 + np.exp(2 - Z[:, (j + 1) % 18]))
            values = [None if absent else value for value, absent in zip(values, gone, strict=True)]
        columns[f"x{j}"] = values
    return pl.DataFrame(columns), with_noise(rng, signal), np.array(relevant), {}


def grouped(rng, n_groups=100, size=5, p=20):
    groups = np.repeat(np.arange(n_groups), size)
    X = 0.8 * ar1(rng, n_groups, p, 0.5)[groups] + 0.6 * ar1(rng, len(groups), p, 0.5)
    relevant = rng.choice(p, 5, replace=False)
    y = with_noise(rng, X[:, relevant].sum(axis=1)) + 2 * rng.normal(size=n_groups)[groups]
    return X, y, relevant, {"groups": groups}


DESIGNS = {
    "AR(1) 0.6": linear(0.6),
    "AR(1) 0.9": linear(0.9),
    "AR(1) 0.6, 300 rows, 50 columns": linear(0.6, n=300, p=50),
    "AR(1) 0.6, classes": linear(0.6, classes=True),
    "AR(1) 0.6, nonlinear effects": nonlinear,
    "columns that are curves of others": curved,
    "noisy copies, r = 0.95": copies,
    "t(3) and log-normal columns": heavy,
    "spreads that depend on others, skewed": skewed,
    "numbers, levels, booleans, missing values": mixed,
    "groups of 5 rows": grouped,
}
