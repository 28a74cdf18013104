"""Random-projection trees, whose leaves are the starting points of nearest-neighbour descent and of searches for new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.nn_descent import GROUP_SIZE, find_leaves, grow_tree
from tamiz.runtime import parallel

Floats32 = NDArray[np.float32]
Indices = NDArray[np.int32]

# Rows of a leaf, which is a group of the descent.
LEAF_SIZE = GROUP_SIZE
# Candidate pairs of rows for the direction of a split.
_N_SPLIT_PAIRS = 3


@dataclass(frozen=True)
class ProjectionTree:
    """A random-projection tree: the rows sorted by leaf, and the splits.

    Attributes
    ----------
    order : ndarray of shape (n_rows,), int32
        The rows, sorted by leaf.
    offset : int
        Number of rows by which the first leaf is smaller than LEAF_SIZE.
    directions : ndarray of shape (n_leaves, n_columns), float32
    thresholds : ndarray of shape (n_leaves,), float32
        Direction and threshold of each split; the first entry of both is unused.
    """

    order: Indices
    offset: int
    directions: Floats32
    thresholds: Floats32

    @classmethod
    def build(cls, rows: Floats32, seed: int, *, offset: bool = True) -> Self:
        """Grow a tree.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_columns), float32
        seed : int
        offset : bool, default=True
            Make the first leaf smaller by a random number of rows, so that leaves end at different rows in every tree, even if
            the rows are on a line.
        """
        rng = np.random.default_rng(seed)
        n_missing = int(rng.integers(LEAF_SIZE)) if offset else 0
        n_leaves = -(-(len(rows) + n_missing) // LEAF_SIZE)
        order = np.arange(len(rows), dtype=np.int32)
        directions = np.zeros((n_leaves, rows.shape[1]), dtype=np.float32)
        thresholds = np.zeros(n_leaves, dtype=np.float32)
        draws = rng.random((n_leaves, 2 * _N_SPLIT_PAIRS))
        grow_tree(rows, draws, LEAF_SIZE, n_missing, order, directions, thresholds)
        return cls(order, n_missing, directions, thresholds)

    def leaf_starts(self, rows: Floats32) -> Indices:
        """Return the position in `order` at which each row's leaf starts; negative for a smaller first leaf."""
        leaves = np.empty(len(rows), dtype=np.int32)
        find_leaves(rows, self.directions, self.thresholds, leaves)
        return leaves * np.int32(LEAF_SIZE) - np.int32(self.offset)


def build_trees(rows: Floats32, seeds: NDArray[np.int64]) -> list[ProjectionTree]:
    return list(parallel.map_blocks(lambda seed: ProjectionTree.build(rows, int(seed)), seeds))
