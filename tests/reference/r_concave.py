"""The largest tail probability of r-concave distributions, by a search over the extreme ones."""

import numpy as np
from scipy.optimize import brentq


def largest_tail(mean, start, n, r, n_shares=11):
    """For each last complete point k, and each share of the probability that k + 1 would have, solve for the shift."""
    best = 0.0
    for k in range(start - 1, n):
        points = np.arange(k + 2.0)
        for share in np.linspace(0, 1, n_shares):

            def probabilities(log_shift, points=points, share=share):
                values = (1 + points / np.exp(log_shift)) ** (1 / r)
                values[-1] *= share
                return values / values.sum()

            def excess(log_shift, points=points, find=probabilities):
                return find(log_shift) @ points - mean * n

            if excess(-25.0) < 0 < excess(20.0):
                best = max(best, probabilities(brentq(excess, -25.0, 20.0, xtol=1e-13))[start:].sum())
    return best
