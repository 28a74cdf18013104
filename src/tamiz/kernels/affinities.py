"""Affinities of the nearest neighbours of each row: Gaussians of a given perplexity, and UMAP's smooth distances.

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


@jit(void(ro(int64), ro(float64), float64, float64, float64, int64, int64, rw(float64), rw(float64), rw(float64)))
def smooth_affinities(indptr, distances, total, connectivity, mean_distance, first, last, out, offsets, widths):
    """Fill out with exp(-max(d - rho_i, 0) / sigma_i) for the rows first to last, offsets with rho_i and widths with sigma_i.

    rho_i is the distance of the neighbour of number `connectivity` among those at a positive distance, interpolated. sigma_i makes
    the sum of the affinities `total`, and is at least a thousandth of the mean distance of the row, or of all rows if rho_i is 0.
    """
    for i in range(first, last):
        start, stop = indptr[i], indptr[i + 1]
        count, mean, rho = stop - start, 0.0, 0.0
        positive = start
        while positive < stop and distances[positive] == 0.0:
            positive += 1
        whole = int(np.floor(connectivity))
        share = connectivity - whole
        if stop - positive >= connectivity:
            if whole > 0:
                rho = distances[positive + whole - 1]
                if share > 1e-5:
                    rho += share * (distances[positive + whole] - distances[positive + whole - 1])
            elif stop > positive:
                rho = share * distances[positive]
        elif stop > positive:
            rho = distances[stop - 1]
        for e in range(start, stop):
            mean += distances[e]
        # The row itself counts among its neighbours, at the distance 0.
        mean /= count + 1
        low, high, sigma = 0.0, np.inf, 1.0
        for _ in range(_MAX_STEPS):
            found = 0.0
            for e in range(start, stop):
                excess = distances[e] - rho
                found += np.exp(-excess / sigma) if excess > 0.0 else 1.0
            if abs(found - total) < 1e-5:
                break
            if found > total:
                high = sigma
                sigma = 0.5 * (low + high)
            else:
                low = sigma
                sigma = 2.0 * sigma if high == np.inf else 0.5 * (low + high)
            if sigma in (low, high) or sigma > 1e300:
                break
        sigma = max(sigma, 1e-3 * (mean if rho > 0.0 else mean_distance))
        for e in range(start, stop):
            excess = distances[e] - rho
            out[e] = np.exp(-excess / sigma) if excess > 0.0 and sigma > 0.0 else 1.0
        offsets[i], widths[i] = rho, sigma
