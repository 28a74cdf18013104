"""Checks of square matrices of distances and similarities, entry by entry."""

import numpy as np
import pytest

from tamiz.kernels.pair_matrix_checks import (
    INVALID,
    NEARLY_SYMMETRIC,
    VALID,
    check_distance_rows,
    check_similarity_rows,
)

N = 101
DTYPES = [np.float64, np.float32]


def distances(D):
    return max(check_distance_rows(D, start, min(start + 40, N), 1e3, 1e-5) for start in range(0, N, 40))


def similarities(S):
    own = S.diagonal().astype(np.float64)
    return max(check_similarity_rows(S, own, start, min(start + 40, N), 1e3, 1e-5) for start in range(0, N, 40))


def matrix(dtype):
    D = np.random.default_rng(0).random((N, N)).astype(dtype)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0.0)
    return D


# Inside and across tiles, above and below the diagonal, at the ends.
PLACES = [(0, 1), (1, 0), (3, 97), (97, 3), (100, 99), (99, 100), (41, 44), (85, 39), (100, 0), (0, 100)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("place", PLACES)
def test_every_fault_of_a_distance_is_seen_wherever_it_is(dtype, place):
    assert distances(matrix(dtype)) == VALID
    for value in (np.nan, np.inf, -np.inf, -1e-3, 1001.0, 0.999):
        D = matrix(dtype)
        D[place] = value
        assert distances(D) == INVALID
        D[place[::-1]] = value
        assert distances(D) == (INVALID if value != 0.999 else VALID)
    D = matrix(dtype)
    D[place] *= 1 + 3e-6
    assert distances(D) == NEARLY_SYMMETRIC


@pytest.mark.parametrize("at", [0, 39, 40, 100])
def test_a_diagonal_that_is_not_zero_is_seen(at):
    D = matrix(np.float64)
    D[at, at] = 0.1
    assert distances(D) == INVALID


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("place", PLACES)
def test_every_fault_of_a_similarity_is_seen_wherever_it_is(dtype, place):
    S = matrix(dtype) - 0.5
    np.fill_diagonal(S, np.linspace(0.6, 1, N))
    assert similarities(S) == VALID
    for value in (np.nan, np.inf, -np.inf, -1001.0, 1001.0, 0.3, 1.1):
        faulty = S.copy()
        faulty[place] = value
        assert similarities(faulty) == INVALID
        faulty[place[::-1]] = value
        assert similarities(faulty) == (INVALID if value != 0.3 else VALID)
    rounded = S.copy()
    rounded[place] += 1e-6
    assert similarities(rounded) == NEARLY_SYMMETRIC
    # As similar as two rows can be, plus a rounding error.
    mean = (S[place[0], place[0]] + S[place[1], place[1]]) / 2
    rounded[place] = rounded[place[::-1]] = mean * (1 + 1e-6)
    assert similarities(rounded) == VALID
