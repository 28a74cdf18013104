"""Mutual information by nearest neighbours, in nats, straight from the definitions, with a loop over the rows and O(n^2) distances.

A variable is a list of columns; floats are numbers, which are used as they are, other values are categories.
"""

from math import comb, log

import numpy as np
from scipy.special import digamma as psi

TOLERANCE = 1e-12


def entropy(labels):
    labels = list(labels)
    counts = [labels.count(label) for label in set(labels)]
    return sum(c / len(labels) * log(len(labels) / c) for c in counts)


def distances(variable, n):
    """Maximum-norm distances of all pairs of rows, infinite for different categories."""
    apart = np.zeros((n, n))
    for column in variable:
        column = np.asarray(column)
        d = (
            abs(column[:, None] - column)
            if column.dtype.kind == "f"
            else np.where(column[:, None] == column, 0, np.inf)
        )
        apart = np.maximum(apart, d)
    return apart


def expected_psi(n_nearer, n_ties, n_own, n_others, rank):
    """Mean of psi(1 + points before the point of that rank) over the random orders of a shell, from binomial coefficients."""
    mean = 0.0
    for a in range(rank):
        of_own = comb(n_own, a) * comb(n_ties - n_own, rank - 1 - a) / comb(n_ties, rank - 1)
        for t in range(n_others + 1):
            ways = comb(t + rank - 1, t) * comb(n_ties + n_others - t - rank, n_others - t)
            mean += of_own * ways / comb(n_ties + n_others, n_others) * psi(n_nearer + 1 + a + t)
    return mean


def information(x, y, z=(), k=3):
    """I(X; Y | Z), before it is limited to the entropy; negative estimates are kept."""
    n = len((*x, *y)[0])
    whole = [*x, *y, *z]
    if not any(np.asarray(c).dtype.kind == "f" for c in whole):
        parts = ([*x, *z], [*y, *z], whole, z)
        hx, hy, h, hz = (entropy(zip(*part, strict=True)) if part else 0.0 for part in parts)
        return hx + hy - h - hz
    joint = distances(whole, n)
    kept = np.flatnonzero(np.isfinite(joint).sum(axis=1) > 1)
    if len(kept) == 0:
        return 0.0
    joint = joint[np.ix_(kept, kept)]
    spaces = [(distances(v, n)[np.ix_(kept, kept)], sign) for v, sign in (([*x, *z], -1), ([*y, *z], -1), (list(z), 1))]
    return float(np.mean([row_term(i, joint, spaces, k) for i in range(len(kept))]))


def row_term(i, joint, spaces, k):
    others = np.arange(len(joint)) != i
    d = joint[i]
    k = min(k, int(np.isfinite(d[others]).sum()))
    r = np.sort(d[others])[k - 1]
    if r < TOLERANCE:
        return psi((d < TOLERANCE).sum()) + sum(sign * psi((s[i] < TOLERANCE).sum()) for s, sign in spaces)
    shell = others & (abs(d - r) < TOLERANCE)
    rank = k - int((others & (d < r - TOLERANCE)).sum())
    value = psi(k)
    for s, sign in spaces:
        own_shell = others & (abs(s[i] - r) < TOLERANCE)
        n_own, n_nearer = int((shell & own_shell).sum()), int((others & (s[i] < r - TOLERANCE)).sum())
        value += sign * expected_psi(n_nearer, int(shell.sum()), n_own, int(own_shell.sum()) - n_own, rank)
    return value
