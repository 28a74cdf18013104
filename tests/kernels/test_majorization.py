"""Sums over pairs: the alignment of arrays changes no bit."""

import numpy as np
import pytest

from tamiz.kernels import isotonic, majorization

N, M = 150, 3
RNG = np.random.default_rng(0)
PAIRS = N * (N - 1) // 2
ROWS, COLUMNS = np.triu_indices(N, 1)
ORDER = RNG.permutation(PAIRS)
HEIGHTS, BEGINS = np.sort(RNG.random(40)), np.arange(0, PAIRS, -(-PAIRS // 40), dtype=np.int64)
ENDS = ROWS[ORDER].astype(np.uint16), COLUMNS[ORDER].astype(np.uint16)


def guttman_step_plane(values, weights, points, out):
    return majorization.guttman_step_plane(values, points, 3, N - 2, 0.1, 0.9, 1e-30, out)


def guttman_step(values, weights, points, out):
    return majorization.guttman_step(values, weights, points, 3, N - 2, 0.1, 0.9, 1e-30, out)


def apply_weights(values, weights, points, out):
    return majorization.apply_weights(weights, points, 3, N - 2, out)


def guttman_step_ordered(values, weights, points, out):
    return isotonic.guttman_step_ordinal(points, *ENDS, weights, HEIGHTS, BEGINS, 5, PAIRS - 700, 1e-30, out)


def regress(values, weights, points, out):
    sums = np.zeros(2)
    majorization.regression_sums(values, weights, points, 3, N - 2, sums)
    return sums.tobytes()


def pool(values, weights, points, out):
    room = np.empty(PAIRS), np.empty(PAIRS), np.empty(PAIRS, dtype=np.int64)
    n = isotonic.pool_adjacent_violators(points, *ENDS, weights, np.empty(0, dtype=bool), 5, PAIRS - 700, *room)
    return b"".join(part[:n].tobytes() for part in room)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel", [guttman_step_plane, guttman_step, apply_weights, guttman_step_ordered, regress, pool]
)
def test_where_arrays_lie_changes_no_bit(kernel, dtype):
    # Loops that write may be compiled in two versions, for overlapping and separate arrays, with different orders of summation.
    arrays = [RNG.random(PAIRS), RNG.random(PAIRS), RNG.normal(size=(M if kernel is not guttman_step_plane else 2, N))]
    arrays = [array.astype(dtype) for array in [*arrays, np.zeros_like(arrays[2])]]
    found = set()
    for _ in range(60):
        whole, laid, at = np.empty(sum(array.size for array in arrays), dtype=dtype), {}, 0
        for k in RNG.permutation(len(arrays)).tolist():
            laid[k] = whole[at : at + arrays[k].size].reshape(arrays[k].shape)
            laid[k][:] = arrays[k]
            at += arrays[k].size
        found.add((kernel(*(laid[k] for k in range(4))), laid[3].tobytes()))
    assert len(found) == 1
