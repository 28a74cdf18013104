"""Hashes of rows and of columns that find duplicates, and a hash table of sets of columns.

A row has two 64-bit hashes, updated column by column. A numeric column has two sums of hashes of (value, row), so the hashes of its
parts add up. A coded column has a sum for every level over the rows of that level, whatever its name. Numbers are equal by value:
both zeros have one hash, and so has every NaN.

A set of columns has a hash of 128 bits, the exclusive or of the hashes of its columns. The hash table uses open addressing: `slots`
is a power of two long, and contains the number of a stored set, or -1 if it is empty.
"""

from __future__ import annotations

import numpy as np
from numba.types import int32, int64, uint8, uint64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(uint8, 2), ro(uint64, 3), rw(uint64, 2)))
def hash_sets(packed, byte_hashes, out):
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
    for c in range(parent.shape[0]):
        first, second = parents[parent[c], 0], parents[parent[c], 1]
        for f in range(starts[c], starts[c + 1]):
            first ^= column_hashes[flipped[f], 0]
            second ^= column_hashes[flipped[f], 1]
        out[c, 0] = first
        out[c, 1] = second


@jit(void(ro(uint64, 2), ro(int32), ro(uint64, 2), rw(int64)))
def find_sets(hashes, slots, stored, out):
    """Fill out with the number of each set that is stored, -1 for a new one."""
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
    """Insert the sets first .. stop, none of which is in the table."""
    mask = np.uint64(slots.shape[0] - 1)
    for number in range(first, stop):
        at = stored[number, 0] & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = number


@jit(void(ro(uint64, 2), rw(int64)))
def first_occurrences(keys, out):
    """Fill out[c] with the index of the first key that equals key c."""
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


# The constants of SplitMix64; the first is the golden ratio times 2^64.
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
    """Return a 64-bit hash of which every bit depends on every bit of the word (the finaliser of SplitMix64)."""
    word = (word ^ (word >> _MIX_SHIFTS[0])) * _MULTIPLIER_1
    word = (word ^ (word >> _MIX_SHIFTS[1])) * _MULTIPLIER_2
    return word ^ (word >> _MIX_SHIFTS[2])


@jit(uint64(uint64))
def canonical_bits(bits):
    """Return the bits of a float64, with one pattern for both zeros and one for every NaN."""
    if bits == _MINUS_ZERO:
        return np.uint64(0)
    if bits & ~_MINUS_ZERO > _INFINITY:
        return _NAN
    return bits


@jit(void(ro(uint64), int64, rw(uint64), rw(uint64), rw(uint64)))
def hash_numbers(bits, start, first, second, column_hashes):
    """Update the two hashes of every row with the bits of a numeric column, and add to the two of the column.

    `start` is the number of the first row.
    """
    for r in range(bits.shape[0]):
        word = canonical_bits(bits[r])
        first[r] = splitmix64((first[r] ^ word) + _GOLDEN_GAMMA)
        second[r] = ((second[r] << _ROTATE_LEFT) | (second[r] >> _ROTATE_RIGHT)) * _MULTIPLIER_1 ^ splitmix64(
            word + _MULTIPLIER_2
        )
        row_hash = splitmix64(uint64(start + r) + _GOLDEN_GAMMA)
        column_hashes[0] += splitmix64(word ^ row_hash)
        column_hashes[1] += splitmix64((word + _MULTIPLIER_1) * (row_hash | np.uint64(1)))


@jit(void(ro(int32), int64, rw(uint64), rw(uint64), rw(uint64)))
def hash_codes(codes, start, first, second, level_hashes):
    """Update the two hashes of every row with a coded column, and add to the hash of every level; the last is for missing
    values.
    """
    last = level_hashes.shape[0] - 1
    for r in range(codes.shape[0]):
        word = uint64(codes[r] + 1)
        first[r] = splitmix64((first[r] ^ word) + _GOLDEN_GAMMA)
        second[r] = ((second[r] << _ROTATE_LEFT) | (second[r] >> _ROTATE_RIGHT)) * _MULTIPLIER_1 ^ splitmix64(
            word + _MULTIPLIER_2
        )
        level_hashes[codes[r] if codes[r] >= 0 else last] += splitmix64(uint64(start + r) + _GOLDEN_GAMMA)
