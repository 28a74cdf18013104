"""The redundancy filter on complete numeric columns: a loop over the columns, with numpy's correlations and regressions."""

import numpy as np


def r2(X, y):
    """The share of the variance of y that a regression on the columns of X explains."""
    X, y = X - X.mean(axis=0), y - y.mean()
    rest = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    return 1 - (rest @ rest) / (y @ y)


def association(X, kept, j, measure):
    if not kept:
        return 0.0
    if measure == "linear":
        return r2(X[:, kept], X[:, j])
    return max(abs(np.corrcoef(X[:, k], X[:, j])[0, 1]) for k in kept)


def redundancy_filter(X, measure, threshold, order=None):
    """The kept columns, and the association of every column when it was visited."""
    kept, values = [], np.zeros(X.shape[1])
    for j in range(X.shape[1]) if order is None else order:
        values[j] = association(X, kept, j, measure)
        if values[j] < threshold:
            kept.append(j)
    return sorted(kept), values
