"""UMAP: memberships of neighbours, and a layout in which rows are attracted along sampled edges and repelled from drawn rows.

A row moves through its own edges in order, against the places of all other rows before the epoch, and nothing else writes it: the
bits do not depend on threads. The kernel of the map is v(d) = 1 / (1 + a d^(2b)). A group of LANES consecutive rows moves at once,
each row in a lane of the vector registers, so rows should be sorted by their number of draws.

Coordinates have shape (m, n + LANES): one line for each axis, whose first LANES entries follow again after the last, so that LANES
consecutive entries can be read from each of the n. Draws and phases are hashes of the seed, the epoch, the row and their number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.types import float32, float64, int32, int64, uint32, uint64, void

from tamiz.kernels import jit, record, ro, rw

LANES = 32
_ONE, _TWO, _HALF = np.float32(1.0), np.float32(2.0), np.float32(0.5)
# Longest step along an axis, for each unit of the learning rate.
_CLIP = np.float32(4.0)
# Added to the squared distance of a drawn row, as in the reference implementation.
_SOFTENING, _TINY = np.float32(1e-3), np.float32(1e-12)
# 2 / ln 2, ln 2, and the coefficients of the series of the logarithm and of the exponential function.
_LOG2_SCALE, _LN2 = np.float32(2.0 / np.log(2.0)), np.float32(np.log(2.0))
_THIRD, _FIFTH, _SEVENTH = np.float32(1 / 3), np.float32(1 / 5), np.float32(1 / 7)
_E2, _E3, _E4, _E5, _E6 = (np.float32(1 / factorial) for factorial in (2, 6, 24, 120, 720))
# Bits of the square root of a half, and bits of a mantissa.
_SQRT_HALF, _MANTISSA_BITS = np.int32(0x3F3504F3), np.int32(23)
_UNIT = np.float32(2.0**-24)
# The bisection for the width of the memberships: steps, tolerance of their sum, and the least width, as in the reference
# implementation.
_MAX_BISECTIONS, _SUM_TOLERANCE, _SMALLEST_WIDTH, _SMALLEST_SHARE = 64, 1e-5, 1e-3, 1e-5


class Epoch(NamedTuple):
    """The settings of an epoch.

    `a` and `b` of the map, the strength of the repulsion, the learning rate, the number of the epoch, the draws for each sampled
    edge, the seed, and whether each row has draws of its own (1) or all have the same (0): the places of new rows must not depend
    on their number.
    """

    a: float
    b: float
    strength: float
    rate: float
    number: int
    n_draws: int
    seed: int
    own_draws: int


EPOCH = record(Epoch, float64, float64, float64, float64, int64, int64, int64, int64)


@jit(float32(float32, float32), reassociate=True)
def power(x, exponent):
    """Return x to the power `exponent` for normal x > 0, with a relative error of about 1e-6."""
    bits = np.float32(x).view(np.int32)
    whole = np.int32(np.int32(bits - _SQRT_HALF) >> _MANTISSA_BITS)
    mantissa = np.int32(bits - np.int32(whole << _MANTISSA_BITS)).view(np.float32)
    s = (mantissa - _ONE) / (mantissa + _ONE)
    t = s * s
    logarithm = np.float32(whole) + _LOG2_SCALE * s * (_ONE + t * (_THIRD + t * (_FIFTH + t * _SEVENTH)))
    z = min(max(exponent * logarithm, np.float32(-126.0)), np.float32(126.0))
    nearest = np.int32(np.floor(z + _HALF))
    f = (z - np.float32(nearest)) * _LN2
    fraction = _ONE + f * (_ONE + f * (_E2 + f * (_E3 + f * (_E4 + f * (_E5 + f * _E6)))))
    return fraction * np.int32((np.int32(nearest) + np.int32(127)) << _MANTISSA_BITS).view(np.float32)


@jit(uint32(uint64, uint64))
def mix(value, key):
    """Return 32 hashed bits."""
    x = uint64(value * uint64(0x9E3779B97F4A7C15) + key)
    x = (x ^ (x >> uint64(32))) * uint64(0xD6E8FEB86659FD93)
    x = (x ^ (x >> uint64(32))) * uint64(0xD6E8FEB86659FD93)
    return uint32(x >> uint64(32))


@jit(void(ro(int64), ro(float64), float64, float64, int64, int64, rw(float64)))
def smooth_memberships(indptr, distances, connectivity, mean_distance, first, last, out):
    """Fill out with exp(-max(d - rho_i, 0) / sigma_i) for the rows first to last.

    rho_i is the distance of the neighbour of number `connectivity` among those at a positive distance, interpolated. sigma_i gives
    k neighbours the sum log2(k + 1), by bisection as in the reference implementation, and is at least a thousandth of the mean
    distance of the row, or of all rows if rho_i is 0.
    """
    longest = 0
    for i in range(first, last):
        longest = max(longest, indptr[i + 1] - indptr[i])
    near = np.empty(longest + 1)
    for i in range(first, last):
        start, count = indptr[i], indptr[i + 1] - indptr[i]
        if count == 0:
            continue
        # Positive distances in ascending order.
        n_near, mean = 0, 0.0
        for e in range(start, start + count):
            mean += distances[e]
            if distances[e] > 0.0:
                place = n_near
                while place > 0 and near[place - 1] > distances[e]:
                    near[place] = near[place - 1]
                    place -= 1
                near[place] = distances[e]
                n_near += 1
        # The row itself counts among its neighbours, at the distance 0.
        mean /= count + 1
        rho, whole = 0.0, int64(np.floor(connectivity))
        share = connectivity - whole
        if n_near > 0 and n_near >= connectivity:
            rho = near[whole - 1] if whole > 0 else share * near[0]
            if whole > 0 and share > _SMALLEST_SHARE:
                rho += share * (near[whole] - near[whole - 1])
        elif n_near > 0:
            rho = near[n_near - 1]
        # From the mean distance, so that the result does not depend on the unit.
        low, high, sigma, wanted = 0.0, np.inf, mean, np.log2(count + 1.0)
        for _ in range(_MAX_BISECTIONS):
            found = 0.0
            for e in range(start, start + count):
                excess = distances[e] - rho
                found += np.exp(-excess / sigma) if excess > 0.0 and sigma > 0.0 else 1.0
            if abs(found - wanted) < _SUM_TOLERANCE:
                break
            if found > wanted:
                high = sigma
                sigma = 0.5 * (low + high)
            else:
                low = sigma
                sigma = 2.0 * sigma if high == np.inf else 0.5 * (low + high)
        sigma = max(sigma, _SMALLEST_WIDTH * (mean if rho > 0.0 else mean_distance))
        for e in range(start, start + count):
            excess = distances[e] - rho
            out[e] = np.exp(-excess / sigma) if excess > 0.0 and sigma > 0.0 else 1.0


@jit(
    void(
        ro(float32, 2), ro(float32, 2), ro(float32, 2), ro(int64), ro(int32), ro(float32), EPOCH, int64, int64,
        rw(float32, 2),
    ),
    reassociate=True,
)  # fmt: skip
def move_rows(rows, points, pool, indptr, indices, rates, epoch, first, last, out):
    """Fill out with the places of the rows first to last after an epoch.

    The edges of row i to points are the entries indptr[i] to indptr[i + 1]. An edge of rate r is sampled in the epochs t at which
    floor(t r + phase) grows: r times in each epoch. Its row then moves towards the point, twice as far as along the gradient,
    because the edge is sampled from both of its ends; and away from `n_draws` drawn points.
    """
    m, stride = rows.shape[0], 1 if epoch.own_draws else LANES
    n = uint64(pool.shape[1] // stride - LANES // stride)
    a, b, rate = np.float32(epoch.a), np.float32(epoch.b), np.float32(epoch.rate)
    pull, push = _TWO * _TWO * a * b * rate, _TWO * np.float32(epoch.strength) * b * rate
    limit, seed, own = _CLIP * rate, uint64(epoch.seed), uint64(epoch.own_draws)
    key = uint64(mix(uint64(epoch.number), seed)) << uint64(32)
    now, then = np.float32(epoch.number), np.float32(epoch.number + 1)
    longest = 0
    for i in range(first, last):
        longest = max(longest, indptr[i + 1] - indptr[i])
    due = np.zeros((longest + 1, LANES), np.int32)
    n_due = np.empty(LANES, np.int32)
    here, away = np.empty((m, LANES), np.float32), np.empty((m, LANES), np.float32)
    factor = np.empty(LANES, np.float32)
    for start in range(first, last, LANES):
        most = 0
        for s in range(LANES):
            i, count = min(start + s, last - 1), 0
            phase = mix(uint64(i) * own, seed)
            for e in range(indptr[i], indptr[i + 1]):
                # Phases of successive edges are spread evenly.
                phase = uint32(phase + uint32(2654435769))
                share = np.float32(phase >> uint32(8)) * _UNIT
                due[count, s] = indices[e]
                count += np.floor(then * rates[e] + share) > np.floor(now * rates[e] + share)
            n_due[s] = count
            most = max(most, count)
            for k in range(m):
                here[k, s] = rows[k, i]
        group = (uint64(start) * own) << uint64(24)
        for q in range(most):
            for s in range(LANES):
                factor[s] = _TINY
            for k in range(m):
                for s in range(LANES):
                    away[k, s] = points[k, due[q, s]] - here[k, s]
                    factor[s] += away[k, s] * away[k, s]
            for s in range(LANES):
                raised = power(factor[s], b)
                found = pull * raised / (factor[s] * (_ONE + a * raised))
                found = found / (_ONE + _TWO * found)
                factor[s] = found if q < n_due[s] else np.float32(0.0)
            for k in range(m):
                for s in range(LANES):
                    here[k, s] += min(max(factor[s] * away[k, s], -_TWO * limit), _TWO * limit)
            for c in range(q * epoch.n_draws, (q + 1) * epoch.n_draws):
                drawn = int64((uint64(mix(group + uint64(c), key + seed)) * n) >> uint64(32)) * stride
                # The rows of the group would draw themselves, where they were before the epoch.
                if own and drawn == start:
                    continue
                for s in range(LANES):
                    factor[s] = _SOFTENING
                for k in range(m):
                    for s in range(LANES):
                        away[k, s] = here[k, s] - pool[k, drawn + s]
                        factor[s] += away[k, s] * away[k, s]
                for s in range(LANES):
                    found = push / (factor[s] * (_ONE + a * power(factor[s] - _SOFTENING + _TINY, b)))
                    factor[s] = found if q < n_due[s] else np.float32(0.0)
                for k in range(m):
                    for s in range(LANES):
                        here[k, s] += min(max(factor[s] * away[k, s], -limit), limit)
        for k in range(m):
            for s in range(min(LANES, last - start)):
                out[k, start + s] = here[k, s]


@jit(float64(ro(float32, 2), ro(int64), ro(int32), ro(float32), ro(int64), EPOCH, int64, int64))
def cross_entropy(points, indptr, indices, rates, shifts, epoch, first, last):
    """Return the sum over the rows first to last of the cross entropy whose gradient the expected move of a row follows.

    For row i: sum_j r_ij log(1 / v_ij), and the mean of log(1 / (1 - v_ij)) over the rows i + shifts, modulo n, times the strength
    and the number of draws for the edges of the row.
    """
    m, n = points.shape[0], points.shape[1] - LANES
    a, b, total = epoch.a, epoch.b, 0.0
    for i in range(first, last):
        attraction, repulsion, degree = 0.0, 0.0, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            square = 0.0
            for k in range(m):
                difference = float64(points[k, i]) - points[k, indices[e]]
                square += difference * difference
            attraction += rates[e] * np.log(1.0 + a * square**b)
            degree += rates[e]
        for shift in shifts:
            j, square = (i + shift) % n, float64(_SOFTENING)
            for k in range(m):
                difference = float64(points[k, i]) - points[k, j]
                square += difference * difference
            repulsion += np.log(1.0 + 1.0 / (a * square**b))
        # An edge attracts its row from both of its ends.
        total += 2.0 * attraction + epoch.strength * epoch.n_draws * degree * repulsion / len(shifts)
    return total
