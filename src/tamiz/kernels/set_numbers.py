"""Which sets of columns were seen before: sets as 128 bits, and a table of them that is searched by its own bits."""

from __future__ import annotations

import numpy as np
from numba.types import int32, int64, uint8, uint64, void

from tamiz.kernels import jit, ro, rw


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
