"""Hashes of rows and columns against a plain version of the same arithmetic."""

import numpy as np
import pytest

from tamiz.kernels import hashing as kernels

M = 2**64
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def scrambled(word):
    word = (word ^ (word >> 30)) * FIRST % M
    word = (word ^ (word >> 27)) * SECOND % M
    return word ^ (word >> 31)


def plain(words, first, second):
    """The two hashes of rows from the words of their columns."""
    for column in words:
        for r, word in enumerate(column):
            first[r] = scrambled(((first[r] ^ word) + STEP) % M)
            second[r] = ((second[r] << 23 | second[r] >> 41) % M * FIRST % M) ^ scrambled((word + SECOND) % M)
    return first, second


def test_rows_are_folded_as_written_plainly():
    rng = np.random.default_rng(0)
    numbers, codes = rng.normal(size=6), rng.integers(-1, 3, 6).astype(np.int32)
    first, second = np.zeros((2, 6), dtype=np.uint64)
    total, totals = np.zeros(2, dtype=np.uint64), np.zeros(4, dtype=np.uint64)
    kernels.hash_numbers(numbers.view(np.uint64), 10, first, second, total)
    kernels.hash_codes(codes, 10, first, second, totals)
    words = [numbers.view(np.uint64).tolist(), (codes + 1).tolist()]
    ours = plain(words, [0] * 6, [0] * 6)
    assert (first.tolist(), second.tolist()) == ours
    for level in range(-1, 3):
        rows = np.flatnonzero(codes == level)
        assert int(totals[level]) == sum(scrambled((10 + int(r) + STEP) % M) for r in rows) % M
    places = [scrambled((10 + r + STEP) % M) for r in range(6)]
    assert int(total[0]) == sum(scrambled(word ^ place) for word, place in zip(words[0], places, strict=True)) % M


def test_numbers_are_equal_by_value():
    odd_nan = np.array([0xFFF8000000000123], dtype=np.uint64).view(np.float64)
    a = np.array([0.0, -0.0, np.nan, odd_nan[0], np.inf, -np.inf, 5e-324])
    first, second = np.zeros((2, 7), dtype=np.uint64)
    kernels.hash_numbers(a.view(np.uint64), 0, first, second, np.zeros(2, dtype=np.uint64))
    for numbers in (first, second):
        assert numbers[0] == numbers[1]
        assert numbers[2] == numbers[3]
        assert len(np.unique(numbers)) == 5


@pytest.mark.parametrize("cut", [0, 1, 3, 8])
def test_parts_of_a_column_add_up(cut):
    values = np.random.default_rng(1).normal(size=8)
    room = np.zeros((2, 8), dtype=np.uint64)
    whole, parts = np.zeros((2, 2), dtype=np.uint64)
    kernels.hash_numbers(values.view(np.uint64), 5, room[0], room[1], whole)
    for start, stop in ((0, cut), (cut, 8)):
        room = np.zeros((2, stop - start), dtype=np.uint64)
        kernels.hash_numbers(values[start:stop].view(np.uint64), 5 + start, room[0], room[1], parts)
    assert parts.tolist() == whole.tolist()


def test_swapped_values_and_swapped_columns_are_others():
    a, b = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    totals, rows = np.zeros((2, 2), dtype=np.uint64), np.zeros((2, 2, 2), dtype=np.uint64)
    for k, columns in enumerate([(a, b), (b, a)]):
        for column in columns:
            kernels.hash_numbers(column.view(np.uint64), 0, rows[k, 0], rows[k, 1], np.zeros(2, dtype=np.uint64))
        kernels.hash_numbers(columns[0].view(np.uint64), 0, *np.zeros((2, 2), dtype=np.uint64), totals[k])
    assert (rows[0] != rows[1]).all()
    assert (totals[0] != totals[1]).all()
