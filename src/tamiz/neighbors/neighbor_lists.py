"""Lists of the nearest rows found so far by nearest-neighbour descent, and the passes that improve them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.nn_descent import GROUP_SIZE, best_first_search, build_links, join_groups, join_leaves
from tamiz.neighbors.projection_tree import ProjectionTree, build_trees
from tamiz.runtime import parallel

Floats32 = NDArray[np.float32]
Indices = NDArray[np.int32]

# Number of nearest list entries that a wide or a narrow pass follows. With reverse links, a row has at most twice as many links.
WIDE_PASS, NARROW_PASS = 16, 8
# Groups per block of work.
_GROUPS_PER_CHUNK = 16
# Number of blocks in which links are built; each block reads all lists.
_N_LINK_RANGES = 8
# Trees in which the search for new rows starts, and rows searched at a time.
_N_START_TREES, _QUERY_BATCH = 4, 256


class NeighborLists:
    """The nearest rows found so far of every row, with the rows sorted by the leaves of a tree.

    The first lists contain the nearest rows of the same leaf, in one tree per seed. Passes improve them in place. New rows are
    searched after the last pass; the links that `find_nearest` follows are cached until the next pass.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns), float32
    n_listed : int
        Entries of each list.
    seeds : ndarray of int64
        A seed for each tree.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_columns), float32
        The rows, sorted by leaf.
    original_rows : ndarray of shape (n_rows,), int32
        Original number of each sorted row.
    positions : ndarray of shape (n_rows,), int32
        Sorted position of each original row.
    distances, entries : ndarrays of shape (n_rows, n_listed), float32 and int32
        The lists, in the format of `tamiz.kernels.nn_descent`.
    """

    def __init__(self, rows: Floats32, n_listed: int, seeds: NDArray[np.int64]) -> None:
        n = len(rows)
        first = ProjectionTree.build(rows, int(seeds[0]), offset=False)
        self.original_rows, self.rows = first.order, rows[first.order]
        self.positions = np.empty(n, dtype=np.int32)
        self.positions[self.original_rows] = np.arange(n, dtype=np.int32)
        self.distances = np.full((n, n_listed), np.inf, dtype=np.float32)
        self.entries = np.full((n, n_listed), -1, dtype=np.int32)
        self._cached_links: tuple[Indices, Indices] | None = None
        trees = [replace(first, order=np.arange(n, dtype=np.int32)), *build_trees(self.rows, seeds[1:])]
        self._trees = trees[:_N_START_TREES]
        self._join_leaves(trees)

    def add_trees(self, seeds: NDArray[np.int64]) -> None:
        """Compare the rows that share a leaf in additional trees."""
        self._join_leaves(build_trees(self.rows, seeds))

    def _join_leaves(self, trees: list[ProjectionTree]) -> None:
        self._cached_links = None
        for tree in trees:
            # One tree at a time: a row is in one leaf of a tree, so no two threads change the same list.
            order, offset = tree.order, tree.offset

            def join(span: tuple[int, int], order: Indices = order, offset: int = offset) -> None:
                join_leaves(self.rows, order, offset, *span, self.distances, self.entries)

            for _ in parallel.map_blocks(
                join, parallel.block_ranges(len(order) + offset, _GROUPS_PER_CHUNK * GROUP_SIZE)
            ):
                pass

    def improve(self, n_followed: int) -> int:
        """Compare the rows with neighbours of their neighbours, except pairs compared before; return the number of pairs."""
        self._cached_links = None
        links, filled = self._links(n_followed)
        self.entries[:, :n_followed] &= ~1

        def join(span: tuple[int, int]) -> int:
            return int(join_groups(self.rows, links, filled, *span, self.distances, self.entries))

        return sum(parallel.map_blocks(join, parallel.block_ranges(len(self.rows), _GROUPS_PER_CHUNK * GROUP_SIZE)))

    def _links(self, n_followed: int) -> tuple[Indices, Indices]:
        """Return the rows that each row is linked to, in either direction, and their numbers."""
        n = len(self.rows)
        links, filled = np.empty((n, 2 * n_followed), dtype=np.int32), np.empty(n, dtype=np.int32)

        def fill(span: tuple[int, int]) -> None:
            build_links(self.entries, min(n_followed, self.entries.shape[1]), *span, links, filled)

        for _ in parallel.map_blocks(fill, parallel.block_ranges(n, -(-n // _N_LINK_RANGES))):
            pass
        return links, filled

    def find_nearest(self, rows: Floats32, size: int) -> Indices:
        """Return the original numbers of the `size` rows found nearest to each new row; -1 where fewer were found."""
        self._cached_links = links = self._links(WIDE_PASS) if self._cached_links is None else self._cached_links
        orders = np.stack([tree.order for tree in self._trees])
        out = np.empty((len(rows), size), dtype=np.int32)

        def search(span: tuple[int, int]) -> None:
            part = rows[slice(*span)]
            starts = np.stack([tree.leaf_starts(part) for tree in self._trees], axis=1)
            best_first_search(self.rows, *links, part, starts, orders, out[slice(*span)])

        for _ in parallel.map_blocks(search, parallel.block_ranges(len(rows), _QUERY_BATCH)):
            pass
        return np.where(out < 0, np.int32(-1), self.original_rows[out])

    def listed_rows(self, positions: slice | NDArray[np.int32]) -> tuple[Indices, Indices]:
        """Return the original numbers of the rows at some positions, and of the rows in their lists; -1 for empty entries."""
        entries = self.entries[positions]
        return self.original_rows[positions], np.where(entries < 0, np.int32(-1), self.original_rows[entries >> 1])
