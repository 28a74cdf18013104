"""The log cosh contrast of independent component analysis: its derivative tanh, and sums of both.

With e = exp(-2 |y|), tanh |y| = (1 - e) / (1 + e) and log cosh y = |y| + log(1 + e) - log 2. The sum of log(1 + e) is the logarithm
of a product, which costs one multiplication for each value. The exponential is a polynomial without branches, so that LLVM
vectorises the loop. In float32 it needs fewer terms, and twice as many values fit into a register.
"""

from __future__ import annotations

import math

import numpy as np
from numba.types import float32, float64, void

from tamiz.kernels import jit, ro, rw

# A product of this many factors of at most 2 does not overflow.
_CHUNK = 512
# Beyond this value exp(-2 y) is far below the rounding of 1; the cut keeps the exponent in the range of float64.
_LARGEST = 300.0
_MANTISSA_BITS, _EXPONENT_BIAS = 52, 1023
_LOG2 = math.log(2.0)
_PER_LOG2 = 1.0 / _LOG2
# log 2 as a number of 32 bits, whose multiples are exact, and the rest (Cody and Waite 1980).
_LOG2_HIGH = math.floor(_LOG2 * 2.0**32) / 2.0**32
_LOG2_LOW = _LOG2 - _LOG2_HIGH
# The same for float32: a product of fewer factors, exponents above -126, and log 2 as a number of 10 bits and the rest.
_CHUNK32, _LARGEST32, _MANTISSA_BITS32, _EXPONENT_BIAS32 = 64, np.float32(40.0), 23, 127
_PER_LOG2_32, _LOG2_HIGH32, _LOG2_LOW32 = np.float32(_PER_LOG2), np.float32(355 / 512), np.float32(_LOG2 - 355 / 512)
_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1.0), np.float32(2.0)
# Taylor coefficients of the exponential; up to log(2) / 2 the first one left out is below 1e-17.
_C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (1.0 / math.factorial(j) for j in range(3, 14))
_S3, _S4, _S5, _S6, _S7 = (np.float32(1.0 / math.factorial(j)) for j in range(3, 8))


@jit(void(ro(float64, 2), rw(float64, 2), rw(float64, 2)), reassociate=True)
def log_cosh_sums(sources, tanh, sums):
    """Fill tanh with that of the sources, and add to sums[k] the sum of log cosh y and of tanh(y)^2 over the row k."""
    n = sources.shape[1]
    for k in range(sources.shape[0]):
        log_cosh, squares = 0.0, 0.0
        for start in range(0, n, _CHUNK):
            product, distance = 1.0, 0.0
            # Indices from 0 need no check for negative ones, which would make loads gathers: half of the time.
            values, images = sources[k, start : start + _CHUNK], tanh[k, start : start + _CHUNK]
            for i in range(len(values)):
                y = values[i]
                size = abs(y)
                x = -2.0 * min(size, _LARGEST)
                whole = np.floor(x * _PER_LOG2 + 0.5)
                r = (x - whole * _LOG2_HIGH) - whole * _LOG2_LOW
                e = _C9 + r * (_C10 + r * (_C11 + r * (_C12 + r * _C13)))
                e = 1.0 + r * (
                    1.0 + r * (0.5 + r * (_C3 + r * (_C4 + r * (_C5 + r * (_C6 + r * (_C7 + r * (_C8 + r * e)))))))
                )
                bits = np.int64(np.int32(whole)) + np.int64(_EXPONENT_BIAS)
                e *= np.int64(bits << np.int64(_MANTISSA_BITS)).view(np.float64)
                t = (1.0 - e) / (1.0 + e)
                product *= 1.0 + e
                distance += size
                squares += t * t
                images[i] = math.copysign(t, y)
            log_cosh += distance + math.log(product)
        sums[k, 0] += log_cosh - n * _LOG2
        sums[k, 1] += squares


@jit(void(ro(float32, 2), rw(float32, 2), rw(float64, 2)), reassociate=True)
def log_cosh_sums_single(sources, tanh, sums):
    """Do the same in float32, up to rounding of 1e-7 of a value; the sums of chunks are added in float64."""
    n = sources.shape[1]
    for k in range(sources.shape[0]):
        log_cosh, squares = 0.0, 0.0
        for start in range(0, n, _CHUNK32):
            product, distance, square = _ONE, np.float32(0.0), np.float32(0.0)
            values, images = sources[k, start : start + _CHUNK32], tanh[k, start : start + _CHUNK32]
            for i in range(len(values)):
                y = values[i]
                size = abs(y)
                x = -_TWO * min(size, _LARGEST32)
                whole = np.floor(x * _PER_LOG2_32 + _HALF)
                r = (x - whole * _LOG2_HIGH32) - whole * _LOG2_LOW32
                e = _S4 + r * (_S5 + r * (_S6 + r * _S7))
                e = _ONE + r * (_ONE + r * (_HALF + r * (_S3 + r * e)))
                bits = np.int32(np.int32(whole) + np.int32(_EXPONENT_BIAS32))
                e *= np.int32(bits << np.int32(_MANTISSA_BITS32)).view(np.float32)
                t = (_ONE - e) / (_ONE + e)
                product *= _ONE + e
                distance += size
                square += t * t
                images[i] = math.copysign(t, y)
            log_cosh += np.float64(distance) + math.log(np.float64(product))
            squares += np.float64(square)
        sums[k, 0] += log_cosh - n * _LOG2
        sums[k, 1] += squares
