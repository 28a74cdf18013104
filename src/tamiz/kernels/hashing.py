"""Numbers by which equal rows, and equal columns, find each other.

A row has two numbers, folded from its values column after column. A column of numbers has two sums of what its values give where
they stand, so that parts of it add up; a column of codes has a sum for every level, of the rows that hold it, whatever the level is
called. Numbers are equal by value: both zeros are one, and so is every NaN.
"""

from __future__ import annotations

import numpy as np
from numba.types import int32, int64, uint8, uint64, void

from tamiz.kernels import jit, ro, rw


# MERGED: Which sets of columns were seen before: sets as 128 bits, and a table of them that is searched by its own bits.
@jit(void(ro(uint8, 2), ro(uint64, 3), rw(uint64, 2)))
def hash_sets(packed, byte_hashes, out):
    """Fill out with the exclusive or of the bits of each set's columns; of_byte has it for every value of every byte of a set."""
    for r in range(packed.shape[0]):
        first, second = np.uint64(0), np.uint64(0)
        for k in range(packed.shape[1]):
            value = packed[r, k]
            first ^= byte_hashes[k, value, 0]
            second ^= byte_hashes[k, value, 1]
        out[r, 0] = first
        out[r, 1] = second


@jit(void(ro(uint64, 2), ro(int64), ro(int64), ro(int64), ro(uint64, 2), rw(uint64, 2)))
def hash_candidates(parents, parent, starts, flipped, column_hashes, out):
    """Fill out with the same for candidates: their parents' with what they flip."""
    for c in range(parent.shape[0]):
        first, second = parents[parent[c], 0], parents[parent[c], 1]
        for f in range(starts[c], starts[c + 1]):
            first ^= column_hashes[flipped[f], 0]
            second ^= column_hashes[flipped[f], 1]
        out[c, 0] = first
        out[c, 1] = second


@jit(void(ro(uint64, 2), ro(int32), ro(uint64, 2), rw(int64)))
def find_sets(hashes, slots, stored, out):
    """Fill out with the number under which each set is known, -1 for a new one; the slots are a power of two, some empty (-1)."""
    mask = np.uint64(slots.shape[0] - 1)
    for c in range(hashes.shape[0]):
        at = hashes[c, 0] & mask
        out[c] = -1
        while slots[at] >= 0:
            number = slots[at]
            if stored[number, 0] == hashes[c, 0] and stored[number, 1] == hashes[c, 1]:
                out[c] = number
                break
            at = (at + np.uint64(1)) & mask


@jit(void(ro(uint64, 2), int64, int64, rw(int32)))
def insert_sets(stored, first, stop, slots):
    """Enter the sets numbered first to stop, none of which is there yet."""
    mask = np.uint64(slots.shape[0] - 1)
    for number in range(first, stop):
        at = stored[number, 0] & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = number


@jit(void(ro(uint64, 2), rw(int64)))
def first_occurrences(keys, out):
    """Fill out with the place at which each set stands for the first time."""
    size = 4
    while size < 2 * keys.shape[0]:
        size *= 2
    mask = np.uint64(size - 1)
    slots = np.full(size, -1, dtype=np.int64)
    for c in range(keys.shape[0]):
        at = keys[c, 0] & mask
        while slots[at] >= 0 and (keys[slots[at], 0] != keys[c, 0] or keys[slots[at], 1] != keys[c, 1]):
            at = (at + np.uint64(1)) & mask
        if slots[at] < 0:
            slots[at] = c
        out[c] = slots[at]


# Odd numbers with bits in no pattern: those of SplitMix64 and of the golden ratio.
_GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_MINUS_ZERO = np.uint64(1 << 63)
_INFINITY = np.uint64(0x7FF0000000000000)
_NAN = np.uint64(0x7FF8000000000000)
_MIX_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_ROTATE_LEFT, _ROTATE_RIGHT = np.uint64(23), np.uint64(41)


@jit(uint64(uint64))
def splitmix64(word):
    """Return a number of which every bit depends on every bit of another (SplitMix64)."""
    word = (word ^ (word >> _MIX_SHIFTS[0])) * _MULTIPLIER_1
    word = (word ^ (word >> _MIX_SHIFTS[1])) * _MULTIPLIER_2
    return word ^ (word >> _MIX_SHIFTS[2])


@jit(uint64(uint64))
def canonical_bits(bits):
    """Return the bits of a number, one pattern for both zeros and one for every NaN."""
    if bits == _MINUS_ZERO:
        return np.uint64(0)
    if bits & ~_MINUS_ZERO > _INFINITY:
        return _NAN
    return bits


@jit(void(ro(uint64), int64, rw(uint64), rw(uint64), rw(uint64)))
def hash_numbers(bits, start, first, second, column_hashes):
    """Fold the bits of a column into the two numbers of its rows, and add to the two of the column; `start` is the first row."""
    for r in range(bits.shape[0]):
        word = canonical_bits(bits[r])
        first[r] = splitmix64((first[r] ^ word) + _GOLDEN_GAMMA)
        second[r] = ((second[r] << _ROTATE_LEFT) | (second[r] >> _ROTATE_RIGHT)) * _MULTIPLIER_1 ^ splitmix64(
            word + _MULTIPLIER_2
        )
        place = splitmix64(uint64(start + r) + _GOLDEN_GAMMA)
        column_hashes[0] += splitmix64(word ^ place)
        column_hashes[1] += splitmix64((word + _MULTIPLIER_1) * (place | np.uint64(1)))


@jit(void(ro(int32), int64, rw(uint64), rw(uint64), rw(uint64)))
def hash_codes(codes, start, first, second, level_hashes):
    """Fold a column of codes into the numbers of its rows, and add to that of every level; the last total is that of the gaps."""
    last = level_hashes.shape[0] - 1
    for r in range(codes.shape[0]):
        word = uint64(codes[r] + 1)
        first[r] = splitmix64((first[r] ^ word) + _GOLDEN_GAMMA)
        second[r] = ((second[r] << _ROTATE_LEFT) | (second[r] >> _ROTATE_RIGHT)) * _MULTIPLIER_1 ^ splitmix64(
            word + _MULTIPLIER_2
        )
        level_hashes[codes[r] if codes[r] >= 0 else last] += splitmix64(uint64(start + r) + _GOLDEN_GAMMA)
