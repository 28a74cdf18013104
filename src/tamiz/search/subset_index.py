"""An index of sets of columns: hash keys, numbered in the order in which they are added."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Masks
from tamiz.kernels import hashing as kernels
from tamiz.subsets.candidates import Candidates

SubsetKeys = NDArray[np.uint64]

_INITIAL_CAPACITY = 1024


class SubsetIndex:
    """An index of sets of columns of a table with `n_columns` columns.

    Each column has 128 random bits. The key of a set is the exclusive or of the bits of its columns (Zobrist hashing), so
    flipping a column changes it in one operation. The probability that two of a billion sets have the same key is 1e-20.
    """

    def __init__(self, n_columns: int) -> None:
        self._column_keys = np.random.default_rng(0).integers(2**64, size=(n_columns, 2), dtype=np.uint64)
        self._byte_keys = _keys_of_bytes(self._column_keys)
        self._keys = np.empty((_INITIAL_CAPACITY, 2), dtype=np.uint64)
        self._slots = np.full(2 * _INITIAL_CAPACITY, -1, dtype=np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def n_bytes(self) -> int:
        return self._keys.nbytes + self._slots.nbytes + self._byte_keys.nbytes + self._column_keys.nbytes

    def keys(self, candidates: Candidates) -> SubsetKeys:
        """Return the keys of candidates, two integers each."""
        parents, keys = (np.empty((n, 2), dtype=np.uint64) for n in (len(candidates.packed_parents), len(candidates)))
        kernels.hash_sets(candidates.packed_parents, self._byte_keys, parents)
        flips = map(_as_int64, (candidates.parent_index, candidates.starts, candidates.flipped))
        kernels.hash_candidates(parents, *flips, self._column_keys, keys)
        return keys

    def lookup(self, keys: SubsetKeys) -> NDArray[np.int64]:
        """Return the number of every set, -1 for a set that was not added."""
        numbers = np.empty(len(keys), dtype=np.int64)
        kernels.find_sets(keys, self._slots, self._keys, numbers)
        return numbers

    def are_new(self, keys: SubsetKeys) -> Masks:
        """Return which sets were not added before; of repeated keys only the first is new."""
        return (self.lookup(keys) < 0) & (first_occurrences(keys) == np.arange(len(keys)))

    def add(self, keys: SubsetKeys) -> None:
        count = self._count + len(keys)
        if count > len(self._keys):
            grown = np.empty((max(count, 2 * len(self._keys)), 2), dtype=np.uint64)
            grown[: self._count] = self._keys[: self._count]
            self._keys = grown
        self._keys[self._count : count] = keys
        if 2 * count > len(self._slots):
            size = len(self._slots)
            while size < 2 * count:
                size *= 2
            self._slots = np.full(size, -1, dtype=np.int32)
            self._count = 0
        kernels.insert_sets(self._keys, self._count, count, self._slots)
        self._count = count


def first_occurrences(keys: SubsetKeys) -> NDArray[np.int64]:
    first = np.empty(len(keys), dtype=np.int64)
    kernels.first_occurrences(keys, first)
    return first


def _keys_of_bytes(bits: SubsetKeys) -> NDArray[np.uint64]:
    """Return the keys of all sets of eight columns: one table of 256 keys for every byte of a packed mask."""
    n_bytes = -(-len(bits) // 8)
    columns = np.zeros((8 * n_bytes, 2), dtype=np.uint64)
    columns[: len(bits)] = bits
    table = np.zeros((n_bytes, 256, 2), dtype=np.uint64)
    values = np.arange(256)
    for column in range(8):
        # The first column of eight is the highest bit.
        table[:, values >> (7 - column) & 1 == 1] ^= columns[column::8, None]
    return table


def _as_int64(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.ascontiguousarray(numbers, dtype=np.int64)
