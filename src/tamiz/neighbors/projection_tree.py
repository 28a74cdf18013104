"""Random-projection trees: where a descent starts, and where a search for new rows does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.nn_descent import GROUP_SIZE, find_leaves, grow_tree
from tamiz.runtime import parallel

Floats32 = NDArray[np.float32]
Indices = NDArray[np.int32]

# Rows of a leaf: a group of the descent.
LEAF_SIZE = GROUP_SIZE
# Pairs of rows tried for the direction of a split.
_N_SPLIT_PAIRS = 3


@dataclass(frozen=True)
class ProjectionTree:
    """Rows in the order of the leaves and the splits that lead there.

    Attributes
    ----------
    order : ndarray of shape (n_rows,), int32
    offset : int
        What the first leaf lacks.
    directions : ndarray of shape (n_leaves, n_columns), float32
    thresholds : ndarray of shape (n_leaves,), float32
        The first of both stands for no split.
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
            Let the first leaf lack some rows, by chance: where rows lie along one line, leaves end elsewhere in every tree.
        """
        rng = np.random.default_rng(seed)
        lacking = int(rng.integers(LEAF_SIZE)) if offset else 0
        n_leaves = -(-(len(rows) + lacking) // LEAF_SIZE)
        order = np.arange(len(rows), dtype=np.int32)
        directions = np.zeros((n_leaves, rows.shape[1]), dtype=np.float32)
        thresholds = np.zeros(n_leaves, dtype=np.float32)
        grow_tree(rows, rng.random((n_leaves, 2 * _N_SPLIT_PAIRS)), LEAF_SIZE, lacking, order, directions, thresholds)
        return cls(order, lacking, directions, thresholds)

    def leaf_starts(self, rows: Floats32) -> Indices:
        """Return where in the order the leaf starts that each of some rows comes to; below 0 where it lacks some."""
        leaves = np.empty(len(rows), dtype=np.int32)
        find_leaves(rows, self.directions, self.thresholds, leaves)
        return leaves * np.int32(LEAF_SIZE) - np.int32(self.offset)


def build_trees(rows: Floats32, seeds: NDArray[np.int64]) -> list[ProjectionTree]:
    """Grow a tree for each seed."""
    return list(parallel.map_blocks(lambda seed: ProjectionTree.build(rows, int(seed)), seeds))
