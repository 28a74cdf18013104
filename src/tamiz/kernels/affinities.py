"""Affinities of the nearest neighbours of each row: Gaussians of a given perplexity.

The neighbours of row i are the entries indptr[i] to indptr[i + 1], nearest first.
"""

from __future__ import annotations

import numpy as np
from numba.types import float64, int64, void

from tamiz.kernels import jit, ro, rw

_MAX_STEPS = 200


@jit(void(ro(int64), ro(float64), float64, int64, int64, rw(float64), rw(float64)))
def perplexity_affinities(indptr, distances, perplexity, first, last, out, precisions):
    """Fill out with p_j|i ~ exp(-beta_i d^2) of the given perplexity 2^H for the rows first to last, and precisions with beta_i.

    Newton's method on the logarithm of beta, within a bracket. If more neighbours than the perplexity are at the least distance,
    these have equal affinities.
    """
    wanted = np.log(perplexity)
    for i in range(first, last):
        start, stop = indptr[i], indptr[i + 1]
        nearest, mean = distances[start] * distances[start], 0.0
        for e in range(start, stop):
            mean += distances[e] * distances[e] - nearest
        mean /= stop - start
        if mean <= 0.0:
            for e in range(start, stop):
                out[e] = 1.0 / (stop - start)
            precisions[i] = 0.0
            continue
        # In the unit of the mean excess of the squared distances.
        low, high, position = -np.inf, np.inf, 0.0
        for _ in range(_MAX_STEPS):
            beta = np.exp(position)
            total, first_moment, second_moment = 0.0, 0.0, 0.0
            for e in range(start, stop):
                square = (distances[e] * distances[e] - nearest) / mean
                p = np.exp(-beta * square)
                out[e] = p
                total += p
                first_moment += p * square
                second_moment += p * square * square
            first_moment /= total
            variance = second_moment / total - first_moment * first_moment
            excess = np.log(total) + beta * first_moment - wanted
            if abs(excess) <= 1e-10:
                break
            if excess > 0.0:
                low = position
            else:
                high = position
            slope = beta * beta * variance
            following = position + excess / slope if slope > 0.0 else np.nan
            if not (low < following < high) or abs(following - position) > 8.0:
                if high == np.inf:
                    following = position + 2.0
                elif low == -np.inf:
                    following = position - 2.0
                else:
                    following = 0.5 * (low + high)
            if abs(following - position) <= 1e-14 or abs(following) > 600.0:
                break
            position = following
        for e in range(start, stop):
            out[e] /= total
        precisions[i] = np.exp(position) / mean
