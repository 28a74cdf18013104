"""The redundancy filter on numeric columns: a loop over the columns, with numpy's correlations and regressions."""

import numpy as np


def r2(X, y):
    """The share of the variance of y that a regression on the columns of X explains."""
    X, y = X - X.mean(axis=0), y - y.mean()
    rest = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    return 1 - (rest @ rest) / (y @ y)


def correlation(x, y):
    """The absolute correlation in the rows with both values, 0 for fewer than ten of these."""
    common = ~(np.isnan(x) | np.isnan(y))
    return abs(np.corrcoef(x[common], y[common])[0, 1]) if common.sum() >= 10 else 0.0


def association(X, kept, j, measure):
    if not kept:
        return 0.0
    if measure == "pearson":
        return max(correlation(X[:, k], X[:, j]) for k in kept)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    incomplete = [k for k in kept if np.isnan(X[:, [k, j]]).any()]
    return max([r2(filled[:, kept], filled[:, j]), *(correlation(X[:, k], X[:, j]) ** 2 for k in incomplete)])


def redundancy_filter(X, measure, threshold, order=None):
    """The kept columns, and the association of every column when it was visited."""
    kept, values = [], np.zeros(X.shape[1])
    for j in range(X.shape[1]) if order is None else order:
        values[j] = association(X, kept, j, measure)
        if values[j] < threshold:
            kept.append(j)
    return sorted(kept), values
