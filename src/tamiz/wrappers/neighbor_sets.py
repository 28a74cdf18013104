"""Sets of columns in the order in which their distances are added up: what sets share is added once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Candidates, Masks

Int64Array = NDArray[np.int64]

# So many sets are added up together: what is kept for each fits the cache.
_MAX_SETS = 256


@dataclass(frozen=True)
class SubsetTree:
    """Sets as a tree: a node adds the columns that all sets below it share, and that no node above it adds.

    Attributes
    ----------
    set_numbers : ndarray of shape (n_sets,)
        The sets' numbers among the candidates.
    majority_columns, shared_columns : ndarray
        The columns of more than half of the sets, and those of all.
    depth, subtree_ends, parents, complete_sets : ndarray of shape (n_nodes,)
        Nodes come before those below them. `subtree_ends` is the node after all below, `parents` the node above, `complete_sets` the set, by its
        place in `set_numbers`, that is whole with a node's columns, or -1.
    column_starts, columns : ndarray
        Node v adds columns[starts[v] : starts[v + 1]].
    set_starts, set_columns : ndarray
        The sets' columns, each set's ascending.
    """

    set_numbers: NDArray[np.intp]
    majority_columns: Int64Array
    shared_columns: Int64Array
    depth: Int64Array
    subtree_ends: Int64Array
    parents: Int64Array
    complete_sets: Int64Array
    column_starts: Int64Array
    columns: Int64Array
    set_starts: Int64Array
    set_columns: Int64Array

    @classmethod
    def of(cls, masks: Masks, set_numbers: NDArray[np.intp]) -> SubsetTree:
        """Return the tree of some sets, halved again and again: neighbours in the order of their columns share most."""
        packed = np.packbits(masks, axis=1)
        places = sorted(range(len(masks)), key=lambda c: packed[c].tobytes())
        ordered = masks[places]
        common = np.asarray(ordered.all(axis=0))
        # Node 0 holds the common columns, which are not among those added.
        depth, above, complete = [0], [0], [-1]
        ends = [0]
        added: list[NDArray[np.intp]] = [np.empty(0, dtype=np.intp)]

        def grow(first: int, stop: int, taken: NDArray[np.bool_], node: int) -> None:
            shared = np.asarray(ordered[first:stop].all(axis=0)) & ~taken
            single = stop - first == 1
            grown = len(depth)
            is_node = single or bool(shared.any())
            if is_node:
                depth.append(depth[node] + 1)
                above.append(node)
                complete.append(places[first] if single else -1)
                added.append(np.flatnonzero(shared))
                ends.append(0)
                taken, node = taken | shared, grown
            if not single:
                middle = (first + stop) // 2
                grow(first, middle, taken, node)
                grow(middle, stop, taken, node)
            if is_node:
                ends[grown] = len(depth)

        grow(0, len(masks), common, 0)
        ends[0] = len(depth)
        starts, columns = _flatten_lists(added)
        set_starts, set_columns = _flatten_lists([np.flatnonzero(mask) for mask in masks])
        return cls(
            set_numbers,
            _as_int64(np.flatnonzero(2 * masks.sum(axis=0) > len(masks))),
            _as_int64(np.flatnonzero(common)),
            _as_int64(depth),
            _as_int64(ends),
            _as_int64(above),
            _as_int64(complete),
            starts,
            columns,
            set_starts,
            set_columns,
        )


def subset_trees(candidates: Candidates, set_numbers: NDArray[np.intp]) -> Iterator[SubsetTree]:
    """Yield trees of some of the candidates: those that only add to one parent, those that also take off, and all others."""
    masks = candidates.masks()[set_numbers]
    parent = candidates.parent_index[set_numbers]
    flips = np.diff(candidates.starts)[set_numbers] > 0
    kind = np.where((masks >= candidates.parents[parent]).all(axis=1), 1, 2)
    # A parent with a single candidate tells nothing of another.
    family = np.where(flips & (np.bincount(parent)[parent] > 1), 2 * parent.astype(np.int64) + kind, 0)
    packed = np.packbits(masks, axis=1)
    for one in np.unique(family):
        mine = np.array(sorted(np.flatnonzero(family == one), key=lambda c: packed[c].tobytes()))
        for first in range(0, len(mine), _MAX_SETS):
            part = mine[first : first + _MAX_SETS]
            yield SubsetTree.of(masks[part], set_numbers[part])


def _flatten_lists(lists: list[NDArray[np.intp]]) -> tuple[Int64Array, Int64Array]:
    """Return where each list starts in all of them, one after the other, and these."""
    return _as_int64(np.cumsum([0, *map(len, lists)])), _as_int64(np.concatenate(lists))


def _as_int64(numbers: object) -> Int64Array:
    return np.ascontiguousarray(numbers, dtype=np.int64)
