"""The knockoff filter, e-values and e-BH by their definitions, with loops over all thresholds and all numbers of selections."""

import numpy as np


def threshold(statistics, fdr, offset):
    """The smallest positive |W| whose estimate is at most fdr; infinity if there is none."""
    best = np.inf
    for t in (abs(w) for w in statistics if w != 0):
        negative = sum(w <= -t for w in statistics)
        positive = sum(w >= t for w in statistics)
        # Compared as products of whole numbers and fdr, so that 3 / 30 is at most 0.1.
        if offset + negative <= fdr * max(1, positive) + 1e-9 and t < best:
            best = t
    return best


def e_values(statistics, fdr):
    t = threshold(statistics, fdr, 1)
    negative = sum(w <= -t for w in statistics)
    return np.array([len(statistics) / (1 + negative) if w >= t else 0.0 for w in statistics])


def e_bh(e, fdr):
    n = len(e)
    selected = np.zeros(n, dtype=bool)
    for k in range(1, n + 1):
        if sum(one >= n / (fdr * k) - 1e-9 for one in e) >= k:
            selected = np.array([one >= n / (fdr * k) - 1e-9 for one in e])
    return selected


def joint_covariance(correlation, s):
    """The covariance of columns and knockoffs."""
    off = correlation - np.diag(s)
    return np.block([[correlation, off], [off, correlation]])


def mvr_objective(correlation, s):
    """The trace of the inverse of the joint covariance, from its blocks."""
    return (1 / s).sum() + np.trace(np.linalg.inv(2 * correlation - np.diag(s)))
